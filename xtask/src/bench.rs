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
    let mut measurements = Command::new(repo.target.join("release/sectile-bench"));
    measurements.args(args.quick.then_some("--quick"));
    process::run(&mut measurements)
}
