//! `rename_document`: moves a document to another path and repairs links.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{Operation, RenameDocument};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    params::{EditArguments, EditParams, closed_schema},
};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        RenameDocumentArguments::TOOL,
        "Rename document",
        "Move a document to another path. Section ids stay, and links to it and in it are repaired in the same step.",
    )
    .input(closed_schema::<EditParams<RenameDocumentArguments>>);
    edit_tool::<RenameDocumentArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RenameDocumentArguments {
    /// The new path, relative to the folder.
    new_path: String,
    /// Repair links to the document and in it.
    #[serde(default = "yes")]
    repair_links: bool,
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
