//! The changes of a whole folder: what was done where, by whom, newest first.

use std::collections::HashMap;

use super::{DocumentHistory, HistoryDocument, HistoryEntry};
use crate::{
    FileStamp, NotePath,
    editor::{CallHooks, EditorError},
    journal::{EntryKind, FolderMove, LineOrigin},
    ledger::{EntryCard, Ledger, StepCard},
};

/// Selects changes of a folder. Without conditions, all of them.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Only changes of this document, or of documents in this folder, whether or not they still exist.
    pub under: Option<NotePath>,
    /// Only changes of this section.
    pub section_id: Option<String>,
    /// Only changes at or after this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only entries before this one.
    pub before: Option<u64>,
    /// Only changes by this caller.
    pub actor: Option<String>,
    /// At most this many entries.
    pub limit: usize,
}

/// The paths that an entry is about, as far as callers see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryPaths {
    /// The folder that it moved: its path before, and after.
    pub folder: Option<(String, String)>,
    /// The documents that it changed or moved.
    pub documents: Vec<EntryDocument>,
}

/// A document that an entry changed or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDocument {
    /// The document, under its path after the entry.
    pub document: HistoryDocument,
    /// Its path before, if that was another one.
    pub moved_from: Option<String>,
    /// Whether its text changed.
    pub is_edited: bool,
}

/// The stamps of files whose text is the one that the history has, by path.
pub(super) type SeenFiles = HashMap<String, (u64, FileStamp)>;

impl DocumentHistory {
    /// The changes that `filter` selects, newest first, and whether there are more.
    pub(crate) fn changes(
        &self,
        filter: &ChangeFilter,
        watch: CallHooks<'_>,
    ) -> Result<(Vec<HistoryEntry>, bool), EditorError> {
        self.enter_external_edits(filter.under.as_ref(), watch)?;
        let state = self.store.current_state()?;
        let mut entries = Vec::new();
        for card in state.ledger.entries_before(filter.before).rev() {
            if !self.selects(filter, card, &state.ledger) {
                continue;
            }
            if entries.len() == filter.limit {
                return Ok((entries, true));
            }
            entries.push(self.shown(card, &state, None));
        }
        Ok((entries, false))
    }

    /// The entry with this number.
    pub(crate) fn entry(&self, number: u64) -> Result<HistoryEntry, EditorError> {
        let state = self.store.current_state()?;
        let card = state.ledger.entry(number);
        let card = card.filter(|card| self.shows(card, &state.ledger));
        let card = card.ok_or(EditorError::EntryNotFound)?;
        Ok(self.shown(card, &state, None))
    }

    /// The paths that the entry with this number is about.
    pub(crate) fn entry_paths(&self, number: u64) -> Result<EntryPaths, EditorError> {
        let state = self.store.current_state()?;
        let card = state.ledger.entry(number);
        let card = card.filter(|card| self.shows(card, &state.ledger));
        let card = card.ok_or(EditorError::EntryNotFound)?;
        let documents = card
            .steps
            .iter()
            .filter(|step| !self.folder.is_step_hidden(step, &state.ledger));
        let documents = documents.map(|step| {
            let document = HistoryDocument {
                number: step.document,
                path: step.moved_to.as_ref().unwrap_or(&step.path).clone(),
            };
            let before = Some(&step.path).filter(|_| step.moved_to.is_some());
            let before = before.filter(|path| !self.folder.is_hidden_at(path));
            EntryDocument {
                document,
                moved_from: before.cloned(),
                is_edited: step.before != step.after,
            }
        });
        let folder = card.folder.as_ref();
        let folder = folder.filter(|folder| self.folder.sees_move(folder));
        Ok(EntryPaths {
            folder: folder.map(|folder| (folder.from.clone(), folder.to.clone())),
            documents: documents.collect(),
        })
    }

    /// The newest own entry of this caller that is in force.
    pub(crate) fn newest_change_of(&self, actor: &str) -> Result<Option<u64>, EditorError> {
        let state = self.store.current_state()?;
        let is_own = |card: &&EntryCard| {
            card.actor == actor
                && card.origin == LineOrigin::Own
                && self.shows(card, &state.ledger)
                // An entry that also changed hidden documents cannot be undone.
                && !self.folder.is_entry_hidden(card, &state.ledger)
        };
        let in_force = state
            .ledger
            .entries_before(None)
            .rev()
            .filter(is_own)
            .find(|card| card.kind == EntryKind::Edit && !state.ledger.is_taken_back(card.number));
        Ok(in_force.map(|card| card.number))
    }

    /// Views the documents with a history below `under` whose files have changed, which enters what other programs did
    /// to them.
    pub(super) fn enter_external_edits(
        &self,
        under: Option<&NotePath>,
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        let known: Vec<(String, u64)> = {
            let state = self.store.current_state()?;
            let documents = state.ledger.documents().into_iter();
            let known = documents.filter_map(|known| {
                let path = known.path.clone()?;
                let is_wanted = under.is_none_or(|under| is_under(&path, under))
                    && !self.folder.is_hidden_at(&path);
                is_wanted.then(|| (path, known.entries.last().copied().unwrap_or_default()))
            });
            known.collect()
        };
        for (path, entry) in known {
            watch.check()?;
            let Ok(note) = NotePath::parse_vault(&path) else {
                continue;
            };
            let stamp = self.folder.root.stamp(&note);
            let is_seen =
                stamp.is_some_and(|stamp| self.seen.lock().get(&path) == Some(&(entry, stamp)));
            if is_seen {
                continue;
            }
            // A document that cannot be read has no new entry.
            if let (Ok(Some(view)), Some(stamp)) = (self.reader.looked_at(&note), stamp) {
                self.seen.lock().insert(path, (view.revision(), stamp));
            } else {
                self.seen.lock().remove(&path);
            }
        }
        Ok(())
    }

    /// Returns whether callers see anything of an entry.
    fn shows(&self, card: &EntryCard, ledger: &Ledger) -> bool {
        let folder = card.folder.as_ref();
        let sees = |step: &StepCard| !self.folder.is_step_hidden(step, ledger);
        folder.is_some_and(|folder| self.folder.sees_move(folder)) || card.steps.iter().any(sees)
    }

    fn selects(&self, filter: &ChangeFilter, card: &EntryCard, ledger: &Ledger) -> bool {
        let about = |step: &StepCard| {
            let touches = |id: &String| step.touched.contains(id);
            !self.folder.is_step_hidden(step, ledger)
                && filter.section_id.as_ref().is_none_or(touches)
                && filter.under.as_ref().is_none_or(|under| {
                    let now = ledger.document_by_number(step.document);
                    let now = now.and_then(|known| known.path.as_ref());
                    let paths = [Some(&step.path), step.moved_to.as_ref(), now];
                    paths
                        .into_iter()
                        .flatten()
                        .any(|path| is_under(path, under))
                })
        };
        // A folder without documents has no steps.
        let about_folder = |folder: &FolderMove| {
            filter.section_id.is_none()
                && filter.under.as_ref().is_none_or(|under| {
                    is_under(&folder.from, under) || is_under(&folder.to, under)
                })
        };
        filter.since.is_none_or(|since| card.time >= since)
            && filter
                .actor
                .as_ref()
                .is_none_or(|actor| card.actor == *actor)
            && self.shows(card, ledger)
            && (card.steps.iter().any(about) || card.folder.as_ref().is_some_and(about_folder))
    }
}

/// Returns whether `path` is `under` or in the folder of that name.
fn is_under(path: &str, under: &NotePath) -> bool {
    let rest = path.strip_prefix(under.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
