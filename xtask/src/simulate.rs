//! A service for many tenants on paper: what it stores, costs and answers, from measured unit costs and a simulation.
//!
//! `docs/scale.md` is made from what this prints; a test compares them.

mod cluster;
mod page;
mod parameters;

use std::fs;

use anyhow::{Context as _, Result};

use crate::process::Repo;
use parameters::Parameters;

/// The page with the saved output.
const PAGE: &str = "docs/scale.md";
const SEED: u64 = 25;

#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    /// Replace a parameter, such as `replicas=8`; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Write docs/scale.md, with the usual parameters.
    #[arg(long, conflicts_with_all = ["set", "seed"])]
    page: bool,
}

/// Runs the simulation, and prints its tables or writes the page.
pub(crate) fn run(repo: &Repo, args: &SimulateArgs) -> Result<Option<String>> {
    let mut parameters = Parameters::default();
    for text in &args.set {
        parameters.set(text)?;
    }
    if args.page {
        let file = repo.root.join(PAGE);
        fs::write(&file, page::page(&parameters, args.seed))
            .with_context(|| format!("writing {PAGE}"))?;
        println!("{PAGE} is written");
        return Ok(None);
    }
    print!("{}", page::tables(&parameters, args.seed));
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_figures_of_the_simulation() {
        let saved = include_str!("../../docs/scale.md");
        assert!(
            saved == page::page(&Parameters::default(), SEED),
            "run `cargo xtask simulate --page`"
        );
    }
}
