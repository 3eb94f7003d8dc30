//! A collection made searchable: its index, kept fresh, and the search itself.
//!
//! The index on disk is taken as it is, at once. A thread compares it with its checksums and with the storage, when that
//! tells of a change and now and then besides, and indexes in memory what changed, or everything when it is damaged. Nothing
//! is ever written. Whatever a search hands out was read and hashed in that very search, so an index that is behind can only
//! find too little.

mod snapshot;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    path::PathBuf,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use sectile_markdown::{Digest, Span};
use sectile_retrieval::{Chunk, ChunkHit, Correction, Embedder, Form, Query};
use sectile_vault::NotePath;

use self::snapshot::{Notebook, Snapshot};
use super::{
    clock::Clock,
    errors::NotebookError,
    facts::{notebook_facts, timestamp},
    ids::SourceId,
    indexing::CutNotebook,
    locked,
    storage::Storage,
};

/// Between two comparisons with a storage that tells of no change.
const PAUSE: Duration = Duration::from_secs(30);
/// Programs write in several steps; one comparison is enough.
const QUIET: Duration = Duration::from_millis(50);
/// Where something is written all the time, a comparison comes at last.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// More hits than were asked for, in place of those that turn out to be gone.
const SPARE: usize = 16;

/// After so many searches, memory that mapped files take is given back; what is needed again comes again.
const RELEASED: usize = 64;

/// An open collection. Shared by all who entered it.
pub(crate) struct Shelf {
    storage: Arc<dyn Storage>,
    collection: String,
    /// Where its index is, if there is one.
    index: Option<PathBuf>,
    embedder: &'static dyn Embedder,
    clock: Clock,
    snapshot: Mutex<Arc<Snapshot>>,
    /// The manifest of an index that turned out to be damaged.
    damaged: Mutex<Option<Digest>>,
    /// How often it was searched.
    searches: AtomicUsize,
    /// Asks for a comparison.
    wake: mpsc::Sender<()>,
}

impl Drop for Shelf {
    fn drop(&mut self) {
        // So that the thread sees that it is not needed any more.
        self.look_again();
    }
}

/// What a search found. Every hit was read from the storage and hashed in this very call.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Chunks that match at all, before the cut.
    pub(crate) total: usize,
    pub(crate) state: IndexState,
    /// Words of the query that the collection does not have.
    pub(crate) unknown_words: Vec<String>,
    /// Words of the query that only words spelt almost the same were found for.
    pub(crate) corrected_words: Vec<Correction>,
}

/// What the answer was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexState {
    /// When the index was made, in milliseconds since 1970.
    pub(crate) as_of: i64,
    /// Whether the index is a file, or was made in memory for want of one.
    pub(crate) on_disk: bool,
    /// Notebooks that changed since and are not indexed yet; `None` while that is being found out.
    pub(crate) changed: Option<usize>,
    /// Whether meaning counts, or only words, as in a query that says nothing to the model.
    pub(crate) semantic: bool,
}

/// One passage that was found.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) id: SourceId,
    pub(crate) scores: Scores,
    /// Words of the query that the passage has, as they were asked.
    pub(crate) matched: Vec<String>,
    /// Title and headings above, outermost first.
    pub(crate) heading_path: Vec<String>,
    /// 1-based line of the passage's first byte.
    pub(crate) line: usize,
    /// The moment that the passage speaks of, in milliseconds since 1970.
    pub(crate) timestamp: Option<i64>,
    /// The bytes of the passage, as text.
    pub(crate) text: String,
    /// When the bytes were read and hashed.
    pub(crate) verified_at: i64,
}

/// What a hit comes to, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scores {
    pub(crate) lexical: u32,
    pub(crate) semantic: u32,
    pub(crate) fused: u32,
}

/// A notebook that was read in this call.
struct Today {
    bytes: Vec<u8>,
    /// Whether it is byte for byte what was indexed.
    is_indexed: bool,
}

