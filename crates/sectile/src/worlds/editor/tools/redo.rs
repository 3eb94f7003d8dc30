//! `redo`: makes an undone change again.

use std::borrow::Cow;

use super::{
    super::{EditorWorld, answers::Written},
    taking_back::{schema, take_back},
};
use crate::mcp::{Access, Handler, Pace, Tool, output_schema};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("redo"),
    title: "Redo",
    description: "Make again what `undo` took back last, or the undone entry that is named.",
    access: Access::Write,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: schema,
    output: output_schema::<Written>,
    handler: Handler::Blocking(|world, arguments, context| {
        take_back(world, arguments, context, true, "Redo successful.")
    }),
};
