//! The collections that are open for search. A collection is opened by the first call that needs it, and shared by all
//! callers.

use std::{path::PathBuf, sync::Arc, time::Duration};

use parking_lot::{Condvar, Mutex};
use sectile_markdown::Digest;

use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    ids::SourceId,
    indexing::folder_of,
    library::Library,
    mirror::IndexMirror,
    open_collection::{IndexLocation, OpenCollection, VerifiedResults, unharmed},
    query::SearchQuery,
    quote::{Quote, quote},
    storage::VectorSearch,
    tiers::Models,
};

/// The most collections open at the same time: each holds an index in memory or mapped from disk.
pub const MOST_OPEN: usize = 8;
/// The most attempts of a search whose index turns out to be damaged each time.
const MOST_TRIES: usize = 4;
/// How often a caller waiting for a collection to open checks whether its call was cancelled.
const PATIENCE: Duration = Duration::from_millis(50);

/// The location of a library's indexes.
#[derive(Clone)]
pub enum IndexStorage {
    /// Below this folder, or in memory if there is none.
    Folder(Option<PathBuf>),
    /// In copies of the indexes that another place keeps.
    Mirrored(Arc<dyn IndexMirror>),
    /// In a backend.
    Shared(Arc<dyn VectorSearch>),
}

impl IndexStorage {
    /// Returns the location of a collection's index. A state of its folder that turned out to be unusable, `refused`,
    /// is not tried again.
    pub fn of(
        &self,
        collection: &str,
        refused: Option<Digest>,
    ) -> Result<IndexLocation, LibraryError> {
        let models = || {
            Models::built_in().map_err(|error| {
                LibraryError::of_process(format!("The embedding model cannot be used: {error}."))
            })
        };
        Ok(match self {
            Self::Shared(backend) => IndexLocation::Shared(Arc::clone(backend)),
            Self::Mirrored(mirror) => {
                IndexLocation::Mirrored(Arc::clone(mirror), models()?, refused)
            }
            Self::Folder(folder) => {
                let folder = folder.as_deref();
                let folder = folder.map(|folder| folder_of(folder, collection));
                IndexLocation::Here(folder, models()?, refused)
            }
        })
    }
}

/// The open collections of a library.
pub struct OpenCollections {
    storage: Arc<Library>,
    indexes: IndexStorage,
    clock: Clock,
    /// Most recently used last.
    open: Mutex<Vec<CollectionSlot>>,
}

/// The entry of one collection.
#[derive(Clone)]
struct CollectionSlot {
    collection: String,
    slot: Arc<Mutex<Slot>>,
}

/// The state of an entry.
#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Opening(Arc<PendingOpen>),
    Open(Arc<OpenCollection>),
}

/// A collection that is being opened, once and on a thread of its own, for all callers that wait for it. A caller that
/// gives up does not abort the work for the others.
#[derive(Default)]
struct PendingOpen {
    result: Mutex<Option<Result<Arc<OpenCollection>, LibraryError>>>,
    done: Condvar,
}

impl PendingOpen {
    fn finish(&self, result: Result<Arc<OpenCollection>, LibraryError>) {
        *self.result.lock() = Some(result);
        self.done.notify_all();
    }

    fn wait(&self, stop: &dyn Fn() -> bool) -> Result<Arc<OpenCollection>, LibraryError> {
        let mut result = self.result.lock();
        loop {
            if let Some(result) = &*result {
                return result.clone();
            }
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            self.done.wait_for(&mut result, PATIENCE);
        }
    }
}

impl OpenCollections {
    /// Creates the set of open collections of `storage`, empty at first.
    pub fn new(storage: Arc<Library>, indexes: IndexStorage, clock: Clock) -> Self {
        Self {
            storage,
            indexes,
            clock,
            open: Mutex::default(),
        }
    }

