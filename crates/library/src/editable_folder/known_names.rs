//! What the index tells the editor about names and links, so that a rename need not read every note.

use std::{cell::OnceCell, sync::Arc};

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
        let found = state
            .notes()
            .iter()
            .filter(|note| note.left_out.is_some() || has_link(note, names));
        Some(found.map(|note| note.path.clone()).collect())
    }
}

/// Returns whether a note has a link with one of these names, which are as [`name_key`] returns them.
fn has_link(note: &NoteRecord, names: &[String]) -> bool {
    let is_one = |name: &str| match name.is_ascii() {
        true => names.iter().any(|one| one.eq_ignore_ascii_case(name)),
        false => names.contains(&name_key(name)),
    };
    let last_part = |path: &str| is_one(path.rsplit_once('/').map_or(path, |(_, name)| name));
    note.links.iter().any(|link| {
        let path = link.path.as_str();
        let is_named = match path.ends_with('/') || path.ends_with('.') {
            // The name is before the slash, or dots lead back to it.
            true => {
                let folder = note.path.folder().unwrap_or_default();
                joined_path(folder, path).is_some_and(|path| last_part(&path))
            }
            false => last_part(path),
        };
        is_named || (link.form.is_wiki() && is_one(path))
    })
}
