//! The vector services: their official clients against our emulators, and the rules of every index against a real account.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::Value;

use crate::install::SERVICE_CLIENTS;
use crate::process::{self, Repo, bounded};

const LIMIT: Duration = Duration::from_secs(120);

#[derive(clap::Args, Default)]
pub(crate) struct ServicesArgs {
    /// Do only this; may be given more than once. Without it, only the clients are run.
    #[arg(long, value_name = "WHAT")]
    only: Vec<ServiceCheck>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ServiceCheck {
    /// The official Python clients, against the emulators.
    Clients,
    /// Check an index in Pinecone that PINECONE_HOST and PINECONE_API_KEY name. It makes and removes namespaces there.
    Pinecone,
    /// Check a server that WEAVIATE_URL and, if it wants one, WEAVIATE_API_KEY name. It makes and removes tenants there.
    Weaviate,
}

pub(crate) fn run(repo: &Repo, args: &ServicesArgs) -> Result<Option<String>> {
    let mut remarks = Vec::new();
    if args.only.is_empty() || args.only.contains(&ServiceCheck::Clients) {
        remarks.extend(clients(repo)?);
    }
    for check in &args.only {
        match check {
            ServiceCheck::Clients => {}
            ServiceCheck::Pinecone => {
                account(repo, "pinecone", &["PINECONE_HOST", "PINECONE_API_KEY"])?;
            }
            ServiceCheck::Weaviate => account(repo, "weaviate", &["WEAVIATE_URL"])?,
        }
    }
    match remarks.is_empty() {
        true => Ok(None),
        false => process::not_checked(&remarks.join(", ")),
    }
}

/// Runs the official clients against the emulators. Returns a remark if they could not be installed.
fn clients(repo: &Repo) -> Result<Option<String>> {
    let folder = repo.target.join("outside");
    fs::create_dir_all(&folder)?;
    if let Some(missing) = SERVICE_CLIENTS.missing(&folder) {
        return Ok(Some(missing));
    }
    repo.run_cargo("build --quiet --locked -p sectile-test-servers --bin emulators")?;
    let program = repo.target.join("debug/emulators");
    let mut emulators = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the emulators cannot be started")?;
    let output = emulators.stdout.take().context("no output")?;
    let mut lines = BufReader::new(output).lines();
    let mut failed = 0;
    for client in ["pinecone", "weaviate"] {
        let line = lines.next().context("the emulators ended")??;
        let mut command = process::isolated(&SERVICE_CLIENTS.python(&folder), &folder);
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(repo.root.join(format!("xtask/services/{client}_client.py")))
            .args(line.split_whitespace());
        let log = folder.join(format!("logs/services-{client}"));
        let finished = bounded(&mut command, &log, LIMIT)?;
        let mut passed = 0;
        for line in finished.stdout.lines().filter(|line| line.starts_with('{')) {
            let check: Value =
                serde_json::from_str(line).with_context(|| format!("not a check: {line}"))?;
            match check["failed"].as_str() {
                None => passed += 1,
                Some(why) => {
                    failed += 1;
                    println!("FAILED  {client}: {}: {why}", check["check"]);
                }
            }
        }
        if passed == 0 || !finished.status.success() {
            bail!("the client of {client} did not run: {}", finished.tail());
        }
        println!("{client}: {passed} checks of the official client passed");
    }
    drop(emulators.stdin.take());
    emulators.wait()?;
    match failed {
        0 => Ok(None),
        failed => bail!("{failed} checks of official clients failed"),
    }
}

/// Runs the rules of every index against a real account.
fn account(repo: &Repo, service: &str, variables: &[&str]) -> Result<()> {
    let missing = variables.iter().filter(|name| env::var_os(name).is_none());
    let missing: Vec<&str> = missing.copied().collect();
    if !missing.is_empty() {
        bail!(
            "set {} to check an index in {service}; docs/storage.md says what the index must be like",
            missing.join(" and ")
        );
    }
    let words = format!("run --locked -p sectile-backends --example check_service -- {service}");
    repo.run_cargo(&words).map(drop)
}
