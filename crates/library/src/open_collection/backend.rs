//! An index that a backend keeps for several processes.
//!
//! The operator of the library keeps it up to date; this process only checks in the background whether it is stale.

use std::sync::Arc;

use parking_lot::Mutex;
use sectile_markdown::{NotePath, Span};

use crate::{
    error::{FailedPart, LibraryError},
    left_out::{LeftOutNotebook, WhyLeftOut},
    library::Library,
    open_collection::{Backend, CollectionIndex, IndexState},
    query::SearchQuery,
    storage::{
        BackendState, IndexedNotebook, LocatedChunk, LocatedHits, NotebookFile, StorageError,
        VectorQuery, VectorSearch,
    },
};

pub(super) struct BackendIndex {
    library: Arc<Library>,
    collection: String,
    backend: Arc<dyn VectorSearch>,
    last: Mutex<LastSeenState>,
}

/// The state seen last.
#[derive(Clone)]
struct LastSeenState {
    state: BackendState,
    /// Number of notebooks that differ from what is indexed; `None` before the first comparison.
    changed: Option<usize>,
    /// Notebooks that are too large to be indexed; `None` before the first comparison.
    left_out: Option<Arc<Vec<LeftOutNotebook>>>,
}

impl BackendIndex {
    pub(super) fn open(
        library: Arc<Library>,
        collection: &str,
        backend: Arc<dyn VectorSearch>,
    ) -> Result<Self, LibraryError> {
        let state = backend
            .state(collection)
            .map_err(|error| explained(&library, backend.as_ref(), collection, error))?;
        let last = LastSeenState {
            state,
            changed: None,
            left_out: None,
        };
        Ok(Self {
            library,
            collection: collection.to_owned(),
            backend,
            last: Mutex::new(last),
        })
    }

    fn explained(&self, error: StorageError) -> LibraryError {
        explained(
            &self.library,
            self.backend.as_ref(),
            &self.collection,
            error,
        )
    }
}

/// Converts an error. A collection that exists in the library but not in the index is not a missing collection.
fn explained(
    library: &Library,
    backend: &dyn VectorSearch,
    collection: &str,
    error: StorageError,
) -> LibraryError {
    if error != StorageError::CollectionNotFound {
        return LibraryError::of_storage(error, FailedPart::Index(backend.kind()));
    }
    match library.require(collection) {
        Ok(()) => LibraryError::Failed {
            at: FailedPart::Index(backend.kind()),
            message: format!(
                "The shared index does not have this collection. The operator of this server can add it with `sectile notebook index --to {}`.",
                backend.name()
            ),
        },
        Err(error) => error,
    }
}

impl CollectionIndex for BackendIndex {
    fn state(&self) -> IndexState {
        let last = self.last.lock().clone();
        IndexState {
            as_of: last.state.as_of,
            on_disk: true,
            backend: Some(Backend {
                name: self.backend.name(),
                is_exact: last.state.is_exact,
            }),
            changed: last.changed,
            unseen: last.state.unseen,
            left_out: last.left_out,
            semantic: true,
            tier: last.state.tier,
            model: last.state.model,
        }
    }

    fn refresh(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        let listed = self.library.notebooks(&self.collection, stop)?;
        let (listed, left_out) = sorted_by_size(listed, self.library.max_notebook_bytes());
        let entries = self.backend.entries(&self.collection);
        let entries = entries.map_err(|error| self.explained(error))?;
        let changed = differences(&listed, &entries);
        let state = self.backend.state(&self.collection);
        let state = state.map_err(|error| self.explained(error))?;
        *self.last.lock() = LastSeenState {
            state,
            changed: Some(changed),
            left_out: Some(Arc::new(left_out)),
        };
        Ok(())
    }

