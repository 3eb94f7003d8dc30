//! Storages in memory, for tests.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its storage fails"
)]

mod tenants;

use std::{
    collections::BTreeMap,
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Embedder, EmbeddingReader, MeaningWeight, Vector, built_in};

pub use self::tenants::{CommitFault, MemoryTenants};
use crate::{
    artifacts::{
        ArtifactRecord, ArtifactType, Maker, SIDECAR, Status,
        record::{RecordPayload, RecordStep, Source},
    },
    library::Library,
    storage::{
        ARTIFACTS, ArtifactStorage, NotebookFile, NotebookStamp, NotebookStorage, StorageError,
        is_notebook,
    },
};

/// The size limit for notebooks in memory.
pub(crate) const LARGEST: u64 = 4 << 20;

/// A library whose storage is in memory.
pub struct Memory {
    library: Arc<Library>,
    storage: Arc<MemoryFiles>,
}

/// Files by collection and path.
#[derive(Debug, Default)]
struct MemoryFiles {
    files: Mutex<BTreeMap<(String, String), File>>,
    reads: Mutex<usize>,
}

impl Default for Memory {
    fn default() -> Self {
        let storage = Arc::new(MemoryFiles::default());
        let library = Arc::new(Library::of(Arc::clone(&storage)));
        Self { library, storage }
    }
}

impl Deref for Memory {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

#[derive(Clone, Debug, Default)]
struct File {
    bytes: Vec<u8>,
    modified: i64,
    is_unreadable: bool,
}

impl Memory {
    /// Creates a storage with these files, named as `collection/path`.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let storage = Self::default();
        for (path, text) in files {
            let (collection, path) = path.split_once('/').unwrap();
            storage.write(collection, path, text.as_bytes());
        }
        storage
    }

    /// Creates a library with these files, each given as collection, path and text.
    pub fn shared(files: &[(&str, &str, &str)]) -> Arc<Library> {
        let storage = Self::default();
        for (collection, path, text) in files {
            storage.write(collection, path, text.as_bytes());
        }
        storage.library
    }

    /// Returns the library.
    pub fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library)
    }

    /// Creates or replaces a file.
    pub fn write(&self, collection: &str, path: &str, bytes: &[u8]) {
        let mut files = self.storage.files.lock().unwrap();
        let file = files
            .entry((collection.to_owned(), path.to_owned()))
            .or_default();
        file.bytes = bytes.to_vec();
        file.modified += 1;
    }

    /// Removes a file.
    pub fn remove(&self, collection: &str, path: &str) {
        let key = (collection.to_owned(), path.to_owned());
        self.storage.files.lock().unwrap().remove(&key);
    }

    /// Sets the modification time of a file.
    pub fn set_modified(&self, collection: &str, path: &str, modified: i64) {
        let key = (collection.to_owned(), path.to_owned());
        let mut files = self.storage.files.lock().unwrap();
        files.get_mut(&key).unwrap().modified = modified;
    }

    /// Makes reads of a file fail.
    pub fn forbid(&self, collection: &str, path: &str) {
        let key = (collection.to_owned(), path.to_owned());
        let mut files = self.storage.files.lock().unwrap();
        files.get_mut(&key).unwrap().is_unreadable = true;
    }

    /// Makes reads of a file succeed again.
    pub fn allow(&self, collection: &str, path: &str) {
        let key = (collection.to_owned(), path.to_owned());
        let mut files = self.storage.files.lock().unwrap();
        files.get_mut(&key).unwrap().is_unreadable = false;
    }

    /// Returns the number of reads of notebooks.
    pub fn read_of_notebooks(&self) -> usize {
        *self.storage.reads.lock().unwrap()
    }
}

impl MemoryFiles {
    fn paths(&self, collection: &str) -> Result<Vec<(NotePath, File)>, StorageError> {
        let files = self.files.lock().unwrap();
        let found: Vec<(NotePath, File)> = files
            .iter()
            .filter(|((owner, _), _)| owner == collection)
            .map(|((_, path), file)| (NotePath::parse_vault(path).unwrap(), file.clone()))
            .collect();
        if found.is_empty() {
            return Err(StorageError::CollectionNotFound);
        }
        Ok(found)
    }
}

impl NotebookStorage for MemoryFiles {
    fn max_notebook_bytes(&self) -> u64 {
        LARGEST
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    fn collections(&self) -> Result<Vec<String>, StorageError> {
        let files = self.files.lock().unwrap();
        let mut names: Vec<String> = files.keys().map(|(name, _)| name.clone()).collect();
        names.dedup();
        Ok(names)
    }

    fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotebookFile>, StorageError> {
        if stop() {
            return Err(StorageError::Cancelled);
        }
        let files = self.paths(collection)?.into_iter();
        let listed = files.filter(|(path, _)| is_notebook(path));
        Ok(listed
            .map(|(notebook, file)| NotebookFile {
                notebook,
                stamp: NotebookStamp {
                    bytes: file.bytes.len() as u64,
                    modified: file.modified,
                    // Never remembered.
                    changed: u64::MAX,
                    state: [file.modified.cast_unsigned(), 0, 0, 0],
                },
            })
            .collect())
    }

    fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, StorageError> {
        if is_notebook(file) {
            *self.reads.lock().unwrap() += 1;
        }
        let files = self.paths(collection)?.into_iter();
        let mut found = files.filter(|(path, _)| path == file);
        match found.next() {
            Some((_, file)) if file.is_unreadable => {
                Err(StorageError::failed("It cannot be read."))
            }
            Some((_, file)) if file.bytes.len() as u64 > LARGEST => Ok(None),
            found => Ok(found.map(|(_, file)| file.bytes)),
        }
    }
}

impl ArtifactStorage for MemoryFiles {
    fn artifact_storage_kind(&self) -> &'static str {
        "memory"
    }

