//! From drafts to bytes on disk: intent, temporary files, swap, commit. At any moment the file holds the old bytes or
//! the new ones.

use std::sync::{Arc, atomic::Ordering};

use sectile_markdown::Digest;

use super::{DocumentWriter, transaction::Transaction};
use crate::{
    NotePath,
    editor::{
        CallHooks, EditorError, View,
        draft::Draft,
        folder::recorded_path,
        read::external_edits::{adopted, needs_snapshot},
        store::{FileLocations, put_in_place, restore},
    },
    fault::step,
    fs::{OpenFolders, PrivateFolder, StepName, SwapOutcome},
    ids,
    journal::{Bytes, Entry, EntryKind, FolderMove, Record, Request, Splice, Step, written},
    ledger::DocumentState,
};

/// The description of a commit in the journal.
pub(super) struct CommitHeader {
    pub(super) actor: String,
    pub(super) operation: String,
    pub(super) reason: Option<String>,
    pub(super) request: Option<Request>,
    pub(super) kind: EntryKind,
}

/// The number of an entry that is about to be made, the ids that new sections get, and all ids of each document.
type RecordedIntent = (u64, Vec<String>, Vec<Vec<String>>);

/// The outcome of a commit.
pub(super) enum CommitOutcome {
    Yes {
        entry: u64,
        views: Vec<Option<Arc<View>>>,
        ids: Vec<String>,
        others: ConcurrentChanges,
    },
    /// A document had changed; nothing was written.
    Changed,
}

/// Changes that other programs made during a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConcurrentChanges {
    /// Whether the bytes read back differ from the bytes written.
    pub(super) changed_since: bool,
    /// Number of files that were written to after they were replaced, and are kept.
    pub(super) rescued: usize,
}

impl DocumentWriter {
    /// Writes drafts to disk, all or none. The caller holds the locks of all of them.
    pub(super) fn commit(
        &self,
        drafts: &[&Draft],
        transaction: &Transaction<'_>,
        heading: CommitHeader,
        watch: CallHooks<'_>,
    ) -> Result<CommitOutcome, EditorError> {
        let moves = match &transaction.folder_move {
            Some(folder) => Some(self.moving_folder(folder)?),
            None => None,
        };
        // A folder takes its documents along, so only those whose bytes change are written.
        let written: Vec<usize> = (0..drafts.len())
            .filter(|at| moves.is_none() || drafts[*at].is_rewritten())
            .collect();
        let mut open = OpenFolders::default();
        let places = written
            .iter()
            .map(|at| self.places(drafts[*at], moves.is_some(), &mut open))
            .collect::<Result<Vec<FileLocations>, EditorError>>()?;
        let digest = |draft: &&Draft| draft.bytes.as_deref().map(Digest::of);
        let digests: Vec<Option<Digest>> = drafts.iter().map(digest).collect();
        let (number, new_ids, final_ids) =
            self.record_intent(drafts, &digests, transaction, heading, watch)?;
        let folder = self.folder.private()?;
        let names = step_names(number, drafts, &digests, &written);
        let all = drafts;
        let drafts: Vec<&Draft> = written.iter().map(|at| drafts[*at]).collect();
        let drafts = drafts.as_slice();
        let mut placed = 0;
        let mut has_moved = false;
        let mut others = ConcurrentChanges::default();
        let carried_out = self
            .flush_root_once(&places)
            .and_then(|()| self.carry_out(&folder, &names, drafts, &places, &mut placed))
            .and_then(|swapped| {
                if swapped == SwapOutcome::Done {
                    if let Some((from, to)) = &moves {
                        let moved = self.folder.root.move_folder(from, to);
                        moved.map_err(|error| match error.kind() {
                            std::io::ErrorKind::AlreadyExists => EditorError::FolderExists,
                            std::io::ErrorKind::NotFound => EditorError::FolderNotFound,
                            _ => error.into(),
                        })?;
                        has_moved = true;
                        self.folder.root.flush_move(from, to)?;
                    }
                    others.changed_since = !self.are_read_back(drafts)?;
                    self.store.append(Record::Commit { entry: number })?;
                }
                Ok(swapped)
            });
        if !matches!(carried_out, Ok(SwapOutcome::Done)) {
            // A folder that cannot be moved back keeps its links as well, and the change is finished later.
            let moved = moves.as_ref().filter(|_| has_moved);
            let is_back = moved.is_none_or(|(from, to)| {
                let back = self.folder.root.move_folder(to, from);
                back.is_ok()
            });
            let placed = if is_back { placed } else { 0 };
            for ((name, draft), place) in names.iter().zip(drafts).zip(&places).take(placed) {
                // Whether this worked is decided by reading the documents, not by the system's answer.
                restore(&folder, name, (draft.old(), draft.bytes.as_deref()), place)
                    .unwrap_or_default();
            }
            self.close(&folder, number, &names, &places)?;
            return carried_out.map(|_| CommitOutcome::Changed);
        }
        others.rescued = self.clean_up(&folder, &names, &places);
        let views = all
            .iter()
            .zip(digests)
            .zip(final_ids)
            .map(|((draft, hash), ids)| self.view_after(draft, hash, ids, number))
            .collect();
        Ok(CommitOutcome::Yes {
            entry: number,
            views,
            ids: new_ids,
            others,
        })
    }

