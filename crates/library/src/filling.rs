//! Filling the second tier of an index: every passage is embedded with the slower model.
//!
//! A passage is identified by its text and never embedded twice, neither after a killed run nor when it moves to
//! another segment, nor if another index that shares its vectors has the same passage. The bytes written for a segment
//! depend on its documents and the model, not on threads, order, interruptions or where a vector came from.

mod database;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{
    Embedder, ManifestEntry, OpenIndex, SecondTierWriter, SharedVectors, Store, Vector,
    VectorCache, VectorKey,
};
use serde::Serialize;

pub use self::database::fill_database;
use crate::{
    error::LibraryError,
    indexing::{IndexingError, passage_of},
    library::Library,
    threads::start_all,
};

/// Number of passages embedded per batch.
const TOGETHER: usize = 8;
/// New vectors are written to disk after this many passages, or this much time: that is the most work a killed run
/// loses.
const MOST_UNKEPT: usize = 256;
const LONGEST_UNKEPT: Duration = Duration::from_secs(1);

/// A job that fills the second tier.
#[derive(Clone, Copy)]
pub struct FillJob<'a> {
    /// The library that contains the notebooks.
    pub storage: &'a Library,
    /// Name of the collection.
    pub collection: &'a str,
    /// The model of the first tier, with which the index was built.
    pub first: &'a dyn Embedder,
    /// The model of the second tier.
    pub second: &'a dyn Embedder,
    /// The vectors that it shares with other indexes of this user, if it does.
    pub shared: Option<&'a SharedVectors>,
    /// Number of threads that embed passages.
    pub threads: usize,
    /// Returns `true` to stop here and continue another time.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called after each batch of passages.
    pub progress: &'a dyn Fn(FillProgress),
}

/// The progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillProgress {
    /// Number of passages whose vector is known.
    pub done: usize,
    /// Number of passages in all.
    pub all: usize,
    /// Number of passages that this run embedded.
    pub embedded: usize,
}

/// The result of filling the second tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FillReport {
    /// Number of live passages.
    pub passages: usize,
    /// Number of passages that have their vector.
    pub filled: usize,
    /// Number of passages embedded by this run.
    pub embedded: usize,
    /// Number of passages whose vector was already known.
    pub cached: usize,
    /// Number of notebooks that have changed since they were indexed.
    pub changed: usize,
    /// Whether the second tier answers now.
    pub complete: bool,
}

/// A passage to embed: its key, title, headings and text.
pub(crate) struct Text {
    /// The key of its vector.
    pub key: VectorKey,
    parts: Vec<String>,
}

impl Text {
    /// Returns the passage as a model reads it.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.parts.iter().map(String::as_str).collect()
    }
}

/// Returns the passages of a notebook if it is still in the indexed state.
pub(crate) fn texts(
    storage: &Library,
    collection: &str,
    notebook: &NotePath,
    digest: &Digest,
) -> Result<Option<Vec<Text>>, LibraryError> {
    let bytes = match storage.ask(|storage| storage.read_listed(collection, notebook)) {
        Ok(bytes) => bytes,
        Err(LibraryError::Failed { .. }) => None,
        Err(error) => return Err(error),
    };
    let Some(bytes) = bytes.filter(|bytes| Digest::of(bytes) == *digest) else {
        return Ok(None);
    };
    let cut = storage.notebook_storage().cut().cut(&bytes, notebook);
    let texts = cut.chunks.chunks.iter().enumerate().map(|(number, chunk)| {
        let path = cut.path_of(number);
        let passage = passage_of(&path, &chunk.plain);
        let parts = passage.parts();
        Text {
            key: VectorKey::of(&parts),
            parts: parts.into_iter().map(str::to_owned).collect(),
        }
    });
    Ok(Some(texts.collect()))
}

/// Returns the default number of embedding threads: half the cores, so that the machine stays usable.
pub fn usual_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).max(1)
}

