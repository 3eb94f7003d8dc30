//! Undo and redo: an entry is undone by applying the inverse of its changes, shifted past later ones.
//!
//! Nothing that came later is lost: where later changes, ours or another program's, touch the same text, the undo is
//! refused.

use std::collections::{BTreeSet, HashMap, HashSet};

use sectile_markdown::{Changes, Digest, Source};

use super::{
    DocumentWriter, MOST_TRIES,
    commit::CommitHeader,
    report::WriteReport,
    transaction::{PendingStep, Transaction},
};
use crate::{
    NotePath,
    editor::{CallHooks, EditorError, draft::Draft, folder::recorded_path},
    journal::{Entry, EntryKind, FolderMove, LineOrigin, Request, Step},
    ledger::{DocumentState, EntryCard, Ledger},
};

/// A request to undo or redo an entry.
#[derive(Clone, Debug)]
pub struct UndoRequest {
    /// The document whose last change is undone.
    pub path: Option<NotePath>,
    /// The entry, if not the last one.
    pub entry: Option<u64>,
    /// Whether to redo it instead.
    pub redo: bool,
    /// The caller.
    pub actor: String,
    /// The caller's reason, if one was given.
    pub reason: Option<String>,
    /// The caller's id for the request, and a digest of its content.
    pub request: Option<(String, String)>,
    /// Whether to only report what would happen.
    pub dry_run: bool,
}

impl DocumentWriter {
    /// Undoes an entry, or redoes one. Undoing an undo is a redo.
    pub(crate) fn undo(
        &self,
        request: &UndoRequest,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        match self.as_redo(request)? {
            Some(redo) => self.undo_entry(&redo, watch),
            None => self.undo_entry(request, watch),
        }
    }

    /// Returns the request to redo an entry, if `request` is to undo its undo.
    fn as_redo(&self, request: &UndoRequest) -> Result<Option<UndoRequest>, EditorError> {
        let Some(number) = request.entry.filter(|_| !request.redo) else {
            return Ok(None);
        };
        let state = self.store.current_state()?;
        let kind = state.ledger.entry(number).map(|card| card.kind);
        Ok(match kind {
            Some(EntryKind::Undo(target)) => Some(UndoRequest {
                entry: Some(target),
                redo: true,
                ..request.clone()
            }),
            Some(EntryKind::Redo(target)) => Some(UndoRequest {
                entry: Some(target),
                ..request.clone()
            }),
            _ => None,
        })
    }

    fn undo_entry(
        &self,
        request: &UndoRequest,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        // Where a single document is edited, entries of others do not exist.
        let path = request.path.as_ref().or(self.folder.only.as_ref());
        let asked = path.map(|path| {
            self.folder
                .root
                .resolve(path)
                .unwrap_or_else(|_| path.clone())
        });
        let asked = asked.as_ref().map(NotePath::as_str);
        for _ in 0..MOST_TRIES {
            if let Some(report) = self.replay_about(request.request.as_ref(), asked)? {
                return Ok(report);
            }
            self.look_at(path)?;
            let (target, reverted) = self.chosen(request, path)?;
            let entry = self.store.entry(reverted)?;
            let paths = self.current_paths(&entry);
            let locks = match entry.folder {
                Some(_) => self.store.lock_all_documents(watch.stop)?,
                None => self
                    .store
                    .lock_documents(paths.iter().map(String::as_str), watch.stop)?,
            };
            self.store.finish_all_pending(&paths)?;
            // The first attempt may have been in flight until now.
            if let Some(report) = self.replay_about(request.request.as_ref(), asked)? {
                return Ok(report);
            }
            let still_so = self.chosen(request, path)? == (target, reverted)
                && self.current_paths(&entry).is_subset(&paths);
            if !still_so {
                continue;
            }
            let mut transaction = Transaction::new(self, locks);
            for step in &entry.steps {
                let draft = self.reverted(&entry, step)?;
                transaction
                    .drafts
                    .insert(draft.path.as_str().to_owned(), draft);
            }
            if let Some(folder) = &entry.folder {
                self.move_back(&mut transaction, folder, watch)?;
            }
            check_ids(&transaction)?;
            note_steps(&mut transaction, asked);
            transaction.settle_links(&[], watch)?;
            let heading = CommitHeader {
                actor: request.actor.clone(),
                operation: if request.redo { "redo" } else { "undo" }.to_owned(),
                reason: request.reason.clone(),
                request: request
                    .request
                    .clone()
                    .map(|(id, digest)| Request { id, digest }),
                kind: if request.redo {
                    EntryKind::Redo(target)
                } else {
                    EntryKind::Undo(target)
                },
            };
            if request.dry_run {
                transaction.check_writable()?;
                return Ok(self.preview(&transaction));
            }
            if let Some(report) = self.finish(&transaction, heading, watch)? {
                return Ok(report);
            }
        }
        Err(EditorError::KeepsChanging)
    }

