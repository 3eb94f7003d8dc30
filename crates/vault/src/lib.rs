//! Notes on disk: the only code in Sectile that opens them.
//!
//! A [`NotePath`] can only come from its parser, and a [`Root`] opens nothing outside its folder, whatever links are
//! swapped in meanwhile. This crate knows nothing about MCP, HTTP, search or roles.

pub mod editor;
#[cfg_attr(debug_assertions, doc(hidden))]
pub mod fault;
mod fs;
mod ids;
pub mod journal;
mod ledger;
mod sightings;
mod walk;
mod work;

pub use editor::Editor;
pub use fs::{
    CopiedFile, FileTimes, LogChange, LogMark, LogName, NearestRoot, PathEntry, PathTarget,
    ReadError, Root, RootError, RootMark, TouchedPaths, WorkingCopy,
};
pub use journal::JournalKey;
// Re-exported because this crate's API takes them, so that its users need no second import.
pub use sectile_markdown::{NotePath, PathError};
pub use walk::{
    Checkup, ExclusionReason, FileStamp, Inventory, InventoryItem, LeftOutReason, PathRules,
    PatternError, Survey, Walk, WalkError,
};