/// Fills what is missing of the second tier of the index at `location`. If the index is updated meanwhile, its new
/// state is filled.
pub fn fill(job: FillJob<'_>, location: &Path) -> Result<FillReport, IndexingError> {
    let Some(store) = Store::at(location)? else {
        return Ok(FillReport::default());
    };
    let filler = store.filler(job.second)?;
    let mut known = filler.known()?;
    loop {
        let stored = store.read(Some(job.first))?;
        let Some(stored) = stored.filter(|stored| stored.manifest.name == job.collection) else {
            return Ok(FillReport::default());
        };
        let mut round = FillPass {
            job,
            filler: &filler,
            stored: &stored,
            living: stored.living(),
            filled: FillReport::default(),
            done: 0,
        };
        let filled = round.run(&mut known)?;
        let is_of_now = store.state()? == Some(stored.state);
        if is_of_now && filled.complete {
            filler.clean(&stored.manifest.segments)?;
        }
        if is_of_now || (job.stop)() {
            return Ok(filled);
        }
    }
}

/// One pass over the segments of a manifest.
struct FillPass<'a> {
    job: FillJob<'a>,
    filler: &'a SecondTierWriter<'a>,
    stored: &'a OpenIndex,
    /// For each segment, its live chunks.
    living: Vec<Vec<usize>>,
    filled: FillReport,
    /// Number of passages whose vector is known, including those of unfinished segments.
    done: usize,
}

