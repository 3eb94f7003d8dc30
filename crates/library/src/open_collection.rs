//! An open collection: its index, kept up to date, and search in it.
//!
//! The index is either one that this process has opened or built (`embedded`), or one that a backend keeps for several
//! processes (`shared`). Nothing is ever written. Every result of a search is read and hashed during that search, so a
//! stale index can only find too little.

mod backend;
mod local;
pub(crate) mod readers;
mod second_tier;
pub(crate) mod snapshot;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    cell::OnceCell,
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Weak, mpsc},
    thread::Builder,
    time::{Duration, Instant},
};

use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{Chunk, ChunkDigest, Corpus, Correction, Form};

pub(super) use crate::open_collection::snapshot::unharmed;
use crate::{
    clock::Clock,
    error::LibraryError,
    facts::{body_start, notebook_facts, timestamp},
    ids::SourceId,
    indexing::CutNotebook,
    left_out::LeftOutNotebook,
    library::Library,
    mirror::IndexMirror,
    open_collection::{
        backend::BackendIndex,
        local::{LocalIndex, LocalPlace},
    },
    query::SearchQuery,
    storage::{LocatedChunk, LocatedHit, LocatedHits, VectorSearch},
    tiers::{Models, Tier},
};

/// The polling interval for a storage that does not report changes.
const PAUSE: Duration = Duration::from_secs(30);
/// Programs write in several steps, which should cause only one comparison.
const QUIET: Duration = Duration::from_millis(50);
/// The longest delay of a comparison, even if something is written all the time.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The number of extra hits to request, to replace those that turn out to be gone.
const SPARE: usize = 16;

/// The location of a collection's index.
#[derive(Clone)]
pub enum IndexLocation {
    /// In this folder if there is one, or else in memory, with these models. A state of the folder that turned out to
    /// be unusable (the digest) is not tried again.
    Here(Option<PathBuf>, Models, Option<Digest>),
    /// In the copy that this process has of an index in another place. The rest is as above.
    Mirrored(Arc<dyn IndexMirror>, Models, Option<Digest>),
    /// In a backend.
    Shared(Arc<dyn VectorSearch>),
}

/// An index of a collection.
trait CollectionIndex: Send + Sync {
    /// Returns the state that answers are made from now.
    fn state(&self) -> IndexState;
    /// Returns the state of the folder that the index was read from, if it was.
    fn disk_state(&self) -> Option<Digest> {
        None
    }
    /// Compares the index with the library, and indexes what changed if it can.
    fn refresh(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError>;
    /// Brings the second tier up to date with recent changes if they are few, unless `stop` reports new ones.
    fn complete(&self, _: &mut dyn FnMut() -> bool) -> Result<(), LibraryError> {
        Ok(())
    }
    /// Returns the best chunks for a query, and the state of the index that was searched.
    fn search(
        &self,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<(LocatedHits, IndexState), LibraryError>;
    /// Reads a question of any length. An index that cannot tell how frequent words are keeps the first ones of a long one.
    fn lenient_query(&self, text: &str) -> SearchQuery {
        SearchQuery::lenient(text, &Corpus::new(Vec::new(), &[])).0
    }
    /// Returns the chunk of a notebook with this span, if that needs no request to a backend.
    fn chunk_at(&self, notebook: &NotePath, span: Span) -> Option<LocatedChunk>;
    /// Returns the chunks whose digests begin with these digits, in order.
    fn chunks_with(&self, digits: &str) -> Result<Vec<LocatedChunk>, LibraryError>;
}

/// An open collection, shared by all callers.
pub struct OpenCollection {
    library: Arc<Library>,
    collection: String,
    index: Box<dyn CollectionIndex>,
    clock: Clock,
    /// Wakes the thread that compares the index with the storage.
    wake: mpsc::Sender<()>,
}

impl Drop for OpenCollection {
    fn drop(&mut self) {
        // Wakes the thread, which then sees that it is no longer needed.
        self.look_again();
    }
}

/// The results of one search. Every hit was read from the storage and hashed during the call.
#[derive(Clone, Debug)]
pub struct VerifiedResults {
    /// The passages, best first.
    pub hits: Vec<VerifiedHit>,
    /// Number of chunks that match at all.
    pub total: usize,
    /// The state of the index that was searched.
    pub state: IndexState,
    /// Words of the query that the collection does not contain.
    pub unknown_words: Vec<String>,
    /// Words of the query for which only similarly spelled words were found.
    pub corrected_words: Vec<Correction>,
}

/// The state of an index that an answer was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexState {
    /// When the index was built, in milliseconds since 1970.
    pub as_of: i64,
    /// Whether the index is stored, as opposed to built in memory because there was none.
    pub on_disk: bool,
    /// The backend that keeps it, if one does.
    pub backend: Option<Backend>,
    /// Number of notebooks that have changed since and are not indexed yet; `None` while unknown.
    pub changed: Option<usize>,
    /// Number of passages that are indexed but were not seen, because the backend does not show everything yet.
    pub unseen: u64,
    /// Notebooks that are not searched, because they are too large or cannot be read; `None` while unknown.
    pub left_out: Option<Arc<Vec<LeftOutNotebook>>>,
    /// Whether meaning counts, as opposed to words only, as with a query in which the model finds no meaning.
    pub semantic: bool,
    /// The tier that answers.
    pub tier: Tier,
    /// The name of its model.
    pub model: &'static str,
}

/// A backend that keeps an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The name of the kind of backend.
    pub name: &'static str,
    /// Whether all vectors are compared, as opposed to those that a graph search visits.
    pub is_exact: bool,
}

