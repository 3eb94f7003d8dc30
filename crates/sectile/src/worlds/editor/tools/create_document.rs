//! `create_document`: a new document.

use schemars::JsonSchema;
use sectile_vault::editor::{CreateDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    errors::bad_arguments,
    params::{EditArguments, WriteOptions, naming_schema},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "create_document",
        "Create document",
        "Make a new Markdown document with the given text. Folders above it are made; a document that exists is never overwritten.",
    )
    .input(naming_schema::<Params>);
    write_tool(tool, planned)
}

/// What an edit of `apply_edits` takes as well.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateDocumentArguments {
    /// Text of the document.
    #[serde(default)]
    content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    #[serde(flatten)]
    edit: CreateDocumentArguments,
    #[serde(flatten)]
    options: WriteOptions,
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

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    params.edit.write(world, params.options, context)
}
