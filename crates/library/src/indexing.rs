//! Indexing: notebooks are read, cut into chunks and put into segments, several at a time.
//!
//! Which notebooks share a segment depends on their sizes and on the machine; answers do not depend on it.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread::Builder,
};

use parking_lot::Mutex;
use sectile_markdown::{Chunks, Digest, Document, NotePath, Source, chunks};
use sectile_retrieval::{
    Chunk, ChunkDigest, DocumentLocation, Embedder, EmbeddingReader, Manifest, ManifestEntry,
    OpenIndex, Passage, Section, Segment, SegmentBuilder, Store, StoreError,
};
use serde::Serialize;

use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    facts::notebook_facts,
    left_out::WhyLeftOut,
    library::Library,
    storage::NotebookFile,
};

/// The longest chunk in bytes: a few paragraphs, the length that answers quote. Blocks are combined up to it.
pub const LONGEST_CHUNK: usize = 2_000;
/// Bytes of notebooks in all segments under construction, about; this bounds the memory of a run. The fewer segments,
/// the less often a word is stored.
const BYTES_AT_A_TIME: u64 = 56 << 20;
/// Less than this is not divided between threads.
const LEAST_SHARED: u64 = 512 << 10;
const MOST_THREADS: usize = 8;
/// The place of a notebook that could not be read.
const NOWHERE: DocumentLocation = DocumentLocation {
    segment: u32::MAX as usize,
    document: 0,
};
/// The place of a notebook that was too large to be read.
const NOWHERE_FOR_SIZE: DocumentLocation = DocumentLocation {
    document: 1,
    ..NOWHERE
};
/// Segments with fewer documents than this are small.
const SMALL: usize = 256;
/// This many small segments are merged into one.
const MANY_SMALL: usize = 8;

/// An indexing job.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The library that contains the notebooks.
    pub storage: &'a Library,
    /// Name of the collection.
    pub collection: &'a str,
    /// The embedding model.
    pub embedder: &'a dyn Embedder,
    /// Returns `true` once the caller no longer waits.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called for each notebook that was examined.
    pub progress: &'a (dyn Fn() + Sync),
}

impl Job<'_> {
    /// Reads a notebook that was listed a moment ago.
    pub(crate) fn read(&self, notebook: &NotePath) -> Result<Option<Vec<u8>>, LibraryError> {
        let storage = self.storage;
        storage.ask(|storage| storage.read_listed(self.collection, notebook))
    }
}

/// A notebook to examine.
pub(crate) struct NotebookCandidate<'a> {
    /// The notebook as the storage lists it.
    pub listed: &'a NotebookFile,
    /// The digest of its indexed state, if it is indexed.
    pub known: Option<Digest>,
}

/// The outcome for one notebook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotebookOutcome {
    /// It is already indexed in this state.
    Same,
    /// It was indexed. The segment number counts from the first new segment.
    Indexed {
        /// The digest of its bytes.
        digest: Digest,
        /// The segment, and the document in it.
        place: DocumentLocation,
        /// Number of its chunks.
        chunks: usize,
    },
    /// It cannot be read.
    LeftOut(WhyLeftOut),
}

/// Returns the place that marks a notebook as not indexed.
pub(crate) fn nowhere(why: WhyLeftOut) -> DocumentLocation {
    match why {
        WhyLeftOut::TooLarge => NOWHERE_FOR_SIZE,
        WhyLeftOut::Unreadable => NOWHERE,
    }
}

/// Returns the reason why the notebook at this place is not indexed, if it is not.
pub(crate) fn why_nowhere(place: DocumentLocation) -> Option<WhyLeftOut> {
    let is_for_size = place == NOWHERE_FOR_SIZE;
    (place.segment == NOWHERE.segment).then_some(match is_for_size {
        true => WhyLeftOut::TooLarge,
        false => WhyLeftOut::Unreadable,
    })
}

