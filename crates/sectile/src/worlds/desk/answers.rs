//! Answers of the tools that write: short, with everything that the next call needs.

use schemars::JsonSchema;
use sectile_markdown::{edit::EditError, estimate_tokens};
use sectile_mcp::{
    Answer, AnswerFacts, CallContext, Failure, JsonObject, Tool, ToolBuilder, decode,
};
use sectile_vault::editor::{
    BrokenLink, CallHooks, Conflict, DocumentReport, EditText, EditorError, Operation, Scope,
    WriteReport, WriteRequest, is_hash, short_hash,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    DeskWorld,
    errors::{INVALID_BASE, failure, with_facts},
    roots::{DeskRoot, VisibleRoots},
};
use crate::worlds::arguments_digest;

/// Most tokens of an answer, a few less than the contract allows because tokens are only estimated.
const MOST_TOKENS: usize = 360;
/// Most tokens of the diff in a preview, where the diff is what was asked for.
const MOST_PREVIEW_TOKENS: usize = 3000;
/// Fewest tokens of a diff, however long the rest of the answer is.
const LEAST_TOKENS: usize = 40;
/// Most lines of a diff, unless it is a preview: a few show whether the change is the one that was meant.
const MOST_LINES: usize = 24;
/// Longest start of a line that is cut, in characters.
const MOST_CUT_LINE: usize = 80;
/// Most broken links that an answer names.
const MOST_BROKEN: usize = 3;
/// Longest description of a broken link, in characters.
const MOST_LINK: usize = 120;
/// Most characters of a client's name in the history.
const MOST_NAME: usize = 100;

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
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

const PREVIEW: &str = "preview: nothing was written";
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
    /// The section that the first operation names, with the base of this scope.
    Section(Scope),
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
    pub(super) request_id: Option<String>,
    /// Whether the write is right in a document that has changed since its base: one that only adds text, or names the
    /// passage that it replaces.
    pub(super) fits_changed_document: bool,
}

