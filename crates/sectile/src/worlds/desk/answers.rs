//! Answers of the tools that write: short, with everything that the next call needs.

use schemars::JsonSchema;
use sectile_markdown::{edit::EditError, estimate_tokens};
use sectile_mcp::{
    Answer, AnswerFacts, CallContext, Failure, JsonObject, Tool, ToolBuilder, decode,
};
use sectile_vault::editor::{
    BrokenLink, CallHooks, Conflict, DocumentReport, EditText, EditorError, Operation, WriteReport,
    WriteRequest, is_hash, is_part, is_plan, part_hash, short_hash,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    DeskWorld, SHOWN_BYTES,
    card::{CARD_URI, ChangeDetails},
    diffs::{DiffRoom, DocumentDiff, Moved, short_diff},
    errors::{INVALID_ARGUMENTS, INVALID_BASE, INVALID_PLAN, failure, with_facts},
    roots::{DeskRoot, VisibleRoots},
};
use crate::worlds::arguments_digest;

/// Maximum number of tokens in an answer. This is a little less than the contract allows, because tokens are estimated.
const MAX_ANSWER_TOKENS: usize = 360;
/// Maximum number of tokens for the diff of a preview, where the diff is what was asked for.
const MAX_PREVIEW_TOKENS: usize = 3000;
/// Tokens that a diff may always take, however long the rest of the answer is.
const MIN_DIFF_TOKENS: usize = 40;
/// Maximum number of lines in a diff, except in a preview: enough to check that the change is the intended one.
const MAX_DIFF_LINES: usize = 24;
/// Maximum number of broken links that an answer lists.
const MAX_BROKEN_LINKS: usize = 3;
/// Maximum length of the description of a broken link, in characters.
const MAX_LINK_CHARS: usize = 120;
/// Maximum length of a client's name in the history, in characters.
const MAX_ACTOR_CHARS: usize = 100;

/// The result of a write.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct DeskWriteAnswer {
    /// Canonical id.
    id: String,
    /// Its base now.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// The change, for undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    /// Token to apply a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// The change that was undone or redone.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<String>,
    /// The changed lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    /// Documents that changed, if several.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<usize>,
    /// Number of repaired links.
    #[serde(skip_serializing_if = "is_zero")]
    repaired: usize,
    /// Links that lead nowhere now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken: Vec<String>,
    /// Number of those not listed.
    #[serde(skip_serializing_if = "is_zero")]
    broken_more: usize,
    /// Further facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
    /// Merged with a later change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    merged: bool,
    /// The change in more detail, for a card.
    #[serde(skip)]
    details: Option<ChangeDetails>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

const PREVIEW: &str = "preview: nothing was written";
/// How to redo what an undo took back.
pub(super) const REDO: &str = "undo this to redo";
const UNCHANGED: &str = "unchanged: nothing had to be written";
const REPLAYED: &str = "the answer to the first call with this request_id";
const CHANGED_SINCE: &str = "another program changed it again: read it before the next edit";
const RESCUED: &str =
    "another program wrote to a replaced file: its text is kept in .sectile as rescued-*";

/// The thing that the answer to a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerSubject {
    /// The document that the first operation names.
    Document,
    /// The section that the first operation names. Its base is that of the section with its subsections, which every
    /// tool takes.
    Section,
    /// Something that has no base afterwards; the answer gives the id as it was.
    Gone,
}

/// A write to make. The handlers of all tools that write produce one.
pub(super) struct PlannedWrite<'a> {
    pub(super) root: &'a DeskRoot,
    /// The name of the tool.
    pub(super) tool: &'static str,
    pub(super) operations: Vec<Operation>,
    /// The id that messages and some answers show.
    pub(super) id: String,
    pub(super) subject: AnswerSubject,
    pub(super) is_preview: bool,
    /// The token of a preview that the write has to agree with.
    pub(super) plan: Option<String>,
    pub(super) request_id: Option<String>,
    /// Whether the write is right in a document that has changed since its base: one that only adds text, or names the
    /// passage that it replaces.
    pub(super) fits_changed_document: bool,
}

/// The result of planning a write that people can review.
pub(super) enum ReviewedWrite<'a> {
    /// A write to make or to preview.
    Planned(PlannedWrite<'a>),
    /// Something that was done already and that the history does not record, to the thing with this id.
    Unrecorded(String),
}

/// What an answer needs to know about a write besides its report.
pub(super) struct AnsweredWrite {
    pub(super) subject: AnswerSubject,
    /// The id of something that has none afterwards.
    pub(super) id: String,
    pub(super) is_preview: bool,
    /// Whether the caller knows all of the text that it wrote to, however long it is.
    pub(super) has_read_all: bool,
}

