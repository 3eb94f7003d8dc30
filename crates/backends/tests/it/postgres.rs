//! An index in PostgreSQL: agreement with the embedded engine, and behaviour under faults.

mod answers;
mod cached;
mod conformance;
mod faults;
pub(crate) mod fixture;
mod graph;
mod jail;
mod tiers;
mod updates;
