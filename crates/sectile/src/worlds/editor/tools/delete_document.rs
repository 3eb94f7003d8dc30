//! `delete_document`: deletes a document.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{DeleteDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{PendingWrite, write_tool},
    errors::bad_arguments,
    params::{EditArguments, WriteOptions, naming_schema},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::destructive(
        DeleteDocumentArguments::TOOL,
        "Delete document",
        "Delete a document. `undo` with its entry brings it back with all its section ids.",
    )
    .input(naming_schema::<DeleteDocumentParams>);
    write_tool(tool, planned)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DeleteDocumentArguments {
    /// document_hash that you read: the document is deleted only if it has not changed since.
    expected_hash: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DeleteDocumentParams {
    #[serde(flatten)]
    edit: DeleteDocumentArguments,
    /// Confirm a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

impl EditArguments for DeleteDocumentArguments {
    const TOOL: &'static str = "delete_document";
    const DONE: &'static str = "Document deleted.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        _: &CallContext,
    ) -> Result<Operation, Failure> {
        // Deleting the document that happens to be open would be too easy.
        let path = path.ok_or_else(|| bad_arguments("Invalid arguments: path is required."))?;
        Ok(Operation::DeleteDocument(DeleteDocument {
            path: world.path(path)?,
            expected_hash: self.expected_hash,
        }))
    }
}

fn planned(
    world: &EditorWorld,
    params: DeleteDocumentParams,
    context: &CallContext,
) -> Result<PendingWrite, Failure> {
    let write = params.edit.write(world, params.options, context)?;
    Ok(write.confirmed(params.confirm))
}
