//! `create_document`: creates a document.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{CreateDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    errors::bad_arguments,
    params::{EditArguments, EditParams, naming_schema},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        CreateDocumentArguments::TOOL,
        "Create document",
        "Create a new Markdown document with the given text. Missing folders are created; an existing document is never overwritten.",
    )
    .input(naming_schema::<EditParams<CreateDocumentArguments>>);
    edit_tool::<CreateDocumentArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateDocumentArguments {
    /// Text of the document.
    #[serde(default)]
    content: String,
}

impl EditArguments for CreateDocumentArguments {
    const TOOL: &'static str = "create_document";
    const DONE: &'static str = "Document created.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        _: &CallContext,
    ) -> Result<Operation, Failure> {
        let path = path.ok_or_else(|| bad_arguments("Invalid arguments: path is required."))?;
        Ok(Operation::CreateDocument(CreateDocument {
            path: world.path(path)?,
            content: self.content,
        }))
    }
}
