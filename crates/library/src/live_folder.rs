//! A folder of notes that people and programs edit while it is served: its notes, text, links and names, up to date
//! with every call.

mod background;
mod cache;
mod engine;
mod facet_index;
mod folder_query;
mod link_graph;
mod name_index;
mod note_record;
mod note_table;
mod search;
mod state;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod turns;
mod watcher;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use sectile_markdown::{Digest, NotePath};
pub use sectile_retrieval::{
    CacheFolder, CachedIndex, HitExplanation, RankingBasis, SharedVectors,
};
use sectile_vault::{RootError, Walk};

use self::{
    engine::{Engine, MOST_AT_ONCE},
    turns::{FILL_QUEUE, FillQueue},
};
pub use self::{
    facet_index::{FacetIndex, field_counts, tag_counts},
    folder_query::{FolderQuery, HitOrder, QueryMistake, TaskFilter},
    link_graph::{DiskLookup, LinkEdge, LinkGraph, LinkTarget},
    name_index::{NameIndex, NameMatch},
    note_record::{
        HeadingRecord, HeadingSpelling, LinkRecord, NoteDetails, NoteRecord, decode_records,
        encode_records,
    },
    search::{FolderHit, FolderHits, SearchOptions},
    state::{
        ChangeDetection, FolderChanges, FolderContents, FolderState, InMemoryReason, IndexProgress,
        NoteChange,
    },
};
use crate::{
    clock::Clock,
    error::LibraryError,
    filling::{self, FillJob, FillProgress, FillReport},
    folder::FolderStorage,
    indexing::IndexingError,
    library::Library,
    manual_page::NoteCut,
    open_collection::{readers::ReaderPool, snapshot::Snapshot},
    storage::TOP,
    tiers::{Models, Tier},
};

/// How long a call waits for many notes to be indexed before it answers with what is in.
const PATIENCE: Duration = Duration::from_millis(250);
/// The longest wait for the first of them.
const MOST_PATIENCE: Duration = Duration::from_millis(750);
/// How often a waiting call checks whether it was cancelled.
const TICK: Duration = Duration::from_millis(10);
/// How often the cache is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// The limits of a folder that is not under test.
const LIMITS: LiveFolderLimits = LiveFolderLimits {
    watches: usize::MAX,
    stalled: Duration::from_secs(10),
    cache_busy: Duration::from_secs(2),
    cache_slow: Duration::from_secs(30),
    fill_queue: &FILL_QUEUE,
};

/// Limits that tests make small: how much is asked of the system, and how long callers wait for something that may never
/// come.
#[derive(Clone, Copy, Debug)]
struct LiveFolderLimits {
    /// The most folders that are watched; with none, the system is not asked to report changes.
    watches: usize,
    /// For an index that does not grow.
    stalled: Duration,
    /// For a cache that another process is writing.
    cache_busy: Duration,
    /// For the cache that this process is writing.
    cache_slow: Duration,
    /// The folders that fill their second tiers one after the other.
    fill_queue: &'static FillQueue,
}

/// How a folder is opened.
#[derive(Clone, Debug)]
pub struct LiveFolderOptions {
    /// The folder.
    pub location: PathBuf,
    /// Selects the files that count.
    pub walk: Walk,
    /// How they are cut into passages.
    pub cut: NoteCut,
    /// The largest note whose text is searched, in bytes.
    pub max_note_bytes: u64,
    /// The folder of this folder's cache; without one the index is only in memory.
    pub cache: Option<PathBuf>,
    /// The vectors of the second tier that it shares with the caches of other folders, if it does.
    pub shared_vectors: Option<SharedVectors>,
    /// The clock.
    pub clock: Clock,
    /// What is done with the second tier.
    pub second_tier: SecondTierUse,
}

/// What a folder does with the second tier of its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondTierUse {
    /// Nothing: the first tier always answers.
    Unused,
    /// It answers if its vectors are in the cache.
    Read,
    /// It answers if its vectors are in the cache, and missing ones are computed in the background.
    Filled,
}

