//! Every question has one answer: however many are asked concurrently, and however the index was built.

use std::path::Path;

use anyhow::{Context as _, Result};
use sectile_markdown::Digest;
use serde_json::Value;

use super::{
    asked, enter, indexing,
    library::{LIBRARY, NotebookLibrary},
    search::lasting,
    settle,
};
use crate::{
    Bench,
    processes::on_all_cores,
    report::{Report, Verdict},
    server::Server,
};

const AT_ONCE: [usize; 3] = [1, 2, 8];

pub(super) fn run(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
    questions: &[String],
) -> Result<()> {
    let grown = library.scratch.join("grown");
    grow(bench, library, &grown)?;
    indexing::update(bench, library, None)?;
    let mut digests = Vec::new();
    for index in [None, Some(grown.as_path())] {
        digests.extend(ask(bench, library, index, questions)?);
    }
    let first = digests.first().context("no answers")?.to_string();
    let same = digests.iter().filter(|digest| digest.to_string() == first);
    let what = format!(
        "{} questions, {} or {} or {} at once, index from scratch and one grown by edits",
        questions.len(),
        AT_ONCE[0],
        AT_ONCE[1],
        AT_ONCE[2]
    );
    let same = same.count();
    let figures = format!(
        "{same} of {} digests are the same: {}",
        digests.len(),
        &first[..16]
    );
    report.line(&what, &figures, Verdict::at_least(same, digests.len()));
    Ok(())
}

/// Builds an index of the library on one core from other versions of some notes, and then updates it to the current ones.
fn grow(bench: &Bench, library: &NotebookLibrary, index: &Path) -> Result<()> {
    if index.is_dir() {
        std::fs::remove_dir_all(index)?;
    }
    for time in 0..3 {
        library.edit_all(1_000 * time)?;
        indexing::update(bench, library, Some(index))?;
        library.restore_all()?;
        indexing::update(bench, library, Some(index))?;
    }
    Ok(())
}

/// Returns the digests of all answers from one index.
fn ask(
    bench: &Bench,
    library: &NotebookLibrary,
    index: Option<&Path>,
    questions: &[String],
) -> Result<Vec<Digest>> {
    let arguments: Vec<Value> = questions.iter().map(|question| asked(question)).collect();
    let mut command = library.serve_command(bench);
    command.envs(index.map(|index| ("SECTILE_NOTEBOOK__INDEX", index)));
    let mut server = Server::start(&mut on_all_cores(&command))?;
    server.initialize()?;
    enter(&mut server, LIBRARY)?;
    settle(&mut server, questions)?;
    let mut digests = Vec::new();
    for at_once in AT_ONCE {
        let found = server.call_all("semantic_search", &arguments, at_once)?;
        let all: String = found.into_iter().map(lasting).collect();
        digests.push(Digest::of(all.as_bytes()));
    }
    server.stop()?;
    Ok(digests)
}
