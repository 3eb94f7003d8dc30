//! An index in this process.
//!
//! An index on disk is verified against its checksums when it is opened, and compared with the library in the
//! background; changes are indexed in memory, or everything is if the index is damaged. Its files may be changed or
//! truncated at any moment: a search that notices fails, and the collection is reopened. The second tier answers as
//! long as it covers all chunks; a few new ones in memory are embedded by the thread that keeps the index up to date.
//!
//! The folder may be the copy of an index that another place keeps (`IndexMirror`). It is brought up to date before each
//! comparison. A place that fails then is no reason not to answer from the copy.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{SearchResults, Store, VectorCache};

use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    library::Library,
    mirror::IndexMirror,
    open_collection::{
        Backend, CollectionIndex, IndexState,
        readers::ReaderPool,
        snapshot::{Snapshot, unharmed},
    },
    query::SearchQuery,
    storage::{BackendState, LocatedChunk, LocatedHit, LocatedHits, StorageError},
    tiers::Models,
};

/// The most vectors of chunks in memory that are remembered.
const MOST_KNOWN: usize = 4_096;

pub(super) struct LocalIndex {
    library: Arc<Library>,
    collection: String,
    /// The folder of its index, if there is one.
    folder: Option<PathBuf>,
    /// The place that the folder is a copy of, if it is one.
    mirror: Option<Arc<dyn IndexMirror>>,
    models: Models,
    clock: Clock,
    snapshot: Mutex<Arc<Snapshot>>,
    /// Held during a comparison with the library, so that an older state never replaces a newer one.
    comparing: Mutex<()>,
    /// The state on disk that turned out to be unusable.
    refused: Mutex<Option<Digest>>,
    readers: ReaderPool,
    /// Known vectors of the second tier for chunks in memory, with the manifest they belong to: those on disk, and
    /// those added since.
    known: Mutex<Option<(Option<Digest>, VectorCache)>>,
}

/// The location of an index that this process opens.
pub(super) struct LocalPlace {
    pub(super) folder: Option<PathBuf>,
    pub(super) mirror: Option<Arc<dyn IndexMirror>>,
    pub(super) models: Models,
    /// A state of the folder that turned out to be unusable.
    pub(super) refused: Option<Digest>,
}

impl LocalIndex {
    /// Opens the index in the folder, or else builds one in memory. If there should be a copy in the folder, but the place
    /// that it comes from fails, that is the answer: building it here might take a long time.
    pub(super) fn open(
        library: Arc<Library>,
        collection: &str,
        place: LocalPlace,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let LocalPlace {
            folder,
            mirror,
            models,
            refused,
        } = place;
        let fetched = match &mirror {
            Some(mirror) => fetched(mirror.as_ref(), collection, stop),
            None => Ok(()),
        };
        let on_disk = Snapshot::state_on_disk(folder.as_deref());
        let opened = match on_disk.is_some() && on_disk == refused {
            true => None,
            false => Snapshot::of_disk(folder.as_deref(), collection, models),
        };
        let (snapshot, refused) = match opened {
            Some(snapshot) => (snapshot, None),
            None => {
                fetched?;
                let made = Snapshot::in_memory(&library, collection, models, clock, stop)?;
                (made, on_disk)
            }
        };
        Ok(Self {
            library,
            collection: collection.to_owned(),
            folder,
            mirror,
            models,
            clock,
            snapshot: Mutex::new(Arc::new(snapshot)),
            comparing: Mutex::default(),
            refused: Mutex::new(refused),
            readers: ReaderPool::default(),
            known: Mutex::default(),
        })
    }

    fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.lock())
    }

    /// Returns the state of a snapshot, with the name of the place that it comes from.
    fn described(&self, snapshot: &Snapshot) -> IndexState {
        let mirror = self.mirror.as_ref().filter(|_| snapshot.on_disk);
        IndexState {
            backend: mirror.map(|mirror| Backend {
                name: mirror.name(),
                is_exact: true,
            }),
            ..snapshot.state()
        }
    }

    fn replace(&self, snapshot: Snapshot) {
        *self.snapshot.lock() = Arc::new(snapshot);
    }

    /// Searches with a reader of the tier that answers.
    ///
    /// # Errors
    /// [`LibraryError::IndexDamaged`] when the files of the index are not what they were.
    fn find(
        &self,
        snapshot: &Snapshot,
        query: &SearchQuery,
        most: usize,
    ) -> Result<SearchResults, LibraryError> {
        let search = || {
            self.readers.with(snapshot.model(), |reader| {
                let corpus = snapshot.answering();
                corpus.search(query.parsed(), query.text(), Some(reader), most)
            })
        };
        let found = match snapshot.disk_segments {
            // Segments that this process built can be trusted.
            0 => search(),
            _ => unharmed(search).ok_or(LibraryError::IndexDamaged)?,
        };
        if snapshot.answering().is_damaged() {
            return Err(LibraryError::IndexDamaged);
        }
        Ok(found)
    }
}

/// Brings the copy of an index up to date.
fn fetched(
    mirror: &dyn IndexMirror,
    collection: &str,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), LibraryError> {
    let fetched = mirror.fetch(collection, stop);
    if let Err(error) = &fetched
        && *error != StorageError::Cancelled
    {
        tracing::warn!(%error, "the index cannot be compared with the one that is shared");
    }
    let at = FailedPart::Index(mirror.kind());
    fetched.map_err(|error| LibraryError::of_storage(error, at))
}

