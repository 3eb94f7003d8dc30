//! The library: where its notebooks and what was derived from them come from, whatever the storages are.

use std::{any::Any, sync::Arc};

use sectile_markdown::NotePath;

use crate::{
    error::{FailedPart, LibraryError},
    provenance::Remembered,
    storage::{ARTIFACTS, ArtifactStorage, Listed, NotebookStorage, StorageError, StorageLimit},
};

/// The storages of a library.
pub struct Library {
    notebooks: Arc<dyn NotebookStorage>,
    artifacts: Arc<dyn ArtifactStorage>,
    /// Digests of notebooks by their stamps.
    pub(super) remembered: Remembered,
}

impl Library {
    /// A library of notebooks in one storage and artifacts in another.
    pub fn new(notebooks: Arc<dyn NotebookStorage>, artifacts: Arc<dyn ArtifactStorage>) -> Self {
        Self {
            notebooks,
            artifacts,
            remembered: Remembered::default(),
        }
    }

    /// Of one storage for both.
    pub fn of<S: NotebookStorage + ArtifactStorage + 'static>(storage: Arc<S>) -> Self {
        let notebooks: Arc<dyn NotebookStorage> = Arc::<S>::clone(&storage);
        Self::new(notebooks, storage)
    }

    /// What artifacts are kept in, for errors about them.
    pub(crate) fn artifact_place(&self) -> FailedPart {
        FailedPart::Artifacts(self.artifacts.artifact_storage_kind())
    }

    /// See [`NotebookStorage::max_notebook_bytes`].
    pub fn max_notebook_bytes(&self) -> u64 {
        self.notebooks.max_notebook_bytes()
    }

    /// What the storages bound.
    pub fn limits(&self) -> impl Iterator<Item = &'static StorageLimit> {
        let artifacts = self.artifacts.artifact_limits();
        self.notebooks.limits().iter().chain(artifacts)
    }

    /// See [`NotebookStorage::is_too_large`].
    pub(crate) fn is_too_large(
        &self,
        collection: &str,
        notebook: &NotePath,
    ) -> Result<bool, LibraryError> {
        self.of_notebooks(self.notebooks.is_too_large(collection, notebook))
    }

    fn of_notebooks<T>(&self, result: Result<T, StorageError>) -> Result<T, LibraryError> {
        let at = FailedPart::Notebooks(self.notebooks.kind());
        result.map_err(|error| LibraryError::of_storage(error, at))
    }

    fn of_artifacts<T>(&self, result: Result<T, StorageError>) -> Result<T, LibraryError> {
        result.map_err(|error| LibraryError::of_storage(error, self.artifact_place()))
    }

    /// See [`NotebookStorage::collections`].
    pub fn collections(&self) -> Result<Vec<String>, LibraryError> {
        self.of_notebooks(self.notebooks.collections())
    }

    /// See [`NotebookStorage::notebooks`].
    pub fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Listed>, LibraryError> {
        self.of_notebooks(self.notebooks.notebooks(collection, stop))
    }

    /// The bytes of a file of the collection, from the storage that it belongs to. See [`NotebookStorage::read`].
    pub fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, LibraryError> {
        if file.segments().next() != Some(ARTIFACTS) {
            return self.of_notebooks(self.notebooks.read(collection, file));
        }
        match self.artifacts.read_artifact(collection, file) {
            Err(StorageError::CollectionNotFound) => self.require(collection).map(|()| None),
            found => self.of_artifacts(found),
        }
    }

    /// See [`NotebookStorage::read_listed`].
    pub(crate) fn read_listed(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, LibraryError> {
        self.of_notebooks(self.notebooks.read_listed(collection, file))
    }

    /// See [`NotebookStorage::reads_at_once`].
    pub(crate) fn reads_at_once(&self) -> usize {
        self.notebooks.reads_at_once()
    }

    /// See [`NotebookStorage::require`].
    pub fn require(&self, collection: &str) -> Result<(), LibraryError> {
        self.of_notebooks(self.notebooks.require(collection))
    }

    /// See [`NotebookStorage::name`].
    pub fn name(&self) -> Option<String> {
        self.notebooks.name()
    }

    /// See [`NotebookStorage::watch`].
    pub fn watch(
        &self,
        collection: &str,
        changed: Box<dyn Fn() + Send + Sync>,
    ) -> Option<Box<dyn Any + Send + Sync>> {
        self.notebooks.watch(collection, changed)
    }

    /// See [`ArtifactStorage::artifact_files`].
    pub(crate) fn artifact_files(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, LibraryError> {
        match self.artifacts.artifact_files(collection, stop) {
            // A storage of artifacts need not have heard of a collection from which nothing was derived.
            Err(StorageError::CollectionNotFound) => self.require(collection).map(|()| Vec::new()),
            found => self.of_artifacts(found),
        }
    }

    /// Whether its notebooks can be read now.
    pub fn ready(&self) -> Result<(), LibraryError> {
        self.of_notebooks(self.notebooks.ready())
    }
}
