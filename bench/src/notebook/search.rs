//! `semantic_search` through the pipeline on stdio, and the memory of a server that searches.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{
    asked, enter,
    indexing::megabytes,
    library::{LIBRARY, NotebookLibrary},
    settle,
};
use crate::{
    Bench,
    measure::per_mille,
    processes::memory,
    report::{Report, Verdict},
    server::Server,
};

const BEFORE_MEMORY: usize = 200;
const MOST_MEMORY: u64 = 150_000_000;
const USUAL: Duration = Duration::from_millis(5);
const SLOW: Duration = Duration::from_millis(20);

pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
    questions: &[String],
) -> Result<()> {
    let mut server = Server::start(&mut library.serve_command(bench))?;
    server.initialize()?;
    enter(&mut server, LIBRARY)?;
    for question in questions.iter().take(BEFORE_MEMORY) {
        server.call("semantic_search", &asked(question))?;
    }
    let resident = memory(server.process(), "VmRSS").context("the memory of a server")?;
    let private = memory(server.process(), "RssAnon").unwrap_or_default();
    report.line(
        &format!("resident memory after {BEFORE_MEMORY} searches"),
        &format!(
            "{} (target under 150 MB; {} of it not from files)",
            megabytes(resident),
            megabytes(private)
        ),
        Verdict::at_most(resident, MOST_MEMORY),
    );
    settle(&mut server, questions)?;
    let mut times = Vec::with_capacity(questions.len());
    let mut slowest = (Duration::ZERO, "");
    let (mut results, mut empty) = (0, 0);
    for question in questions {
        let (elapsed, found) = server.call("semantic_search", &asked(question))?;
        let count = found["results"].as_array().map_or(0, Vec::len);
        results += count;
        empty += usize::from(count == 0);
        slowest = slowest.max((elapsed, question));
        times.push(elapsed);
    }
    server.stop()?;
    let [half, most, nearly_all] = [500, 900, 990].map(|share| per_mille(&mut times, share));
    let what = format!(
        "semantic_search among {} notes, {} questions, stdio",
        library.count,
        questions.len()
    );
    let figures = format!(
        "p50 {half:.2?} (target {USUAL:.0?}), p90 {most:.2?}, p99 {nearly_all:.2?} (target {SLOW:.0?})"
    );
    let verdict = Verdict::at_most(half, USUAL).and(nearly_all < SLOW);
    report.line(&what, &figures, verdict);
    let figures = format!(
        "{results}, {empty} questions without any; slowest {:.1?}: {}",
        slowest.0, slowest.1
    );
    report.seen("results of these", &figures);
    Ok(())
}

/// Returns the part of an answer that must not depend on the time or on the index.
pub(super) fn lasting(mut found: Value) -> String {
    let results = found["results"].as_array_mut();
    for result in results.into_iter().flatten() {
        if let Some(result) = result.as_object_mut() {
            result.remove("last_verified");
        }
    }
    let metadata = &found["metadata"];
    format!(
        "{} {} {}\n",
        found["results"], metadata["total_matches"], metadata["unknown_words"]
    )
}
