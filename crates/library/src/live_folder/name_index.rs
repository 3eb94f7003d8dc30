//! The names by which people and links call the notes of a folder.

use crate::live_folder::{FolderChanges, FolderContents};

/// The names of the notes of a folder.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {}

impl NameIndex {
    /// Collects the names of all notes.
    pub(super) fn new(_: &FolderContents) -> Self {
        Self {}
    }

    /// Brings it up to date. `contents` is the state after the changes.
    pub(super) fn apply(&mut self, contents: &FolderContents, _: &FolderChanges) {
        *self = Self::new(contents);
    }
}
