//! The journal and the ids as the editor uses them: caught up before every read, locked for every write.

mod commit;
mod recovery;
mod sighting;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use sectile_markdown::Digest;

use self::sighting::UnrecordedIds;
pub(super) use self::{
    commit::{FileLocations, put_in_place, restore},
    sighting::{MOST_SIGHTED_SECTIONS, UnrecordedDocument},
};
use super::{Clock, EditorError, EditorOptions, folder::DocumentFolder};
use crate::{
    NotePath,
    fs::{HeldLock, PrivateFolder},
    ids::IdSource,
    journal::{
        Durability, Entry, Header, JOURNAL, Journal, JournalKey, JournalUpdate, Record, Step,
        VERSION,
    },
    ledger::{DocumentState, Ledger},
    sightings::Sightings,
};

/// The known state of the root.
#[derive(Debug)]
pub(super) struct State {
    pub(super) journal: Journal,
    pub(super) ledger: Ledger,
    pub(super) sightings: Sightings,
    pub(super) unrecorded: UnrecordedIds,
}

impl State {
    pub(super) fn new(key: JournalKey) -> Self {
        Self {
            journal: Journal::new(JOURNAL, key.clone()),
            ledger: Ledger::default(),
            sightings: Sightings::new(key),
            unrecorded: UnrecordedIds::default(),
        }
    }

    /// Returns the ids of sections: those that they have, and new ones for the others, named after their headings.
    pub(super) fn completed_ids<'h>(
        &self,
        sections: impl Iterator<Item = (Option<String>, &'h str)>,
    ) -> Result<Vec<String>, EditorError> {
        let is_taken = |batch| self.ledger.has_batch(batch) || self.sightings.has_batch(batch);
        let mut source = IdSource::new(&is_taken);
        let ids = sections.map(|(id, heading)| id.map_or_else(|| source.id(heading), Ok));
        Ok(ids.collect::<Result<Vec<_>, _>>()?)
    }
}

/// Locks on documents, held until dropped. Documents share locks, and a held lock cannot be taken again.
#[derive(Debug, Default)]
pub(super) struct DocumentLocks {
    held: BTreeMap<String, HeldLock>,
}

impl DocumentLocks {
    /// Returns whether the document at `path` is locked.
    fn cover(&self, path: &str) -> bool {
        self.held.contains_key(&lock_name(path))
    }
}

pub(super) const JOURNAL_LOCK: &str = "journal";

/// The journal and the ids of the documents in a folder, and the locks on the documents.
#[derive(Debug)]
pub(super) struct JournalStore {
    folder: Arc<DocumentFolder>,
    /// The key of this user, whose hashes nobody else can compute.
    pub(super) key: JournalKey,
    state: Mutex<State>,
    clock: Clock,
    lock_timeout: Duration,
}

impl JournalStore {
    pub(super) fn new(folder: Arc<DocumentFolder>, options: &EditorOptions) -> Self {
        Self {
            folder,
            key: options.key.clone(),
            state: Mutex::new(State::new(options.key.clone())),
            clock: options.clock,
            lock_timeout: options.limits.lock_timeout,
        }
    }

