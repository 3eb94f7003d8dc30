//! `create_document`: a new document.

use schemars::JsonSchema;
use sectile_vault::editor::{CreateDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    errors::bad_arguments,
    params::{WriteOptions, naming_schema},
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

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// Text of the document.
    #[serde(default)]
    content: String,
    #[serde(flatten)]
    options: WriteOptions,
}

fn planned(world: &EditorWorld, params: Params, _: &CallContext) -> Result<Write, Failure> {
    let path = params
        .options
        .path
        .as_deref()
        .ok_or_else(|| bad_arguments("Invalid arguments: path is required."))?;
    let operation = Operation::CreateDocument(CreateDocument {
        path: world.path(path)?,
        content: params.content,
    });
    Ok(Write::new("create_document", "Document created.", operation).with(params.options))
}
