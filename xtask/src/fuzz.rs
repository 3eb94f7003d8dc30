//! Builds the fuzz targets with a sanitizer, and runs all of them for a given time.
//!
//! It needs a nightly toolchain and a C++ compiler. Some targets start from `fuzz/seeds`. Inputs that reach something new
//! are kept in `fuzz/corpus`, the smallest of them after each run; inputs that fail are kept in `fuzz/artifacts`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::{self, Repo, bounded, on_all_cores};

/// The sanitizers do not support targets that are linked statically.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What libFuzzer needs to see which code an input reaches.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1";
/// An input that takes longer fails, in seconds. Ordinary ones take microseconds.
const SLOW: u64 = 20;

#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// Time for all targets together, on one core.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Run only this target; may be given more than once.
    #[arg(long, value_name = "TARGET")]
    only: Vec<String>,
}

/// What came of one target.
struct TargetRun {
    name: String,
    executions: u64,
    corpus: usize,
    finding: Option<String>,
}

pub(crate) fn run(repo: &Repo, args: &FuzzArgs) -> Result<Option<String>> {
    if !process::is_present("cargo", &["+nightly", "--version"]) {
        return process::not_checked("fuzzing, because there is no nightly toolchain");
    }
    let fuzz = repo.root.join("fuzz");
    let targets = targets(&fuzz, &args.only)?;
    let built = repo.target.join("fuzz-nightly");
    let mut build = Command::new("cargo");
    build
        .args([
            "+nightly",
            "build",
            "--release",
            "--locked",
            "--bins",
            "--target",
            TARGET,
        ])
        .current_dir(&fuzz)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("RUSTFLAGS", FLAGS)
        .env("CARGO_TARGET_DIR", &built);
    process::run(&mut build)?;
    let programs = built.join(TARGET).join("release");
    let seconds = (args.minutes * 60 / targets.len() as u64).max(1);
    let start = Instant::now();
    let runs = Mutex::new(Vec::new());
    on_all_cores(&targets, |name| {
        let run = fuzz_one(&programs, &fuzz, name, seconds)?;
        println!(
            "{name}: {} executions, {} inputs kept",
            run.executions, run.corpus
        );
        runs.lock().expect("not poisoned").push(run);
        Ok(())
    })?;
    let runs = runs.into_inner().expect("not poisoned");
    let executions: u64 = runs.iter().map(|run| run.executions).sum();
    println!(
        "{} targets, {seconds} s each, {executions} executions in {:.0} s",
        runs.len(),
        start.elapsed().as_secs_f64(),
    );
    let findings: Vec<_> = runs
        .iter()
        .filter_map(|run| Some((&run.name, run.finding.as_ref()?)))
        .collect();
    for (name, finding) in &findings {
        println!("FAILED  {name}: {finding}");
    }
    match findings.len() {
        0 => Ok(None),
        some => bail!("{some} targets failed; the inputs are in fuzz/artifacts"),
    }
}

/// Returns the names of the targets, or those of them that were asked for.
fn targets(fuzz: &Path, only: &[String]) -> Result<Vec<String>> {
    let manifest: toml::Table = fs::read_to_string(fuzz.join("Cargo.toml"))?.parse()?;
    let programs = manifest["bin"].as_array().context("no targets")?;
    let names = programs
        .iter()
        .filter_map(|program| program["name"].as_str());
    let all: Vec<String> = names.map(str::to_owned).collect();
    if let Some(unknown) = only.iter().find(|name| !all.contains(name)) {
        bail!(
            "`{unknown}` is not a target; the targets are {}",
            all.join(", ")
        );
    }
    match only {
        [] => Ok(all),
        some => Ok(some.to_vec()),
    }
}

/// Runs a target, and keeps as few inputs as reach the same.
fn fuzz_one(programs: &Path, fuzz: &Path, name: &str, seconds: u64) -> Result<TargetRun> {
    let folder = |kind: &str| -> Result<PathBuf> {
        let folder = fuzz.join(kind).join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let (corpus, artifacts) = (folder("corpus")?, folder("artifacts")?);
    let failed_before = fs::read_dir(&artifacts)?.count();
    let log = programs.join(format!("{name}-log"));
    let limit = std::time::Duration::from_secs(seconds + 300);
    let program = programs.join(name);
    let seeds = fuzz.join("seeds").join(name);
    let mut command = Command::new(&program);
    command
        .arg(&corpus)
        .args(seeds.is_dir().then_some(&seeds))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={SLOW}"))
        .args(["-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1"]);
    let ended = bounded(&mut command, &log, limit)?;
    let executions = ended.stderr.lines().find_map(|line| {
        let count = line.strip_prefix("stat::number_of_executed_units:")?;
        count.trim().parse().ok()
    });
    let mut finding = (!ended.status.success()).then(|| {
        let said = |line: &&str| line.contains("panicked at") || line.contains("ERROR:");
        let line = ended
            .stderr
            .lines()
            .find(said)
            .unwrap_or("it ended without a message");
        line.to_owned()
    });
    if finding.is_none() {
        let fewest = corpus.with_extension("fewest");
        fs::create_dir_all(&fewest)?;
        let mut merge = Command::new(&program);
        merge
            .arg("-merge=1")
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .args([&fewest, &corpus]);
        let merged = bounded(&mut merge, &log.with_extension("merge"), limit)?;
        if merged.status.success() {
            fs::remove_dir_all(&corpus)?;
            fs::rename(&fewest, &corpus)?;
        } else {
            fs::remove_dir_all(&fewest)?;
        }
        // A merge leaves out what fails, and goes on.
        if fs::read_dir(&artifacts)?.count() > failed_before {
            finding = Some("an input failed when the corpus was made smaller".to_owned());
        }
    }
    Ok(TargetRun {
        name: name.to_owned(),
        executions: executions.unwrap_or_default(),
        corpus: fs::read_dir(&corpus)?.count(),
        finding,
    })
}
