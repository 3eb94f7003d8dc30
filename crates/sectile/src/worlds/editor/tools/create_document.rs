//! `create_document`: a new document.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::{CreateDocument, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, Written, write_as},
    errors::bad_arguments,
    params::{EditArguments, WriteOptions, naming_schema},
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
