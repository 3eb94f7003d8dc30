//! Notebooks and artifacts in S3-compatible object storage.
//!
//! A bucket, or a folder inside it, is a storage by the rules of a folder of notebooks: the part of a key before the first
//! slash is the collection, unless it starts with `_` or `.`; every `.md` object of a collection is a notebook, except
//! below its `_artifacts`. The `.md` objects whose keys have no slash form one more collection, [`TOP`]. Keys with a part
//! that starts with `.`, with empty parts or with anything else that is not a plain path are hidden: neither listed nor
//! read. Objects whose keys end in a slash mark empty folders. Ignore files (`.gitignore`) are ordinary objects and have no
//! effect.
//!
//! Nothing is cached: every answer is what the storage says during that call.

mod blobs;
mod deletion;
mod error;
mod keys;
mod listing;
mod store;
mod tenants;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use object_store::{
    GetOptions, GetRange, ObjectStore as _,
    aws::AmazonS3,
    list::{PaginatedListOptions, PaginatedListStore as _},
    path::Path,
};
use sectile_library::{
    ARTIFACTS, ArtifactStorage, NotebookFile, NotebookStamp, NotebookStorage, StorageError,
    StorageLimit, TOP, is_at_top, is_notebook,
};
use sectile_markdown::{Digest, NotePath};

pub(crate) use self::blobs::PROBES;
pub use self::{
    blobs::{
        Blob, BlobInfo, BlobPage, BlobStore, ConditionalRead, CreateOutcome, ETag, ReplaceOutcome,
    },
    error::{BlobError, ObjectError},
    tenants::ObjectTenants,
};
use self::{
    keys::KeyPrefix,
    listing::{Entry, Page},
    store::RETRY_TIME,
    wire::{ResponseOutcome, ResponseSlot},
};
use crate::{BlockingRuntime, S3Settings};

/// The word that messages use for this storage.
const KIND: &str = "bucket";
/// The most collections in one storage.
const MAX_COLLECTIONS: usize = 10_000;
/// The most files below the `_artifacts` of one collection.
const MAX_ARTIFACTS: usize = 10_000;
/// The most objects listed for one answer: a round number that bounds time and memory.
const MAX_OBJECTS: usize = 1_000_000;
/// Number of objects read concurrently: a round trip costs more than the transfer of a notebook.
const READS_AT_ONCE: usize = 8;
/// The time allowed for checking whether the storage can be used.
const READY_LIMIT: Duration = Duration::from_secs(3);

/// Collections in object storage.
///
/// A notebook is read with one request, so every read sees one state of its object. The stamp of a notebook is derived from
/// its ETag and its length, or from the time of the last change where listings have no ETags. An object that was put again
/// with the same bytes keeps its stamp where ETags are digests, as they mostly are, and gets a new one elsewhere.
pub struct ObjectStorage {
    store: AmazonS3,
    keys: KeyPrefix,
    waiting: BlockingRuntime,
    max_note_bytes: u64,
    page_objects: usize,
    /// The time for one request, including its retries.
    limit: Duration,
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectStorage")
    }
}

/// The parameters that all pages of one listing share.
struct ListQuery<'a> {
    prefix: &'a str,
    /// Whether keys are grouped up to the next slash.
    by_folders: bool,
    stop: &'a dyn Fn() -> bool,
}

