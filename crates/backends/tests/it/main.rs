//! Backends against real servers.
//!
//! - `postgres`: an index in PostgreSQL

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what fails here is a test")]

mod postgres;