    /// Records that the drafts are about to be written.
    fn record_intent(
        &self,
        drafts: &[&Draft],
        digests: &[Option<Digest>],
        transaction: &Transaction<'_>,
        heading: CommitHeader,
        watch: CallHooks<'_>,
    ) -> Result<RecordedIntent, EditorError> {
        self.store.record(|state| {
            // This is the last chance to stop: everything after the intent is finished, whether or not the caller still
            // waits.
            watch.check()?;
            let ledger = &state.ledger;
            let new_ids = state.completed_ids(transaction.new_sections())?;
            let mut next_document = ledger.next().document;
            let mut records = Vec::new();
            let mut steps = Vec::new();
            let mut final_ids = Vec::new();
            for (draft, after) in drafts.iter().zip(digests) {
                let ids = given_out(&draft.ids, &new_ids);
                // If there was no file, a document that the journal knows at this path has been deleted.
                let known = ledger
                    .document(draft.path.as_str())
                    .filter(|_| draft.base.is_some());
                let document = draft.number.or(known.map(|known| known.id));
                let document = document.unwrap_or_else(|| {
                    next_document += 1;
                    next_document - 1
                });
                // A document that was only read so far enters the journal with the ids that its sections have.
                let unknown = draft.base.as_ref().filter(|_| known.is_none());
                let unknown = unknown.map(|base| self.without_history(base));
                if let Some(unknown) = &unknown {
                    records.push(Record::Adopt(adopted(document, unknown)));
                }
                let known = known.or(unknown.as_ref());
                let old = draft.old();
                let needs_snapshot = old
                    .zip(known)
                    .is_some_and(|(old, known)| needs_snapshot(known, old));
                let old_ids = known.map(|known| known.ids.as_slice()).unwrap_or_default();
                steps.push(step_of(
                    draft,
                    document,
                    after.as_ref(),
                    old_ids,
                    &ids,
                    &new_ids,
                    needs_snapshot,
                ));
                final_ids.push(ids);
            }
            let entry = Entry {
                number: ledger.next().entry,
                time: self.store.now(),
                actor: heading.actor,
                operation: heading.operation,
                reason: heading.reason,
                request: heading.request,
                kind: heading.kind,
                folder: transaction.folder_move.clone(),
                steps,
            };
            let number = entry.number;
            records.push(Record::Intent(Box::new(entry)));
            Ok((records, (number, new_ids, final_ids)))
        })
    }

    /// Returns the state of a document that was only read so far, as the journal would have it.
    fn without_history(&self, base: &View) -> DocumentState {
        DocumentState {
            path: Some(base.path().as_str().to_owned()),
            hash: Some(base.hash().to_string()),
            created: self.folder.root.times(base.path()).created,
            ids: base.ids().to_vec(),
            ..DocumentState::default()
        }
    }

    fn view_after(
        &self,
        draft: &Draft,
        hash: Option<Digest>,
        ids: Vec<String>,
        number: u64,
    ) -> Option<Arc<View>> {
        if draft.moved_to.is_some() || draft.bytes.is_none() {
            self.reader.forget(draft.path.as_str());
        }
        let bytes = draft.bytes.as_ref()?;
        Some(self.reader.keep(View::new(
            draft.final_path().clone(),
            bytes.clone(),
            hash?,
            draft.document.clone(),
            ids,
            number,
        )))
    }

    /// Returns the locations of a draft's file before and after. The folders above a new location are created.
    fn places(
        &self,
        draft: &Draft,
        in_place: bool,
        open: &mut OpenFolders,
    ) -> Result<FileLocations, EditorError> {
        let moved_to = draft.moved_to.as_ref().filter(|_| !in_place);
        self.folder.check_draft(&draft.path, draft.is_silent)?;
        if let Some(path) = moved_to {
            self.folder.check_draft(path, draft.is_silent)?;
        }
        if draft.base.is_none() || moved_to.is_some() {
            self.folder.root.make_folders_above(draft.final_path())?;
        }
        let places = FileLocations {
            from: self.folder.locate_among(&draft.path, open)?,
            to: match moved_to {
                Some(path) => Some(self.folder.locate_among(path, open)?),
                None => None,
            },
        };
        places.from.check_writable()?;
        Ok(places)
    }

    /// Returns the paths of a folder that moves, before and after. The folders above the new one are created.
    fn moving_folder(&self, folder: &FolderMove) -> Result<(NotePath, NotePath), EditorError> {
        let (from, to) = (recorded_path(&folder.from)?, recorded_path(&folder.to)?);
        self.folder.root.make_folders_above(&to)?;
        Ok((from, to))
    }

