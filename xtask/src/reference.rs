//! Writes the pages of the manual that the program generates from its own tables.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{self, Repo};

/// Names of the pages and of their files.
const PAGES: [&str; 3] = ["tools", "errors", "configuration"];

pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    repo.run_cargo("build --locked --package sectile --features backends")?;
    let program = repo.binary();
    for page in PAGES {
        let text = process::stdout_of(Command::new(&program).args(["reference", page]))?;
        let name = format!("docs/{page}.md");
        fs::write(repo.root.join(&name), text).with_context(|| format!("cannot write {name}"))?;
        println!("wrote {name}");
    }
    Ok(None)
}
