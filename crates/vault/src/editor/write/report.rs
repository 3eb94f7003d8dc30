//! Reports of writes: made after a commit, predicted by a dry run, or rebuilt for a retry.

use std::{collections::HashSet, sync::Arc};

use sectile_markdown::{Changes, DiffOptions, Digest, Source, UnifiedDiff, unified_diff};

use super::{
    DocumentWriter, WriteRequest, commit::given_out, plan::Plan, transaction::Transaction,
};
use crate::{
    editor::{
        BrokenLink, EditorError, SectionInfo, View, draft::Draft, folder::recorded_path,
        read::past::before,
    },
    ids,
};

/// The result of a request.
#[derive(Clone, Debug, Default)]
pub struct WriteReport {
    /// The history entry; `None` if nothing changed or nothing was written.
    pub entry: Option<u64>,
    /// The plan to apply, after a dry run.
    pub plan: Option<String>,
    /// The documents that changed.
    pub documents: Vec<DocumentReport>,
    /// The result of each operation.
    pub steps: Vec<StepReport>,
    /// Number of links that were repaired.
    pub repaired_links: usize,
    /// Links that the request broke, and new ones that lead nowhere; the first fifty.
    pub broken_links: Vec<BrokenLink>,
    /// Number of broken links beyond those listed.
    pub broken_links_more: usize,
    /// Whether this repeats the answer to an earlier request.
    pub replayed: bool,
    /// Whether another program changed a document again before the answer.
    pub changed_since: bool,
    /// Number of files that another program wrote to after they were replaced. Its bytes are kept in the private
    /// folder.
    pub rescued: usize,
}

/// The result for one document.
#[derive(Clone, Debug)]
pub struct DocumentReport {
    /// Its path now.
    pub path: String,
    /// Its path before, if that was another one.
    pub moved_from: Option<String>,
    /// The number of its last entry.
    pub revision: u64,
    /// Its digest now; `None` if it was deleted.
    pub hash: Option<Digest>,
    /// A unified diff of the change.
    pub diff: String,
    /// Whether the diff was truncated.
    pub diff_truncated: bool,
    /// The number of changed lines that are missing from a truncated diff, or somewhat more.
    pub diff_left_out: usize,
    /// The document now; `None` if it was deleted.
    pub view: Option<Arc<View>>,
}

/// The result of one operation.
#[derive(Clone, Debug, Default)]
pub struct StepReport {
    /// The document.
    pub path: String,
    /// The section, as it is now.
    pub section: Option<SectionInfo>,
    /// Whether the change was merged with one that someone else made meanwhile.
    pub merged: bool,
}

impl DocumentWriter {
    pub(super) fn dry_run(
        &self,
        request: &WriteRequest,
        transaction: &Transaction<'_>,
    ) -> Result<WriteReport, EditorError> {
        let planned = transaction.planned();
        if planned.is_empty() {
            return Ok(self.preview(transaction));
        }
        let token = planned.token(&self.store.key);
        // The same plan promises the same ids, however often it is requested.
        let promised = self.plans().ids(&token);
        let ids = match promised.filter(|ids| ids.len() == transaction.fresh.len()) {
            Some(ids) => ids,
            None => self
                .store
                .state()
                .completed_ids(transaction.new_sections())?,
        };
        let mut report = self.report(transaction, None, &[], &ids);
        let plan = Plan {
            request: request.clone(),
            ids,
        };
        self.plans().put(token.clone(), plan);
        report.plan = Some(token);
        Ok(report)
    }

