//! The fields, tags and aliases of the front matter.

use std::collections::HashMap;

use super::{Field, MAX_FIELD_VALUES, MAX_FIELDS, MAX_NAME_CHARS, MAX_VALUE_CHARS};
use crate::{Mapping, Value, scalar_text, trim};

/// Returns the fields of a mapping, in order.
pub(super) fn fields(mapping: &Mapping) -> Vec<Field> {
    let mut reader = FieldReader::default();
    reader.mapping("", mapping);
    reader.fields
}

/// Returns the tags that the front matter declares: the items of a list, or the words of a string.
pub(super) fn tags(mapping: &Mapping) -> Vec<String> {
    let is_tags = |key: &str| {
        ["tags", "tag"]
            .iter()
            .any(|one| one.eq_ignore_ascii_case(key))
    };
    let mut found = Vec::new();
    for (_, value) in mapping.iter().filter(|(key, _)| is_tags(key)) {
        match value {
            Value::List(items) => found.extend(items.iter().filter_map(scalar)),
            value => found.extend(scalar(value).iter().flat_map(|words| {
                words
                    .split(|c: char| c == ',' || crate::is_whitespace(c))
                    .map(str::to_owned)
            })),
        }
    }
    found
        .iter_mut()
        .for_each(|tag| *tag = trim(tag.trim_start_matches('#')).to_owned());
    found.retain(|tag| !tag.is_empty());
    found
}

/// Collects fields from nested mappings.
#[derive(Default)]
struct FieldReader {
    fields: Vec<Field>,
    /// The index of each field by its name.
    by_name: HashMap<String, usize>,
}

impl FieldReader {
    /// Reads the pairs of a mapping. The nesting of front matter is bounded, and so is the recursion.
    fn mapping(&mut self, outer: &str, mapping: &Mapping) {
        for (key, value) in mapping.iter() {
            let key = trim(key);
            let name = if outer.is_empty() {
                key.to_owned()
            } else {
                format!("{outer}.{key}")
            };
            if !key.is_empty() && name.chars().nth(MAX_NAME_CHARS).is_none() {
                self.value(&name, value);
            }
        }
    }

    fn value(&mut self, name: &str, value: &Value) {
        match value {
            Value::Map(mapping) => self.mapping(name, mapping),
            Value::List(items) if !items.is_empty() => {
                items.iter().for_each(|item| self.value(name, item));
            }
            value => {
                let text = scalar(value);
                if let Some(field) = self.field(name)
                    && field.values.len() < MAX_FIELD_VALUES
                {
                    field.values.extend(text.map(|text| cut(trim(&text))));
                }
            }
        }
    }

    /// Returns the field `name`, or `None` if there are too many others. The maps in a list share their fields.
    fn field(&mut self, name: &str) -> Option<&mut Field> {
        if let Some(index) = self.by_name.get(name) {
            return self.fields.get_mut(*index);
        }
        if self.fields.len() == MAX_FIELDS {
            return None;
        }
        self.by_name.insert(name.to_owned(), self.fields.len());
        self.fields.push(Field {
            name: name.to_owned(),
            values: Vec::new(),
        });
        self.fields.last_mut()
    }
}

/// Returns the text of a value that is neither a collection nor nothing.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::List(_) | Value::Map(_) => None,
        value => Some(scalar_text(value)),
    }
}

fn cut(text: &str) -> String {
    let end = text.char_indices().nth(MAX_VALUE_CHARS);
    text[..end.map_or(text.len(), |(end, _)| end)].to_owned()
}
