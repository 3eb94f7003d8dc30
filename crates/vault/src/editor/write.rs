//! Changes that callers ask for: applied to drafts in memory, then committed together.

mod apply;
mod characters;
mod commit;
mod conflict;
mod folder;
pub(super) mod operation;
pub(super) mod plan;
mod repair;
pub(super) mod report;
mod transaction;
pub(super) mod undo;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicBool},
};

use parking_lot::{Mutex, MutexGuard};

use self::{
    commit::{CommitHeader, CommitOutcome},
    folder::{check_alone, moves_folder},
    operation::Operation,
    plan::Plans,
    report::WriteReport,
    transaction::Transaction,
};
use super::{
    CallHooks, EditorError, EditorLimits, draft::Draft, folder::DocumentFolder,
    history::DocumentHistory, read::DocumentReader, store::JournalStore,
};
use crate::journal::{EntryKind, Request};

/// A caller's request to change documents.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// The changes, in order. All of them are applied, or none.
    pub operations: Vec<Operation>,
    /// The name of the operation in the history.
    pub name: String,
    /// The caller.
    pub actor: String,
    /// The caller's reason, if one was given.
    pub reason: Option<String>,
    /// The caller's id for the request and a digest of its content, by which a retry is recognized.
    pub request: Option<(String, String)>,
    /// Whether to only report what would happen.
    pub dry_run: bool,
    /// Whether a person has agreed to a large deletion.
    pub confirmed: bool,
    /// The token of a dry run: the request is carried out only if it does exactly what that dry run showed.
    pub plan: Option<String>,
}

impl WriteRequest {
    /// Returns a request that carries out `operations`, without a reason, an id or a confirmation.
    pub fn new(
        operations: Vec<Operation>,
        name: impl Into<String>,
        actor: impl Into<String>,
    ) -> Self {
        Self {
            operations,
            name: name.into(),
            actor: actor.into(),
            reason: None,
            request: None,
            dry_run: false,
            confirmed: false,
            plan: None,
        }
    }
}

/// Writes documents: all that a request asks for, or nothing.
#[derive(Debug)]
pub(super) struct DocumentWriter {
    folder: Arc<DocumentFolder>,
    store: Arc<JournalStore>,
    reader: Arc<DocumentReader>,
    history: Arc<DocumentHistory>,
    pub(super) limits: EditorLimits,
    plans: Mutex<Plans>,
    /// Whether the root was flushed after its private folder was created.
    is_root_flushed: AtomicBool,
}

/// Number of attempts for a document that another program writes at the same time.
const MOST_TRIES: usize = 40;

impl DocumentWriter {
    pub(super) fn new(
        folder: &Arc<DocumentFolder>,
        store: &Arc<JournalStore>,
        reader: &Arc<DocumentReader>,
        history: &Arc<DocumentHistory>,
        limits: EditorLimits,
    ) -> Self {
        Self {
            folder: Arc::clone(folder),
            store: Arc::clone(store),
            reader: Arc::clone(reader),
            history: Arc::clone(history),
            limits,
            plans: Mutex::default(),
            is_root_flushed: AtomicBool::new(false),
        }
    }

    /// Applies all operations of a request, or none.
    pub(super) fn write(
        &self,
        request: &WriteRequest,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        if request.operations.len() > self.limits.max_operations {
            return Err(EditorError::TooManyOperations {
                limit: self.limits.max_operations,
            });
        }
        check_alone(&request.operations)?;
        if let Some(report) = self.replay(request.request.as_ref())? {
            return Ok(report);
        }
        self.write_checked(request, watch)
    }

    /// Applies exactly the changes that a dry run showed.
    pub(super) fn apply_plan(
        &self,
        token: &str,
        confirmed: bool,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        let known = self.plans().get(token);
        let mut request = known.ok_or(EditorError::PlanUnknown)?;
        request.dry_run = false;
        request.confirmed |= confirmed;
        request.plan = Some(token.to_owned());
        let result = self.write_checked(&request, watch);
        let may_be_tried_again = matches!(
            result,
            Err(EditorError::NotConfirmed { .. } | EditorError::Busy | EditorError::Cancelled)
        );
        if !may_be_tried_again {
            self.plans().remove(token);
        }
        result
    }

