//! The state of an index at one moment: what is on disk, and what changed since, in memory.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Bytes, Corpus, Place, Segment, Store, Stored};

use crate::{
    clock::Clock,
    error::LibraryError,
    indexing::{Job, Outcome, Wanted, build, may_be_readable_now, nowhere, why_nowhere},
    left_out::{LeftOut, WhyLeftOut},
    library::Library,
    shelf::IndexState,
    storage::{Listed, Located},
    tiers::{Models, Tier},
};

/// More segments in memory than this become one.
const MOST_IN_MEMORY: usize = 8;

/// The state of an index at one moment.
pub(super) struct Snapshot {
    pub(super) corpus: Arc<Corpus>,
    /// In the order of the documents of the corpus.
    pub(super) notebooks: Arc<Vec<Notebook>>,
    pub(super) as_of: i64,
    pub(super) on_disk: bool,
    /// Notebooks that changed and are not indexed yet; `None` when that was not looked at.
    pub(super) changed: Option<usize>,
    /// Notebooks that nothing is indexed of, in order.
    pub(super) left_out: Arc<Vec<LeftOut>>,
    pub(super) models: Models,
    pub(super) segments: Vec<Segment>,
    /// The first of these with the vectors of the second tier, at least those on disk; `None` when these are not complete.
    pub(super) meant: Option<Vec<Segment>>,
    /// How many of the segments are on disk. They come first.
    pub(super) disk_segments: usize,
    /// The names of those.
    pub(super) names: Vec<String>,
    /// What the state on disk was.
    pub(super) manifest: Option<Digest>,
}

/// A notebook that is indexed.
#[derive(Clone)]
pub(super) struct Notebook {
    pub(super) notebook: NotePath,
    pub(super) digest: Digest,
    stamp: [u64; 4],
    pub(super) place: Place,
}

impl Snapshot {
    /// What is on disk, if there is something that can be used. It was compared with its checksums then.
    pub(super) fn of_disk(folder: Option<&Path>, collection: &str, models: Models) -> Option<Self> {
        let opened = unharmed(|| Self::opened(folder, collection, models));
        opened.unwrap_or_else(|| {
            tracing::warn!("the index is not used");
            None
        })
    }

    fn opened(folder: Option<&Path>, collection: &str, models: Models) -> Option<Self> {
        let store = Store::at(folder?).ok().flatten()?;
        let stored = match store.read(Some(models.first)) {
            Ok(stored) => stored?,
            Err(error) => {
                tracing::warn!(%error, "the index is not used");
                return None;
            }
        };
        let snapshot = (stored.manifest.name == collection).then(|| Self::of(stored, models))?;
        Some(match snapshot.on_second_tier(&store) {
            Some(meant) => snapshot.with_meant(Some(meant)),
            None => snapshot,
        })
    }

    fn of(stored: Stored, models: Models) -> Self {
        let entries = stored.manifest.entries.iter();
        let notebooks: Vec<Notebook> = entries
            .filter_map(|entry| {
                Some(Notebook {
                    notebook: NotePath::parse_vault(&entry.name).ok()?,
                    digest: entry.digest,
                    stamp: entry.stamp,
                    place: entry.place,
                })
            })
            .collect();
        Self {
            left_out: Arc::new(without_a_place(&notebooks)),
            corpus: corpus(&stored.segments, None, &notebooks),
            models,
            meant: None,
            as_of: stored.manifest.made_at,
            on_disk: true,
            changed: None,
            disk_segments: stored.segments.len(),
            names: stored.manifest.segments,
            segments: stored.segments,
            manifest: Some(stored.state),
            notebooks: Arc::new(notebooks),
        }
    }

    /// Everything, indexed in memory.
    pub(super) fn in_memory(
        storage: &Library,
        collection: &str,
        models: Models,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let empty = Self {
            corpus: Arc::new(Corpus::new(Vec::new(), &[])),
            notebooks: Arc::default(),
            as_of: clock(),
            on_disk: false,
            changed: None,
            left_out: Arc::default(),
            models,
            segments: Vec::new(),
            meant: None,
            disk_segments: 0,
            names: Vec::new(),
            manifest: None,
        };
        let listed = storage.notebooks(collection, stop)?;
        empty.with(storage, collection, &listed, stop)
    }