    fn artifact_files(
        &self,
        collection: &str,
        _: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, StorageError> {
        let files = self.paths(collection)?.into_iter().map(|(path, _)| path);
        Ok(files
            .filter(|path| path.segments().next() == Some(ARTIFACTS))
            .collect())
    }

    fn read_artifact(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        self.read(collection, file)
    }
}

/// Parses a query.
#[cfg(test)]
pub(crate) fn asked(text: &str) -> crate::SearchQuery {
    crate::SearchQuery::parse(text).unwrap()
}

/// The model of the first tier under another name and fingerprint, which makes it another model.
pub struct SameSizeModel(&'static str);

impl SameSizeModel {
    /// Creates a model that lives as long as the process.
    pub fn new(name: &'static str) -> &'static Self {
        Box::leak(Box::new(Self(name)))
    }
}

impl Embedder for SameSizeModel {
    fn name(&self) -> &str {
        self.0
    }

    fn fingerprint(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }

    fn dimensions(&self) -> usize {
        built_in().unwrap().dimensions()
    }

    fn weight(&self) -> MeaningWeight {
        built_in().unwrap().weight()
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        built_in().unwrap().reader()
    }
}

/// A quick model for the second tier: the one of the first, with other dimensions and another fingerprint. It counts
/// what it embeds.
pub struct SecondTierModel {
    name: &'static str,
    embedded: AtomicUsize,
}

impl SecondTierModel {
    /// Creates a model that lives as long as the process.
    pub fn new(name: &'static str) -> &'static Self {
        Box::leak(Box::new(Self {
            name,
            embedded: AtomicUsize::new(0),
        }))
    }

    /// Returns the number of passages embedded since the last call.
    pub fn embedded(&self) -> usize {
        self.embedded.swap(0, Ordering::Relaxed)
    }
}

impl Embedder for SecondTierModel {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> Digest {
        Digest::of(self.name.as_bytes())
    }

    fn dimensions(&self) -> usize {
        built_in().unwrap().dimensions() + 128
    }

    fn weight(&self) -> MeaningWeight {
        MeaningWeight {
            most: 900_000,
            discount: 0,
        }
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        Box::new(SecondTierReader {
            model: self,
            reader: built_in().unwrap().reader(),
        })
    }
}

struct SecondTierReader<'m> {
    model: &'m SecondTierModel,
    reader: Box<dyn EmbeddingReader + 'm>,
}

impl EmbeddingReader for SecondTierReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.model
    }

    /// Returns another direction than the first model: the reversed vector.
    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        // Queries have one part.
        let is_passage = usize::from(parts.len() > 1);
        self.model.embedded.fetch_add(is_passage, Ordering::Relaxed);
        let mut vector = self.reader.embed(parts)?;
        vector.reverse();
        vector.extend_from_within(..128);
        Some(vector)
    }
}

/// Writes and returns a record with these notebooks as sources, one step, and these payloads, all as they are in the
/// storage.
pub fn sidecar(
    storage: &Memory,
    collection: &str,
    set: &str,
    sources: &[&str],
    files: &[&str],
) -> ArtifactRecord {
    let digest = |path: &str| {
        let path = NotePath::parse_vault(path).unwrap();
        let bytes = storage.read(collection, &path).unwrap().unwrap();
        (Digest::of(&bytes), bytes.len() as u64)
    };
    let sources: Vec<Source> = sources
        .iter()
        .map(|path| Source {
            notebook: NotePath::parse_vault(path).unwrap(),
            digest: digest(path).0,
        })
        .collect();
    let payloads: Vec<RecordPayload> = files
        .iter()
        .map(|file| {
            let (digest, bytes) = digest(&format!("{ARTIFACTS}/{set}/{file}"));
            RecordPayload {
                file: (*file).to_owned(),
                digest,
                bytes,
            }
        })
        .collect();
    let step = RecordStep {
        tool: "summarise".to_owned(),
        parameters: serde_json::Map::new(),
        timestamp: 2000,
        inputs: sources.iter().map(|source| source.digest).collect(),
        outputs: payloads.iter().map(|payload| payload.digest).collect(),
    };
    let record = ArtifactRecord {
        kind: ArtifactType::Summary,
        status: Status::Offered,
        created_at: 1000,
        created_by: Maker::SynthesisPipeline,
        last_refreshed: None,
        confidence_note: None,
        sources,
        steps: vec![step],
        payloads,
    };
    keep(storage, collection, set, &record);
    record
}

/// Writes the record of a set.
pub fn keep(storage: &Memory, collection: &str, set: &str, record: &ArtifactRecord) {
    let text = record.to_toml().unwrap();
    storage.write(
        collection,
        &format!("{ARTIFACTS}/{set}/{SIDECAR}"),
        text.as_bytes(),
    );
}
