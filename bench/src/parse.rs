//! Speed and memory of the section model against the parser it is built on.

use std::{hint::black_box, time::Duration};

use anyhow::Result;
use pulldown_cmark::{Options, Parser};
use sectile_markdown::Source;

use crate::{
    corpus,
    measure::{self, time},
    report::{Report, Verdict},
};

/// Runs the parser once over `text`.
pub(crate) fn parser_pass(text: &str) {
    for event in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        black_box(event);
    }
}

fn section_model(text: &str) {
    black_box(Source::new(text.as_bytes()).parse());
}

/// Measures the section tree of a corpus of ordinary notes.
pub(crate) fn ordinary(report: &mut Report, megabytes: usize) {
    let notes = corpus::ordinary_notes(megabytes * 100, 10_000);
    let (mut model, mut parser) = (Duration::ZERO, Duration::ZERO);
    for round in 0..3 {
        // In small turns, each side going first equally often: the machine's pace drifts within a second.
        for (turn, some) in notes.chunks(20).enumerate() {
            let mut model_turn =
                || model += time(|| some.iter().for_each(|note| section_model(note)));
            let mut parser_turn =
                || parser += time(|| some.iter().for_each(|note| parser_pass(note)));
            if (turn + round) % 2 == 0 {
                model_turn();
                parser_turn();
            } else {
                parser_turn();
                model_turn();
            }
        }
    }
    let bytes: usize = notes.iter().map(String::len).sum();
    let what = format!(
        "section tree of {} MB in {} notes / parser events",
        bytes >> 20,
        notes.len()
    );
    report.ratio(&what, model, parser, 1.3);
}

/// Measures the time relative to the parser as hostile input grows: the ratio must not grow with it.
pub(crate) fn growth(report: &mut Report) {
    for (name, make) in corpus::HOSTILE {
        let mut ratios = Vec::new();
        for size in [250_000, 1_000_000, 4_000_000] {
            let text = make(size);
            let (model, parser) =
                measure::interleaved(5, || section_model(&text), || parser_pass(&text));
            ratios.push(model.as_secs_f64() / parser.as_secs_f64());
        }
        let largest = ratios.last().copied().unwrap_or_default();
        let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        // A factor of 1.5 allows for the noise of small times, not for another order of growth (4x or 16x here).
        report.line(
            &format!("{name}: model / parser at 0.25, 1 and 4 MB"),
            &shown.join("  "),
            Verdict::at_most(largest, ratios[0].max(1.0) * 1.5),
        );
    }
}

/// Measures the memory of a parsed document.
pub(crate) fn memory(report: &mut Report) -> Result<()> {
    let text = format!("# only heading\n\n{}", "words and words\n".repeat(1 << 20));
    let before = measure::allocated();
    let document = Source::new(text.as_bytes()).parse();
    let kept = measure::allocated().saturating_sub(before);
    report.line(
        &format!(
            "bytes kept after parsing {} MB with 1 heading",
            text.len() >> 20
        ),
        &kept.to_string(),
        Verdict::at_most(kept, 10_000_usize),
    );
    drop(black_box(document));
    let many = "# heading\n\ntext\n\n".repeat(100_000);
    let before = measure::allocated();
    let document = Source::new(many.as_bytes()).parse();
    let each = measure::allocated().saturating_sub(before) / document.sections().len();
    report.line(
        "bytes kept per heading, of 100,000",
        &each.to_string(),
        Verdict::at_most(each, 400_usize),
    );
    Ok(())
}
