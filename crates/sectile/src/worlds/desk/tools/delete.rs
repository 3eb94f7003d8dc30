//! `delete`: deletes a section, a document or an empty folder.

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_mcp::{Answer, Failure, JsonObject, Tool, decode};
use sectile_vault::editor::{DeleteDocument, DeleteSection, Operation, SectionRef};
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{AnswerSubject, DeskWriteAnswer, PlannedWrite},
    errors::{WRONG_KIND, failure},
    roots::VisibleRoots,
};
use crate::worlds::arguments_digest;

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::destructive(
        "delete",
        "Delete",
        "Delete a section with its subsections, a document, or an empty folder. The answer names links that lead nowhere now.",
    )
    .alias("path", "id")
    .call_raw::<DeleteParams, DeskWriteAnswer>(|world: &DeskWorld, arguments, context| {
        handle(&world.roots_for(context), arguments)
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteParams {
    id: String,
    /// base you read, of the section with its subsections or of the document; any text for a folder
    base: String,
}

fn handle(roots: &VisibleRoots<'_>, arguments: JsonObject) -> Result<Answer, Failure> {
    let digest = arguments_digest(&arguments);
    let params: DeleteParams = decode(arguments)?;
    let located = roots.locate(&params.id)?;
    let root = located.root;
    let id = roots.id_of_target(root, &located.target);
    let operation = match located.target {
        FoundTarget::Top => {
            let what = "The root folder cannot be deleted.";
            return Err(failure(&WRONG_KIND, what, ""));
        }
        FoundTarget::Folder(path) => {
            let removed = root.folder.editor.remove_empty_folder(&path);
            removed.map_err(|error| roots.editor_failure(root, &error, &id))?;
            let (answer, facts) = DeskWriteAnswer::without_change(id);
            return Answer::new(&answer, facts);
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
    let write = PlannedWrite {
        subject: AnswerSubject::Gone,
        ..PlannedWrite::new(root, "delete", id, vec![operation])
    };
    let (answer, facts) = roots.write(write, &digest)?;
    Answer::new(&answer, facts)
}
