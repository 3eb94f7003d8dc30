//! A collection made searchable: its index, kept fresh, and the search itself.
//!
//! The index is one that this process has opened or made (`embedded`), or one that a backend keeps for several processes
//! (`shared`). Nothing is ever written. Whatever a search hands out was read and hashed in that very search, so an index that
//! is behind can only find too little.

mod embedded;
mod meant;
mod shared;
mod snapshot;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    cell::OnceCell,
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Weak, mpsc},
    time::{Duration, Instant},
};

use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{Chunk, Correction, Form};

pub(super) use crate::shelf::snapshot::unharmed;
use crate::{
    clock::Clock,
    error::LibraryError,
    facts::{body_start, notebook_facts, timestamp},
    ids::SourceId,
    indexing::CutNotebook,
    left_out::LeftOut,
    library::Library,
    query::SearchQuery,
    shelf::{embedded::Embedded, shared::Shared},
    storage::{Located, LocatedHit, LocatedHits, VectorSearch},
    tiers::{Models, Tier},
};

/// Between two comparisons with a storage that tells of no change.
const PAUSE: Duration = Duration::from_secs(30);
/// Programs write in several steps; one comparison is enough.
const QUIET: Duration = Duration::from_millis(50);
/// Where something is written all the time, a comparison comes at last.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// More hits than were asked for, in place of those that turn out to be gone.
const SPARE: usize = 16;

/// Where the index of a collection is.
#[derive(Clone)]
pub enum IndexPlace {
    /// In this folder, if there is one, or else in memory. Embedded with these models. A state of the folder that turned out
    /// to be of no use is not tried again.
    Here(Option<PathBuf>, Models, Option<Digest>),
    /// In a backend.
    Shared(Arc<dyn VectorSearch>),
}

/// An index of a collection.
trait CollectionIndex: Send + Sync {
    /// What answers are made from now.
    fn state(&self) -> IndexState;
    /// The state of the folder that it was made from, where it was.
    fn disk_state(&self) -> Option<Digest> {
        None
    }
    /// Compares it with the library, and takes in what changed, where it can.
    fn refresh(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError>;
    /// Brings the second tier up to what was taken in, where that is little, unless `stop` says that there is more to take in.
    fn complete(&self, _: &mut dyn FnMut() -> bool) -> Result<(), LibraryError> {
        Ok(())
    }
    /// The best chunks for a question, and what they were found in.
    fn search(
        &self,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<(LocatedHits, IndexState), LibraryError>;
    /// The chunk of a notebook with this span, where it is at hand.
    fn chunk_at(&self, notebook: &NotePath, span: Span) -> Option<Located>;
    /// The chunks whose digests begin with these digits, in order.
    fn chunks_with(&self, digits: &str) -> Result<Vec<Located>, LibraryError>;
}

/// An open collection. Shared by all who entered it.
pub struct Shelf {
    library: Arc<Library>,
    collection: String,
    index: Box<dyn CollectionIndex>,
    clock: Clock,
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
pub struct Found {
    /// The passages, best first.
    pub hits: Vec<Hit>,
    /// Chunks that match at all, before the cut.
    pub total: usize,
    /// The index that was searched.
    pub state: IndexState,
    /// Words of the query that the collection does not have.
    pub unknown_words: Vec<String>,
    /// Words of the query that only words spelt almost the same were found for.
    pub corrected_words: Vec<Correction>,
}

/// What the answer was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexState {
    /// When the index was made, in milliseconds since 1970.
    pub as_of: i64,
    /// Whether the index is kept somewhere, or was made in memory for want of one.
    pub on_disk: bool,
    /// The backend that keeps it, where that is one.
    pub backend: Option<Backend>,
    /// Notebooks that changed since and are not indexed yet; `None` while that is being found out.
    pub changed: Option<usize>,
    /// Notebooks that are not searched, because they are too large or cannot be read; `None` while that is being found out.
    pub left_out: Option<Arc<Vec<LeftOut>>>,
    /// Whether meaning counts, or only words, as in a query that says nothing to the model.
    pub semantic: bool,
    /// Which tier answers.
    pub tier: Tier,
    /// The name of its model.
    pub model: &'static str,
}

/// A backend that keeps an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The name of the kind of backend.
    pub name: &'static str,
    /// Whether all vectors are compared, or those that a graph leads to.
    pub is_exact: bool,
}

/// One passage that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The id of the passage.
    pub id: SourceId,
    /// How well it fits the query.
    pub scores: Scores,
    /// Words of the query that the passage has, as they were asked.
    pub matched: Vec<String>,
    /// Title and headings above, outermost first.
    pub heading_path: Vec<String>,
    /// 1-based line of the passage's first byte.
    pub line: usize,
    /// The moment that the passage speaks of, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The bytes of the passage, as text.
    pub text: String,
    /// When the bytes were read and hashed.
    pub verified_at: i64,
}

