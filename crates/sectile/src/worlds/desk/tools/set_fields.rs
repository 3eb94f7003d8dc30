//! `set_fields`: changes fields of the front matter.

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_mcp::{Failure, JsonObject, Tool};
use sectile_vault::editor::short_hash;
use serde::Deserialize;

use super::super::{
    DeskWorld,
    answers::{PlannedWrite, write_tool},
    errors::{INVALID_ARGUMENTS, WRONG_KIND, failure, named},
    fields::{set_fields, unset_fields},
    roots::VisibleRoots,
};

pub(super) fn tool() -> Tool<DeskWorld> {
    let tool = Tool::write(
        "set_fields",
        "Set fields",
        "Set or remove front matter fields of a document. All other lines keep their bytes.",
    )
    .alias("path", "id")
    .alias("fields", "set")
    .alias("remove", "unset");
    write_tool(tool, planned)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetFieldsParams {
    /// Document
    id: String,
    /// Fields with their new values
    set: Option<JsonObject>,
    /// Fields to remove
    unset: Option<Vec<String>>,
    /// base of the document
    base: Option<String>,
}

fn planned<'a>(
    roots: &VisibleRoots<'a>,
    params: SetFieldsParams,
) -> Result<PlannedWrite<'a>, Failure> {
    let located = roots.locate(&params.id)?;
    let id = roots.id_of_target(located.root, &located.target);
    let mut base = params.base;
    // Fields belong to the document, whichever of its sections is named.
    let path = match located.target {
        FoundTarget::Document(path) => path,
        FoundTarget::Section { path, id: section } => {
            let view = roots.view(located.root, &path, &id)?;
            let position = view.position_of(&section);
            let is_current = |base: &String| {
                position.is_some_and(|position| view.is_hash_of_section(position, base))
            };
            if base.as_ref().is_some_and(is_current) {
                base = Some(short_hash(view.hash()));
            }
            path
        }
        FoundTarget::Top | FoundTarget::Folder(_) => {
            let what = format!(
                "{} is a folder; only documents have fields.",
                named(&params.id)
            );
            return Err(failure(&WRONG_KIND, what, ""));
        }
    };
    let base = base.as_deref();
    let mut operations = set_fields(&path, params.set.unwrap_or_default(), base)?;
    operations.extend(unset_fields(&path, params.unset.unwrap_or_default(), base));
    if operations.is_empty() {
        let what = "Give `set` or `unset`, with at least one field.";
        return Err(failure(&INVALID_ARGUMENTS, what, ""));
    }
    let id = roots.id_of(located.root, path.as_str(), None);
    Ok(PlannedWrite::new(
        located.root,
        "set_fields",
        id,
        operations,
    ))
}