/// A note as this process has just left it.
#[derive(Clone, Debug)]
pub struct WrittenNote {
    /// Its path.
    pub path: NotePath,
    /// The digest of its bytes; `None` if it is gone.
    pub digest: Option<Digest>,
}

/// What this process wrote and the index does not have yet.
#[derive(Debug, Default)]
struct OwnWrites {
    notes: BTreeMap<NotePath, Option<Digest>>,
    /// When the first and the last of them was written.
    times: Option<(Instant, Instant)>,
}

/// A folder and its index, shared by all callers.
pub struct LiveFolder {
    storage: Arc<FolderStorage>,
    library: Arc<Library>,
    models: Models,
    options: LiveFolderOptions,
    limits: LiveFolderLimits,
    /// Grows with every folder that is listed and every note that is indexed.
    steps: AtomicU64,
    /// Grows whenever a file that is not a note may have changed.
    other_changes: AtomicU64,
    state: Mutex<Arc<FolderState>>,
    engine: Mutex<Engine>,
    /// Notified together with the lock of the engine, whenever there is a new state.
    published: Condvar,
    /// Whether the folder was listed once, and whether that was tried.
    is_listed: AtomicBool,
    is_tried: AtomicBool,
    /// What this process wrote and the index does not have yet. Every call takes it in before it answers.
    own: Mutex<OwnWrites>,
    /// Notes that other programs changed since it was last asked for.
    external: Mutex<BTreeSet<NotePath>>,
    /// Wakes the thread in the background, which ends when this is dropped.
    waker: mpsc::Sender<()>,
    opened_at: Instant,
    /// When the last call came, in milliseconds since it was opened.
    called_at: AtomicU64,
}

impl LiveFolder {
    /// Opens a folder. Its index is read from the cache or built on threads of its own.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder, or cannot be opened.
    pub fn open(options: LiveFolderOptions) -> Result<Arc<Self>, RootError> {
        // The models are part of the program, so that only a broken build lacks them.
        let mut models =
            Models::built_in().map_err(|_| RootError::Unreadable(std::io::ErrorKind::Other))?;
        if options.second_tier == SecondTierUse::Unused {
            models.second = None;
        }
        Self::open_with(options, models, LIMITS)
    }

    /// Returns whether vectors of the second tier that are missing are computed.
    fn fills_second_tier(&self) -> bool {
        self.options.second_tier == SecondTierUse::Filled
    }

    fn open_with(
        options: LiveFolderOptions,
        models: Models,
        limits: LiveFolderLimits,
    ) -> Result<Arc<Self>, RootError> {
        let (live, woken) = Self::unattended(options, models, limits)?;
        let weak = Arc::downgrade(&live);
        let thread = std::thread::Builder::new().name("live_folder".to_owned());
        match thread.spawn(move || background::keep_up(&weak, &woken)) {
            Ok(_) => Ok(live),
            Err(error) => Err(RootError::Unreadable(error.kind())),
        }
    }

    /// Returns a folder that nothing is done for in the background, and the receiver that is to be woken.
    fn unattended(
        options: LiveFolderOptions,
        models: Models,
        limits: LiveFolderLimits,
    ) -> Result<(Arc<Self>, mpsc::Receiver<()>), RootError> {
        let storage = FolderStorage::documents(
            &options.location,
            options.walk.clone(),
            options.max_note_bytes,
        )?;
        let storage = Arc::new(storage.cut_as(options.cut));
        let state = FolderState {
            contents: FolderContents::default(),
            listed_folders: Vec::new(),
            storage: Arc::clone(&storage),
            readers: Arc::new(ReaderPool::default()),
            snapshot: Snapshot::empty(models, (options.clock)()),
            progress: IndexProgress {
                indexed: 0,
                total: 0,
                is_complete: false,
                left_out: 0,
                tier: Tier::Static,
                in_memory_reason: None,
                detection: ChangeDetection::Listing,
            },
            mentions: OnceLock::new(),
            names: OnceLock::new(),
            facets: OnceLock::new(),
        };
        let (waker, woken) = mpsc::channel();
        let live = Arc::new(Self {
            library: Arc::new(Library::of(Arc::clone(&storage))),
            storage,
            models,
            options,
            limits,
            steps: AtomicU64::new(0),
            other_changes: AtomicU64::new(0),
            state: Mutex::new(Arc::new(state)),
            engine: Mutex::new(Engine::new()),
            published: Condvar::new(),
            is_listed: AtomicBool::new(false),
            is_tried: AtomicBool::new(false),
            own: Mutex::default(),
            external: Mutex::default(),
            waker,
            opened_at: Instant::now(),
            called_at: AtomicU64::new(0),
        });
        Ok((live, woken))
    }

