//! A library of notebooks: indexing it, starting with its index, searching and quoting.

mod answers;
pub(crate) mod backends;
mod background;
mod fetch;
pub(crate) mod indexing;
mod library;
mod new_words;
pub(crate) mod prose;
pub(crate) mod scale;
mod search;
mod start;
pub(crate) mod units;
pub(crate) mod words;

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use self::library::{LIBRARY, NotebookLibrary};
use crate::{Bench, report::Report, server::Server};

const NOTES: usize = 20_000;
const FEW_NOTES: usize = 2_000;
const QUESTIONS: usize = 1_000;
/// The least number of searches that warm a server up.
const WARM_UP: usize = 20;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let library = NotebookLibrary::prepare(&bench.target, bench.size(NOTES, FEW_NOTES))?;
    let questions = prose::questions(&library.words, library.count, QUESTIONS);
    indexing::from_nothing(report, bench, &library)?;
    indexing::after_one_edit(report, bench, &library)?;
    start::run(report, bench, &library, &questions)?;
    search::run(report, bench, &library, &questions)?;
    background::run(report, bench, &library, &questions)?;
    fetch::run(report, bench, &library)?;
    answers::run(report, bench, &library, &questions)
}

fn asked(question: &str) -> Value {
    json!({ "query": question })
}

/// Enters a collection.
fn enter(server: &mut Server, collection: &str) -> Result<()> {
    let (_, entered) = server.call("enter_collection", &json!({ "collection_id": collection }))?;
    ensure!(entered["context_established"] == true, "answered {entered}");
    Ok(())
}

/// Starts a server with these settings and enters the library.
fn serve(bench: &Bench, settings: &Path) -> Result<Server> {
    let mut command = Command::new(bench.binaries.join("sectile"));
    command
        .args(["serve", "notebook", "--config"])
        .arg(settings);
    let mut server = Server::start(&mut command)?;
    server.initialize()?;
    enter(&mut server, LIBRARY)?;
    Ok(server)
}

/// Searches until the server has compared its index with the folder, so that nothing else runs from then on.
fn settle(server: &mut Server, questions: &[String]) -> Result<()> {
    for (at, question) in questions.iter().cycle().take(100_000).enumerate() {
        let (_, found) = server.call("semantic_search", &asked(question))?;
        let metadata = &found["metadata"];
        ensure!(metadata["index_location"] == "disk", "answered {found}");
        if at >= WARM_UP && metadata["changed_not_indexed"] == 0 {
            return Ok(());
        }
    }
    anyhow::bail!("the server is never done with {LIBRARY}")
}