    /// Moves a folder back to where it was, with everything that is in it now.
    fn move_back(
        &self,
        transaction: &mut Transaction<'_>,
        folder: &FolderMove,
        watch: CallHooks<'_>,
    ) -> Result<(), EditorError> {
        let FolderMove { from, to } = folder.inverse();
        let (from, to) = (recorded_path(&from)?, recorded_path(&to)?);
        self.folder.check_folder_move(&from, &to)?;
        if !self.folder.root.has_folder(&from)? {
            return Err(EditorError::FolderNotFound);
        }
        if self.folder.root.is_occupied(&to) && !self.folder.root.is_same_folder(&from, &to) {
            return Err(EditorError::FolderExists);
        }
        transaction.move_folder(&from, &to, watch)
    }

    /// Detects what other programs did to the document, which need not exist. This locks the document, so it must not
    /// be called while locks are held.
    fn look_at(&self, path: Option<&NotePath>) -> Result<(), EditorError> {
        let Some(path) = path else {
            return Ok(());
        };
        self.folder.check_path(path)?;
        self.reader.looked_at(path).map(|_| ())
    }

    /// Returns the requested entry, and the one whose changes must be inverted for it.
    fn chosen(
        &self,
        request: &UndoRequest,
        path: Option<&NotePath>,
    ) -> Result<(u64, u64), EditorError> {
        let state = self.store.current_state()?;
        // An entry about something that is hidden from the caller is unknown to it, unless only links were repaired there.
        let is_secret = |card: &EntryCard| self.folder.is_entry_hidden(card, &state.ledger);
        if path.is_none()
            && let Some(card) = request.entry.and_then(|entry| state.ledger.entry(entry))
            && card.steps.is_empty()
            && card.folder.is_some()
        {
            if is_secret(card) {
                return Err(EditorError::EntryNotFound);
            }
            return chosen_without_documents(&state.ledger, request, card);
        }
        let known = match (path, request.entry) {
            (Some(path), _) => self.store.known_at(&state.ledger, path),
            (None, Some(entry)) => state.ledger.entry(entry).and_then(|card| {
                state
                    .ledger
                    .document_by_number(card.steps.first()?.document)
            }),
            (None, None) => return Err(EditorError::NoDocument),
        };
        let is_there = || path.is_some_and(|path| self.folder.sees(path));
        let known = known.ok_or_else(|| match (request.entry, request.redo) {
            (Some(_), _) => EditorError::EntryNotFound,
            (None, false) if is_there() => EditorError::NothingToUndo,
            (None, true) if is_there() => EditorError::NothingToRedo,
            (None, _) => EditorError::DocumentNotFound,
        })?;
        let target = match (request.entry, request.redo) {
            (Some(entry), _) => entry,
            (None, false) => *known.done.last().ok_or(EditorError::NothingToUndo)?,
            (None, true) => *known.undone.last().ok_or(EditorError::NothingToRedo)?,
        };
        let card = state
            .ledger
            .entry(target)
            .filter(|card| card.step(known.id).is_some())
            .filter(|card| !is_secret(card))
            .ok_or(EditorError::EntryNotFound)?;
        // An entry that was undone and redone may be undone again: the last entry about it tells its state.
        let is_about = |number: &&u64| {
            **number == target
                || state.ledger.entry(**number).is_some_and(|card| {
                    [EntryKind::Undo(target), EntryKind::Redo(target)].contains(&card.kind)
                })
        };
        let last = known.entries.iter().rev().find(is_about);
        let last = *last.ok_or(EditorError::EntryNotFound)?;
        let reverted = state.ledger.entry(last);
        if reverted.is_some_and(is_secret) {
            return Err(EditorError::EntryNotFound);
        }
        let is_undone = reverted.is_some_and(|card| card.kind == EntryKind::Undo(target));
        let is_ours = reverted.is_some_and(|card| card.origin == LineOrigin::Own);
        if !is_ours || card.origin != LineOrigin::Own {
            return Err(EditorError::ForeignHistory);
        }
        match card.kind {
            EntryKind::Undo(_) | EntryKind::Redo(_) => Err(EditorError::EntryNotFound),
            _ if request.redo && !known.undone.contains(&target) => Err(EditorError::NothingToRedo),
            _ if !request.redo && is_undone => Err(EditorError::AlreadyUndone),
            EntryKind::Edit | EntryKind::Foreign => Ok((target, last)),
        }
    }

