//! A disk that fills up, and memory that runs out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::FaultTally;
use super::stage::{Stage, WriteJob, answer, copy, named_links};

/// A page: what a file system in memory is full by.
const PAGE: u64 = 4096;
/// Pages around those that the notes take: from too few for them to more than any of the commands writes.
const PAGES: (u64, u64) = (12, 20);
/// Address space that is too little to start in, and more than any of the commands needs.
const MEMORY: (u64, u64) = (8 << 20, 2 << 30);
const LIMITS: u64 = 40;

/// Mounts a file system of that size over the notes, runs the command in it, and copies what is left.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs -o size=$1 none "$2"
cp -a "$3/." "$2"
cd "$NOTES"
left=$4
shift 4
"$@" || code=$?
cp -a "$NOTES/." "$left"
exit ${code:-0}
"#;

/// Runs the command on file systems that have room for one page more each time.
pub(super) fn fill(program: &Path, place: &Path, job: &'static WriteJob) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "disk", job)?;
    let mut tally = FaultTally::default();
    let used = pages(&stage.template())?;
    let (notes, template, left) = (stage.notes(), stage.template(), stage.beside("left"));
    let (fewer, more) = PAGES;
    for room in used.saturating_sub(fewer).max(1)..used + more {
        stage.set()?;
        if left.exists() {
            fs::remove_dir_all(&left)?;
        }
        fs::create_dir_all(&left)?;
        let size = (room * PAGE).to_string();
        let [notes, template, left_name] =
            [&notes, &template, &left].map(|path| path.to_string_lossy().into_owned());
        let wrapper = [
            "unshare", "-rm", "sh", "-c", SCRIPT, "sh", &size, &notes, &template, &left_name,
        ];
        let output = stage.command(&wrapper).env("NOTES", &notes).output()?;
        // The notes themselves do not fit yet.
        if fs::read_dir(&left)?.next().is_none() {
            continue;
        }
        tally.faults += 1;
        fs::remove_dir_all(&notes)?;
        copy(&left, Path::new(&notes))?;
        stage.judge(
            &format!("room for {room} pages"),
            &answer(&output),
            &named_links(&output),
            &mut tally,
        )?;
    }
    Ok(tally)
}

/// Returns the number of pages that the files of a folder take.
fn pages(folder: &Path) -> Result<u64> {
    let mut pages = 1;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        pages += match entry.file_type()?.is_dir() {
            true => self::pages(&entry.path())?,
            false => entry.metadata()?.len().div_ceil(PAGE),
        };
    }
    Ok(pages)
}

/// Runs the command with more and more address space.
pub(super) fn squeeze(program: &Path, place: &Path, job: &'static WriteJob) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "memory", job)?;
    let mut tally = FaultTally::default();
    let (least, most) = MEMORY;
    for step in 0..LIMITS {
        // In equal steps up to a sixteenth, where it is decided, then to the end.
        let bytes = match step {
            0..36 => least + (most / 16 - least) * step / 36,
            _ => most / 16 * (1 + 4 * (step - 35)),
        };
        let limit = format!("--as={bytes}");
        stage.strike(&limit, &["prlimit", &limit], &mut tally)?;
    }
    let is_enough = tally.done > 0;
    is_enough.then_some(tally).context("no limit was enough")
}