impl ObjectStorage {
    /// Creates the storage for a bucket. Connections are opened lazily.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with the settings.
    pub fn s3(settings: &S3Settings, waiting: BlockingRuntime) -> Result<Self, &'static str> {
        let keys = KeyPrefix::below(&settings.prefix);
        Ok(Self {
            keys: keys.ok_or("the prefix is not a valid folder path")?,
            store: settings.build()?.reading,
            waiting,
            max_note_bytes: settings.max_note_bytes,
            page_objects: settings.page_objects(),
            limit: settings.timeout.saturating_add(RETRY_TIME),
        })
    }

    /// Requests one page of a listing.
    fn page(
        &self,
        listing: &ListQuery<'_>,
        max_keys: usize,
        from: Option<String>,
        limit: Duration,
    ) -> Result<Page, StorageError> {
        let asked = ResponseSlot::for_page();
        let mut options = PaginatedListOptions {
            delimiter: listing.by_folders.then_some("/".into()),
            max_keys: Some(max_keys),
            page_token: from,
            ..PaginatedListOptions::default()
        };
        options.extensions.insert(asked.clone());
        let prefix = Some(listing.prefix).filter(|prefix| !prefix.is_empty());
        self.waiting.run(limit, listing.stop, async {
            // The outcome is recorded in `asked`; the library's result says less.
            drop(self.store.list_paginated(prefix, options).await);
            match asked.take() {
                ResponseOutcome::Page(page) => Ok(page),
                ResponseOutcome::Trouble(trouble) => Err(failed(trouble)),
                _ => Err(failed(ObjectError::Unclear)),
            }
        })
    }

    /// Passes all pages of a listing to `each`, in order.
    fn each_page(
        &self,
        listing: &ListQuery<'_>,
        mut each: impl FnMut(Page) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut seen = 0;
        let mut from: Option<String> = None;
        loop {
            if (listing.stop)() {
                return Err(StorageError::Cancelled);
            }
            let mut page = self.page(listing, self.page_objects, from.clone(), self.limit)?;
            // An empty page counts too, so that the loop always ends.
            seen += (page.entries.len() + page.folders.len()).max(1);
            let next = page.next.take();
            each(page)?;
            match next {
                None => return Ok(()),
                Some(_) if seen >= MAX_OBJECTS => {
                    return Err(too_many(
                        "The storage or collection",
                        MAX_OBJECTS,
                        "objects",
                    ));
                }
                // The same token again would loop for ever.
                Some(_) if next == from => return Err(failed(ObjectError::Unclear)),
                Some(_) => from = next,
            }
        }
    }

    /// Returns the objects of a listing that are files of a collection, with paths relative to `collection_folder`, or
    /// `None` if there are no objects at all.
    fn files(
        &self,
        collection_folder: &str,
        listing: &ListQuery<'_>,
        most: usize,
    ) -> Result<Option<BTreeMap<NotePath, Entry>>, StorageError> {
        let mut is_there = false;
        // Sorted, and every object once, whatever happens to the listing meanwhile.
        let mut files = BTreeMap::new();
        self.each_page(listing, |page| {
            for entry in page.entries {
                is_there |= entry.key.starts_with(listing.prefix);
                if let Some(file) = KeyPrefix::file(collection_folder, &entry.key) {
                    files.insert(file, entry);
                }
            }
            match files.len() > most {
                true => Err(too_many("The collection", most, "files of this kind")),
                false => Ok(()),
            }
        })?;
        Ok(is_there.then_some(files))
    }

    /// Returns whether an object is a notebook at the top level.
    fn is_top_notebook(&self, entry: &Entry) -> bool {
        KeyPrefix::file(self.keys.prefix(), &entry.key).is_some_and(|file| is_top(&file))
    }

    /// Returns the bytes of an object, read in one request.
    fn fetch(&self, key: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        match self.ask(key)? {
            ResponseOutcome::Object(bytes, _) => Ok(Some(bytes.into())),
            _ => Ok(None),
        }
    }

    /// Requests an object. The outcome holds its bytes, or says that it is missing or too large.
    fn ask(&self, key: &Path) -> Result<ResponseOutcome, StorageError> {
        let asked = ResponseSlot::for_object(self.max_note_bytes);
        let mut options = GetOptions {
            range: Some(GetRange::Bounded(0..self.max_note_bytes.saturating_add(1))),
            ..GetOptions::default()
        };
        options.extensions.insert(asked.clone());
        self.waiting.run(self.limit, &|| false, async {
            // The outcome is recorded in `asked`; the library's result says less.
            drop(self.store.get_opts(key, options).await);
            match asked.take() {
                ResponseOutcome::Trouble(trouble) => Err(failed(trouble)),
                ResponseOutcome::Page(_) => Err(failed(ObjectError::Unclear)),
                noted => Ok(noted),
            }
        })
    }
}

impl NotebookStorage for ObjectStorage {
    fn max_notebook_bytes(&self) -> u64 {
        self.max_note_bytes
    }

    /// Takes one request, where a listing might take many.
    fn is_too_large(&self, collection: &str, notebook: &NotePath) -> Result<bool, StorageError> {
        let key = self.keys.of_file(collection, notebook);
        let key = key.filter(|_| is_notebook(notebook));
        match key.map(|key| self.ask(&key)).transpose()? {
            Some(ResponseOutcome::TooLarge) => Ok(true),
            _ => self.require(collection).map(|()| false),
        }
    }