    /// Returns where the documents of an entry are now, and where they would be.
    fn current_paths(&self, entry: &Entry) -> BTreeSet<String> {
        let state = self.store.state();
        let mut paths = BTreeSet::new();
        for step in &entry.steps {
            paths.insert(step.path.clone());
            paths.extend(step.moved_to.clone());
            let known = state.ledger.document_by_number(step.document);
            paths.extend(known.and_then(|known| known.path.clone()));
        }
        paths
    }

    /// Reads something from the state of a step's document without cloning all of it, which grows with the history.
    fn known_of<T>(
        &self,
        step: &Step,
        what: impl FnOnce(&DocumentState) -> T,
    ) -> Result<T, EditorError> {
        let state = self.store.state();
        let known = state.ledger.document_by_number(step.document);
        known.map(what).ok_or(EditorError::EntryNotFound)
    }

    /// Returns the draft that reverts one step.
    fn reverted(&self, entry: &Entry, step: &Step) -> Result<Draft, EditorError> {
        let old_path = recorded_path(&step.path)?;
        if step.after.is_none() {
            return self.brought_back(step, old_path);
        }
        let path = self.known_of(step, |known| known.path.clone())?;
        let path = path.ok_or(EditorError::DocumentNotFound)?;
        let path = recorded_path(&path)?;
        let view = self.reader.settled(&path)?;
        let before = Source::new(view.bytes());
        if !before.is_valid_utf8() {
            return Err(sectile_markdown::edit::EditError::NotUtf8.into());
        }
        let last = self.known_of(step, |known| known.entries.last().copied())?;
        let overlaps = EditorError::UndoOverlaps {
            entry: last.unwrap_or_default(),
        };
        let direct = step.after.as_deref() == Some(view.hash().to_string().as_str());
        if step.before.is_none() && !direct {
            return Err(overlaps);
        }
        let inverse = step.inverse().ok_or(EditorError::TextUnknown)?;
        let changes = if direct {
            inverse
        } else {
            let known = self.known_of(step, DocumentState::clone)?;
            self.shifted(inverse, entry.number, step, &known)?
        };
        let bytes = changes
            .apply(view.bytes())
            .ok_or(EditorError::TextUnknown)?;
        let document = Source::new(&bytes).parse_after(&before, view.document(), &changes);
        let ids = if direct {
            step.ids.inverse().apply(view.ids())
        } else {
            None
        };
        if step.moved_to.as_ref().is_some_and(|to| to != path.as_str()) {
            // It was moved again.
            return Err(overlaps);
        }
        let mut draft = Draft {
            path: path.clone(),
            bytes: Some(bytes),
            document,
            ids: Vec::new(),
            changes,
            touched: step.touched.clone(),
            moved_to: step.moved_to.as_ref().map(|_| old_path),
            number: None,
            // What callers see is never changed silently, and what is hidden from them in no other way.
            is_silent: step.is_silent && self.folder.is_hidden(&path),
            base: Some(view),
        };
        let expected = draft.document.top_level().count();
        draft.ids = match ids.filter(|ids| ids.len() == expected) {
            Some(ids) => ids,
            None => carried_ids(&draft, step).ok_or(overlaps)?,
        };
        if let Some(target) = &draft.moved_to
            && self.folder.root.is_occupied(target)
        {
            return Err(EditorError::DocumentExists);
        }
        if step.before.is_none() {
            draft.bytes = None;
            draft.ids = Vec::new();
        }
        Ok(draft)
    }

