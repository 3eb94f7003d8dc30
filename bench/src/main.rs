//! Speed of Sectile, printed as ratios against something run at the same time on the same machine.
//!
//! Run by `cargo xtask bench`, which builds the binaries first. Exits with 1 when a target was missed.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark starts servers, makes files and prints what it found"
)]

mod calls;
mod corpus;
mod measure;
mod parse;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};

use measure::Report;

fn main() -> Result<ExitCode> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let binaries = std::env::current_exe()?
        .parent()
        .map(PathBuf::from)
        .context("no folder of binaries")?;
    let mut report = Report::default();
    parse::ordinary(&mut report, if quick { 10 } else { 100 });
    parse::memory(&mut report)?;
    calls::run(&mut report, &binaries, if quick { 300 } else { 3000 })?;
    parse::growth(&mut report);
    Ok(if report.all_met() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
