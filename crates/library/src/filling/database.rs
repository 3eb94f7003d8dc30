//! Filling the second tier of an index that a backend keeps.
//!
//! The backend says which notebooks lack vectors. They are read and embedded here, some thousand passages at a time, and
//! the vectors are handed over every second or so: that is the most work a killed run loses.

use std::{
    collections::{HashMap, HashSet},
    sync::{atomic::AtomicUsize, mpsc},
    time::Instant,
};

use sectile_retrieval::{VectorKey, VectorRecord};

use super::{
    FillJob, FillProgress, FillReport, LONGEST_UNKEPT, MOST_UNKEPT, TOGETHER, Text, embed_batches,
    texts,
};
use crate::{
    error::{FailedPart, LibraryError},
    storage::{NotebookGap, NotebookKeys, StorageError, TierFilling, TierGaps, VectorIndexing},
    threads::start_all,
};

/// Passages that are read before they are embedded; this bounds the memory of a run. The threads wait for the last of
/// them, which is little compared with the time that this many take.
const WINDOW: usize = 2_048;

/// Fills what is missing of the second tier of a collection in a backend. If the collection is updated meanwhile, its
/// new state is filled. Vectors that the indexes of a user share are neither used nor added to.
pub fn fill_database(
    job: FillJob<'_>,
    index: &dyn VectorIndexing,
) -> Result<FillReport, LibraryError> {
    let failed = |error| LibraryError::of_storage(error, FailedPart::Index(index.kind()));
    match index.fill_tier(job.collection, job.second) {
        Ok(mut filling) => {
            let mut run = DatabaseRun {
                job,
                filling: &mut *filling,
                report: FillReport::default(),
            };
            run.fill().map_err(|error| match error {
                DatabaseRunError::Notebooks(error) => error,
                DatabaseRunError::Index(error) => failed(error),
            })
        }
        Err(StorageError::CollectionNotFound) => Ok(FillReport::default()),
        Err(error) => Err(failed(error)),
    }
}

/// An error, and which side it comes from.
enum DatabaseRunError {
    Notebooks(LibraryError),
    Index(StorageError),
}

impl From<LibraryError> for DatabaseRunError {
    fn from(error: LibraryError) -> Self {
        Self::Notebooks(error)
    }
}

impl From<StorageError> for DatabaseRunError {
    fn from(error: StorageError) -> Self {
        Self::Index(error)
    }
}

/// A run that fills the second tier in a backend.
struct DatabaseRun<'a> {
    job: FillJob<'a>,
    filling: &'a mut dyn TierFilling,
    report: FillReport,
}

/// Passages that are embedded together.
#[derive(Default)]
struct PassageWindow {
    /// Passages without a vector, each once.
    missing: Vec<Text>,
    /// Number of chunks that each of them belongs to.
    chunks: HashMap<VectorKey, usize>,
}

impl DatabaseRun<'_> {
    fn fill(&mut self) -> Result<FillReport, DatabaseRunError> {
        let mut before = None;
        loop {
            let gaps = match self.filling.gaps() {
                // It was removed meanwhile.
                Err(StorageError::CollectionNotFound) => return Ok(self.report),
                gaps => gaps?,
            };
            let is_same = before == Some(gaps.revision);
            before = Some(gaps.revision);
            self.pass(&gaps)?;
            let is_stopped = (self.job.stop)();
            if !is_stopped && self.report.filled == self.report.passages {
                self.report.complete = match self.filling.finish(self.job.stop) {
                    Err(StorageError::Cancelled) => false,
                    complete => complete?,
                };
            }
            let FillReport {
                filled, embedded, ..
            } = self.report;
            self.report.cached = filled.saturating_sub(embedded);
            // Otherwise the index was updated meanwhile.
            let is_over = self.report.complete || self.report.changed > 0 || is_same;
            if is_over || (self.job.stop)() {
                return Ok(self.report);
            }
        }
    }

    /// Fills the gaps, window by window.
    fn pass(&mut self, gaps: &TierGaps) -> Result<(), DatabaseRunError> {
        let missing: usize = gaps.notebooks.iter().map(|gap| gap.missing).sum();
        self.report.passages = gaps.chunks;
        self.report.filled = gaps.chunks.saturating_sub(missing);
        self.report.changed = 0;
        self.tell();
        let mut rest = gaps.notebooks.as_slice();
        while !rest.is_empty() && !(self.job.stop)() {
            let (window, taken) = self.window(rest)?;
            self.embed(&window)?;
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// Reads the first notebooks of `gaps`. Returns their passages without a vector, and the number of notebooks.
    fn window(&mut self, gaps: &[NotebookGap]) -> Result<(PassageWindow, usize), DatabaseRunError> {
        let (mut notebooks, mut read, mut taken) = (Vec::new(), Vec::new(), 0);
        for gap in gaps {
            if read.len() >= WINDOW || (self.job.stop)() {
                break;
            }
            taken += 1;
            let FillJob {
                storage,
                collection,
                ..
            } = self.job;
            let texts = texts(storage, collection, &gap.notebook, &gap.digest)?;
            let Some(texts) = texts.filter(|texts| texts.len() == gap.chunks) else {
                self.report.changed += 1;
                continue;
            };
            // Counted below, together with the others of this notebook.
            self.report.filled = (self.report.filled + gap.missing).saturating_sub(gap.chunks);
            notebooks.push(NotebookKeys {
                notebook: gap.notebook.clone(),
                digest: gap.digest,
                keys: texts.iter().map(|text| text.key).collect(),
            });
            read.extend(texts);
        }
        let known = match notebooks.is_empty() {
            true => HashSet::new(),
            false => self.filling.known(&notebooks)?,
        };
        let mut window = PassageWindow::default();
        for text in read {
            if known.contains(&text.key) {
                self.report.filled += 1;
                continue;
            }
            let chunks = window.chunks.entry(text.key).or_default();
            *chunks += 1;
            // Equal passages are embedded once.
            if *chunks == 1 {
                window.missing.push(text);
            }
        }
        self.tell();
        Ok((window, taken))
    }

    /// Embeds passages, and hands the vectors over from time to time and at the end.
    fn embed(&mut self, window: &PassageWindow) -> Result<(), DatabaseRunError> {
        let batches: Vec<&[Text]> = window.missing.chunks(TOGETHER).collect();
        if batches.is_empty() {
            return Ok(());
        }
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            // Dropped on every way out, which ends the embedding threads too.
            let receiver = receiver;
            let threads = self.job.threads.clamp(1, batches.len());
            let (model, stop, batches, next) = (self.job.second, self.job.stop, &batches, &next);
            let work = move || embed_batches(model, stop, batches, next, &sender);
            start_all(scope, threads, work).unwrap_or_else(|work| work());
            let (mut unkept, mut since) = (Vec::new(), Instant::now());
            for batch in receiver {
                for (key, vector) in batch {
                    let record = VectorRecord::new(self.job.second, key, vector.as_deref());
                    unkept.push(record);
                    self.report.embedded += 1;
                    self.report.filled += window.chunks.get(&key).copied().unwrap_or_default();
                }
                self.tell();
                if unkept.len() >= MOST_UNKEPT || since.elapsed() >= LONGEST_UNKEPT {
                    self.filling.keep(&unkept)?;
                    unkept.clear();
                    since = Instant::now();
                }
            }
            match unkept.is_empty() {
                true => Ok(()),
                false => Ok(self.filling.keep(&unkept)?),
            }
        })
    }

    fn tell(&self) {
        (self.job.progress)(FillProgress {
            done: self.report.filled,
            all: self.report.passages,
            embedded: self.report.embedded,
        });
    }
}
