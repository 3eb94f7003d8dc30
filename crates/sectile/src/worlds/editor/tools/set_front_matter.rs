//! `set_front_matter`: one key of the front matter.

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, SetFrontMatter};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    errors::bad_arguments,
    params::{EditArguments, WriteOptions, closed_schema},
    values::yaml_value,
};
use crate::mcp::{CallContext, Failure, Tool};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "set_front_matter",
        "Set front matter",
        "Set or remove one key of the front matter. All other keys, comments, order, quotes and dates keep their bytes.",
    )
    .input(closed_schema::<Params>);
    write_tool(tool, planned)
}

/// What an edit of `apply_edits` takes as well.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SetFrontMatterArguments {
    /// The key, at the top level.
    key: String,
    /// Its value: text, number, true, false, null, a list or an object. Leave it out only to remove the key.
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    /// Remove the key instead.
    #[serde(default)]
    remove: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    #[serde(flatten)]
    edit: SetFrontMatterArguments,
    #[serde(flatten)]
    options: WriteOptions,
}

/// Tells a value of null from no value.
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
        let value = match (self.value, self.remove) {
            (Some(value), false) => Some(yaml_value(&value)?),
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
        }))
    }
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    params.edit.write(world, params.options, context)
}
