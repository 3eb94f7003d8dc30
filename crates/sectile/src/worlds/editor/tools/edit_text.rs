//! `edit_text`: replaces a passage.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{EditText, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    params::{EditArguments, EditParams, ScopeWord, closed_schema, section},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        EditTextArguments::TOOL,
        "Edit text",
        "Replace a passage inside a section. old_text must occur exactly expected_count times there (once by default), so the edit can never hit the wrong place.",
    )
    .input(closed_schema::<EditParams<EditTextArguments>>);
    edit_tool::<EditTextArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EditTextArguments {
    /// The current text, exactly.
    old_text: String,
    /// The text to replace it with.
    new_text: String,
    /// The section; without one, the whole document except its front matter.
    section_id: Option<String>,
    /// How often old_text must occur; all are replaced.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10_000))]
    expected_count: usize,
    /// body: the section's own text. subtree: with its subsections.
    #[serde(default)]
    scope: ScopeWord,
    /// hash that you read (subtree_hash for scope subtree). Without a section_id, document_hash: the text is edited only
    /// if the document has not changed since.
    expected_hash: Option<String>,
}

fn once() -> usize {
    1
}

impl EditArguments for EditTextArguments {
    const TOOL: &'static str = "edit_text";
    const DONE: &'static str = "Text edited.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::EditText(EditText {
            path: world.document_unless_id(path, self.section_id.as_deref(), context)?,
            section: self.section_id.map(|id| section(Some(id), None)),
            old_text: self.old_text,
            new_text: self.new_text,
            expected_count: self.expected_count,
            scope: self.scope.into(),
            expected_hash: self.expected_hash,
        }))
    }
}
