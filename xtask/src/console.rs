//! Tests the pages of the console in a real browser: Debian's Chromium, driven by the scripts in `xtask/console`.
//!
//! A script gets the program, a folder for its output and the folder of the Node packages as arguments, prints a line per
//! test, and ends with `N passed, N failed`. Everything is installed and written below `target/outside/console`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};

use crate::install;
use crate::process::{self, Repo, bounded, is_present};

#[derive(clap::Args, Default)]
pub(crate) struct ConsoleArgs {
    /// Run only this script, such as `pages` for pages_test.mjs; may be given more than once.
    #[arg(long, value_name = "SCRIPT")]
    only: Vec<String>,
}

const SCRIPTS: &str = "xtask/console";
/// The end of the names of scripts that are tests.
const TEST: &str = "_test.mjs";
const SCREENSHOTS: &str = "screenshots.mjs";

/// Names a Chromium that is not in one of the usual places.
const CHROMIUM_VARIABLE: &str = "XTASK_CHROMIUM";
const CHROMIUMS: [&str; 4] = [
    "/usr/bin/chromium",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

/// Time limit of one script. The slowest takes a minute on two busy cores.
const LIMIT: Duration = Duration::from_secs(600);

/// The folders and programs that the scripts work with.
struct ConsoleBench {
    /// Where packages are installed, scripts run and output is written.
    home: PathBuf,
    binary: PathBuf,
    chromium: PathBuf,
}

/// The number of tests in a script that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestCount {
    passed: usize,
    failed: usize,
}

/// Builds the program and runs the chosen scripts.
pub(crate) fn build_and_run(repo: &Repo, args: &ConsoleArgs) -> Result<Option<String>> {
    repo.run_cargo("build --locked --package sectile")?;
    run_scripts(repo, args)
}

/// Runs all scripts with the program that was built before. Returns a remark if something was not checked.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    run_scripts(repo, &ConsoleArgs::default())
}

fn run_scripts(repo: &Repo, args: &ConsoleArgs) -> Result<Option<String>> {
    let scripts = chosen(tests(&repo.root.join(SCRIPTS))?, &args.only)?;
    let bench = match ConsoleBench::prepare(repo)? {
        Ok(bench) => bench,
        // The browser is not one of the tools that every machine of the gate has to have.
        Err(missing) => {
            println!("NOT CHECKED: {missing}");
            return Ok(Some(format!("not checked: {missing}")));
        }
    };
    let mut total = TestCount::default();
    let mut broken = Vec::new();
    for script in &scripts {
        let start = Instant::now();
        println!("\n{script}");
        match bench.test(script) {
            Ok(count) => {
                total.passed += count.passed;
                total.failed += count.failed;
            }
            Err(error) => {
                println!("{error:#}");
                broken.push(script.as_str());
            }
        }
        println!("  {:.1} s", start.elapsed().as_secs_f64());
    }
    println!(
        "\nconsole: {} passed, {} failed",
        total.passed, total.failed
    );
    ensure!(
        broken.is_empty(),
        "scripts that did not get to their end: {}",
        broken.join(", ")
    );
    ensure!(
        total.failed == 0,
        "{} tests of the console failed",
        total.failed
    );
    ensure!(total.passed > 0, "no test of the console ran");
    Ok(None)
}

/// Writes screenshots of the pages to `folder`. Returns a remark if they could not be made.
pub(crate) fn screenshots(repo: &Repo, folder: &Path) -> Result<Option<String>> {
    let bench = match ConsoleBench::prepare(repo)? {
        Ok(bench) => bench,
        Err(missing) => return Ok(Some(format!("no screenshots: {missing}"))),
    };
    let finished = bench.node(SCREENSHOTS, &[folder.as_os_str()])?;
    print!("{}", finished.stdout);
    ensure!(finished.status.success(), "{}", finished.tail());
    Ok(None)
}

