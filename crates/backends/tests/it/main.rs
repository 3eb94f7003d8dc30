//! Storages against real servers, with faults between them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

/// Notebooks in S3: the rules of every storage, requests, faults, changes while reading.
mod objects;
