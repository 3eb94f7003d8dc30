//! The servers themselves: that they are what they say, and that nothing is left of them.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start processes, make files, and fail by panicking"
)]

/// Signed requests, on bare connections.
mod client;

/// Servers go with their owner, however it ends.
mod ends;
/// PostgreSQL, through a real client.
mod postgres;
/// Faults, before either server.
mod proxy;
/// S3, through signed requests.
mod s3;
