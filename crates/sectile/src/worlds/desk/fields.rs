//! Fields of the front matter, as callers give them.

use sectile_markdown::{Timestamp, Value};
use sectile_mcp::{Failure, JsonObject, quoted};
use sectile_vault::{
    NotePath,
    editor::{Operation, SetFrontMatter},
};

use super::errors::{FRONT_MATTER, failure};
use crate::worlds::yaml_value;

/// Returns the operations that set these fields of the document at `path`, if it still has the hash `base`.
pub(super) fn set_fields(
    path: &NotePath,
    fields: JsonObject,
    base: Option<&str>,
) -> Result<Vec<Operation>, Failure> {
    let set = |(key, value): (String, serde_json::Value)| {
        let value = yaml_value(&value).ok_or_else(|| {
            let what = format!("The number in {} is out of range.", quoted(&key));
            failure(&FRONT_MATTER, what, "")
        })?;
        Ok(operation(path, key, Some(with_dates(value)), base))
    };
    fields.into_iter().map(set).collect()
}

/// Returns the value with dates where strings are written like dates: JSON has none, and in quotes they would be text.
fn with_dates(value: Value) -> Value {
    match value {
        Value::String(text) => match Timestamp::new(&text) {
            Some(date) => Value::Timestamp(date),
            None => Value::String(text),
        },
        Value::List(items) => Value::List(items.into_iter().map(with_dates).collect()),
        value => value,
    }
}

/// Returns the operations that remove these fields.
pub(super) fn unset_fields(
    path: &NotePath,
    names: Vec<String>,
    base: Option<&str>,
) -> impl Iterator<Item = Operation> {
    names
        .into_iter()
        .map(move |key| operation(path, key, None, base))
}

fn operation(path: &NotePath, key: String, value: Option<Value>, base: Option<&str>) -> Operation {
    Operation::SetFrontMatter(SetFrontMatter {
        path: Some(path.clone()),
        key,
        value,
        expected_hash: base.map(str::to_owned),
    })
}
