//! `get_document_tree`: the headings of one note as a tree.

use sectile_markdown::Note;
use std::borrow::Cow;

use super::super::Hosted;
use crate::{
    mcp::{Access, Facts, Handler, Pace, Tool, input_schema, output_schema},
    structure::{DocumentTree, NoteParams, TooLong},
};

pub(super) const TOOL: Tool<Hosted> = Tool {
    name: Cow::Borrowed("get_document_tree"),
    title: "Get document tree",
    description: "Return a derived nested Markdown heading tree for one note without body text.",
    access: Access::Read,
    idempotent: true,
    open_world: false,
    pace: Pace::Slow,
    input: input_schema::<NoteParams>,
    output: output_schema::<DocumentTree>,
    handler: Handler::Waiting(|hosted, arguments, context| hosted.answer(arguments, context, view)),
};

fn view(note: &Note<'_>) -> Result<(DocumentTree, Facts), TooLong> {
    let tree = DocumentTree::of(note)?;
    let facts = Facts {
        sections: Some(tree.heading_count()),
        truncated: tree.truncated,
        ..Facts::default()
    };
    Ok((tree, facts))
}
