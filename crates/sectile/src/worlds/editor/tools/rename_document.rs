//! `rename_document`: another path for a document, and the links to it.

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, RenameDocument};
use serde::Deserialize;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    params::{WriteOptions, closed_schema},
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

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// The new path, relative to the folder.
    new_path: String,
    /// Repair links to the document and in it.
    #[serde(default = "yes")]
    repair_links: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

fn yes() -> bool {
    true
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    let operation = Operation::RenameDocument(RenameDocument {
        path: world.named_document(params.options.path.as_deref(), context)?,
        new_path: world.path(&params.new_path)?,
        repair_links: params.repair_links,
    });
    Ok(Write::new("rename_document", "Document renamed.", operation).with(params.options))
}
