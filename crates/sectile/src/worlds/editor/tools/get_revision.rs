//! `get_revision`: reads an earlier version of a document.

use schemars::JsonSchema;
use sectile_markdown::Digest;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::{page, short_hash};
use serde::{Deserialize, Serialize};

use super::super::{
    EditorWorld,
    errors::CallSubject,
    paging::{Cursor, TextPart},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::read(
        "get_revision",
        "Get revision",
        "Read a document as it was after an entry of its history; entry 0 is before the first. Long text comes in pages with partial: true.",
    )
    .call(handle)
}

/// Advice for a page of a document.
const ADVICE: &str = "Do not mistake it for the whole text.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetRevisionParams {
    /// Number of the entry.
    entry: u64,
    /// Path of the document, relative to the folder.
    path: Option<String>,
    /// next_cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RevisionText {
    /// The text at that time; absent if the document did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    /// Path of the document at that time.
    path: String,
    entry: u64,
    document_hash: String,
    /// Length of the whole document in bytes.
    total_bytes: usize,
    /// document is only a part of the text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    /// With partial: what this is a part of, and how to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// With partial: where document starts in the text, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    /// There are more pages: call again with this as cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn handle(
    world: &EditorWorld,
    params: GetRevisionParams,
    context: &CallContext,
) -> Result<(RevisionText, AnswerFacts), Failure> {
    let path = world.named_document(params.path.as_deref(), context)?;
    let revision = world
        .editor
        .revision(&path, params.entry)
        .map_err(|error| {
            let about = CallSubject::document(&path, context).entry(Some(params.entry));
            world.failure(&error, &about)
        })?;
    let bytes = revision.bytes.as_deref().unwrap_or_default();
    let digest = Digest::of(bytes);
    let cursor = Cursor::read(params.cursor.as_deref(), &digest)?;
    let text = String::from_utf8_lossy(bytes);
    let (part, next) = page(&text, cursor.offset, world.max_answer_bytes);
    let cut = TextPart::of(part, cursor.offset, text.len());
    let facts = AnswerFacts {
        sections: None,
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let answer = RevisionText {
        document: revision.bytes.as_ref().map(|_| part.to_owned()),
        path: revision.path,
        entry: params.entry,
        document_hash: short_hash(&digest),
        total_bytes: bytes.len(),
        partial: cut.is_some(),
        note: cut.as_ref().map(|cut| cut.note("document", ADVICE)),
        offset: cut.as_ref().map(|cut| cut.offset),
        next_cursor: next.map(|offset| cursor.at(offset)),
    };
    Ok((answer, facts))
}
