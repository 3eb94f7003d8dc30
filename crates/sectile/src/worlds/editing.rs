//! Shared parts of the worlds that edit: the key of the history, the digest of a request, values of front matter, times.

use std::path::Path;

use sectile_markdown::Value as Yaml;
use sectile_mcp::{JsonObject, access::random_bytes};
use sectile_vault::JournalKey;
use serde_json::{Value, json};

use super::OpenError;
use crate::files;

/// Returns the key that seals this user's history, from the file that `editor.key_file` names. If there is none yet and
/// nothing may be written, or there is nowhere to keep one, it is a random key: then no history counts as this user's.
pub(crate) fn journal_key(
    key_file: Option<&Path>,
    read_only: bool,
) -> Result<JournalKey, OpenError> {
    let found = match key_file {
        Some(file) => files::secret_bytes(file, !read_only).map_err(|error| {
            OpenError::failed(format_args!(
                "the key file of your history cannot be read or created ({}).",
                files::reason(error.kind())
            ))
            .next("set editor.key_file to a file that you can write, or remove the existing one")
        })?,
        None => {
            tracing::warn!(
                "there is no home folder for the key file of the history; set editor.key_file"
            );
            None
        }
    };
    match found {
        Some(bytes) => Ok(JournalKey::new(&bytes)),
        None => key_of_this_process(),
    }
}

/// Returns a key that lasts only as long as this process.
pub(crate) fn key_of_this_process() -> Result<JournalKey, OpenError> {
    let bytes = random_bytes().map_err(OpenError::failed)?;
    Ok(JournalKey::new(&bytes))
}

/// Returns the digest of a call's arguments, so that a retry is recognized.
pub(crate) fn arguments_digest(arguments: &JsonObject) -> String {
    let mut pairs: Vec<String> = arguments
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.sort();
    sectile_markdown::Digest::of(pairs.join("\n").as_bytes()).to_string()
}

/// Numbers of this size and beyond are not all exact.
const INEXACT: f64 = 9_007_199_254_740_992.0;

/// Converts a JSON value to a value of front matter; `None` if a number in it is out of range, or would become another one.
pub(crate) fn yaml_value(value: &Value) -> Option<Yaml> {
    Some(match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(*value),
        Value::Number(number) => {
            let value = number.as_f64()?;
            Yaml::Number(Some(value).filter(|value| number.is_f64() || value.abs() < INEXACT)?)
        }
        Value::String(text) => Yaml::String(text.clone()),
        Value::Array(items) => Yaml::List(items.iter().map(yaml_value).collect::<Option<_>>()?),
        Value::Object(fields) => Yaml::Map(
            fields
                .iter()
                .map(|(key, value)| Some((key.clone(), yaml_value(value)?)))
                .collect::<Option<_>>()?,
        ),
    })
}

/// Converts a value of front matter to JSON; `None` if a number in it is not exact.
pub(crate) fn json_value(value: &Yaml) -> Option<Value> {
    Some(match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => json!(value),
        Yaml::Number(number) if !number.is_finite() || number.abs() >= INEXACT => return None,
        Yaml::Number(number) if number.fract() == 0.0 => json!(*number as i64),
        Yaml::Number(number) => json!(number),
        Yaml::Timestamp(timestamp) => json!(timestamp.as_written()),
        Yaml::String(text) => json!(text),
        Yaml::List(items) => Value::Array(items.iter().map(json_value).collect::<Option<_>>()?),
        Yaml::Map(mapping) => {
            let fields = mapping
                .iter()
                .map(|(name, value)| Some((name.to_owned(), json_value(value)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}

/// Formats milliseconds since 1970 as RFC 3339.
pub(crate) fn timestamp(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds)
        .map(|time| time.to_string())
        .unwrap_or_default()
}
