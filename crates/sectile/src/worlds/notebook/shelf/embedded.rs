//! An index in this process.
//!
//! What is on disk is taken as it is, at once. It is compared with its checksums and with the library off the way of searches,
//! and what changed is indexed in memory, or everything when it is damaged.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use sectile_markdown::{Digest, Span};
use sectile_retrieval::{Embedder, Located, LocatedHit, LocatedHits, Query, SharedState};
use sectile_vault::NotePath;

use super::{
    super::{clock::Clock, errors::NotebookError, library::Library, locked},
    CollectionIndex, IndexState,
    snapshot::Snapshot,
};

/// After so many searches, memory that mapped files take is given back; what is needed again comes again.
const RELEASED: usize = 64;

pub(super) struct Embedded {
    library: Arc<Library>,
    collection: String,
    /// Where its index is, if there is one.
    folder: Option<PathBuf>,
    embedder: &'static dyn Embedder,
    clock: Clock,
    snapshot: Mutex<Arc<Snapshot>>,
    /// The manifest of an index that turned out to be damaged.
    damaged: Mutex<Option<Digest>>,
    /// How often it was searched.
    searches: AtomicUsize,
}

impl Embedded {
    /// The index in the folder, or else one that is made in memory now.
    pub(super) fn open(
        library: Arc<Library>,
        collection: &str,
        folder: Option<PathBuf>,
        embedder: &'static dyn Embedder,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, NotebookError> {
        let snapshot = match Snapshot::of_disk(folder.as_deref(), collection, embedder) {
            Some(snapshot) => snapshot,
            None => Snapshot::in_memory(&library, collection, embedder, clock, stop)?,
        };
        Ok(Self {
            library,
            collection: collection.to_owned(),
            folder,
            embedder,
            clock,
            snapshot: Mutex::new(Arc::new(snapshot)),
            damaged: Mutex::new(None),
            searches: AtomicUsize::new(0),
        })
    }

    fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&locked(&self.snapshot))
    }

    fn replace(&self, snapshot: Snapshot) {
        *locked(&self.snapshot) = Arc::new(snapshot);
    }
}

impl CollectionIndex for Embedded {
    fn state(&self) -> IndexState {
        self.current().state()
    }

    fn refresh(&self) -> Result<(), NotebookError> {
        let now = self.current();
        let known_damage = *locked(&self.damaged);
        let folder = self.folder.as_deref();
        let on_disk = Snapshot::manifest_on_disk(folder);
        let newer = if on_disk == now.manifest || on_disk == known_damage {
            None
        } else {
            Snapshot::of_disk(folder, &self.collection, self.embedder)
        };
        let base = newer.map_or(now, Arc::new);
        if !base.is_whole(folder) {
            tracing::warn!("the index is damaged and not used");
            *locked(&self.damaged) = base.manifest;
            let (library, clock) = (&self.library, self.clock);
            let fresh =
                Snapshot::in_memory(library, &self.collection, self.embedder, clock, &|| false)?;
            self.replace(fresh);
            return Ok(());
        }
        let listed = self.library.notebooks(&self.collection, &|| false)?;
        let changes = base.changes(&listed);
        if !changes.is_empty() {
            // So that answers can say it while the work goes on.
            self.replace(base.with_changed(changes.len()));
        }
        let mut fresh = base.refreshed(&self.library, &self.collection, self.embedder, &listed)?;
        fresh.is_checked = true;
        self.replace(fresh);
        Ok(())
    }

    fn search(
        &self,
        query: &Query,
        text: &str,
        most: usize,
        _: &dyn Fn() -> bool,
    ) -> Result<LocatedHits, NotebookError> {
        let snapshot = self.current();
        let mut reader = self.embedder.reader();
        let found = snapshot
            .corpus
            .search(query, text, Some(&mut *reader), most);
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
        if self.searches.fetch_add(1, Ordering::Relaxed) % RELEASED == RELEASED - 1 {
            snapshot.corpus.release();
        }
        Ok(LocatedHits {
            hits,
            total: found.total,
            has_meaning: found.has_meaning,
            remarks: found.remarks,
            state: SharedState {
                as_of: snapshot.as_of,
                notebooks: snapshot.notebooks.len() as u64,
                chunks: snapshot.corpus.len() as u64,
                is_exact: true,
            },
        })
    }

    fn chunk_at(&self, notebook: &NotePath, span: Span) -> Option<Located> {
        let snapshot = self.current();
        let document = snapshot.position(notebook)?;
        let mut chunks = snapshot.corpus.chunks_of(document);
        let number = chunks.find(|number| {
            let chunk = snapshot.corpus.chunk(*number);
            chunk.is_some_and(|chunk| chunk.span == span)
        })?;
        snapshot.located(number)
    }

    fn chunks_with(&self, digits: &str) -> Result<Vec<Located>, NotebookError> {
        let snapshot = self.current();
        let chunks = snapshot.corpus.chunks_where(|chunk| {
            let digest = chunk.digest.to_string();
            digest.starts_with(digits)
        });
        let located = chunks.into_iter();
        Ok(located
            .filter_map(|number| snapshot.located(number))
            .collect())
    }
}
