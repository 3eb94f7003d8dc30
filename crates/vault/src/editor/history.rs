//! The history of a document: its entries, and its text at any of them.

pub(super) mod changes;
mod compact;
pub(super) mod past_texts;
pub(super) mod trust;

use std::{path::Path, sync::Arc};

use parking_lot::Mutex;

use sectile_markdown::Changes;

use self::changes::SeenFiles;
use super::{
    EditorError, EditorLimits,
    folder::{DocumentFolder, recorded_path},
    read::{DocumentReader, past::before},
    store::{JournalStore, State, take_news},
};
use crate::{
    NotePath,
    journal::{Damage, EntryKind, JournalKey, LineOrigin, Step},
    ledger::{DocumentState, EntryCard, StepCard},
};

/// A history entry as callers see it.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// Its number.
    pub number: u64,
    /// The time in milliseconds since 1970.
    pub time: i64,
    /// The caller that asked for it.
    pub actor: String,
    /// The operation that was asked for.
    pub operation: String,
    /// The reason, if one was given.
    pub reason: Option<String>,
    /// The entry that this one undoes or redoes.
    pub undoes: Option<u64>,
    /// Whether another program made the change.
    pub is_foreign: bool,
    /// Whether the entry came with the folder and was not written by this user. It is shown, but cannot be undone.
    pub is_unverified: bool,
    /// Whether it has been undone.
    pub is_undone: bool,
    /// The documents that it changed.
    pub documents: Vec<String>,
    /// The ids of the sections that it concerns.
    pub sections: Vec<String>,
}

/// Selects entries of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Only entries about this section.
    pub section_id: Option<String>,
    /// Only entries before this one.
    pub before: Option<u64>,
    /// At most this many entries, newest first.
    pub limit: usize,
}

/// A document after a given entry.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The entry.
    pub entry: u64,
    /// The path of the document at that time.
    pub path: String,
    /// The bytes after that entry; `None` if the document did not exist.
    pub bytes: Option<Vec<u8>>,
}

/// A document that the history knows, whether it exists or has been deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryDocument {
    number: u64,
    path: String,
}

impl HistoryDocument {
    /// Returns its path, or its last one.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// The number of a document that was only read. No document in the journal has it.
const WITHOUT_HISTORY: u64 = 0;

/// A document at an earlier time.
struct PastDocument {
    path: String,
    bytes: Option<Vec<u8>>,
    ids: Vec<String>,
}

/// The history of the documents in a folder.
#[derive(Debug)]
pub(super) struct DocumentHistory {
    folder: Arc<DocumentFolder>,
    store: Arc<JournalStore>,
    reader: Arc<DocumentReader>,
    max_journal_bytes: u64,
    /// The files that agreed with the history when they were last read.
    seen: Mutex<SeenFiles>,
}

impl DocumentHistory {
    pub(super) fn new(
        folder: &Arc<DocumentFolder>,
        store: &Arc<JournalStore>,
        reader: &Arc<DocumentReader>,
        limits: &EditorLimits,
    ) -> Self {
        Self {
            folder: Arc::clone(folder),
            store: Arc::clone(store),
            reader: Arc::clone(reader),
            max_journal_bytes: limits.max_journal_bytes,
            seen: Mutex::default(),
        }
    }

    /// The entries of a document's history, newest first, and whether there are more.
    pub(super) fn history_of(
        &self,
        document: &HistoryDocument,
        filter: &HistoryFilter,
    ) -> Result<(Vec<HistoryEntry>, bool), EditorError> {
        if document.number == WITHOUT_HISTORY {
            return Ok((Vec::new(), false));
        }
        let state = self.store.state();
        let known = state
            .ledger
            .document_by_number(document.number)
            .ok_or(EditorError::DocumentNotFound)?;
        let mut entries = Vec::new();
        let mut more = false;
        for number in known.entries.iter().rev() {
            let Some(card) = state.ledger.entry(*number) else {
                continue;
            };
            let Some(step) = card.step(known.id) else {
                continue;
            };
            let wanted = filter.before.is_none_or(|before| card.number < before)
                && filter
                    .section_id
                    .as_ref()
                    .is_none_or(|id| step.touched.contains(id));
            if !wanted {
                continue;
            }
            if entries.len() == filter.limit {
                more = true;
                break;
            }
            entries.push(self.shown(card, &state, Some(known)));
        }
        Ok((entries, more))
    }

    /// The document at `path`, or the last one that was deleted there if there is no file.
    pub(super) fn remembered(&self, path: &NotePath) -> Result<HistoryDocument, EditorError> {
        self.folder.check_path(path)?;
        let there = self.reader.looked_at(path)?;
        let state = self.store.current_state()?;
        let known = match &there {
            Some(view) => state.ledger.document(view.path().as_str()),
            None => self.store.known_at(&state.ledger, path),
        };
        let number = match (known, there) {
            (Some(known), _) => known.id,
            (None, Some(_)) => WITHOUT_HISTORY,
            (None, None) => return Err(EditorError::DocumentNotFound),
        };
        Ok(HistoryDocument {
            number,
            path: path.as_str().to_owned(),
        })
    }