    /// Returns the draft that restores a deleted document.
    fn brought_back(&self, step: &Step, path: NotePath) -> Result<Draft, EditorError> {
        let taken =
            self.folder.root.is_occupied(&path) || !matches!(self.folder.read_any(&path), Ok(None));
        if taken {
            return Err(EditorError::DocumentExists);
        }
        let changes = step.inverse().ok_or(EditorError::TextUnknown)?;
        let bytes = changes.apply(b"").ok_or(EditorError::TextUnknown)?;
        if step.before.as_deref() != Some(Digest::of(&bytes).to_string().as_str()) {
            return Err(EditorError::TextUnknown);
        }
        Ok(Draft {
            path,
            base: None,
            document: Source::new(&bytes).parse(),
            ids: step.ids.removed.clone(),
            touched: step.touched.clone(),
            bytes: Some(bytes),
            changes,
            moved_to: None,
            is_silent: false,
            number: Some(step.document),
        })
    }

    /// Shifts the inverse of an entry past what came after it in a document.
    fn shifted(
        &self,
        inverse: Changes,
        number: u64,
        step: &Step,
        known: &DocumentState,
    ) -> Result<Changes, EditorError> {
        let at = known
            .entries
            .iter()
            .position(|entry| *entry == number)
            .ok_or(EditorError::EntryNotFound)?;
        if at < known.chain_start {
            return Err(EditorError::TextUnknown);
        }
        let later = &known.entries[at + 1..];
        // If the document later returned to an earlier state, the changes in between cancel out.
        let mut last_with: HashMap<String, usize> = HashMap::new();
        let afters: Vec<Option<String>> = {
            let state = self.store.state();
            let is_foreign = |number: &u64| {
                let card = state.ledger.entry(*number);
                card.is_some_and(|card| card.origin == LineOrigin::Foreign)
            };
            if later.iter().any(is_foreign) {
                return Err(EditorError::ForeignHistory);
            }
            let after = |number: &u64| {
                let card = state.ledger.entry(*number)?;
                card.step(known.id)?.after.clone()
            };
            later.iter().map(after).collect()
        };
        for (index, hash) in afters.iter().enumerate() {
            if let Some(hash) = hash {
                last_with.insert(hash.clone(), index + 1);
            }
        }
        let mut shifted = inverse;
        let mut index = step
            .after
            .as_ref()
            .and_then(|hash| last_with.get(hash).copied())
            .unwrap_or(0);
        while let Some(number) = later.get(index) {
            let changes = self
                .store
                .step(*number, known.id)?
                .changes()
                .ok_or(EditorError::TextUnknown)?;
            shifted = shifted
                .after(&changes)
                .ok_or(EditorError::UndoOverlaps { entry: *number })?;
            index += 1;
            if let Some(jump) = afters[index - 1]
                .as_ref()
                .and_then(|hash| last_with.get(hash).copied())
            {
                index = jump.max(index);
            }
        }
        Ok(shifted)
    }
}

