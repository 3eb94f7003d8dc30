//! The collections that are open for search. One is opened at the first call that needs it, and shared by all who entered
//! it.

use std::{
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use sectile_markdown::Digest;

use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    ids::SourceId,
    indexing::folder_of,
    library::Library,
    locked,
    query::SearchQuery,
    quote::{Quote, quote},
    shelf::{Found, IndexPlace, Shelf, unharmed},
    storage::VectorSearch,
    tiers::Models,
};

/// Most collections that are open at the same time.
pub const MOST_OPEN: usize = 8;
/// A search whose index is damaged again and again, under its hands, gives up after this many times.
const MOST_TRIES: usize = 4;
/// Who waits for a collection to be opened looks so often whether anybody still waits for it.
const PATIENCE: Duration = Duration::from_millis(50);

/// Where the indexes of a library are.
#[derive(Clone)]
pub enum Indexes {
    /// Below this folder, if there is one.
    Folder(Option<PathBuf>),
    /// In a backend.
    Shared(Arc<dyn VectorSearch>),
}

impl Indexes {
    /// That of a collection. A state of its folder that turned out to be of no use is not tried again.
    pub fn of(
        &self,
        collection: &str,
        refused: Option<Digest>,
    ) -> Result<IndexPlace, LibraryError> {
        let folder = match self {
            Self::Shared(backend) => return Ok(IndexPlace::Shared(Arc::clone(backend))),
            Self::Folder(folder) => folder.as_deref(),
        };
        let models = Models::built_in().map_err(|error| {
            LibraryError::of_process(format!("The embedding model cannot be used: {error}."))
        })?;
        let folder = folder.map(|folder| folder_of(folder, collection));
        Ok(IndexPlace::Here(folder, models, refused))
    }
}

/// The open collections of a library.
pub struct Shelves {
    storage: Arc<Library>,
    indexes: Indexes,
    clock: Clock,
    /// The one that was used last is at the end.
    open: Mutex<Vec<Place>>,
}

/// A place for one collection.
#[derive(Clone)]
struct Place {
    collection: String,
    slot: Arc<Mutex<Slot>>,
}

/// What is at a place.
#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Opening(Arc<Opening>),
    Open(Arc<Shelf>),
}

/// A collection that is being opened: once, on a thread of its own, for all who wait for it. Anyone who gives up does not take
/// the others' work along.
#[derive(Default)]
struct Opening {
    result: Mutex<Option<Result<Arc<Shelf>, LibraryError>>>,
    done: Condvar,
}

impl Opening {
    fn finish(&self, result: Result<Arc<Shelf>, LibraryError>) {
        *locked(&self.result) = Some(result);
        self.done.notify_all();
    }

