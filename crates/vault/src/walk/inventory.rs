//! Everything in a folder that an index of it needs: documents with their stamps, other files, and folders.

use std::io;

use super::{
    Files, PendingFolder, Rules, Walk, WalkError, is_left_out, joined,
    list::{ListingScope, rules_above, stamp, top, unreadable},
};
use crate::{FileStamp, NotePath, Root, fs::open_folder};

/// The contents of a folder, sorted by path. The documents are those that [`Root::walk`] finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The documents and their stamps.
    pub documents: Vec<(NotePath, FileStamp)>,
    /// The files that are not documents, such as pictures.
    pub others: Vec<NotePath>,
    /// The folders, without the root itself.
    pub folders: Vec<NotePath>,
}

/// What an [`Inventory`] has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InventoryItem {
    /// A document.
    Document(FileStamp),
    /// A file that is not a document.
    Other,
    /// A folder.
    Folder,
}

impl Root {
    /// Lists the contents of the root, or of a folder below it, with paths from the root. `enter` is called with the
    /// path of each folder before it is read, and with the empty path for the root itself.
    ///
    /// # Errors
    /// [`WalkError`] when the folder is not there or cannot be read, or `stop` returned `true`.
    pub fn inventory(
        &self,
        below: Option<&NotePath>,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
        enter: &mut dyn FnMut(&str),
    ) -> Result<Inventory, WalkError> {
        let absent = || WalkError::Unreadable(io::ErrorKind::NotFound);
        let base = self.dir().map_err(unreadable)?;
        let start = match below {
            None => top(),
            Some(path) => PendingFolder {
                rules: rules_above(&base, path, walk)?.ok_or_else(absent)?,
                path: path.as_str().to_owned(),
            },
        };
        let mut found = Files::listing(ListingScope::DocumentsAndOthers);
        let mut folders = vec![start];
        let mut is_first = true;
        while let Some(folder) = folders.pop() {
            if stop() {
                return Err(WalkError::Stopped);
            }
            enter(&folder.path);
            let read = match folder.path.as_str() {
                "" => base.try_clone(),
                path => open_folder(&base, path),
            }
            .and_then(|dir| folder.read(&dir, walk, &mut found, &mut folders));
            match read {
                Err(error) if is_first => return Err(unreadable(error)),
                // The folder is gone, or we may not read it; then the same holds for the files in it.
                Err(_) => {}
                Ok(()) => found.folders.push(folder.path),
            }
            is_first = false;
        }
        let folders = found.folders.iter();
        let mut folders: Vec<NotePath> = folders
            .filter_map(|path| NotePath::parse_vault(path).ok())
            .collect();
        folders.sort_unstable();
        let mut others = std::mem::take(&mut found.others);
        others.sort_unstable();
        let mut documents = found.listed();
        documents.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(Inventory {
            documents,
            others,
            folders,
        })
    }

    /// Returns what an inventory of the root would have at `path` now, if anything.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read.
    pub fn inventory_item(
        &self,
        path: &NotePath,
        walk: &Walk,
    ) -> Result<Option<InventoryItem>, WalkError> {
        let mut dir = self.dir().map_err(unreadable)?;
        let mut folder = top();
        let mut segments = path.segments().peekable();
        while let Some(segment) = segments.next() {
            // What cannot be examined is not listed either.
            let Ok(metadata) = dir.symlink_metadata(segment) else {
                return Ok(None);
            };
            let rules = Rules::read(&dir, &folder);
            let here = joined(&folder.path, segment);
            let is_folder = metadata.is_dir();
            if is_left_out(segment, &here, is_folder, walk, rules.as_deref()) {
                return Ok(None);
            }
            if segments.peek().is_none() {
                let item = match metadata.is_file() {
                    true if !walk.is_document(path) => Some(InventoryItem::Other),
                    true => walk
                        .includes(path.as_str())
                        .then(|| InventoryItem::Document(stamp(&metadata))),
                    false => is_folder.then_some(InventoryItem::Folder),
                };
                return Ok(item);
            }
            match open_folder(&dir, segment) {
                Ok(opened) => dir = opened,
                Err(_) => return Ok(None),
            }
            folder = PendingFolder { path: here, rules };
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