impl DeskWriteAnswer {
    /// Adds which change was undone, or redone, and how to redo it.
    pub(super) fn add_undone(&mut self, change: String, is_redo: bool) {
        self.undoes = Some(change);
        if !is_redo {
            self.notes.push(REDO);
        }
    }

    /// Returns the answer to something that the history does not record.
    pub(super) fn without_change(id: String) -> (Self, AnswerFacts) {
        let answer = Self {
            id,
            ..Self::default()
        };
        (answer, AnswerFacts::default())
    }

    /// Returns about how many tokens the answer has.
    fn tokens(&self) -> usize {
        let text = serde_json::to_string(self).unwrap_or_default();
        estimate_tokens(&text)
    }
}

impl<'a> PlannedWrite<'a> {
    /// Makes a write with these operations, about the document that they name.
    pub(super) fn new(
        root: &'a DeskRoot,
        tool: &'static str,
        id: String,
        operations: Vec<Operation>,
    ) -> Self {
        Self {
            root,
            tool,
            operations,
            id,
            subject: AnswerSubject::Document,
            is_preview: false,
            plan: None,
            request_id: None,
            fits_changed_document: false,
        }
    }
}

/// Finishes a tool that writes: `planned` decides what; the rest is the same for all.
pub(super) fn write_tool<P: DeserializeOwned + JsonSchema + 'static>(
    tool: ToolBuilder<DeskWorld>,
    planned: for<'a> fn(&VisibleRoots<'a>, P) -> Result<PlannedWrite<'a>, Failure>,
) -> Tool<DeskWorld> {
    tool.call_raw::<P, DeskWriteAnswer>(move |world, arguments: JsonObject, context| {
        let digest = arguments_digest(&arguments);
        let roots = world.roots_for(context);
        let write = planned(&roots, decode(arguments)?)?;
        let (answer, facts) = roots.write(write, &digest)?;
        Answer::new(&answer, facts)
    })
}

/// Finishes a tool that writes and whose calls people can review on a card; see [`card`](super::card).
pub(super) fn reviewed_tool<P: DeserializeOwned + JsonSchema + 'static>(
    tool: ToolBuilder<DeskWorld>,
    planned: for<'a> fn(&VisibleRoots<'a>, P) -> Result<ReviewedWrite<'a>, Failure>,
) -> Tool<DeskWorld> {
    let tool = tool.app(CARD_URI);
    tool.call_raw::<P, DeskWriteAnswer>(move |world, arguments: JsonObject, context| {
        let digest = arguments_digest(&arguments);
        let roots = world.roots_for(context);
        let write = match planned(&roots, decode(arguments)?)? {
            ReviewedWrite::Planned(write) => write,
            ReviewedWrite::Unrecorded(id) => {
                let (answer, facts) = DeskWriteAnswer::without_change(id);
                return Answer::new(&answer, facts);
            }
        };
        let (mut answer, facts) = roots.write(write, &digest)?;
        let details = answer.details.take();
        let meta = details.map(ChangeDetails::into_meta).transpose()?;
        Ok(Answer::new(&answer, facts)?.with_meta(meta.unwrap_or_default()))
    })
}

