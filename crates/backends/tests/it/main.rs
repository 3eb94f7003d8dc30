//! Backends against real servers.
//!
//! - `postgres`: an index in PostgreSQL

#![cfg(unix)]

mod postgres;
