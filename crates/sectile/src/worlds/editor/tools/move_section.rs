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
        "Move a section with its subsections to another position, next to another section, or into another document. Levels follow the new place, ids stay, links are repaired when the document changes.",
    )
    .input(closed_schema::<EditParams<MoveSectionArguments>>);
    edit_tool::<MoveSectionArguments>(tool)
}

/// What an edit of `apply_edits` takes as well.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MoveSectionArguments {
    /// The section.
    section_id: String,
    /// The index that its heading has after the move.
    new_position: Option<u64>,
    /// Instead of new_position: where the section goes, seen from the anchor.
    place: Option<PlaceWord>,
    /// section_id that place speaks of; may be in another document.
    anchor: Option<String>,
    /// Document to move it to, when it is not the same.
    to_path: Option<String>,
    /// 1 to 6, if not the level that the place suggests.
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    /// subtree_hash that you read. A section that has changed since is moved as it is now, and the answer says merged.
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
