//! Installs each package of a release into an empty environment, and uses the program there.
//!
//! Empty means: no variable but `HOME`, `PATH` and the language, a home folder that was just made, and only programs of the
//! system. The client that asks is that of the Python SDK.

mod containers;
mod debian;
mod registries;
mod texts;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::targets::{self, ReleaseTarget, System};
use super::{Release, index};
use crate::install;
use crate::process::{self, bounded};

/// A note, and what the answer to the question of `ask.py` has to contain.
const NOTE: &str = "# Harbour\n\n## Prices\n\nThe ferry costs 12 a trip.\n";
const ANSWER: &str = "ferry costs 12";
/// Where the programs of a system are.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LIMIT: Duration = Duration::from_secs(300);

/// How one kind of package is installed and used. Returns what was not checked, if anything.
type Check = fn(&Checkup<'_>) -> Result<Option<String>>;

const CHECKS: [(&str, Check); 9] = [
    ("sums", sums),
    ("archives", archives),
    ("debian", debian::package),
    ("bundle", bundle),
    ("npm", registries::npm),
    ("wheel", registries::wheel),
    ("crates", registries::crates),
    ("image", containers::image),
    ("texts", texts::texts),
];

/// The release to check, and the folder for everything that the checks install.
struct Checkup<'a> {
    release: &'a Release<'a>,
    folder: PathBuf,
    /// The packages of other projects that the checks use.
    outside: PathBuf,
    /// The targets that this machine can run and that are in the release.
    targets: Vec<&'static ReleaseTarget>,
}

/// Runs all checks; one that fails does not stop the others.
pub(super) fn run(release: &Release<'_>) -> Result<Option<String>> {
    let names: Vec<String> = release
        .files()?
        .into_iter()
        .map(|(name, ..)| name)
        .collect();
    let mut targets = targets::runnable()?;
    targets.retain(|target| names.contains(&target.archive(&release.version)));
    let checkup = Checkup {
        release,
        folder: release.repo.target.join("tmp/dist-check"),
        outside: release.repo.target.join("outside"),
        targets,
    };
    ensure!(
        !checkup.targets.is_empty(),
        "no program in the release runs on this machine: run `cargo xtask dist` first"
    );
    if let Some(missing) = install::PYTHON_CLIENT.install(&checkup.outside)? {
        return process::not_checked(&missing);
    }
    let (mut failed, mut unchecked) = (Vec::new(), Vec::new());
    for (name, check) in CHECKS {
        let start = Instant::now();
        let outcome = checkup.clear(name).and_then(|()| check(&checkup));
        let seconds = start.elapsed().as_secs_f32();
        match outcome {
            Ok(None) => println!("{name:<10} ok   {seconds:>6.1} s"),
            Ok(Some(remark)) => {
                println!("{name:<10} part {seconds:>6.1} s  {remark}");
                unchecked.push(remark);
            }
            Err(error) => {
                println!("{name:<10} FAILED {seconds:>4.1} s\n{error:#}");
                failed.push(name);
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "these do not work: {}",
        failed.join(", ")
    );
    match unchecked.is_empty() {
        true => Ok(None),
        false => process::not_checked(&unchecked.join("; ")),
    }
}

impl Checkup<'_> {
    /// Makes an empty folder for a check.
    fn clear(&self, name: &str) -> Result<()> {
        let folder = self.folder.join(name);
        if folder.is_dir() {
            fs::remove_dir_all(&folder)?;
        }
        Ok(fs::create_dir_all(folder)?)
    }

    fn artifact(&self, name: &str) -> PathBuf {
        self.release.folder.join(name)
    }

    /// Returns the target whose programs need the system's C library, or the first one.
    fn main_target(&self) -> &'static ReleaseTarget {
        let is_main = |target: &&&ReleaseTarget| target.system != System::LinuxMusl;
        self.targets
            .iter()
            .find(is_main)
            .unwrap_or(&self.targets[0])
    }

    /// Makes an empty environment in a folder of its own.
    fn environment(&self, name: &str) -> Result<EmptyEnvironment> {
        let folder = self.folder.join(name);
        fs::create_dir_all(folder.join("home"))?;
        let notes = folder.join("notes");
        fs::create_dir_all(&notes)?;
        fs::write(notes.join("harbour.md"), NOTE)?;
        Ok(EmptyEnvironment {
            folder,
            notes,
            path: SYSTEM_PATH.into(),
        })
    }

    /// Uses an installed program, given as the words that start it: its demo, its own check, and a client's question.
    fn use_program(&self, environment: &EmptyEnvironment, words: &[&OsStr]) -> Result<()> {
        let version = environment.run(words, &["--version"])?;
        let expected = format!("sectile {}", self.release.version);
        ensure!(
            version.trim() == expected,
            "the program says that it is {version}"
        );
        let demo = environment.run(words, &["demo"])?;
        ensure!(
            demo.contains("conflict"),
            "the demo does not show a conflict: {demo}"
        );
        environment.run(words, &["self-check"])?;
        self.ask(environment, words)
    }

    /// Asks a server on stdio a question about the notes, with a client that others wrote.
    fn ask(&self, environment: &EmptyEnvironment, words: &[&OsStr]) -> Result<()> {
        let python = install::PYTHON_CLIENT.python(&self.outside);
        let mut command = environment.command(python.as_os_str());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(self.release.repo.root.join("xtask/dist/ask.py"));
        command
            .args(words)
            .args(["serve", "desk"])
            .arg(&environment.notes);
        let answer = environment.output_of(&mut command, "ask")?;
        ensure!(
            answer.contains(ANSWER),
            "the answer lacks the price of the ferry: {answer}"
        );
        Ok(())
    }
}

