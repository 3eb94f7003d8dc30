//! Real servers for tests and measurements, each started for one owner on loopback and stopped with it. They are not part
//! of the product.
//!
//! [`Postgres`] is PostgreSQL 18 with pgvector, [`S3`] the `s3s-fs` server, [`MemoryS3`] an S3 server in this process that
//! honours conditional writes, and [`Proxy`] sits in front of any of them and injects faults. `cargo xtask servers` installs
//! the first two. All errors panic: there is no test without its server.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "servers are processes with folders, and this is not the product"
)]

mod background;
mod cluster;
mod install;
mod memory_s3;
mod postgres;
mod process;
mod proxy;
mod s3;
mod tls;

pub use self::{
    memory_s3::{MemoryS3, RequestFault},
    postgres::Postgres,
    proxy::{Fault, Proxy, Request},
    s3::S3,
};

/// Returns the path of a Python that has `boto3`, the client of S3 that its makers publish.
///
/// # Panics
/// Panics if `cargo xtask servers` has not installed it.
#[must_use]
#[track_caller]
pub fn python_with_boto3() -> std::path::PathBuf {
    must(install::s3_client())
}

/// Returns the value, or panics.
#[track_caller]
fn must<T>(result: anyhow::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error:#}"),
    }
}
