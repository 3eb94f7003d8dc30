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
    /// Instead compare the headings of the documents in this folder with those that another parser finds; may be given more
    /// than once.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["repositories", "most"])]
    documents: Vec<PathBuf>,
}

pub(crate) fn run(repo: &Repo, args: &ReplayArgs) -> Result<Option<String>> {
    repo.run_cargo("build --release --locked --package sectile-bench --bin sectile-bench")?;
    let mut command = Command::new(repo.target.join("release/sectile-bench"));
    if !args.documents.is_empty() {
        command.arg("differential").args(&args.documents);
        return process::run(&mut command).map(|()| None);
    }
    command.arg("replay").args(&args.repositories);
    if args.repositories.is_empty() {
        command.arg(&repo.root);
    }
    if let Some(most) = args.most {
        command.args(["--most", &most.to_string()]);
    }
    process::run(&mut command).map(|()| None)
}