impl ConsoleBench {
    /// Installs what the scripts need; returns what is missing on this machine, if anything.
    fn prepare(repo: &Repo) -> Result<Result<Self, String>> {
        let named = env::var_os(CHROMIUM_VARIABLE);
        let mut found = find_chromium(named, &CHROMIUMS)?;
        if found.is_none() && process::is_ci() {
            install_chromium();
            found = find_chromium(None, &CHROMIUMS)?;
        }
        let Some(chromium) = found else {
            return Ok(Err(format!(
                "Chromium is not installed; get it with `apt-get install chromium`, or name another in {CHROMIUM_VARIABLE}"
            )));
        };
        let scripts = repo.root.join(SCRIPTS);
        let packages = packages(&fs::read_to_string(scripts.join("package.json"))?)?;
        let pairs: Vec<(&str, &str)> = packages
            .iter()
            .map(|(name, version)| (name.as_str(), version.as_str()))
            .collect();
        let folder = repo.target.join("outside");
        if let Some(missing) = install::node_packages(&folder, "console", &pairs)? {
            return Ok(Err(missing));
        }
        let bench = Self {
            home: folder.join("console"),
            binary: repo.binary(),
            chromium,
        };
        ensure!(
            bench.binary.is_file(),
            "there is no program to test; run `cargo build -p sectile` first"
        );
        bench.copy_scripts(&scripts)?;
        Ok(Ok(bench))
    }