/// Returns whether a notebook that is not indexed is small enough to be tried again: it may have become readable.
pub(crate) fn may_be_readable_now(
    place: DocumentLocation,
    listed: &NotebookFile,
    max_notebook_bytes: u64,
) -> bool {
    why_nowhere(place).is_some() && listed.stamp.bytes <= max_notebook_bytes
}

/// Builds segments of notebooks and passes each to `put`. Returns the results of `put` in the order of the segments.
pub(crate) fn build<T: Send>(
    job: Job<'_>,
    wanted: &[NotebookCandidate<'_>],
    put: impl Fn(Vec<u8>) -> Result<T, LibraryError> + Sync,
) -> Result<(Vec<T>, Vec<NotebookOutcome>), LibraryError> {
    let cut = |listed: &NotebookFile, bytes: &[u8]| CutNotebook::new(bytes, &listed.notebook);
    build_with(job, wanted, &cut, put)
}

/// Cuts a notebook that was read.
pub(crate) type Cutter<'a> = &'a (dyn Fn(&NotebookFile, &[u8]) -> CutNotebook + Sync);

/// Like [`build`], with notebooks cut by `cut`.
pub(crate) fn build_with<T: Send>(
    job: Job<'_>,
    wanted: &[NotebookCandidate<'_>],
    cut: Cutter<'_>,
    put: impl Fn(Vec<u8>) -> Result<T, LibraryError> + Sync,
) -> Result<(Vec<T>, Vec<NotebookOutcome>), LibraryError> {
    let threads = threads();
    let batches = batches(wanted, bytes_of_batches(wanted, threads as u64));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(batches.len()));
    let work = || {
        let mut reader = job.embedder.reader();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(number) else {
                return;
            };
            let result = build_one(job, &mut *reader, batch, cut, &put);
            let failed = result.is_err();
            done.lock().push((number, result));
            if failed {
                // The rest is not needed.
                next.store(batches.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(batches.len()) {
            // Without another thread, this one does all.
            drop(Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(number, _)| *number);
    let mut files = Vec::new();
    let mut outcomes = Vec::with_capacity(wanted.len());
    for (_, result) in done {
        let (file, some) = result?;
        let segment = files.len();
        files.extend(file);
        outcomes.extend(some.into_iter().map(|outcome| match outcome {
            NotebookOutcome::Indexed {
                digest,
                place,
                chunks,
            } => NotebookOutcome::Indexed {
                digest,
                place: DocumentLocation { segment, ..place },
                chunks,
            },
            outcome => outcome,
        }));
    }
    Ok((files, outcomes))
}

/// Returns the number of bytes of notebooks per segment. It leaves work for every thread, unless there is too little
/// for several segments to pay off.
fn bytes_of_batches(wanted: &[NotebookCandidate<'_>], threads: u64) -> u64 {
    let all: u64 = wanted.iter().map(|one| one.listed.stamp.bytes).sum();
    // A little more than a share, so that what does not fit exactly does not make a segment of its own.
    let share = (all.div_ceil(threads) + all / 64).max(LEAST_SHARED);
    share.min(BYTES_AT_A_TIME / threads)
}

/// Divides notebooks into batches of about `bytes` bytes, one per segment, in order.
fn batches<'w, 'l>(
    wanted: &'w [NotebookCandidate<'l>],
    bytes: u64,
) -> Vec<&'w [NotebookCandidate<'l>]> {
    let mut batches = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (at, one) in wanted.iter().enumerate() {
        if sum > 0 && sum + one.listed.stamp.bytes > bytes {
            batches.push(&wanted[start..at]);
            (start, sum) = (at, 0);
        }
        sum += one.listed.stamp.bytes;
    }
    if start < wanted.len() {
        batches.push(&wanted[start..]);
    }
    batches
}

fn build_one<T>(
    job: Job<'_>,
    reader: &mut dyn EmbeddingReader,
    batch: &[NotebookCandidate<'_>],
    cut: Cutter<'_>,
    put: &impl Fn(Vec<u8>) -> Result<T, LibraryError>,
) -> Result<(Option<T>, Vec<NotebookOutcome>), LibraryError> {
    let mut builder = SegmentBuilder::new(Some((job.embedder, reader)));
    let mut documents = 0;
    let mut outcomes = Vec::with_capacity(batch.len());
    for wanted in batch {
        if (job.stop)() {
            return Err(LibraryError::Cancelled);
        }
        let notebook = &wanted.listed.notebook;
        let why = WhyLeftOut::of(wanted.listed, job.storage.max_notebook_bytes());
        let read = match why {
            WhyLeftOut::TooLarge => Ok(None),
            WhyLeftOut::Unreadable => job.read(notebook),
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            // An unreadable notebook is not found; the others are.
            Err(LibraryError::Failed { .. }) => None,
            Err(error) => return Err(error),
        };
        (job.progress)();
        let Some(bytes) = bytes else {
            outcomes.push(NotebookOutcome::LeftOut(why));
            continue;
        };
        let digest = Digest::of(&bytes);
        if wanted.known == Some(digest) {
            outcomes.push(NotebookOutcome::Same);
            continue;
        }
        builder.document();
        let chunks = add(&mut builder, &bytes, &cut(wanted.listed, &bytes));
        let place = DocumentLocation {
            segment: 0,
            document: documents,
        };
        documents += 1;
        outcomes.push(NotebookOutcome::Indexed {
            digest,
            place,
            chunks,
        });
    }
    let file = if documents > 0 {
        Some(put(builder.finish())?)
    } else {
        None
    };
    Ok((file, outcomes))
}

/// Builds a segment of notebooks that were read and cut.
pub(crate) fn build_segment<'a>(
    embedder: &dyn Embedder,
    reader: &mut dyn EmbeddingReader,
    notebooks: impl Iterator<Item = (&'a [u8], &'a CutNotebook)>,
) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(Some((embedder, reader)));
    for (bytes, cut) in notebooks {
        builder.document();
        add(&mut builder, bytes, cut);
    }
    builder.finish()
}

/// Adds the chunks of a notebook, and returns their number.
fn add(builder: &mut SegmentBuilder<'_>, bytes: &[u8], cut: &CutNotebook) -> usize {
    for number in 0..cut.chunks.chunks.len() {
        let (chunk, path) = cut.chunk(bytes, number);
        let plain = cut.chunks.chunks[number].plain.as_str();
        builder.chunk(&chunk, &passage_of(&path, plain));
    }
    cut.chunks.chunks.len()
}

/// Returns a chunk as it is searched: its text, with the title and headings above it.
pub(crate) fn passage_of<'a>(path: &[&'a str], body: &'a str) -> Passage<'a> {
    let (heading, trail) = match path.split_last() {
        Some((heading, trail)) => (*heading, trail.to_vec()),
        None => ("", Vec::new()),
    };
    Passage {
        heading,
        trail,
        body,
    }
}

/// Returns the number of threads that cut notebooks.
pub(crate) fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(MOST_THREADS)
}

/// A notebook cut into chunks.
pub(crate) struct CutNotebook {
    pub title: String,
    pub chunks: Chunks,
    /// The title and headings above each chunk, if it is a page of a manual.
    paths: Option<Vec<Vec<String>>>,
    /// Offsets of the line breaks.
    line_ends: Vec<usize>,
}

impl CutNotebook {
    pub(crate) fn new(bytes: &[u8], notebook: &NotePath) -> Self {
        let title = notebook_facts(bytes, notebook).title;
        Self::of(bytes, title, chunks(&Source::new(bytes), LONGEST_CHUNK))
    }

    /// Creates it from chunks that are already known.
    pub(crate) fn of(bytes: &[u8], title: String, chunks: Chunks) -> Self {
        Self {
            title,
            chunks,
            paths: None,
            line_ends: memchr::memchr_iter(b'\n', bytes).collect(),
        }
    }

    /// Creates it from the sections of a page. Each that can be found is a chunk.
    pub(crate) fn of_page(bytes: &[u8], sections: Vec<Section>) -> Self {
        let found = sections
            .into_iter()
            .filter(|section| !section.plain.is_empty());
        let (chunks, paths) = found
            .map(|section| {
                let path = section.trail.into_iter().chain([section.heading]);
                let chunk = sectile_markdown::Chunk::new(section.text, section.plain);
                (chunk, path.collect())
            })
            .unzip();
        let chunks = Chunks {
            document: Source::new(b"").parse(),
            chunks,
        };
        Self {
            paths: Some(paths),
            ..Self::of(bytes, String::new(), chunks)
        }
    }

    /// Returns a chunk as it is stored, and the title and headings above it.
    pub(crate) fn chunk(&self, bytes: &[u8], number: usize) -> (Chunk, Vec<&str>) {
        let chunk = &self.chunks.chunks[number];
        let path = self.path_of(number);
        let chunk = Chunk {
            span: chunk.span,
            digest: ChunkDigest::of(chunk.span.slice(bytes)),
            line: self.line_of(chunk.span.start),
        };
        (chunk, path)
    }

    /// Returns the title and the headings above a chunk, outermost first.
    pub(crate) fn path_of(&self, number: usize) -> Vec<&str> {
        match &self.paths {
            Some(paths) => paths[number].iter().map(String::as_str).collect(),
            None => self.path(self.chunks.chunks[number].section),
        }
    }

    /// Returns the 1-based line of a byte.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.line_ends.partition_point(|end| *end < at) + 1
    }

    /// Returns the title and the headings of a section and those above it, outermost first.
    pub(crate) fn path(&self, section: Option<usize>) -> Vec<&str> {
        let document = &self.chunks.document;
        let headings = section.map_or_else(Vec::new, |index| headings_above(document, index));
        // A first heading that repeats the title adds nothing.
        let title = Some(self.title.as_str()).filter(|title| headings.first() != Some(title));
        title.into_iter().chain(headings).collect()
    }

    /// Returns the index of the section that contains a byte.
    pub(crate) fn section_at(&self, at: usize) -> Option<usize> {
        let sections = self.chunks.document.top_level();
        sections
            .take_while(|(_, section, _)| section.heading.start <= at)
            .last()
            .map(|(index, ..)| index)
    }
}

