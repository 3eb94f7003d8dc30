//! Alternative names that a document declares in its front matter, which wiki links may use.

use crate::{MAX_ALIASES, MAX_VALUE_CHARS, Mapping, Source, Value, trim};

/// The keys that Obsidian reads.
const KEYS: [&str; 2] = ["aliases", "alias"];

/// Returns the aliases of a document, as written: the items of a list, or the comma-separated parts of a string.
#[must_use]
pub fn aliases(source: &Source<'_>) -> Vec<String> {
    // Most documents have none, and need no parsing.
    let read = source
        .yaml()
        .filter(|yaml| source.text[yaml.range()].contains(KEYS[1]))
        .and_then(|_| source.front_matter_as_written());
    match read {
        Some(Value::Map(front_matter)) => aliases_of(&front_matter),
        _ => Vec::new(),
    }
}

/// Returns the aliases in the front matter: the first [`MAX_ALIASES`], without those that are too long to be names.
pub(crate) fn aliases_of(front_matter: &Mapping) -> Vec<String> {
    let mut found = Vec::new();
    for value in KEYS.iter().filter_map(|key| front_matter.get(key)) {
        match value {
            Value::String(text) => found.extend(text.split([',', '\n']).map(str::to_owned)),
            Value::List(items) => found.extend(items.iter().filter_map(text_of)),
            value => found.extend(text_of(value)),
        }
    }
    found.iter_mut().for_each(|one| *one = trim(one).to_owned());
    found.retain(|one| !one.is_empty() && one.chars().nth(MAX_VALUE_CHARS).is_none());
    found.truncate(MAX_ALIASES);
    found
}

/// Returns a value as a name.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Timestamp(time) => Some(time.as_written().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
    }
}
