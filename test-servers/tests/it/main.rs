//! The servers themselves: they are what they claim to be, and leave nothing behind.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start processes, make files, and fail by panicking"
)]

/// Signed requests, on bare connections.
mod client;

/// Servers end with their owner, however it ends.
mod ends;
/// PostgreSQL, through a real client.
mod postgres;
/// Faults, in front of either server.
mod proxy;
/// S3, through signed requests.
mod s3;
