//! `set_front_matter`: one key of the front matter.

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, SetFrontMatter};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    EditorWorld,
    answers::{Write, write_tool},
    errors::bad_arguments,
    params::{WriteOptions, closed_schema},
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

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// The key, at the top level.
    key: String,
    /// Its value: text, number, true, false, null, a list or an object. Leave it out only to remove the key.
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    /// Remove the key instead.
    #[serde(default)]
    remove: bool,
    #[serde(flatten)]
    options: WriteOptions,
}

/// Tells a value of null from no value.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn planned(world: &EditorWorld, params: Params, context: &CallContext) -> Result<Write, Failure> {
    let value = match (params.value, params.remove) {
        (Some(value), false) => Some(yaml_value(&value)?),
        (None, true) => None,
        _ => {
            return Err(bad_arguments(
                "Invalid arguments: give either value, or remove: true.",
            ));
        }
    };
    let operation = Operation::SetFrontMatter(SetFrontMatter {
        path: Some(world.named_document(params.options.path.as_deref(), context)?),
        key: params.key,
        value,
    });
    Ok(Write::new("set_front_matter", "Front matter changed.", operation).with(params.options))
}