/// A home folder, notes, and the only variables that programs in them see.
struct EmptyEnvironment {
    folder: PathBuf,
    /// Where the program finds the notes.
    notes: PathBuf,
    path: OsString,
}

impl EmptyEnvironment {
    /// Returns the same environment with the folder of a program of this machine, such as Node's, in its path.
    fn with_program(mut self, name: &str) -> Result<Self> {
        let paths = env::var_os("PATH").unwrap_or_default();
        let folder = env::split_paths(&paths).find(|folder| folder.join(name).is_file());
        let folder = folder.with_context(|| format!("{name} is not installed on this machine"))?;
        let all = env::split_paths(&self.path).collect::<Vec<_>>();
        self.path = env::join_paths(std::iter::once(folder).chain(all))?;
        Ok(self)
    }

    fn command(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.folder.join("home"))
            .env("PATH", &self.path)
            .env("LANG", "C.UTF-8")
            .current_dir(&self.folder);
        command
    }

    /// Runs a program with more arguments, and returns what it prints.
    fn run(&self, words: &[&OsStr], arguments: &[&str]) -> Result<String> {
        let (program, rest) = words.split_first().context("no program")?;
        let mut command = self.command(program);
        command.args(rest).args(arguments);
        self.output_of(&mut command, arguments.first().unwrap_or(&"run"))
    }

    /// Returns what a command prints; fails if it does.
    fn output_of(&self, command: &mut Command, name: &str) -> Result<String> {
        let log = self.folder.join("logs").join(name.trim_start_matches('-'));
        let finished = bounded(command, &log, LIMIT)?;
        ensure!(
            finished.status.success(),
            "`{}` failed: {}",
            process::shown(command),
            finished.tail()
        );
        Ok(finished.stdout)
    }
}

/// Unpacks an archive in a folder.
fn unpack_tar_gz(archive: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::File::open(archive).with_context(|| format!("no {}", archive.display()))?;
    tar::Archive::new(flate2::read::GzDecoder::new(bytes)).unpack(folder)?;
    Ok(())
}

fn sums(checkup: &Checkup<'_>) -> Result<Option<String>> {
    let mut command = Command::new("sha256sum");
    command.args(["--check", "--strict", "--quiet", index::SUMS]);
    process::stdout_of(command.current_dir(&checkup.release.folder))?;
    let listed = fs::read_to_string(checkup.artifact(index::SUMS))?
        .lines()
        .count();
    let files = checkup.release.files()?.len();
    ensure!(
        listed + 1 == files,
        "{index} names {listed} of {files} files",
        index = index::SUMS
    );
    Ok(None)
}

/// Unpacks the archives, and uses the programs in them. A static program needs nothing of the system, not even a C library.
fn archives(checkup: &Checkup<'_>) -> Result<Option<String>> {
    let version = &checkup.release.version;
    for target in &checkup.targets {
        let environment = checkup.environment(&format!("archives/{}", target.triple))?;
        unpack_tar_gz(
            &checkup.artifact(&target.archive(version)),
            &environment.folder,
        )?;
        let folder = environment
            .folder
            .join(format!("sectile-{version}-{}", target.triple));
        for name in [
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "LICENSE-THIRD-PARTY",
            "LICENSE-all-MiniLM-L6-v2",
            "NOTICE-MODELS",
            "README.md",
            "CHANGELOG.md",
            "completions/sectile.bash",
            "completions/_sectile",
            "completions/sectile.fish",
            "completions/_sectile.ps1",
            "man/man1/sectile.1",
            "man/man1/sectile-serve.1",
        ] {
            ensure!(folder.join(name).is_file(), "the archive lacks {name}");
        }
        checkup.use_program(&environment, &[folder.join("sectile").as_os_str()])?;
    }
    Ok(None)
}

/// Validates and unpacks the bundles with the tool of those who defined them, and starts the server as their hosts do.
fn bundle(checkup: &Checkup<'_>) -> Result<Option<String>> {
    if let Some(missing) = install::release_tools(&checkup.outside)? {
        return Ok(Some(format!("the bundles were not checked: {missing}")));
    }
    let tool = checkup.outside.join("release/node_modules/.bin/mcpb");
    for target in &checkup.targets {
        let environment = checkup
            .environment(&format!("bundle/{}", target.platform()))?
            .with_program("node")?;
        let file = checkup.artifact(&target.bundle(&checkup.release.version));
        let unpacked = environment.folder.join("unpacked");
        let mut unpack = environment.command(tool.as_os_str());
        environment.output_of(unpack.arg("unpack").arg(file).arg(&unpacked), "unpack")?;
        let manifest = unpacked.join("manifest.json");
        let mut validate = environment.command(tool.as_os_str());
        environment.output_of(validate.arg("validate").arg(&manifest), "validate")?;
        let manifest: Value = serde_json::from_slice(&fs::read(manifest)?)?;
        let started = &manifest["server"]["mcp_config"];
        let text = |value: &Value| {
            let text = value.as_str().unwrap_or_default();
            text.replace("${__dirname}", &unpacked.to_string_lossy())
        };
        let expected = ["serve", "desk", "${user_config.folder}"];
        ensure!(
            started["args"] == serde_json::json!(expected),
            "other arguments: {started}"
        );
        let program = OsString::from(text(&started["command"]));
        checkup.use_program(&environment, &[&program])?;
    }
    Ok(None)
}
