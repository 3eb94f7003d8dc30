//! From drafts to bytes on disk: intent, temporary files, swap, commit. At every point the old bytes or the new bytes.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use sectile_markdown::Digest;

use super::{
    CreateDocument, DeleteDocument, DeleteSection, EditText, Editor, EditorError, InsertSection,
    MoveSection, Operation, RenameDocument, RenameSection, SetFrontMatter, UpdateSection, View,
    Watch, WriteReport, WriteRequest,
    draft::{Draft, Plan, PlannedDocument, Transaction, fresh_index},
    foreign::{adopted, needs_snapshot},
};
use crate::{
    NotePath,
    fault::step,
    fs::{Located, PrivateFolder, StepName, Swap},
    journal::{Bytes, Entry, Kind, Record, Request, Splice, Step, written},
    ledger::DocumentState,
};

/// A document that another program writes at the same moment is tried again this often.
const MOST_TRIES: usize = 40;

/// What a commit says of itself.
pub(super) struct Heading {
    pub(super) actor: String,
    pub(super) operation: String,
    pub(super) reason: Option<String>,
    pub(super) request: Option<Request>,
    pub(super) kind: Kind,
}

/// Whether a commit was made.
pub(super) enum Committed {
    Yes {
        entry: u64,
        views: Vec<Option<Arc<View>>>,
        ids: Vec<String>,
        others: Others,
    },
    /// A document had changed; nothing was written.
    Changed,
}

/// What other programs did while a commit was under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Others {
    /// What was read back is not what was written.
    pub(super) changed_since: bool,
    /// Files that were written to after they were replaced, and are kept.
    pub(super) rescued: usize,
}

