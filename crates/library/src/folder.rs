//! Notebooks in a folder.
//!
//! Each folder directly below the storage's folder is a collection, unless its name begins with `_` or `.`; every `.md`
//! file below a collection is a notebook, except below its `_artifacts` folder. The `.md` files at the top are one more
//! collection, [`TOP`]. Files that are hidden, ignored, excluded or behind a link are neither listed nor read.
//!
//! With [`FolderStorage::whole`] the folder is not divided: every `.md` file below it belongs to [`TOP`]. With
//! [`FolderStorage::documents`] that holds for every Markdown document, wherever it is.

use std::{
    any::Any,
    cell::Cell,
    io,
    path::{Path, PathBuf},
};

use notify::{RecursiveMode, Watcher as _};
use sectile_markdown::NotePath;
use sectile_vault::{
    FileStamp, InventoryItem, PathEntry, ReadError, Root, RootError, Walk, WalkError,
};

use crate::{
    error::{FailedPart, LibraryError},
    left_out::WhyLeftOut,
    manual_page::NoteCut,
    storage::{
        ARTIFACTS, ArtifactStorage, NotebookFile, NotebookStamp, NotebookStorage, StorageError,
        StorageLimit, TOP, is_at_top, is_collection_name, is_notebook,
    },
};

/// The default folder of the indexes, inside the private folder.
pub const INDEX_FOLDER: &str = "notebook";
/// The kind of storage, for people.
const KIND: &str = "folder";
/// The most folders below `_artifacts` of a collection.
const MAX_ARTIFACT_FOLDERS: usize = 10_000;

/// The default size limit for notebooks, in bytes.
pub const MAX_NOTE_BYTES: u64 = 8 << 20;

/// A storage whose collections are in a folder.
#[derive(Debug)]
pub struct FolderStorage {
    root: Root,
    walk: Walk,
    max_note_bytes: u64,
    /// Whether everything below the folder is one collection, [`TOP`].
    is_whole: bool,
    /// Whether a document that a walk finds is a notebook, judging by its path.
    is_notebook: fn(&NotePath) -> bool,
    cut: NoteCut,
}

/// The contents of a folder, sorted by path.
#[derive(Debug, Default)]
pub(crate) struct FolderListing {
    pub(crate) notes: Vec<NotebookFile>,
    pub(crate) others: Vec<NotePath>,
    pub(crate) folders: Vec<NotePath>,
}

/// An entry of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderItem {
    Note(NotebookStamp),
    Other,
    Folder,
}

/// The result of reading a note.
#[derive(Debug)]
pub(crate) enum SettledNote {
    /// Its bytes, and the stamp that belongs to them.
    Read(Vec<u8>, NotebookStamp),
    /// It is being written.
    Unsettled,
    /// It is there, but cannot be read.
    LeftOut(WhyLeftOut),
    /// It is not there.
    Gone,
}

impl FolderStorage {
    /// Opens the storage in the folder `location`. `walk` selects the files that count, by their paths below that
    /// folder.
    pub fn open(location: &Path, walk: Walk, max_note_bytes: u64) -> Result<Self, RootError> {
        Ok(Self {
            root: Root::open(location)?,
            walk,
            max_note_bytes,
            is_whole: false,
            is_notebook,
            cut: NoteCut::Notes,
        })
    }

    /// Opens the storage undivided: everything below the folder is the one collection [`TOP`], which exists even
    /// without any notebook.
    pub fn whole(location: &Path, walk: Walk, max_note_bytes: u64) -> Result<Self, RootError> {
        let storage = Self::open(location, walk, max_note_bytes)?;
        Ok(Self {
            is_whole: true,
            ..storage
        })
    }

    /// Opens the storage undivided, and takes every document that a walk finds for a notebook, whatever its folder or
    /// ending.
    pub fn documents(location: &Path, walk: Walk, max_note_bytes: u64) -> Result<Self, RootError> {
        let storage = Self::whole(location, walk, max_note_bytes)?;
        Ok(Self {
            is_notebook: |_| true,
            ..storage
        })
    }

    /// Returns the storage with its notebooks cut in another way.
    #[must_use]
    pub fn cut_as(self, cut: NoteCut) -> Self {
        Self { cut, ..self }
    }

