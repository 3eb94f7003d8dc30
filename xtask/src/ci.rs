//! The CI gate: its steps, in order, and the table at the end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{self, Repo, is_present};
use crate::{
    console, contracts, crates, eval, front_door, licences, models, outside, pictures, servers,
    tidy, typos, workflows,
};

#[derive(clap::Args)]
pub(crate) struct CiArgs {
    /// Run only this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = step_name)]
    only: Vec<String>,
    /// Skip this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = step_name)]
    skip: Vec<String>,
}

/// The tests of the program's messages without the feature `backends`. `--workspace` is repeated so that only the program
/// itself is rebuilt.
const WITHOUT_BACKENDS: &str = "--workspace --lib --locked without_backends";

struct Step {
    name: &'static str,
    /// A step whose failure makes this one pointless.
    needs: Option<&'static str>,
    run: StepFn,
}

/// A step. Returns a remark for the table, such as what could not be checked.
type StepFn = fn(&Repo) -> Result<Option<String>>;

const fn step(name: &'static str, run: StepFn) -> Step {
    Step {
        name,
        needs: None,
        run,
    }
}

const fn step_after(needed: &'static str, name: &'static str, run: StepFn) -> Step {
    Step {
        name,
        needs: Some(needed),
        run,
    }
}

const STEPS: &[Step] = &[
    step("fmt", fmt),
    step("tidy", tidy::run),
    step("typos", typos::run),
    step("workflows", workflows::run),
    step("models", models::run),
    step("clippy", clippy),
    // Without servers, the tests that need one say so, and the others still run.
    step("servers", servers::run),
    step("test", test),
    step_after("test", "contracts", check_contracts),
    step_after("test", "stores", stores),
    step("doc", doc),
    step("licences", licences::run),
    step("crates", crates::run),
    step("fuzz", fuzz),
    step("build", build),
    step_after("build", "front-door", front_door::run),
    step_after("build", "pictures", pictures::check),
    step_after("build", "console-test", console::run),
    step_after("build", "eval", |repo| {
        eval::run(repo, &eval::DataArgs::default())
    }),
    step_after("build", "outside", |repo| {
        outside::run(repo, &outside::OutsideArgs::default())
    }),
];

/// Returns whether the gate has a step of this name.
pub(crate) fn is_step(name: &str) -> bool {
    STEPS.iter().any(|step| step.name == name)
}

