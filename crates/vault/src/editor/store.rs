//! The journal and the ids as the editor uses them: caught up before every look, locked for every line.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use sectile_markdown::Digest;

use super::{Editor, EditorError, sighting::Unrecorded};
use crate::{
    fs::{HeldLock, PrivateFolder},
    ids::IdSource,
    journal::{Durability, Header, JOURNAL, Journal, JournalKey, News, Record, VERSION},
    ledger::Ledger,
    sightings::Sightings,
};

/// What is known of the root.
#[derive(Debug)]
pub(super) struct State {
    pub(super) journal: Journal,
    pub(super) ledger: Ledger,
    pub(super) sightings: Sightings,
    pub(super) unrecorded: Unrecorded,
}

impl State {
    pub(super) fn new(key: JournalKey) -> Self {
        Self {
            journal: Journal::new(JOURNAL, key.clone()),
            ledger: Ledger::default(),
            sightings: Sightings::new(key),
            unrecorded: Unrecorded::default(),
        }
    }

    /// The ids of sections: those that they have, and new ones for the others, which are known by their headings.
    pub(super) fn completed_ids<'h>(
        &self,
        sections: impl Iterator<Item = (Option<String>, &'h str)>,
    ) -> Result<Vec<String>, EditorError> {
        let is_taken = |batch| self.ledger.has_batch(batch) || self.sightings.has_batch(batch);
        let mut source = IdSource::new(&is_taken);
        let ids = sections.map(|(id, heading)| id.map_or_else(|| source.id(heading), Ok));
        let ids = ids.collect::<Result<Vec<_>, _>>();
        ids.map_err(|error| EditorError::io(&error))
    }
}

/// Locks on documents, held until dropped. Documents share locks, and a lock that is held cannot be taken again.
#[derive(Debug, Default)]
pub(super) struct DocumentLocks {
    held: BTreeMap<String, HeldLock>,
}

impl DocumentLocks {
    /// Whether the document at `path` is locked.
    fn cover(&self, path: &str) -> bool {
        self.held.contains_key(&lock_name(path))
    }
}

pub(super) const JOURNAL_LOCK: &str = "journal";

impl Editor {
    /// Takes in what other processes have written.
    pub(super) fn catch_up(&self, state: &mut State) -> Result<(), EditorError> {
        match self.folder.root.private_folder() {
            Ok(Some(folder)) => take_news(state, &folder),
            Ok(None) => {
                // Somebody may have removed the folder. Then what it said is gone.
                if state.journal.len() > 0 {
                    state.journal.forget();
                    state.ledger = Ledger::counting_from(state.ledger.next());
                }
                state.sightings.forget();
                Ok(())
            }
            Err(error) => Err(self.folder.refusal(&error)),
        }
    }

    /// Appends the records that `make` gives, knowing everything that was written before, and takes them in.
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
            // The journal has these documents now. What the file of ids says of them is passed over in any case.
            match state.sightings.append(&folder, &adopted) {
                Ok(()) | Err(_) => {}
            }
        }
        Ok(result)
    }

    /// Takes the lock of the journal and the ids.
    pub(super) fn lock_journal(&self, folder: &PrivateFolder) -> Result<HeldLock, EditorError> {
        let deadline = Instant::now() + self.limits.lock_timeout;
        folder
            .lock(JOURNAL_LOCK, deadline, &|| false)
            .map_err(|error| EditorError::io(&error))?
            .ok_or(EditorError::Busy)
    }

    fn first_header(&self, ledger: &Ledger) -> Header {
        let created = (self.clock)();
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

    /// Locks documents against other processes and threads, in an order that cannot lead to a deadlock. The caller
    /// holds no lock on a document yet.
    pub(super) fn lock_documents<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a str>,
        stop: &dyn Fn() -> bool,
    ) -> Result<DocumentLocks, EditorError> {
        let names: BTreeSet<String> = paths.into_iter().map(lock_name).collect();
        let folder = self.folder.private()?;
        let deadline = Instant::now() + self.limits.lock_timeout;
        let mut locks = DocumentLocks::default();
        for name in names {
            let lock = folder
                .lock(&name, deadline, stop)
                .map_err(|error| EditorError::io(&error))?;
            match lock {
                Some(lock) => locks.held.insert(name, lock),
                None if stop() => return Err(EditorError::Cancelled),
                None => return Err(EditorError::Busy),
            };
        }
        Ok(locks)
    }

    /// Locks one more document, unless somebody else holds it: waiting for it out of order could be a deadlock.
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

    /// Locks documents if nobody holds them.
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

/// Documents share 256 locks, so that these need never be cleaned up.
fn lock_name(path: &str) -> String {
    let digest = Digest::of(path.as_bytes());
    format!("document-{:02x}", digest.as_bytes()[0])
}

pub(super) fn take_news(state: &mut State, folder: &PrivateFolder) -> Result<(), EditorError> {
    let read = match state.journal.news(folder)? {
        News::More(read) => read,
        News::Anew(read) => {
            state.ledger = Ledger::counting_from(state.ledger.next());
            read
        }
    };
    state.ledger.take_in(read);
    Ok(state.sightings.take_news(folder)?)
}
