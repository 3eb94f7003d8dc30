//! `delete`: deletes a section, a document or an empty folder.

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_mcp::{Failure, Tool};
use sectile_vault::editor::{DeleteDocument, DeleteSection, Operation, SectionRef};
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{AnswerSubject, PlannedWrite, ReviewedWrite, reviewed_tool},
    errors::{INVALID_ARGUMENTS, WRONG_KIND, failure, named},
    roots::VisibleRoots,
};

pub(super) fn tool() -> Tool<DeskWorld> {
    let tool = Tool::destructive(
        "delete",
        "Delete",
        "Delete a section with its subsections, a document, or an empty folder. The answer names links that lead nowhere now.",
    )
    .alias("path", "id")
    .alias("dry_run", "preview");
    reviewed_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteParams {
    id: String,
    /// base you read, of the section with its subsections or of the document; any text for a folder
    base: String,
    /// Only show the diff
    #[serde(default)]
    preview: bool,
    /// Token of a preview: apply exactly what it showed, or fail
    plan: Option<String>,
}

fn planned<'a>(
    roots: &VisibleRoots<'a>,
    params: DeleteParams,
) -> Result<ReviewedWrite<'a>, Failure> {
    let located = roots.locate(&params.id)?;
    let root = located.root;
    let id = roots.id_of_target(root, &located.target);
    let operation = match located.target {
        FoundTarget::Top => {
            let what = "The root folder cannot be deleted.";
            return Err(failure(&WRONG_KIND, what, ""));
        }
        FoundTarget::Folder(_) if params.preview || params.plan.is_some() => {
            let what = format!(
                "{} is a folder; only an empty one is deleted, so there is nothing to preview.",
                named(&id)
            );
            return Err(failure(&INVALID_ARGUMENTS, what, ""));
        }
        FoundTarget::Folder(path) => {
            let removed = root.folder.editor.remove_empty_folder(&path);
            removed.map_err(|error| roots.editor_failure(root, &error, &id))?;
            return Ok(ReviewedWrite::Unrecorded(id));
        }
        FoundTarget::Document(path) => Operation::DeleteDocument(DeleteDocument {
            path: roots.written_path(root, &params.id, path),
            expected_hash: Some(params.base),
        }),
        FoundTarget::Section { path, id } => Operation::Delete(DeleteSection {
            path: Some(path),
            section: SectionRef {
                id: Some(id),
                heading: None,
            },
            expected_hash: Some(params.base),
        }),
    };
    Ok(ReviewedWrite::Planned(PlannedWrite {
        subject: AnswerSubject::Gone,
        is_preview: params.preview,
        plan: params.plan,
        ..PlannedWrite::new(root, "delete", id, vec![operation])
    }))
}
