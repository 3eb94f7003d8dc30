//! Random scripts.
