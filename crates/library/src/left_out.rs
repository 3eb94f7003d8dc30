//! Notebooks of a collection that cannot be searched, and the reasons.

use sectile_markdown::NotePath;

use crate::storage::NotebookFile;

/// The most notebooks that one answer names.
pub const MOST_NAMED: usize = 10;

/// The reason why a notebook is not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// It is larger than the size limit for notebooks.
    TooLarge,
    /// The storage lists it, but cannot read it.
    Unreadable,
}

impl WhyLeftOut {
    /// Returns the reason why a listed notebook could not be read.
    pub fn of(listed: &NotebookFile, max_notebook_bytes: u64) -> Self {
        match listed.stamp.bytes > max_notebook_bytes {
            true => Self::TooLarge,
            false => Self::Unreadable,
        }
    }
}

/// A notebook that is not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutNotebook {
    /// Path of the notebook, relative to the collection.
    pub notebook: NotePath,
    /// The reason.
    pub why: WhyLeftOut,
}
