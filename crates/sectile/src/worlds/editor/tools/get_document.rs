//! `get_document`: the whole text of a document.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::short_hash;
use serde::{Deserialize, Serialize};

use super::super::{
    EditorWorld,
    paging::{Cursor, page},
};
use crate::mcp::{
    Access, CallContext, Facts, Failure, Handler, Pace, Tool, input_schema, output_schema, run,
};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("get_document"),
    title: "Get document",
    description: "Read a whole document as Markdown, front matter included. Long documents come in pages; prefer list_sections and get_section.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Slow,
    input: input_schema::<Params>,
    output: output_schema::<DocumentText>,
    handler: Handler::Blocking(|world, arguments, context| run(world, arguments, context, handle)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Document, relative to the folder.
    path: Option<String>,
    /// next_cursor of an answer that was cut.
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
    /// document is not all of it: call again with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn handle(
    world: &EditorWorld,
    params: Params,
    context: &CallContext,
) -> Result<(DocumentText, Facts), Failure> {
    let path = world.named_document(params.path.as_deref(), context)?;
    let view = world
        .editor
        .view(&path)
        .map_err(|error| world.failure(&error))?;
    let cursor = Cursor::read(params.cursor.as_deref(), view.hash())?;
    let text = String::from_utf8_lossy(view.bytes());
    let (part, next) = page(&text, cursor.offset, world.max_answer_bytes);
    let facts = Facts {
        sections: None,
        truncated: next.is_some(),
        ..Facts::default()
    };
    let document = DocumentText {
        document: part.to_owned(),
        path: view.path().as_str().to_owned(),
        revision: view.revision(),
        document_hash: short_hash(view.hash()),
        total_bytes: view.bytes().len(),
        next_cursor: next.map(|offset| cursor.at(offset)),
    };
    Ok((document, facts))
}
