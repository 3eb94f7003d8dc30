//! `get_note_outline`: the headings of one note as a flat list.

use sectile_markdown::Note;
use std::borrow::Cow;

use super::super::Hosted;
use crate::{
    mcp::{Access, Facts, Handler, Pace, Tool, input_schema, output_schema},
    structure::{NoteOutline, NoteParams, TooLong},
};

pub(super) const TOOL: Tool<Hosted> = Tool {
    name: Cow::Borrowed("get_note_outline"),
    title: "Get note outline",
    description: "Return a derived Markdown heading outline for one note without body text.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Slow,
    input: input_schema::<NoteParams>,
    output: output_schema::<NoteOutline>,
    handler: Handler::Waiting(|hosted, arguments, context| hosted.answer(arguments, context, view)),
};

fn view(note: &Note<'_>) -> Result<(NoteOutline, Facts), TooLong> {
    let outline = NoteOutline::of(note)?;
    let facts = Facts {
        sections: Some(outline.headings.len()),
        truncated: outline.truncated,
        ..Facts::default()
    };
    Ok((outline, facts))
}