    /// The document that holds the section with this id, or held it when it was deleted.
    pub(super) fn remembered_by_section(
        &self,
        id: &str,
    ) -> Result<Option<HistoryDocument>, EditorError> {
        let found = self.document_with(id);
        let found = found.filter(|found| !self.folder.is_hidden_at(&found.path));
        let path = found
            .as_ref()
            .and_then(|found| NotePath::parse_vault(&found.path).ok());
        // Viewing the document enters what other programs did to it.
        match path.map(|path| {
            self.folder
                .check_path(&path)
                .and_then(|()| self.reader.looked_at(&path))
        }) {
            None => Ok(None),
            Some(Ok(_)) => Ok(found),
            Some(Err(error)) => Err(error),
        }
    }

    fn document_with(&self, id: &str) -> Option<HistoryDocument> {
        let deleted_by = {
            // A journal that cannot be read is reported by the call that views the document.
            let state = self.store.current_state().ok()?;
            if let Some(known) = state.ledger.document_of(id) {
                return Some(HistoryDocument {
                    number: known.id,
                    path: known.path.clone()?,
                });
            }
            if let Some(path) = self.store.sighted_with(&state, id) {
                let number = WITHOUT_HISTORY;
                return Some(HistoryDocument { number, path });
            }
            state.ledger.deleted_by(id)?
        };
        let steps = self.store.entry(deleted_by).ok()?.steps;
        let held = |step: &Step| step.ids.removed.iter().any(|removed| removed == id);
        let step = steps.into_iter().find(held)?;
        let state = self.store.state();
        let known = state.ledger.document_by_number(step.document)?;
        Some(HistoryDocument {
            number: known.id,
            path: known.path.clone().unwrap_or(step.path),
        })
    }

    /// Returns whether undo and redo would do something.
    pub(super) fn can_undo_redo(&self, document: &HistoryDocument) -> (bool, bool) {
        let state = self.store.state();
        let known = state.ledger.document_by_number(document.number);
        let is_ours = |number: &u64| {
            let card = state.ledger.entry(*number);
            card.is_some_and(|card| card.origin == LineOrigin::Own)
        };
        known.map_or((false, false), |known| {
            (
                known.done.last().is_some_and(is_ours),
                known.undone.last().is_some_and(is_ours),
            )
        })
    }

    /// The document as it was after entry `number`, or before its first entry for 0.
    pub(super) fn revision_of(
        &self,
        document: &HistoryDocument,
        number: u64,
    ) -> Result<Revision, EditorError> {
        if document.number == WITHOUT_HISTORY {
            let path = recorded_path(&document.path)?;
            return match number {
                0 => Ok(Revision {
                    entry: 0,
                    bytes: Some(self.reader.view(&path)?.bytes().to_vec()),
                    path: document.path.clone(),
                }),
                _ => Err(EditorError::EntryNotFound),
            };
        }
        let known = self
            .store
            .state()
            .ledger
            .document_by_number(document.number)
            .cloned()
            .ok_or(EditorError::DocumentNotFound)?;
        let at = match number {
            0 => 0,
            number => {
                let found = known.entries.iter().position(|entry| *entry == number);
                found.ok_or(EditorError::EntryNotFound)? + 1
            }
        };
        let past = self.walk_back(&known, at)?;
        // A deleted document has no path.
        let path = Some(past.path).filter(|path| !path.is_empty());
        Ok(Revision {
            entry: number,
            path: path.unwrap_or_else(|| document.path.clone()),
            bytes: past.bytes,
        })
    }

    /// Path, bytes and section ids of a document before its entry at index `at`.
    fn walk_back(&self, known: &DocumentState, at: usize) -> Result<PastDocument, EditorError> {
        if at < known.chain_start {
            return Err(EditorError::TextUnknown);
        }
        let mut bytes = match known.hash {
            Some(_) => Some(self.reader.text_of(known).ok_or(EditorError::TextUnknown)?),
            None => None,
        };
        let mut path = known.path.clone().unwrap_or_default();
        let mut ids = known.ids.clone();
        for entry in known.entries[at..].iter().rev() {
            let step = self.store.step(*entry, known.id)?;
            bytes = before(&step, bytes.as_deref())?;
            ids = step
                .ids
                .inverse()
                .apply(&ids)
                .ok_or(EditorError::TextUnknown)?;
            path.clone_from(&step.path);
        }
        Ok(PastDocument { path, bytes, ids })
    }

