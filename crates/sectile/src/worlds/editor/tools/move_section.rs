//! `move_section`: a section goes elsewhere, with all that is below it.

use schemars::JsonSchema;
use sectile_vault::editor::{MoveSection, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    params::{PlaceWord, WriteOptions, at, closed_schema, section},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "move_section",
        "Move section",
        "Move a section with its subsections to another position, next to another section, or into another document. Levels follow the new place, ids stay, links are repaired when the document changes.",
    )
    .input(closed_schema::<Params>);
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
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
    #[serde(flatten)]
    options: WriteOptions,
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    let operation = Operation::Move(MoveSection {
        path: world.document_unless_id(&params.options, Some(&params.section_id), context)?,
        section: section(Some(params.section_id), None),
        at: at(
            params.new_position,
            params.place,
            params.anchor,
            "new_position",
        )?,
        to: params.to_path.map(|path| world.path(&path)).transpose()?,
        level: params.level,
        expected_hash: params.expected_hash,
    });
    Ok(Write::new("move_section", "Section moved.", operation).with(params.options))
}