/// Returns the texts of a heading and those above it, outermost first.
fn headings_above(document: &Document, index: usize) -> Vec<&str> {
    let sections = document.sections();
    let chain = std::iter::successors(Some(index), |at| sections[*at].extent?.parent);
    let mut headings: Vec<&str> = chain.map(|at| sections[at].text.as_str()).collect();
    headings.reverse();
    headings.retain(|heading| !heading.is_empty());
    headings
}

/// The reason why an index was not written.
#[derive(Debug)]
pub enum IndexingError {
    /// The notebooks cannot be read.
    Notebooks(LibraryError),
    /// The index cannot be read or written.
    Store(StoreError),
}

impl From<LibraryError> for IndexingError {
    fn from(error: LibraryError) -> Self {
        Self::Notebooks(error)
    }
}

impl From<StoreError> for IndexingError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<std::io::Error> for IndexingError {
    fn from(error: std::io::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The result of updating an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexReport {
    /// Number of notebooks in it now.
    pub notebooks: usize,
    /// Number of notebooks that were read and indexed.
    pub indexed: usize,
    /// Number of notebooks that no longer exist.
    pub removed: usize,
    /// Number of notebooks that cannot be read.
    pub unreadable: usize,
    /// Number of chunks in it now.
    pub chunks: usize,
    /// The reason why an existing index was rebuilt, if it was.
    pub remade: Option<String>,
    /// Whether anything was written.
    pub written: bool,
}

impl IndexReport {
    /// Combines the results of two consecutive updates.
    pub fn and_then(self, later: Self) -> Self {
        Self {
            indexed: self.indexed + later.indexed,
            removed: self.removed + later.removed,
            remade: self.remade.or(later.remade),
            written: self.written || later.written,
            ..later
        }
    }
}

/// Returns the folder of a collection's index below the folder of all indexes.
pub fn folder_of(all: &Path, collection: &str) -> std::path::PathBuf {
    // The name of a collection may be too long for a folder name, or differ from another only in case.
    let digest = Digest::of(collection.as_bytes()).to_string();
    all.join(&digest[..16])
}

/// Brings the index of a collection at `location` up to date.
pub fn update(
    job: Job<'_>,
    location: &Path,
    listed: &[NotebookFile],
    clock: Clock,
) -> Result<IndexReport, IndexingError> {
    let store = Store::make_at(location)?;
    let writer = store.writer()?;
    let mut report = IndexReport::default();
    let old = match store.read(Some(job.embedder)) {
        Ok(Some(old)) if old.manifest.name == job.collection => Some(old),
        Ok(_) => None,
        Err(StoreError::Format(error)) => {
            report.remade = Some(error.to_string());
            None
        }
        Err(error) => return Err(error.into()),
    };
    let as_of = clock();
    let plan = IndexPlan::new(listed, old.as_ref(), job.storage.max_notebook_bytes());
    let put = |file: Vec<u8>| {
        writer.add(&file).map_err(|error| LibraryError::Failed {
            message: format!("The index cannot be written ({}).", error.kind()),
            at: FailedPart::Index("folder"),
        })
    };
    let (names, outcomes) = build(job, &plan.wanted, put)?;
    let mut manifest = Manifest {
        name: job.collection.to_owned(),
        made_at: as_of,
        segments: plan.segments.clone(),
        entries: plan.entries(listed, &outcomes),
    };
    manifest.segments.extend(names);
    report.chunks = chunks_of(&manifest.entries, old.as_ref(), &outcomes);
    drop_unused_segments(&mut manifest);
    report.notebooks = manifest.entries.len();
    report.indexed = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, NotebookOutcome::Indexed { .. }))
        .count();
    report.unreadable = manifest
        .entries
        .iter()
        .filter(|entry| why_nowhere(entry.place).is_some())
        .count();
    report.removed = plan.removed;
    let is_same = old.as_ref().is_some_and(|old| {
        old.manifest.entries == manifest.entries && old.manifest.segments == manifest.segments
    });
    if is_same {
        // Nothing is written if nothing changed, but leftovers of a killed run are removed.
        writer.clean(&manifest.segments)?;
        return Ok(report);
    }
    writer.commit(&manifest)?;
    report.written = true;
    Ok(report)
}

