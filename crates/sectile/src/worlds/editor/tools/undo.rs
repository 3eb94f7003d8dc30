//! `undo`: takes back a change.

use std::borrow::Cow;

use super::{
    super::{EditorWorld, answers::Written},
    taking_back::{schema, take_back},
};
use crate::mcp::{Access, Handler, Pace, Tool, output_schema};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("undo"),
    title: "Undo",
    description: "Take back the last change of a document, or any entry of its history that later changes do not overlap. Works after restarts; edits by other programs are never overwritten.",
    access: Access::Write,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: schema,
    output: output_schema::<Written>,
    handler: Handler::Blocking(|world, arguments, context| {
        take_back(world, arguments, context, false, "Undo successful.")
    }),
};
