//! Answers that several tools share.

use schemars::JsonSchema;
use sectile_mcp::{
    Answer, AnswerFacts, CallContext, Confirmation, Failure, JsonObject, Tool, ToolBuilder, decode,
    output_schema,
};
use sectile_vault::editor::{
    BrokenLink, CallHooks, DocumentReport, EditorError, Operation, SectionInfo, UndoRequest,
    WriteReport, WriteRequest, is_hash, short_hash,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    EditorWorld,
    errors::{CallSubject, bad_arguments},
    params::{EditArguments, EditParams, WriteOptions},
    resources,
};
use crate::worlds::arguments_digest;

/// The result of a write.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WriteAnswer {
    /// The section that the write is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) section_id: Option<String>,
    /// A sentence about what happened.
    pub(super) message: String,
    /// The document.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The section's index in the list of sections now.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    /// The section's level now.
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u8>,
    /// Hash of the section's own text now; pass it as expected_hash next time. update_section does not accept
    /// one that starts with part-.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// Hash of the section with heading and subsections now.
    #[serde(skip_serializing_if = "Option::is_none")]
    subtree_hash: Option<String>,
    /// Number of the document's last history entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    /// Number of the history entry that this write made.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
    /// Nothing had to be changed, and nothing was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
    /// The change was merged with one that was made after the expected hash was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    merged: bool,
    /// This is the answer to an earlier call with the same request_id; nothing was done twice.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    /// After a dry run: pass it to apply_plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// Every document that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    documents: Vec<ChangedDocument>,
    /// The result of each edit of a batch, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edits: Vec<EditEntry>,
    /// Number of links that were repaired.
    #[serde(skip_serializing_if = "is_zero")]
    repaired_links: usize,
    /// Links that this write broke, and documents whose links could not be checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken_links: Vec<BrokenLinkEntry>,
    /// Number of broken links that are not listed here.
    #[serde(skip_serializing_if = "is_zero")]
    broken_links_more: usize,
    /// Another program changed the document again before this answer. Read it before the next edit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    changed_since: bool,
    /// Number of files that another program wrote to after they were replaced; its text is kept in .sectile as rescued-*.
    #[serde(skip_serializing_if = "is_zero")]
    rescued: usize,
}

/// The schema of [`WriteAnswer`] for a tool whose answer always has the section that it made.
pub(super) fn inserted_schema() -> JsonObject {
    let mut schema = output_schema::<WriteAnswer>();
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.insert(0, "section_id".into());
    }
    let properties = schema.get_mut("properties");
    if let Some(id) = properties.and_then(|all| all.get_mut("section_id")) {
        *id = json!({ "type": "string", "description": "The new section." });
    }
    schema
}

/// A broken link, or a document whose links could not be checked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LeadsNowhere")]
pub(super) struct BrokenLinkEntry {
    /// The document that the link is in.
    path: String,
    /// Line of the link, from 1.
    line: usize,
    /// Target of the link, as written. Empty if the document could not be read.
    target: String,
    /// Why the link is broken.
    reason: &'static str,
}

impl From<BrokenLink> for BrokenLinkEntry {
    fn from(link: BrokenLink) -> Self {
        Self {
            path: link.path,
            line: link.line,
            target: link.target,
            reason: link.reason,
        }
    }
}

/// A document that changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ChangedDocument {
    path: String,
    /// Number of the document's last history entry.
    revision: u64,
    /// Hash of the document now; absent if it no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    document_hash: Option<String>,
    /// Unified diff.
    diff: String,
    /// The diff was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diff_truncated: bool,
}

/// The result of one edit of a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EditDone")]
pub(super) struct EditEntry {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    section_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
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

/// A section in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedSection {
    pub(super) section_id: String,
    pub(super) heading: String,
    /// Index in the list of all sections, from 0.
    pub(super) position: usize,
    /// 1 to 6.
    level: u8,
    /// The parent section.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    /// Hash of the section's own text. It starts with part- if get_section splits that text into pages; then update_section
    /// does not accept it, but all other tools do.
    hash: String,
    /// Hash of heading, text and subsections, with part- in the same way.
    subtree_hash: String,
    /// Length of the section's own text in bytes.
    bytes: usize,
}