    fn wait(&self, stop: &dyn Fn() -> bool) -> Result<Arc<Shelf>, LibraryError> {
        let mut result = locked(&self.result);
        loop {
            if let Some(result) = &*result {
                return result.clone();
            }
            if stop() {
                return Err(LibraryError::Cancelled);
            }
            let waited = self.done.wait_timeout(result, PATIENCE);
            result = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shelves {
    /// The collections of `storage`, none of which is open yet.
    pub fn new(storage: Arc<Library>, indexes: Indexes, clock: Clock) -> Self {
        Self {
            storage,
            indexes,
            clock,
            open: Mutex::default(),
        }
    }

    /// The collection, opened if it is not yet. Waits for that until `stop` says that nobody else does.
    pub(crate) fn shelf(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Arc<Shelf>, LibraryError> {
        let slot = self.place(collection);
        let opening = match &mut *locked(&slot) {
            Slot::Open(shelf) => return Ok(Arc::clone(shelf)),
            Slot::Opening(opening) => Arc::clone(opening),
            empty => self.begin(empty, &slot, collection, None)?,
        };
        drop(slot);
        opening.wait(stop)
    }

    /// Searches a collection, opened if it is not yet. An index that turns out to be damaged is opened again.
    pub fn search(
        &self,
        collection: &str,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, LibraryError> {
        let mut found = Err(LibraryError::IndexDamaged);
        for _ in 0..MOST_TRIES {
            let shelf = self.shelf(collection, stop);
            found = match &shelf {
                Ok(shelf) => shelf.search(query, most, stop),
                Err(error) => Err(error.clone()),
            };
            match (&found, shelf) {
                (Err(LibraryError::IndexDamaged), Ok(shelf)) => {
                    self.reopen(collection, &shelf)?;
                }
                _ => break,
            }
        }
        if let Err(LibraryError::CollectionNotFound) = &found {
            self.forget(collection);
        }
        found
    }

    /// Compares the index of a collection with the storage and takes in what changed, before an answer that has to know of
    /// it. The collection is opened if it is not yet. An index that a backend keeps is only compared.
    pub fn refresh(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), LibraryError> {
        self.shelf(collection, stop)?.refresh(stop)
    }

    /// Says that something in a collection was changed. If it is open, it is compared with the storage soon.
    pub fn changed(&self, collection: &str) {
        if let Some(shelf) = self.opened(collection) {
            shelf.look_again();
        }
    }

    /// Quotes the passage `id` with `context` characters around it. See [`quote`].
    pub fn quote(&self, id: &SourceId, context: usize) -> Result<Quote, LibraryError> {
        let shelf = self.opened(&id.collection);
        quote(&self.storage, shelf.as_deref(), id, context, self.clock)
    }

    /// Has a collection opened again whose index turned out to be damaged, unless that was done already.
    fn reopen(&self, collection: &str, damaged: &Arc<Shelf>) -> Result<(), LibraryError> {
        let slot = self.place(collection);
        let mut at = locked(&slot);
        match &*at {
            Slot::Open(shelf) if Arc::ptr_eq(shelf, damaged) => {
                tracing::warn!("the index is damaged and opened again");
                let refused = damaged.disk_state();
                self.begin(&mut at, &slot, collection, refused).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Begins to open a collection into `slot`, which is locked.
    fn begin(
        &self,
        locked_slot: &mut Slot,
        slot: &Arc<Mutex<Slot>>,
        collection: &str,
        refused: Option<Digest>,
    ) -> Result<Arc<Opening>, LibraryError> {
        let place = self.indexes.of(collection, refused)?;
        let (library, clock) = (Arc::clone(&self.storage), self.clock);
        let opening = Arc::new(Opening::default());
        let (result, slot, name) = (
            Arc::clone(&opening),
            Arc::downgrade(slot),
            collection.to_owned(),
        );
        let open = move || {
            // Its place went to another collection, or the world ended.
            let stop = || slot.strong_count() == 0;
            let opened = unharmed(|| Shelf::open(library, &name, place, clock, &stop));
            let opened = opened.unwrap_or_else(|| {
                Err(LibraryError::of_process("The collection cannot be opened."))
            });
            if let Some(slot) = slot.upgrade() {
                *locked(&slot) = match &opened {
                    Ok(shelf) => Slot::Open(Arc::clone(shelf)),
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

    /// Whether the indexes can be used now, as far as they are elsewhere.
    pub fn ready(&self) -> Result<(), LibraryError> {
        match &self.indexes {
            Indexes::Shared(backend) => backend.ready().map_err(|error| {
                LibraryError::of_storage(error, FailedPart::Index(backend.kind()))
            }),
            Indexes::Folder(_) => Ok(()),
        }
    }

    /// The collection, if it is open already.
    pub fn opened(&self, collection: &str) -> Option<Arc<Shelf>> {
        let open = locked(&self.open);
        let place = open.iter().find(|place| place.collection == collection)?;
        match &*locked(&place.slot) {
            Slot::Open(shelf) => Some(Arc::clone(shelf)),
            _ => None,
        }
    }

    /// Forgets a collection that is no longer there.
    fn forget(&self, collection: &str) {
        locked(&self.open).retain(|place| place.collection != collection);
    }

    /// The place of a collection. The one that was not used for longest makes room.
    fn place(&self, collection: &str) -> Arc<Mutex<Slot>> {
        let mut open = locked(&self.open);
        let known = open
            .iter()
            .position(|place| place.collection == collection)
            .map(|at| open.remove(at));
        let place = known.unwrap_or_else(|| Place {
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
        shelves::*,
        storage::{IndexedNotebook, Located, LocatedHits, Question, SharedState, StorageError},
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

        fn state(&self, _: &str) -> Result<SharedState, StorageError> {
            down()
        }

        fn search(&self, _: &Question<'_>) -> Result<LocatedHits, StorageError> {
            down()
        }

        fn chunks_with(&self, _: &str, _: &str) -> Result<Vec<Located>, StorageError> {
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
        let shelves = |indexes| Shelves::new(Memory::shared(&[]), indexes, || 0);
        assert_eq!(shelves(Indexes::Folder(None)).ready(), Ok(()));
        let message = "The backend does not answer.".to_owned();
        assert_eq!(
            shelves(Indexes::Shared(Arc::new(Down))).ready(),
            Err(LibraryError::Failed {
                message,
                at: FailedPart::Index("database")
            })
        );
    }

    #[test]
    fn the_search_after_a_refresh_sees_a_write_and_its_hits_are_quoted() {
        let storage = Memory::of(&[("lab/a.md", "# Apples\n\nApples are red.\n")]);
        let shelves = Shelves::new(storage.library(), Indexes::Folder(None), || 7);
        let never = || false;
        // Nothing is open that could be behind.
        shelves.changed("lab");
        assert!(shelves.opened("lab").is_none());
        shelves.refresh("lab", &never).expect("it is opened");
        storage.write("lab", "b.md", b"# Quince\n\nA quince is yellow.\n");
        let cancelled = shelves.refresh("lab", &|| true);
        assert_eq!(cancelled, Err(LibraryError::Cancelled));
        shelves.refresh("lab", &never).expect("it is compared");
        let found = shelves.search("lab", &asked("quince"), 10, &never);
        let hit = &found.expect("it is searched").hits[0];
        let quote = shelves.quote(&hit.id, 100).expect("it is there");
        assert_eq!(
            (quote.text.as_str(), quote.verified_at),
            ("A quince is yellow.", 7)
        );
        let gone = shelves.refresh("gone", &never);
        assert_eq!(gone, Err(LibraryError::CollectionNotFound));
    }

    #[test]
    fn a_collection_is_opened_once_and_the_least_used_one_makes_room() {
        let names: Vec<String> = (0..MOST_OPEN).map(|number| number.to_string()).collect();
        let mut files = vec![("a", "n.md", "x"), ("b", "n.md", "x")];
        files.extend(names.iter().map(|name| (name.as_str(), "n.md", "x")));
        let shelves = Shelves::new(Memory::shared(&files), Indexes::Folder(None), || 0);
        assert!(shelves.shelf("gone", &|| false).is_err());
        assert!(shelves.opened("a").is_none());
        let shelf = shelves.shelf("a", &|| false).expect("it opens");
        assert!(Arc::ptr_eq(
            &shelf,
            &shelves.shelf("a", &|| false).expect("it is open")
        ));
        for number in 0..MOST_OPEN - 1 {
            shelves
                .shelf(&number.to_string(), &|| false)
                .expect("it opens");
        }
        // Used again, so another one makes room.
        shelves.shelf("a", &|| false).expect("it is open");
        shelves.shelf("b", &|| false).expect("it opens");
        assert!(shelves.opened("a").is_some());
        assert!(shelves.opened("0").is_none());
        shelves.forget("a");
        assert!(shelves.opened("a").is_none());
    }
}
