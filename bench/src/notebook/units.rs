//! The unit costs that `cargo xtask simulate` starts from: bytes and processor time of one tenant's notes.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{
    QUESTIONS, asked, enter,
    library::{LIBRARY, NotebookLibrary},
    prose,
};
use crate::{
    Bench,
    processes::{finish, processor_time},
    report::Report,
    server::Server,
};

/// The notes of a tenant, and those of one that is so large that its searches tell what each note costs.
const NOTES: usize = 2_000;
const MANY: usize = 20_000;
const EDITS: usize = 200;

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let library = NotebookLibrary::prepare(&bench.target, NOTES)?;
    let each = |bytes: u64| format!("{} bytes a note", bytes / NOTES as u64);
    let documents = bytes_below(&library.collection())?;
    report.seen("documents", &each(documents));
    let scratch = library.scratch.join("units");
    if scratch.is_dir() {
        fs::remove_dir_all(&scratch)?;
    }
    let mut indexing = library.index_command(bench, LIBRARY);
    indexing.arg("--index").arg(&scratch);
    let before = children_time();
    finish(&mut indexing)?;
    let built = children_time().saturating_sub(before) / NOTES as u32;
    report.seen("index segments", &each(bytes_below(&scratch)?));
    fs::remove_dir_all(&scratch)?;
    report.seen("index build", &format!("{built:.1?} of a processor a note"));
    finish(&mut library.index_command(bench, LIBRARY))?;
    let few = searches(report, bench, &library)?;
    let large = NotebookLibrary::prepare(&bench.target, MANY)?;
    finish(&mut large.index_command(bench, LIBRARY))?;
    let many = searches(report, bench, &large)?;
    let thousand = many.saturating_sub(few) / ((MANY - NOTES) / 1_000) as u32;
    let fixed = few.saturating_sub(thousand * (NOTES / 1_000) as u32);
    report.seen(
        "search",
        &format!("{fixed:.2?} of a processor, and {thousand:.2?} for every 1,000 notes"),
    );
    edits(report, bench, &library)
}

/// Returns the processor time of a search.
fn searches(report: &mut Report, bench: &Bench, library: &NotebookLibrary) -> Result<Duration> {
    let questions = prose::questions(&library.words, library.count, QUESTIONS);
    let mut server = Server::start(&mut library.serve_command(bench))?;
    server.initialize()?;
    let started = Instant::now();
    enter(&mut server, LIBRARY)?;
    let opened = started.elapsed();
    for question in &questions[..50] {
        server.call("semantic_search", &asked(question))?;
    }
    let before = processor_time(&server);
    for question in &questions {
        server.call("semantic_search", &asked(question))?;
    }
    let time = (processor_time(&server) - before) / u32::try_from(questions.len())?;
    server.stop()?;
    let what = format!("search of {} notes, and opening their index", library.count);
    report.seen(&what, &format!("{time:.2?} of a processor, {opened:.2?}"));
    Ok(time)
}

fn edits(report: &mut Report, bench: &Bench, library: &NotebookLibrary) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("notes");
    copy(&library.collection(), &root)?;
    let mut command = Command::new(bench.binaries.join("sectile"));
    command.arg("serve").arg(&root);
    command.env("XDG_CACHE_HOME", folder.path().join("cache"));
    let mut server = Server::start(&mut command)?;
    server.initialize()?;
    let question = prose::questions(&library.words, library.count, 1).remove(0);
    let (_, found) = server.call("search", &asked(&question))?;
    let id = found["results"][0]["id"]
        .as_str()
        .context("nothing found")?;
    let before = processor_time(&server);
    for edit in 0..EDITS {
        let new = format!("Edit number {edit:08} of this section.\n").repeat(10);
        let (_, said) = server.call("edit", &json!({ "id": id, "new": new }))?;
        ensure!(said["change"].is_string(), "the edit failed: {said}");
    }
    let time = (processor_time(&server) - before) / u32::try_from(EDITS)?;
    let journal = bytes_below(&root.join(".sectile"))? / EDITS as u64;
    server.stop()?;
    report.seen(
        "edit of a desk",
        &format!("{time:.2?} of a processor, {journal} bytes of journal"),
    );
    Ok(())
}

/// Returns the processor time of all processes that this one started and that have ended.
fn children_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.filter_map(|one| one.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        bytes += match kind.is_dir() {
            true => bytes_below(&entry.path())?,
            false => kind.len(),
        };
    }
    Ok(bytes)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
