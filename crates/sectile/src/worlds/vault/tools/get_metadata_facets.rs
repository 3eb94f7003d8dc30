//! `get_metadata_facets`: the few front matter keys of one note that may be known.

use std::borrow::Cow;

use super::super::Vault;
use crate::{
    mcp::{
        Access, CallContext, Facts, Failure, Handler, Pace, Tool, input_schema, output_schema, run,
    },
    structure::{MetadataFacets, NoteParams},
};

pub(super) const TOOL: Tool<Vault> = Tool {
    name: Cow::Borrowed("get_metadata_facets"),
    title: "Get metadata facets",
    description: "Return bounded body-free MetadataFacets v0 for one note.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Quick,
    input: input_schema::<NoteParams>,
    output: output_schema::<MetadataFacets>,
    handler: Handler::Blocking(|vault, arguments, context| run(vault, arguments, context, handle)),
};

fn handle(
    vault: &Vault,
    params: NoteParams,
    context: &CallContext,
) -> Result<(MetadataFacets, Facts), Failure> {
    let facets = vault.view(&params, context, |note| Ok(MetadataFacets::of(note)))?;
    let facts = Facts {
        sections: None,
        truncated: facets.truncated,
        ..Facts::default()
    };
    Ok((facets, facts))
}
