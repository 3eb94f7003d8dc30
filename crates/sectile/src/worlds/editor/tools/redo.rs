//! `redo`: makes an undone change again.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::UndoRequest;
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Written, actor, arguments_digest},
    params::{WriteOptions, closed_schema},
};
use crate::mcp::{Access, CallContext, Facts, Failure, Pace, Tool, output_schema, run};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("redo"),
    title: "Redo",
    description: "Make again what undo took back last, or the undone entry that is named.",
    access: Access::Write,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: closed_schema::<Params>,
    output: output_schema::<Written>,
    handler: |world, arguments, context| {
        let digest = arguments_digest("redo", &arguments);
        run(world, arguments, context, |world, params, context| {
            handle(world, params, digest, context)
        })
    },
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// Entry of the history, if not the last one.
    entry: Option<u64>,
    #[serde(flatten)]
    options: WriteOptions,
}

fn handle(
    world: &EditorWorld,
    params: Params,
    digest: String,
    context: &CallContext,
) -> Result<(Written, Facts), Failure> {
    let path = match params.entry {
        // An entry says which documents it is about.
        Some(_) => params
            .options
            .path
            .as_deref()
            .map(|path| world.path(path))
            .transpose()?,
        None => Some(world.named_document(params.options.path.as_deref(), context)?),
    };
    let request = UndoRequest {
        path,
        entry: params.entry,
        redo: true,
        actor: actor(context),
        reason: params.options.reason,
        request: params.options.request_id.map(|id| (id, digest)),
        dry_run: params.options.dry_run,
    };
    world.undo(&request, "Redo successful.", context)
}
