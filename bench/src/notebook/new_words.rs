//! Searches in PostgreSQL for words that nobody has asked for since the server started, against the embedded index.

use std::{collections::BTreeSet, path::Path, time::Duration};

use anyhow::{Result, ensure};

use super::{WARM_UP, asked, serve, words::Words};
use crate::{
    Bench,
    corpus::Dice,
    measure::per_mille,
    report::{Report, Verdict},
};

/// The number of questions, each of which is asked once.
const ASKED: usize = 200;
const FEW_ASKED: usize = 40;
/// How many times as long as in the embedded index a search may take.
const TARGET: f64 = 3.0;

/// Asks servers with these settings, which search the same notes, the same questions by turns. `warm` are other questions,
/// by which each server reads what it keeps in memory.
pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    words: &Words,
    [embedded, database]: [&Path; 2],
    warm: &[String],
) -> Result<()> {
    let warm = &warm[..WARM_UP];
    let questions = questions(words, warm, bench.size(ASKED, FEW_ASKED));
    let mut servers = Vec::new();
    let mut first = Duration::ZERO;
    for settings in [embedded, database] {
        let mut server = serve(bench, settings)?;
        for (number, question) in warm.iter().enumerate() {
            let (time, _) = server.call("semantic_search", &asked(question))?;
            first = if number == 0 { time } else { first };
        }
        servers.push(server);
    }
    report.seen(
        "first search of a server in PostgreSQL, which reads all vectors and the longest lists",
        &format!("{first:.0?}"),
    );
    let mut times = [Vec::new(), Vec::new()];
    for (number, question) in questions.iter().enumerate() {
        let mut found = [None, None];
        for turn in 0..2 {
            let which = (number + turn) % 2;
            let (time, answer) = servers[which].call("semantic_search", &asked(question))?;
            times[which].push(time);
            found[which] = answer["results"][0]["reference_id"]
                .as_str()
                .map(str::to_owned);
        }
        ensure!(found[0] == found[1], "`{question}` found {found:?}");
    }
    for server in servers {
        server.stop()?;
    }
    let [[usual, slow], [usual_there, slow_there]] =
        times.map(|mut times| [500, 990].map(|share| per_mille(&mut times, share)));
    let ratio = usual_there.as_secs_f64() / usual.as_secs_f64();
    report.line(
        &format!(
            "search in PostgreSQL for words that nobody has asked for, {} questions / in the embedded index",
            questions.len()
        ),
        &format!(
            "{ratio:.2} (target {TARGET:.1}; p50 {usual_there:.1?} / {usual:.1?}, p99 {slow_there:.1?} / {slow:.1?})"
        ),
        Verdict::at_most(ratio, TARGET),
    );
    Ok(())
}

/// Returns questions of 2 to 8 words, frequent ones more likely, each of which is in one question only and in none of `warm`.
fn questions(words: &Words, warm: &[String], count: usize) -> Vec<String> {
    let mut dice = Dice::new(5_000_000);
    let mut known: BTreeSet<&str> = warm.iter().flat_map(|one| one.split(' ')).collect();
    let question = |_| {
        let length = 2 + dice.roll(7);
        let mut question = Vec::with_capacity(length);
        while question.len() < length {
            let word = words.word(words.any(&mut dice));
            if known.insert(word) {
                question.push(word);
            }
        }
        question.join(" ")
    };
    (0..count).map(question).collect()
}