fn step_name(name: &str) -> Result<String, String> {
    if is_step(name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
    Err(format!("no such step; the steps are {}", names.join(", ")))
}

enum Outcome {
    Passed(Option<String>),
    Failed(String),
    NotRun(String),
}

struct StepRow {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Runs the selected steps. A failure does not stop the others: one run should show everything that is wrong.
pub(crate) fn run(repo: &Repo, args: &CiArgs) -> Result<Option<String>> {
    let wanted = |step: &Step| {
        let named = |names: &[String]| names.iter().any(|name| name == step.name);
        (args.only.is_empty() || named(&args.only)) && !named(&args.skip)
    };
    let mut rows: Vec<StepRow> = Vec::new();
    for step in STEPS.iter().filter(|step| wanted(step)) {
        println!("\n=== {} ===", step.name);
        let start = Instant::now();
        let missing = step.needs.filter(|needed| {
            rows.iter()
                .any(|row| row.name == *needed && !matches!(row.outcome, Outcome::Passed(_)))
        });
        let outcome = match missing {
            Some(needed) => Outcome::NotRun(format!("{needed} did not pass")),
            None => match (step.run)(repo) {
                Ok(remark) => Outcome::Passed(remark),
                Err(error) => {
                    eprintln!("error: {error:#}");
                    Outcome::Failed(format!("{error:#}"))
                }
            },
        };
        let took = start.elapsed();
        println!("--- {}: {:.1} s", step.name, took.as_secs_f64());
        rows.push(StepRow {
            name: step.name,
            outcome,
            took,
        });
    }
    summarise(&rows).map(|()| None)
}

fn summarise(rows: &[StepRow]) -> Result<()> {
    println!("\n=== summary ===");
    for row in rows {
        let (word, remark) = match &row.outcome {
            Outcome::Passed(remark) => ("ok", remark.as_deref().unwrap_or_default()),
            Outcome::Failed(error) => ("FAILED", error.lines().next().unwrap_or_default()),
            Outcome::NotRun(why) => ("not run", why.as_str()),
        };
        let line = format!(
            "{:<9} {:<8} {:>7.1} s  {remark}",
            row.name,
            word,
            row.took.as_secs_f64()
        );
        println!("{}", line.trim_end());
    }
    let bad: Vec<&str> = rows
        .iter()
        .filter(|row| !matches!(row.outcome, Outcome::Passed(_)))
        .map(|row| row.name)
        .collect();
    if bad.is_empty() {
        return Ok(());
    }
    bail!("the gate failed: {}", bad.join(", "))
}

fn fmt(repo: &Repo) -> Result<Option<String>> {
    repo.run_cargo("fmt --all --check")?;
    // The fuzz targets are a workspace of their own, which `--all` does not reach.
    repo.run_cargo("fmt --manifest-path fuzz/Cargo.toml --check")
}

fn clippy(repo: &Repo) -> Result<Option<String>> {
    repo.run_cargo("clippy --workspace --features backends --all-targets --locked -- -D warnings")?;
    // The same features as a plain `cargo build`.
    repo.run_cargo("clippy --package sectile --all-targets --locked -- -D warnings")
}

fn test(repo: &Repo) -> Result<Option<String>> {
    // Without these variables a missing snapshot would be written instead of failing the test.
    let tests = |words: &str| {
        let mut cargo = repo.cargo(words.split(' '));
        process::run(cargo.env("INSTA_UPDATE", "no").env("CI", "true"))
    };
    contracts::forget(repo)?;
    if has_nextest() {
        let profile = contracts::PROFILE;
        tests(&format!(
            "nextest run --workspace --features backends --locked --profile {profile}"
        ))?;
        tests("test --doc --workspace --features backends --locked")?;
        tests(&format!("nextest run {WITHOUT_BACKENDS}"))?;
    } else {
        tests("test --workspace --features backends --locked")?;
        tests(&format!("test {WITHOUT_BACKENDS}"))?;
    }
    Ok(None)
}

/// The kinds of stores that the tests of the desk run on, besides folders.
const STORES: [&str; 2] = ["postgres", "s3"];
/// The tests of the desk, without those that start stores of their own.
const ON_STORES: &str = "test(/^desk::/) - test(/^desk::(tenants|linearizable)::/)";
/// The fewest tests that must have used a store: the others are about what only folders have. A fixture that quietly went
/// back to folders would pass otherwise.
const MUST_USE_A_STORE: usize = 108;

/// Runs the tests of the desk on stores of tenants.
pub(crate) fn stores(repo: &Repo) -> Result<Option<String>> {
    if !has_nextest() {
        return Ok(Some(
            "not run: cargo-nextest, which selects the tests, is missing".to_owned(),
        ));
    }
    let mut used = Vec::new();
    for kind in STORES {
        let folder = repo.target.join("stores").join(kind);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let words = "nextest run --package sectile --test it --features backends --locked -E";
        let mut cargo = repo.cargo(words.split(' '));
        cargo.arg(ON_STORES).env("SECTILE_TEST_STORE", kind);
        cargo.env("SECTILE_TEST_STORE_USED", &folder);
        process::run(cargo.env("INSTA_UPDATE", "no").env("CI", "true"))?;
        let count = std::fs::read_dir(&folder)?.count();
        if count < MUST_USE_A_STORE {
            bail!("only {count} tests of the desk used {kind}; at least {MUST_USE_A_STORE} can");
        }
        used.push(format!("{count} tests of the desk on {kind}"));
    }
    Ok(Some(used.join(", ")))
}

fn has_nextest() -> bool {
    is_present("cargo-nextest", &["nextest", "--version"])
}

fn check_contracts(repo: &Repo) -> Result<Option<String>> {
    if has_nextest() {
        return contracts::run(repo);
    }
    Ok(Some(
        "not checked: cargo-nextest, which records the tests that ran, is missing".to_owned(),
    ))
}

fn doc(repo: &Repo) -> Result<Option<String>> {
    let words = "doc --workspace --features backends --no-deps --locked --document-private-items";
    let mut cargo = repo.cargo(words.split(' '));
    process::run(cargo.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(None)
}

fn fuzz(repo: &Repo) -> Result<Option<String>> {
    // Without the fuzzing engine the targets compile on any toolchain, and no C++ is built.
    let words = "check --manifest-path fuzz/Cargo.toml --locked --bins --no-default-features";
    let mut cargo = repo.cargo(words.split(' '));
    process::run(cargo.env("CARGO_TARGET_DIR", repo.target.join("fuzz"))).context(
        "when its lock file is behind: cargo update --workspace --manifest-path fuzz/Cargo.toml",
    )?;
    Ok(None)
}

/// Builds the programs that the outside checks run against.
pub(crate) fn build(repo: &Repo) -> Result<Option<String>> {
    repo.run_cargo(
        "build --locked --package sectile --package sectile-note-store --package sectile-conformance-server --features backends",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name() {
        assert_eq!(step_name("fmt").as_deref(), Ok("fmt"));
        assert!(step_name("format").unwrap_err().contains("fmt, tidy"));
    }

    #[test]
    fn a_step_needs_only_steps_before_it() {
        for (index, step) in STEPS.iter().enumerate() {
            if let Some(needed) = step.needs {
                assert!(
                    STEPS[..index].iter().any(|before| before.name == needed),
                    "{}",
                    step.name
                );
            }
        }
    }
}