/// Counts the chunks of documents in old segments and of those indexed now.
fn chunks_of(
    entries: &[ManifestEntry],
    old: Option<&OpenIndex>,
    outcomes: &[NotebookOutcome],
) -> usize {
    let kept = entries.iter();
    let kept = kept.map(|entry| old.map_or(0, |old| old.chunks_at(entry.place)));
    let new = outcomes.iter().map(|outcome| match outcome {
        NotebookOutcome::Indexed { chunks, .. } => *chunks,
        _ => 0,
    });
    kept.chain(new).sum()
}

/// The notebooks to examine, and the entries of the others.
struct IndexPlan<'l> {
    wanted: Vec<NotebookCandidate<'l>>,
    /// For each listed notebook: its old entry, and whether it is examined.
    known: Vec<(Option<ManifestEntry>, bool)>,
    segments: Vec<String>,
    removed: usize,
}

impl<'l> IndexPlan<'l> {
    fn new(listed: &'l [NotebookFile], old: Option<&OpenIndex>, max_notebook_bytes: u64) -> Self {
        let entries: &[ManifestEntry] = old.map_or(&[], |old| &old.manifest.entries);
        let dissolved = old.map(dissolved).unwrap_or_default();
        let mut plan = Self {
            wanted: Vec::new(),
            known: Vec::with_capacity(listed.len()),
            segments: old.map_or_else(Vec::new, |old| old.manifest.segments.clone()),
            removed: 0,
        };
        let mut found = 0;
        for one in listed {
            let name = one.notebook.as_str();
            let at = entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
            let entry = at.ok().map(|at| entries[at].clone());
            found += usize::from(entry.is_some());
            let is_dissolved = |entry: &ManifestEntry| dissolved.contains(&entry.place.segment);
            let is_current = |entry: &ManifestEntry| {
                entry.stamp == one.stamp.state
                    && !is_dissolved(entry)
                    && !may_be_readable_now(entry.place, one, max_notebook_bytes)
            };
            let is_wanted = !entry.as_ref().is_some_and(is_current);
            if is_wanted {
                let known = entry
                    .as_ref()
                    .filter(|entry| why_nowhere(entry.place).is_none() && !is_dissolved(entry));
                plan.wanted.push(NotebookCandidate {
                    listed: one,
                    known: known.map(|entry| entry.digest),
                });
            }
            plan.known.push((entry, is_wanted));
        }
        plan.removed = entries.len() - found;
        plan
    }

