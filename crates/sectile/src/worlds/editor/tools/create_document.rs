//! `create_document`: a new document.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::{CreateDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, Written, write_as},
    errors::bad_arguments,
    params::{WriteOptions, naming_schema},
};
use crate::mcp::{Access, CallContext, Failure, Handler, Pace, Tool, output_schema};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("create_document"),
    title: "Create document",
    description: "Make a new Markdown document with the given text. Folders above it are made; a document that exists is never overwritten.",
    access: Access::Write,
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