impl ListedSection {
    /// The entry for `section` in a list, where an answer has at most `limit` bytes of text.
    pub(super) fn new(section: SectionInfo, limit: usize) -> Self {
        let (hash, subtree_hash) = section.shown_hashes(limit);
        Self {
            section_id: section.id,
            heading: section.heading,
            position: section.position,
            level: section.level,
            parent_id: section.parent,
            hash,
            subtree_hash,
            bytes: section.bytes,
        }
    }
}

/// A write to make. The handlers of all writing tools produce one.
pub(super) struct PendingWrite {
    operations: Vec<Operation>,
    name: &'static str,
    message: &'static str,
    confirm: bool,
    /// Whether the answer reports each operation.
    is_batch: bool,
    options: WriteOptions,
}

/// Finishes a tool that writes: `planned` decides what; the rest is the same for all.
pub(super) fn write_tool<P: DeserializeOwned + JsonSchema + 'static>(
    tool: ToolBuilder<EditorWorld>,
    planned: fn(&EditorWorld, P, &CallContext) -> Result<PendingWrite, Failure>,
) -> Tool<EditorWorld> {
    tool.call_raw::<P, WriteAnswer>(move |world, arguments, context| {
        write_as(world, arguments, context, planned)
    })
}

/// Finishes a tool that makes one change and takes only its own arguments and those of every write.
pub(super) fn edit_tool<A>(tool: ToolBuilder<EditorWorld>) -> Tool<EditorWorld>
where
    A: EditArguments + DeserializeOwned + JsonSchema + 'static,
{
    write_tool(tool, |world, params: EditParams<A>, context| {
        params.edit.write(world, params.options, context)
    })
}

fn write_as<P: DeserializeOwned>(
    world: &EditorWorld,
    arguments: JsonObject,
    context: &CallContext,
    planned: fn(&EditorWorld, P, &CallContext) -> Result<PendingWrite, Failure>,
) -> Result<Answer, Failure> {
    let digest = arguments_digest(&arguments);
    let write = planned(world, decode(arguments)?, context)?;
    let (output, facts) = world.write(write, digest, context)?;
    Answer::new(&output, facts)
}

impl PendingWrite {
    /// One operation, as the tool `name` makes it.
    pub(super) fn new(name: &'static str, message: &'static str, operation: Operation) -> Self {
        Self {
            operations: vec![operation],
            name,
            message,
            confirm: false,
            is_batch: false,
            options: WriteOptions::default(),
        }
    }

    /// Several operations that belong together.
    pub(super) fn batch(
        name: &'static str,
        message: &'static str,
        operations: Vec<Operation>,
    ) -> Self {
        Self {
            operations,
            name,
            message,
            confirm: false,
            is_batch: true,
            options: WriteOptions::default(),
        }
    }

    /// Adds the options of the call.
    pub(super) fn with(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    /// Records whether the caller agrees to a large deletion.
    pub(super) fn confirmed(mut self, confirm: bool) -> Self {
        self.confirm = confirm;
        self
    }
}

const DRY_RUN: &str = "Dry run: nothing was written.";
const DRY_RUN_WITH_PLAN: &str =
    "Dry run: nothing was written. Call apply_plan with the plan to write exactly this.";

impl EditorWorld {
    /// Makes a write and reports what it did. `digest` is that of the arguments, so that a retry is recognized.
    fn write(
        &self,
        write: PendingWrite,
        digest: String,
        context: &CallContext,
    ) -> Result<(WriteAnswer, AnswerFacts), Failure> {
        let mut hashes = write.operations.iter().filter_map(Operation::expected_hash);
        if !hashes.all(is_hash) {
            return Err(bad_arguments(
                "Invalid arguments: `expected_hash` is not a hash. Pass it exactly as it was returned, or at least its first 12 digits.",
            ));
        }
        let options = write.options;
        let mut request = WriteRequest {
            operations: write.operations,
            name: write.name.to_owned(),
            actor: actor(context),
            reason: options.reason,
            request: options
                .request_id
                .map(|id| (id, format!("{} {digest}", write.name))),
            dry_run: options.dry_run,
            confirmed: write.confirm,
            plan: None,
        };
        let stop = || context.cancelled.is_cancelled();
        let watch = CallHooks {
            stop: &stop,
            progress: &|done, total| context.progress.report(done, total, "documents"),
            ..CallHooks::none()
        };
        let mut result = self.editor.write(&request, watch);
        if let Err(EditorError::NotConfirmed { bytes }) = &result
            && self.is_confirmed(*bytes, context)
        {
            request.confirmed = true;
            result = self.editor.write(&request, watch);
        }
        let report = result.map_err(|error| {
            let about = CallSubject::operations(&request.operations, context);
            self.failure(&error, &about)
        })?;
        let (mut written, facts) = self.written(report, write.message, write.is_batch);
        if written.plan.is_some() {
            written.message = context.for_caller(DRY_RUN_WITH_PLAN).into_owned();
        }
        Ok((written, facts))
    }

