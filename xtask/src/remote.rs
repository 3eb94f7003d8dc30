//! Runs the recipes of docs/remote.md: nginx and Caddy from Debian in front of the program, and a real authorization server.
//!
//! The script in `xtask/remote` starts them on loopback, with the files in `deploy`, and ends with `N passed, N failed`.
//! Everything is installed and written below `target/outside`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::install;
use crate::process::{self, Repo, bounded};

/// The authorization server. It runs on Node 20 and newer.
const AUTHORIZATION_SERVER: &[(&str, &str)] = &[("oidc-provider", "9.13.3")];
/// Programs that have to be there, how they are asked for their version, and the Debian package of each.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("nginx", "-v", "nginx-light"),
    ("openssl", "version", "openssl"),
    ("node", "--version", "nodejs"),
];
/// Debian has servers in a folder that is not everybody's PATH.
const SERVERS: &str = "/usr/sbin";

/// Time limit of the script, which takes about two minutes: it watches streams for 40 seconds each.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs the recipes with the program that was built before. Returns a remark if something is missing.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let binary = repo.binary();
    ensure!(
        binary.is_file(),
        "there is no program to test; run `cargo build -p sectile` first"
    );
    let path = std::env::var("PATH").unwrap_or_default() + ":" + SERVERS;
    for (program, version, package) in PROGRAMS {
        let asked = Command::new("env")
            .arg(format!("PATH={path}"))
            .args([program, version])
            .output();
        if !asked.is_ok_and(|output| output.status.success()) {
            return process::not_checked(&format!(
                "{program} is not installed: apt-get install {package}"
            ));
        }
    }
    let folder = repo.target.join("outside");
    if let Some(missing) = install::PYTHON_CLIENT.install(&folder)? {
        return process::not_checked(&missing);
    }
    if let Some(missing) = install::node_packages(&folder, "remote", AUTHORIZATION_SERVER)? {
        return process::not_checked(&missing);
    }
    test(repo, &folder, &binary, &path)
}

fn test(repo: &Repo, folder: &Path, binary: &Path, path: &str) -> Result<Option<String>> {
    let home = folder.join("remote");
    let scripts = repo.root.join("xtask/remote");
    // Node looks for a package in the folders above the script that imports it.
    let server = home.join("authorization_server.mjs");
    fs::copy(scripts.join("authorization_server.mjs"), &server)?;
    let output = home.join("output");
    if output.is_dir() {
        fs::remove_dir_all(&output)?;
    }
    fs::create_dir_all(&output)?;
    let mut python = process::isolated(&install::PYTHON_CLIENT.python(folder), &home);
    python
        .env("PATH", path)
        .arg(scripts.join("recipes_test.py"))
        .arg(binary)
        .arg(repo.root.join("deploy"))
        .arg(&output)
        .arg(&server);
    let finished = bounded(&mut python, &folder.join("logs/remote-recipes"), LIMIT)?;
    print!("{}", finished.stdout);
    let count = finished.stdout.lines().last();
    count
        .filter(|line| line.ends_with(" failed"))
        .with_context(|| format!("no count of tests at the end: {}", finished.tail()))?;
    ensure!(finished.status.success(), "recipes failed");
    let skipped = finished
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("NOT CHECKED: "));
    skipped.map_or(Ok(None), process::not_checked)
}
