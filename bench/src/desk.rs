//! The desk on a large folder: its index from nothing and after a restart, its answers through stdio, and its writes against
//! those of the editor.

pub(crate) mod console;
mod folder;
mod reading;
pub(crate) mod soak;
pub(crate) mod start;
mod writing;

use anyhow::Result;
use serde_json::{Value, json};

use self::folder::DeskFolder;
use crate::{Bench, notebook::prose, report::Report};

const NOTES: usize = 20_000;
const FEW_NOTES: usize = 2_000;
const QUESTIONS: usize = 1_000;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let folder = DeskFolder::prepare(&bench.target, bench.size(NOTES, FEW_NOTES))?;
    let questions = prose::questions(&folder.words, folder.count, QUESTIONS);
    start::from_nothing(report, bench, &folder, &questions)?;
    start::again(report, bench, &folder, &questions)?;
    reading::run(report, bench, &folder, &questions)?;
    reading::after_an_external_edit(report, bench, &folder)?;
    writing::run(report, bench, &folder)
}

fn asked(question: &str) -> Value {
    json!({ "query": question })
}

/// Returns the load of the machine, to be read beside a figure.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}