    /// Lists the documents, the other files and the folders, of everything or below a folder. `enter` is called with
    /// each folder before it is read.
    pub(crate) fn inventory(
        &self,
        below: Option<&NotePath>,
        stop: &dyn Fn() -> bool,
        enter: &mut dyn FnMut(&str),
    ) -> Result<FolderListing, LibraryError> {
        let listed = self.root.inventory(below, &self.walk, stop, enter);
        let inventory = listed.map_err(|error| self.failure(&error))?;
        let documents = inventory.documents.into_iter();
        let documents = documents.map(|(notebook, stamp)| NotebookFile {
            notebook,
            stamp: condensed(&stamp),
        });
        Ok(FolderListing {
            notes: documents.collect(),
            others: inventory.others,
            folders: inventory.folders,
        })
    }

    /// Returns what a listing would have at `path`.
    pub(crate) fn item(&self, path: &NotePath) -> Result<Option<FolderItem>, LibraryError> {
        let item = self.root.inventory_item(path, &self.walk);
        let item = item.map_err(|error| self.failure(&error))?;
        Ok(item.map(|item| match item {
            InventoryItem::Document(stamp) => FolderItem::Note(condensed(&stamp)),
            InventoryItem::Other => FolderItem::Other,
            InventoryItem::Folder => FolderItem::Folder,
        }))
    }

    /// Reads a note together with the stamp that belongs to its bytes.
    pub(crate) fn read_settled(&self, note: &NotePath) -> SettledNote {
        match self.root.read_settled(note, self.max_note_bytes) {
            Ok(Some((bytes, stamp))) => SettledNote::Read(bytes, condensed(&stamp)),
            Ok(None) => SettledNote::Unsettled,
            Err(ReadError::TooLarge { .. }) => SettledNote::LeftOut(WhyLeftOut::TooLarge),
            Err(ReadError::Unreadable(_) | ReadError::TooManyOpenFiles) => {
                SettledNote::LeftOut(WhyLeftOut::Unreadable)
            }
            Err(_) => SettledNote::Gone,
        }
    }

    /// Returns the file or folder that a path leads to, listed or not, unless it is hidden.
    pub(crate) fn find(&self, path: &NotePath) -> Option<PathEntry> {
        let found = self.root.find(path)?;
        let is_hidden = match &found {
            PathEntry::File(target) => self.walk.hides(path) || self.walk.hides(target),
            PathEntry::Folder(target) => {
                !self.walk.shows_folder(path) || !self.walk.shows_folder(target)
            }
        };
        (!is_hidden).then_some(found)
    }

    /// Returns whether the name of a file at `path` is that of a note.
    pub(crate) fn is_note(&self, path: &NotePath) -> bool {
        self.walk.is_document(path)
    }

    /// Returns whether the rules show a folder at `path`, whatever is in it.
    pub(crate) fn shows_folder(&self, path: &NotePath) -> bool {
        self.walk.shows_folder(path)
    }

    /// Returns whether the rules are the same for all folders that are listed.
    pub(crate) fn shows_all_folders(&self) -> bool {
        self.walk.reads_everything()
    }

