//! `set_front_matter`: one key of the front matter.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_vault::editor::{Operation, SetFrontMatter};
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    EditorWorld,
    answers::{Write, Written, write_as},
    errors::bad_arguments,
    params::{EditArguments, WriteOptions, closed_schema},
    values::yaml_value,
};
use crate::mcp::{Access, CallContext, Failure, Handler, Pace, Tool, output_schema};

pub(super) const TOOL: Tool<EditorWorld> = Tool {
    name: Cow::Borrowed("set_front_matter"),
    title: "Set front matter",
    description: "Set or remove one key of the front matter. All other keys, comments, order, quotes and dates keep their bytes.",
    access: Access::Write,
    idempotent: false,
    open_world: false,
    pace: Pace::Slow,
    input: closed_schema::<Params>,
    output: output_schema::<Written>,
    handler: Handler::Blocking(|world, arguments, context| {
        write_as(world, arguments, context, planned)
    }),
};

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
