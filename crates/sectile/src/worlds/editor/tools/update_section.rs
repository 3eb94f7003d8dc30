//! `update_section`: replaces the text of a section.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{Operation, UpdateSection};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    params::{EditArguments, EditParams, HeadingsWord, ScopeWord, closed_schema, section},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        UpdateSectionArguments::TOOL,
        "Update section",
        "Replace the text of a section. Its heading stays, and so do its subsections unless scope is subtree. Writing back what get_section returned changes nothing. A section that get_section returns in pages is replaced only with all of them and whole_hash; edit_text changes a passage of it.",
    )
    .input(closed_schema::<EditParams<UpdateSectionArguments>>);
    edit_tool::<UpdateSectionArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UpdateSectionArguments {
    /// The section.
    section_id: String,
    /// The new text, without the section's own heading.
    content: String,
    /// body: the section's own text. subtree: everything below its heading, subsections included.
    #[serde(default)]
    scope: ScopeWord,
    /// hash that you read (subtree_hash for scope subtree). If the section has changed since, the two changes are merged
    /// where that is clean; otherwise nothing is written and both texts are returned. For a section in pages: whole_hash.
    expected_hash: Option<String>,
    /// What to do with headings in content.
    #[serde(default)]
    headings: HeadingsWord,
}

impl EditArguments for UpdateSectionArguments {
    const TOOL: &'static str = "update_section";
    const DONE: &'static str = "Section updated.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::Update(UpdateSection {
            path: world.document_unless_id(path, Some(&self.section_id), context)?,
            section: section(Some(self.section_id), None),
            content: self.content,
            scope: self.scope.into(),
            headings: self.headings.into(),
            expected_hash: self.expected_hash,
        }))
    }
}
