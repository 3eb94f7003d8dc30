//! An index that a backend keeps for several processes.
//!
//! Whoever runs the library brings it up to date; this process only looks whether it is behind, off the way of searches.

use std::sync::{Arc, Mutex};

use sectile_markdown::{NotePath, Span};

use crate::{
    error::{FailedPart, LibraryError},
    left_out::{LeftOut, WhyLeftOut},
    library::Library,
    locked,
    query::SearchQuery,
    shelf::{Backend, CollectionIndex, IndexState},
    storage::{
        IndexedNotebook, Listed, Located, LocatedHits, Question, SharedState, StorageError,
        VectorSearch,
    },
    tiers::{Tier, first_model},
};

pub(super) struct Shared {
    library: Arc<Library>,
    collection: String,
    backend: Arc<dyn VectorSearch>,
    last: Mutex<Last>,
}

/// What was seen last.
#[derive(Clone)]
struct Last {
    state: SharedState,
    /// Notebooks that are not what is indexed; `None` before that was looked at.
    changed: Option<usize>,
    /// Notebooks that are too large to be indexed; `None` before that was looked at.
    left_out: Option<Arc<Vec<LeftOut>>>,
}

impl Shared {
    pub(super) fn open(
        library: Arc<Library>,
        collection: &str,
        backend: Arc<dyn VectorSearch>,
    ) -> Result<Self, LibraryError> {
        let state = backend
            .state(collection)
            .map_err(|error| explained(&library, backend.as_ref(), collection, error))?;
        let last = Last {
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

/// A collection that the library has and the index has not is no missing collection.
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
            message: "The shared index does not have this collection. Whoever runs this server can add it with `sectile notebook index --to postgres`."
                .to_owned(),
        },
        Err(error) => error,
    }
}

impl CollectionIndex for Shared {
    fn state(&self) -> IndexState {
        let last = locked(&self.last).clone();
        IndexState {
            as_of: last.state.as_of,
            on_disk: true,
            backend: Some(Backend {
                name: self.backend.name(),
                is_exact: last.state.is_exact,
            }),
            changed: last.changed,
            left_out: last.left_out,
            semantic: true,
            tier: Tier::Static,
            model: first_model(),
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
        *locked(&self.last) = Last {
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
        let found = self.backend.search(&Question {
            collection: &self.collection,
            query,
            most,
            stop,
        });
        let found = found.map_err(|error| self.explained(error))?;
        let mut last = locked(&self.last);
        if last.state.as_of != found.state.as_of {
            // What was counted is of another state.
            last.changed = None;
        }
        last.state = found.state;
        drop(last);
        Ok((found, self.state()))
    }

    /// The notebook is read anyway by whoever asks, and says the same without a question to the backend.
    fn chunk_at(&self, _: &NotePath, _: Span) -> Option<Located> {
        None
    }

    fn chunks_with(&self, digits: &str) -> Result<Vec<Located>, LibraryError> {
        let found = self.backend.chunks_with(&self.collection, digits);
        found.map_err(|error| self.explained(error))
    }
}

/// Those that can be indexed, and those that are too large.
fn sorted_by_size(listed: Vec<Listed>, max_notebook_bytes: u64) -> (Vec<Listed>, Vec<LeftOut>) {
    let (large, listed): (Vec<Listed>, Vec<Listed>) = listed
        .into_iter()
        .partition(|one| one.stamp.bytes > max_notebook_bytes);
    let large = large.into_iter().map(|one| LeftOut {
        notebook: one.notebook,
        why: WhyLeftOut::TooLarge,
    });
    (listed, large.collect())
}

/// How many notebooks are listed and not indexed as they are, or indexed and not listed. Both are sorted by path.
fn differences(listed: &[Listed], entries: &[IndexedNotebook]) -> usize {
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
    use crate::{shelf::shared::*, storage::Stamp};
    use sectile_markdown::Digest;

    #[test]
    fn what_differs_is_counted_once() {
        let path = |name: &str| NotePath::parse_vault(name).unwrap();
        let listed = |name: &str, state: u64| Listed {
            notebook: path(name),
            stamp: Stamp {
                state: [state; 4],
                ..Stamp::default()
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
        // `b.md` is gone, `c.md` is another one, and `d.md` is new.
        assert_eq!(differences(&now, &index), 3);
    }

    #[test]
    fn a_notebook_too_large_for_a_shared_index_is_left_out_and_not_counted_as_changed() {
        let path = |name: &str| NotePath::parse_vault(name).unwrap();
        let listed = |name: &str, bytes: u64| Listed {
            notebook: path(name),
            stamp: Stamp {
                bytes,
                state: [bytes; 4],
                ..Stamp::default()
            },
        };
        let now = vec![listed("a.md", 100), listed("b.md", 101), listed("c.md", 1)];
        let (small, left_out) = sorted_by_size(now, 100);
        let large = LeftOut {
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