impl DeskWriteAnswer {
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

impl VisibleRoots<'_> {
    /// Makes a write and reports what it did. `digest` is that of the arguments, so that a retry is recognized.
    pub(super) fn write(
        &self,
        write: PlannedWrite<'_>,
        digest: &str,
    ) -> Result<(DeskWriteAnswer, AnswerFacts), Failure> {
        let mut bases = write.operations.iter().filter_map(Operation::expected_hash);
        if !bases.all(is_hash) {
            let what = "`base` is not one that an answer gave. Nothing was written.";
            return Err(failure(&INVALID_BASE, what, ""));
        }
        let mut request = WriteRequest {
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
        let mut report =
            written.map_err(|error| self.write_failure(write.root, &error, &request, &write.id))?;
        for step in &mut report.steps {
            step.merged |= is_merged;
        }
        let subject = write.subject;
        Ok(self.answered(write.root, report, subject, write.id, write.is_preview))
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
        subject: AnswerSubject,
        id: String,
        is_preview: bool,
    ) -> (DeskWriteAnswer, AnswerFacts) {
        let first = report.steps.first();
        let section = first.and_then(|step| step.section.as_ref());
        let path = first.map(|step| step.path.as_str());
        let (id, base) = match (subject, path, section) {
            (AnswerSubject::Section(scope), Some(path), Some(section)) => {
                let base = match scope {
                    Scope::Body => &section.hash,
                    Scope::Subtree => &section.subtree_hash,
                };
                (
                    self.id_of(root, path, Some(&section.id)),
                    Some(base.clone()),
                )
            }
            (AnswerSubject::Gone, ..) | (_, None, _) => (id, None),
            (_, Some(path), _) => (self.id_of(root, path, None), base_of(root, path, &report)),
        };
        let mut notes = Vec::new();
        for (holds, note) in [
            (is_preview, PREVIEW),
            (report.documents.is_empty(), UNCHANGED),
            (report.replayed, REPLAYED),
            (report.changed_since, CHANGED_SINCE),
            (report.rescued > 0, RESCUED),
        ] {
            if holds {
                notes.push(note);
            }
        }
        let broken = report.broken_links.iter().take(MOST_BROKEN);
        let count = report.documents.len();
        let mut answer = DeskWriteAnswer {
            id,
            base,
            change: report.entry.map(|number| self.change_id(root, number)),
            diff: String::new(),
            documents: (count > 1).then_some(count),
            repaired: report.repaired_links,
            broken: broken.map(|link| self.broken(root, link)).collect(),
            broken_more: report.broken_links_more
                + report.broken_links.len().saturating_sub(MOST_BROKEN),
            notes,
            merged: report.steps.iter().any(|step| step.merged),
        };
        let room = match is_preview {
            true => DiffRoom {
                tokens: MOST_PREVIEW_TOKENS,
                lines: usize::MAX,
            },
            false => DiffRoom {
                tokens: MOST_TOKENS
                    .saturating_sub(answer.tokens())
                    .max(LEAST_TOKENS),
                lines: MOST_LINES,
            },
        };
        let (diff, is_cut) = diff(&report.documents, room);
        answer.diff = diff;
        let facts = AnswerFacts {
            sections: Some(report.steps.len()),
            truncated: is_cut,
            ..AnswerFacts::default()
        };
        (answer, facts)
    }

    fn broken(&self, root: &DeskRoot, link: &BrokenLink) -> String {
        let place = self.id_of(root, &link.path, None);
        let text = match link.target.as_str() {
            "" => format!("{place}: {}", link.reason),
            target => format!("{place} line {}: {target} ({})", link.line, link.reason),
        };
        sectile_mcp::visible(&text, MOST_LINK)
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

/// The base of the document at `path` after a write.
fn base_of(root: &DeskRoot, path: &str, report: &WriteReport) -> Option<String> {
    let changed = report
        .documents
        .iter()
        .find(|document| document.path == path);
    match changed {
        Some(document) => document.hash.as_ref().map(short_hash),
        // It did not change, so it is as it was.
        None => {
            let path = sectile_vault::NotePath::parse_vault(path).ok()?;
            let view = root.folder.editor.view(&path).ok()?;
            Some(short_hash(view.hash()))
        }
    }
}

/// The length that a diff may have.
#[derive(Clone, Copy, Debug)]
struct DiffRoom {
    tokens: usize,
    lines: usize,
}

impl DiffRoom {
    /// Takes the room of a line, or returns `false` if there is not enough.
    fn take(&mut self, line: &str) -> bool {
        // A quotation mark or a line end is two characters in JSON.
        let needed = estimate_tokens(line) + 1;
        let fits = self.lines > 0 && needed <= self.tokens;
        if fits {
            self.lines -= 1;
            self.tokens -= needed;
        }
        fits
    }
}

/// The changed lines of all documents as far as there is room, and whether something was left out. The names of the
/// documents are given only if there are several.
fn diff(documents: &[DocumentReport], mut room: DiffRoom) -> (String, bool) {
    let mut lines = Vec::new();
    for document in documents {
        let name = (documents.len() > 1).then(|| format!("{}:", document.path));
        let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("+++ ");
        let hunks = document.diff.lines().skip_while(is_header);
        for line in name.iter().map(String::as_str).chain(hunks) {
            if !room.take(line) {
                let start: String = line.chars().take(MOST_CUT_LINE.min(room.tokens)).collect();
                lines.push(format!("{start}…"));
                return (lines.join("\n"), true);
            }
            lines.push(line.to_owned());
        }
        if document.diff_truncated {
            lines.push("…".to_owned());
        }
    }
    let is_cut = documents.iter().any(|document| document.diff_truncated);
    (lines.join("\n"), is_cut)
}

/// The author of a change, as the history names it: the caller that signed in, or else the client.
pub(super) fn actor(context: &CallContext) -> String {
    let name = context.caller().or(context.client.as_deref());
    let readable = name.unwrap_or("unnamed client").chars();
    readable
        .filter(|c| !c.is_control())
        .take(MOST_NAME)
        .collect()
}
