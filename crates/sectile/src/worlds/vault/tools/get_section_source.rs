//! `get_section_source`: every section of one note, without its text.

use std::borrow::Cow;

use super::super::{Vault, too_long};
use crate::{
    mcp::{
        Access, CallContext, Facts, Failure, Handler, Pace, Tool, input_schema, output_schema, run,
    },
    structure::{NoteParams, SectionSource},
};

pub(super) const TOOL: Tool<Vault> = Tool {
    name: Cow::Borrowed("get_section_source"),
    title: "Get section source",
    description: "Return body-free SectionSource v0 metadata for one note.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Quick,
    input: input_schema::<NoteParams>,
    output: output_schema::<SectionSource>,
    handler: Handler::Blocking(|vault, arguments, context| run(vault, arguments, context, handle)),
};

fn handle(
    vault: &Vault,
    params: NoteParams,
    context: &CallContext,
) -> Result<(SectionSource, Facts), Failure> {
    let source = vault.view(&params, context, |note| {
        SectionSource::of(note).map_err(too_long)
    })?;
    let facts = Facts {
        sections: Some(source.sections.len()),
        truncated: source.truncated,
        ..Facts::default()
    };
    Ok((source, facts))
}
