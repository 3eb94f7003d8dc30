//! The collections that are open for search. One is opened at the first call that needs it, and shared by all who entered
//! it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use sectile_retrieval::VectorSearch;

use super::{
    clock::Clock,
    errors::NotebookError,
    indexing::folder_of,
    library::Library,
    locked,
    shelf::{IndexPlace, Shelf},
    tiers::Models,
};

/// Most collections that are open at the same time.
const MOST_OPEN: usize = 8;

/// Where the indexes of a library are.
#[derive(Clone)]
pub(crate) enum Indexes {
    /// Below this folder, if there is one.
    Folder(Option<PathBuf>),
    /// In a backend.
    Shared(Arc<dyn VectorSearch>),
}

impl Indexes {
    /// That of a collection.
    pub(crate) fn of(&self, collection: &str) -> Result<IndexPlace, NotebookError> {
        let folder = match self {
            Self::Shared(backend) => return Ok(IndexPlace::Shared(Arc::clone(backend))),
            Self::Folder(folder) => folder.as_deref(),
        };
        let models = Models::built_in().map_err(|error| NotebookError::UpstreamFailure {
            message: format!("The embedding model cannot be used: {error}."),
        })?;
        let folder = folder.map(|folder| folder_of(folder, collection));
        Ok(IndexPlace::Here(folder, models))
    }
}

pub(crate) struct Shelves {
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
    /// Locked while it is being opened, so that it is opened once.
    shelf: Arc<Mutex<Option<Arc<Shelf>>>>,
}

impl Shelves {
    pub(crate) fn new(storage: Arc<Library>, indexes: Indexes, clock: Clock) -> Self {
        Self {
            storage,
            indexes,
            clock,
            open: Mutex::default(),
        }
    }

    /// The collection, opened if it is not yet.
    pub(crate) fn shelf(&self, collection: &str) -> Result<Arc<Shelf>, NotebookError> {
        let slot = self.place(collection);
        let mut slot = locked(&slot);
        if let Some(shelf) = &*slot {
            return Ok(Arc::clone(shelf));
        }
        let shelf = self.open(collection)?;
        *slot = Some(Arc::clone(&shelf));
        Ok(shelf)
    }

    fn open(&self, collection: &str) -> Result<Arc<Shelf>, NotebookError> {
        let place = self.indexes.of(collection)?;
        let library = Arc::clone(&self.storage);
        Shelf::open(library, collection, place, self.clock, &|| false)
    }

    /// Whether the indexes can be used now, as far as they are elsewhere.
    pub(crate) fn ready(&self) -> Result<(), NotebookError> {
        match &self.indexes {
            Indexes::Shared(backend) => Ok(backend.ready()?),
            Indexes::Folder(_) => Ok(()),
        }
    }

    /// The collection, if it is open already.
    pub(crate) fn opened(&self, collection: &str) -> Option<Arc<Shelf>> {
        let slot = {
            let open = locked(&self.open);
            let place = open.iter().find(|place| place.collection == collection)?;
            Arc::clone(&place.shelf)
        };
        // One that is being opened is not worth waiting for.
        slot.try_lock().ok()?.clone()
    }

    /// Forgets a collection that is no longer there.
    pub(crate) fn forget(&self, collection: &str) {
        locked(&self.open).retain(|place| place.collection != collection);
    }

    /// The place of a collection. The one that was not used for longest makes room.
    fn place(&self, collection: &str) -> Arc<Mutex<Option<Arc<Shelf>>>> {
        let mut open = locked(&self.open);
        let known = open
            .iter()
            .position(|place| place.collection == collection)
            .map(|at| open.remove(at));
        let place = known.unwrap_or_else(|| Place {
            collection: collection.to_owned(),
            shelf: Arc::default(),
        });
        let slot = Arc::clone(&place.shelf);
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        open.push(place);
        slot
    }
}

#[cfg(test)]
mod tests {
    use sectile_retrieval::{
        IndexedNotebook, Located, LocatedHits, Question, SharedState, StorageError,
    };

    use super::{super::testing::Memory, *};

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
            Err(NotebookError::UpstreamFailure { message })
        );
    }

    #[test]
    fn a_collection_is_opened_once_and_the_least_used_one_makes_room() {
        let names: Vec<String> = (0..MOST_OPEN).map(|number| number.to_string()).collect();
        let mut files = vec![("a", "n.md", "x"), ("b", "n.md", "x")];
        files.extend(names.iter().map(|name| (name.as_str(), "n.md", "x")));
        let shelves = Shelves::new(Memory::shared(&files), Indexes::Folder(None), || 0);
        assert!(shelves.shelf("gone").is_err());
        assert!(shelves.opened("a").is_none());
        let shelf = shelves.shelf("a").expect("it opens");
        assert!(Arc::ptr_eq(
            &shelf,
            &shelves.shelf("a").expect("it is open")
        ));
        for number in 0..MOST_OPEN - 1 {
            shelves.shelf(&number.to_string()).expect("it opens");
        }
        // Used again, so another one makes room.
        shelves.shelf("a").expect("it is open");
        shelves.shelf("b").expect("it opens");
        assert!(shelves.opened("a").is_some());
        assert!(shelves.opened("0").is_none());
        shelves.forget("a");
        assert!(shelves.opened("a").is_none());
    }
}