/// What a hit comes to, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// By the words of the query.
    pub lexical: u32,
    /// By the meaning of the query.
    pub semantic: u32,
    /// By both together.
    pub fused: u32,
}

/// A notebook that was read in this call.
struct Today {
    bytes: Vec<u8>,
    /// Whether it is byte for byte what was indexed.
    is_indexed: bool,
    /// The notebook as it is, cut once for all hits in it.
    cut: OnceCell<CutNotebook>,
    /// The first chunk with each digest.
    chunks: OnceCell<HashMap<Digest, usize>>,
}

impl Today {
    fn cut(&self, notebook: &NotePath) -> &CutNotebook {
        self.cut
            .get_or_init(|| CutNotebook::new(&self.bytes, notebook))
    }

    /// The chunk with this digest, with the headings above it.
    fn moved(&self, notebook: &NotePath, digest: &Digest) -> Option<(Chunk, Vec<String>)> {
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

/// What is known of the place of a passage.
pub(crate) struct Known {
    /// Title and headings above, outermost first.
    pub heading_path: Vec<String>,
    /// 1-based line of the passage's first byte.
    pub line: usize,
}

impl Shelf {
    /// Opens a collection.
    pub fn open(
        library: Arc<Library>,
        collection: &str,
        place: IndexPlace,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<Self>, LibraryError> {
        let index: Box<dyn CollectionIndex> = match place {
            IndexPlace::Here(folder, models, refused) => {
                let library = Arc::clone(&library);
                let place = (folder, models, refused);
                Box::new(Embedded::open(library, collection, place, clock, stop)?)
            }
            IndexPlace::Shared(backend) => {
                Box::new(Shared::open(Arc::clone(&library), collection, backend)?)
            }
        };
        let (wake, woken) = mpsc::channel();
        let shelf = Arc::new(Self {
            library,
            collection: collection.to_owned(),
            index,
            clock,
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
        let storage = self.library.notebook_storage();
        storage.watch(&self.collection, Box::new(changed))
    }

    /// Asks for a comparison with the storage, soon.
    pub(super) fn look_again(&self) {
        // The thread ends with the shelf, and not before.
        if self.wake.send(()).is_err() {
            tracing::debug!("changes to notebooks are not looked for");
        }
    }

    /// What answers are made from now.
    pub fn state(&self) -> IndexState {
        self.index.state()
    }

    /// The state of the folder that its index was made from, where it was.
    pub(crate) fn disk_state(&self) -> Option<Digest> {
        self.index.disk_state()
    }

    /// Compares the index with the storage, and indexes what changed.
    pub fn refresh(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.index.refresh(stop)
    }

    /// The best `most` passages for a query, best first.
    pub fn search(
        &self,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, LibraryError> {
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
                // A collection that is gone has nothing to find, and that must be said.
                self.library.require(&self.collection)?;
            }
            return Ok(Found {
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

    /// The first `most` hits that are still there, read and hashed now.
    fn verified(
        &self,
        found: &[LocatedHit],
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Hit>, LibraryError> {
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

    /// The notebooks of the first hits, where several are read in the time of one.
    fn read_ahead<'h>(
        &self,
        found: &'h [LocatedHit],
        most: usize,
    ) -> Result<Vec<(&'h NotePath, Option<Today>)>, LibraryError> {
        let at_once = self.library.notebook_storage().reads_at_once();
        let mut wanted: Vec<&Located> = Vec::new();
        if at_once > 1 {
            for hit in found.iter().take(most) {
                let is_new = |known: &&Located| known.notebook != hit.located.notebook;
                if wanted.iter().all(is_new) {
                    wanted.push(&hit.located);
                }
            }
        }
        let share = wanted.len().div_ceil(at_once).max(1);
        let read = std::thread::scope(|scope| {
            let readers = wanted.chunks(share).map(|some| {
                let read = |located: &&'h Located| Ok((&located.notebook, self.today(located)?));
                scope.spawn(move || some.iter().map(read).collect::<Result<Vec<_>, _>>())
            });
            let readers: Vec<_> = readers.collect();
            let read = readers
                .into_iter()
                .map(|reader| reader.join().unwrap_or(Err(LibraryError::Cancelled)));
            read.collect::<Result<Vec<_>, LibraryError>>()
        });
        Ok(read?.into_iter().flatten().collect())
    }

    /// The notebook of a chunk as it is now; `None` when it is gone or cannot be read.
    fn today(&self, located: &Located) -> Result<Option<Today>, LibraryError> {
        let bytes = match self.library.read(&self.collection, &located.notebook) {
            Ok(bytes) => bytes,
            // What cannot be read cannot be found either; the rest can.
            Err(LibraryError::Failed { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(bytes.map(|bytes| Today {
            is_indexed: Digest::of(&bytes) == located.notebook_digest,
            bytes,
            cut: OnceCell::new(),
            chunks: OnceCell::new(),
        }))
    }

    /// The hit, if its bytes are still in the notebook, there or elsewhere. What the index says of its headings and its
    /// line counts only as long as no byte of the notebook is another.
    fn passage(&self, hit: &LocatedHit, today: &Today) -> Option<Hit> {
        let bytes = today.bytes.as_slice();
        let Located {
            notebook,
            chunk,
            path,
            ..
        } = &hit.located;
        let is_in_place = |chunk: &Chunk| {
            let passage = bytes.get(chunk.span.range());
            passage.is_some_and(|passage| Digest::of(passage) == chunk.digest)
                && chunk.span.start >= body_start(bytes)
        };
        let (chunk, heading_path) = match (today.is_indexed, is_in_place(chunk)) {
            (true, true) => (*chunk, path.clone()),
            (_, true) => {
                let Known { heading_path, line } = today.cut(notebook).known(chunk.span.start);
                (Chunk { line, ..*chunk }, heading_path)
            }
            (_, false) => today.moved(notebook, &chunk.digest)?,
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
        let located = self.index.chunk_at(notebook, span)?;
        (located.notebook_digest == *digest).then_some(Known {
            heading_path: located.path,
            line: located.chunk.line,
        })
    }

    /// Where passages may be whose digests begin with these digits, in order.
    pub(crate) fn chunks_with(&self, digits: &str) -> Result<Vec<Located>, LibraryError> {
        self.index.chunks_with(digits)
    }
}

/// What a notebook as it is now says of the place of a passage that starts at `start`.
pub(crate) fn looked_up(bytes: &[u8], notebook: &NotePath, start: usize) -> Known {
    CutNotebook::new(bytes, notebook).known(start)
}

impl CutNotebook {
    /// What it says of the place of a passage that starts at `start`.
    fn known(&self, start: usize) -> Known {
        let path = self.path(self.section_at(start));
        Known {
            heading_path: path.into_iter().map(str::to_owned).collect(),
            line: self.line_of(start),
        }
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
        let Some(shelf) = shelf.upgrade() else {
            return;
        };
        let mut has_news = || {
            is_woken |= woken.try_recv().is_ok();
            is_woken
        };
        let refreshed = shelf
            .refresh(&|| false)
            .and_then(|()| shelf.index.complete(&mut has_news));
        if let Err(error) = refreshed {
            tracing::debug!(?error, "the collection cannot be compared with its index");
        }
    }
}