/// A passage found by a search.
#[derive(Clone, Debug)]
pub struct VerifiedHit {
    /// The id of the passage.
    pub id: SourceId,
    /// How well it matches the query.
    pub scores: Scores,
    /// Words of the query that the passage contains, as spelled in the query.
    pub matched: Vec<String>,
    /// The title and the headings above the passage, outermost first.
    pub heading_path: Vec<String>,
    /// The 1-based line on which the passage starts.
    pub line: usize,
    /// The time that the passage is about, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The passage.
    pub text: String,
    /// When the bytes were read and hashed, in milliseconds since 1970.
    pub verified_at: i64,
}

/// The scores of a hit, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// The score by words.
    pub lexical: u32,
    /// The score by meaning.
    pub semantic: u32,
    /// The score by both.
    pub fused: u32,
}

/// A notebook as read during this call.
struct CurrentNotebook {
    bytes: Vec<u8>,
    /// Whether it is byte for byte the one that was indexed.
    is_indexed: bool,
    /// The notebook cut into chunks, once for all hits in it.
    cut: OnceCell<CutNotebook>,
    /// The first chunk with each digest.
    chunks: OnceCell<HashMap<ChunkDigest, usize>>,
}

impl CurrentNotebook {
    fn cut(&self, notebook: &NotePath) -> &CutNotebook {
        self.cut
            .get_or_init(|| CutNotebook::new(&self.bytes, notebook))
    }

    /// Returns the chunk with this digest, and the headings above it.
    fn moved(&self, notebook: &NotePath, digest: &ChunkDigest) -> Option<(Chunk, Vec<String>)> {
        let cut = self.cut(notebook);
        let chunks = self.chunks.get_or_init(|| {
            let numbers = (0..cut.chunks.chunks.len()).rev();
            let digest_of = |number| (cut.chunk(&self.bytes, number).0.digest, number);
            numbers.map(digest_of).collect()
        });
        let (chunk, path) = cut.chunk(&self.bytes, *chunks.get(digest)?);
        Some((chunk, path.into_iter().map(str::to_owned).collect()))
    }
}

/// The headings and line of a passage.
pub(crate) struct PassageLocation {
    /// The title and the headings above the passage, outermost first.
    pub heading_path: Vec<String>,
    /// The 1-based line on which the passage starts.
    pub line: usize,
}

