//! `get_note_outline`: the headings of one note as a flat list.

use std::borrow::Cow;

use super::super::{Vault, too_long};
use crate::{
    mcp::{
        Access, CallContext, Facts, Failure, Handler, Pace, Tool, input_schema, output_schema, run,
    },
    structure::{NoteOutline, NoteParams},
};

pub(super) const TOOL: Tool<Vault> = Tool {
    name: Cow::Borrowed("get_note_outline"),
    title: "Get note outline",
    description: "Return a derived Markdown heading outline for one note without body text.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Quick,
    input: input_schema::<NoteParams>,
    output: output_schema::<NoteOutline>,
    handler: Handler::Blocking(|vault, arguments, context| run(vault, arguments, context, handle)),
};

fn handle(
    vault: &Vault,
    params: NoteParams,
    context: &CallContext,
) -> Result<(NoteOutline, Facts), Failure> {
    let outline = vault.view(&params, context, |note| {
        NoteOutline::of(note).map_err(too_long)
    })?;
    let facts = Facts {
        sections: Some(outline.headings.len()),
        truncated: outline.truncated,
        ..Facts::default()
    };
    Ok((outline, facts))
}