    /// Returns the known state of the root, without reading what others have written since.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the time in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Returns the state of the root, with everything that other processes have written.
    pub(super) fn current_state(&self) -> Result<MutexGuard<'_, State>, EditorError> {
        let mut state = self.state();
        self.catch_up(&mut state)?;
        Ok(state)
    }

    fn catch_up(&self, state: &mut State) -> Result<(), EditorError> {
        match self.folder.private_if_there()? {
            Some(folder) => take_news(state, &folder),
            None => {
                // The folder may have been removed. Then its content is gone.
                if state.journal.len() > 0 {
                    state.journal.forget();
                    state.ledger = Ledger::counting_from(state.ledger.next());
                }
                state.sightings.forget();
                Ok(())
            }
        }
    }

    /// Appends the records that `make` returns, based on everything that was written before, and applies them.
    pub(super) fn record<T>(
        &self,
        make: impl FnOnce(&State) -> Result<(Vec<Record>, T), EditorError>,
    ) -> Result<T, EditorError> {
        let folder = self.folder.private()?;
        let _lock = self.lock_journal(&folder)?;
        let mut state = self.state();
        take_news(&mut state, &folder)?;
        let (mut records, result) = make(&state)?;
        if state.journal.len() == 0 {
            let header = self.first_header(&state.ledger);
            records.insert(0, Record::Header(header));
        }
        let lines = state
            .journal
            .append(&folder, &records, Durability::Flushed)?;
        lines.into_iter().for_each(|line| state.ledger.apply(line));
        let adopted = records.into_iter().filter_map(|record| match record {
            Record::Adopt(adopt) => Some(Record::Forget { path: adopt.path }),
            _ => None,
        });
        let adopted: Vec<Record> = adopted.collect();
        if !adopted.is_empty() {
            // These documents are in the journal now. Their lines in the id file are ignored in any case.
            match state.sightings.append(&folder, &adopted) {
                Ok(()) | Err(_) => {}
            }
        }
        Ok(result)
    }

    /// Appends one record.
    pub(super) fn append(&self, record: Record) -> Result<(), EditorError> {
        self.record(|_| Ok((vec![record], ())))
    }

    /// Returns the state of the document at `path`, or of the last one that was deleted there.
    pub(super) fn known_at<'l>(
        &self,
        ledger: &'l Ledger,
        path: &NotePath,
    ) -> Option<&'l DocumentState> {
        let real = self.folder.root.resolve(path);
        let real = real.as_ref().unwrap_or(path);
        if self.folder.is_hidden(real) {
            return None;
        }
        let real = real.as_str();
        ledger.document(real).or_else(|| ledger.deleted_at(real))
    }

    /// The full record of an entry.
    pub(super) fn entry(&self, number: u64) -> Result<Entry, EditorError> {
        let mut looked_at = None;
        loop {
            let mut state = self.state();
            let card = state
                .ledger
                .entry(number)
                .ok_or(EditorError::EntryNotFound)?;
            let place = (card.offset, card.len);
            if looked_at == Some(place) {
                return Err(EditorError::TextUnknown);
            }
            looked_at = Some(place);
            let folder = self.folder.private_if_there()?;
            let folder = folder.ok_or(EditorError::TextUnknown)?;
            match state.journal.read_at(&folder, place.0, place.1)? {
                Some(Record::Intent(entry) | Record::Done(entry)) if entry.number == number => {
                    return Ok(*entry);
                }
                // Another process may have rewritten the journal; otherwise the line is damaged.
                _ => self.catch_up(&mut state)?,
            }
        }
    }

    pub(super) fn step(&self, number: u64, document: u64) -> Result<Step, EditorError> {
        let entry = self.entry(number)?;
        entry
            .steps
            .into_iter()
            .find(|step| step.document == document)
            .ok_or(EditorError::EntryNotFound)
    }

    /// Returns the document that holds the section with this id, as far as is known without reading documents.
    pub(super) fn document_of(&self, id: &str) -> Option<NotePath> {
        // A journal that cannot be read is reported by the call that views the document.
        let state = self.current_state().ok()?;
        let path = match state.ledger.document_of(id) {
            Some(known) => known.path.clone(),
            None => self.sighted_with(&state, id),
        };
        let path = NotePath::parse_vault(&path?).ok()?;
        (!self.folder.is_hidden(&path)).then_some(path)
    }

    /// Returns the entry that deleted the section with this id, unless its document is hidden.
    pub(super) fn deleted_by(&self, id: &str) -> Option<u64> {
        let entry = self.state().ledger.deleted_by(id)?;
        if self.folder.hides_something() {
            let steps = self.entry(entry).ok()?.steps;
            let held = |step: &Step| step.ids.removed.iter().any(|removed| removed == id);
            let step = steps.into_iter().find(held)?;
            return (!self.folder.is_hidden_at(&step.path)).then_some(entry);
        }
        Some(entry)
    }

    /// Takes the lock that covers the journal and the ids.
    pub(super) fn lock_journal(&self, folder: &PrivateFolder) -> Result<HeldLock, EditorError> {
        self.lock(folder, JOURNAL_LOCK)
    }

    fn lock(&self, folder: &PrivateFolder, name: &str) -> Result<HeldLock, EditorError> {
        let deadline = Instant::now() + self.lock_timeout;
        let lock = folder.lock(name, deadline, &|| false)?;
        lock.ok_or(EditorError::Busy)
    }

    fn first_header(&self, ledger: &Ledger) -> Header {
        let created = self.now();
        let next = ledger.next();
        Header {
            version: VERSION,
            generation: 1,
            created,
            first_id: 0,
            first_entry: next.entry,
            rewritten_bytes: 0,
        }
    }

    /// Locks documents against other processes and threads, in an order that cannot deadlock. The caller must not hold
    /// a lock on a document yet.
    pub(super) fn lock_documents<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
        stop: &dyn Fn() -> bool,
    ) -> Result<DocumentLocks, EditorError> {
        self.lock_by_name(paths.into_iter().map(lock_name).collect(), stop)
    }

    fn lock_by_name(
        &self,
        names: BTreeSet<String>,
        stop: &dyn Fn() -> bool,
    ) -> Result<DocumentLocks, EditorError> {
        let folder = self.folder.private()?;
        let deadline = Instant::now() + self.lock_timeout;
        let mut locks = DocumentLocks::default();
        for name in names {
            let lock = folder.lock(&name, deadline, stop)?;
            match lock {
                Some(lock) => locks.held.insert(name, lock),
                None if stop() => return Err(EditorError::Cancelled),
                None => return Err(EditorError::Busy),
            };
        }
        Ok(locks)
    }

    /// Locks all documents, those that do not exist yet too.
    pub(super) fn lock_all_documents(
        &self,
        stop: &dyn Fn() -> bool,
    ) -> Result<DocumentLocks, EditorError> {
        let names = (0..=u8::MAX).map(lock_name_of);
        self.lock_by_name(names.collect(), stop)
    }

    /// Locks one more document, unless someone else holds it: waiting for it out of order could deadlock.
    pub(super) fn lock_another(
        &self,
        locks: &mut DocumentLocks,
        path: &str,
    ) -> Result<bool, EditorError> {
        if locks.cover(path) {
            return Ok(true);
        }
        let more = self.try_lock_documents([path])?;
        Ok(match more {
            Some(more) => {
                locks.held.extend(more.held);
                true
            }
            None => false,
        })
    }

    /// Locks documents if nobody holds their locks.
    pub(super) fn try_lock_documents<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<DocumentLocks>, EditorError> {
        match self.lock_documents(paths, &|| true) {
            Ok(locks) => Ok(Some(locks)),
            Err(EditorError::Cancelled) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the name of a document's lock. Documents share 256 locks, so that lock files never need to be cleaned up.
fn lock_name(path: &str) -> String {
    lock_name_of(Digest::of(path.as_bytes()).as_bytes()[0])
}

fn lock_name_of(number: u8) -> String {
    format!("document-{number:02x}")
}

pub(super) fn take_news(state: &mut State, folder: &PrivateFolder) -> Result<(), EditorError> {
    let read = match state.journal.news(folder)? {
        JournalUpdate::More(read) => read,
        JournalUpdate::Anew(read) => {
            state.ledger = Ledger::counting_from(state.ledger.next());
            read
        }
    };
    state.ledger.take_in(read);
    Ok(state.sightings.take_news(folder)?)
}
