//! Publishing to an index that a backend keeps: several threads read and cut notebooks, which are handed over one by
//! one.

use std::sync::{
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Record, RecordBuilder};

use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    indexing::{CutNotebook, IndexReport, Job, passage_of, threads},
    storage::{Change, IndexedNotebook, NotebookFile, StorageError, VectorIndexing},
    threads::start_all,
};

/// The most notebooks that wait to be handed over; threads that are ahead block.
const WAITING: usize = 64;

/// The outcome for one notebook.
enum PublishOutcome {
    Changed(Box<Change>),
    Same,
    Unreadable,
}

/// Updates the index of a collection in a backend.
pub fn publish(
    job: Job<'_>,
    index: &dyn VectorIndexing,
    listed: &[NotebookFile],
    clock: Clock,
) -> Result<IndexReport, LibraryError> {
    let failed = |error| LibraryError::of_storage(error, FailedPart::Index(index.kind()));
    index.prepare().map_err(failed)?;
    let mut report = IndexReport::default();
    let (known, is_new) = match index.entries(job.collection) {
        Ok(known) => (known, false),
        Err(StorageError::CollectionNotFound) => (Vec::new(), true),
        Err(StorageError::OtherRules { message }) => {
            report.remade = Some(message);
            (Vec::new(), true)
        }
        Err(error) => return Err(failed(error)),
    };
    let as_of = clock();
    let plan = PublishPlan::new(listed, &known);
    report.removed = plan.gone.len();
    if !is_new && plan.wanted.is_empty() && plan.gone.is_empty() {
        index.tidy(job.collection).map_err(failed)?;
        let state = index.state(job.collection).map_err(failed)?;
        report.notebooks = count(state.notebooks);
        report.chunks = count(state.chunks);
        return Ok(report);
    }
    let (send, receive) = mpsc::sync_channel(WAITING);
    let next = AtomicUsize::new(0);
    let state = std::thread::scope(|scope| {
        let (next, wanted) = (&next, &plan);
        let work = move || work(job, wanted, next, &send);
        if let Err(work) = start_all(scope, threads().min(plan.wanted.len()), work)
            && !plan.wanted.is_empty()
        {
            // Notebooks wait to be handed over, so this thread cannot read them as well.
            drop(work);
            return Err(StorageError::failed(
                "The system could not start a thread to read notebooks. Raise the limits on processes and memory, then try again.",
            ));
        }
        let gone = plan
            .gone
            .iter()
            .map(|path| Ok(Change::Remove((*path).clone())));
        let (indexed, unreadable) = (&mut report.indexed, &mut report.unreadable);
        let changed = receive.into_iter().filter_map(|outcome| match outcome {
            Ok(PublishOutcome::Changed(change)) => {
                *indexed += usize::from(matches!(*change, Change::Put { .. }));
                Some(Ok(*change))
            }
            Ok(PublishOutcome::Same) => None,
            Ok(PublishOutcome::Unreadable) => {
                *unreadable += 1;
                None
            }
            Err(error) => Some(Err(error)),
        });
        let mut changes = gone.chain(changed);
        index.update(job.collection, as_of, is_new, &mut changes)
    })
    .map_err(failed)?;
    report.notebooks = count(state.notebooks);
    report.chunks = count(state.chunks);
    report.written = true;
    Ok(report)
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the notebooks to examine and those that are gone. Both lists are sorted by path.
struct PublishPlan<'a> {
    wanted: Vec<(&'a NotebookFile, Option<&'a IndexedNotebook>)>,
    gone: Vec<&'a NotePath>,
}

impl<'a> PublishPlan<'a> {
    fn new(listed: &'a [NotebookFile], known: &'a [IndexedNotebook]) -> Self {
        let mut plan = Self {
            wanted: Vec::new(),
            gone: Vec::new(),
        };
        let mut known = known.iter().peekable();
        for one in listed {
            while let Some(gone) = known.next_if(|known| known.notebook < one.notebook) {
                plan.gone.push(&gone.notebook);
            }
            let same = known.next_if(|known| known.notebook == one.notebook);
            if same.is_none_or(|same| same.stamp != one.stamp.state) {
                plan.wanted.push((one, same));
            }
        }
        plan.gone.extend(known.map(|gone| &gone.notebook));
        plan
    }
}

/// Examines notebooks until there are none left, or no more are wanted.
fn work(
    job: Job<'_>,
    plan: &PublishPlan<'_>,
    next: &AtomicUsize,
    send: &mpsc::SyncSender<Result<PublishOutcome, StorageError>>,
) {
    let mut recorder = RecordBuilder::new(job.embedder);
    while let Some((listed, known)) = plan.wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
        let outcome = match (job.stop)() {
            true => Err(StorageError::Cancelled),
            false => look_at(job, listed, *known, &mut recorder),
        };
        let is_last = outcome.is_err();
        if send.send(outcome).is_err() || is_last {
            next.store(plan.wanted.len(), Ordering::Relaxed);
            return;
        }
    }
}

fn look_at(
    job: Job<'_>,
    listed: &NotebookFile,
    known: Option<&IndexedNotebook>,
    recorder: &mut RecordBuilder<'_>,
) -> Result<PublishOutcome, StorageError> {
    let notebook = &listed.notebook;
    let bytes = match job.read(notebook) {
        Ok(bytes) => bytes,
        // An unreadable notebook is not found; the others are.
        Err(LibraryError::Failed { .. }) => None,
        Err(LibraryError::CollectionNotFound) => return Err(StorageError::CollectionNotFound),
        Err(_) => return Err(StorageError::Cancelled),
    };
    (job.progress)();
    let Some(bytes) = bytes else {
        // Its indexed passages would be found but never quoted.
        let change = known.map(|_| Box::new(Change::Remove(notebook.clone())));
        return Ok(change.map_or(PublishOutcome::Unreadable, PublishOutcome::Changed));
    };
    let entry = IndexedNotebook {
        notebook: notebook.clone(),
        stamp: listed.stamp.state,
        digest: Digest::of(&bytes),
    };
    let change = match known {
        Some(known) if known.digest == entry.digest && known.stamp == entry.stamp => {
            return Ok(PublishOutcome::Same);
        }
        Some(known) if known.digest == entry.digest => Change::Touch(entry),
        _ => Change::Put {
            records: records(&bytes, notebook, recorder),
            entry,
        },
    };
    Ok(PublishOutcome::Changed(Box::new(change)))
}

/// Returns the chunks of a notebook.
fn records(bytes: &[u8], notebook: &NotePath, recorder: &mut RecordBuilder<'_>) -> Vec<Record> {
    let cut = CutNotebook::new(bytes, notebook);
    let numbers = 0..cut.chunks.chunks.len();
    numbers
        .map(|number| {
            let (chunk, path) = cut.chunk(bytes, number);
            let plain = cut.chunks.chunks[number].plain.as_str();
            let digest = Digest::of(chunk.span.slice(bytes));
            recorder.record(&chunk, digest, &passage_of(&path, plain))
        })
        .collect()
}
