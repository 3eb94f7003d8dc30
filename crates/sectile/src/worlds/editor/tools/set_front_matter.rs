//! `set_front_matter`: sets or removes one key of the front matter.

use schemars::JsonSchema;
use sectile_mcp::{CallContext, Failure, Tool};
use sectile_vault::editor::{Operation, SetFrontMatter};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    EditorWorld,
    answers::edit_tool,
    errors::bad_arguments,
    params::{EditArguments, EditParams, closed_schema},
};
use crate::worlds::yaml_value;

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        SetFrontMatterArguments::TOOL,
        "Set front matter",
        "Set or remove one key of the front matter. All other keys, comments, order, quotes and dates keep their bytes.",
    )
    .input(closed_schema::<EditParams<SetFrontMatterArguments>>);
    edit_tool::<SetFrontMatterArguments>(tool)
}

/// The arguments that an edit of `apply_edits` takes too.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SetFrontMatterArguments {
    /// The key, at the top level.
    key: String,
    /// Its value: a string, a number, true, false, null, a list or an object. Leave it out only to remove the key.
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    /// Remove the key instead.
    #[serde(default)]
    remove: bool,
}

/// Distinguishes a value of null from no value.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl EditArguments for SetFrontMatterArguments {
    const TOOL: &'static str = "set_front_matter";
    const DONE: &'static str = "Front matter changed.";

    fn operation(
        self,
        world: &EditorWorld,
        path: Option<&str>,
        context: &CallContext,
    ) -> Result<Operation, Failure> {
        let value =
            match (self.value, self.remove) {
                (Some(value), false) => Some(yaml_value(&value).ok_or_else(|| {
                    bad_arguments("Invalid arguments: the number is out of range.")
                })?),
                (None, true) => None,
                _ => {
                    return Err(bad_arguments(
                        "Invalid arguments: give either value, or remove: true.",
                    ));
                }
            };
        Ok(Operation::SetFrontMatter(SetFrontMatter {
            path: Some(world.named_document(path, context)?),
            key: self.key,
            value,
            expected_hash: None,
        }))
    }
}