    /// Copies the scripts beside the packages: Node looks for a package in the folders above the script that imports it.
    fn copy_scripts(&self, scripts: &Path) -> Result<()> {
        let copies = self.copies();
        if copies.is_dir() {
            fs::remove_dir_all(&copies)?;
        }
        fs::create_dir_all(&copies)?;
        for entry in fs::read_dir(scripts)? {
            let path = entry?.path();
            if path.extension() == Some(OsStr::new("mjs")) {
                fs::copy(&path, copies.join(path.file_name().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    fn copies(&self) -> PathBuf {
        self.home.join("scripts")
    }

    /// Runs a script of tests, prints its lines, and returns its count.
    fn test(&self, script: &str) -> Result<TestCount> {
        let name = script.trim_end_matches(TEST);
        let output = self.home.join("output").join(name);
        if output.is_dir() {
            fs::remove_dir_all(&output)?;
        }
        fs::create_dir_all(&output)?;
        let modules = self.home.join("node_modules");
        let finished = self.node(script, &[output.as_os_str(), modules.as_os_str()])?;
        for line in finished.stdout.lines() {
            println!("  {line}");
        }
        let count = TestCount::parse(&finished.stdout)
            .with_context(|| format!("no count of tests at the end: {}", finished.tail()))?;
        if count.failed == 0 && !finished.status.success() {
            bail!("{}", finished.tail());
        }
        Ok(count)
    }

    /// Runs a script with the program and `more` as its arguments.
    fn node(&self, script: &str, more: &[&OsStr]) -> Result<process::ProcessOutput> {
        fs::create_dir_all(self.home.join("home"))?;
        let mut node = process::isolated(Path::new("node"), &self.home);
        node.env(CHROMIUM_VARIABLE, &self.chromium)
            .arg(self.copies().join(script))
            .arg(&self.binary)
            .args(more);
        let log = self.home.join("logs").join(script);
        bounded(&mut node, &log, LIMIT)
    }
}

impl TestCount {
    /// Reads the last line, `N passed, N failed`.
    fn parse(output: &str) -> Option<Self> {
        let (passed, failed) = output.lines().last()?.split_once(" passed, ")?;
        Some(Self {
            passed: passed.parse().ok()?,
            failed: failed.strip_suffix(" failed")?.parse().ok()?,
        })
    }
}

/// Returns the names of the scripts that are tests, sorted.
fn tests(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(TEST) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn chosen(scripts: Vec<String>, only: &[String]) -> Result<Vec<String>> {
    let is_named = |script: &String, name: &String| script.trim_end_matches(TEST) == name;
    if let Some(unknown) = only
        .iter()
        .find(|name| !scripts.iter().any(|script| is_named(script, name)))
    {
        let names: Vec<&str> = scripts
            .iter()
            .map(|script| script.trim_end_matches(TEST))
            .collect();
        bail!(
            "no script `{unknown}`; the scripts are {}",
            names.join(", ")
        );
    }
    let is_wanted =
        |script: &String| only.is_empty() || only.iter().any(|name| is_named(script, name));
    Ok(scripts.into_iter().filter(is_wanted).collect())
}

/// Returns the packages of a manifest with their versions, which must be exact.
fn packages(manifest: &str) -> Result<Vec<(String, String)>> {
    let manifest: serde_json::Value = serde_json::from_str(manifest)?;
    let packages = manifest["dependencies"]
        .as_object()
        .context("package.json has no dependencies")?;
    packages
        .iter()
        .map(|(name, version)| {
            let version = version.as_str().unwrap_or_default();
            let is_exact = version.starts_with(|c: char| c.is_ascii_digit())
                && version.split('.').count() >= 3
                && !version.contains([' ', '*', 'x', '|']);
            ensure!(
                is_exact,
                "the version of `{name}` in package.json is not exact"
            );
            Ok((name.clone(), version.to_owned()))
        })
        .collect()
}

/// Finds Chromium: the `named` one, which must work, or one in the `usual` places, if there is any.
fn find_chromium(named: Option<OsString>, usual: &[&str]) -> Result<Option<PathBuf>> {
    if let Some(named) = named {
        ensure!(
            is_chromium(&named.to_string_lossy()),
            "{CHROMIUM_VARIABLE} does not name a program that answers to `--version`"
        );
        return Ok(Some(named.into()));
    }
    let found = usual.iter().find(|program| is_chromium(program));
    // The scripts need a path, and a name alone is looked up as the shell does.
    found.map_or(Ok(None), |program| {
        let path = process::stdout_of(Command::new("which").arg(program))?;
        Ok(Some(PathBuf::from(path.trim_end())))
    })
}

/// Installs Debian's Chromium on a machine of the gate, where that is possible. Nobody else's machine is changed.
fn install_chromium() {
    for arguments in [
        &["update"][..],
        &["install", "--yes", "--no-install-recommends", "chromium"],
    ] {
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(error) = process::run(&mut apt) {
            println!("Chromium cannot be installed: {error:#}");
            return;
        }
    }
}

fn is_chromium(program: &str) -> bool {
    is_present(program, &["--version"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_from_the_last_line() {
        let count = |passed, failed| Some(TestCount { passed, failed });
        assert_eq!(
            TestCount::parse("ok a\n12 passed, 0 failed\n"),
            count(12, 0)
        );
        assert_eq!(TestCount::parse("0 passed, 3 failed"), count(0, 3));
        assert_eq!(TestCount::parse("12 passed, 0 failed\nstopped\n"), None);
        assert_eq!(TestCount::parse(""), None);
    }

    #[test]
    fn a_browser_that_is_not_there_is_missing_and_one_that_was_named_is_an_error() {
        assert_eq!(find_chromium(None, &["./no-such-browser"]).unwrap(), None);
        assert!(find_chromium(Some("./no-such-browser".into()), &["ls"]).is_err());
        let found = find_chromium(None, &["./no-such-browser", "ls"]).unwrap();
        assert!(found.is_some_and(|path| path.is_absolute()));
    }

    #[test]
    fn scripts_are_chosen_by_their_short_names() {
        let all = || vec!["card_test.mjs".to_owned(), "pages_test.mjs".to_owned()];
        assert_eq!(chosen(all(), &[]).unwrap(), all());
        let pages = ["pages".to_owned()];
        assert_eq!(chosen(all(), &pages).unwrap(), ["pages_test.mjs"]);
        let error = chosen(all(), &["page".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "no script `page`; the scripts are card, pages");
    }

    #[test]
    fn only_exact_versions_are_installed() {
        let manifest = |version: &str| format!(r#"{{"dependencies": {{"a": "{version}"}}}}"#);
        assert_eq!(
            packages(&manifest("1.2.3-beta.4")).unwrap(),
            [("a".to_owned(), "1.2.3-beta.4".to_owned())]
        );
        for vague in [
            "^1.2.3",
            "1.2",
            "*",
            "1.x.0",
            "1.2.3 || 2.0.0",
            ">=1.2.3",
            "latest",
        ] {
            assert!(packages(&manifest(vague)).is_err(), "{vague}");
        }
        assert!(packages("{}").is_err());
    }

    #[test]
    fn the_packages_of_the_repository_have_exact_versions() {
        let manifest = include_str!("../console/package.json");
        assert!(!packages(manifest).unwrap().is_empty());
    }
}
