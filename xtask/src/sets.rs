//! Test sets for searches, made from documentation that Debian packages carry. They are not in the repository.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{self, Repo, is_present};

/// The script that makes them; its head says what they are.
const SCRIPT: &str = "bench/package-sets/make_sets.py";
/// Folders with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` are in it, below `target`.
pub(crate) const FOLDER: &str = "sets";

/// Downloads the packages and makes the sets.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    for program in ["apt-get", "dpkg-deb", "python3"] {
        if !is_present(program, &["--version"]) {
            bail!("the test sets come from Debian packages, and `{program}` is not there");
        }
    }
    let folder = repo.target.join(FOLDER);
    let mut command = Command::new("python3");
    command.arg(repo.root.join(SCRIPT)).arg(&folder);
    process::run(&mut command)?;
    Ok(Some(format!("written to {}", folder.display())))
}
