//! `rename_section`: another heading for a section, and the links to it.

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, RenameSection};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    params::{EditArguments, WriteOptions, closed_schema, section},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "rename_section",
        "Rename section",
        "Change the heading of a section, and its level if wanted. Links to it (#anchors and [[wiki#links]]) are repaired in all documents in the same step; one `undo` takes all of it back.",
    )
    .input(closed_schema::<Params>);
    write_tool(tool, planned)
}

/// What an edit of `apply_edits` takes as well.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RenameSectionArguments {
    /// The section.
    section_id: String,
    /// The new heading in one line, without # marks.
    heading: String,
    /// Another level, 1 to 6; subsections follow.
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    /// Repair links to the section in all documents.
    #[serde(default = "yes")]
    repair_links: bool,
    /// hash of the own text that you read.
    expected_hash: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    #[serde(flatten)]
    edit: RenameSectionArguments,
    #[serde(flatten)]
    options: WriteOptions,
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

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    params.edit.write(world, params.options, context)
}