impl OpenCollection {
    /// Opens a collection.
    pub fn open(
        library: Arc<Library>,
        collection: &str,
        place: IndexLocation,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<Self>, LibraryError> {
        let index: Box<dyn CollectionIndex> = match place {
            IndexLocation::Here(folder, models, refused) => {
                let place = LocalPlace {
                    folder,
                    mirror: None,
                    models,
                    refused,
                };
                let library = Arc::clone(&library);
                Box::new(LocalIndex::open(library, collection, place, clock, stop)?)
            }
            IndexLocation::Mirrored(mirror, models, refused) => {
                let place = LocalPlace {
                    folder: Some(mirror.folder(collection)),
                    mirror: Some(mirror),
                    models,
                    refused,
                };
                let library = Arc::clone(&library);
                Box::new(LocalIndex::open(library, collection, place, clock, stop)?)
            }
            IndexLocation::Shared(backend) => Box::new(BackendIndex::open(
                Arc::clone(&library),
                collection,
                backend,
            )?),
        };
        let (wake, woken) = mpsc::channel();
        let open_collection = Arc::new(Self {
            library,
            collection: collection.to_owned(),
            index,
            clock,
            wake,
        });
        let weak = Arc::downgrade(&open_collection);
        let thread = std::thread::Builder::new().name("open_collection".to_owned());
        if thread.spawn(move || keep_fresh(&weak, &woken)).is_err() {
            tracing::warn!("changes to notebooks are not detected");
        }
        Ok(open_collection)
    }

    /// Asks the storage to report changes until the returned guard is dropped.
    fn watch(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let wake = self.wake.clone();
        let changed = move || {
            // The receiver is dropped together with the open collection.
            if wake.send(()).is_err() {
                tracing::debug!("changes are no longer detected");
            }
        };
        let storage = self.library.notebook_storage();
        storage.watch(&self.collection, Box::new(changed))
    }

    /// Requests a comparison with the storage soon.
    pub(super) fn look_again(&self) {
        // The thread does not end before the open collection does.
        if self.wake.send(()).is_err() {
            tracing::debug!("changes to notebooks are not detected");
        }
    }

    /// Returns the state that answers are made from now.
    pub fn state(&self) -> IndexState {
        self.index.state()
    }

    /// Returns the state of the folder that its index was read from, if it was.
    pub(crate) fn disk_state(&self) -> Option<Digest> {
        self.index.disk_state()
    }

    /// Compares the index with the storage, and indexes what changed.
    pub fn refresh(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.index.refresh(stop)
    }

    /// Reads a question of any length. If it is too long, words that say little are left out.
    pub fn lenient_query(&self, text: &str) -> SearchQuery {
        self.index.lenient_query(text)
    }

    /// Returns the best `most` passages for a query, best first.
    pub fn search(
        &self,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<VerifiedResults, LibraryError> {
        let mut wanted = most + SPARE;
        loop {
            let (found, state) = self.index.search(query, wanted, stop)?;
            let is_all = found.hits.len() < wanted;
            let hits = self.verified(&found.hits, most, stop)?;
            if hits.len() < most && !is_all {
                wanted *= 4;
                continue;
            }
            if hits.is_empty() {
                // A collection that no longer exists must be reported as such.
                self.library.require(&self.collection)?;
            }
            return Ok(VerifiedResults {
                hits,
                total: found.total,
                state: IndexState {
                    as_of: found.state.as_of,
                    semantic: found.has_meaning,
                    ..state
                },
                unknown_words: found.remarks.unknown,
                corrected_words: found.remarks.corrected,
            });
        }
    }

    /// Returns the first `most` hits that still exist, read and hashed now.
    fn verified(
        &self,
        found: &[LocatedHit],
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<VerifiedHit>, LibraryError> {
        let mut hits = Vec::with_capacity(most);
        let mut read = self.read_ahead(found, most)?;
        let mut is_behind = false;
        for one in found {
            if hits.len() == most {
                break;
            }
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            let notebook = &one.located.notebook;
            let at = match read.iter().position(|(known, _)| *known == notebook) {
                Some(at) => at,
                None => {
                    read.push((notebook, self.today(&one.located)?));
                    read.len() - 1
                }
            };
            let today = read[at].1.as_ref();
            match today.and_then(|today| self.passage(one, today)) {
                // Of several equal passages that moved, the same one may be found more than once.
                Some(hit) if hits.iter().any(|other: &VerifiedHit| other.id == hit.id) => {}
                Some(hit) => hits.push(hit),
                None => is_behind = true,
            }
        }
        if is_behind {
            self.look_again();
        }
        Ok(hits)
    }

    /// Reads the notebooks of the first hits if the storage handles concurrent reads well.
    fn read_ahead<'h>(
        &self,
        found: &'h [LocatedHit],
        most: usize,
    ) -> Result<Vec<(&'h NotePath, Option<CurrentNotebook>)>, LibraryError> {
        let at_once = self.library.notebook_storage().reads_at_once();
        let mut wanted: Vec<&LocatedChunk> = Vec::new();
        if at_once > 1 {
            for hit in found.iter().take(most) {
                let is_new = |known: &&LocatedChunk| known.notebook != hit.located.notebook;
                if wanted.iter().all(is_new) {
                    wanted.push(&hit.located);
                }
            }
        }
        let share = wanted.len().div_ceil(at_once).max(1);
        let read = std::thread::scope(|scope| {
            let readers = wanted.chunks(share).map(|some| {
                let read =
                    |located: &&'h LocatedChunk| Ok((&located.notebook, self.today(located)?));
                let read = move || some.iter().map(read).collect::<Result<Vec<_>, _>>();
                (Builder::new().spawn_scoped(scope, read), read)
            });
            let readers: Vec<_> = readers.collect();
            let read = readers.into_iter().map(|(thread, read)| match thread {
                Ok(thread) => thread.join().unwrap_or(Err(LibraryError::Cancelled)),
                // There was no thread to be had.
                Err(_) => read(),
            });
            read.collect::<Result<Vec<_>, LibraryError>>()
        });
        Ok(read?.into_iter().flatten().collect())
    }

    /// Reads the notebook of a chunk; `None` if it no longer exists or cannot be read.
    fn today(&self, located: &LocatedChunk) -> Result<Option<CurrentNotebook>, LibraryError> {
        let bytes = match self.library.read(&self.collection, &located.notebook) {
            Ok(bytes) => bytes,
            // An unreadable notebook has no hits; the others still do.
            Err(LibraryError::Failed { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(bytes.map(|bytes| CurrentNotebook {
            is_indexed: Digest::of(&bytes) == located.notebook_digest,
            bytes,
            cut: OnceCell::new(),
            chunks: OnceCell::new(),
        }))
    }

    /// Returns the hit if its bytes are still in the notebook, there or elsewhere. Headings and line come from the
    /// index only if no byte of the notebook has changed.
    fn passage(&self, hit: &LocatedHit, today: &CurrentNotebook) -> Option<VerifiedHit> {
        let bytes = today.bytes.as_slice();
        let LocatedChunk {
            notebook,
            chunk,
            path,
            ..
        } = &hit.located;
        let is_in_place = |chunk: &Chunk| {
            let passage = bytes.get(chunk.span.range());
            passage.is_some_and(|passage| ChunkDigest::of(passage) == chunk.digest)
                && chunk.span.start >= body_start(bytes)
        };
        let (chunk, heading_path) = match (today.is_indexed, is_in_place(chunk)) {
            (true, true) => (*chunk, path.clone()),
            (_, true) => {
                let PassageLocation { heading_path, line } =
                    today.cut(notebook).known(chunk.span.start);
                (Chunk { line, ..*chunk }, heading_path)
            }
            (_, false) => today.moved(notebook, &chunk.digest)?,
        };
        let text = std::str::from_utf8(bytes.get(chunk.span.range())?).ok()?;
        let millionths = |score: u64| u32::try_from(score).unwrap_or(u32::MAX);
        Some(VerifiedHit {
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

    /// Returns the headings and line of the passage `span` of a notebook whose bytes have this digest, if they are at
    /// hand.
    pub(crate) fn known(
        &self,
        notebook: &NotePath,
        digest: &Digest,
        span: Span,
    ) -> Option<PassageLocation> {
        let located = self.index.chunk_at(notebook, span)?;
        (located.notebook_digest == *digest).then_some(PassageLocation {
            heading_path: located.path,
            line: located.chunk.line,
        })
    }

    /// Returns possible locations of passages whose digests begin with these digits, in order.
    pub(crate) fn chunks_with(&self, digits: &str) -> Result<Vec<LocatedChunk>, LibraryError> {
        self.index.chunks_with(digits)
    }
}

/// Returns the headings and line at the offset `start` of a notebook with these bytes.
pub(crate) fn looked_up(bytes: &[u8], notebook: &NotePath, start: usize) -> PassageLocation {
    CutNotebook::new(bytes, notebook).known(start)
}

impl CutNotebook {
    /// Returns the headings and line at the offset `start`.
    fn known(&self, start: usize) -> PassageLocation {
        let path = self.path(self.section_at(start));
        PassageLocation {
            heading_path: path.into_iter().map(str::to_owned).collect(),
            line: self.line_of(start),
        }
    }
}

/// Returns the first chunk of a notebook whose digest is `wanted`, and the headings above it.
pub(crate) fn moved_in(
    bytes: &[u8],
    notebook: &NotePath,
    wanted: impl Fn(&ChunkDigest) -> bool,
) -> Option<(Chunk, Vec<String>)> {
    let cut = CutNotebook::new(bytes, notebook);
    (0..cut.chunks.chunks.len()).find_map(|number| {
        let (chunk, path) = cut.chunk(bytes, number);
        let path = path.into_iter().map(str::to_owned).collect();
        wanted(&chunk.digest).then_some((chunk, path))
    })
}

/// Compares and indexes until the open collection is dropped.
fn keep_fresh(open_collection: &Weak<OpenCollection>, woken: &mpsc::Receiver<()>) {
    // Setting up a watch may take a while, and no caller should wait for it.
    let _watch = open_collection.upgrade().and_then(|open_collection| {
        let watch = open_collection.watch();
        // For changes made before the watch was set up.
        open_collection.look_again();
        watch
    });
    let mut is_woken = false;
    loop {
        let waited = match is_woken {
            true => Ok(()),
            false => woken.recv_timeout(PAUSE),
        };
        is_woken = false;
        match waited {
            Ok(()) => {
                let since = Instant::now();
                while since.elapsed() < LONGEST_WAIT && woken.recv_timeout(QUIET).is_ok() {}
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        let Some(open_collection) = open_collection.upgrade() else {
            return;
        };
        let mut has_news = || {
            is_woken |= woken.try_recv().is_ok();
            is_woken
        };
        let refreshed = open_collection
            .refresh(&|| false)
            .and_then(|()| open_collection.index.complete(&mut has_news));
        if let Err(error) = refreshed {
            tracing::debug!(?error, "the collection cannot be compared with its index");
        }
    }
}
