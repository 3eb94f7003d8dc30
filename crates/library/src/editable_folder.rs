//! A folder that is edited and searched: the editor and the index of one root, kept in step.

mod find;
mod given_id;
mod headings;
mod known_names;

use std::{path::Path, sync::Arc};

use sectile_markdown::NotePath;
use sectile_vault::{
    Editor, PathEntry, RootError, Walk,
    editor::{CallHooks, EditorError, EditorOptions, UndoRequest, WriteReport, WriteRequest},
};

use self::known_names::KnownNames;
pub use self::{
    find::{FindError, FoundTarget, NearName},
    given_id::MalformedId,
};
use crate::live_folder::{
    DiskLookup, FolderState, LinkGraph, LiveFolder, LiveFolderOptions, WrittenNote,
};

/// The editor and the index of one folder. What the editor writes is in the index when the call returns.
pub struct EditableFolder {
    /// The editor.
    pub editor: Editor,
    /// The index.
    pub index: Arc<LiveFolder>,
    /// Selects the files that callers see.
    walk: Walk,
}

impl EditableFolder {
    /// Opens the folder at `location`. The index sees what the editor does, so that the location and the walk in its
    /// own options do not matter.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder, or cannot be opened.
    pub fn open(
        location: &Path,
        editor: EditorOptions,
        index: LiveFolderOptions,
    ) -> Result<Self, RootError> {
        let walk = editor.visible_walk();
        let index = LiveFolderOptions {
            location: location.to_owned(),
            walk: walk.clone(),
            ..index
        };
        // The editor settles what an earlier process left half done before the index looks.
        let editor = Editor::folder(location, editor)?;
        Ok(Self {
            editor,
            index: LiveFolder::open(index)?,
            walk,
        })
    }

    /// Opens the same folder again with another editor, which remembers nothing of what the journal no longer has.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn reopened(&self, editor: EditorOptions) -> Result<Self, RootError> {
        Ok(Self {
            editor: Editor::folder(self.editor.root().location(), editor)?,
            index: Arc::clone(&self.index),
            walk: self.walk.clone(),
        })
    }

    /// Applies all operations of a request, or none.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn write(
        &self,
        request: &WriteRequest,
        hooks: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        let report = self.told(hooks, |hooks| self.editor.write(request, hooks))?;
        if !request.dry_run {
            self.take_in(&report);
        }
        Ok(report)
    }

    /// Applies exactly the changes that a dry run showed.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn apply_plan(
        &self,
        token: &str,
        confirmed: bool,
        hooks: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        let apply = |hooks: CallHooks<'_>| self.editor.apply_plan(token, confirmed, hooks);
        let report = self.told(hooks, apply)?;
        self.take_in(&report);
        Ok(report)
    }

    /// Undoes an entry, or redoes one.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn undo(
        &self,
        request: &UndoRequest,
        hooks: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        let report = self.told(hooks, |hooks| self.editor.undo(request, hooks))?;
        if !request.dry_run {
            self.take_in(&report);
        }
        Ok(report)
    }

    /// Returns the links of `state`, with what is not in the index looked up on disk.
    pub fn links(&self, state: &FolderState) -> LinkGraph {
        let (root, walk) = (self.editor.root().clone(), self.walk.clone());
        let disk = DiskLookup::new(move |path| {
            let is_hidden = |entry: &PathEntry| match entry {
                PathEntry::File(path) => walk.hides(path),
                PathEntry::Folder(path) => !walk.shows_folder(path),
            };
            let is_visible = |path: &NotePath| !walk.hides(path) && !walk.hides_folder(path);
            let entry = is_visible(path).then(|| root.find(path)).flatten();
            entry.filter(|entry| !is_hidden(entry))
        });
        state.links().with_disk(disk)
    }

    /// Lets the editor ask the index while it works. The state that it asked is let go afterwards: as long as someone has
    /// it, a change of the index has to copy it.
    fn told(
        &self,
        hooks: CallHooks<'_>,
        work: impl FnOnce(CallHooks<'_>) -> Result<WriteReport, EditorError>,
    ) -> Result<WriteReport, EditorError> {
        let names = KnownNames::new(&self.index);
        work(CallHooks {
            names: Some(&names),
            ..hooks
        })
    }

    /// Tells the index what was written.
    fn take_in(&self, report: &WriteReport) {
        let parsed = |path: &str| NotePath::parse_vault(path).ok();
        let written = report.documents.iter().filter_map(|document| {
            let (path, digest) = (parsed(&document.path)?, document.hash);
            Some(WrittenNote { path, digest })
        });
        let left = report.documents.iter().filter_map(|document| {
            let path = parsed(document.moved_from.as_deref()?)?;
            Some(WrittenNote { path, digest: None })
        });
        // A document may be where another one was.
        let notes: Vec<WrittenNote> = left.chain(written).collect();
        if notes.is_empty() {
            return;
        }
        // The write has happened, whatever becomes of the index: the next call compares it with the disk again.
        if let Err(error) = self.index.written(notes) {
            tracing::warn!(%error, "the index could not follow a write");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
