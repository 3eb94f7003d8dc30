//! Builds what is measured in release form, and runs the measurements.

use std::process::Command;

use anyhow::Result;

use crate::process::{self, Repo};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fewer rounds and a smaller corpus: for a first look, not for figures to quote.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    process::run(&mut repo.cargo([
        "build",
        "--release",
        "--locked",
        "--package",
        "sectile",
        "--package",
        "sectile-bench",
    ]))?;
    let program = repo.target.join("release/sectile-bench");
    // On one core, so that figures do not depend on where the scheduler puts client and server: waking a second core
    // that has gone to sleep can cost more than the call.
    let mut measurements = if process::is_present("taskset", &["--version"]) {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0"]).arg(program);
        command
    } else {
        println!("taskset is missing: the processes will wander between cores");
        Command::new(program)
    };
    measurements.args(args.quick.then_some("--quick"));
    process::run(&mut measurements)
}
