//! `create`: creates a document.

use schemars::JsonSchema;
use sectile_mcp::{Failure, JsonObject, Tool};
use sectile_vault::editor::{CreateDocument, Operation};
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{PlannedWrite, write_tool},
    fields::set_fields,
    roots::VisibleRoots,
};

pub(super) fn tool() -> Tool<DeskWorld> {
    let tool = Tool::write(
        "create",
        "Create note",
        "Create a note. Missing folders are made; an existing note is never overwritten.",
    )
    .alias("id", "path")
    .alias("content", "text")
    .alias("file_text", "text");
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateParams {
    /// New path, ending in .md
    path: String,
    /// Markdown
    text: String,
    /// Front matter fields
    fields: Option<JsonObject>,
}

fn planned<'a>(
    roots: &VisibleRoots<'a>,
    params: CreateParams,
) -> Result<PlannedWrite<'a>, Failure> {
    let (root, path) = roots.place(&params.path)?;
    let mut operations = vec![Operation::CreateDocument(CreateDocument {
        path: path.clone(),
        content: params.text,
    })];
    operations.extend(set_fields(&path, params.fields.unwrap_or_default(), None)?);
    let id = roots.id_of(root, path.as_str(), None);
    Ok(PlannedWrite::new(root, "create", id, operations))
}
