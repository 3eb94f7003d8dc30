//! Notes on disk: the only code of Sectile that opens them.
//!
//! A [`NotePath`] can only come from its parser, and a [`Root`] opens nothing but what lies inside its folder, whatever
//! links are swapped in between. This crate knows nothing of MCP, HTTP, search or roles.

mod fs;
mod path;

pub use fs::{ReadError, Root, RootError};
pub use path::{NotePath, PathError};
