//! From the start of a desk to its first answer and to a complete index, on a folder never seen and on one that it knows.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{asked, folder::DeskFolder, load};
use crate::{
    Bench,
    measure::middle,
    notebook::indexing::megabytes,
    processes::{finish, memory, on_all_cores, processor_time},
    report::{Report, Verdict},
    server::Server,
};

const MOST_READINGS: f64 = 5.0;
const MOST_MEMORY: u64 = 300_000_000;
/// The most bytes of the cache, as a share of those of the notes.
const MOST_SHARE: f64 = 0.6;
const FIRST: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(150);
const LONGEST: Duration = Duration::from_secs(120);
const MANIFEST: &str = "manifest";

/// A start on a folder that was never seen.
struct Beginning {
    read: Duration,
    first: Duration,
    complete: Duration,
    processor: Duration,
    peak: u64,
    cache: u64,
}

pub(super) fn from_nothing(
    report: &mut Report,
    bench: &Bench,
    folder: &DeskFolder,
    questions: &[String],
) -> Result<()> {
    let mut read = Command::new(bench.binaries.join("read_folder"));
    read.arg(folder.root());
    let read = on_all_cores(&read);
    let bytes: u64 = {
        let mut read = on_all_cores(&read);
        finish(&mut read)?.output.trim().parse()?
    };
    let mut seen = Vec::new();
    for question in questions.iter().take(bench.size(5, 2)) {
        let mut read = on_all_cores(&read);
        seen.push(begin(bench, folder, question, finish(&mut read)?.elapsed)?);
    }
    // The best of several: what other processes take from a build on all cores is not its cost.
    let best = seen
        .iter()
        .min_by_key(|one| one.complete)
        .context("no start")?;
    let read = seen.iter().map(|one| one.read).min().unwrap_or_default();
    let what = format!(
        "complete index of {} notes, {}, from nothing / reading them with all cores",
        folder.count,
        megabytes(bytes)
    );
    report.ratio(&what, best.complete, read, MOST_READINGS);
    let figures = format!("{:.1?} of processor time; load {}", best.processor, load());
    report.seen("of that", &figures);
    let peak = seen.iter().map(|one| one.peak).max().unwrap_or_default();
    let figures = format!("{} (target at most 300 MB)", megabytes(peak));
    report.line(
        "most memory until then",
        &figures,
        Verdict::at_most(peak, MOST_MEMORY).and(peak > 0),
    );
    let share = best.cache as f64 / bytes as f64;
    let figures = format!(
        "{share:.2} (target {MOST_SHARE}; {})",
        megabytes(best.cache)
    );
    report.line(
        "cache on disk / bytes of the notes",
        &figures,
        Verdict::at_most(share, MOST_SHARE),
    );
    let first = middle(seen.iter().map(|one| one.first).collect());
    let figures = format!("{first:.1?} (target {FIRST:.0?})");
    report.line(
        "first search on a folder never seen",
        &figures,
        Verdict::at_most(first, FIRST),
    );
    Ok(())
}

fn begin(bench: &Bench, folder: &DeskFolder, question: &str, read: Duration) -> Result<Beginning> {
    folder.forget_cache()?;
    let started = Instant::now();
    let mut server = Server::start(&mut on_all_cores(&folder.serve_command(bench)))?;
    server.initialize()?;
    server.call("search", &asked(question))?;
    let first = started.elapsed();
    complete(&mut server, question)?;
    let complete = started.elapsed();
    let processor = processor_time(&server);
    let peak = memory(server.process(), "VmHWM").context("the memory of a server")?;
    while !has_manifest(&folder.cache())? {
        ensure!(started.elapsed() < LONGEST, "the cache is never written");
        std::thread::sleep(Duration::from_millis(2));
    }
    let cache = bytes_below(&folder.cache())?;
    // What the cache took is part of the peak, too.
    let peak = peak.max(memory(server.process(), "VmHWM").unwrap_or_default());
    server.stop()?;
    Ok(Beginning {
        read,
        first,
        complete,
        processor,
        peak,
        cache,
    })
}

/// Searches until everything is in.
pub(super) fn complete(server: &mut Server, question: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let (_, said) = server.call("search", &asked(question))?;
        if said["index"] == Value::Null {
            return Ok(());
        }
        ensure!(started.elapsed() < LONGEST, "never complete: {said}");
    }
}

pub(super) fn again(
    report: &mut Report,
    bench: &Bench,
    folder: &DeskFolder,
    questions: &[String],
) -> Result<()> {
    let (mut found, mut taken) = (Vec::new(), Vec::new());
    for question in questions.iter().take(bench.size(31, 11)) {
        let started = Instant::now();
        let mut server = Server::start(&mut on_all_cores(&folder.serve_command(bench)))?;
        server.initialize()?;
        // An answer that does not have all notes yet does not count.
        complete(&mut server, question)?;
        found.push(started.elapsed());
        taken.push(processor_time(&server));
        server.stop()?;
    }
    let best = found.iter().min().copied().unwrap_or_default();
    let usual = middle(found);
    let figures = format!(
        "{usual:.1?} (target {AGAIN:.0?}; best {best:.1?}; {:.0?} of processor time; load {})",
        middle(taken),
        load()
    );
    report.line(
        &format!(
            "restart on {} unchanged notes to first search",
            folder.count
        ),
        &figures,
        Verdict::at_most(usual, AGAIN),
    );
    Ok(())
}

fn has_manifest(folder: &Path) -> Result<bool> {
    Ok(files_below(folder)?
        .iter()
        .any(|(name, _)| name == MANIFEST))
}

fn bytes_below(folder: &Path) -> Result<u64> {
    Ok(files_below(folder)?.iter().map(|(_, length)| length).sum())
}

/// Returns the names and lengths of all files below a folder. Files may go while it is read.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                let name = entry.file_name().to_string_lossy().into_owned();
                files.push((name, metadata.len()));
            }
        }
    }
    Ok(files)
}
