//! `get_document`: reads a whole document.

use schemars::JsonSchema;
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
        "get_document",
        "Get document",
        "Read a whole document as Markdown, front matter included. Long documents come in pages with partial: true; prefer list_sections and get_section.",
    )
    .call(handle)
}

/// Advice for a page of a document.
const ADVICE: &str = "Do not mistake it for the whole text.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetDocumentParams {
    /// Path of the document, relative to the folder.
    path: Option<String>,
    /// next_cursor of the previous page.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DocumentText {
    document: String,
    path: String,
    /// Number of the document's last history entry.
    revision: u64,
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
    params: GetDocumentParams,
    context: &CallContext,
) -> Result<(DocumentText, AnswerFacts), Failure> {
    let path = world.named_document(params.path.as_deref(), context)?;
    let view = world
        .editor
        .view(&path)
        .map_err(|error| world.failure(&error, &CallSubject::document(&path, context)))?;
    let cursor = Cursor::read(params.cursor.as_deref(), view.hash())?;
    let text = String::from_utf8_lossy(view.bytes());
    let (part, next) = page(&text, cursor.offset, world.max_answer_bytes);
    let cut = TextPart::of(part, cursor.offset, text.len());
    let facts = AnswerFacts {
        sections: None,
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let document = DocumentText {
        document: part.to_owned(),
        path: view.path().as_str().to_owned(),
        revision: view.revision(),
        document_hash: short_hash(view.hash()),
        total_bytes: view.bytes().len(),
        partial: cut.is_some(),
        note: cut.as_ref().map(|cut| cut.note("document", ADVICE)),
        offset: cut.as_ref().map(|cut| cut.offset),
        next_cursor: next.map(|offset| cursor.at(offset)),
    };
    Ok((document, facts))
}
