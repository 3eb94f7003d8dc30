//! The links between the notes of a folder, in both directions.

use crate::live_folder::{FolderChanges, FolderContents};

/// The links of a folder.
#[derive(Clone, Debug, Default)]
pub struct LinkGraph {}

impl LinkGraph {
    /// Resolves the links of all notes.
    pub(super) fn new(_: &FolderContents) -> Self {
        Self {}
    }

    /// Brings it up to date. `contents` is the state after the changes.
    pub(super) fn apply(&mut self, contents: &FolderContents, _: &FolderChanges) {
        *self = Self::new(contents);
    }
}
