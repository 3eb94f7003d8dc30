//! Builds the replay in release mode, and runs it on git repositories.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process::{self, Repo};

#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// Repositories with Markdown in their history [default: this one].
    #[arg(value_name = "PATH")]
    repositories: Vec<PathBuf>,
    /// Replay only this many commits, merges and renames of each, the newest ones.
    #[arg(long, value_name = "NUMBER")]
    most: Option<u32>,
}

pub(crate) fn run(repo: &Repo, args: &ReplayArgs) -> Result<Option<String>> {
    repo.run_cargo("build --release --locked --package sectile-bench --bin sectile-bench")?;
    let mut command = Command::new(repo.target.join("release/sectile-bench"));
    command.arg("replay").args(&args.repositories);
    if args.repositories.is_empty() {
        command.arg(&repo.root);
    }
    if let Some(most) = args.most {
        command.args(["--most", &most.to_string()]);
    }
    process::run(&mut command).map(|()| None)
}