impl CollectionIndex for LocalIndex {
    fn state(&self) -> IndexState {
        self.described(&self.current())
    }

    fn disk_state(&self) -> Option<Digest> {
        self.current().manifest
    }

    fn refresh(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        let _alone = self.comparing.lock();
        if let Some(mirror) = &self.mirror
            && fetched(mirror.as_ref(), &self.collection, stop) == Err(LibraryError::Cancelled)
        {
            return Err(LibraryError::Cancelled);
        }
        let now = self.current();
        let folder = self.folder.as_deref();
        let on_disk = Snapshot::state_on_disk(folder);
        let is_known = on_disk == now.manifest || on_disk == *self.refused.lock();
        let newer = match is_known {
            true => None,
            false => Snapshot::of_disk(folder, &self.collection, self.models),
        };
        if newer.is_none() && !is_known {
            *self.refused.lock() = on_disk;
            if !now.corpus.is_whole() {
                tracing::warn!("the index is damaged and not used");
                let (library, clock) = (&self.library, self.clock);
                let fresh =
                    Snapshot::in_memory(library, &self.collection, self.models, clock, stop)?;
                self.replace(fresh);
                return Ok(());
            }
        }
        let base = newer.map_or(now, Arc::new);
        let base = match base.with_its_tier(folder) {
            Some(other) => Arc::new(other),
            None => base,
        };
        let listed = self.library.notebooks(&self.collection, stop)?;
        let changes = base.changes(&listed);
        if !changes.is_empty() {
            // Answers can report the changes while the work goes on.
            self.replace(base.with_changed(changes.len()));
        }
        let fresh = base.refreshed(&self.library, &self.collection, &listed, stop)?;
        self.replace(fresh);
        Ok(())
    }

    fn complete(&self, stop: &mut dyn FnMut() -> bool) -> Result<(), LibraryError> {
        let now = self.current();
        let Some(second) = self.models.second else {
            return Ok(());
        };
        if !now.second_tier_lags() {
            return Ok(());
        }
        let mut known = self.known.lock();
        let is_of_now = |known: &(Option<Digest>, VectorCache)| {
            known.0 == now.manifest && known.1.added() <= MOST_KNOWN
        };
        if !known.as_ref().is_some_and(is_of_now) {
            *known = None;
        }
        let (_, known) = known.get_or_insert_with(|| {
            let store = self.folder.as_deref().map(Store::at);
            let store = store.and_then(Result::ok).flatten();
            let on_disk = store.and_then(|store| store.known_vectors(second).ok());
            (
                now.manifest,
                on_disk.unwrap_or_else(|| VectorCache::none(second)),
            )
        });
        if let Some(complete) = now.completed(&self.library, &self.collection, known, stop)? {
            let mut current = self.snapshot.lock();
            // A newer snapshot is not replaced.
            if Arc::ptr_eq(&current, &now) {
                *current = Arc::new(complete);
            }
        }
        Ok(())
    }

    fn search(
        &self,
        query: &SearchQuery,
        most: usize,
        _: &dyn Fn() -> bool,
    ) -> Result<(LocatedHits, IndexState), LibraryError> {
        let snapshot = self.current();
        let found = self.find(&snapshot, query, most)?;
        let hits = found.hits.into_iter().filter_map(|hit| {
            Some(LocatedHit {
                located: snapshot.located(hit.chunk)?,
                lexical: hit.lexical,
                semantic: hit.semantic,
                fused: hit.fused,
                matches: hit.matches,
            })
        });
        let hits = hits.collect();
        let state = self.described(&snapshot);
        let hits = LocatedHits {
            hits,
            total: found.total,
            has_meaning: found.has_meaning,
            remarks: found.remarks,
            state: BackendState {
                as_of: snapshot.as_of,
                notebooks: snapshot.notebooks.len() as u64,
                chunks: snapshot.corpus.len() as u64,
                is_exact: true,
                unseen: 0,
                tier: state.tier,
                model: state.model,
            },
        };
        Ok((hits, state))
    }

    fn lenient_query(&self, text: &str) -> SearchQuery {
        SearchQuery::lenient(text, self.current().answering()).0
    }

    fn chunk_at(&self, notebook: &NotePath, span: Span) -> Option<LocatedChunk> {
        let snapshot = self.current();
        let document = snapshot.position(notebook)?;
        let mut chunks = snapshot.corpus.chunks_of(document);
        let number = chunks.find(|number| {
            let chunk = snapshot.corpus.chunk(*number);
            chunk.is_some_and(|chunk| chunk.span == span)
        })?;
        snapshot.located(number)
    }

    fn chunks_with(&self, digits: &str) -> Result<Vec<LocatedChunk>, LibraryError> {
        let snapshot = self.current();
        let chunks = snapshot.corpus.chunks_where(|chunk| {
            let digest = chunk.digest.to_string();
            digest.starts_with(digits.get(..digest.len()).unwrap_or(digits))
        });
        let located = chunks.into_iter();
        Ok(located
            .filter_map(|number| snapshot.located(number))
            .collect())
    }
}
