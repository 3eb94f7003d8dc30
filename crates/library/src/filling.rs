//! The second tier of an index, filled: every passage embedded with a model that takes its time.
//!
//! What was embedded once is known by its text, and never embedded again: neither after a run that was killed, nor when
//! passages move to other segments. What is written of a segment depends on its documents and the model, not on threads, order or
//! interruptions.

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
use sectile_retrieval::{Embedder, Entry, Filler, KnownVectors, MeaningKey, Store, Stored, Vector};
use serde::Serialize;

use crate::{
    error::LibraryError,
    indexing::{CutNotebook, IndexingError, passage_of},
    library::Library,
};

/// Passages that are embedded together.
const TOGETHER: usize = 8;
/// After so many passages, or so long, what was embedded is put on disk.
const MOST_UNKEPT: usize = 256;
const LONGEST_UNKEPT: Duration = Duration::from_secs(1);

/// What is filled, and with what.
#[derive(Clone, Copy)]
pub struct Filling<'a> {
    /// Where the notebooks are read from.
    pub storage: &'a Library,
    /// The name of the collection.
    pub collection: &'a str,
    /// The model of the first tier, which the index was made with.
    pub first: &'a dyn Embedder,
    /// The model of the second tier.
    pub second: &'a dyn Embedder,
    /// How many threads embed passages.
    pub threads: usize,
    /// Says whether to stop here, and go on another time.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called after each group of passages.
    pub progress: &'a dyn Fn(Progress),
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Passages whose vector is known.
    pub done: usize,
    /// Passages that are to have one.
    pub all: usize,
    /// Passages that this run embedded.
    pub embedded: usize,
}

/// What became of the second tier of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filled {
    /// Passages that count.
    pub passages: usize,
    /// Of these, how many have their vector.
    pub filled: usize,
    /// How many were embedded now.
    pub embedded: usize,
    /// How many have a vector that was known.
    pub cached: usize,
    /// Notebooks that are not what was indexed any more.
    pub changed: usize,
    /// Whether the second tier answers now.
    pub complete: bool,
}

/// A passage to embed: which it is, and its title, headings and text.
pub(crate) struct Text {
    /// What its vector is kept under.
    pub key: MeaningKey,
    parts: Vec<String>,
}

impl Text {
    /// The passage as a model reads it.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.parts.iter().map(String::as_str).collect()
    }
}

/// The passages of a notebook, if it is still what was indexed.
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
    let cut = CutNotebook::new(&bytes, notebook);
    let texts = cut.chunks.chunks.iter().map(|chunk| {
        let path = cut.path(chunk.section);
        let passage = passage_of(&path, &chunk.plain);
        let parts = passage.parts();
        Text {
            key: MeaningKey::of(&parts),
            parts: parts.into_iter().map(str::to_owned).collect(),
        }
    });
    Ok(Some(texts.collect()))
}

/// How many threads embed, when nobody says: half of the cores.
pub fn usual_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).max(1)
}

/// Fills the second tier of the index at `location`, as far as it is not. An index that is brought up to date meanwhile is
/// filled as it is then.
pub fn fill(job: Filling<'_>, location: &Path) -> Result<Filled, IndexingError> {
    let Some(store) = Store::at(location)? else {
        return Ok(Filled::default());
    };
    let filler = store.filler(job.second)?;
    let mut known = filler.known()?;
    loop {
        let stored = store.read(Some(job.first))?;
        let Some(stored) = stored.filter(|stored| stored.manifest.name == job.collection) else {
            return Ok(Filled::default());
        };
        let mut round = Round {
            job,
            filler: &filler,
            stored: &stored,
            living: stored.living(),
            filled: Filled::default(),
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

/// One walk over the segments of a manifest.
struct Round<'a> {
    job: Filling<'a>,
    filler: &'a Filler<'a>,
    stored: &'a Stored,
    /// For each segment, the chunks that count.
    living: Vec<Vec<usize>>,
    filled: Filled,
    /// Passages whose vector is known, also those of segments that are not finished.
    done: usize,
}

impl Round<'_> {
    fn run(&mut self, known: &mut KnownVectors) -> Result<Filled, IndexingError> {
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
        self.filled.embedded = known.added();
        self.filled.cached = self.done.saturating_sub(known.added());
        self.filled.complete = is_complete;
        Ok(self.filled)
    }

    fn tell(&self, known: &KnownVectors) {
        (self.job.progress)(Progress {
            done: self.done,
            all: self.filled.passages,
            embedded: known.added(),
        });
    }

    /// Embeds what is not known of a segment, and writes its file when everything is. Whether it did.
    fn segment(&mut self, number: usize, known: &mut KnownVectors) -> Result<bool, IndexingError> {
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
                // Embedded once for all who say the same.
                if !is_known && seen.insert(text.key) {
                    missing.push(text);
                }
            }
        }
        let parts = self.embed(&missing, known)?;
        let there = keys.iter().flatten().filter(|key| known.has(**key)).count();
        self.done = before + there;
        let is_known = there == keys.iter().flatten().count();
        if is_whole && is_known {
            self.filler.finish(name, &keys, known, &parts)?;
        }
        Ok(is_whole && is_known)
    }

    /// The passages of a notebook, if it is what was indexed.
    fn texts(&self, entry: &Entry) -> Result<Option<Vec<Text>>, IndexingError> {
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

    /// Embeds passages, and puts them on disk now and then, and at the end. The names of the parts are returned.
    fn embed(
        &mut self,
        missing: &[Text],
        known: &mut KnownVectors,
    ) -> Result<Vec<String>, IndexingError> {
        let mut parts = Vec::new();
        if missing.is_empty() {
            return Ok(parts);
        }
        let batches: Vec<&[Text]> = missing.chunks(TOGETHER).collect();
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            // Dropped when it ends, in whatever way; then those who embed end too.
            let receiver = receiver;
            for _ in 0..self.job.threads.clamp(1, batches.len()) {
                let (sender, job, batches, next) = (sender.clone(), self.job, &batches, &next);
                let (model, stop) = (job.second, job.stop);
                scope.spawn(move || embed_batches(model, stop, batches, next, &sender));
            }
            drop(sender);
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

/// Takes batches until there are none, or nobody wants more.
fn embed_batches(
    model: &dyn Embedder,
    stop: &(dyn Fn() -> bool + Sync),
    batches: &[&[Text]],
    next: &AtomicUsize,
    done: &mpsc::Sender<Vec<(MeaningKey, Option<Vector>)>>,
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

/// Lets other threads and processes go first, where that can be said of one thread.
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
