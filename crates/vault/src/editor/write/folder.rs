//! Renames a folder: every document in it moves, and everything else with it.
//!
//! The file system moves the folder in one step. Links are repaired before that step, in the documents where they are,
//! so it decides alone whether the change was made: recovery finishes it if the folder has moved, and takes the repairs
//! back if it has not.

use sectile_markdown::edit::EditError;

use super::{
    characters::check_new_path,
    operation::{Operation, RenameFolder},
    transaction::Transaction,
};
use crate::{
    NotePath,
    editor::{CallHooks, EditorError},
    fs::PathEntry,
    journal::FolderMove,
};

/// Most documents in a folder that is renamed. All of them are read and kept in memory.
const MOST_DOCUMENTS: usize = 50_000;

/// Most bytes of the documents in a folder that is renamed.
const MOST_BYTES: usize = if cfg!(test) { 4 << 20 } else { 512 << 20 };

/// Returns whether one of the operations renames a folder, which needs all locks.
pub(super) fn moves_folder(operations: &[Operation]) -> bool {
    let renames = |operation: &Operation| matches!(operation, Operation::RenameFolder(_));
    operations.iter().any(renames)
}

/// Refuses to rename a folder together with anything else.
pub(super) fn check_alone(operations: &[Operation]) -> Result<(), EditorError> {
    if moves_folder(operations) && operations.len() > 1 {
        return Err(EditorError::FolderStays(
            "the rename must be the only operation of its request",
        ));
    }
    Ok(())
}

impl Transaction<'_> {
    pub(super) fn rename_folder(
        &mut self,
        rename: &RenameFolder,
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        let RenameFolder { path, new_path } = rename;
        if self.writer.folder.only.is_some() {
            return Err(EditorError::OutsideRoot);
        }
        check_new_path(new_path)?;
        let from = self.real_folder(path)?;
        let to = self.free_folder(&from, new_path)?;
        self.move_folder(&from, &to, watch)?;
        let path = to.as_str().to_owned();
        self.done(&path, None, false);
        Ok(())
    }

    /// Returns the path, without links, of the folder at `path`.
    fn real_folder(&self, path: &NotePath) -> Result<NotePath, EditorError> {
        let folder = &self.writer.folder;
        if folder.is_folder_hidden(path) {
            return Err(EditorError::FolderNotFound);
        }
        let Some(PathEntry::Folder(real)) = folder.root.find(path) else {
            return Err(EditorError::FolderNotFound);
        };
        folder.check_folder(&real)?;
        if folder.root.has_folder(&real)? && (real == *path || folder.is_spelling(path, &real)) {
            Ok(real)
        } else {
            Err(EditorError::IsLink {
                target: real.as_str().to_owned(),
            })
        }
    }

    /// Returns the path, without links, that the folder at `from` gets. Nothing may be there.
    fn free_folder(&self, from: &NotePath, path: &NotePath) -> Result<NotePath, EditorError> {
        let folder = &self.writer.folder;
        let inside = format!("{}/", from.as_str());
        if path.as_str().starts_with(&inside) {
            return Err(EditorError::FolderIntoItself);
        }
        if path == from {
            return Err(EditorError::FolderExists);
        }
        let is_hidden = folder.is_hidden(path) || folder.is_folder_hidden(path);
        if !is_hidden && folder.root.is_occupied(path) {
            let is_spelling = folder.is_spelling(path, from)
                && folder.root.is_same_folder(path, from)
                && !folder.root.has_folder(path)?;
            if !is_spelling {
                return Err(EditorError::FolderExists);
            }
            folder.check_folder_move(from, path)?;
            return Ok(path.clone());
        }
        folder.check_new_folder(path)?;
        let to = folder.real_path(path)?;
        folder.check_new_folder(&to)?;
        if to.as_str().starts_with(&inside) {
            return Err(EditorError::FolderIntoItself);
        }
        folder.check_folder_move(from, &to)?;
        Ok(to)
    }

    /// Moves the folder at `from` with all documents in it that have no draft yet.
    pub(super) fn move_folder(
        &mut self,
        from: &NotePath,
        to: &NotePath,
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        let folder_move = FolderMove {
            from: from.as_str().to_owned(),
            to: to.as_str().to_owned(),
        };
        let documents = self.writer.folder.everything_below(from, watch.stop)?;
        if documents.len() > MOST_DOCUMENTS {
            return Err(EditorError::TooManyDocuments {
                limit: MOST_DOCUMENTS,
            });
        }
        let mut bytes = 0;
        for (done, path) in documents.iter().enumerate() {
            watch.check()?;
            if done % PROGRESS_STEP == 0 {
                (watch.progress)(done as u64, Some(documents.len() as u64));
            }
            if self.drafts.contains_key(path.as_str()) {
                continue;
            }
            let Some(target) = folder_move.moved(path.as_str()) else {
                continue;
            };
            let target = NotePath::parse_vault(&target).map_err(|_| EditorError::OutsideRoot)?;
            let is_silent = self.writer.folder.is_hidden(path);
            self.writer.folder.check_moved(path, &target, is_silent)?;
            let mut draft = match self.load(path) {
                Ok(draft) => draft,
                // A document that cannot be edited moves like any other file.
                Err(
                    EditorError::Edit(EditError::NotUtf8)
                    | EditorError::TooLarge { .. }
                    | EditorError::DocumentNotFound,
                ) => continue,
                Err(error) => return Err(error),
            };
            bytes += draft.bytes.as_ref().map_or(0, Vec::len);
            if bytes > MOST_BYTES {
                return Err(EditorError::FolderTooLarge { limit: MOST_BYTES });
            }
            draft.moved_to = Some(target);
            draft.is_silent = is_silent;
            self.drafts.insert(path.as_str().to_owned(), draft);
        }
        self.folder_move = Some(folder_move);
        Ok(())
    }
}

/// Number of documents between two progress reports.
const PROGRESS_STEP: usize = 64;