    /// Returns the root, to ask whether it is there.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    fn failure(&self, error: &WalkError) -> LibraryError {
        match is_absence(error) {
            true => LibraryError::FolderNotFound,
            false => LibraryError::of_storage(failed(error), FailedPart::Notebooks(KIND)),
        }
    }

    /// Returns the path of the folder, for watching it and for commands that add files.
    pub fn location(&self) -> &Path {
        self.root.location()
    }

    /// Returns the default folder of the indexes.
    pub fn index_folder(&self) -> PathBuf {
        self.root.private_location().join(INDEX_FOLDER)
    }

    /// Creates the folder that contains [`Self::index_folder`].
    pub fn make_private_folder(&self) -> io::Result<()> {
        self.root.make_private()
    }

    /// Reads a file that is not behind a link; `None` if there is none.
    fn plain(&self, path: &NotePath) -> Result<Option<Vec<u8>>, StorageError> {
        match self.root.read_plain(path, self.max_note_bytes) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::Unreadable(kind)) => Err(StorageError::failed(format!(
                "A file of the collection cannot be read ({kind})."
            ))),
            Err(ReadError::TooManyOpenFiles) => Err(StorageError::failed(
                "A file of the collection cannot be read: too many files are open.",
            )),
            Err(_) => Ok(None),
        }
    }

    /// Returns the path of a file of a collection, if there can be such a file.
    fn path_of(&self, collection: &str, file: &NotePath) -> Option<NotePath> {
        if collection == TOP {
            return (self.is_whole || is_at_top(file)).then(|| file.clone());
        }
        let whole = format!("{collection}/{file}");
        let path = NotePath::parse_vault(&whole).ok();
        let is_one = is_collection_name(collection) && !self.is_whole;
        path.filter(|path| path.as_str() == whole && is_one)
    }

    /// Returns whether the folder has a collection with exactly this name, byte for byte.
    fn has(&self, collection: &str) -> Result<bool, StorageError> {
        if self.is_whole {
            let is_there = self.root.is_there();
            let gone = || failed(&WalkError::Unreadable(io::ErrorKind::NotFound));
            return is_there.then(|| collection == TOP).ok_or_else(gone);
        }
        if collection == TOP {
            let has = self.root.has_at_top(&self.walk, &self.is_notebook);
            return has.map_err(|error| failed(&error));
        }
        if !is_collection_name(collection) {
            return Ok(false);
        }
        let folders = self
            .root
            .folders(&self.walk)
            .map_err(|error| failed(&error))?;
        Ok(folders.iter().any(|name| name == collection))
    }
}

impl NotebookStorage for FolderStorage {
    fn max_notebook_bytes(&self) -> u64 {
        self.max_note_bytes
    }

    fn kind(&self) -> &'static str {
        KIND
    }

    fn cut(&self) -> NoteCut {
        self.cut
    }

    fn collections(&self) -> Result<Vec<String>, StorageError> {
        let mut folders = match self.is_whole {
            true => Vec::new(),
            false => self
                .root
                .folders(&self.walk)
                .map_err(|error| failed(&error))?,
        };
        folders.retain(|name| is_collection_name(name));
        if self.has(TOP)? {
            folders.push(TOP.to_owned());
            folders.sort();
        }
        Ok(folders)
    }

    fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotebookFile>, StorageError> {
        self.require(collection)?;
        let listed = match collection {
            TOP if self.is_whole => self.root.list_all(&self.walk, stop),
            TOP => self.root.list_top(&self.walk, stop),
            _ => self.root.list(collection, &self.walk, stop),
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) if is_absence(&error) => return Err(StorageError::CollectionNotFound),
            Err(error) => return Err(failed(&error)),
        };
        Ok(listed
            .into_iter()
            .filter(|(file, _)| (self.is_notebook)(file))
            .map(|(notebook, stamp)| NotebookFile {
                notebook,
                stamp: condensed(&stamp),
            })
            .collect())
    }

    fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, StorageError> {
        let gone = || self.require(collection).map(|()| None);
        let Some(path) = self.path_of(collection, file) else {
            return gone();
        };
        let is_wanted = !(self.is_notebook)(file) || self.walk.includes(path.as_str());
        if !is_wanted
            || !self
                .root
                .reaches(&path, &self.walk)
                .map_err(|error| failed(&error))?
        {
            return gone();
        }
        match self.plain(&path)? {
            Some(bytes) => Ok(Some(bytes)),
            None => gone(),
        }
    }

    fn read_listed(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        match self.path_of(collection, file) {
            Some(path) => self.plain(&path),
            None => Ok(None),
        }
    }

    fn require(&self, collection: &str) -> Result<(), StorageError> {
        match self.has(collection)? {
            true => Ok(()),
            false => Err(StorageError::CollectionNotFound),
        }
    }

    fn watch(
        &self,
        collection: &str,
        changed: Box<dyn Fn() + Send + Sync>,
    ) -> Option<Box<dyn Any + Send + Sync>> {
        let root = self.root.location().to_path_buf();
        let (folder, mode) = match collection {
            TOP if self.is_whole => (root.clone(), RecursiveMode::Recursive),
            TOP => (root.clone(), RecursiveMode::NonRecursive),
            _ => (root.join(collection), RecursiveMode::Recursive),
        };
        let told = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_of_no_notebook = event.is_ok_and(|event| {
                event.kind.is_access()
                    || (!event.paths.is_empty()
                        && event
                            .paths
                            .iter()
                            .all(|path| is_in_hidden_folder(&root, path)))
            });
            if !is_of_no_notebook {
                changed();
            }
        });
        let mut watcher = told.ok()?;
        if let Err(error) = watcher.watch(&folder, mode) {
            tracing::warn!(kind = ?error.kind, "changes to notebooks are noticed only by polling");
            return None;
        }
        Some(Box::new(watcher))
    }

    fn name(&self) -> Option<String> {
        let name = self.root.location().file_name()?;
        name.to_str().map(str::to_owned)
    }
}

