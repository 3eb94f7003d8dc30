//! The transports, stdio and HTTP, and the rmcp server that connects both to the pipeline.

pub mod http;
pub(crate) mod in_flight;
pub(crate) mod message;
pub(crate) mod server;
pub mod stdio;