    fn write_checked(
        &self,
        request: &WriteRequest,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        let plan = request.plan.as_deref();
        let promised = plan.and_then(|token| self.plans().ids(token));
        let promised = promised.unwrap_or_default();
        let mut extra = BTreeSet::new();
        let mut tries = 0;
        while tries < MOST_TRIES {
            let locks = if moves_folder(&request.operations) {
                self.store.lock_all_documents(watch.stop)?
            } else {
                let paths = self.paths_of(&request.operations, &extra)?;
                self.store
                    .lock_documents(paths.iter().map(String::as_str), watch.stop)?
            };
            // The first attempt may have been in flight until now.
            if let Some(report) = self.replay(request.request.as_ref())? {
                return Ok(report);
            }
            let mut transaction = Transaction::new(self, locks);
            transaction.promised.clone_from(&promised);
            let performed = transaction.perform_all(&request.operations, watch);
            if !transaction.missing.is_empty() {
                // The request needs more documents than it names, and someone else holds them: lock all of them in
                // order.
                extra.append(&mut transaction.missing);
                continue;
            }
            performed?;
            tries += 1;
            if let Some(token) = plan {
                transaction.planned().check(token, &self.store.key)?;
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
            let heading = CommitHeader {
                actor: request.actor.clone(),
                operation: request.name.clone(),
                reason: request.reason.clone(),
                request: request.into(),
                kind: EntryKind::Edit,
            };
            if let Some(report) = self.finish(&transaction, heading, watch)? {
                return Ok(report);
            }
        }
        Err(EditorError::KeepsChanging)
    }

    /// Commits a transaction and returns its report, or `None` if a document had changed.
    fn finish(
        &self,
        transaction: &Transaction<'_>,
        heading: CommitHeader,
        watch: CallHooks<'_>,
    ) -> Result<Option<WriteReport>, EditorError> {
        let changed: Vec<&Draft> = transaction
            .drafts
            .values()
            .filter(|draft| draft.is_changed())
            .collect();
        if changed.is_empty() && transaction.folder_move.is_none() {
            return Ok(Some(self.report(transaction, None, &[], &[])));
        }
        watch.check()?;
        match self.commit(&changed, transaction, heading, watch)? {
            CommitOutcome::Changed => Ok(None),
            CommitOutcome::Yes {
                entry,
                views,
                ids,
                others,
            } => {
                self.history.shorten_journal_if_needed();
                let mut report = self.report(transaction, Some(entry), &views, &ids);
                report.changed_since = others.changed_since;
                report.rescued = others.rescued;
                Ok(Some(report))
            }
        }
    }

    /// Returns the answer to an earlier request, if the one with this id and digest is a retry of it.
    fn replay(
        &self,
        request: Option<&(String, String)>,
    ) -> Result<Option<WriteReport>, EditorError> {
        self.replay_about(request, None)
    }

    /// Like [`Self::replay`], with the document at `asked` first.
    fn replay_about(
        &self,
        request: Option<&(String, String)>,
        asked: Option<&str>,
    ) -> Result<Option<WriteReport>, EditorError> {
        let Some((id, digest)) = request else {
            return Ok(None);
        };
        let found = self.store.current_state()?.ledger.request(id).cloned();
        let Some((known, number)) = found else {
            return Ok(None);
        };
        if known != *digest {
            return Err(EditorError::RequestReused);
        }
        self.report_of_entry(number, asked).map(Some)
    }

    /// Returns the paths, without links, of the documents that operations name, by path or by section id.
    fn paths_of(
        &self,
        operations: &[Operation],
        extra: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, EditorError> {
        let mut paths = extra.clone();
        let state = self.store.current_state()?;
        for operation in operations {
            let (named, ids) = operation.names();
            for path in named {
                // A document that cannot be found is reported when it is read.
                if let Ok(real) = self.folder.root.resolve(path) {
                    paths.insert(real.as_str().to_owned());
                }
            }
            for id in ids {
                match state.ledger.document_of(id) {
                    Some(known) => paths.extend(known.path.clone()),
                    None => paths.extend(self.store.sighted_with(&state, id)),
                }
            }
        }
        Ok(paths)
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock()
    }
}

impl From<&WriteRequest> for Option<Request> {
    fn from(request: &WriteRequest) -> Self {
        let (id, digest) = request.request.clone()?;
        Some(Request { id, digest })
    }
}