    /// Returns the entries of the new manifest. New segments are numbered after the old ones.
    fn entries(&self, listed: &[NotebookFile], outcomes: &[NotebookOutcome]) -> Vec<ManifestEntry> {
        let mut outcomes = outcomes.iter();
        let mut entries = Vec::with_capacity(listed.len());
        for (one, (entry, is_wanted)) in listed.iter().zip(&self.known) {
            let outcome = if *is_wanted {
                let unknown = NotebookOutcome::LeftOut(WhyLeftOut::Unreadable);
                outcomes.next().copied().unwrap_or(unknown)
            } else {
                NotebookOutcome::Same
            };
            let (digest, place) = match (outcome, entry) {
                (NotebookOutcome::Same, Some(entry)) => (entry.digest, entry.place),
                (NotebookOutcome::Indexed { digest, place, .. }, _) => {
                    let segment = self.segments.len() + place.segment;
                    (digest, DocumentLocation { segment, ..place })
                }
                (NotebookOutcome::LeftOut(why), _) => (Digest::of(b""), nowhere(why)),
                (NotebookOutcome::Same, None) => (Digest::of(b""), NOWHERE),
            };
            entries.push(ManifestEntry {
                name: one.notebook.as_str().to_owned(),
                stamp: one.stamp.state,
                digest,
                place,
            });
        }
        entries
    }
}

