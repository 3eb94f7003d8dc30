//! The `docs` world: documentation to search and to read.

pub(crate) mod corpus;
pub(crate) mod examine;
pub(crate) mod manual;
