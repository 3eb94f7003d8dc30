//! `apply_plan`: writes exactly what a dry run showed.

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use sectile_vault::editor::{CallHooks, EditorError};
use serde::Deserialize;

use super::super::{EditorWorld, answers::WriteAnswer, errors::CallSubject};

pub(super) fn tool() -> Tool<EditorWorld> {
    Tool::destructive(
        "apply_plan",
        "Apply plan",
        "Write exactly the bytes that a dry run showed, or fail if a document has changed since.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyPlanParams {
    /// The plan that a call with dry_run returned.
    plan: String,
    /// Confirm a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
}

fn handle(
    world: &EditorWorld,
    params: ApplyPlanParams,
    context: &CallContext,
) -> Result<(WriteAnswer, AnswerFacts), Failure> {
    let stop = || context.cancelled.is_cancelled();
    let apply = |confirm| {
        world
            .editor
            .apply_plan(&params.plan, confirm, CallHooks::until(&stop))
    };
    let mut result = apply(params.confirm);
    if let Err(EditorError::NotConfirmed { bytes }) = &result
        && world.is_confirmed(*bytes, context)
    {
        result = apply(true);
    }
    let report = result.map_err(|error| world.failure(&error, &CallSubject::default()))?;
    Ok(world.written(report, "Plan applied.", false))
}
