//! Everything the frame offers to worlds, with worlds made for the test.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

/// The protocol eras, and requests of each.
mod fixture;
/// The frame, with worlds made for the test.
mod frame;
