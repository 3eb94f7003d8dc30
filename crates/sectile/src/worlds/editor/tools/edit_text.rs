//! `edit_text`: other words for the same passage.

use schemars::JsonSchema;
use sectile_vault::editor::{EditText, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    params::{ScopeWord, WriteOptions, closed_schema, section},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "edit_text",
        "Edit text",
        "Replace a passage inside a section by another. old_text must occur exactly expected_count times there (once unless you say otherwise), so it can never hit the wrong place.",
    )
    .input(closed_schema::<Params>);
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// What is there now, exactly.
    old_text: String,
    /// What shall be there.
    new_text: String,
    /// The section; without one, the whole document but its front matter.
    section_id: Option<String>,
    /// How often old_text must occur; all are replaced.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10_000))]
    expected_count: usize,
    /// body: the section's own text. subtree: with its subsections.
    #[serde(default)]
    scope: ScopeWord,
    /// hash that you read (subtree_hash for scope subtree). Without a section_id, document_hash: the text is edited only
    /// if the document still is what you saw.
    expected_hash: Option<String>,
    #[serde(flatten)]
    options: WriteOptions,
}

fn once() -> usize {
    1
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    let operation = Operation::EditText(EditText {
        path: world.document_unless_id(&params.options, params.section_id.as_deref(), context)?,
        section: params.section_id.map(|id| section(Some(id), None)),
        old_text: params.old_text,
        new_text: params.new_text,
        expected_count: params.expected_count,
        scope: params.scope.into(),
        expected_hash: params.expected_hash,
    });
    Ok(Write::new("edit_text", "Text edited.", operation).with(params.options))
}
