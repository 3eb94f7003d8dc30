//! The contract's vectors, through the real server.