/// Like [`DocumentWriter::chosen`], for an entry that moved a folder and changed no document.
fn chosen_without_documents(
    ledger: &Ledger,
    request: &UndoRequest,
    card: &EntryCard,
) -> Result<(u64, u64), EditorError> {
    let target = card.number;
    if card.origin != LineOrigin::Own {
        return Err(EditorError::ForeignHistory);
    }
    let about = [EntryKind::Undo(target), EntryKind::Redo(target)];
    let mut later = ledger.entries_before(None).rev();
    let last = later.find(|card| card.number == target || about.contains(&card.kind));
    match last {
        _ if card.kind != EntryKind::Edit => Err(EditorError::EntryNotFound),
        Some(last) if last.origin != LineOrigin::Own => Err(EditorError::ForeignHistory),
        Some(last) if request.redo == (last.kind == EntryKind::Undo(target)) => {
            Ok((target, last.number))
        }
        _ if request.redo => Err(EditorError::NothingToRedo),
        _ => Err(EditorError::AlreadyUndone),
    }
}

/// Returns the ids after a shifted undo: sections outside its changes keep theirs, and sections that it restores get
/// theirs back. `None` if a section that the undo does not concern would change.
fn carried_ids(draft: &Draft, step: &Step) -> Option<Vec<String>> {
    let view = draft.base.as_ref()?;
    let back = draft.changes.inverse(view.bytes());
    let old: HashMap<usize, (u8, usize)> = view
        .document()
        .top_level()
        .enumerate()
        .map(|(position, (_, section, _))| (section.heading.start, (section.level, position)))
        .collect();
    let origins = back.offset_map();
    let mut ids: Vec<Option<String>> = Vec::new();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for (_, section, _) in draft.document.top_level() {
        let start = section.heading.start;
        // The inverse replaces what the changes put there.
        let is_new = back.replaces(start);
        let origin = origins
            .get(start)
            .filter(|_| !is_new)
            .and_then(|offset| old.get(&offset));
        match origin {
            Some((level, position)) => {
                if *level != section.level {
                    return None;
                }
                kept.insert(*position);
                ids.push(Some(view.ids()[*position].clone()));
            }
            None if is_new => ids.push(None),
            None => return None,
        }
    }
    let lost = old
        .iter()
        .any(|(start, (_, position))| !kept.contains(position) && !draft.changes.replaces(*start));
    if lost {
        return None;
    }
    let held: BTreeSet<&String> = ids.iter().flatten().collect();
    let free: Vec<String> = step
        .ids
        .removed
        .iter()
        .filter(|id| !held.contains(id))
        .cloned()
        .collect();
    let missing = ids.iter().filter(|id| id.is_none()).count();
    if free.len() != missing {
        return None;
    }
    let mut free = free.into_iter();
    ids.into_iter()
        .map(|id| id.or_else(|| free.next()))
        .collect()
}

/// Refuses an undo that restores a section in one document while another holds its id: what another program wrote there
/// counts as that section now.
fn check_ids(transaction: &Transaction<'_>) -> Result<(), EditorError> {
    let drafts = transaction.drafts.values();
    let mut ids = drafts.clone().flat_map(|draft| &draft.ids);
    let mut seen = HashSet::new();
    if ids.all(|id| seen.insert(id)) {
        return Ok(());
    }
    let revisions = drafts.filter_map(|draft| Some(draft.base.as_ref()?.revision()));
    Err(EditorError::UndoOverlaps {
        entry: revisions.max().unwrap_or_default(),
    })
}

/// Records the steps for the answer: the documents, with the one `asked` for first, and in each the first section that
/// the entry concerned and that still exists.
fn note_steps(transaction: &mut Transaction<'_>, asked: Option<&str>) {
    let is_asked = |draft: &Draft| {
        asked.is_some_and(|asked| {
            [&draft.path, draft.final_path()]
                .map(NotePath::as_str)
                .contains(&asked)
        })
    };
    let mut drafts: Vec<(&String, &Draft)> = transaction.drafts.iter().collect();
    drafts.sort_by_key(|(_, draft)| !is_asked(draft));
    let steps: Vec<PendingStep> = drafts
        .into_iter()
        .filter(|(_, draft)| !draft.is_silent)
        .map(|(path, draft)| {
            let there: HashSet<&String> = draft.ids.iter().collect();
            let section = draft.touched.iter().find(|id| there.contains(id));
            PendingStep {
                path: path.clone(),
                section: section.cloned(),
                merged: false,
            }
        })
        .collect();
    transaction.steps = steps;
}
