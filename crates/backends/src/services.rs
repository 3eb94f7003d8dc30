//! Indexes in vector services, which several processes can share.
//!
//! A service keeps the records of a collection and returns candidates for a question; they are scored by the same rules as
//! in the embedded engine. No service has transactions: an index is a series of generations, each of which becomes current
//! when its manifest is created. Everything that does not depend on a particular service is here and in the modules below;
//! [`service::VectorService`] is the rest.

mod cache;
mod dictionary;
mod failure;
mod lease;
mod pinecone;
mod reading;
mod records;
mod service;
mod weaviate;
mod wire;
mod writing;

use std::{sync::Arc, time::Duration};

use sectile_library::{
    BackendState, Change, IndexedNotebook, LocatedChunk, LocatedHits, StorageError, TierFilling,
    VectorIndexing, VectorQuery, VectorSearch, tiers::Models,
};
use sectile_markdown::Digest;
use sectile_retrieval::{Embedder, record_rules};

use self::{
    cache::{ChunkCache, SnapshotCache},
    failure::ServiceFailure,
    pinecone::Pinecone,
    service::VectorService,
    weaviate::Weaviate,
};
use crate::{BlockingRuntime, ServiceSettings, settings::ServiceKind};

/// The longest that one step of a write may take before it is abandoned.
const WRITING: Duration = Duration::from_secs(600);
/// The time allowed for listing the notebooks of a collection, which are read whole.
const LISTING: Duration = Duration::from_secs(120);
/// The time allowed for checking whether the service is reachable.
const READY: Duration = Duration::from_secs(5);

/// Opens the index in the service that the settings describe. Connections are opened lazily.
///
/// # Errors
/// Returns an error if the settings cannot be used.
pub fn vector_service(
    settings: &ServiceSettings,
    waiting: BlockingRuntime,
    models: Models,
) -> Result<Arc<dyn VectorIndexing>, StorageError> {
    let dimensions = models.first.dimensions();
    Ok(match settings.kind {
        ServiceKind::Pinecone => {
            let service = Pinecone::new(settings, dimensions)?;
            Arc::new(ServiceIndex::new(service, settings, waiting, models))
        }
        ServiceKind::Weaviate => {
            let service = Weaviate::new(settings)?;
            Arc::new(ServiceIndex::new(service, settings, waiting, models))
        }
    })
}

/// An index in a service.
struct ServiceIndex<S> {
    service: S,
    waiting: BlockingRuntime,
    model: &'static dyn Embedder,
    /// The version of the rules by which records are made.
    rules: String,
    /// The name that the tenants of this library are told from those of others by.
    library: String,
    candidates: usize,
    /// The time that a search may take in all.
    reading: Duration,
    /// The time that records may take to show up after they were written.
    settle: Duration,
    snapshots: SnapshotCache,
    chunks: ChunkCache,
}

impl<S: VectorService> ServiceIndex<S> {
    fn new(
        service: S,
        settings: &ServiceSettings,
        waiting: BlockingRuntime,
        models: Models,
    ) -> Self {
        Self {
            service,
            waiting,
            model: models.first,
            rules: record_rules(models.first),
            library: settings.library.clone(),
            candidates: settings.candidates.max(1),
            reading: settings.connect_timeout + settings.search_timeout,
            settle: settings.settle,
            snapshots: SnapshotCache::default(),
            chunks: ChunkCache::default(),
        }
    }

    /// Returns the name of a collection's tenant: letters, digits and hyphens, whatever the name of the collection.
    fn tenant(&self, collection: &str) -> String {
        let name = format!("{}\0{collection}", self.library);
        let digest = Digest::of(name.as_bytes()).to_string();
        format!("sectile-{}", &digest[..40])
    }

    fn wait<T>(
        &self,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        work: impl Future<Output = Result<T, ServiceFailure>>,
    ) -> Result<T, StorageError> {
        let title = self.service.title();
        let work = async { work.await.map_err(|failure| failure.explained(title)) };
        self.waiting.run(limit, stop, work)
    }

    fn read<T>(
        &self,
        work: impl Future<Output = Result<T, ServiceFailure>>,
    ) -> Result<T, StorageError> {
        self.wait(self.reading, &|| false, work)
    }

    fn write<T>(
        &self,
        work: impl Future<Output = Result<T, ServiceFailure>>,
    ) -> Result<T, StorageError> {
        self.wait(WRITING, &|| false, work)
    }
}

impl<S: VectorService> VectorSearch for ServiceIndex<S> {
    fn name(&self) -> &'static str {
        self.service.name()
    }

    fn kind(&self) -> &'static str {
        "service"
    }

    fn state(&self, collection: &str) -> Result<BackendState, StorageError> {
        self.read(self.read_state(collection))
    }

    fn search(&self, question: &VectorQuery<'_>) -> Result<LocatedHits, StorageError> {
        self.wait(self.reading, question.stop, self.read_hits(question))
    }

    fn chunks_with(
        &self,
        collection: &str,
        digits: &str,
    ) -> Result<Vec<LocatedChunk>, StorageError> {
        self.read(self.read_chunks_with(collection, digits))
    }

    fn entries(&self, collection: &str) -> Result<Vec<IndexedNotebook>, StorageError> {
        self.wait(LISTING, &|| false, self.read_entries(collection))
    }

    fn ready(&self) -> Result<(), StorageError> {
        self.wait(READY, &|| false, self.service.check())
    }
}

impl<S: VectorService> VectorIndexing for ServiceIndex<S> {
    fn prepare(&self) -> Result<(), StorageError> {
        self.write(self.service.prepare())
    }

    fn update(
        &self,
        collection: &str,
        as_of: i64,
        is_new: bool,
        changes: &mut dyn Iterator<Item = Result<Change, StorageError>>,
    ) -> Result<BackendState, StorageError> {
        let mut writer = self.write(self.writer(collection, is_new))?;
        for change in changes {
            let written = change.and_then(|change| self.write(writer.write(change)));
            if let Err(error) = written {
                self.write(async {
                    writer.abandon().await;
                    Ok(())
                })?;
                return Err(error);
            }
        }
        self.write(writer.commit(as_of))
    }

    fn tidy(&self, collection: &str) -> Result<(), StorageError> {
        self.write(self.tidy_collection(collection))
    }

    fn remove(&self, collection: &str) -> Result<(), StorageError> {
        self.write(self.drop_collection(collection))
    }

    fn has_second_tier(&self) -> bool {
        false
    }

    fn fill_tier<'a>(
        &'a self,
        _: &'a str,
        _: &'a dyn Embedder,
    ) -> Result<Box<dyn TierFilling + 'a>, StorageError> {
        let title = self.service.title();
        Err(StorageError::failed(format!(
            "An index in {title} has the static tier only. Index with `--tier static`."
        )))
    }
}
