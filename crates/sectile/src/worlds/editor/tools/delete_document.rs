//! `delete_document`: a document goes.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::{DeleteDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, Written, write_as},
    errors::bad_arguments,
    params::{WriteOptions, naming_schema},
};
use crate::mcp::{Access, CallContext, Failure, Handler, Pace, Tool, output_schema};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("delete_document"),
    title: "Delete document",
    description: "Delete a document. `undo` with its entry brings it back with all its section ids.",
    access: Access::Destructive,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: naming_schema::<Params>,
    output: output_schema::<Written>,
    handler: Handler::Blocking(|world, arguments, context| {
        write_as(world, arguments, context, planned)
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// document_hash that you read: the document is deleted only if it still is what you saw.
    expected_hash: Option<String>,
    /// Agree to a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

fn planned(world: &EditorWorld, params: Params, _: &CallContext) -> Result<Write, Failure> {
    // Deleting whatever happens to be open would be too easy.
    let path = params
        .options
        .path
        .as_deref()
        .ok_or_else(|| bad_arguments("Invalid arguments: path is required."))?;
    let operation = Operation::DeleteDocument(DeleteDocument {
        path: world.path(path)?,
        expected_hash: params.expected_hash,
    });
    Ok(
        Write::new("delete_document", "Document deleted.", operation)
            .confirmed(params.confirm)
            .with(params.options),
    )
}
