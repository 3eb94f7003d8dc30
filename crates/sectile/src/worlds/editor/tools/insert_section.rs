//! `insert_section`: a new section.

use schemars::JsonSchema;
use sectile_vault::editor::{InsertSection, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, inserted_schema, write_tool},
    params::{HeadingsWord, PlaceWord, WriteOptions, at, closed_schema},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "insert_section",
        "Insert section",
        "Insert a new section at a position or next to another section. The answer has its section_id. Without level, it takes the level of the section now at that place; an insert that would give another section a new parent is refused.",
    )
    .input(closed_schema::<Params>)
    .output(inserted_schema);
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// Heading in one line, without # marks.
    heading: String,
    /// Text below the heading. Blank lines around it are taken care of.
    content: String,
    /// 0-based index in the list of sections: 0 is before the first, their number is the end.
    position: Option<u64>,
    /// Instead of position: where the section goes, seen from the anchor.
    place: Option<PlaceWord>,
    /// section_id that place speaks of.
    anchor: Option<String>,
    /// 1 to 6, if not the level that the place suggests.
    #[schemars(range(min = 1, max = 6))]
    level: Option<u8>,
    /// What to do with headings in content.
    #[serde(default)]
    headings: HeadingsWord,
    #[serde(flatten)]
    options: WriteOptions,
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    let operation = Operation::Insert(InsertSection {
        path: world.document_unless_id(&params.options, params.anchor.as_deref(), context)?,
        heading: params.heading,
        content: params.content,
        at: at(params.position, params.place, params.anchor, "position")?,
        level: params.level,
        headings: params.headings.into(),
        label: None,
    });
    Ok(Write::new("insert_section", "Section inserted.", operation).with(params.options))
}