impl FillPass<'_> {
    fn run(&mut self, known: &mut VectorCache) -> Result<FillReport, IndexingError> {
        self.filled.passages = self.living.iter().map(Vec::len).sum();
        let names = &self.stored.manifest.segments;
        let mut is_complete = true;
        for (number, (name, segment)) in names.iter().zip(&self.stored.segments).enumerate() {
            let living = &self.living[number];
            if self.filler.has(name, segment, living) {
                self.done += living.len();
                self.tell(known);
                continue;
            }
            if (self.job.stop)() {
                is_complete = false;
                break;
            }
            is_complete &= self.segment(number, known)?;
        }
        self.filled.filled = self.done;
        self.filled.embedded = embedded(known);
        self.filled.cached = self.done.saturating_sub(embedded(known));
        self.filled.complete = is_complete;
        Ok(self.filled)
    }

    fn tell(&self, known: &VectorCache) {
        (self.job.progress)(FillProgress {
            done: self.done,
            all: self.filled.passages,
            embedded: embedded(known),
        });
    }

    /// Takes the vectors of these passages from those that are shared. Returns the passages whose vectors are not.
    fn borrow(&self, keys: &[Option<VectorKey>], known: &mut VectorCache) -> Vec<VectorKey> {
        let keys: Vec<VectorKey> = keys.iter().flatten().copied().collect();
        let Some(shared) = self.job.shared.filter(|_| !keys.is_empty()) else {
            return Vec::new();
        };
        shared
            .lend(self.job.second, &keys, known)
            .unwrap_or_else(|error| {
                tracing::debug!(kind = %error.kind(), "shared vectors cannot be read");
                Vec::new()
            })
    }

    /// Shares the vectors of these passages.
    fn share(&self, keys: &[VectorKey], known: &VectorCache) {
        let Some(shared) = self.job.shared else {
            return;
        };
        // The index has them, and the next one computes them for itself.
        if let Err(error) = shared.add(self.job.second, keys, known) {
            tracing::debug!(kind = %error.kind(), "vectors cannot be shared");
        }
    }

    /// Embeds what is missing of a segment, and writes its file once it is complete. Returns whether it did.
    fn segment(&mut self, number: usize, known: &mut VectorCache) -> Result<bool, IndexingError> {
        let name = &self.stored.manifest.segments[number];
        let before = self.done;
        let mut keys = vec![None; self.stored.segments[number].chunks()];
        let mut missing = Vec::new();
        let mut seen = HashSet::new();
        let mut is_whole = true;
        let entries = self.stored.manifest.entries.iter();
        for entry in entries.filter(|entry| entry.place.segment == number) {
            if (self.job.stop)() {
                return Ok(false);
            }
            let Some(texts) = self.texts(entry)? else {
                self.filled.changed += 1;
                is_whole = false;
                continue;
            };
            for (at, text) in self.stored.numbers_at(entry.place).zip(texts) {
                keys[at] = Some(text.key);
                let is_known = known.has(text.key);
                self.done += usize::from(is_known);
                // Equal passages are embedded once.
                if !is_known && seen.insert(text.key) {
                    missing.push(text);
                }
            }
        }
        let unshared = self.borrow(&keys, known);
        missing.retain(|text| !known.has(text.key));
        let count = |known: &VectorCache| {
            let keys = keys.iter().flatten();
            keys.filter(|key| known.has(**key)).count()
        };
        self.done = before + count(known);
        let parts = self.embed(&missing, known)?;
        self.share(&unshared, known);
        let there = count(known);
        self.done = before + there;
        let is_known = there == keys.iter().flatten().count();
        if is_whole && is_known {
            self.filler.finish(name, &keys, known, &parts)?;
        }
        Ok(is_whole && is_known)
    }

    /// Returns the passages of a notebook if it is in the indexed state.
    fn texts(&self, entry: &ManifestEntry) -> Result<Option<Vec<Text>>, IndexingError> {
        let Ok(notebook) = NotePath::parse_vault(&entry.name) else {
            return Ok(None);
        };
        let texts = texts(
            self.job.storage,
            self.job.collection,
            &notebook,
            &entry.digest,
        )?;
        let chunks = self.stored.chunks_at(entry.place);
        Ok(texts.filter(|texts| texts.len() == chunks))
    }

    /// Embeds passages, and writes the vectors to disk from time to time and at the end. Returns the names of the
    /// parts.
    fn embed(
        &mut self,
        missing: &[Text],
        known: &mut VectorCache,
    ) -> Result<Vec<String>, IndexingError> {
        let mut parts = Vec::new();
        if missing.is_empty() {
            return Ok(parts);
        }
        let batches: Vec<&[Text]> = missing.chunks(TOGETHER).collect();
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            // Dropped on every way out, which ends the embedding threads too.
            let receiver = receiver;
            let threads = self.job.threads.clamp(1, batches.len());
            let (model, stop, batches, next) = (self.job.second, self.job.stop, &batches, &next);
            let work = move || embed_batches(model, stop, batches, next, &sender);
            start_all(scope, threads, work).unwrap_or_else(|work| work());
            let (mut kept, mut since) = (known.added(), Instant::now());
            for batch in receiver {
                for (text, vector) in batch {
                    known.add(text, vector.as_deref());
                    self.done += 1;
                }
                self.tell(known);
                if known.added() - kept >= MOST_UNKEPT || since.elapsed() >= LONGEST_UNKEPT {
                    parts.push(self.filler.keep(known, kept)?);
                    (kept, since) = (known.added(), Instant::now());
                }
            }
            if known.added() > kept {
                parts.push(self.filler.keep(known, kept)?);
            }
            Ok(parts)
        })
    }
}

/// Returns the number of passages that this run embedded.
fn embedded(known: &VectorCache) -> usize {
    known.added() - known.borrowed()
}

/// Embeds batches until there are none left, or no more are wanted.
fn embed_batches(
    model: &dyn Embedder,
    stop: &(dyn Fn() -> bool + Sync),
    batches: &[&[Text]],
    next: &AtomicUsize,
    done: &mpsc::Sender<Vec<(VectorKey, Option<Vector>)>>,
) {
    give_way();
    let mut reader = model.reader();
    while !stop() {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(batch) = batches.get(number) else {
            return;
        };
        let texts: Vec<Vec<&str>> = batch.iter().map(Text::parts).collect();
        let keys = batch.iter().map(|text| text.key);
        let vectors = keys.zip(reader.embed_all(&texts)).collect();
        if done.send(vectors).is_err() {
            return;
        }
    }
}

/// Lowers the priority of this thread, where the system supports that.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};

        const LOW: i32 = 10;
        let is_higher = getpriority_process(None).is_ok_and(|now| now < LOW);
        if is_higher && setpriority_process(None, LOW).is_err() {
            tracing::debug!("the priority cannot be lowered");
        }
    }
}
