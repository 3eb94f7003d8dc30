//! Front matter values given by callers.

use sectile_markdown::Value as Yaml;
use sectile_mcp::Failure;
use serde_json::Value;

use super::errors::bad_arguments;

/// Converts a JSON value to a front matter value.
pub(super) fn yaml_value(value: &Value) -> Result<Yaml, Failure> {
    Ok(match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(*value),
        Value::Number(number) => {
            let number = number.as_f64();
            Yaml::Number(
                number.ok_or_else(|| {
                    bad_arguments("Invalid arguments: the number is out of range.")
                })?,
            )
        }
        Value::String(text) => Yaml::String(text.clone()),
        Value::Array(items) => Yaml::List(items.iter().map(yaml_value).collect::<Result<_, _>>()?),
        Value::Object(fields) => Yaml::Map(
            fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), yaml_value(value)?)))
                .collect::<Result<_, Failure>>()?,
        ),
    })
}
