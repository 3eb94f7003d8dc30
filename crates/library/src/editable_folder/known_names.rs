//! What the index tells the editor about names and links, so that a rename need not read every note.

use std::{cell::OnceCell, sync::Arc};

use sectile_markdown::{LinkNames as _, NotePath, joined_path, name_key};
use sectile_vault::editor::NameSource;

use crate::live_folder::{FolderState, LiveFolder, NoteRecord};

/// The names and links in an index, which is compared with the disk when the first question comes.
pub(super) struct KnownNames<'i> {
    index: &'i LiveFolder,
    state: OnceCell<Option<Arc<FolderState>>>,
    /// Documents whose names and links are not in the index.
    unknown: OnceCell<Vec<NotePath>>,
}

impl<'i> KnownNames<'i> {
    pub(super) fn new(index: &'i LiveFolder) -> Self {
        Self {
            index,
            state: OnceCell::new(),
            unknown: OnceCell::new(),
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

    /// Returns those of `all` documents that the index leaves out, or could not examine when it looked.
    fn unknown(&self, state: &FolderState, all: &[NotePath]) -> &[NotePath] {
        self.unknown.get_or_init(|| {
            let is_known = |path: &&NotePath| {
                let note = state.note(path);
                note.is_some_and(|note| note.left_out.is_none())
            };
            all.iter().filter(|path| !is_known(path)).cloned().collect()
        })
    }
}

impl NameSource for KnownNames<'_> {
    fn documents_with_alias(&self, alias: &str, all: &[NotePath]) -> Option<Vec<NotePath>> {
        let state = self.state()?;
        let found = state.names().by_alias(alias);
        let found = found
            .iter()
            .filter_map(|path| NotePath::parse_vault(path).ok());
        let unknown = self.unknown(state, all).iter().cloned();
        Some(found.chain(unknown).collect())
    }

    fn documents_with_links(&self, names: &[String], all: &[NotePath]) -> Option<Vec<NotePath>> {
        let state = self.state()?;
        let found = state.notes().iter().filter(|note| has_link(note, names));
        let found = found.map(|note| note.path.clone());
        let unknown = self.unknown(state, all).iter().cloned();
        Some(found.chain(unknown).collect())
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

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make the files")]

    use std::fs;

    use super::*;
    use crate::editable_folder::tests::opened;

    #[test]
    fn a_document_that_the_index_could_not_examine_may_have_any_name_and_link() {
        let on_disk = tempfile::tempdir().unwrap();
        for (path, text) in [("a.md", "# A\n"), ("b.md", "[a](a.md)\n"), ("c.md", "c\n")] {
            fs::write(on_disk.path().join(path), text).unwrap();
        }
        let folder = opened(on_disk.path(), &[]);
        let known = KnownNames::new(&folder.index);
        let note = |path| NotePath::parse_vault(path).unwrap();
        let all = ["a.md", "b.md", "c.md", "unread.md"].map(note);
        let names = ["a".to_owned(), "a.md".to_owned()];
        assert_eq!(
            known.documents_with_links(&names, &all),
            Some(vec![note("b.md"), note("unread.md")])
        );
        assert_eq!(
            known.documents_with_alias("winter", &all),
            Some(vec![note("unread.md")])
        );
    }
}
