//! Indexing: from scratch against `iwe find --lexical`, which reads the same folder to answer one question, and after one
//! edit against checking every file and the flushes.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    hint::black_box,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use sectile_vault::{Root, Walk};
use serde_json::Value;

use super::library::{LIBRARY, NotebookLibrary};
use crate::{
    Bench,
    measure::{middle, timed},
    processes::{ProcessOutput, finish, on_all_cores, quickly},
    report::{Report, Verdict},
};

const OTHER: &str = "outside/iwe/bin/iwe";
/// The number of the word that iwe searches for, which is in some of the notes.
const QUESTION: usize = 3_000;
const MOST_MEMORY: u64 = 300_000_000;
const MANIFEST: &str = "manifest";

pub(super) fn from_nothing(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
) -> Result<()> {
    let other = bench.target.join(OTHER);
    let other = other.is_file().then_some(other);
    if let Some(other) = &other {
        // It would be quick if it read nothing. This also warms the folder up.
        let count = finish(&mut on_all_cores(&iwe(other, library, &["count"])))?.output;
        ensure!(
            count.trim() == library.count.to_string(),
            "iwe counts `{}` notes, not {}",
            count.trim(),
            library.count
        );
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        if let Some(other) = &other {
            let mut find = iwe(other, library, &["find", "--lexical"]);
            find.args([
                library.words.word(QUESTION),
                "--limit",
                "5",
                "--format",
                "keys",
            ]);
            let found = finish(&mut on_all_cores(&find))?;
            ensure!(!found.output.is_empty(), "iwe finds nothing");
            theirs.push(found);
        }
        if library.index().is_dir() {
            fs::remove_dir_all(library.index())?;
        }
        ours.push(finish(&mut on_all_cores(
            &library.index_command(bench, LIBRARY),
        ))?);
    }
    let said = ours.last().map(|last| last.output.as_str());
    let said: Value = serde_json::from_str(said.unwrap_or_default())?;
    let (notes, chunks) = (&said[0]["notebooks"], &said[0]["chunks"]);
    ensure!(*notes == library.count, "indexed {said}");
    let what = format!("index of {notes} notes, {chunks} chunks, from scratch");
    let time = |all: &[ProcessOutput]| middle(all.iter().map(|one| one.elapsed).collect());
    let peak = |all: &[ProcessOutput]| all.iter().map(|one| one.peak).max().unwrap_or_default();
    let (our_time, their_time) = (time(&ours), time(&theirs));
    if theirs.is_empty() {
        let figures = format!("{our_time:.1?}; iwe is not installed, so nothing to compare with");
        report.seen(&what, &figures);
    } else {
        let ratio = our_time.as_secs_f64() / their_time.as_secs_f64();
        report.line(
            &format!("{what} / iwe find --lexical"),
            &format!("{ratio:.2} (target 0.33; {our_time:.1?} / {their_time:.1?})"),
            Verdict::at_most(ratio, 1.0 / 3.0),
        );
        report.seen("memory of iwe", &megabytes(peak(&theirs)));
    }
    let figures = format!("{} (target under 300 MB)", megabytes(peak(&ours)));
    let verdict = Verdict::at_most(peak(&ours), MOST_MEMORY).and(peak(&ours) > 0);
    report.line("most memory while indexing", &figures, verdict);
    let bytes: u64 = files(&folder(&library.index())?)?.values().sum();
    report.seen("the index on disk", &megabytes(bytes));
    Ok(())
}

fn iwe(program: &Path, library: &NotebookLibrary, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(library.collection());
    command
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Returns the only folder below `all`: the index of a single collection.
fn folder(all: &Path) -> Result<PathBuf> {
    let mut folders = fs::read_dir(all)?;
    let first = folders.next().context("there is no index")??;
    ensure!(folders.next().is_none(), "several collections are indexed");
    Ok(first.path())
}

/// Returns the names and lengths of the files in a folder.
fn files(folder: &Path) -> Result<BTreeMap<String, u64>> {
    let entries = fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.metadata()?.len()))
    });
    entries.collect()
}

pub(super) fn after_one_edit(
    report: &mut Report,
    bench: &Bench,
    library: &NotebookLibrary,
) -> Result<()> {
    let index = folder(&library.index())?;
    let root = Root::open(&library.root)?;
    let bare = library.scratch.join("bare");
    fs::create_dir_all(&bare)?;
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    let (mut walks, mut flushes) = (Vec::new(), Vec::new());
    for round in 0..bench.size(15, 9) {
        library.edit(0, round)?;
        let before = files(&index)?;
        let (elapsed, said) = quickly(&mut library.index_command(bench, LIBRARY))?;
        let after = files(&index)?;
        let read = said[0]["indexed"].as_u64().unwrap_or_default();
        ensure!(said[0]["written"] == true && read < 300, "indexed {said}");
        ours.push(elapsed);
        walks.push(timed(|| {
            let listed = root.list(LIBRARY, &Walk::default(), &|| false)?;
            ensure!(black_box(listed).len() == library.count);
            Ok(())
        })?);
        let new = after.iter().filter(|(name, _)| !before.contains_key(*name));
        let new: Vec<Vec<u8>> = new.map(|(_, length)| content(*length)).collect();
        let manifest = content(after.get(MANIFEST).copied().unwrap_or_default());
        ensure!(!new.is_empty() && !manifest.is_empty(), "nothing written");
        flushes.push(timed(|| flush(&bare, &new, &manifest))?);
        nothing.push(quickly(&mut library.index_command(bench, LIBRARY))?.0);
    }
    library.restore(0)?;
    quickly(&mut library.index_command(bench, LIBRARY))?;
    let (walk, flush) = (middle(walks), middle(flushes));
    let what = format!(
        "index after one edit of {} notes / (checking every file + its flushes)",
        library.count
    );
    report.ratio(&what, middle(ours), walk + flush, 2.0);
    let figures = format!(
        "checking {walk:.1?}, flushes {flush:.1?}; index when nothing changed {:.1?}",
        middle(nothing)
    );
    report.seen("of that", &figures);
    Ok(())
}

fn content(length: u64) -> Vec<u8> {
    let byte = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()[7];
    (0..length).map(byte).collect()
}

/// Performs the disk operations of a new index state: segments, folder, manifest, folder.
fn flush(folder: &Path, segments: &[Vec<u8>], manifest: &[u8]) -> Result<()> {
    let put = |name: &str, bytes: &[u8]| -> Result<()> {
        let unfinished = folder.join("unfinished");
        let mut file = File::create(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(unfinished, folder.join(name))?;
        Ok(())
    };
    for (number, segment) in segments.iter().enumerate() {
        put(&format!("segment-{number}"), segment)?;
    }
    File::open(folder)?.sync_all()?;
    put(MANIFEST, manifest)?;
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// Updates an index, in a separate folder if one is given.
pub(super) fn update(
    bench: &Bench,
    library: &NotebookLibrary,
    index: Option<&Path>,
) -> Result<Duration> {
    let mut command = library.index_command(bench, LIBRARY);
    if let Some(index) = index {
        command.arg("--index").arg(index);
    }
    Ok(quickly(&mut command)?.0)
}
