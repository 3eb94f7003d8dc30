//! Front matter values as text, formatted as the contract's original, an ECMAScript program, does.

use crate::Value;

/// Returns the text of a value. Dates stay as written; a mapping has no text of its own.
#[must_use]
pub fn scalar_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => ryu_js::Buffer::new().format(*value).to_owned(),
        Value::Timestamp(value) => value.as_written().to_owned(),
        Value::String(text) => text.clone(),
        Value::List(items) => items.iter().map(list_item).collect::<Vec<_>>().join(","),
        Value::Map(_) => "[object Object]".to_owned(),
    }
}

fn list_item(value: &Value) -> String {
    if *value == Value::Null {
        String::new()
    } else {
        scalar_text(value)
    }
}
