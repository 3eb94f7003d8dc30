//! `rename_section`: changes the heading of a section and repairs links to it.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{Operation, RenameSection};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    params::{EditArguments, EditParams, closed_schema, section},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        RenameSectionArguments::TOOL,
        "Rename section",
        "Change the heading of a section, and optionally its level. Links to it (#anchors and [[wiki#links]]) are repaired in all documents in the same step; one `undo` reverts all of it.",
    )
    .input(closed_schema::<EditParams<RenameSectionArguments>>);
    edit_tool::<RenameSectionArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RenameSectionArguments {
    /// The section.
    section_id: String,
    /// The new heading on one line, without # marks.
    heading: String,
    /// New level, 1 to 6; subsections follow.
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    /// Repair links to the section in all documents.
    #[serde(default = "yes")]
    repair_links: bool,
    /// hash of the section's own text that you read.
    expected_hash: Option<String>,
}

fn yes() -> bool {
    true
}

impl EditArguments for RenameSectionArguments {
    const TOOL: &'static str = "rename_section";
    const DONE: &'static str = "Section renamed.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::Rename(RenameSection {
            path: world.document_unless_id(path, Some(&self.section_id), context)?,
            section: section(Some(self.section_id), None),
            heading: self.heading,
            level: self.level,
            repair_links: self.repair_links,
            expected_hash: self.expected_hash,
        }))
    }
}
