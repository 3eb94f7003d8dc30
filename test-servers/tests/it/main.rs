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
/// The S3 server in memory, through boto3.
mod memory_s3;
/// PostgreSQL, through a real client.
mod postgres;
/// Faults, in front of either server.
mod proxy;
/// S3, through signed requests.
mod s3;
