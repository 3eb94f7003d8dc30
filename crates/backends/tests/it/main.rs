//! Storages against real servers, with faults injected between them.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests are told how long to run, and fail by panicking"
)]

/// Objects written under conditions.
mod blobs;
/// Indexes in a bucket: who wins, what readers see, and what is removed.
mod indexes;
/// Notebooks in S3: the rules of every storage, requests, faults, changes while reading.
mod objects;
/// An index in PostgreSQL.
mod postgres;
/// Indexes in vector services.
mod services;
/// The folders of tenants.
mod tenants;
