//! A library: the storages of its notebooks and of the artifacts derived from them, of whatever kind.

use std::sync::Arc;

use sectile_markdown::NotePath;

use crate::{
    error::{FailedPart, LibraryError},
    provenance::DigestCache,
    storage::{
        ARTIFACTS, ArtifactStorage, NotebookFile, NotebookStorage, StorageError, StorageLimit,
    },
};

/// The storages of a library.
pub struct Library {
    notebooks: Arc<dyn NotebookStorage>,
    artifacts: Arc<dyn ArtifactStorage>,
    /// Digests of notebooks, remembered by their stamps.
    pub(super) remembered: DigestCache,
}

impl Library {
    /// Creates a library with notebooks in one storage and artifacts in another.
    pub fn new(notebooks: Arc<dyn NotebookStorage>, artifacts: Arc<dyn ArtifactStorage>) -> Self {
        Self {
            notebooks,
            artifacts,
            remembered: DigestCache::default(),
        }
    }

    /// Creates a library with both in one storage.
    pub fn of<S: NotebookStorage + ArtifactStorage + 'static>(storage: Arc<S>) -> Self {
        let notebooks: Arc<dyn NotebookStorage> = Arc::<S>::clone(&storage);
        Self::new(notebooks, storage)
    }

    /// Returns the storage of the artifacts as the failed part of an error.
    pub(crate) fn artifact_place(&self) -> FailedPart {
        FailedPart::Artifacts(self.artifacts.artifact_storage_kind())
    }

    /// Returns the storage of its notebooks, for requests that cannot fail.
    pub fn notebook_storage(&self) -> &dyn NotebookStorage {
        self.notebooks.as_ref()
    }

    /// Asks the storage of its notebooks; an error names that storage as the part that failed.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&dyn NotebookStorage) -> Result<T, StorageError>,
    ) -> Result<T, LibraryError> {
        question(self.notebook_storage()).map_err(|error| {
            let at = FailedPart::Notebooks(self.notebook_storage().kind());
            LibraryError::of_storage(error, at)
        })
    }

    /// See [`NotebookStorage::max_notebook_bytes`].
    pub fn max_notebook_bytes(&self) -> u64 {
        self.notebooks.max_notebook_bytes()
    }

    /// Returns the limits of both storages.
    pub fn limits(&self) -> impl Iterator<Item = &'static StorageLimit> {
        let artifacts = self.artifacts.artifact_limits();
        self.notebooks.limits().iter().chain(artifacts)
    }

    /// See [`NotebookStorage::collections`].
    pub fn collections(&self) -> Result<Vec<String>, LibraryError> {
        self.ask(|storage| storage.collections())
    }

    /// See [`NotebookStorage::notebooks`].
    pub fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotebookFile>, LibraryError> {
        self.ask(|storage| storage.notebooks(collection, stop))
    }

    /// See [`NotebookStorage::require`].
    pub fn require(&self, collection: &str) -> Result<(), LibraryError> {
        self.ask(|storage| storage.require(collection))
    }

    /// Reads a file of the collection from the storage that it belongs to. See [`NotebookStorage::read`].
    pub fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, LibraryError> {
        if file.segments().next() != Some(ARTIFACTS) {
            return self.ask(|storage| storage.read(collection, file));
        }
        match self.artifacts.read_artifact(collection, file) {
            Err(StorageError::CollectionNotFound) => self.require(collection).map(|()| None),
            found => self.of_artifacts(found),
        }
    }

    /// See [`ArtifactStorage::artifact_files`].
    pub(crate) fn artifact_files(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, LibraryError> {
        match self.artifacts.artifact_files(collection, stop) {
            // A storage of artifacts need not know a collection from which nothing was derived.
            Err(StorageError::CollectionNotFound) => self.require(collection).map(|()| Vec::new()),
            found => self.of_artifacts(found),
        }
    }

    fn of_artifacts<T>(&self, result: Result<T, StorageError>) -> Result<T, LibraryError> {
        result.map_err(|error| LibraryError::of_storage(error, self.artifact_place()))
    }
}