    /// Returns the collection, opening it if necessary. Waits until `stop` returns `true`.
    pub(crate) fn open_collection(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Arc<OpenCollection>, LibraryError> {
        let slot = self.place(collection);
        let opening = match &mut *slot.lock() {
            Slot::Open(open_collection) => return Ok(Arc::clone(open_collection)),
            Slot::Opening(opening) => Arc::clone(opening),
            empty => self.begin(empty, &slot, collection, None)?,
        };
        drop(slot);
        opening.wait(stop)
    }

    /// Searches a collection, opening it if necessary. An index that turns out to be damaged is reopened.
    pub fn search(
        &self,
        collection: &str,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<VerifiedResults, LibraryError> {
        let mut found = Err(LibraryError::IndexDamaged);
        for _ in 0..MOST_TRIES {
            let open_collection = self.open_collection(collection, stop);
            found = match &open_collection {
                Ok(open_collection) => open_collection.search(query, most, stop),
                Err(error) => Err(error.clone()),
            };
            match (&found, open_collection) {
                (Err(LibraryError::IndexDamaged), Ok(open_collection)) => {
                    self.reopen(collection, &open_collection)?;
                }
                _ => break,
            }
        }
        if let Err(LibraryError::CollectionNotFound) = &found {
            self.forget(collection);
        }
        found
    }

    /// Compares the index of a collection with the storage and indexes what changed, so that the next search sees every
    /// write before this call. Opens the collection if necessary. An index that a backend keeps is only compared.
    pub fn refresh(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        self.open_collection(collection, stop)?.refresh(stop)
    }

    /// Reports that something in a collection may have changed. If it is open, it is compared with the storage soon.
    pub fn changed(&self, collection: &str) {
        if let Some(open_collection) = self.opened(collection) {
            open_collection.look_again();
        }
    }

    /// Quotes the passage `id` with `context` characters on both sides. See [`quote`].
    pub fn quote(&self, id: &SourceId, context: usize) -> Result<Quote, LibraryError> {
        let open_collection = self.opened(&id.collection);
        quote(
            &self.storage,
            open_collection.as_deref(),
            id,
            context,
            self.clock,
        )
    }

    /// Reopens a collection whose index turned out to be damaged, unless another caller already did.
    fn reopen(&self, collection: &str, damaged: &Arc<OpenCollection>) -> Result<(), LibraryError> {
        let slot = self.place(collection);
        let mut at = slot.lock();
        match &*at {
            Slot::Open(open_collection) if Arc::ptr_eq(open_collection, damaged) => {
                tracing::warn!("the index is damaged and is reopened");
                let refused = damaged.disk_state();
                self.begin(&mut at, &slot, collection, refused).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Starts to open a collection into `slot`, which is locked.
    fn begin(
        &self,
        locked_slot: &mut Slot,
        slot: &Arc<Mutex<Slot>>,
        collection: &str,
        refused: Option<Digest>,
    ) -> Result<Arc<PendingOpen>, LibraryError> {
        let place = self.indexes.of(collection, refused)?;
        let (library, clock) = (Arc::clone(&self.storage), self.clock);
        let opening = Arc::new(PendingOpen::default());
        let (result, slot, name) = (
            Arc::clone(&opening),
            Arc::downgrade(slot),
            collection.to_owned(),
        );
        let open = move || {
            // The entry was evicted, or the set was dropped.
            let stop = || slot.strong_count() == 0;
            let opened = unharmed(|| OpenCollection::open(library, &name, place, clock, &stop));
            let opened = opened.unwrap_or_else(|| {
                Err(LibraryError::of_process("The collection cannot be opened."))
            });
            if let Some(slot) = slot.upgrade() {
                *slot.lock() = match &opened {
                    Ok(open_collection) => Slot::Open(Arc::clone(open_collection)),
                    Err(_) => Slot::Empty,
                };
            }
            result.finish(opened);
        };
        let thread = std::thread::Builder::new().name("opening".to_owned());
        thread.spawn(open).map_err(|error| {
            let kind = error.kind();
            LibraryError::of_process(format!("The collection cannot be opened ({kind})."))
        })?;
        *locked_slot = Slot::Opening(Arc::clone(&opening));
        Ok(opening)
    }

    /// Checks that the indexes can be used now, if a backend keeps them.
    pub fn ready(&self) -> Result<(), LibraryError> {
        match &self.indexes {
            IndexStorage::Shared(backend) => backend.ready().map_err(|error| {
                LibraryError::of_storage(error, FailedPart::Index(backend.kind()))
            }),
            IndexStorage::Mirrored(mirror) => mirror
                .ready()
                .map_err(|error| LibraryError::of_storage(error, FailedPart::Index(mirror.kind()))),
            IndexStorage::Folder(_) => Ok(()),
        }
    }

    /// Returns the collection if it is already open.
    pub fn opened(&self, collection: &str) -> Option<Arc<OpenCollection>> {
        let open = self.open.lock();
        let place = open.iter().find(|place| place.collection == collection)?;
        match &*place.slot.lock() {
            Slot::Open(open_collection) => Some(Arc::clone(open_collection)),
            _ => None,
        }
    }

    /// Forgets a collection that no longer exists.
    fn forget(&self, collection: &str) {
        self.open
            .lock()
            .retain(|place| place.collection != collection);
    }

    /// Returns the entry of a collection, and evicts the least recently used one if necessary.
    fn place(&self, collection: &str) -> Arc<Mutex<Slot>> {
        let mut open = self.open.lock();
        let known = open
            .iter()
            .position(|place| place.collection == collection)
            .map(|at| open.remove(at));
        let place = known.unwrap_or_else(|| CollectionSlot {
            collection: collection.to_owned(),
            slot: Arc::default(),
        });
        let slot = Arc::clone(&place.slot);
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        open.push(place);
        slot
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        open_collections::*,
        storage::{
            BackendState, IndexedNotebook, LocatedChunk, LocatedHits, StorageError, VectorQuery,
        },
        testing::{Memory, asked},
    };

    /// A backend that cannot be reached.
    struct Down;

    fn down<T>() -> Result<T, StorageError> {
        Err(StorageError::failed("The backend does not answer."))
    }

    impl VectorSearch for Down {
        fn name(&self) -> &'static str {
            "down"
        }

        fn state(&self, _: &str) -> Result<BackendState, StorageError> {
            down()
        }

        fn search(&self, _: &VectorQuery<'_>) -> Result<LocatedHits, StorageError> {
            down()
        }

        fn chunks_with(&self, _: &str, _: &str) -> Result<Vec<LocatedChunk>, StorageError> {
            down()
        }

        fn entries(&self, _: &str) -> Result<Vec<IndexedNotebook>, StorageError> {
            down()
        }

        fn ready(&self) -> Result<(), StorageError> {
            down()
        }
    }

    #[test]
    fn indexes_are_ready_when_their_backend_is_and_those_in_a_folder_always() {
        let open_collections = |indexes| OpenCollections::new(Memory::shared(&[]), indexes, || 0);
        assert_eq!(open_collections(IndexStorage::Folder(None)).ready(), Ok(()));
        let message = "The backend does not answer.".to_owned();
        assert_eq!(
            open_collections(IndexStorage::Shared(Arc::new(Down))).ready(),
            Err(LibraryError::Failed {
                message,
                at: FailedPart::Index("database")
            })
        );
    }

    #[test]
    fn the_search_after_a_refresh_sees_a_write_and_its_hits_are_quoted() {
        let storage = Memory::of(&[("lab/a.md", "# Apples\n\nApples are red.\n")]);
        let open_collections =
            OpenCollections::new(storage.library(), IndexStorage::Folder(None), || 7);
        let never = || false;
        // Nothing is open that could be behind.
        open_collections.changed("lab");
        assert!(open_collections.opened("lab").is_none());
        open_collections
            .refresh("lab", &never)
            .expect("it is opened");
        storage.write("lab", "b.md", b"# Quince\n\nA quince is yellow.\n");
        let cancelled = open_collections.refresh("lab", &|| true);
        assert_eq!(cancelled, Err(LibraryError::Cancelled));
        open_collections
            .refresh("lab", &never)
            .expect("it is compared");
        let found = open_collections.search("lab", &asked("quince"), 10, &never);
        let hit = &found.expect("it is searched").hits[0];
        let quote = open_collections.quote(&hit.id, 100).expect("it is there");
        assert_eq!(
            (quote.text.as_str(), quote.verified_at),
            ("A quince is yellow.", 7)
        );
        let gone = open_collections.refresh("gone", &never);
        assert_eq!(gone, Err(LibraryError::CollectionNotFound));
    }

    #[test]
    fn a_collection_is_opened_once_and_the_least_used_one_makes_room() {
        let names: Vec<String> = (0..MOST_OPEN).map(|number| number.to_string()).collect();
        let mut files = vec![("a", "n.md", "x"), ("b", "n.md", "x")];
        files.extend(names.iter().map(|name| (name.as_str(), "n.md", "x")));
        let open_collections =
            OpenCollections::new(Memory::shared(&files), IndexStorage::Folder(None), || 0);
        assert!(open_collections.open_collection("gone", &|| false).is_err());
        assert!(open_collections.opened("a").is_none());
        let open_collection = open_collections
            .open_collection("a", &|| false)
            .expect("it opens");
        assert!(Arc::ptr_eq(
            &open_collection,
            &open_collections
                .open_collection("a", &|| false)
                .expect("it is open")
        ));
        for number in 0..MOST_OPEN - 1 {
            open_collections
                .open_collection(&number.to_string(), &|| false)
                .expect("it opens");
        }
        // Used again, so another one makes room.
        open_collections
            .open_collection("a", &|| false)
            .expect("it is open");
        open_collections
            .open_collection("b", &|| false)
            .expect("it opens");
        assert!(open_collections.opened("a").is_some());
        assert!(open_collections.opened("0").is_none());
        open_collections.forget("a");
        assert!(open_collections.opened("a").is_none());
    }
}
