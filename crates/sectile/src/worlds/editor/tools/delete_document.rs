//! `delete_document`: a document goes.

use schemars::JsonSchema;
use sectile_vault::editor::{DeleteDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    errors::bad_arguments,
    params::{WriteOptions, naming_schema},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::destructive(
        "delete_document",
        "Delete document",
        "Delete a document. `undo` with its entry brings it back with all its section ids.",
    )
    .input(naming_schema::<Params>);
    write_tool(tool, planned)
}

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
