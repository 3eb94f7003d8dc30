//! `apply_plan`: writes exactly what a dry run showed.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::{EditorError, Watch};
use serde::Deserialize;

use super::super::{EditorWorld, answers::Written, errors::About};
use crate::mcp::{
    Access, CallContext, Facts, Failure, Handler, Pace, Tool, input_schema, output_schema, run,
};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("apply_plan"),
    title: "Apply plan",
    description: "Write exactly the bytes that a dry run showed, or fail if a document has changed since.",
    access: Access::Destructive,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: input_schema::<Params>,
    output: output_schema::<Written>,
    handler: Handler::Blocking(|world, arguments, context| run(world, arguments, context, handle)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The plan that a call with dry_run answered.
    plan: String,
    /// Agree to a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
}

fn handle(
    world: &EditorWorld,
    params: Params,
    context: &CallContext,
) -> Result<(Written, Facts), Failure> {
    let stop = || context.cancelled.is_cancelled();
    let apply = |confirm| {
        world
            .editor
            .apply_plan(&params.plan, confirm, Watch::until(&stop))
    };
    let mut result = apply(params.confirm);
    if let Err(EditorError::NotConfirmed { bytes }) = &result
        && world.is_confirmed(*bytes, context)
    {
        result = apply(true);
    }
    let report = result.map_err(|error| world.failure(&error, &About::default()))?;
    Ok(world.written(report, "Plan applied.", false))
}