/// What is known of the place of a passage.
pub(crate) struct Known {
    pub(crate) heading_path: Vec<String>,
    pub(crate) line: usize,
}

impl Shelf {
    /// Opens a collection: with its index in the folder `index`, or else by indexing it in memory.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        collection: &str,
        index: Option<PathBuf>,
        embedder: &'static dyn Embedder,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<Self>, NotebookError> {
        let snapshot = match Snapshot::of_disk(index.as_deref(), collection, embedder) {
            Some(snapshot) => snapshot,
            None => Snapshot::in_memory(&*storage, collection, embedder, clock, stop)?,
        };
        let (wake, woken) = mpsc::channel();
        let shelf = Arc::new(Self {
            storage,
            collection: collection.to_owned(),
            index,
            embedder,
            clock,
            snapshot: Mutex::new(Arc::new(snapshot)),
            damaged: Mutex::new(None),
            searches: AtomicUsize::new(0),
            wake,
        });
        let weak = Arc::downgrade(&shelf);
        let thread = std::thread::Builder::new().name("shelf".to_owned());
        if thread.spawn(move || keep_fresh(&weak, &woken)).is_err() {
            tracing::warn!("changes to notebooks are not looked for");
        }
        Ok(shelf)
    }

    /// Asks the storage to tell of changes, for as long as what is returned is kept.
    fn watch(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let wake = self.wake.clone();
        let changed = move || {
            // The other end goes with the shelf.
            if wake.send(()).is_err() {
                tracing::debug!("nobody looks at changes any more");
            }
        };
        self.storage.watch(&self.collection, Box::new(changed))
    }

    /// Asks for a comparison with the storage, soon.
    fn look_again(&self) {
        // The thread ends with the shelf, and not before.
        if self.wake.send(()).is_err() {
            tracing::debug!("changes to notebooks are not looked for");
        }
    }

    fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&locked(&self.snapshot))
    }

    /// What answers are made from now.
    pub(crate) fn state(&self) -> IndexState {
        self.current().state()
    }

    /// Compares the index with the storage, and indexes what changed.
    pub(crate) fn refresh(&self) -> Result<(), NotebookError> {
        let now = self.current();
        let known_damage = *locked(&self.damaged);
        let folder = self.index.as_deref();
        let on_disk = Snapshot::manifest_on_disk(folder);
        let newer = if on_disk == now.manifest || on_disk == known_damage {
            None
        } else {
            Snapshot::of_disk(folder, &self.collection, self.embedder)
        };
        let base = newer.map_or(now, Arc::new);
        if !base.is_whole(self.index.as_deref()) {
            tracing::warn!("the index is damaged and not used");
            *locked(&self.damaged) = base.manifest;
            let (storage, clock) = (&*self.storage, self.clock);
            let fresh =
                Snapshot::in_memory(storage, &self.collection, self.embedder, clock, &|| false)?;
            self.replace(fresh);
            return Ok(());
        }
        let listed = self.storage.notebooks(&self.collection, &|| false)?;
        let changes = base.changes(&listed);
        if !changes.is_empty() {
            // So that answers can say it while the work goes on.
            self.replace(base.with_changed(changes.len()));
        }
        let mut fresh = base.refreshed(&*self.storage, &self.collection, self.embedder, &listed)?;
        fresh.is_checked = true;
        self.replace(fresh);
        Ok(())
    }

    fn replace(&self, snapshot: Snapshot) {
        *locked(&self.snapshot) = Arc::new(snapshot);
    }

    /// The best `most` passages for a query, best first.
    pub(crate) fn search(
        &self,
        query: &str,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, NotebookError> {
        let parsed = Query::parse(query).map_err(|error| NotebookError::AmbiguousRequest {
            argument: "query",
            message: error.to_string(),
        })?;
        let snapshot = self.current();
        let mut reader = self.embedder.reader();
        let mut wanted = most + SPARE;
        loop {
            let found = snapshot
                .corpus
                .search(&parsed, query, Some(&mut *reader), wanted);
            let is_all = found.hits.len() < wanted;
            let hits = self.verified(&snapshot, &found.hits, most, stop)?;
            if hits.len() < most && !is_all {
                wanted *= 4;
                continue;
            }
            if self.searches.fetch_add(1, Ordering::Relaxed) % RELEASED == RELEASED - 1 {
                snapshot.corpus.release();
            }
            if hits.is_empty() {
                // A collection that is gone has nothing to find, and that must be said.
                self.storage.require(&self.collection)?;
            }
            return Ok(Found {
                hits,
                total: found.total,
                state: IndexState {
                    semantic: found.has_meaning,
                    ..snapshot.state()
                },
                unknown_words: found.remarks.unknown,
                corrected_words: found.remarks.corrected,
            });
        }
    }

    /// The first `most` hits that are still there, read and hashed now.
    fn verified(
        &self,
        snapshot: &Snapshot,
        found: &[ChunkHit],
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Hit>, NotebookError> {
        let mut hits = Vec::with_capacity(most);
        let mut read: Vec<(usize, Option<Today>)> = Vec::new();
        let mut is_behind = false;
        for one in found {
            if hits.len() == most {
                break;
            }
            if stop() {
                return Err(NotebookError::Cancelled);
            }
            let document = snapshot.corpus.document_of(one.chunk);
            let (Some(chunk), Some(known)) = (
                snapshot.corpus.chunk(one.chunk),
                snapshot.notebooks.get(document),
            ) else {
                continue;
            };
            let at = match read.iter().position(|(known, _)| *known == document) {
                Some(at) => at,
                None => {
                    read.push((document, self.today(known)?));
                    read.len() - 1
                }
            };
            let hit = read[at]
                .1
                .as_ref()
                .and_then(|today| self.passage(snapshot, one, &chunk, today, &known.notebook));
            match hit {
                // Of passages that say the same, one may stand for the others since they moved.
                Some(hit) if hits.iter().any(|other: &Hit| other.id == hit.id) => {}
                Some(hit) => hits.push(hit),
                None => is_behind = true,
            }
        }
        if is_behind {
            self.look_again();
        }
        Ok(hits)
    }

    /// A notebook as it is now; `None` when it is gone or cannot be read.
    fn today(&self, known: &Notebook) -> Result<Option<Today>, NotebookError> {
        let bytes = match self.storage.read(&self.collection, &known.notebook) {
            Ok(bytes) => bytes,
            // What cannot be read cannot be found either; the rest can.
            Err(NotebookError::UpstreamFailure { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(bytes.map(|bytes| Today {
            is_indexed: Digest::of(&bytes) == known.digest,
            bytes,
        }))
    }

    /// The hit, if its bytes are still in the notebook, there or elsewhere. What the index says of its headings and its
    /// line counts only as long as no byte of the notebook is another.
    fn passage(
        &self,
        snapshot: &Snapshot,
        hit: &ChunkHit,
        chunk: &Chunk,
        today: &Today,
        notebook: &NotePath,
    ) -> Option<Hit> {
        let bytes = today.bytes.as_slice();
        let is_in_place = |chunk: &Chunk| {
            let passage = bytes.get(chunk.span.range());
            passage.is_some_and(|passage| Digest::of(passage) == chunk.digest)
        };
        let (chunk, heading_path) = match (today.is_indexed, is_in_place(chunk)) {
            (true, true) => (*chunk, snapshot.corpus.path(hit.chunk)?),
            (_, true) => {
                let Known { heading_path, line } = looked_up(bytes, notebook, chunk.span.start);
                (Chunk { line, ..*chunk }, heading_path)
            }
            (_, false) => moved_in(bytes, notebook, |digest| *digest == chunk.digest)?,
        };
        let text = std::str::from_utf8(bytes.get(chunk.span.range())?).ok()?;
        let millionths = |score: u64| u32::try_from(score).unwrap_or(u32::MAX);
        Some(Hit {
            id: SourceId::new(&self.collection, notebook, chunk.span, &chunk.digest),
            scores: Scores {
                lexical: millionths(hit.lexical),
                semantic: millionths(hit.semantic),
                fused: millionths(hit.fused),
            },
            matched: hit
                .matches
                .iter()
                .filter(|one| one.form != Form::Near)
                .map(|one| one.asked.clone())
                .collect(),
            line: chunk.line,
            timestamp: timestamp(&heading_path, &notebook_facts(bytes, notebook)),
            heading_path,
            text: text.to_owned(),
            verified_at: (self.clock)(),
        })
    }

    /// What is known of the passage `span` of a notebook whose bytes have this digest.
    pub(crate) fn known(&self, notebook: &NotePath, digest: &Digest, span: Span) -> Option<Known> {
        let snapshot = self.current();
        let document = snapshot.position(notebook)?;
        if snapshot.notebooks[document].digest != *digest {
            return None;
        }
        let mut chunks = snapshot.corpus.chunks_of(document);
        let number = chunks.find(|number| {
            let chunk = snapshot.corpus.chunk(*number);
            chunk.is_some_and(|chunk| chunk.span == span)
        })?;
        Some(Known {
            heading_path: snapshot.corpus.path(number)?,
            line: snapshot.corpus.chunk(number)?.line,
        })
    }

    /// Where passages with the digest that `wanted` says yes to may be: notebooks and chunks, in order.
    pub(crate) fn candidates(
        &self,
        wanted: impl Fn(&Digest) -> bool,
    ) -> Vec<(NotePath, Span, Digest)> {
        let snapshot = self.current();
        let chunks = snapshot.corpus.chunks_where(|chunk| wanted(&chunk.digest));
        let found = chunks.into_iter().filter_map(|number| {
            let document = snapshot.corpus.document_of(number);
            let notebook = snapshot.notebooks.get(document)?.notebook.clone();
            let chunk = snapshot.corpus.chunk(number)?;
            Some((notebook, chunk.span, chunk.digest))
        });
        found.collect()
    }
}

/// What a notebook as it is now says of the place of a passage that starts at `start`.
pub(crate) fn looked_up(bytes: &[u8], notebook: &NotePath, start: usize) -> Known {
    let cut = CutNotebook::new(bytes, notebook);
    let path = cut.path(cut.section_at(start));
    Known {
        heading_path: path.into_iter().map(str::to_owned).collect(),
        line: cut.line_of(start),
    }
}

/// A chunk of a notebook as it is now whose digest `wanted` says yes to, with the headings above it.
pub(crate) fn moved_in(
    bytes: &[u8],
    notebook: &NotePath,
    wanted: impl Fn(&Digest) -> bool,
) -> Option<(Chunk, Vec<String>)> {
    let cut = CutNotebook::new(bytes, notebook);
    (0..cut.chunks.chunks.len()).find_map(|number| {
        let (chunk, path) = cut.chunk(bytes, number);
        let path = path.into_iter().map(str::to_owned).collect();
        wanted(&chunk.digest).then_some((chunk, path))
    })
}

/// Compares and indexes until the shelf is gone.
fn keep_fresh(shelf: &Weak<Shelf>, woken: &mpsc::Receiver<()>) {
    // It may take a while to begin to look out, and nobody should wait for it.
    let _watch = shelf.upgrade().and_then(|shelf| {
        let watch = shelf.watch();
        // What happened before.
        shelf.look_again();
        watch
    });
    loop {
        match woken.recv_timeout(PAUSE) {
            Ok(()) => {
                let since = Instant::now();
                while since.elapsed() < LONGEST_WAIT && woken.recv_timeout(QUIET).is_ok() {}
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        let Some(shelf) = shelf.upgrade() else {
            return;
        };
        if let Err(error) = shelf.refresh() {
            tracing::debug!(?error, "the collection cannot be compared with its index");
        }
    }
}
