//! Builds the measured programs in release mode, and runs the measurements.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::eval;
use crate::install;
use crate::process::{self, Repo};

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Use fewer rounds and a smaller corpus: for a first look, not for figures to quote.
    #[arg(long)]
    quick: bool,
    /// Measure only this group; may be given more than once.
    #[arg(long, value_name = "GROUP")]
    only: Vec<String>,
    /// Measure only how well and how fast passages are found: the same as `--only retrieval`.
    #[arg(long)]
    retrieval: bool,
    /// Keep the hosted world, or with `--only soak` a desk, under load for this many seconds, such as 3600.
    #[arg(long, value_name = "SECONDS")]
    soak: Option<u64>,
    /// Measure the program of another version by turns with this one, in the groups that can (`scale`).
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Add this run to a file.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Fail only if a figure is worse than in all runs of a file by more than a quarter.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    #[command(flatten)]
    data: eval::DataArgs,
}

pub(crate) fn run(repo: &Repo, args: &BenchArgs) -> Result<Option<String>> {
    repo.run_cargo(
        "build --release --locked --package sectile --package sectile-bench --features backends",
    )?;
    let mut only: Vec<&str> = args.only.iter().map(String::as_str).collect();
    only.extend(args.retrieval.then_some("retrieval"));
    let wants = |name: &str| only.is_empty() || only.contains(&name);
    let outside = repo.target.join("outside");
    // If one of them is missing, everything else is still measured.
    if wants("original") {
        tell_missing("the editor", install::ORIGINAL.install(&outside));
    }
    if wants("notebook") {
        let installed = install::other_index(repo).map(|()| None);
        tell_missing("the index of notebooks", installed);
    }
    if wants("tasks") {
        tell_missing("everyday jobs", install::node(&outside));
    }
    if wants("retrieval") {
        tell_missing("the models", install::YARDSTICK.install(&outside));
    }
    let program = repo.target.join("release/sectile-bench");
    // On one core, so that figures do not depend on where the scheduler puts client and server: waking a second core
    // that has gone to sleep can cost more than the call.
    let mut measurements = if process::is_present("taskset", &["--version"]) {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0"]).arg(program);
        command
    } else {
        println!("taskset is missing: processes will move between cores");
        Command::new(program)
    };
    measurements.args(args.quick.then_some("--quick"));
    measurements.args(only.iter().flat_map(|group| ["--only", group]));
    measurements.arg("--data").arg(args.data.folder(repo)?);
    if let Some(seconds) = args.soak {
        measurements.args(["--soak", &seconds.to_string()]);
    }
    if let Some(program) = &args.against {
        measurements.arg("--against").arg(program);
    }
    for (flag, file) in [("--save", &args.save), ("--compare", &args.compare)] {
        if let Some(file) = file {
            measurements.arg(flag).arg(file);
        }
    }
    process::run(&mut measurements).map(|()| None)
}

/// Reports a missing comparison, and why it is missing.
fn tell_missing(measured: &str, installed: Result<Option<String>>) {
    if let Some(missing) = installed.unwrap_or_else(|error| Some(format!("{error:#}"))) {
        println!("nothing to compare {measured} with: {missing}");
    }
}
