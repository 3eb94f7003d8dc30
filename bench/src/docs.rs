//! Searching documentation: against fixed bounds, against building the section tree, and against the scan of the plan's own
//! implementation.

mod manual;
mod reference;

use std::{fs, hint::black_box, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use sectile_markdown::{PageFormat, Source};
use sectile_retrieval::{Index, MAX_PASSAGES, MAX_QUERY_WORDS, Passage, Query, Section, sections};
use serde::Deserialize;

use crate::{
    Bench, corpus,
    measure::{interleaved, middle, time},
    report::{Report, Verdict},
};

const HITS: usize = 10;

#[derive(Deserialize)]
struct Settings {
    docs: Documents,
}

#[derive(Deserialize)]
struct Documents {
    documents: Vec<ListedDocument>,
}

#[derive(Deserialize)]
struct ListedDocument {
    path: String,
    slug: String,
    role: String,
}

#[derive(Deserialize)]
struct Questions {
    question: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    ask: String,
    expect: Vec<String>,
}

/// A document with its sections.
struct Document {
    slug: String,
    role: String,
    text: String,
    sections: Vec<Section>,
}

/// Documents and the passages of their index.
struct DocsLibrary {
    documents: Vec<Document>,
    passages: Vec<(usize, usize)>,
    index: Index,
}

impl DocsLibrary {
    fn new(documents: Vec<Document>) -> Result<Self> {
        let passages: Vec<(usize, usize)> = documents
            .iter()
            .enumerate()
            .flat_map(|(at, document)| {
                let sections = document.sections.iter().enumerate();
                let with_text = sections.filter(|(_, section)| !section.plain.is_empty());
                with_text.map(move |(section, _)| (at, section))
            })
            .take(MAX_PASSAGES)
            .collect();
        let index = index(&documents, &passages)?;
        Ok(Self {
            documents,
            passages,
            index,
        })
    }

    fn search(&self, ask: &str) -> Result<Vec<(usize, usize)>> {
        let query = Query::parse(ask)?;
        let hits = self.index.rank(&query, |_| 0).hits(HITS);
        Ok(hits.iter().map(|hit| self.passages[hit.passage]).collect())
    }

    fn label(&self, (document, section): (usize, usize)) -> String {
        let document = &self.documents[document];
        match &document.sections[section].anchor {
            Some(anchor) => format!("{}#{anchor}", document.slug),
            None => document.slug.clone(),
        }
    }
}

fn index(documents: &[Document], passages: &[(usize, usize)]) -> Result<Index> {
    let passages = passages.iter().map(|(document, section)| {
        let section = &documents[*document].sections[*section];
        Passage {
            heading: &section.heading,
            trail: section.trail.iter().map(String::as_str).collect(),
            body: &section.plain,
        }
    });
    Ok(Index::new(passages)?)
}

fn document(slug: String, role: String, text: String) -> Document {
    let source = Source::new(text.as_bytes()).parse();
    let title = source.sections().first();
    let title = title.map_or(slug.as_str(), |section| section.text.as_str());
    let sections = sections(text.as_bytes(), title, PageFormat::default());
    Document {
        slug,
        role,
        text,
        sections,
    }
}

fn example(name: &str) -> Result<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/decision-gate");
    fs::read_to_string(folder.join(name)).context("a file of the example")
}

/// Loads the documents of the example, which other people wrote and which may be absent.
fn decision_gate(bench: &Bench) -> Result<Option<DocsLibrary>> {
    let folder = bench.data.join("corpora/decision-gate-docs");
    if !folder.is_dir() {
        return Ok(None);
    }
    let settings: Settings = toml::from_str(&example("sectile.toml")?)?;
    let documents = settings.docs.documents.into_iter().map(|listed| {
        let text = fs::read_to_string(folder.join(&listed.path)).context("a document")?;
        Ok(document(listed.slug, listed.role, text))
    });
    DocsLibrary::new(documents.collect::<Result<_>>()?).map(Some)
}

/// Generates ordinary notes of `megabytes` in all, cut into documents of the largest allowed size.
fn large(megabytes: usize) -> Result<DocsLibrary> {
    let notes = corpus::ordinary_notes(megabytes * 4, 252_000);
    let documents = notes.into_iter().enumerate().map(|(at, note)| {
        let text = with_more_headings(&note);
        document(format!("note-{at}"), "pattern".to_owned(), text)
    });
    DocsLibrary::new(documents.collect())
}

/// Adds a heading every few paragraphs, so that the document has as many sections as allowed.
fn with_more_headings(text: &str) -> String {
    const APART: usize = 700;
    let mut result = String::new();
    let mut since = 0;
    for (at, paragraph) in text.split("\n\n").enumerate() {
        if since > APART {
            result.push_str(&format!("### Part {at}\n\n"));
            since = 0;
        }
        since = if paragraph.starts_with('#') {
            0
        } else {
            since + paragraph.len()
        };
        result.push_str(paragraph);
        result.push_str("\n\n");
    }
    result
}

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let questions: Questions = toml::from_str(&example("questions.toml")?)?;
    let questions = questions.question;
    let rounds = bench.size(20, 3);
    let small = decision_gate(bench)?;
    match &small {
        Some(library) => answering(report, library, &questions, rounds)?,
        None => report.seen(
            "skipped, the Decision Gate documents",
            &format!(
                "other people wrote them, and they are not at {}; --data names another folder",
                bench.data.join("corpora/decision-gate-docs").display()
            ),
        ),
    }
    let large = large(8)?;
    against_scan(report, &large, &questions, rounds);
    worst(report, &large, rounds);
    indexing(report, small.as_ref(), &large, rounds)?;
    manual::run(report, bench)
}