    fn search(
        &self,
        query: &SearchQuery,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<(LocatedHits, IndexState), LibraryError> {
        let found = self.backend.search(&VectorQuery {
            collection: &self.collection,
            query,
            most,
            stop,
        });
        let found = found.map_err(|error| self.explained(error))?;
        let mut last = self.last.lock();
        if last.state.as_of != found.state.as_of {
            // The count belongs to another state.
            last.changed = None;
        }
        last.state = found.state;
        drop(last);
        Ok((found, self.state()))
    }

    /// The caller reads the notebook anyway, which yields the same without a request to the backend.
    fn chunk_at(&self, _: &NotePath, _: Span) -> Option<LocatedChunk> {
        None
    }

    fn chunks_with(&self, digits: &str) -> Result<Vec<LocatedChunk>, LibraryError> {
        let found = self.backend.chunks_with(&self.collection, digits);
        found.map_err(|error| self.explained(error))
    }
}

/// Separates notebooks that can be indexed from those that are too large.
fn sorted_by_size(
    listed: Vec<NotebookFile>,
    max_notebook_bytes: u64,
) -> (Vec<NotebookFile>, Vec<LeftOutNotebook>) {
    let (large, listed): (Vec<NotebookFile>, Vec<NotebookFile>) = listed
        .into_iter()
        .partition(|one| one.stamp.bytes > max_notebook_bytes);
    let large = large.into_iter().map(|one| LeftOutNotebook {
        notebook: one.notebook,
        why: WhyLeftOut::TooLarge,
    });
    (listed, large.collect())
}

/// Counts the notebooks that are listed but not indexed in their current state, or indexed but not listed. Both lists
/// are sorted by path.
fn differences(listed: &[NotebookFile], entries: &[IndexedNotebook]) -> usize {
    let mut known = entries.iter().peekable();
    let mut differences = 0;
    for one in listed {
        while known
            .next_if(|known| known.notebook < one.notebook)
            .is_some()
        {
            differences += 1;
        }
        let same = known.next_if(|known| known.notebook == one.notebook);
        differences += usize::from(same.is_none_or(|same| same.stamp != one.stamp.state));
    }
    differences + known.count()
}

#[cfg(test)]
mod tests {
    use crate::{open_collection::backend::*, storage::NotebookStamp};
    use sectile_markdown::Digest;

    #[test]
    fn what_differs_is_counted_once() {
        let path = |name: &str| NotePath::parse_vault(name).unwrap();
        let listed = |name: &str, state: u64| NotebookFile {
            notebook: path(name),
            stamp: NotebookStamp {
                state: [state; 4],
                ..NotebookStamp::default()
            },
        };
        let indexed = |name: &str, state: u64| IndexedNotebook {
            notebook: path(name),
            stamp: [state; 4],
            digest: Digest::of(b""),
        };
        let now = [listed("a.md", 1), listed("c.md", 2), listed("d.md", 1)];
        assert_eq!(differences(&now, &[]), 3);
        assert_eq!(differences(&[], &[indexed("x.md", 1)]), 1);
        let index = [indexed("a.md", 1), indexed("b.md", 1), indexed("c.md", 1)];
        // `b.md` is gone, `c.md` has changed, and `d.md` is new.
        assert_eq!(differences(&now, &index), 3);
    }

    #[test]
    fn a_notebook_too_large_for_a_shared_index_is_left_out_and_not_counted_as_changed() {
        let path = |name: &str| NotePath::parse_vault(name).unwrap();
        let listed = |name: &str, bytes: u64| NotebookFile {
            notebook: path(name),
            stamp: NotebookStamp {
                bytes,
                state: [bytes; 4],
                ..NotebookStamp::default()
            },
        };
        let now = vec![listed("a.md", 100), listed("b.md", 101), listed("c.md", 1)];
        let (small, left_out) = sorted_by_size(now, 100);
        let large = LeftOutNotebook {
            notebook: path("b.md"),
            why: WhyLeftOut::TooLarge,
        };
        assert_eq!(left_out, [large]);
        let indexed = |name: &str, bytes: u64| IndexedNotebook {
            notebook: path(name),
            stamp: [bytes; 4],
            digest: Digest::of(b""),
        };
        let index = [indexed("a.md", 100), indexed("c.md", 1)];
        assert_eq!(differences(&small, &index), 0);
    }
}
