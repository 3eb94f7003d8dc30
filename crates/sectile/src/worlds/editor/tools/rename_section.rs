//! `rename_section`: another heading for a section, and the links to it.

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, RenameSection};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    params::{WriteOptions, closed_schema, section},
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

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
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
    #[serde(flatten)]
    options: WriteOptions,
}

fn yes() -> bool {
    true
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    let operation = Operation::Rename(RenameSection {
        path: world.document_unless_id(&params.options, Some(&params.section_id), context)?,
        section: section(Some(params.section_id), None),
        heading: params.heading,
        level: params.level,
        repair_links: params.repair_links,
        expected_hash: params.expected_hash,
    });
    Ok(Write::new("rename_section", "Section renamed.", operation).with(params.options))
}
