//! Collections of notes: an index of each that is kept fresh, quotes that prove themselves, and what was derived from them.
//!
//! It knows `sectile-vault` (files), `sectile-retrieval` (search) and `sectile-markdown` (sections), and no protocol.

pub mod artifacts;
pub mod clock;
pub mod collection;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
pub mod facts;
pub mod filling;
pub mod folder;
pub mod ids;
pub mod indexing;
pub mod left_out;
pub mod library;
pub mod provenance;
pub mod publishing;
mod query;
pub mod quote;
pub mod shelf;
pub mod shelves;
mod storage;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tiers;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use self::error::{FailedPart, Gone, LibraryError};
pub use self::query::SearchQuery;
pub use self::storage::{
    ARTIFACTS, ArtifactStorage, Change, IndexedNotebook, Listed, Located, LocatedHit, LocatedHits,
    NotebookStorage, Question, SharedState, Stamp, StorageError, StorageLimit, TOP, VectorIndexing,
    VectorSearch, is_at_top, is_collection_name, is_notebook,
};

/// What a mutex guards, also when somebody panicked with it: everything here is replaced as a whole.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
