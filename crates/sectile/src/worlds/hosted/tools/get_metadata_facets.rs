//! `get_metadata_facets`: the few front matter keys of one note that may be known.

use sectile_markdown::Note;
use std::borrow::Cow;

use super::super::Hosted;
use crate::{
    mcp::{Access, Facts, Handler, Pace, Tool, input_schema, output_schema},
    structure::{MetadataFacets, NoteParams, TooLong},
};

pub(super) const TOOL: Tool<Hosted> = Tool {
    name: Cow::Borrowed("get_metadata_facets"),
    title: "Get metadata facets",
    description: "Return bounded body-free MetadataFacets v0 for one note.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Slow,
    input: input_schema::<NoteParams>,
    output: output_schema::<MetadataFacets>,
    handler: Handler::Waiting(|hosted, arguments, context| hosted.answer(arguments, context, view)),
};

fn view(note: &Note<'_>) -> Result<(MetadataFacets, Facts), TooLong> {
    let facets = MetadataFacets::of(note);
    let facts = Facts {
        sections: None,
        truncated: facets.truncated,
        ..Facts::default()
    };
    Ok((facets, facts))
}
