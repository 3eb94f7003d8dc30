//! Makes what is released: the program for each target, archives, packages of every kind, sums and a bill of materials.
//!
//! Everything is a function of the commit and the toolchain. Times come from the commit, entries of archives are sorted, and
//! no path of the machine gets into the program. `--twice` builds again in another folder and compares.

mod archives;
mod check;
mod index;
mod materials;
mod packages;
mod program;
mod targets;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::process::{self, Repo};
use targets::ReleaseTarget;

/// The name of the server in the MCP registry.
const REGISTRY_NAME: &str = "io.github.sectile/sectile";
/// The name of the package on PyPI, where `sectile` is another project.
const WHEEL: &str = "sectile-mcp";
const REPOSITORY: &str = "https://github.com/sectile/sectile";
const DESCRIPTION: &str = "Markdown for AI agents, one section at a time, over MCP.";
/// Limits of the release notes of 0.1.0, in bytes.
const MAX_PROGRAM: u64 = 38_000_000;
const MAX_BUNDLE: u64 = 30_000_000;

#[derive(clap::Args)]
pub(crate) struct DistArgs {
    /// Build for this target; may be given more than once [default: those that run on this machine].
    #[arg(long, value_name = "TRIPLE")]
    target: Vec<String>,
    /// Build the program a second time, in another folder, and compare.
    #[arg(long)]
    twice: bool,
    /// Build nothing: describe the packages of all targets that are in target/artifacts.
    #[arg(long, conflicts_with_all = ["target", "twice", "check"])]
    collect: bool,
    /// Build nothing: install each package in target/artifacts for this machine into an empty environment, and use it.
    #[arg(long, conflicts_with_all = ["target", "twice"])]
    check: bool,
}

/// Returns the targets that a release is built for.
pub(crate) fn triples() -> Vec<&'static str> {
    targets::TARGETS
        .iter()
        .map(|target| target.triple)
        .collect()
}

/// The release that is made: its version, its time and its folder.
struct Release<'a> {
    repo: &'a Repo,
    version: String,
    /// When the commit was made, in seconds since 1970.
    time: u64,
    folder: PathBuf,
}

pub(crate) fn run(repo: &Repo, args: &DistArgs) -> Result<Option<String>> {
    let release = Release::of(repo)?;
    if args.check {
        return check::run(&release);
    }
    if args.collect {
        release.require_all_targets()?;
    } else {
        let targets = targets::chosen(&args.target)?;
        for target in &targets {
            program::require_library(target)?;
        }
        if release.folder.is_dir() {
            fs::remove_dir_all(&release.folder)?;
        }
        fs::create_dir_all(&release.folder)?;
        for target in targets {
            release.make(target, args.twice)?;
        }
        release.add_crates()?;
    }
    index::write(&release)?;
    for (name, bytes, _) in release.files()? {
        println!("{bytes:>11}  {name}");
    }
    Ok(Some(format!(
        "the release is in {}",
        release.folder.display()
    )))
}

impl<'a> Release<'a> {
    fn of(repo: &'a Repo) -> Result<Self> {
        let manifest = fs::read_to_string(repo.root.join("Cargo.toml"))?;
        let manifest: toml::Table = toml::from_str(&manifest)?;
        let version = manifest["workspace"]["package"]["version"]
            .as_str()
            .context("Cargo.toml has no version for the workspace")?
            .to_owned();
        let changes = fs::read_to_string(repo.root.join("CHANGELOG.md"))?;
        ensure!(
            changes.contains(&format!("\n## {version} - ")),
            "CHANGELOG.md has no entry for {version}"
        );
        let mut git = Command::new("git");
        git.args(["log", "-1", "--format=%ct"]);
        let time = process::stdout_of(git.current_dir(&repo.root))?;
        Ok(Self {
            repo,
            version,
            time: time.trim().parse()?,
            folder: repo.target.join("artifacts"),
        })
    }

    /// Builds the program for a target, and makes the files that depend on it.
    fn make(&self, target: &ReleaseTarget, twice: bool) -> Result<()> {
        let start = Instant::now();
        let program = program::build(self, target)?;
        println!("built {} in {} s", target.triple, start.elapsed().as_secs());
        if twice {
            program::compare_with_second_build(self, target, &program)?;
        }
        packages::make(self, target, &program)
    }

    /// Fails if a file of any target is missing: the launcher, the formula and `server.json` would lack it without a word.
    fn require_all_targets(&self) -> Result<()> {
        let names: Vec<String> = self.files()?.into_iter().map(|(name, ..)| name).collect();
        let wanted = targets::TARGETS
            .iter()
            .flat_map(|target| packages::names(target, &self.version));
        let missing: Vec<String> = wanted.filter(|name| !names.contains(name)).collect();
        ensure!(
            missing.is_empty(),
            "the release lacks {}",
            missing.join(", ")
        );
        Ok(())
    }

    /// Adds the packaged crates, which are the same for all targets.
    fn add_crates(&self) -> Result<()> {
        for file in crate::crates::package(self.repo)? {
            let name = file.file_name().context("a packaged crate has no name")?;
            fs::copy(&file, self.folder.join(name))?;
        }
        Ok(())
    }

    /// Writes a file of the release.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.folder.join(name), bytes).with_context(|| format!("cannot write {name}"))
    }

    /// Returns name, size and SHA-256 of all files of the release, by name.
    fn files(&self) -> Result<Vec<(String, usize, String)>> {
        let mut files = Vec::new();
        let folder = fs::read_dir(&self.folder)
            .context("nothing was built yet: run `cargo xtask dist` first")?;
        for entry in folder {
            let entry = entry?;
            let bytes = fs::read(entry.path())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, bytes.len(), hex(&Sha256::digest(&bytes))));
        }
        files.sort();
        Ok(files)
    }
}

/// Returns bytes in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a JSON document as files have it.
fn pretty(value: &serde_json::Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
