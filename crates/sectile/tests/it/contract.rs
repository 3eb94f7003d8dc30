//! What clients can rely on: listings and schemas, pinned in files.
