//! What people did to Markdown, done again: the commits of a git repository as edits of sections, its merges through our
//! merge, and its renames with our repair of links.
//!
//! Run by `cargo xtask replay`. Exits with 1 if an edit left other bytes than the commit did, if a merge lost a line, or if
//! a repaired link leads elsewhere. What Sectile refuses is counted.

mod edits;
mod generated;
mod git;
mod merges;
mod renames;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result};

use git::Repository;

/// A table of figures about one repository.
#[derive(Default)]
struct Figures {
    rows: Vec<(String, String)>,
    /// Where people and git did something else, to look at.
    remarks: Vec<String>,
    /// What must never happen, and where it did.
    failures: Vec<String>,
}

impl Figures {
    fn row(&mut self, what: impl Into<String>, figure: impl ToString) {
        self.rows.push((what.into(), figure.to_string()));
    }

    /// A part of a whole, also in percent.
    fn share(&mut self, what: impl Into<String>, part: usize, whole: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let percent = 100.0 * part as f64 / whole.max(1) as f64;
        self.row(what, format!("{part} ({percent:.1} %)"));
    }

    fn print(&self, name: &str) {
        println!("\n| {name} | |\n|---|--:|");
        for (what, figure) in &self.rows {
            println!("| {what} | {figure} |");
        }
        for remark in &self.remarks {
            println!("see {remark}");
        }
        for failure in &self.failures {
            println!("FAILED  {failure}");
        }
    }
}

/// The options of a replay.
struct Replay {
    /// The number of commits, merges and renames to replay, the newest ones.
    most: usize,
    /// The folder that documents are edited in.
    place: PathBuf,
}

impl Replay {
    fn repository(&self, folder: &Path) -> Result<Figures> {
        let mut repository = Repository::open(folder)?;
        let mut figures = Figures::default();
        edits::replay(self, &mut repository, &mut figures)?;
        merges::replay(self, &mut repository, &mut figures)?;
        renames::replay(self, &mut repository, &mut figures)?;
        Ok(figures)
    }
}

/// Replays the repositories that the arguments name, and a generated one.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<ExitCode> {
    let mut folders = Vec::new();
    let mut most = usize::MAX;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--most" => most = arguments.next().context("--most takes a number")?.parse()?,
            _ => folders.push(PathBuf::from(argument)),
        }
    }
    let memory = PathBuf::from("/dev/shm");
    let replay = Replay {
        most,
        place: if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        },
    };
    let mut failed = false;
    let mut print = |name: &str, figures: &Figures| {
        figures.print(name);
        failed |= !figures.failures.is_empty();
    };
    for folder in &folders {
        let name = folder.canonicalize()?;
        let name = name.file_name().unwrap_or(folder.as_os_str());
        print(&name.display().to_string(), &replay.repository(folder)?);
    }
    let made = generated::repository(&replay.place, generated::COMMITS)?;
    print("Generated", &replay.repository(made.path())?);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(folder: &Path, most: usize) -> Figures {
        let place = std::env::temp_dir();
        let figures = Replay { most, place }.repository(folder).unwrap();
        assert_eq!(figures.failures, Vec::<String>::new());
        figures
    }

    fn count(figures: &Figures, what: &str) -> usize {
        let (_, figure) = figures.rows.iter().find(|(row, _)| row == what).unwrap();
        figure.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_generated_history_is_replayed_to_the_byte() {
        let folder = generated::repository(&std::env::temp_dir(), 60).unwrap();
        let figures = figures(folder.path(), usize::MAX);
        assert!(count(&figures, "documents changed by commits") > 50);
        assert!(count(&figures, "documents merged from two sides") > 5);
        assert!(count(&figures, "documents renamed") > 2);
        assert!(count(&figures, "repaired as people did") > 2);
    }

    /// Does nothing where the history is absent, as in a package of the source.
    #[test]
    fn the_newest_commits_of_this_repository_are_replayed_to_the_byte() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        if root.join(".git").exists() {
            figures(&root, 40);
        }
    }
}
