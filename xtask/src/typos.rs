//! The spelling checker, with the words of `typos.toml`.

use std::process::Command;

use anyhow::Result;

use crate::install;
use crate::process::{self, Repo};

/// Runs the checker. Returns a remark if it cannot be installed.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let folder = repo.target.join("outside");
    if let Some(missing) = install::TYPOS.missing(&folder) {
        return process::not_checked(&missing);
    }
    let program = folder.join("typos/bin/typos");
    process::run(Command::new(program).current_dir(&repo.root)).map(|()| None)
}
