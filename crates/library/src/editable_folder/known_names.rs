//! What the index tells the editor about names and links, so that a rename need not read every note.

use std::{cell::OnceCell, collections::HashSet, sync::Arc};

use sectile_markdown::{LinkNames as _, NotePath, joined_path, name_key};
use sectile_vault::editor::NameSource;

use crate::live_folder::{FolderState, LiveFolder, NoteRecord};

/// The names and links in an index, which is compared with the disk when the first question comes.
pub(super) struct KnownNames<'i> {
    index: &'i LiveFolder,
    state: OnceCell<Option<Arc<FolderState>>>,
}

impl<'i> KnownNames<'i> {
    pub(super) fn new(index: &'i LiveFolder) -> Self {
        Self {
            index,
            state: OnceCell::new(),
        }
    }

    /// Returns the state of the folder, if the index has all of it.
    fn state(&self) -> Option<&FolderState> {
        let state = self.state.get_or_init(|| {
            let state = self.index.current(&|| false).ok()?;
            state.progress().is_complete.then_some(state)
        });
        state.as_deref()
    }
}

impl NameSource for KnownNames<'_> {
    fn documents_with_alias(&self, alias: &str) -> Option<Vec<NotePath>> {
        let state = self.state()?;
        let found = state.names().by_alias(alias);
        let found = found
            .iter()
            .filter_map(|path| NotePath::parse_vault(path).ok());
        // The aliases of a note that is not indexed are unknown.
        let unknown = state.notes().iter().filter(|note| note.left_out.is_some());
        let unknown = unknown.map(|note| note.path.clone());
        Some(found.chain(unknown).collect())
    }

    fn documents_with_links(&self, names: &[String]) -> Option<Vec<NotePath>> {
        let state = self.state()?;
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let found = state
            .notes()
            .iter()
            .filter(|note| note.left_out.is_some() || has_link(note, &names));
        Some(found.map(|note| note.path.clone()).collect())
    }
}

/// Returns whether a note has a link with one of these names.
fn has_link(note: &NoteRecord, names: &HashSet<&str>) -> bool {
    let folder = note.path.folder().unwrap_or_default();
    note.links.iter().any(|link| {
        let path = joined_path(folder, &link.path);
        let path = path.as_deref().unwrap_or(&link.path);
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let is_one = |name: &str| names.contains(name_key(name).as_str());
        is_one(name) || (link.form.is_wiki() && is_one(&link.path))
    })
}
