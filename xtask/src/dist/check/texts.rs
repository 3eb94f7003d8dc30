//! The files that only describe the others: `server.json` and the Homebrew formula.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Checkup;
use crate::process;

/// Checks that the registry entry names the files of this release with their digests, and that the formula is Ruby.
pub(super) fn texts(checkup: &Checkup<'_>) -> Result<Option<String>> {
    let version = &checkup.release.version;
    let entry: Value = serde_json::from_slice(&fs::read(checkup.artifact("server.json"))?)?;
    let files = checkup.release.files()?;
    let packages = entry["packages"]
        .as_array()
        .context("server.json has no packages")?;
    let mut bundles = 0;
    for package in packages {
        ensure!(
            package["version"] == **version,
            "another version: {package}"
        );
        if package["registryType"] == "mcpb" {
            let (_, name) = package["identifier"]
                .as_str()
                .and_then(|url| url.rsplit_once('/'))
                .context("a bundle without an address")?;
            let file = files.iter().find(|(file, ..)| file == name);
            let (.., sum) = file.with_context(|| format!("the release has no {name}"))?;
            ensure!(package["fileSha256"] == **sum, "another digest of {name}");
            bundles += 1;
        }
    }
    let made = files
        .iter()
        .filter(|(name, ..)| name.ends_with(".mcpb"))
        .count();
    ensure!(
        bundles == made,
        "server.json names {bundles} of {made} bundles"
    );
    if !process::is_present("ruby", &["--version"]) {
        return Ok(Some(
            "the formula was not parsed: apt-get install ruby".to_owned(),
        ));
    }
    process::stdout_of(
        Command::new("ruby")
            .arg("-c")
            .arg(checkup.artifact("sectile.rb")),
    )?;
    Ok(None)
}