impl VisibleRoots<'_> {
    /// Makes a write and reports what it did. `digest` is that of the arguments, so that a retry is recognized.
    pub(super) fn write(
        &self,
        write: PlannedWrite<'_>,
        digest: &str,
    ) -> Result<(DeskWriteAnswer, AnswerFacts), Failure> {
        let mut bases = write.operations.iter().filter_map(Operation::expected_hash);
        if !bases.all(is_hash) {
            let what = "`base` is not one that an answer returned. Nothing was written.";
            return Err(failure(&INVALID_BASE, what, ""));
        }
        refuse_other_plan(&write)?;
        let mut request = WriteRequest {
            plan: write.plan,
            request: write
                .request_id
                .map(|id| (id, format!("{} {digest}", write.tool))),
            dry_run: write.is_preview,
            ..WriteRequest::new(write.operations, write.tool, actor(self.context()))
        };
        let context = self.context();
        let stop = || context.cancelled.is_cancelled();
        let hooks = CallHooks {
            stop: &stop,
            progress: &|done, total| context.progress.report(done, total, "documents"),
            ..CallHooks::none()
        };
        let folder = &write.root.folder;
        let mut written = folder.write(&request, hooks);
        let is_merged = write.fits_changed_document
            && written.as_ref().err() == Some(&EditorError::DocumentChanged);
        if is_merged {
            request.operations.iter_mut().for_each(forget_base);
            written = folder.write(&request, hooks);
        }
        // A caller that has not read all of a long text may not replace it, before the write or after it.
        let has_read_all = request.operations.first().is_some_and(knows_all);
        let mut report =
            written.map_err(|error| self.write_failure(write.root, &error, &request, &write.id))?;
        for step in &mut report.steps {
            step.merged |= is_merged;
        }
        let written = AnsweredWrite {
            subject: write.subject,
            id: write.id,
            is_preview: write.is_preview,
            has_read_all,
        };
        let details = context.shows_apps.then(|| {
            let broken = report.broken_links.iter();
            let broken = broken.map(|link| self.broken(write.root, link)).collect();
            let id = |path: &str| self.id_of(write.root, path, None);
            ChangeDetails::new(write.tool, &report, broken, id)
        });
        let (mut answer, facts) = self.answered(write.root, report, written);
        answer.details = details;
        Ok((answer, facts))
    }

    /// Returns the failure of a write, with facts about the passage that it was to replace.
    fn write_failure(
        &self,
        root: &DeskRoot,
        error: &EditorError,
        request: &WriteRequest,
        id: &str,
    ) -> Failure {
        let failed = self.editor_failure(root, error, id);
        match (error, request.operations.first()) {
            (EditorError::Edit(EditError::TextCount { .. }), Some(Operation::EditText(edit))) => {
                with_facts(failed, self.passage_facts(root, edit))
            }
            // A path where no note may be answers like one where there is none, whether or not something is there.
            (
                EditorError::DocumentNotFound,
                Some(Operation::CreateDocument(_) | Operation::RenameDocument(_)),
            ) => self.editor_failure(root, &EditorError::NotADocument, id),
            (EditorError::DocumentChanged, Some(Operation::EditText(edit))) => {
                match self.document_conflict(root, edit) {
                    Some(conflict) => self.editor_failure(root, &conflict, id),
                    None => failed,
                }
            }
            _ => failed,
        }
    }

    /// Returns the conflict of a text that would replace that of a whole document with the text that is there now.
    fn document_conflict(&self, root: &DeskRoot, edit: &EditText) -> Option<EditorError> {
        let view = root.folder.editor.view(edit.path.as_ref()?).ok()?;
        Some(EditorError::Conflict(Box::new(Conflict {
            section_id: String::new(),
            hash: short_hash(view.hash()),
            base: None,
            ours: Some(edit.new_text.clone()),
            theirs: String::from_utf8_lossy(view.bytes()).into_owned(),
        })))
    }

    /// Returns the answer to a write.
    pub(super) fn answered(
        &self,
        root: &DeskRoot,
        report: WriteReport,
        written: AnsweredWrite,
    ) -> (DeskWriteAnswer, AnswerFacts) {
        let is_preview = written.is_preview;
        let first = report.steps.first();
        let section = first.and_then(|step| step.section.as_ref());
        let path = first.map(|step| step.path.as_str());
        let is_merged = report.steps.iter().any(|step| step.merged);
        let shown_bytes = match written.has_read_all {
            // The caller has not seen what others wrote.
            _ if is_merged => 0,
            true => usize::MAX,
            false => SHOWN_BYTES,
        };
        let (id, base) = match (written.subject, path, section) {
            (AnswerSubject::Section, Some(path), Some(section)) => {
                let (_, base) = section.shown_hashes(shown_bytes);
                (self.id_of(root, path, Some(&section.id)), Some(base))
            }
            (AnswerSubject::Gone, ..) | (_, None, _) => (written.id, None),
            (_, Some(path), _) => {
                let base = base_of(root, path, &report, shown_bytes);
                (self.id_of(root, path, None), base)
            }
        };
        let mut notes = Vec::new();
        for (holds, note) in [
            (is_preview, PREVIEW),
            (
                report.documents.is_empty() && report.entry.is_none(),
                UNCHANGED,
            ),
            (report.replayed, REPLAYED),
            (report.changed_since, CHANGED_SINCE),
            (report.rescued > 0, RESCUED),
        ] {
            if holds {
                notes.push(note);
            }
        }
        let broken = report.broken_links.iter().take(MAX_BROKEN_LINKS);
        let count = report.documents.len();
        let mut answer = DeskWriteAnswer {
            id,
            base,
            change: report.entry.map(|number| self.change_id(root, number)),
            plan: report.plan,
            undoes: None,
            diff: String::new(),
            documents: (count > 1).then_some(count),
            repaired: report.repaired_links,
            broken: broken.map(|link| self.broken(root, link)).collect(),
            broken_more: report.broken_links_more
                + report.broken_links.len().saturating_sub(MAX_BROKEN_LINKS),
            notes,
            merged: is_merged,
            details: None,
        };
        let room = match is_preview {
            true => DiffRoom {
                tokens: MAX_PREVIEW_TOKENS,
                lines: usize::MAX,
                is_brief: false,
            },
            false => DiffRoom {
                tokens: MAX_ANSWER_TOKENS
                    .saturating_sub(answer.tokens())
                    .max(MIN_DIFF_TOKENS),
                lines: MAX_DIFF_LINES,
                is_brief: true,
            },
        };
        let (diff, is_cut) = self.diff(root, &report.documents, room);
        answer.diff = diff;
        let facts = AnswerFacts {
            sections: Some(report.steps.len()),
            truncated: is_cut,
            ..AnswerFacts::default()
        };
        (answer, facts)
    }

    /// Returns which documents moved and the changed lines as far as there is room, and whether something was left out.
    fn diff(
        &self,
        root: &DeskRoot,
        documents: &[DocumentReport],
        room: DiffRoom,
    ) -> (String, bool) {
        let id = |path: &str| self.id_of(root, path, None);
        let moved = documents.iter().filter_map(|document| {
            let from = document.moved_from.as_ref()?;
            Some((id(from), id(&document.path)))
        });
        let moved: Vec<Moved> = moved.collect();
        let texts = documents.iter().map(|document| DocumentDiff {
            id: id(&document.path),
            text: document.diff.clone(),
            is_cut: document.diff_truncated,
        });
        let texts: Vec<DocumentDiff> = texts.collect();
        short_diff(&moved, &texts, room)
    }

    fn broken(&self, root: &DeskRoot, link: &BrokenLink) -> String {
        let place = self.id_of(root, &link.path, None);
        let text = match link.target.as_str() {
            "" => format!("{place}: {}", link.reason),
            target => format!("{place} line {}: {target} ({})", link.line, link.reason),
        };
        sectile_mcp::visible(&text, MAX_LINK_CHARS)
    }
}

