//! Notebooks of a collection that no search looks into, and why.

use sectile_markdown::NotePath;

use crate::storage::Listed;

/// Notebooks that an answer names.
pub const MOST_NAMED: usize = 10;

/// Why nothing of a notebook is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// It has more bytes than a notebook may have.
    TooLarge,
    /// The storage lists it and does not give it out.
    Unreadable,
}

impl WhyLeftOut {
    /// Why a notebook is left out that could not be read.
    pub fn of(listed: &Listed, max_notebook_bytes: u64) -> Self {
        match listed.stamp.bytes > max_notebook_bytes {
            true => Self::TooLarge,
            false => Self::Unreadable,
        }
    }
}

/// A notebook that is not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The notebook, relative to the collection.
    pub notebook: NotePath,
    /// Why nothing of it is searched.
    pub why: WhyLeftOut,
}