impl ArtifactStorage for FolderStorage {
    fn artifact_storage_kind(&self) -> &'static str {
        KIND
    }

    fn artifact_limits(&self) -> &'static [StorageLimit] {
        &[StorageLimit {
            name: "max_artifact_folders",
            value: MAX_ARTIFACT_FOLDERS as u64,
            bounds: "folders below `_artifacts` of a collection",
        }]
    }

    fn artifact_files(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, StorageError> {
        let folder = match collection {
            // The artifacts may belong to notebooks in another storage.
            TOP => ARTIFACTS.to_owned(),
            _ => {
                self.require(collection)?;
                format!("{collection}/{ARTIFACTS}")
            }
        };
        let folders = Cell::new(0_usize);
        let is_enough = || {
            folders.set(folders.get() + 1);
            folders.get() > MAX_ARTIFACT_FOLDERS || stop()
        };
        let listed = match self.root.list_files(&folder, &self.walk, &is_enough) {
            Ok(listed) => listed,
            Err(WalkError::Stopped) if folders.get() <= MAX_ARTIFACT_FOLDERS => {
                return Err(StorageError::Cancelled);
            }
            Err(WalkError::Stopped) => {
                return Err(StorageError::failed(format!(
                    "`{ARTIFACTS}` of the collection has more than {MAX_ARTIFACT_FOLDERS} folders."
                )));
            }
            Err(error) if is_absence(&error) => {
                return self.require(collection).map(|()| Vec::new());
            }
            Err(error) => return Err(failed(&error)),
        };
        let files = listed.iter().filter_map(|(file, _)| {
            let path = format!("{ARTIFACTS}/{file}");
            NotePath::parse_vault(&path).ok()
        });
        Ok(files.collect())
    }

    fn read_artifact(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        match file.segments().next() {
            Some(ARTIFACTS) => self.read(collection, file),
            _ => self.require(collection).map(|()| None),
        }
    }
}

/// Returns whether a file is in a hidden folder, such as `.sectile` or `.git`: these change with every edit, and
/// contain no notebook. A hidden file itself, such as `.gitignore`, may change which notebooks count.
fn is_in_hidden_folder(root: &Path, file: &Path) -> bool {
    let folder = file.strip_prefix(root).ok().and_then(Path::parent);
    folder.is_some_and(|folder| {
        let mut names = folder.iter().filter_map(|name| name.to_str());
        names.any(|name| name.starts_with('.'))
    })
}

fn condensed(stamp: &FileStamp) -> NotebookStamp {
    NotebookStamp::of_file([
        stamp.bytes,
        stamp.modified_ns.cast_unsigned(),
        stamp.changed_ns.cast_unsigned(),
        stamp.file,
    ])
}

fn is_absence(error: &WalkError) -> bool {
    matches!(
        error,
        WalkError::Unreadable(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    )
}

fn failed(error: &WalkError) -> StorageError {
    match error {
        WalkError::Stopped => StorageError::Cancelled,
        WalkError::Unreadable(kind) => StorageError::failed(format!(
            "The folder of the notebooks cannot be read ({kind})."
        )),
        WalkError::TooManyOpenFiles => StorageError::failed(
            "The folder of the notebooks cannot be read: too many files are open.",
        ),
        _ => StorageError::failed("The folder of the notebooks cannot be read."),
    }
}

#[cfg(test)]
mod tests;
