//! Repository chores, run as `cargo xtask <command>`.
//!
//! `ci` is the gate: a change that fails it is not merged. Each of its steps can be run alone.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task reads the repository, starts tools and prints what happened"
)]

mod bench;
mod ci;
mod compare;
mod console;
mod contracts;
mod crates;
mod dist;
mod eval;
mod faults;
mod front_door;
mod fuzz;
mod install;
mod licences;
mod models;
mod outside;
mod pictures;
mod process;
mod reference;
mod remote;
mod replay;
mod servers;
mod services;
mod sets;
mod simulate;
mod site;
mod tidy;
mod typos;
mod workflows;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use process::Repo;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Repository chores")]
struct XtaskArgs {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every step of the gate.
    Ci(ci::CiArgs),
    /// Check project rules that no other tool checks.
    Tidy,
    /// Check spelling, except for the words in typos.toml.
    Typos,
    /// Lint the workflows, and check that they agree with the repository.
    Workflows,
    /// Check that every test named in docs/contracts passed in the last test run.
    Contracts,
    /// Package the crates that are published, and check what the crate registry would refuse.
    Crates,
    /// Make what is released: programs, archives, packages of every kind, sums and a bill of materials.
    Dist(dist::DistArgs),
    /// Check licences, banned crates and sources of all dependencies.
    Licences,
    /// Rebuild the embedding models from their checkpoints, and compare them with those in the repository.
    Models,
    /// Write the pages of the manual that are generated from the program: docs/tools.md, errors.md and configuration.md.
    Reference,
    /// Make the pictures of the documentation from the real program: a recording of the demo, and the console.
    Pictures(pictures::PictureArgs),
    /// Check the links of the README and the manual, and run the commands in them, with the built program.
    FrontDoor,
    /// Build the manual as a site with mdBook.
    Site,
    /// Build the program, and test the pages of its console in Chromium.
    ConsoleTest(console::ConsoleArgs),
    /// Run third-party tools against the built server.
    Outside(outside::OutsideArgs),
    /// Run the recipes of docs/remote.md behind nginx and Caddy, and with an authorization server.
    Remote,
    /// Measure how well third-party documents are found, if they are available.
    Eval(eval::DataArgs),
    /// Install the real servers that tests use: PostgreSQL with pgvector, and an S3 server.
    Servers,
    /// Run the tests of the desk on stores of tenants, which must be installed.
    Stores,
    /// Run the official clients of vector services against our emulators, or check an index in a real account.
    Services(services::ServicesArgs),
    /// Make more test sets for searches, from documentation in Debian packages.
    Sets,
    /// Measure speed, as ratios against something run at the same time. Needs an idle machine.
    Bench(bench::BenchArgs),
    /// Compute what ten million notes of ten thousand tenants cost and how fast they answer, from unit costs.
    Simulate(simulate::SimulateArgs),
    /// Do again what people did to Markdown in git histories: edits, merges and renames, with Sectile.
    Replay(replay::ReplayArgs),
    /// Make the machine fail under the program: system calls, power, disk, memory, kills and pauses.
    Faults(faults::FaultsArgs),
    /// Fuzz every parser with a sanitizer, for a given time.
    Fuzz(fuzz::FuzzArgs),
    /// Measure Sectile beside other programs, and make docs/comparison.md from the results.
    Compare(compare::CompareArgs),
}

fn main() -> ExitCode {
    let repo = Repo::find();
    match run(&repo, XtaskArgs::parse().chore) {
        Ok(remark) => {
            remark.iter().for_each(|remark| println!("{remark}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(repo: &Repo, chore: Chore) -> Result<Option<String>> {
    match chore {
        Chore::Ci(args) => ci::run(repo, &args),
        Chore::Tidy => tidy::run(repo),
        Chore::Typos => typos::run(repo),
        Chore::Workflows => workflows::run(repo),
        Chore::Contracts => contracts::run(repo),
        Chore::Crates => crates::run(repo),
        Chore::Dist(args) => dist::run(repo, &args),
        Chore::Licences => licences::run(repo),
        Chore::Models => models::run(repo),
        Chore::Reference => reference::run(repo),
        Chore::Pictures(args) => pictures::run(repo, &args),
        Chore::FrontDoor => front_door::run(repo),
        Chore::Site => site::run(repo),
        Chore::ConsoleTest(args) => console::build_and_run(repo, &args),
        Chore::Outside(args) => outside::run(repo, &args),
        Chore::Remote => remote::run(repo),
        Chore::Eval(args) => eval::run(repo, &args),
        Chore::Servers => servers::run(repo),
        Chore::Stores => ci::stores(repo),
        Chore::Services(args) => services::run(repo, &args),
        Chore::Sets => sets::run(repo),
        Chore::Bench(args) => bench::run(repo, &args),
        Chore::Simulate(args) => simulate::run(repo, &args),
        Chore::Replay(args) => replay::run(repo, &args),
        Chore::Faults(args) => faults::run(repo, &args),
        Chore::Fuzz(args) => fuzz::run(repo, &args),
        Chore::Compare(args) => compare::run(repo, &args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_well_formed() {
        super::XtaskArgs::command().debug_assert();
    }
}