    /// Returns the state of the folder as it is now: everything that other programs completed before this call is in
    /// it. Of many notes that were never indexed, it has those that are in after a short time.
    ///
    /// # Errors
    /// [`LibraryError`] when the folder cannot be read, or the caller no longer waits.
    pub fn current(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FolderState>, LibraryError> {
        self.called();
        self.look_now(Some(PATIENCE), stop)
    }

    /// Returns the state of the folder as it is now, once everything is in, or nothing more has come in for a long time.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub fn complete(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FolderState>, LibraryError> {
        self.called();
        self.look_now(None, stop)
    }

    /// As [`Self::complete`], for a thread that nobody waits for: filling the second tier does not pause for it.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub fn follow(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FolderState>, LibraryError> {
        self.look_now(None, stop)
    }

    fn look_now(
        &self,
        patience: Option<Duration>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FolderState>, LibraryError> {
        let arrived = Instant::now();
        let is_over = || patience.is_some_and(|patience| arrived.elapsed() >= patience);
        let mut grown = (self.steps.load(Ordering::Relaxed), arrived);
        let mut is_stalled = || {
            let steps = self.steps.load(Ordering::Relaxed);
            if steps != grown.0 {
                grown = (steps, Instant::now());
            }
            grown.1.elapsed() >= self.limits.stalled
        };
        let mut engine = loop {
            if let Some(engine) = self.engine.try_lock_for(TICK) {
                break engine;
            }
            // A disk that does not answer holds up whoever reads from it, but not everybody else.
            if stop() || is_stalled() {
                return Err(LibraryError::Cancelled);
            }
            if is_over() && !self.is_listed() {
                return Ok(self.now());
            }
        };
        if self.is_tried.load(Ordering::Acquire) {
            self.look(&mut engine, arrived, stop)?;
        }
        while !self.is_listed() || !engine.pending.is_empty() {
            let is_something_in = self.state.lock().progress.indexed > 0;
            if is_over() && (is_something_in || arrived.elapsed() >= MOST_PATIENCE) {
                break;
            }
            if is_stalled() {
                tracing::warn!("the index does not grow: the rest of it is not waited for");
                break;
            }
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            self.published.wait_for(&mut engine, TICK);
            if self.storage.root().identity().is_none() {
                return Err(LibraryError::FolderNotFound);
            }
            if self.is_tried.load(Ordering::Acquire) && !self.is_listed() {
                self.look(&mut engine, arrived, stop)?;
            }
        }
        Ok(self.now())
    }

    /// Takes note of what this process has just written. The next call reads it before it answers, and if none comes soon,
    /// the background does: whoever writes does not wait for the index, and several edits of a note are indexed once.
    /// Many notes at a time are indexed at once.
    ///
    /// # Errors
    /// As [`Self::current`], for many notes. What could not be read is looked for by the next call.
    pub fn written(
        &self,
        notes: impl IntoIterator<Item = WrittenNote>,
    ) -> Result<(), LibraryError> {
        self.called();
        let (is_first, is_much) = {
            let mut own = self.own.lock();
            let is_first = own.notes.is_empty();
            for note in notes {
                own.notes.insert(note.path, note.digest);
            }
            let now = Instant::now();
            own.times = Some(own.times.map_or((now, now), |(first, _)| (first, now)));
            (is_first, own.notes.len() > MOST_AT_ONCE)
        };
        if is_much {
            let mut engine = self.engine.lock();
            return self.catch_up(&mut engine, &|| false).map(|_| ());
        }
        if is_first {
            self.wake();
        }
        Ok(())
    }

    /// Waits until everything is in, and in the cache if there is one. For programs that end afterwards; a server writes
    /// its cache when nothing else happens. A cache that another process holds, or a disk that does not answer, is not
    /// waited for forever: what is missing from the cache is read again by the next process.
    ///
    /// # Errors
    /// As [`Self::current`], and [`LibraryError::Cancelled`] when the cache was not written in time.
    pub fn settle(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.complete(stop)?;
        let began = Instant::now();
        let mut asked: Option<Instant> = None;
        let mut engine = self.engine.lock();
        while engine.uncached.is_some() || engine.is_caching {
            let limit = match engine.is_caching {
                true => self.limits.cache_slow,
                false => self.limits.cache_busy,
            };
            if stop() || began.elapsed() >= limit {
                return Err(LibraryError::Cancelled);
            }
            // Where another process holds the cache, it is tried again and again, but not without a pause.
            if asked.is_none_or(|asked| asked.elapsed() >= ASK_AGAIN) {
                asked = Some(Instant::now());
                engine.is_awaited = true;
                self.wake();
            }
            self.published.wait_for(&mut engine, TICK);
        }
        Ok(())
    }

    /// Fills the second tier of the index in the cache, which must be [settled](Self::settle), with this number of threads.
    /// Passages that an earlier run embedded are not embedded again. Without a cache there is nothing to fill.
    ///
    /// # Errors
    /// [`IndexingError`] when the cache cannot be read or written, or another process fills it.
    pub fn fill(
        &self,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        progress: &dyn Fn(FillProgress),
    ) -> Result<FillReport, IndexingError> {
        let (Some(location), Some(second)) = (&self.options.cache, self.models.second) else {
            return Ok(FillReport::default());
        };
        let job = FillJob {
            storage: &self.library,
            collection: TOP,
            first: self.models.first,
            second,
            shared: self.options.shared_vectors.as_ref(),
            threads,
            stop,
            progress,
        };
        filling::fill(job, location)
    }

    /// Returns the notes that other programs changed since the last call of this, sorted.
    pub fn take_external_changes(&self) -> Vec<NotePath> {
        let taken = std::mem::take(&mut *self.external.lock());
        taken.into_iter().collect()
    }

    /// Returns a number that grows whenever a file in the folder that is neither a note nor hidden may have changed. It is
    /// up to date after a call that compares the folder with the disk, such as [`Self::current`].
    pub fn other_changes(&self) -> u64 {
        self.other_changes.load(Ordering::Acquire)
    }

    /// Notes that any file may have changed that is not a note.
    fn note_other_change(&self) {
        self.other_changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the state without comparing it with the disk.
    fn now(&self) -> Arc<FolderState> {
        Arc::clone(&self.state.lock())
    }

    fn is_listed(&self) -> bool {
        self.is_listed.load(Ordering::Acquire)
    }

    fn set_listed(&self) {
        self.is_listed.store(true, Ordering::Release);
    }

    fn set_tried(&self) {
        self.is_tried.store(true, Ordering::Release);
    }

    /// Notes that the index grows.
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn wake(&self) {
        // The thread does not end before the folder does.
        if self.waker.send(()).is_err() {
            tracing::debug!("the background thread has ended");
        }
    }

    fn called(&self) {
        let now = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.called_at.store(now, Ordering::Relaxed);
    }

    /// Returns when the last call came.
    fn used_at(&self) -> Instant {
        let called = Duration::from_millis(self.called_at.load(Ordering::Relaxed));
        self.opened_at.checked_add(called).unwrap_or(self.opened_at)
    }

    fn since_last_call(&self) -> Duration {
        self.used_at().elapsed()
    }
}
