//! `delete_section`: deletes a section with everything below it.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{DeleteSection, Operation};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{PendingWrite, write_tool},
    params::{EditArguments, WriteOptions, closed_schema, section},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::destructive(
        DeleteSectionArguments::TOOL,
        "Delete section",
        "Delete a section and all its subsections, by section_id or by a unique heading. `undo` brings it back.",
    )
    .input(closed_schema::<DeleteSectionParams>);
    write_tool(tool, planned)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DeleteSectionArguments {
    /// The section. Or give heading.
    section_id: Option<String>,
    /// Heading of the section, as list_sections shows it or as it is written, if it is unique.
    heading: Option<String>,
    /// subtree_hash that you read: the section is deleted only if it has not changed since.
    expected_hash: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct DeleteSectionParams {
    #[serde(flatten)]
    edit: DeleteSectionArguments,
    /// Confirm a deletion that is larger than the configured size.
    #[serde(default)]
    confirm: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

impl EditArguments for DeleteSectionArguments {
    const TOOL: &'static str = "delete_section";
    const DONE: &'static str = "Section deleted.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::Delete(DeleteSection {
            path: world.document_unless_id(path, self.section_id.as_deref(), context)?,
            section: section(self.section_id, self.heading),
            expected_hash: self.expected_hash,
        }))
    }
}

fn planned(
    world: &EditorWorld,
    params: DeleteSectionParams,
    context: &CallContext,
) -> Result<PendingWrite, Failure> {
    let write = params.edit.write(world, params.options, context)?;
    Ok(write.confirmed(params.confirm))
}
