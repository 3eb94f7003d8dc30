//! `get_section_source`: every section of one note, without its text.

use sectile_markdown::Note;
use std::borrow::Cow;

use super::super::Hosted;
use crate::{
    mcp::{Access, Facts, Handler, Pace, Tool, input_schema, output_schema},
    structure::{NoteParams, SectionSource, TooLong},
};

pub(super) const TOOL: Tool<Hosted> = Tool {
    name: Cow::Borrowed("get_section_source"),
    title: "Get section source",
    description: "Return body-free SectionSource v0 metadata for one note.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Slow,
    input: input_schema::<NoteParams>,
    output: output_schema::<SectionSource>,
    handler: Handler::Waiting(|hosted, arguments, context| hosted.answer(arguments, context, view)),
};

fn view(note: &Note<'_>) -> Result<(SectionSource, Facts), TooLong> {
    let source = SectionSource::of(note)?;
    let facts = Facts {
        sections: Some(source.sections.len()),
        truncated: source.truncated,
        ..Facts::default()
    };
    Ok((source, facts))
}
