//! Notebooks put into an index that a backend keeps: read and cut by several threads, and handed over one after the other.

use std::sync::{
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Record, Recorder};

use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    indexing::{CutNotebook, Job, Report, passage_of, threads},
    storage::{Change, IndexedNotebook, Listed, StorageError, VectorIndexing},
};

/// So many notebooks wait to be handed over; whoever cuts more waits too.
const WAITING: usize = 64;

/// What became of one notebook.
enum Outcome {
    Changed(Box<Change>),
    Same,
    Unreadable,
}

/// Brings the index of a collection in a backend up to date.
pub fn publish(
    job: Job<'_>,
    index: &dyn VectorIndexing,
    listed: &[Listed],
    clock: Clock,
) -> Result<Report, LibraryError> {
    let failed = |error| LibraryError::of_storage(error, FailedPart::Index(index.kind()));
    index.prepare().map_err(failed)?;
    let mut report = Report::default();
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
    let plan = Plan::new(listed, &known);
    report.removed = plan.gone.len();
    if !is_new && plan.wanted.is_empty() && plan.gone.is_empty() {
        let state = index.state(job.collection).map_err(failed)?;
        report.notebooks = count(state.notebooks);
        report.chunks = count(state.chunks);
        return Ok(report);
    }
    let (send, receive) = mpsc::sync_channel(WAITING);
    let next = AtomicUsize::new(0);
    let state = std::thread::scope(|scope| {
        for _ in 0..threads().min(plan.wanted.len()) {
            let (send, next, plan) = (send.clone(), &next, &plan);
            scope.spawn(move || work(job, plan, next, &send));
        }
        drop(send);
        let gone = plan
            .gone
            .iter()
            .map(|path| Ok(Change::Remove((*path).clone())));
        let (indexed, unreadable) = (&mut report.indexed, &mut report.unreadable);
        let changed = receive.into_iter().filter_map(|outcome| match outcome {
            Ok(Outcome::Changed(change)) => {
                *indexed += usize::from(matches!(*change, Change::Put { .. }));
                Some(Ok(*change))
            }
            Ok(Outcome::Same) => None,
            Ok(Outcome::Unreadable) => {
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

/// Which notebooks are looked at, and which are gone. Both lists are sorted by path.
struct Plan<'a> {
    wanted: Vec<(&'a Listed, Option<&'a IndexedNotebook>)>,
    gone: Vec<&'a NotePath>,
}

impl<'a> Plan<'a> {
    fn new(listed: &'a [Listed], known: &'a [IndexedNotebook]) -> Self {
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

/// Looks at one notebook after the other until there are no more, or nobody wants them.
fn work(
    job: Job<'_>,
    plan: &Plan<'_>,
    next: &AtomicUsize,
    send: &mpsc::SyncSender<Result<Outcome, StorageError>>,
) {
    let mut recorder = Recorder::new(job.embedder);
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
    listed: &Listed,
    known: Option<&IndexedNotebook>,
    recorder: &mut Recorder<'_>,
) -> Result<Outcome, StorageError> {
    let notebook = &listed.notebook;
    let bytes = match job.read(notebook) {
        Ok(bytes) => bytes,
        // What cannot be read cannot be found either; the rest can.
        Err(LibraryError::Failed { .. }) => None,
        Err(LibraryError::CollectionNotFound) => return Err(StorageError::CollectionNotFound),
        Err(_) => return Err(StorageError::Cancelled),
    };
    (job.progress)();
    let Some(bytes) = bytes else {
        // What is indexed of it would be found and never quoted.
        let change = known.map(|_| Box::new(Change::Remove(notebook.clone())));
        return Ok(change.map_or(Outcome::Unreadable, Outcome::Changed));
    };
    let entry = IndexedNotebook {
        notebook: notebook.clone(),
        stamp: listed.stamp.state,
        digest: Digest::of(&bytes),
    };
    let change = match known {
        Some(known) if known.digest == entry.digest && known.stamp == entry.stamp => {
            return Ok(Outcome::Same);
        }
        Some(known) if known.digest == entry.digest => Change::Touch(entry),
        _ => Change::Put {
            records: records(&bytes, notebook, recorder),
            entry,
        },
    };
    Ok(Outcome::Changed(Box::new(change)))
}

/// The chunks of a notebook.
fn records(bytes: &[u8], notebook: &NotePath, recorder: &mut Recorder<'_>) -> Vec<Record> {
    let cut = CutNotebook::new(bytes, notebook);
    let numbers = 0..cut.chunks.chunks.len();
    numbers
        .map(|number| {
            let (chunk, path) = cut.chunk(bytes, number);
            let plain = cut.chunks.chunks[number].plain.as_str();
            recorder.record(&chunk, &passage_of(&path, plain))
        })
        .collect()
}
