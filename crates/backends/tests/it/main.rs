//! Storages against real servers, with faults between them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

/// Notebooks in S3: the rules of every storage, requests, faults, changes while reading.
mod objects;
/// An index in PostgreSQL.
mod postgres;
