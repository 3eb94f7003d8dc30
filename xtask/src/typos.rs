//! The spelling checker, with the words of `typos.toml`.

use std::process::Command;

use anyhow::Result;

use crate::install;
use crate::process::{self, Repo};

/// Runs the checker. Returns a remark if it cannot be installed.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let folder = repo.target.join("outside");
    match install::TYPOS.install(&folder) {
        Ok(None) => {}
        Ok(Some(missing)) => return process::not_checked(&missing),
        Err(error) => {
            println!("{error:#}");
            return process::not_checked("the Python package `typos` could not be installed");
        }
    }
    let program = folder.join("typos/bin/typos");
    process::run(Command::new(program).current_dir(&repo.root)).map(|()| None)
}