    pub(super) fn state(&self) -> IndexState {
        IndexState {
            as_of: self.as_of,
            on_disk: self.on_disk,
            backend: None,
            changed: self.changed,
            left_out: Some(Arc::clone(&self.left_out)),
            semantic: true,
            tier: match self.is_meant() {
                true => Tier::Transformer,
                false => Tier::Static,
            },
            model: self.model().name(),
        }
    }

    /// What tells the state that is on disk now from others, if there is one.
    pub(super) fn state_on_disk(folder: Option<&Path>) -> Option<Digest> {
        Store::at(folder?).ok().flatten()?.state().ok().flatten()
    }

    /// A chunk, and where it is.
    pub(super) fn located(&self, chunk: usize) -> Option<Located> {
        let notebook = self.notebooks.get(self.corpus.document_of(chunk))?;
        Some(Located {
            notebook: notebook.notebook.clone(),
            notebook_digest: notebook.digest,
            chunk: self.corpus.chunk(chunk)?,
            path: self.corpus.path(chunk)?,
        })
    }

    /// Where a notebook is among those that are indexed.
    pub(super) fn position(&self, notebook: &NotePath) -> Option<usize> {
        self.notebooks
            .binary_search_by(|known| known.notebook.cmp(notebook))
            .ok()
    }

    /// What is listed and not indexed as it is, and what is indexed and not listed: names, in no particular order.
    pub(super) fn changes<'a>(&'a self, listed: &'a [Listed]) -> Vec<&'a NotePath> {
        let mut known = self.notebooks.iter().peekable();
        let mut changes = Vec::new();
        for one in listed {
            while let Some(gone) = known.next_if(|known| known.notebook < one.notebook) {
                changes.push(&gone.notebook);
            }
            let same = known.next_if(|known| known.notebook == one.notebook);
            if same.is_none_or(|same| same.stamp != one.stamp.state) {
                changes.push(&one.notebook);
            }
        }
        changes.extend(known.map(|gone| &gone.notebook));
        changes
    }

    /// The same, with what is known to have changed.
    pub(super) fn with_changed(&self, changed: usize) -> Self {
        Self {
            corpus: Arc::clone(&self.corpus),
            notebooks: Arc::clone(&self.notebooks),
            segments: self.segments.clone(),
            meant: self.meant.clone(),
            names: self.names.clone(),
            left_out: Arc::clone(&self.left_out),
            changed: Some(changed),
            ..*self
        }
    }

    /// The state with everything indexed that is listed.
    pub(super) fn refreshed(
        &self,
        storage: &Library,
        collection: &str,
        listed: &[Listed],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let max_notebook_bytes = storage.max_notebook_bytes();
        if self.changes(listed).is_empty() && !self.may_read_more(listed, max_notebook_bytes) {
            return Ok(Self {
                left_out: Arc::new(left_out(&self.notebooks, listed, max_notebook_bytes)),
                ..self.with_changed(0)
            });
        }
        if self.segments.len() - self.disk_segments < MOST_IN_MEMORY {
            return self.with(storage, collection, listed, stop);
        }
        // What is in memory is indexed again, into one segment.
        let mut fewer = self.with_changed(0);
        fewer.segments.truncate(self.disk_segments);
        if let Some(meant) = &mut fewer.meant {
            meant.truncate(self.disk_segments);
        }
        let on_disk = self.notebooks.iter();
        let on_disk = on_disk.filter(|known| known.place.segment < self.disk_segments);
        fewer.notebooks = Arc::new(on_disk.cloned().collect());
        fewer.with(storage, collection, listed, stop)
    }

    /// Whether a notebook that could not be read may be now. Both lists have the same notebooks.
    fn may_read_more(&self, listed: &[Listed], max_notebook_bytes: u64) -> bool {
        let mut pairs = self.notebooks.iter().zip(listed);
        pairs.any(|(known, one)| may_be_readable_now(known.place, one, max_notebook_bytes))
    }

