//! The state of an index at one moment: segments on disk, and later changes in memory.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Bytes, Corpus, DocumentLocation, OpenIndex, Segment, Store};

use crate::{
    clock::Clock,
    error::LibraryError,
    indexing::{
        Job, NotebookCandidate, NotebookOutcome, build, may_be_readable_now, nowhere, why_nowhere,
    },
    left_out::{LeftOutNotebook, WhyLeftOut},
    library::Library,
    open_collection::IndexState,
    storage::{LocatedChunk, NotebookFile},
    tiers::{Models, Tier},
};

/// The most small segments in memory; more are merged into one.
const MOST_IN_MEMORY: usize = 8;
/// Segments in memory with this many live chunks are not merged: a merge reads and embeds again, and its cost must not
/// grow with the collection. The segments that a large collection is built from have more.
const LARGE: usize = 512;

/// The state of an index at one moment.
#[derive(Clone)]
pub(crate) struct Snapshot {
    /// The documents with the vectors of the first tier.
    pub(crate) corpus: Arc<Corpus>,
    /// The same documents with those of the second tier, if it covers all of them.
    pub(crate) second_corpus: Option<Arc<Corpus>>,
    /// In the order of the documents in the corpus.
    pub(crate) notebooks: Arc<Vec<SnapshotNotebook>>,
    pub(crate) as_of: i64,
    pub(crate) on_disk: bool,
    /// Number of notebooks that have changed and are not indexed yet; `None` before the first comparison.
    pub(crate) changed: Option<usize>,
    /// Notebooks that are not indexed, in order.
    pub(crate) left_out: Arc<Vec<LeftOutNotebook>>,
    pub(crate) models: Models,
    pub(crate) segments: Vec<Segment>,
    /// The first of these segments, at least those on disk, with the vectors of the second tier; `None` if incomplete.
    pub(crate) second_tier: Option<Vec<Segment>>,
    /// Number of segments on disk, which come first.
    pub(crate) disk_segments: usize,
    /// Their names.
    pub(crate) names: Vec<String>,
    /// The state of the disk when it was read.
    pub(crate) manifest: Option<Digest>,
}

/// An indexed notebook.
#[derive(Clone)]
pub(crate) struct SnapshotNotebook {
    pub(crate) notebook: NotePath,
    pub(crate) digest: Digest,
    pub(crate) stamp: [u64; 4],
    pub(crate) place: DocumentLocation,
}