    /// Flushes the private folder's entry in the root before the first change of this process, so that it survives a
    /// power cut. A single document in the root itself needs no such flush, because the flush after its swap is the
    /// same.
    fn flush_root_once(&self, places: &[FileLocations]) -> Result<(), EditorError> {
        let is_covered = matches!(places, [place] if place.to.is_none() && place.from.is_in_root());
        if !is_covered && !self.is_root_flushed.load(Ordering::Relaxed) {
            self.folder.root.flush_root()?;
        }
        self.is_root_flushed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes all drafts, as far as it gets: `placed` counts those that may have been put in place.
    fn carry_out(
        &self,
        folder: &PrivateFolder,
        names: &[StepName],
        drafts: &[&Draft],
        places: &[FileLocations],
        placed: &mut usize,
    ) -> Result<SwapOutcome, EditorError> {
        for ((name, draft), place) in names.iter().zip(drafts).zip(places) {
            if let Some(bytes) = &draft.bytes {
                folder.prepare(name, bytes, &place.from, place.target())?;
            }
        }
        for (at, ((name, draft), place)) in names.iter().zip(drafts).zip(places).enumerate() {
            *placed = at + 1;
            if put_in_place(folder, name, (draft.old(), draft.bytes.as_deref()), place)?
                == SwapOutcome::Changed
            {
                *placed = at;
                return Ok(SwapOutcome::Changed);
            }
        }
        Ok(SwapOutcome::Done)
    }

    /// Closes an intent that was rolled back. If the rollback failed, the intent stays open, and is settled when one of
    /// its documents is next viewed.
    fn close(
        &self,
        folder: &PrivateFolder,
        number: u64,
        names: &[StepName],
        places: &[FileLocations],
    ) -> Result<(), EditorError> {
        let pending = self.store.state().ledger.pending(None);
        let mut pending = pending.into_iter();
        let entry = pending.find(|entry| entry.number == number);
        if entry.is_some_and(|entry| !self.store.is_taken_back(folder, &entry)) {
            return Err(EditorError::Interrupted);
        }
        self.clean_up(folder, names, places);
        // Without the record, the next view finds the old bytes and drops the intent.
        match self.store.append(Record::Abort { entry: number }) {
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Reads the documents again and returns whether they are as written. Another program may have changed one by now,
    /// which is entered when it is next viewed.
    fn are_read_back(&self, drafts: &[&Draft]) -> Result<bool, EditorError> {
        let mut same = true;
        for draft in drafts {
            step("read_back", || Ok(()))?;
            if let Some(written) = &draft.bytes {
                same &= match self.folder.read(draft.final_path()) {
                    Ok(bytes) => bytes == *written,
                    Err(EditorError::DocumentNotFound | EditorError::TooLarge { .. }) => false,
                    Err(error) => return Err(error),
                };
            }
        }
        Ok(same)
    }

    /// Cleans up the remaining temporary files, and rechecks replaced files that were kept earlier. Returns the number
    /// of files that another program has written to after they were replaced.
    fn clean_up(
        &self,
        folder: &PrivateFolder,
        names: &[StepName],
        places: &[FileLocations],
    ) -> usize {
        let now = self.store.now();
        let mut rescued = 0;
        for (name, place) in names.iter().zip(places) {
            match folder.settle(name, &place.all(), now) {
                Ok(count) => rescued += count,
                // Leftovers are cleaned up at the next start.
                Err(_) => return rescued,
            }
        }
        rescued + folder.sweep_displaced(Some(now)).unwrap_or_default()
    }
}

/// Returns the names of an entry's temporary files.
fn step_names(
    number: u64,
    drafts: &[&Draft],
    digests: &[Option<Digest>],
    written: &[usize],
) -> Vec<StepName> {
    written
        .iter()
        .map(|at| {
            let (at, draft, after) = (*at, drafts[*at], &digests[*at]);
            let before = draft.base.as_ref().map(|base| base.hash().to_string());
            let after = after.as_ref().map(Digest::to_string);
            StepName::new(number, at, before.as_deref(), after.as_deref())
        })
        .collect()
}

/// Returns the ids with the fresh ones filled in.
pub(super) fn given_out(ids: &[String], new: &[String]) -> Vec<String> {
    ids.iter()
        .map(|id| match ids::fresh_index(id) {
            Some(at) => new.get(at).cloned().unwrap_or_default(),
            None => id.clone(),
        })
        .collect()
}

fn step_of(
    draft: &Draft,
    document: u64,
    after: Option<&Digest>,
    old_ids: &[String],
    ids: &[String],
    new_ids: &[String],
    needs_snapshot: bool,
) -> Step {
    let old = draft.old();
    Step {
        document,
        path: draft.path.as_str().to_owned(),
        moved_to: draft.moved_to.as_ref().map(|path| path.as_str().to_owned()),
        before: draft.base.as_ref().map(|base| base.hash().to_string()),
        after: after.map(Digest::to_string),
        changes: Some(written(&draft.changes, old.unwrap_or_default())),
        snapshot: old
            .filter(|_| needs_snapshot)
            .map(|old| Bytes(old.to_vec())),
        ids: Splice::between(old_ids, ids),
        touched: given_out(&draft.touched, new_ids),
        is_silent: draft.is_silent,
        ..Step::default()
    }
}