    /// Asks the person behind the client to confirm, if there is one.
    pub(super) fn is_confirmed(&self, bytes: usize, context: &CallContext) -> bool {
        let question = format!("Delete {bytes} bytes of text? It can be undone.");
        context.confirm(&question) == Confirmation::Accepted
    }

    pub(super) fn undo(
        &self,
        request: &UndoRequest,
        message: &'static str,
        context: &CallContext,
    ) -> Result<(WriteAnswer, AnswerFacts), Failure> {
        let report = self
            .editor
            .undo(
                request,
                CallHooks::until(&|| context.cancelled.is_cancelled()),
            )
            .map_err(|error| {
                let about =
                    CallSubject::document(request.path.as_ref(), context).entry(request.entry);
                self.failure(&error, &about)
            })?;
        Ok(self.written(report, message, false))
    }

    /// Returns the answer to a write, and notifies the subscribers of its documents.
    pub(super) fn written(
        &self,
        report: WriteReport,
        message: &'static str,
        is_batch: bool,
    ) -> (WriteAnswer, AnswerFacts) {
        if report.entry.is_some() && !report.replayed {
            for document in &report.documents {
                resources::changed(self, &document.path);
            }
        }
        let is_dry_run = report.entry.is_none() && !report.documents.is_empty();
        let first = report.steps.first();
        let section = first.and_then(|step| step.section.clone());
        let path = first.map(|step| step.path.clone());
        let unchanged = report.documents.is_empty();
        let revision = report
            .documents
            .iter()
            .find(|document| Some(&document.path) == path.as_ref())
            .map(|document| document.revision);
        let edits = report.steps.iter().map(|step| EditEntry {
            path: step.path.clone(),
            section_id: step.section.as_ref().map(|section| section.id.clone()),
            hash: step
                .section
                .as_ref()
                .map(|section| section.shown_hashes(self.max_answer_bytes).0),
            merged: step.merged,
        });
        let edits: Vec<EditEntry> = if is_batch {
            edits.collect()
        } else {
            Vec::new()
        };
        let facts = AnswerFacts {
            sections: Some(report.steps.len()),
            truncated: report
                .documents
                .iter()
                .any(|document| document.diff_truncated),
            ..AnswerFacts::default()
        };
        let section = section.filter(|_| !is_batch);
        let hashes = section
            .as_ref()
            .map(|section| section.shown_hashes(self.max_answer_bytes));
        let (hash, subtree_hash) = hashes.unzip();
        let written = WriteAnswer {
            section_id: section
                .as_ref()
                .map(|section| section.id.clone())
                .filter(|id| !id.is_empty()),
            message: if is_dry_run { DRY_RUN } else { message }.to_owned(),
            path: path.filter(|_| !is_batch),
            position: section.as_ref().map(|section| section.position),
            level: section.as_ref().map(|section| section.level),
            hash,
            subtree_hash,
            revision: revision.filter(|_| !is_batch),
            entry: report.entry,
            unchanged,
            merged: report.steps.iter().any(|step| step.merged),
            replayed: report.replayed,
            plan: report.plan,
            documents: report.documents.iter().map(changed_document).collect(),
            edits,
            repaired_links: report.repaired_links,
            broken_links: report
                .broken_links
                .into_iter()
                .map(BrokenLinkEntry::from)
                .collect(),
            broken_links_more: report.broken_links_more,
            changed_since: report.changed_since,
            rescued: report.rescued,
        };
        (written, facts)
    }
}

fn changed_document(report: &DocumentReport) -> ChangedDocument {
    ChangedDocument {
        path: report.path.clone(),
        revision: report.revision,
        document_hash: report.hash.as_ref().map(short_hash),
        diff: report.diff.clone(),
        diff_truncated: report.diff_truncated,
    }
}

/// The author of a change, as the history names it.
pub(super) fn actor(context: &CallContext) -> String {
    const SHOWN: usize = 100;
    let name = context.client.as_deref().unwrap_or("unnamed client");
    let readable = name.chars().filter(|c| !c.is_control());
    readable.take(SHOWN).collect()
}
