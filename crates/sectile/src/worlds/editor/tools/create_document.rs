//! `create_document`: a new document.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::Operation;
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, Written, arguments_digest},
    errors::bad_arguments,
    params::{WriteOptions, closed_schema},
};
use crate::mcp::{Access, CallContext, Facts, Failure, Pace, Tool, output_schema, run};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("create_document"),
    title: "Create document",
    description: "Make a new Markdown document with the given text. Folders above it are made; a document that exists is never overwritten.",
    access: Access::Write,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: closed_schema::<Params>,
    output: output_schema::<Written>,
    handler: |world, arguments, context| {
        let digest = arguments_digest("create_document", &arguments);
        run(world, arguments, context, |world, params, context| {
            handle(world, params, digest, context)
        })
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// Text of the document.
    #[serde(default)]
    content: String,
    #[serde(flatten)]
    options: WriteOptions,
}

fn handle(
    world: &EditorWorld,
    params: Params,
    digest: String,
    context: &CallContext,
) -> Result<(Written, Facts), Failure> {
    let path = params
        .options
        .path
        .as_deref()
        .ok_or_else(|| bad_arguments("Invalid arguments: path is required."))?;
    let operation = Operation::CreateDocument {
        path: world.path(path)?,
        content: params.content,
    };
    let write = Write::new("create_document", "Document created.", operation);
    world.write(write, params.options, digest, context)
}
