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
mod watcher;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use sectile_markdown::NotePath;
pub use sectile_retrieval::{CacheFolder, CachedIndex};
use sectile_vault::{RootError, Walk};

use self::engine::Engine;
pub use self::{
    facet_index::{FacetIndex, field_counts, tag_counts},
    folder_query::{FolderQuery, HitOrder, QueryMistake, TaskFilter},
    link_graph::{DiskLookup, LinkEdge, LinkGraph, LinkTarget},
    name_index::{NameIndex, NameMatch},
    note_record::{
        HeadingRecord, HeadingSpelling, LinkRecord, NoteRecord, decode_records, encode_records,
    },
    search::{FolderHit, FolderHits},
    state::{
        ChangeDetection, FolderChanges, FolderContents, FolderState, InMemoryReason, IndexProgress,
        NoteChange,
    },
};
use crate::{
    clock::Clock,
    error::LibraryError,
    folder::FolderStorage,
    library::Library,
    open_collection::{readers::ReaderPool, snapshot::Snapshot},
    tiers::{Models, Tier},
};

/// How long a call waits for many notes to be indexed before it answers with what is in.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long it waits at most for the first of them.
const MOST_PATIENCE: Duration = Duration::from_millis(750);
/// How often a waiting call asks whether anyone still waits for it.
const TICK: Duration = Duration::from_millis(10);

/// How a folder is opened.
#[derive(Clone, Debug)]
pub struct LiveFolderOptions {
    /// The folder.
    pub location: PathBuf,
    /// Selects the files that count.
    pub walk: Walk,
    /// The largest note whose text is searched, in bytes.
    pub max_note_bytes: u64,
    /// The folder of this folder's cache; without one the index is only in memory.
    pub cache: Option<PathBuf>,
    /// The clock.
    pub clock: Clock,
    /// Whether the second tier may be filled in the background.
    pub background: bool,
}

/// A folder and its index, shared by all callers.
pub struct LiveFolder {
    storage: Arc<FolderStorage>,
    library: Arc<Library>,
    models: Models,
    options: LiveFolderOptions,
    /// Whether the system may be asked to report changes.
    may_watch: bool,
    state: Mutex<Arc<FolderState>>,
    engine: Mutex<Engine>,
    /// Notified together with the lock of the engine, whenever there is a new state.
    published: Condvar,
    /// Whether the folder was listed once, and whether that was tried.
    is_listed: AtomicBool,
    is_tried: AtomicBool,
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
        let models =
            Models::built_in().map_err(|_| RootError::Unreadable(std::io::ErrorKind::Other))?;
        Self::open_with(options, models, true)
    }

    fn open_with(
        options: LiveFolderOptions,
        models: Models,
        may_watch: bool,
    ) -> Result<Arc<Self>, RootError> {
        let storage = Arc::new(FolderStorage::documents(
            &options.location,
            options.walk.clone(),
            options.max_note_bytes,
        )?);
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
            links: OnceLock::new(),
            names: OnceLock::new(),
            facets: OnceLock::new(),
        };
        let (waker, woken) = mpsc::channel();
        let live = Arc::new(Self {
            library: Arc::new(Library::of(Arc::clone(&storage))),
            storage,
            models,
            options,
            may_watch,
            state: Mutex::new(Arc::new(state)),
            engine: Mutex::new(Engine::new()),
            published: Condvar::new(),
            is_listed: AtomicBool::new(false),
            is_tried: AtomicBool::new(false),
            external: Mutex::default(),
            waker,
            opened_at: Instant::now(),
            called_at: AtomicU64::new(0),
        });
        let weak = Arc::downgrade(&live);
        let thread = std::thread::Builder::new().name("live_folder".to_owned());
        match thread.spawn(move || background::keep_up(&weak, &woken)) {
            Ok(_) => Ok(live),
            Err(error) => Err(RootError::Unreadable(error.kind())),
        }
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
        self.look_now(Some(PATIENCE), stop)
    }

    /// Returns the state of the folder as it is now, once everything is in.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub fn complete(
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
        self.called();
        let is_over = || patience.is_some_and(|patience| arrived.elapsed() >= patience);
        let mut engine = loop {
            if let Some(engine) = self.engine.try_lock_for(TICK) {
                break engine;
            }
            if stop() {
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
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            self.published.wait_for(&mut engine, TICK);
            if self.is_tried.load(Ordering::Acquire) && !self.is_listed() {
                self.look(&mut engine, arrived, stop)?;
            }
        }
        Ok(self.now())
    }

    /// Brings the index up to date with notes that this process has just written.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub fn written(&self, paths: &[NotePath]) -> Result<(), LibraryError> {
        self.called();
        let mut engine = self.engine.lock();
        if !self.is_listed() {
            // They are found by the first listing, which is still to come.
            return Ok(());
        }
        let paths = paths.iter().cloned().collect();
        self.examine(&mut engine, paths, true, &|| false)
    }

    /// Waits until everything is in, and in the cache if there is one. For programs that end afterwards; a server writes
    /// its cache when nothing else happens.
    ///
    /// # Errors
    /// [`LibraryError::Cancelled`] when the caller no longer waits.
    pub fn settle(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.complete(stop)?;
        let mut engine = self.engine.lock();
        while engine.uncached.is_some() || engine.is_caching {
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            if !engine.is_awaited {
                engine.is_awaited = true;
                self.wake();
            }
            self.published.wait_for(&mut engine, TICK);
        }
        Ok(())
    }

    /// Returns the notes that other programs changed since the last call of this, sorted.
    pub fn take_external_changes(&self) -> Vec<NotePath> {
        let taken = std::mem::take(&mut *self.external.lock());
        taken.into_iter().collect()
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

    fn wake(&self) {
        // The thread does not end before the folder does.
        if self.waker.send(()).is_err() {
            tracing::debug!("nothing is done in the background any more");
        }
    }

    fn called(&self) {
        let now = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.called_at.store(now, Ordering::Relaxed);
    }

    fn since_last_call(&self) -> Duration {
        let called = Duration::from_millis(self.called_at.load(Ordering::Relaxed));
        self.opened_at.elapsed().saturating_sub(called)
    }
}
