//! Everything in a folder that an index of it needs: documents with their stamps, other files, and folders.

use super::{
    Files, Walk, WalkError,
    list::{ListingScope, top, unreadable},
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

impl Root {
    /// Lists the contents of the root. `enter` is called with the path of each folder before it is read, and the empty
    /// path for the root itself.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` returned `true`.
    pub fn inventory(
        &self,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
        enter: &mut dyn FnMut(&str),
    ) -> Result<Inventory, WalkError> {
        let base = self.dir().map_err(unreadable)?;
        let mut found = Files::listing(ListingScope::DocumentsAndOthers);
        let mut folders = vec![top()];
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
                Err(error) if folder.path.is_empty() => return Err(unreadable(error)),
                // The folder is gone, or we may not read it; then the same holds for the files in it.
                Err(_) => {}
                Ok(()) => found.folders.push(folder.path),
            }
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
}
