//! The gate: its steps, in order, and the table at the end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{self, Repo, is_present};
use crate::{contracts, eval, licences, outside, servers, tidy};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = step_name)]
    only: Vec<String>,
    /// Leave this step out; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = step_name)]
    skip: Vec<String>,
}

/// The feature that releases have: the gate checks everything with it.
pub(crate) const BACKENDS: &str = "backends";
/// The tests of what the program says without it.
const WITHOUT_BACKENDS: &str = "cli::library::servers";

struct Step {
    name: &'static str,
    /// A step whose failure makes this one pointless.
    needs: Option<&'static str>,
    /// Gives a remark for the table, such as what could not be checked.
    run: fn(&Repo) -> Result<Option<String>>,
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        needs: None,
        run: fmt,
    },
    Step {
        name: "tidy",
        needs: None,
        run: |repo| tidy::run(repo).map(|()| None),
    },
    Step {
        name: "clippy",
        needs: None,
        run: clippy,
    },
    // Without them the tests that need one say so, and the others still run.
    Step {
        name: "servers",
        needs: None,
        run: |repo| servers::run(repo).map(|()| None),
    },
    Step {
        name: "test",
        needs: None,
        run: test,
    },
    Step {
        name: "contracts",
        needs: Some("test"),
        run: check_contracts,
    },
    Step {
        name: "doc",
        needs: None,
        run: doc,
    },
    Step {
        name: "licences",
        needs: None,
        run: |repo| licences::run(repo).map(|()| None),
    },
    Step {
        name: "fuzz",
        needs: None,
        run: fuzz,
    },
    Step {
        name: "build",
        needs: None,
        run: build,
    },
    Step {
        name: "eval",
        needs: Some("build"),
        run: |repo| eval::run(repo, &eval::DataArgs::default()),
    },
    Step {
        name: "outside",
        needs: Some("build"),
        run: |repo| outside::run(repo, &outside::Args::default()),
    },
];

/// Whether the gate has a step of this name.
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

struct Row {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Runs the chosen steps. A failure does not stop the others: one run should show all that is wrong.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    let wanted = |step: &Step| {
        let named = |names: &[String]| names.iter().any(|name| name == step.name);
        (args.only.is_empty() || named(&args.only)) && !named(&args.skip)
    };
    let mut rows: Vec<Row> = Vec::new();
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
        rows.push(Row {
            name: step.name,
            outcome,
            took,
        });
    }
    summarise(&rows)
}

fn summarise(rows: &[Row]) -> Result<()> {
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
    bail!("the gate is closed: {}", bad.join(", "))
}

fn fmt(repo: &Repo) -> Result<Option<String>> {
    process::run(&mut repo.cargo(["fmt", "--all", "--check"]))?;
    // The fuzz targets are a workspace of their own, which `--all` does not reach.
    process::run(&mut repo.cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    Ok(None)
}

fn clippy(repo: &Repo) -> Result<Option<String>> {
    // The second form is what a plain `cargo build` makes.
    for form in [
        &["--workspace", "--features", BACKENDS],
        &["--package", "sectile"][..],
    ] {
        let mut clippy = repo.cargo(["clippy", "--all-targets", "--locked"]);
        process::run(clippy.args(form).args(["--", "-D", "warnings"]))?;
    }
    Ok(None)
}

fn test(repo: &Repo) -> Result<Option<String>> {
    // Without these a missing snapshot would be written instead of failing.
    let tests =
        |args: &[&str]| process::run(repo.cargo(args).env("INSTA_UPDATE", "no").env("CI", "true"));
    contracts::forget(repo)?;
    // The whole workspace again, so that only the program itself is compiled in another form.
    let without = ["--workspace", "--lib", "--locked", WITHOUT_BACKENDS];
    let everything = ["--workspace", "--features", BACKENDS, "--locked"];
    if has_nextest() {
        let recorded = ["--profile", contracts::PROFILE];
        tests(&[&["nextest", "run"], &everything[..], &recorded].concat())?;
        tests(&[&["test", "--doc"], &everything[..]].concat())?;
        tests(&[&["nextest", "run"], &without[..]].concat())?;
    } else {
        tests(&[&["test"], &everything[..]].concat())?;
        tests(&[&["test"], &without[..]].concat())?;
    }
    Ok(None)
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
    let args = [
        "doc",
        "--workspace",
        "--features",
        BACKENDS,
        "--no-deps",
        "--locked",
        "--document-private-items",
    ];
    process::run(repo.cargo(args).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(None)
}

fn fuzz(repo: &Repo) -> Result<Option<String>> {
    // Without the engine the targets compile on any toolchain, and no C++ is built.
    let args = [
        "check",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--locked",
        "--bins",
        "--no-default-features",
    ];
    process::run(
        repo.cargo(args)
            .env("CARGO_TARGET_DIR", repo.target.join("fuzz")),
    )
    .context(
        "when its lock file is behind: cargo update --workspace --manifest-path fuzz/Cargo.toml",
    )?;
    Ok(None)
}

/// Builds what is checked from outside.
pub(crate) fn build(repo: &Repo) -> Result<Option<String>> {
    process::run(&mut repo.cargo([
        "build",
        "--locked",
        "--package",
        "sectile",
        "--package",
        "sectile-note-store",
        "--features",
        BACKENDS,
    ]))?;
    Ok(None)
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
