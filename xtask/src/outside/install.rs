//! Getting the tools, once per set of versions.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{self, Repo, bounded, is_present};

/// Exact versions: an outside check that changes by itself cannot be told from a defect of ours.
const NODE_PACKAGES: &[(&str, &str)] = &[
    // The suite and the Inspector need a newer Node than most systems have.
    ("node", "22.23.3"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
];
const PYTHON_PACKAGES: &[(&str, &str)] = &[("mcp", "2.3.0")];
/// The server that the editor's contract comes from. It does not start with a newer SDK.
const ORIGINAL: &[(&str, &str)] = &[("quantalogic-markdown-mcp", "0.2.2"), ("mcp", "1.30.0")];
/// What the notebook world's index is compared with.
const OTHER_INDEX: &[(&str, &str)] = &[("iwe", "0.29.3")];

const LIMIT: Duration = Duration::from_secs(600);
/// For what is compiled here.
const LONG_LIMIT: Duration = Duration::from_secs(2400);

/// Installs the Node packages; gives what is missing on this machine, if anything.
pub(super) fn node(folder: &Path) -> Result<Option<String>> {
    if let Some(missing) = missing(&["npm", "node"]) {
        return Ok(Some(missing));
    }
    let home = folder.join("node");
    once(&home, NODE_PACKAGES, || {
        let versions = NODE_PACKAGES
            .iter()
            .map(|(name, version)| ((*name).to_owned(), (*version).into()));
        let manifest = serde_json::json!({
            "private": true,
            "dependencies": serde_json::Map::from_iter(versions),
        });
        fs::write(home.join("package.json"), format!("{manifest:#}\n"))?;
        let mut npm = Command::new("npm");
        // A wrong Node only starts the installation; what is installed runs on the one that comes with it.
        npm.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--engine-strict=false",
            "--loglevel=error",
        ]);
        install(npm.current_dir(&home), &folder.join("logs/npm"))
    })?;
    Ok(None)
}

/// Installs the Python packages; gives what is missing on this machine, if anything.
pub(super) fn python(folder: &Path) -> Result<Option<String>> {
    python_packages(folder, "python", PYTHON_PACKAGES)
}

/// Installs the server to compare the editor with; gives what is missing on this machine, if anything.
pub(crate) fn original(folder: &Path) -> Result<Option<String>> {
    python_packages(folder, "original", ORIGINAL)
}

/// Installs the program to compare the notebook world's index with.
pub(crate) fn other_index(repo: &Repo) -> Result<()> {
    let folder = repo.target.join("outside");
    let home = folder.join("iwe");
    once(&home, OTHER_INDEX, || {
        let build = home.join("build");
        for (name, version) in OTHER_INDEX {
            let mut cargo = repo.cargo(["install", name, "--version", version, "--locked"]);
            cargo.arg("--root").arg(&home);
            cargo.arg("--target-dir").arg(&build);
            install_within(LONG_LIMIT, &mut cargo, &folder.join("logs/iwe"))?;
        }
        // Many times as large as what it is for.
        fs::remove_dir_all(build)?;
        Ok(())
    })
}

fn python_packages(folder: &Path, name: &str, packages: &[(&str, &str)]) -> Result<Option<String>> {
    if let Some(missing) = missing(&["python3"]) {
        return Ok(Some(missing));
    }
    let home = folder.join(name);
    once(&home, packages, || {
        install(
            Command::new("python3").args(["-m", "venv"]).arg(&home),
            &folder.join(format!("logs/{name}-venv")),
        )?;
        let mut pip = Command::new(home.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip.args(
            packages
                .iter()
                .map(|(name, version)| format!("{name}=={version}")),
        );
        install(&mut pip, &folder.join(format!("logs/{name}-pip")))
    })?;
    Ok(None)
}

fn missing(programs: &[&str]) -> Option<String> {
    let missing: Vec<&str> = programs
        .iter()
        .copied()
        .filter(|program| !is_present(program, &["--version"]))
        .collect();
    (!missing.is_empty()).then(|| format!("not installed on this machine: {}", missing.join(", ")))
}

/// Runs `install` unless a stamp in `home` says that exactly these packages are there.
fn once(
    home: &Path,
    packages: &[(&str, &str)],
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = home.join("installed");
    let wanted: String = packages
        .iter()
        .map(|(name, version)| format!("{name} {version}\n"))
        .collect();
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    if home.is_dir() {
        fs::remove_dir_all(home).with_context(|| format!("cannot clear {}", home.display()))?;
    }
    fs::create_dir_all(home)?;
    install()?;
    fs::write(stamp, wanted)?;
    Ok(())
}

fn install(command: &mut Command, log: &Path) -> Result<()> {
    install_within(LIMIT, command, log)
}

fn install_within(limit: Duration, command: &mut Command, log: &Path) -> Result<()> {
    println!("$ {}", process::shown(command));
    let finished = bounded(command, log, limit)?;
    if !finished.status.success() {
        bail!("`{}` failed: {}", process::shown(command), finished.tail());
    }
    Ok(())
}