impl Editor {
    /// Makes all operations of a request, or none.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn write(
        &self,
        request: &WriteRequest,
        watch: Watch<'_>,
    ) -> Result<WriteReport, EditorError> {
        if request.operations.len() > self.limits.max_operations {
            return Err(EditorError::TooManyOperations {
                limit: self.limits.max_operations,
            });
        }
        if let Some(report) = self.replay(request.request.as_ref())? {
            return Ok(report);
        }
        self.write_checked(request, None, watch)
    }

    /// Makes exactly the changes that a dry run showed.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn apply_plan(
        &self,
        token: &str,
        confirmed: bool,
        watch: Watch<'_>,
    ) -> Result<WriteReport, EditorError> {
        let mut plan = self.plans().take(token).ok_or(EditorError::PlanUnknown)?;
        plan.request.dry_run = false;
        plan.request.confirmed |= confirmed;
        let result = self.write_checked(&plan.request, Some(&plan), watch);
        let may_be_tried_again = matches!(
            result,
            Err(EditorError::NotConfirmed { .. } | EditorError::Busy | EditorError::Cancelled)
        );
        if may_be_tried_again {
            self.plans().put(token.to_owned(), plan);
        }
        result
    }

    fn write_checked(
        &self,
        request: &WriteRequest,
        plan: Option<&Plan>,
        watch: Watch<'_>,
    ) -> Result<WriteReport, EditorError> {
        let mut extra = BTreeSet::new();
        let mut tries = 0;
        while tries < MOST_TRIES {
            let paths = self.paths_of(&request.operations, &extra)?;
            let locks = self.lock_documents(paths.iter().map(String::as_str), watch.stop)?;
            // The first try may have been under way until now.
            if let Some(report) = self.replay(request.request.as_ref())? {
                return Ok(report);
            }
            let mut transaction = Transaction::new(self, locks);
            transaction.promised = plan.map(|plan| plan.ids.clone()).unwrap_or_default();
            let performed = transaction.perform_all(&request.operations, watch);
            if !transaction.missing.is_empty() {
                // More documents than were named, and somebody else holds them: waited for in order, all of them.
                extra.append(&mut transaction.missing);
                continue;
            }
            performed?;
            tries += 1;
            if plan.is_some_and(|plan| transaction.planned() != plan.documents) {
                return Err(EditorError::PlanStale);
            }
            let most = self.limits.confirm_delete_bytes;
            let is_large = most.is_some_and(|most| transaction.deleted_bytes > most);
            if is_large && !request.confirmed && !request.dry_run {
                return Err(EditorError::NotConfirmed {
                    bytes: transaction.deleted_bytes,
                });
            }
            if request.dry_run {
                transaction.check_writable()?;
                return self.dry_run(request, &transaction);
            }
            let heading = Heading {
                actor: request.actor.clone(),
                operation: request.name.clone(),
                reason: request.reason.clone(),
                request: request.into(),
                kind: Kind::Edit,
            };
            if let Some(report) = self.finish(&transaction, heading, watch)? {
                return Ok(report);
            }
        }
        Err(EditorError::KeepsChanging)
    }

    /// Commits a transaction and says what it did, or `None` when a document had changed.
    pub(super) fn finish(
        &self,
        transaction: &Transaction<'_>,
        heading: Heading,
        watch: Watch<'_>,
    ) -> Result<Option<WriteReport>, EditorError> {
        let changed: Vec<&Draft> = transaction
            .drafts
            .values()
            .filter(|draft| draft.is_changed())
            .collect();
        if changed.is_empty() {
            return Ok(Some(self.report(transaction, None, &[], &[])));
        }
        watch.check()?;
        match self.commit(&changed, transaction, heading, watch)? {
            Committed::Changed => Ok(None),
            Committed::Yes {
                entry,
                views,
                ids,
                others,
            } => {
                self.shorten_journal_if_needed();
                let mut report = self.report(transaction, Some(entry), &views, &ids);
                report.changed_since = others.changed_since;
                report.rescued = others.rescued;
                Ok(Some(report))
            }
        }
    }

    /// The answer to a request that was met before, if the one with this name and digest is a retry of it.
    pub(super) fn replay(
        &self,
        request: Option<&(String, String)>,
    ) -> Result<Option<WriteReport>, EditorError> {
        self.replay_about(request, None)
    }

    /// The same, which speaks of the document at `asked` first.
    pub(super) fn replay_about(
        &self,
        request: Option<&(String, String)>,
        asked: Option<&str>,
    ) -> Result<Option<WriteReport>, EditorError> {
        let Some((id, digest)) = request else {
            return Ok(None);
        };
        let found = {
            let mut state = self.state();
            self.catch_up(&mut state)?;
            state.ledger.request(id).cloned()
        };
        let Some((known, number)) = found else {
            return Ok(None);
        };
        if known != *digest {
            return Err(EditorError::RequestReused);
        }
        self.report_of_entry(number, asked).map(Some)
    }

    /// The documents that operations name, by path or by the ids of their sections, without links.
    fn paths_of(
        &self,
        operations: &[Operation],
        extra: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, EditorError> {
        let mut paths = extra.clone();
        let mut state = self.state();
        self.catch_up(&mut state)?;
        for operation in operations {
            let (named, ids) = names(operation);
            for path in named {
                // One that cannot be found is reported when it is looked at.
                if let Ok(real) = self.root.resolve(path) {
                    paths.insert(real.as_str().to_owned());
                }
            }
            for id in ids {
                match state.ledger.document_of(id) {
                    Some(known) => paths.extend(known.path.clone()),
                    None => paths.extend(self.sighted_with(&state, id)),
                }
            }
        }
        Ok(paths)
    }

    /// Writes drafts to disk, all or none. The caller holds the locks of all of them.
    pub(super) fn commit(
        &self,
        drafts: &[&Draft],
        transaction: &Transaction<'_>,
        heading: Heading,
        watch: Watch<'_>,
    ) -> Result<Committed, EditorError> {
        let places = drafts
            .iter()
            .map(|draft| self.places(draft))
            .collect::<Result<Vec<Places>, EditorError>>()?;
        let digest = |draft: &&Draft| draft.bytes.as_deref().map(Digest::of);
        let digests: Vec<Option<Digest>> = drafts.iter().map(digest).collect();
        let (number, new_ids, final_ids) = self.record(|state| {
            // The last moment: what comes after the intent is finished, whoever waits for it.
            watch.check()?;
            let ledger = &state.ledger;
            let new_ids = state.completed_ids(transaction.new_sections())?;
            let mut next_document = ledger.next().document;
            let mut records = Vec::new();
            let mut steps = Vec::new();
            let mut final_ids = Vec::new();
            for (draft, after) in drafts.iter().zip(&digests) {
                let ids = given_out(&draft.ids, &new_ids);
                // Where no file was, a document that the journal knows there is gone.
                let known = ledger
                    .document(draft.path.as_str())
                    .filter(|_| draft.base.is_some());
                let document = draft.number.or(known.map(|known| known.id));
                let document = document.unwrap_or_else(|| {
                    next_document += 1;
                    next_document - 1
                });
                // One that was only read until now enters the journal with the ids that its sections have.
                let unknown = draft.base.as_ref().filter(|_| known.is_none());
                let unknown = unknown.map(|base| self.without_history(base));
                if let Some(unknown) = &unknown {
                    records.push(Record::Adopt(adopted(document, unknown)));
                }
                let known = known.or(unknown.as_ref());
                let old = draft.base.as_ref().map(|base| base.bytes());
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
                time: (self.clock)(),
                actor: heading.actor,
                operation: heading.operation,
                reason: heading.reason,
                request: heading.request,
                kind: heading.kind,
                steps,
            };
            let number = entry.number;
            records.push(Record::Intent(Box::new(entry)));
            Ok((records, (number, new_ids, final_ids)))
        })?;
        let folder = self.private()?;
        let names = step_names(number, drafts, &digests);
        let mut placed = 0;
        let mut others = Others::default();
        let carried_out = self
            .flush_root_once(&places)
            .and_then(|()| self.carry_out(&folder, &names, drafts, &places, &mut placed))
            .and_then(|swapped| {
                if swapped == Swap::Done {
                    others.changed_since = !self.are_read_back(drafts)?;
                    self.record(|_| Ok((vec![Record::Commit { entry: number }], ())))?;
                }
                Ok(swapped)
            });
        if !matches!(carried_out, Ok(Swap::Done)) {
            for ((name, draft), place) in names.iter().zip(drafts).zip(&places).take(placed) {
                // Whether it worked is seen by looking at the documents, not by what the system says.
                restore(&folder, name, draft, place).unwrap_or_default();
            }
            self.close(&folder, number, &names, &places)?;
            return carried_out.map(|_| Committed::Changed);
        }
        others.rescued = self.clean_up(&folder, &names, &places);
        let views = drafts
            .iter()
            .zip(digests)
            .zip(final_ids)
            .map(|((draft, hash), ids)| self.view_after(draft, hash, ids, number))
            .collect();
        Ok(Committed::Yes {
            entry: number,
            views,
            ids: new_ids,
            others,
        })
    }

    /// A document that was only read until now, as the journal would know it.
    fn without_history(&self, base: &View) -> DocumentState {
        DocumentState {
            path: Some(base.path().as_str().to_owned()),
            hash: Some(base.hash().to_string()),
            created: self.root.times(base.path()).created,
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
            self.views().forget(draft.path.as_str());
        }
        let bytes = draft.bytes.as_ref()?;
        Some(self.keep(View::new(
            draft.final_path().clone(),
            bytes.clone(),
            hash?,
            draft.document.clone(),
            ids,
            number,
        )))
    }

    /// Where a draft's file is, and where it will be. The folders above a new place are made.
    fn places(&self, draft: &Draft) -> Result<Places, EditorError> {
        self.check_target(&draft.path)?;
        if let Some(path) = &draft.moved_to {
            self.check_target(path)?;
        }
        if draft.base.is_none() || draft.moved_to.is_some() {
            self.root
                .make_folders_above(draft.final_path())
                .map_err(|error| EditorError::io(&error))?;
        }
        let places = Places {
            from: self.locate(&draft.path)?,
            to: match &draft.moved_to {
                Some(path) => Some(self.locate(path)?),
                None => None,
            },
        };
        places
            .from
            .check_writable()
            .map_err(|error| EditorError::io(&error))?;
        Ok(places)
    }

    /// Before the first change of this process, the entry of the private folder in the root is flushed: what was done is
    /// to be found there after a power cut. A single document in the root itself needs no flush for that, as the one
    /// behind its swap is the same.
    fn flush_root_once(&self, places: &[Places]) -> Result<(), EditorError> {
        let is_covered = matches!(places, [place] if place.to.is_none() && place.from.is_in_root());
        if !is_covered && !self.is_root_flushed.load(Ordering::Relaxed) {
            self.root
                .flush_root()
                .map_err(|error| EditorError::io(&error))?;
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
        places: &[Places],
        placed: &mut usize,
    ) -> Result<Swap, EditorError> {
        let io = |error: std::io::Error| EditorError::io(&error);
        for ((name, draft), place) in names.iter().zip(drafts).zip(places) {
            if let Some(bytes) = &draft.bytes {
                folder
                    .prepare(name, bytes, &place.from, place.target())
                    .map_err(io)?;
            }
        }
        for (at, ((name, draft), place)) in names.iter().zip(drafts).zip(places).enumerate() {
            *placed = at + 1;
            if put_in_place(folder, name, draft, place).map_err(io)? == Swap::Changed {
                *placed = at;
                return Ok(Swap::Changed);
            }
        }
        Ok(Swap::Done)
    }

    /// Closes an intent that was taken back. Where that did not work, the intent stays open, and is settled when one of
    /// its documents is next looked at.
    fn close(
        &self,
        folder: &PrivateFolder,
        number: u64,
        names: &[StepName],
        places: &[Places],
    ) -> Result<(), EditorError> {
        let entry = {
            let pending = self.state().ledger.pending(None);
            pending.into_iter().find(|entry| entry.number == number)
        };
        if entry.is_some_and(|entry| !self.is_taken_back(folder, &entry)) {
            return Err(EditorError::Interrupted);
        }
        self.clean_up(folder, names, places);
        // Without the record, the next look finds the old bytes and drops the intent.
        match self.record(|_| Ok((vec![Record::Abort { entry: number }], ()))) {
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Reads the documents again. Whether they are what was written: another program may have changed one by now, which
    /// is entered when it is next looked at.
    fn are_read_back(&self, drafts: &[&Draft]) -> Result<bool, EditorError> {
        let mut same = true;
        for draft in drafts {
            step("read_back", || Ok(())).map_err(|error| EditorError::io(&error))?;
            if let Some(written) = &draft.bytes {
                same &= match self.read(draft.final_path()) {
                    Ok(bytes) => bytes == *written,
                    Err(EditorError::DocumentNotFound | EditorError::TooLarge { .. }) => false,
                    Err(error) => return Err(error),
                };
            }
        }
        Ok(same)
    }

    /// Puts away what is left of the temporary files, and looks again at what was put away earlier. Answers how many
    /// files another program has written to after they were replaced.
    fn clean_up(&self, folder: &PrivateFolder, names: &[StepName], places: &[Places]) -> usize {
        let now = (self.clock)();
        let mut rescued = 0;
        for (name, place) in names.iter().zip(places) {
            match folder.settle(name, &place.all(), now) {
                Ok(count) => rescued += count,
                // Left-overs are put away at the next start.
                Err(_) => return rescued,
            }
        }
        rescued + folder.sweep_displaced(Some(now)).unwrap_or_default()
    }
}

/// A journal with fewer bytes of changes since a snapshot does not need another.
pub(super) const SNAPSHOT_AFTER: usize = 64 << 10;

/// Where a document's file is before and after.
pub(super) struct Places {
    pub(super) from: Located,
    pub(super) to: Option<Located>,
}

/// What the temporary files of an entry are called.
fn step_names(number: u64, drafts: &[&Draft], digests: &[Option<Digest>]) -> Vec<StepName> {
    let steps = drafts.iter().zip(digests).enumerate();
    steps
        .map(|(at, (draft, after))| {
            let before = draft.base.as_ref().map(|base| base.hash().to_string());
            let after = after.as_ref().map(Digest::to_string);
            StepName::new(number, at, before.as_deref(), after.as_deref())
        })
        .collect()
}

impl Places {
    /// Where the file will be.
    pub(super) fn target(&self) -> &Located {
        self.to.as_ref().unwrap_or(&self.from)
    }

    pub(super) fn all(&self) -> Vec<&Located> {
        std::iter::once(&self.from).chain(&self.to).collect()
    }
}

pub(super) fn put_in_place(
    folder: &PrivateFolder,
    name: &StepName,
    draft: &Draft,
    place: &Places,
) -> std::io::Result<Swap> {
    let old = draft.base.as_ref().map(|base| base.bytes());
    match (&draft.bytes, &place.to, old) {
        (Some(new), None, old) => folder.swap_in(name, &place.from, old, new),
        (Some(new), Some(to), Some(old)) => {
            match folder.swap_in(name, to, None, new)? {
                Swap::Done => {}
                Swap::Changed => return Ok(Swap::Changed),
            }
            let taken = folder.take_out(name, &place.from, old)?;
            if taken == Swap::Changed {
                folder.take_back(name, to, new)?;
            }
            Ok(taken)
        }
        (None, _, Some(old)) => folder.take_out(name, &place.from, old),
        _ => Ok(Swap::Done),
    }
}

/// Puts a document back as it was, if it is as this commit left it.
fn restore(
    folder: &PrivateFolder,
    name: &StepName,
    draft: &Draft,
    place: &Places,
) -> std::io::Result<()> {
    let old = draft.base.as_ref().map(|base| base.bytes());
    match (&draft.bytes, &place.to, old) {
        (Some(new), None, Some(old)) => {
            folder.swap_back(name, &place.from, old, new)?;
        }
        (Some(new), None, None) => {
            folder.take_back(name, &place.from, new)?;
        }
        (Some(new), Some(to), Some(_)) => {
            match folder.put_back(name, &place.from) {
                // It was not taken out yet.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => result.map(|_| ())?,
            }
            folder.take_back(name, to, new)?;
        }
        (None, _, Some(_)) => {
            folder.put_back(name, &place.from)?;
        }
        _ => {}
    }
    Ok(())
}

/// Ids with the fresh ones filled in.
pub(super) fn given_out(ids: &[String], new: &[String]) -> Vec<String> {
    ids.iter()
        .map(|id| match fresh_index(id) {
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
    let old = draft.base.as_ref().map(|base| base.bytes());
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
        ..Step::default()
    }
}

/// The paths and section ids that an operation names.
fn names(operation: &Operation) -> (Vec<&NotePath>, Vec<&str>) {
    use super::{At, SectionRef};
    fn id(section: &SectionRef) -> Option<&str> {
        section.id.as_deref()
    }
    fn anchor(at: &At) -> Option<&str> {
        match at {
            At::Position(_) => None,
            At::Next { anchor, .. } => id(anchor),
        }
    }
    match operation {
        Operation::Insert(InsertSection { path, at, .. }) => {
            (path.iter().collect(), anchor(at).into_iter().collect())
        }
        Operation::Update(UpdateSection { path, section, .. })
        | Operation::Delete(DeleteSection { path, section, .. })
        | Operation::Rename(RenameSection { path, section, .. }) => {
            (path.iter().collect(), id(section).into_iter().collect())
        }
        Operation::Move(MoveSection {
            path,
            section,
            at,
            to,
            ..
        }) => (
            path.iter().chain(to).collect(),
            id(section).into_iter().chain(anchor(at)).collect(),
        ),
        Operation::EditText(EditText { path, section, .. }) => (
            path.iter().collect(),
            section.as_ref().and_then(id).into_iter().collect(),
        ),
        Operation::SetFrontMatter(SetFrontMatter { path, .. }) => {
            (path.iter().collect(), Vec::new())
        }
        Operation::CreateDocument(CreateDocument { path, .. })
        | Operation::DeleteDocument(DeleteDocument { path, .. }) => (vec![path], Vec::new()),
        Operation::RenameDocument(RenameDocument { path, new_path, .. }) => {
            (vec![path, new_path], Vec::new())
        }
    }
}

impl Transaction<'_> {
    fn perform_all(
        &mut self,
        operations: &[Operation],
        watch: Watch<'_>,
    ) -> Result<(), EditorError> {
        for operation in operations {
            self.perform(operation)?;
            watch.check()?;
        }
        self.settle_links(operations, watch)
    }

    /// Refuses changes of documents that may not be written.
    pub(super) fn check_writable(&self) -> Result<(), EditorError> {
        for draft in self.drafts.values().filter(|draft| draft.is_changed()) {
            if draft.base.is_some() {
                let located = self.editor.locate(&draft.path)?;
                let checked = located.check_writable();
                checked.map_err(|error| EditorError::io(&error))?;
            }
        }
        Ok(())
    }

    /// What the transaction comes to, for comparison with a plan.
    pub(super) fn planned(&self) -> Vec<PlannedDocument> {
        let changed = self.drafts.values().filter(|draft| draft.is_changed());
        changed
            .map(|draft| PlannedDocument {
                path: draft.final_path().as_str().to_owned(),
                before: draft.base.as_ref().map(|base| base.hash().to_string()),
                after: draft
                    .bytes
                    .as_ref()
                    .map(|bytes| Digest::of(bytes).to_string()),
            })
            .collect()
    }
}
