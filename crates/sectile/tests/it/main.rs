//! The real binary, driven from outside. Each module says what it shows; the seven tiers of the vault world's contract
//! are under `vault/`, by name.
//!
//! A server of a test is a `fixture::Stdio` or `fixture::Http` wherever that can be: whatever it writes, to the client or to
//! its log, is scanned for planted secrets and absolute paths when the test is done.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start processes, make files, and fail by panicking"
)]

/// A temporary vault, and the server processes that tests talk to.
mod fixture;

/// The seven tiers of the vault world's contract.
mod vault {
    mod data_integrity;
    mod end_to_end;
    mod integration;
    mod performance;
    pub(crate) mod security;
    mod stress;
    pub(crate) mod unit;
}

/// The hosted world: the seven tiers of its contract, and what it promises to many users.
mod hosted;

/// Every kind of bad input gets a typed answer, and the server goes on.
mod bad_input;
/// The contract's vectors, through the real server.
mod vectors;

/// The editor world: its contract, what it promises, and what other editors got wrong.
mod editor;

/// The desk: its tools, what they promise, and what others must not see.
mod desk;

/// The docs world: its documents.
mod docs;

/// The notebook world: its contract, and what it promises.
mod notebook;

/// The front door over HTTP: who is let in, what they see, how much they may ask.
mod gate;

/// The smallest world that searches, reads and edits, as an example.
mod example_world;

/// The console: pages for people, and who may see them.
mod console;

/// What the command line prints and how it ends.
mod cli;
/// What clients can rely on: listings and schemas, pinned in files.
mod contract;
/// A hidden tool is named nowhere.
mod hidden_names;
/// The MCP protocol itself: eras, malformed messages, limits, shutdown.
mod protocol;
/// The generated pages of the manual.
mod reference;
/// What is hidden cannot be told from what does not exist.
mod visibility;
/// Integers that are written with a point.
mod whole_numbers;
