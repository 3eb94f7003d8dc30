//! `move_section`: moves a section with everything below it.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{MoveSection, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    params::{EditArguments, EditParams, PlaceWord, at, closed_schema, section},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        MoveSectionArguments::TOOL,
        "Move section",
        "Move a section with its subsections to another position, next to another section, or into another document. Levels adapt to the new position, ids stay, and links are repaired if the document changes.",
    )
    .input(closed_schema::<EditParams<MoveSectionArguments>>);
    edit_tool::<MoveSectionArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MoveSectionArguments {
    /// The section.
    section_id: String,
    /// Index of the section after the move.
    new_position: Option<u64>,
    /// Instead of new_position: the place of the section relative to the anchor.
    place: Option<PlaceWord>,
    /// section_id that place refers to; may be in another document.
    anchor: Option<String>,
    /// Document to move it to, if not the same.
    to_path: Option<String>,
    /// 1 to 6, if not the level that the position suggests.
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    /// subtree_hash that you read. A section that has changed since is moved as it is now, and the answer has merged: true.
    expected_hash: Option<String>,
}

impl EditArguments for MoveSectionArguments {
    const TOOL: &'static str = "move_section";
    const DONE: &'static str = "Section moved.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::Move(MoveSection {
            path: world.document_unless_id(path, Some(&self.section_id), context)?,
            section: section(Some(self.section_id), None),
            at: at(self.new_position, self.place, self.anchor, "new_position")?,
            to: self.to_path.map(|path| world.path(&path)).transpose()?,
            level: self.level,
            expected_hash: self.expected_hash,
        }))
    }
}
