//! The state of an index at one moment: what is on disk, and what changed since, in memory.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use sectile_markdown::Digest;
use sectile_retrieval::{Bytes, Corpus, Listed, Located, Place, Segment, Store, Stored};
use sectile_vault::NotePath;

use super::{
    super::{
        clock::Clock,
        errors::NotebookError,
        indexing::{Job, NOWHERE, Outcome, Wanted, build},
        library::Library,
        tiers::{Models, Tier},
    },
    IndexState,
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
    ) -> Result<Self, NotebookError> {
        let empty = Self {
            corpus: Arc::new(Corpus::new(Vec::new(), &[])),
            notebooks: Arc::default(),
            as_of: clock(),
            on_disk: false,
            changed: None,
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
    ) -> Result<Self, NotebookError> {
        if self.changes(listed).is_empty() {
            return Ok(self.with_changed(0));
        }
        if self.segments.len() - self.disk_segments < MOST_IN_MEMORY {
            return self.with(storage, collection, listed, &|| false);
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
        fewer.with(storage, collection, listed, &|| false)
    }

    fn with(
        &self,
        storage: &Library,
        collection: &str,
        listed: &[Listed],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, NotebookError> {
        let known: Vec<Option<&Notebook>> = listed
            .iter()
            .map(|one| self.position(&one.notebook).map(|at| &self.notebooks[at]))
            .collect();
        let is_current = |one: &Listed, known: &Option<&Notebook>| {
            known.is_some_and(|known| known.stamp == one.stamp.state)
        };
        let wanted: Vec<Wanted<'_>> = listed
            .iter()
            .zip(&known)
            .filter(|(one, known)| !is_current(one, known))
            .map(|(listed, known)| Wanted {
                listed,
                known: known.map(|known| known.digest),
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
                NotebookError::UpstreamFailure {
                    message: format!("The index in memory cannot be used: {error}."),
                }
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
                    _ => None,
                }
            }
            .unwrap_or((Digest::of(b""), NOWHERE));
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

/// What `work` comes to, or `None` when it panicked. The library that reads the dictionaries of an index may do so when they
/// have their checksums and were made to do harm.
pub(in super::super) fn unharmed<T>(work: impl FnOnce() -> T) -> Option<T> {
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
