//! Real servers for tests and measurements, each started for one owner on loopback and stopped with it. They are not part
//! of the product.
//!
//! [`Postgres`] is PostgreSQL 18 with pgvector, [`S3`] the `s3s-fs` server, and [`Proxy`] sits in front of either and
//! injects faults. `cargo xtask servers` installs the two. [`PineconeEmulator`] and [`WeaviateEmulator`] are not real servers: each emulates the part of a
//! service's API that indexes need. All errors panic: there is no test without its server.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "servers are processes with folders, and this is not the product"
)]

mod background;
mod cluster;
mod emulator;
mod graphql;
mod install;
mod pinecone;
mod postgres;
mod process;
mod proxy;
mod s3;
mod tls;
mod vectors;
mod weaviate;

pub use self::{
    emulator::ServiceFault,
    pinecone::PineconeEmulator,
    postgres::Postgres,
    proxy::{Fault, Proxy, Request},
    s3::S3,
    weaviate::WeaviateEmulator,
};

/// Returns the value, or panics.
#[track_caller]
fn must<T>(result: anyhow::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error:#}"),
    }
}