/// Measures the speed and quality of answers to questions about documents.
fn answering(
    report: &mut Report,
    library: &DocsLibrary,
    questions: &[Question],
    rounds: usize,
) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        for question in questions {
            times.push(time(|| drop(black_box(library.search(&question.ask)))));
        }
    }
    let usual = middle(times.clone());
    let slowest = times.into_iter().max().unwrap_or_default();
    let figures = format!("{usual:.1?} (target 100µs; slowest {slowest:.1?})");
    let what = "one search of the Decision Gate documents, 298 sections";
    report.line(
        what,
        &figures,
        Verdict::at_most(usual, Duration::from_micros(100)),
    );
    quality(report, library, questions)
}

fn quality(report: &mut Report, library: &DocsLibrary, questions: &[Question]) -> Result<()> {
    let sections = reference::sections(&library.documents);
    let mut ours = [0; 3];
    let mut theirs = [0; 3];
    for question in questions {
        let labels: Vec<String> = library
            .search(&question.ask)?
            .into_iter()
            .map(|at| library.label(at))
            .collect();
        count(&labels, &question.expect, &mut ours);
        let labels = reference::search(&sections, &question.ask, HITS);
        count(&labels, &question.expect, &mut theirs);
    }
    let percent = |hits: [usize; 3]| {
        let [one, three, ten] = hits.map(|hits| hits * 100 / questions.len().max(1));
        format!("hit@1 {one} %, hit@3 {three} %, hit@10 {ten} %")
    };
    let what = format!(
        "{} questions about Decision Gate, without the role bonus",
        questions.len()
    );
    report.seen(&what, &percent(ours));
    report.seen("the same by the reference's rules", &percent(theirs));
    Ok(())
}

fn count(labels: &[String], expected: &[String], hits: &mut [usize; 3]) {
    let rank = labels.iter().position(|label| expected.contains(label));
    for (hit, depth) in hits.iter_mut().zip([1, 3, 10]) {
        *hit += usize::from(rank.is_some_and(|rank| rank < depth));
    }
}

fn against_scan(report: &mut Report, library: &DocsLibrary, questions: &[Question], rounds: usize) {
    let sections = reference::sections(&library.documents);
    let ours = || {
        for question in questions.iter().take(10) {
            drop(black_box(library.search(&question.ask)));
        }
    };
    let theirs = || {
        for question in questions.iter().take(10) {
            black_box(reference::search(&sections, &question.ask, HITS));
        }
    };
    let (ours, theirs) = interleaved(rounds, ours, theirs);
    let what = format!(
        "search among {} sections, against a scan by the reference's rules",
        library.passages.len()
    );
    report.faster(&what, ours, theirs, 20.0);
}

/// Measures the longest allowed question, made of the words that most sections contain.
fn worst(report: &mut Report, library: &DocsLibrary, rounds: usize) {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for (document, section) in &library.passages {
        let section = &library.documents[*document].sections[*section];
        let words: std::collections::BTreeSet<String> = sectile_retrieval::words(&section.plain)
            .into_iter()
            .collect();
        words
            .into_iter()
            .for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut words: Vec<(usize, String)> = counts
        .into_iter()
        .map(|(word, count)| (count, word))
        .collect();
    words.sort_by(|one, other| other.cmp(one));
    let frequent: Vec<String> = words
        .into_iter()
        .take(MAX_QUERY_WORDS)
        .map(|(_, word)| word)
        .collect();
    let quoted = format!("\"{}\"", frequent[..2].join(" "));
    let unknown: Vec<String> = (0..MAX_QUERY_WORDS)
        .map(|at| format!("qzx{}w", "jkvwy".repeat(1 + at % 3)))
        .collect();
    let mut slowest = Duration::ZERO;
    for query in [
        frequent.join(" "),
        format!("{quoted} {}", frequent[2..].join(" ")),
        unknown.join(" "),
    ] {
        let times = (0..rounds).map(|_| time(|| drop(black_box(library.search(&query)))));
        slowest = slowest.max(middle(times.collect()));
    }
    let bytes: usize = library
        .documents
        .iter()
        .map(|document| document.text.len())
        .sum();
    let what = format!(
        "the worst allowed query, {} MB in {} sections",
        bytes >> 20,
        library.passages.len()
    );
    report.line(
        &what,
        &format!("{slowest:.1?} (target 5ms)"),
        Verdict::at_most(slowest, Duration::from_millis(5)),
    );
}

fn indexing(
    report: &mut Report,
    small: Option<&DocsLibrary>,
    large: &DocsLibrary,
    rounds: usize,
) -> Result<()> {
    let small = small.map(|small| ("the Decision Gate documents", small, rounds));
    for (name, library, rounds) in small.into_iter().chain([("8 MB", large, 3)]) {
        let indexing = || {
            for document in &library.documents {
                black_box(sections(
                    document.text.as_bytes(),
                    "title",
                    PageFormat::default(),
                ));
            }
            drop(black_box(index(&library.documents, &library.passages)));
        };
        let trees = || {
            for document in &library.documents {
                black_box(Source::new(document.text.as_bytes()).parse());
            }
        };
        let (indexing, trees) = interleaved(rounds, indexing, trees);
        report.ratio(
            &format!("indexing {name} / their section trees"),
            indexing,
            trees,
            5.0,
        );
    }
    Ok(())
}