/// Returns the numbers of the segments to dissolve: those with more dead documents than live ones, and small ones if
/// there are many.
fn dissolved(old: &OpenIndex) -> Vec<usize> {
    let places = old.manifest.entries.iter().map(|entry| entry.place);
    dissolved_segments(&old.segments, places)
}

/// Like [`dissolved`], for segments with these live documents.
pub(crate) fn dissolved_segments(
    segments: &[Segment],
    places: impl Iterator<Item = DocumentLocation>,
) -> Vec<usize> {
    let mut living = vec![0_usize; segments.len()];
    for place in places {
        if let Some(living) = living.get_mut(place.segment) {
            *living += 1;
        }
    }
    let is_small = |number: &usize| living[*number] < SMALL;
    let are_many = (0..living.len()).filter(is_small).count() >= MANY_SMALL;
    (0..living.len())
        .filter(|number| {
            let is_mostly_dead = living[*number] * 2 < segments[*number].documents();
            is_mostly_dead || (are_many && is_small(number))
        })
        .collect()
}

/// Removes segments that no entry refers to any more.
fn drop_unused_segments(manifest: &mut Manifest) {
    let mut is_used = vec![false; manifest.segments.len()];
    for entry in &manifest.entries {
        if let Some(is_used) = is_used.get_mut(entry.place.segment) {
            *is_used = true;
        }
    }
    let mut numbers = Vec::with_capacity(is_used.len());
    let mut next = 0;
    for used in &is_used {
        numbers.push(next);
        next += usize::from(*used);
    }
    let mut used = is_used.iter();
    manifest
        .segments
        .retain(|_| used.next().copied().unwrap_or_default());
    for entry in &mut manifest.entries {
        if let Some(number) = numbers.get(entry.place.segment) {
            entry.place.segment = *number;
        }
    }
}
