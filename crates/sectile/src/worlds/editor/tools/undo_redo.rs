//! The implementation that `undo` and `redo` share.

use schemars::JsonSchema;
use sectile_mcp::{
    Answer, AnswerFacts, CallContext, Failure, JsonObject, Tool, ToolBuilder, decode,
};
use sectile_vault::editor::UndoRequest;
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{WriteAnswer, actor},
    params::{WriteOptions, closed_schema},
};
use crate::worlds::arguments_digest;

#[derive(Debug, Deserialize, JsonSchema)]
struct UndoParams {
    /// History entry, if not the last one.
    entry: Option<u64>,
    #[serde(flatten)]
    options: WriteOptions,
}

/// The schema of the arguments. An undo or redo has no plan.
fn schema() -> JsonObject {
    let mut schema = closed_schema::<UndoParams>();
    let dry_run = schema
        .get_mut("properties")
        .and_then(|all| all.get_mut("dry_run"));
    if let Some(dry_run) = dry_run {
        dry_run["description"] = "Write nothing; return the diff.".into();
    }
    schema
}

/// Finishes `undo` or `redo`.
pub(super) fn take_back(
    tool: ToolBuilder<EditorWorld>,
    redo: bool,
    message: &'static str,
) -> Tool<EditorWorld> {
    let tool = tool.input(schema);
    tool.call_raw::<UndoParams, WriteAnswer>(move |world, arguments, context| {
        let digest = arguments_digest(&arguments);
        let params = decode(arguments)?;
        let (output, facts) = handle(world, params, context, (redo, digest), message)?;
        Answer::new(&output, facts)
    })
}

fn handle(
    world: &EditorWorld,
    params: UndoParams,
    context: &CallContext,
    (redo, digest): (bool, String),
    message: &'static str,
) -> Result<(WriteAnswer, AnswerFacts), Failure> {
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
    let name = if redo { "redo" } else { "undo" };
    let request = UndoRequest {
        path,
        entry: params.entry,
        redo,
        actor: actor(context),
        reason: params.options.reason,
        request: params
            .options
            .request_id
            .map(|id| (id, format!("{name} {digest}"))),
        dry_run: params.options.dry_run,
    };
    world.undo(&request, message, context)
}