    fn with(
        &self,
        storage: &Library,
        collection: &str,
        listed: &[Listed],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let known: Vec<Option<&Notebook>> = listed
            .iter()
            .map(|one| self.position(&one.notebook).map(|at| &self.notebooks[at]))
            .collect();
        let is_current = |one: &Listed, known: &Option<&Notebook>| {
            known.is_some_and(|known| {
                known.stamp == one.stamp.state
                    && !may_be_readable_now(known.place, one, storage.max_notebook_bytes())
            })
        };
        let wanted: Vec<Wanted<'_>> = listed
            .iter()
            .zip(&known)
            .filter(|(one, known)| !is_current(one, known))
            .map(|(listed, known)| Wanted {
                listed,
                known: known
                    .filter(|known| why_nowhere(known.place).is_none())
                    .map(|known| known.digest),
            })
            .collect();
        let job = Job {
            storage,
            collection,
            embedder: self.models.first,
            stop,
            progress: &|| {},
        };
        let open = |file: Vec<u8>| {
            Segment::open(&Bytes::new(file), Some(self.models.first)).map_err(|error| {
                LibraryError::of_process(format!("The index in memory cannot be used: {error}."))
            })
        };
        let (new, outcomes) = build(job, &wanted, open)?;
        let mut outcomes = outcomes.into_iter();
        let mut notebooks = Vec::with_capacity(listed.len());
        for (one, known) in listed.iter().zip(known) {
            let (digest, place) = if is_current(one, &known) {
                known.map(|known| (known.digest, known.place))
            } else {
                match (outcomes.next(), known) {
                    (Some(Outcome::Same), Some(known)) => Some((known.digest, known.place)),
                    (Some(Outcome::Indexed { digest, place, .. }), _) => {
                        let segment = self.segments.len() + place.segment;
                        Some((digest, Place { segment, ..place }))
                    }
                    (Some(Outcome::LeftOut(why)), _) => Some((Digest::of(b""), nowhere(why))),
                    _ => None,
                }
            }
            .unwrap_or_else(|| (Digest::of(b""), nowhere(WhyLeftOut::Unreadable)));
            notebooks.push(Notebook {
                notebook: one.notebook.clone(),
                digest,
                stamp: one.stamp.state,
                place,
            });
        }
        let mut segments = self.segments.clone();
        segments.extend(new);
        Ok(Self {
            left_out: Arc::new(left_out(&notebooks, listed, storage.max_notebook_bytes())),
            corpus: corpus(&segments, self.meant.as_deref(), &notebooks),
            notebooks: Arc::new(notebooks),
            segments,
            meant: self.meant.clone(),
            names: self.names.clone(),
            changed: Some(0),
            ..*self
        })
    }
}

/// Notebooks that nothing is indexed of.
fn without_a_place(notebooks: &[Notebook]) -> Vec<LeftOut> {
    let left_out = notebooks.iter().filter_map(|known| {
        Some(LeftOut {
            notebook: known.notebook.clone(),
            why: why_nowhere(known.place)?,
        })
    });
    left_out.collect()
}

/// The same as they are listed now: one that is too large by now is never quoted, even if it is indexed. Both lists have the
/// same notebooks.
fn left_out(notebooks: &[Notebook], listed: &[Listed], max_notebook_bytes: u64) -> Vec<LeftOut> {
    let left_out = notebooks.iter().zip(listed).filter_map(|(known, one)| {
        let now = WhyLeftOut::of(one, max_notebook_bytes);
        let is_left_out = now == WhyLeftOut::TooLarge || why_nowhere(known.place).is_some();
        is_left_out.then(|| LeftOut {
            notebook: known.notebook.clone(),
            why: now,
        })
    });
    left_out.collect()
}

/// What `work` comes to, or `None` when it panicked. The library that reads the dictionaries of an index may do so when they
/// have their checksums and were made to do harm.
pub(crate) fn unharmed<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// What is searched: the second tier when all segments have it, or else the first.
pub(super) fn corpus(
    segments: &[Segment],
    meant: Option<&[Segment]>,
    notebooks: &[Notebook],
) -> Arc<Corpus> {
    let places: Vec<Place> = notebooks.iter().map(|known| known.place).collect();
    let meant = meant.filter(|meant| meant.len() == segments.len());
    Arc::new(Corpus::new(meant.unwrap_or(segments).to_vec(), &places))
}
