//! What Sectile keeps beside the notes, damaged, forged, or replaced by something that is not a file at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::FaultTally;
use super::stage::{Answer, Documents, Stage, WriteJob, answer, copy, documents};

/// Positions at which a file is cut off or a bit of it is flipped, besides its ends.
const POSITIONS: usize = 48;
/// No command needs so long, or so much memory, whatever it finds.
const BOUNDS: [&str; 4] = ["timeout", "20", "prlimit", "--as=2147483648"];
/// What a link leads to. Nothing may be written there.
const OUTSIDE: &str = "outside.txt";

/// Something that can be wrong with a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// It ends early.
    CutTo(usize),
    /// One bit is another.
    Flipped(usize),
    /// All that follows is zero.
    ZeroFrom(usize),
    /// It is there twice, one after the other.
    Doubled,
    /// Its second half comes first.
    Turned,
    /// It says that it has far more than the disk could hold, and is sparse.
    Enormous,
    Gone,
    Unreadable,
    Folder,
    Pipe,
    Device,
    /// A link to a file elsewhere.
    Link,
    /// A link to itself.
    Loop,
}

impl Damage {
    /// Returns all damages of a file of this length.
    fn all(length: usize) -> Vec<Self> {
        let step = (length / POSITIONS).max(1);
        let positions = || (0..length).step_by(step).chain(length.checked_sub(1));
        let mut all: Vec<Self> = positions().map(Self::CutTo).collect();
        all.extend(positions().map(Self::Flipped));
        all.extend([Self::ZeroFrom(0), Self::ZeroFrom(length / 2)]);
        all.extend([
            Self::Doubled,
            Self::Turned,
            Self::Enormous,
            Self::Gone,
            Self::Unreadable,
        ]);
        all.extend([
            Self::Folder,
            Self::Pipe,
            Self::Device,
            Self::Link,
            Self::Loop,
        ]);
        all
    }

    fn apply(self, file: &Path, outside: &Path) -> Result<()> {
        let bytes = fs::read(file)?;
        let replaced = match self {
            Self::CutTo(length) => bytes[..length].to_vec(),
            Self::Flipped(at) => {
                let mut bytes = bytes;
                // A different bit each time.
                bytes[at] ^= 1 << (at % 8);
                bytes
            }
            Self::ZeroFrom(start) => {
                let mut bytes = bytes;
                bytes[start..].fill(0);
                bytes
            }
            Self::Doubled => bytes.repeat(2),
            Self::Turned => {
                let (first, second) = bytes.split_at(bytes.len() / 2);
                [second, first].concat()
            }
            Self::Enormous => {
                return Ok(fs::OpenOptions::new()
                    .write(true)
                    .open(file)?
                    .set_len(1 << 42)?);
            }
            Self::Unreadable => return make("chmod", &["000"], file),
            _ => {
                fs::remove_file(file)?;
                return match self {
                    Self::Folder => Ok(fs::create_dir(file)?),
                    Self::Pipe => make("mkfifo", &[], file),
                    Self::Device | Self::Link => {
                        let target = if matches!(self, Self::Link) {
                            outside
                        } else {
                            Path::new("/dev/zero")
                        };
                        Ok(symlink(target, file)?)
                    }
                    Self::Loop => Ok(symlink(file, file)?),
                    _ => Ok(()),
                };
            }
        };
        Ok(fs::write(file, replaced)?)
    }
}

fn make(program: &str, words: &[&str], file: &Path) -> Result<()> {
    let status = Command::new(program).args(words).arg(file).status()?;
    ensure!(status.success(), "{program} failed");
    Ok(())
}

/// Damages each file in the private folder and among the settings, in each way.
pub(super) fn damage(program: &Path, place: &Path, job: &'static WriteJob) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "files", job)?;
    let mut tally = FaultTally::default();
    let (home, kept_home) = (stage.beside("home"), stage.beside("kept-home"));
    // An index is there as well.
    let found = stage.sectile(&[], &["search", "alpha"]).output()?;
    ensure!(answer(&found) == Answer::Done, "a search");
    copy(&home, &kept_home)?;
    fs::remove_dir_all(stage.template())?;
    copy(&stage.notes(), &stage.template())?;
    let outside = stage.beside(OUTSIDE);
    for file in private_files(&stage)? {
        for damage in Damage::all(usize::try_from(fs::metadata(&file)?.len())?) {
            stage.set()?;
            fs::remove_dir_all(&home)?;
            copy(&kept_home, &home)?;
            fs::write(&outside, "untouched")?;
            damage.apply(&file, &outside)?;
            tally.faults += 1;
            if let Err(error) = meet(&stage, &outside, &mut tally) {
                let name = file.strip_prefix(stage.beside("")).unwrap_or(&file);
                tally
                    .failures
                    .push(format!("{} {damage:?}: {error:#}", name.display()));
            }
        }
        stage.set()?;
        fs::remove_dir_all(&home)?;
        copy(&kept_home, &home)?;
    }
    Ok(tally)
}

/// Returns the files that Sectile made, sorted.
fn private_files(stage: &Stage) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![stage.notes().join(".sectile"), stage.beside("home")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads, searches and edits.
fn meet(stage: &Stage, outside: &Path, tally: &mut FaultTally) -> Result<()> {
    for reading in [&["outline"][..], &["search", "alpha"]] {
        bounded(stage, reading)?;
        unchanged(stage, &stage.before)?;
    }
    let said = bounded(stage, stage.job.words())?;
    let wanted = match said {
        Answer::Done => &stage.after,
        _ => &stage.before,
    };
    match said {
        Answer::Done => tally.done += 1,
        Answer::Refused(_) => tally.refused += 1,
        Answer::Nothing => tally.unanswered += 1,
    }
    unchanged(stage, wanted)?;
    ensure!(
        fs::read_to_string(outside)? == "untouched",
        "something was written outside"
    );
    Ok(())
}

fn unchanged(stage: &Stage, wanted: &Documents) -> Result<()> {
    ensure!(
        documents(&stage.notes())? == *wanted,
        "the documents are not as they should be"
    );
    Ok(())
}

/// Runs a command, which must end by itself.
fn bounded(stage: &Stage, words: &[&str]) -> Result<Answer> {
    let output = stage.sectile(&BOUNDS, words).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output
        .status
        .code()
        .with_context(|| format!("{words:?} crashed: {said}"))?;
    ensure!(
        code < 100 && !said.contains("panicked"),
        "{words:?} ended with {code}: {said}"
    );
    Ok(answer(&output))
}
