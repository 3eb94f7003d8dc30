//! `rename_document`: another path for a document, and the links to it.

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, RenameDocument};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    params::{EditArguments, WriteOptions, closed_schema},
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "rename_document",
        "Rename document",
        "Move a document to another path. Section ids stay, and links to it and in it are repaired in the same step.",
    )
    .input(closed_schema::<Params>);
    write_tool(tool, planned)
}

/// What an edit of `apply_edits` takes as well.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RenameDocumentArguments {
    /// The new path, relative to the folder.
    new_path: String,
    /// Repair links to the document and in it.
    #[serde(default = "yes")]
    repair_links: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    #[serde(flatten)]
    edit: RenameDocumentArguments,
    #[serde(flatten)]
    options: WriteOptions,
}

fn yes() -> bool {
    true
}

impl EditArguments for RenameDocumentArguments {
    const TOOL: &'static str = "rename_document";
    const DONE: &'static str = "Document renamed.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        Ok(Operation::RenameDocument(RenameDocument {
            path: world.named_document(path, context)?,
            new_path: world.path(&self.new_path)?,
            repair_links: self.repair_links,
        }))
    }
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    params.edit.write(world, params.options, context)
}
