//! Many processes at once.