/// Refuses a plan that no preview returned, and one together with a preview.
fn refuse_other_plan(write: &PlannedWrite<'_>) -> Result<(), Failure> {
    match &write.plan {
        Some(_) if write.is_preview => {
            let what =
                "`plan` applies what a preview showed, so `preview` cannot be given with it.";
            Err(failure(&INVALID_ARGUMENTS, what, ""))
        }
        Some(plan) if !is_plan(plan) => {
            let what = "`plan` is not one that a preview returned. Nothing was written.";
            Err(failure(&INVALID_PLAN, what, ""))
        }
        _ => Ok(()),
    }
}

/// Makes an operation right in the document as it is now, whatever it was based on.
fn forget_base(operation: &mut Operation) {
    match operation {
        Operation::EditText(edit) => edit.expected_hash = None,
        Operation::PlaceText(place) => place.expected_hash = None,
        _ => {}
    }
}

/// Returns whether a caller that asks for this operation knows all of the text that it is about: because it writes all of
/// it, or because its base says so.
fn knows_all(operation: &Operation) -> bool {
    match operation {
        Operation::CreateDocument(_) => true,
        operation => operation.expected_hash().is_some_and(|base| !is_part(base)),
    }
}

/// The base of the document at `path` after a write, with a mark if the document is longer than `shown_bytes`.
fn base_of(
    root: &DeskRoot,
    path: &str,
    report: &WriteReport,
    shown_bytes: usize,
) -> Option<String> {
    let mut changed = report.documents.iter();
    let view = match changed.find(|document| document.path == path) {
        Some(document) => document.view.clone()?,
        // It did not change, so it is as it was.
        None => {
            let path = sectile_vault::NotePath::parse_vault(path).ok()?;
            root.folder.editor.view(&path).ok()?
        }
    };
    let hash = short_hash(view.hash());
    match view.bytes().len() > shown_bytes {
        true => Some(part_hash(&hash)),
        false => Some(hash),
    }
}

/// The author of a change, as the history names it: the caller that signed in, or else the client.
pub(super) fn actor(context: &CallContext) -> String {
    let name = context.caller().or(context.client.as_deref());
    let readable = name.unwrap_or("unnamed client").chars();
    readable
        .filter(|c| !c.is_control())
        .take(MAX_ACTOR_CHARS)
        .collect()
}