    /// Reports what a transaction did, or would do if there are no views.
    pub(super) fn report(
        &self,
        transaction: &Transaction<'_>,
        entry: Option<u64>,
        views: &[Option<Arc<View>>],
        ids: &[String],
    ) -> WriteReport {
        let mut documents = Vec::new();
        let changed = transaction
            .drafts
            .values()
            .filter(|draft| draft.is_changed());
        for (at, draft) in changed.enumerate().filter(|(_, draft)| !draft.is_silent) {
            let diff = self.diff_of(draft);
            let view = match views.get(at) {
                Some(view) => view.clone(),
                None => draft.bytes.as_ref().map(|bytes| {
                    let revision = draft.base.as_ref().map_or(0, |base| base.revision());
                    Arc::new(View::new(
                        draft.final_path().clone(),
                        bytes.clone(),
                        Digest::of(bytes),
                        draft.document.clone(),
                        given_out(&draft.ids, ids),
                        revision,
                    ))
                }),
            };
            let is_moved = draft.base.is_some() && draft.path != *draft.final_path();
            documents.push(DocumentReport {
                path: draft.final_path().as_str().to_owned(),
                moved_from: is_moved.then(|| draft.path.as_str().to_owned()),
                revision: view
                    .as_ref()
                    .map_or(entry.unwrap_or(0), |view| view.revision()),
                hash: view.as_ref().map(|view| *view.hash()),
                diff: diff.text,
                diff_truncated: diff.truncated,
                diff_left_out: diff.left_out,
                view,
            });
        }
        let steps = transaction.steps.iter().map(|step| {
            let draft = transaction.drafts.get(&step.path);
            let path = draft.map_or(step.path.clone(), |draft| {
                draft.final_path().as_str().to_owned()
            });
            let view = documents
                .iter()
                .find(|document| document.path == path)
                .and_then(|document| document.view.clone())
                .or_else(|| draft.and_then(|draft| draft.base.clone()));
            let id = step.section.as_ref().map(|id| match ids::fresh_index(id) {
                Some(fresh) => ids.get(fresh).cloned().unwrap_or_else(|| id.clone()),
                None => id.clone(),
            });
            let section = id
                .zip(view)
                .and_then(|(id, view)| view.section(view.position_of(&id)?));
            StepReport {
                path,
                section,
                merged: step.merged,
            }
        });
        WriteReport {
            entry,
            plan: None,
            steps: steps.collect(),
            documents,
            repaired_links: transaction.repaired_links,
            broken_links: transaction.broken.links.clone(),
            broken_links_more: transaction.broken.more,
            replayed: false,
            changed_since: false,
            rescued: 0,
        }
    }

    /// Reports what a transaction would do.
    pub(super) fn preview(&self, transaction: &Transaction<'_>) -> WriteReport {
        self.report(transaction, None, &[], &[])
    }

    /// Rebuilds the answer to the request that made entry `number`.
    pub(super) fn report_of_entry(
        &self,
        number: u64,
        asked: Option<&str>,
    ) -> Result<WriteReport, EditorError> {
        let entry = self.store.entry(number)?;
        let mut report = WriteReport {
            entry: Some(number),
            replayed: true,
            ..WriteReport::default()
        };
        for step in &entry.steps {
            let path = step.moved_to.as_ref().unwrap_or(&step.path);
            if self.folder.is_hidden_at(path) {
                continue;
            }
            let (bytes, ids) = self.history.document_after(step.document, number)?;
            let old = before(step, bytes.as_deref())?;
            let changes = step.changes().unwrap_or_default();
            let names = (
                old.as_ref().map(|_| step.path.as_str()),
                bytes.as_ref().map(|_| path.as_str()),
            );
            let diff = self.diff(names, old.as_deref(), &changes);
            let note = recorded_path(path)?;
            let view = bytes.map(|bytes| {
                let (hash, document) = (Digest::of(&bytes), Source::new(&bytes).parse());
                Arc::new(View::new(note, bytes, hash, document, ids, number))
            });
            let section = view.as_ref().and_then(|view| {
                let there: HashSet<&String> = view.ids().iter().collect();
                let id = step.touched.iter().find(|id| there.contains(id))?;
                view.section(view.position_of(id)?)
            });
            let is_asked =
                asked.is_some_and(|asked| [&step.path, path].iter().any(|one| *one == asked));
            let at = if is_asked { 0 } else { report.steps.len() };
            let told = StepReport {
                path: path.clone(),
                section,
                merged: false,
            };
            report.steps.insert(at, told);
            report.documents.push(DocumentReport {
                path: path.clone(),
                moved_from: step.moved_to.as_ref().map(|_| step.path.clone()),
                revision: number,
                hash: view.as_ref().map(|view| *view.hash()),
                diff: diff.text,
                diff_truncated: diff.truncated,
                diff_left_out: diff.left_out,
                view,
            });
        }
        Ok(report)
    }

    fn diff_of(&self, draft: &Draft) -> UnifiedDiff {
        let names = (
            draft.base.as_ref().map(|view| view.path().as_str()),
            draft.bytes.as_ref().map(|_| draft.final_path().as_str()),
        );
        let old = draft.base.as_ref().map(|view| view.bytes());
        self.diff(names, old, &draft.changes)
    }

    /// Returns a unified diff. A document that does not exist has no name.
    fn diff(
        &self,
        names: (Option<&str>, Option<&str>),
        old: Option<&[u8]>,
        changes: &Changes,
    ) -> UnifiedDiff {
        let name = |prefix: &str, path: Option<&str>| match path {
            Some(path) => format!("{prefix}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let (old_name, new_name) = (name("a", names.0), name("b", names.1));
        let options = DiffOptions {
            old_name: &old_name,
            new_name: &new_name,
            context: 3,
            max_bytes: self.limits.max_diff_bytes,
        };
        unified_diff(old.unwrap_or_default(), changes, options)
    }
}