    /// Bytes and section ids of a document after an entry.
    pub(super) fn document_after(
        &self,
        document: u64,
        number: u64,
    ) -> Result<(Option<Vec<u8>>, Vec<String>), EditorError> {
        let known = self
            .store
            .state()
            .ledger
            .document_by_number(document)
            .cloned()
            .ok_or(EditorError::EntryNotFound)?;
        let found = known.entries.iter().position(|entry| *entry == number);
        let at = found.ok_or(EditorError::EntryNotFound)? + 1;
        let past = self.walk_back(&known, at)?;
        Ok((past.bytes, past.ids))
    }

    /// The replacements that an entry made in a document, with the bytes before them.
    pub(super) fn entry_changes(
        &self,
        document: &HistoryDocument,
        number: u64,
    ) -> Result<(Vec<u8>, Changes), EditorError> {
        let after = self.revision_of(document, number)?;
        let step = self.store.step(number, document.number)?;
        let old = before(&step, after.bytes.as_deref())?.unwrap_or_default();
        let changes = step.changes().ok_or(EditorError::TextUnknown)?;
        Ok((old, changes))
    }

    /// Returns an entry as callers see it, with the sections that it concerns in one document or in all of them.
    fn shown(
        &self,
        card: &EntryCard,
        state: &State,
        known: Option<&DocumentState>,
    ) -> HistoryEntry {
        let seen = || {
            let steps = card.steps.iter();
            steps.filter(|step| !self.folder.is_step_hidden(step, &state.ledger))
        };
        let about = |step: &&StepCard| known.is_none_or(|known| known.id == step.document);
        HistoryEntry {
            number: card.number,
            time: card.time,
            actor: card.actor.clone(),
            operation: card.operation.clone(),
            reason: card.reason.clone(),
            undoes: match card.kind {
                EntryKind::Undo(target) | EntryKind::Redo(target) => Some(target),
                EntryKind::Edit | EntryKind::Foreign => None,
            },
            is_foreign: card.kind == EntryKind::Foreign,
            is_unverified: card.origin == LineOrigin::Foreign,
            is_undone: state.ledger.is_taken_back(card.number),
            documents: seen()
                .map(|step| step.moved_to.clone().unwrap_or_else(|| step.path.clone()))
                .collect(),
            sections: seen()
                .filter(about)
                .flat_map(|step| step.touched.iter().cloned())
                .collect(),
        }
    }

    /// The parts of the journal that cannot be read.
    pub(super) fn damage(&self) -> Vec<Damage> {
        // This reports the damage seen so far; an unreadable journal is reported by the call that needs it.
        let state = self.store.current_state();
        state.map_or_else(|_| Vec::new(), |state| state.ledger.damage().to_vec())
    }
}

/// A summary of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalState {
    /// Number of history entries.
    pub entries: usize,
    /// Number of documents in the journal.
    pub documents: usize,
    /// The document of the newest entry.
    pub newest: Option<String>,
    /// Number of places that cannot be read.
    pub damaged_places: usize,
    /// Number of lines that came with the folder and were not written by this user.
    pub foreign_lines: usize,
    /// Number of unfinished changes among the foreign lines.
    pub foreign_intents: usize,
    /// Number of files that hold what another program wrote to them after they were replaced.
    pub rescued: usize,
}

/// Examines the journal of the folder or document at `location` without changing anything. Returns `None` if there is
/// no journal.
///
/// # Errors
/// [`EditorError`] when the folder or its journal cannot be read.
pub fn examine(location: &Path, key: JournalKey) -> Result<Option<JournalState>, EditorError> {
    let root = match crate::PathTarget::at(location) {
        Ok(crate::PathTarget::Folder(root) | crate::PathTarget::File(root, _)) => root,
        Ok(crate::PathTarget::Other) => return Ok(None),
        Err(crate::RootError::Unreadable(kind)) => return Err(EditorError::Io(kind)),
        Err(_) => return Err(EditorError::RootGone),
    };
    let folder = root.private_folder()?;
    let Some(folder) = folder else {
        return Ok(None);
    };
    let mut state = State::new(key);
    take_news(&mut state, &folder)?;
    let documents = state.ledger.documents();
    let recorded = documents.iter().filter(|known| known.path.is_some());
    Ok(Some(JournalState {
        entries: state.ledger.entries().count(),
        documents: recorded.count() + state.sightings.len(),
        newest: state
            .ledger
            .entries()
            .next_back()
            .and_then(|entry| entry.steps.first())
            .map(|step| step.moved_to.as_ref().unwrap_or(&step.path).clone()),
        damaged_places: state.ledger.damage().len(),
        foreign_lines: state.ledger.foreign_lines(),
        foreign_intents: state.ledger.foreign_intents(),
        rescued: folder.rescued_files()?.len(),
    }))
}
