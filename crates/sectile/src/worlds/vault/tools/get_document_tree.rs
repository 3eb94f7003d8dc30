//! `get_document_tree`: the headings of one note as a tree.

use std::borrow::Cow;

use super::super::{Vault, too_long};
use crate::{
    mcp::{
        Access, CallContext, Facts, Failure, Handler, Pace, Tool, input_schema, output_schema, run,
    },
    structure::{DocumentTree, NoteParams},
};

pub(super) const TOOL: Tool<Vault> = Tool {
    name: Cow::Borrowed("get_document_tree"),
    title: "Get document tree",
    description: "Return a derived nested Markdown heading tree for one note without body text.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Quick,
    input: input_schema::<NoteParams>,
    output: output_schema::<DocumentTree>,
    handler: Handler::Blocking(|vault, arguments, context| run(vault, arguments, context, handle)),
};

fn handle(
    vault: &Vault,
    params: NoteParams,
    context: &CallContext,
) -> Result<(DocumentTree, Facts), Failure> {
    let tree = vault.view(&params, context, |note| {
        DocumentTree::of(note).map_err(too_long)
    })?;
    let facts = Facts {
        sections: Some(tree.heading_count()),
        truncated: tree.truncated,
        ..Facts::default()
    };
    Ok((tree, facts))
}