    fn limits(&self) -> &'static [StorageLimit] {
        &[
            StorageLimit {
                name: "max_collections",
                value: MAX_COLLECTIONS as u64,
                bounds: "collections of a bucket",
            },
            StorageLimit {
                name: "max_objects",
                value: MAX_OBJECTS as u64,
                bounds: "objects of a bucket or collection listed for one answer",
            },
            StorageLimit {
                name: "max_key_bytes",
                value: keys::MAX_KEY_BYTES as u64,
                bounds: "bytes in the key of an object",
            },
        ]
    }

    fn kind(&self) -> &'static str {
        KIND
    }

    fn reads_at_once(&self) -> usize {
        READS_AT_ONCE
    }

    fn collections(&self) -> Result<Vec<String>, StorageError> {
        let listing = ListQuery {
            prefix: self.keys.prefix(),
            by_folders: true,
            stop: &|| false,
        };
        let mut names = BTreeSet::new();
        self.each_page(&listing, |page| {
            let found = page.folders.iter();
            let found = found.filter_map(|common| self.keys.collection(common));
            names.extend(found.map(str::to_owned));
            if page.entries.iter().any(|entry| self.is_top_notebook(entry)) {
                names.insert(TOP.to_owned());
            }
            match names.len() > MAX_COLLECTIONS {
                true => Err(too_many("The storage", MAX_COLLECTIONS, "collections")),
                false => Ok(()),
            }
        })?;
        Ok(names.into_iter().collect())
    }

    fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotebookFile>, StorageError> {
        let folder = self.keys.of_collection(collection);
        let folder = folder.ok_or(StorageError::CollectionNotFound)?;
        let listing = ListQuery {
            prefix: &folder,
            by_folders: collection == TOP,
            stop,
        };
        let mut files = self.files(&folder, &listing, MAX_OBJECTS)?;
        if collection == TOP {
            files = files.filter(|files| files.keys().any(is_top));
        }
        let files = files.ok_or(StorageError::CollectionNotFound)?;
        let notebooks = files.into_iter().filter(|(file, _)| {
            if collection == TOP {
                is_top(file)
            } else {
                is_notebook(file)
            }
        });
        let listed = notebooks.map(|(notebook, entry)| NotebookFile {
            notebook,
            stamp: stamp(&entry),
        });
        Ok(listed.collect())
    }

    fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, StorageError> {
        let found = match self.keys.of_file(collection, file) {
            Some(key) => self.fetch(&key)?,
            None => None,
        };
        match found {
            Some(bytes) => Ok(Some(bytes)),
            None => self.require(collection).map(|()| None),
        }
    }

    fn read_listed(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        match self.keys.of_file(collection, file) {
            Some(key) => self.fetch(&key),
            None => Ok(None),
        }
    }

    fn require(&self, collection: &str) -> Result<(), StorageError> {
        if collection == TOP {
            return self.notebooks(TOP, &|| false).map(drop);
        }
        let folder = self.keys.of_collection(collection);
        let folder = folder.ok_or(StorageError::CollectionNotFound)?;
        let listing = ListQuery {
            prefix: &folder,
            by_folders: false,
            stop: &|| false,
        };
        let page = self.page(&listing, 1, None, self.limit)?;
        match page.entries.iter().any(|one| one.key.starts_with(&folder)) {
            true => Ok(()),
            false => Err(StorageError::CollectionNotFound),
        }
    }

    fn ready(&self) -> Result<(), StorageError> {
        let listing = ListQuery {
            prefix: self.keys.prefix(),
            by_folders: false,
            stop: &|| false,
        };
        self.page(&listing, 1, None, READY_LIMIT).map(drop)
    }
}

impl ArtifactStorage for ObjectStorage {
    fn artifact_storage_kind(&self) -> &'static str {
        KIND
    }

    fn artifact_limits(&self) -> &'static [StorageLimit] {
        &[StorageLimit {
            name: "max_artifact_files",
            value: MAX_ARTIFACTS as u64,
            bounds: "files below `_artifacts` of a collection in a bucket",
        }]
    }

    fn artifact_files(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, StorageError> {
        let folder = self.keys.of_collection(collection);
        let folder = folder.ok_or(StorageError::CollectionNotFound)?;
        let artifacts = format!("{folder}{ARTIFACTS}/");
        let listing = ListQuery {
            prefix: &artifacts,
            by_folders: false,
            stop,
        };
        match self.files(&folder, &listing, MAX_ARTIFACTS)? {
            Some(files) => Ok(files.into_keys().collect()),
            None => self.require(collection).map(|()| Vec::new()),
        }
    }

    fn read_artifact(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let mut segments = file.segments();
        match (segments.next(), segments.next()) {
            (Some(ARTIFACTS), Some(_)) => self.read(collection, file),
            _ => self.require(collection).map(|()| None),
        }
    }
}

/// Returns whether a file is a notebook of [`TOP`].
fn is_top(file: &NotePath) -> bool {
    is_notebook(file) && is_at_top(file)
}

fn stamp(entry: &Entry) -> NotebookStamp {
    let mut state = entry.bytes.to_be_bytes().to_vec();
    match &entry.tag {
        Some(tag) => {
            state.push(1);
            state.extend_from_slice(tag.as_bytes());
        }
        None => {
            state.push(0);
            state.extend_from_slice(&entry.modified.as_nanosecond().to_be_bytes());
        }
    }
    let digest = Digest::of(&state);
    let (parts, _) = digest.as_bytes().as_chunks::<8>();
    let mut state = [0; 4];
    for (whole, part) in state.iter_mut().zip(parts) {
        *whole = u64::from_be_bytes(*part);
    }
    NotebookStamp {
        bytes: entry.bytes,
        modified: entry.modified.as_millisecond(),
        changed: match entry.tag {
            Some(_) => 0,
            // A time proves little: some storages let the writer of an object choose it.
            None => u64::MAX,
        },
        state,
    }
}

fn failed(trouble: ObjectError) -> StorageError {
    tracing::warn!(?trouble, "the object storage failed a request");
    trouble.into()
}

fn too_many(where_: &str, most: usize, what: &str) -> StorageError {
    StorageError::failed(format!(
        "{where_} has more than {most} {what}. Split it, or set a prefix."
    ))
}