impl Snapshot {
    /// Reads the index on disk, verified against its checksums, if there is a usable one.
    pub(crate) fn of_disk(folder: Option<&Path>, collection: &str, models: Models) -> Option<Self> {
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
            Some(second_tier) => snapshot.with_second_tier(Some(second_tier)),
            None => snapshot,
        })
    }

    fn of(stored: OpenIndex, models: Models) -> Self {
        let entries = stored.manifest.entries.iter();
        let notebooks: Vec<SnapshotNotebook> = entries
            .filter_map(|entry| {
                Some(SnapshotNotebook {
                    notebook: NotePath::parse_vault(&entry.name).ok()?,
                    digest: entry.digest,
                    stamp: entry.stamp,
                    place: entry.place,
                })
            })
            .collect();
        Self {
            left_out: Arc::new(without_a_place(&notebooks)),
            corpus: corpus(&stored.segments, &notebooks),
            second_corpus: None,
            models,
            second_tier: None,
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

    /// Returns the state of an index without notebooks.
    pub(crate) fn empty(models: Models, as_of: i64) -> Self {
        Self {
            corpus: Arc::new(Corpus::new(Vec::new(), &[])),
            second_corpus: None,
            notebooks: Arc::default(),
            as_of,
            on_disk: false,
            changed: None,
            left_out: Arc::default(),
            models,
            segments: Vec::new(),
            second_tier: None,
            disk_segments: 0,
            names: Vec::new(),
            manifest: None,
        }
    }

    /// Indexes everything in memory.
    pub(crate) fn in_memory(
        storage: &Library,
        collection: &str,
        models: Models,
        clock: Clock,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let empty = Self::empty(models, clock());
        let listed = storage.notebooks(collection, stop)?;
        empty.with(storage, collection, &listed, stop)
    }

    pub(crate) fn state(&self) -> IndexState {
        IndexState {
            as_of: self.as_of,
            on_disk: self.on_disk,
            backend: None,
            changed: self.changed,
            unseen: 0,
            left_out: Some(Arc::clone(&self.left_out)),
            semantic: true,
            tier: match self.has_second_tier() {
                true => Tier::Transformer,
                false => Tier::Static,
            },
            model: self.model().name(),
        }
    }

    /// Returns a digest that identifies the state on disk, if there is one.
    pub(crate) fn state_on_disk(folder: Option<&Path>) -> Option<Digest> {
        Store::at(folder?).ok().flatten()?.state().ok().flatten()
    }

    /// Returns a chunk with its location.
    pub(crate) fn located(&self, chunk: usize) -> Option<LocatedChunk> {
        let notebook = self.notebooks.get(self.corpus.document_of(chunk))?;
        Some(LocatedChunk {
            notebook: notebook.notebook.clone(),
            notebook_digest: notebook.digest,
            chunk: self.corpus.chunk(chunk)?,
            path: self.corpus.path(chunk)?,
        })
    }

    /// Returns the position of a notebook among the indexed ones.
    pub(crate) fn position(&self, notebook: &NotePath) -> Option<usize> {
        self.notebooks
            .binary_search_by(|known| known.notebook.cmp(notebook))
            .ok()
    }

    /// Returns the notebooks that are listed but not indexed in their current state, or indexed but not listed, in no
    /// particular order.
    pub(crate) fn changes<'a>(&'a self, listed: &'a [NotebookFile]) -> Vec<&'a NotePath> {
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

    /// Returns the snapshot with another number of changed notebooks.
    pub(crate) fn with_changed(&self, changed: usize) -> Self {
        Self {
            changed: Some(changed),
            ..self.clone()
        }
    }

    /// Returns the snapshot with everything indexed that is listed.
    pub(crate) fn refreshed(
        &self,
        storage: &Library,
        collection: &str,
        listed: &[NotebookFile],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let max_notebook_bytes = storage.max_notebook_bytes();
        if self.changes(listed).is_empty() && !self.may_read_more(listed, max_notebook_bytes) {
            return Ok(Self {
                left_out: Arc::new(left_out(&self.notebooks, listed, max_notebook_bytes)),
                ..self.with_changed(0)
            });
        }
        let kept = self.kept_segments();
        if self.segments.len() - kept < MOST_IN_MEMORY {
            return self.with(storage, collection, listed, stop);
        }
        // The others are indexed again, into one segment.
        let mut fewer = self.with_changed(0);
        fewer.segments.truncate(kept);
        if let Some(second_tier) = &mut fewer.second_tier {
            second_tier.truncate(kept);
        }
        let notebooks = self.notebooks.iter();
        let notebooks = notebooks.filter(|known| known.place.segment < kept);
        fewer.notebooks = Arc::new(notebooks.cloned().collect());
        fewer.with(storage, collection, listed, stop)
    }

    /// Returns the number of leading segments that are never merged: those on disk, and the large ones that follow.
    fn kept_segments(&self) -> usize {
        let mut live = vec![0; self.segments.len()];
        for SnapshotNotebook { place, .. } in self.notebooks.iter() {
            if let Some(segment) = self.segments.get(place.segment) {
                live[place.segment] += segment.chunks_of(place.document).len();
            }
        }
        let in_memory = live.iter().skip(self.disk_segments);
        self.disk_segments + in_memory.take_while(|live| **live >= LARGE).count()
    }

    /// Returns whether a notebook that could not be read may be readable now. Both lists have the same notebooks.
    fn may_read_more(&self, listed: &[NotebookFile], max_notebook_bytes: u64) -> bool {
        let mut pairs = self.notebooks.iter().zip(listed);
        pairs.any(|(known, one)| may_be_readable_now(known.place, one, max_notebook_bytes))
    }

    fn with(
        &self,
        storage: &Library,
        collection: &str,
        listed: &[NotebookFile],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, LibraryError> {
        let known: Vec<Option<&SnapshotNotebook>> = listed
            .iter()
            .map(|one| self.position(&one.notebook).map(|at| &self.notebooks[at]))
            .collect();
        let is_current = |one: &NotebookFile, known: &Option<&SnapshotNotebook>| {
            known.is_some_and(|known| {
                known.stamp == one.stamp.state
                    && !may_be_readable_now(known.place, one, storage.max_notebook_bytes())
            })
        };
        let wanted: Vec<NotebookCandidate<'_>> = listed
            .iter()
            .zip(&known)
            .filter(|(one, known)| !is_current(one, known))
            .map(|(listed, known)| NotebookCandidate {
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
                    (Some(NotebookOutcome::Same), Some(known)) => Some((known.digest, known.place)),
                    (Some(NotebookOutcome::Indexed { digest, place, .. }), _) => {
                        let segment = self.segments.len() + place.segment;
                        Some((digest, DocumentLocation { segment, ..place }))
                    }
                    (Some(NotebookOutcome::LeftOut(why)), _) => {
                        Some((Digest::of(b""), nowhere(why)))
                    }
                    _ => None,
                }
            }
            .unwrap_or_else(|| (Digest::of(b""), nowhere(WhyLeftOut::Unreadable)));
            notebooks.push(SnapshotNotebook {
                notebook: one.notebook.clone(),
                digest,
                stamp: one.stamp.state,
                place,
            });
        }
        let mut segments = self.segments.clone();
        segments.extend(new);
        let changed = Self {
            left_out: Arc::new(left_out(&notebooks, listed, storage.max_notebook_bytes())),
            corpus: corpus(&segments, &notebooks),
            notebooks: Arc::new(notebooks),
            segments,
            changed: Some(0),
            ..self.clone()
        };
        let second_tier = changed.second_tier.clone();
        Ok(changed.with_second_tier(second_tier))
    }
}

/// Returns the notebooks that are not indexed.
fn without_a_place(notebooks: &[SnapshotNotebook]) -> Vec<LeftOutNotebook> {
    let left_out = notebooks.iter().filter_map(|known| {
        Some(LeftOutNotebook {
            notebook: known.notebook.clone(),
            why: why_nowhere(known.place)?,
        })
    });
    left_out.collect()
}

/// Returns the notebooks that cannot be searched now: one that has become too large is never quoted, even if it is
/// indexed. Both lists have the same notebooks.
fn left_out(
    notebooks: &[SnapshotNotebook],
    listed: &[NotebookFile],
    max_notebook_bytes: u64,
) -> Vec<LeftOutNotebook> {
    let left_out = notebooks.iter().zip(listed).filter_map(|(known, one)| {
        let now = WhyLeftOut::of(one, max_notebook_bytes);
        let is_left_out = now == WhyLeftOut::TooLarge || why_nowhere(known.place).is_some();
        is_left_out.then(|| LeftOutNotebook {
            notebook: known.notebook.clone(),
            why: now,
        })
    });
    left_out.collect()
}

/// Returns the result of `work`, or `None` if it panicked. The crate that reads the dictionaries of an index may panic
/// on crafted ones with valid checksums.
pub(crate) fn unharmed<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Returns the corpus of these notebooks.
pub(super) fn corpus(segments: &[Segment], notebooks: &[SnapshotNotebook]) -> Arc<Corpus> {
    Arc::new(Corpus::new(segments.to_vec(), &places(notebooks)))
}

fn places(notebooks: &[SnapshotNotebook]) -> Vec<DocumentLocation> {
    notebooks.iter().map(|known| known.place).collect()
}

/// A segment, and its name if it is on disk.
pub(crate) type NamedSegment = (Segment, Option<String>);

impl Snapshot {
    /// Returns the documents with the vectors of the tier that answers.
    pub(crate) fn answering(&self) -> &Corpus {
        self.second_corpus.as_ref().unwrap_or(&self.corpus)
    }

    /// Changes a few notebooks. `changes` are sorted by path, and `None` removes one; places refer to the present
    /// segments followed by `added`, which are in memory. Segments in memory that have no notebook afterwards are dropped,
    /// so that a note that is edited again and again has one. The cost does not grow with the number of chunks.
    pub(crate) fn apply(
        &mut self,
        changes: Vec<(NotePath, Option<SnapshotNotebook>)>,
        added: Vec<Segment>,
    ) {
        let mut left = Vec::new();
        for (path, now) in &changes {
            let before = self.position(path).map(|at| self.notebooks[at].place);
            if before != now.as_ref().map(|now| now.place) {
                left.push(before.map_or(usize::MAX, |before| before.segment));
            }
        }
        let is_only_touched = added.is_empty() && left.is_empty();
        let notebooks = Arc::make_mut(&mut self.notebooks);
        merge_sorted(notebooks, changes, |known| &known.notebook);
        if is_only_touched {
            return;
        }
        let in_memory = self.disk_segments..self.segments.len();
        left.retain(|segment| in_memory.contains(segment));
        left.sort_unstable();
        left.dedup();
        let mut is_used = vec![left.is_empty(); self.segments.len()];
        if !left.is_empty() {
            for known in notebooks.iter() {
                if let Some(is_used) = is_used.get_mut(known.place.segment) {
                    *is_used = true;
                }
            }
        }
        left.retain(|segment| !is_used[*segment]);
        self.segments.extend(added.iter().cloned());
        let dropped = left;
        for segment in dropped.iter().rev() {
            self.segments.remove(*segment);
            if let Some(second_tier) = self.second_tier.as_mut()
                && *segment < second_tier.len()
            {
                second_tier.remove(*segment);
            }
        }
        if !dropped.is_empty() {
            for known in notebooks
                .iter_mut()
                .filter(|known| why_nowhere(known.place).is_none())
            {
                let before = dropped.partition_point(|segment| *segment < known.place.segment);
                known.place.segment -= before;
            }
        }
        let places = places(&self.notebooks);
        self.second_corpus = match (&self.second_corpus, added.is_empty()) {
            (Some(corpus), true) => {
                let corpus = corpus.with_changes(&dropped, Vec::new(), &places);
                Some(Arc::new(corpus))
            }
            _ => None,
        };
        self.corpus = Arc::new(self.corpus.with_changes(&dropped, added, &places));
    }

    /// Returns a snapshot of these notebooks, whose places refer to `segments`. Segments without a live notebook are
    /// dropped, and those on disk come first. The second tier has to be looked up again.
    pub(crate) fn assembled(
        &self,
        mut notebooks: Vec<SnapshotNotebook>,
        segments: Vec<NamedSegment>,
    ) -> Self {
        let mut is_used = vec![false; segments.len()];
        for known in &notebooks {
            if let Some(is_used) = is_used.get_mut(known.place.segment) {
                *is_used = true;
            }
        }
        let mut numbers = vec![usize::MAX; segments.len()];
        let mut kept: Vec<Segment> = Vec::new();
        let mut names = Vec::new();
        for is_on_disk in [true, false] {
            for (number, (segment, name)) in segments.iter().enumerate() {
                if is_used[number] && name.is_some() == is_on_disk {
                    numbers[number] = kept.len();
                    kept.push(segment.clone());
                    names.extend(name.clone());
                }
            }
        }
        for known in &mut notebooks {
            if let Some(number) = numbers.get(known.place.segment) {
                known.place.segment = *number;
            }
        }
        Self {
            corpus: corpus(&kept, &notebooks),
            second_corpus: None,
            second_tier: None,
            disk_segments: names.len(),
            on_disk: !names.is_empty(),
            names,
            segments: kept,
            notebooks: Arc::new(notebooks),
            ..self.clone()
        }
    }

    /// Returns the segments with their names.
    pub(crate) fn named_segments(&self) -> Vec<NamedSegment> {
        let names = self.names.iter().cloned().map(Some);
        let names = names.chain(std::iter::repeat(None));
        self.segments.iter().cloned().zip(names).collect()
    }
}

/// Puts changes into a list sorted by path. They are sorted too, and `None` removes an item.
pub(crate) fn merge_sorted<T>(
    list: &mut Vec<T>,
    changes: Vec<(NotePath, Option<T>)>,
    path_of: impl Fn(&T) -> &NotePath,
) {
    /// More than this are merged in one pass, instead of making room for each.
    const MANY: usize = 32;
    if changes.len() <= MANY {
        for (path, now) in changes {
            let at = list.binary_search_by(|known| path_of(known).cmp(&path));
            match (at, now) {
                (Ok(at), Some(now)) => list[at] = now,
                (Ok(at), None) => drop(list.remove(at)),
                (Err(at), Some(now)) => list.insert(at, now),
                (Err(_), None) => {}
            }
        }
        return;
    }
    let mut before = std::mem::take(list).into_iter().peekable();
    list.reserve(before.len() + changes.len());
    for (path, now) in changes {
        while let Some(known) = before.next_if(|known| *path_of(known) < path) {
            list.push(known);
        }
        drop(before.next_if(|known| *path_of(known) == path));
        list.extend(now);
    }
    list.extend(before);
}
