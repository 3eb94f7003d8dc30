//! JSON schemas in prose: the fields of an object as a list.
//!
//! Supports the keywords that schemas derived from types use; anything else is "any JSON value".

use sectile_mcp::JsonObject;
use serde_json::Value;

use super::page::{ListEntry, as_code};

/// The most levels of nested fields that are shown.
const MAX_DEPTH: usize = 2;

/// The direction in which an object is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// To the server: shows which fields are optional, and which values are allowed.
    Arguments,
    /// To the client: shows which fields may be missing or null.
    Answer,
}

/// Returns the fields of the object that `schema` describes.
pub(super) fn fields(schema: &JsonObject, side: Side) -> Vec<ListEntry> {
    let reader = SchemaReader { root: schema, side };
    reader.fields(schema, &[])
}

struct SchemaReader<'s> {
    root: &'s JsonObject,
    side: Side,
}

/// The schema that a reference resolves to, with the name of its definition.
#[derive(Clone, Copy)]
struct ResolvedSchema<'s> {
    schema: &'s Value,
    name: Option<&'s str>,
}

impl<'s> SchemaReader<'s> {
    /// Returns the fields of an object; `outer` are the objects around it.
    fn fields(&self, object: &'s JsonObject, outer: &[ResolvedSchema<'s>]) -> Vec<ListEntry> {
        let required = object.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|found| found.as_str() == Some(name)))
        };
        let properties = object.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| self.field(name, schema, is_required(name), outer))
            .collect()
    }

    fn field(
        &self,
        name: &str,
        schema: &'s Value,
        is_required: bool,
        outer: &[ResolvedSchema<'s>],
    ) -> ListEntry {
        let mut notes = vec![self.kind(schema)];
        match self.side {
            Side::Arguments if is_required => notes.push("required".to_owned()),
            Side::Answer if !is_required => notes.push("optional".to_owned()),
            _ => {}
        }
        notes.extend(default(schema).map(|value| format!("default `{value}`")));
        let mut text = format!("`{name}` ({})", notes.join(", "));
        if let Some(description) = self.description(schema) {
            text += &format!(": {}", description.replace('\n', " "));
        }
        let object = self.object(schema);
        let forms = self.forms(schema);
        let below = match object {
            _ if !forms.is_empty() => forms,
            Some(object) if is_among(object, outer) => {
                text += " Each has these same fields again.";
                Vec::new()
            }
            Some(object) if outer.len() < MAX_DEPTH => {
                let outer: Vec<ResolvedSchema<'s>> =
                    outer.iter().copied().chain([object]).collect();
                let fields = object.schema.as_object();
                fields.map_or_else(Vec::new, |fields| self.fields(fields, &outer))
            }
            None if outer.is_empty() => self.explained_words(schema),
            _ => Vec::new(),
        };
        ListEntry { text, below }
    }

    /// Describes the type of a value.
    fn kind(&self, schema: &'s Value) -> String {
        let target = self.target(schema).schema;
        if let Some(constant) = target.get("const") {
            return format!("always `{}`", shown(constant));
        }
        let words = words(target);
        if !words.is_empty() {
            return format!("one of {}", as_code(words.iter().map(|(word, _)| word)));
        }
        if let Some(alternatives) = alternatives(target) {
            let mut kinds: Vec<String> = alternatives
                .iter()
                .filter(|one| self.side == Side::Answer || !is_null(one))
                .map(|one| self.kind(one))
                .collect();
            kinds.dedup();
            return self.with_range(kinds.join(" or "), target);
        }
        let name = match target.get("type").and_then(Value::as_str) {
            Some("string") => "string",
            Some("integer") => "integer",
            Some("number") => "number",
            Some("boolean") => "boolean",
            Some("null") => "null",
            Some("object") => "object",
            Some("array") => return self.list_kind(target),
            _ => "any JSON value",
        };
        self.with_range(name.to_owned(), target)
    }

    fn list_kind(&self, list: &'s Value) -> String {
        let items = list.get("items").map(|items| self.kind(items));
        match items.as_deref() {
            Some("string") => "list of strings".to_owned(),
            Some("object") => "list of objects".to_owned(),
            Some("integer") => "list of integers".to_owned(),
            Some(kind) => format!("list, each {kind}"),
            None => "list".to_owned(),
        }
    }

    /// Adds bounds, which matter only to those who choose a value.
    fn with_range(&self, kind: String, schema: &Value) -> String {
        let bound = |key: &str| schema.get(key).filter(|_| self.side == Side::Arguments);
        match (bound("minimum"), bound("maximum")) {
            (Some(min), Some(max)) => format!("{kind} from {min} to {max}"),
            (Some(min), None) => format!("{kind} from {min}"),
            (None, Some(max)) => format!("{kind} up to {max}"),
            (None, None) => kind,
        }
    }

    /// Returns the description of the value itself, or else of its type.
    fn description(&self, schema: &'s Value) -> Option<&'s str> {
        let said = |schema: &'s Value| schema.get("description").and_then(Value::as_str);
        said(schema)
            .or_else(|| said(self.target(schema).schema))
            .or_else(|| self.object(schema).and_then(|object| said(object.schema)))
    }

    /// Returns the object that a value is, or that its list contains.
    fn object(&self, schema: &'s Value) -> Option<ResolvedSchema<'s>> {
        let target = self.target(schema);
        if target.schema.get("properties").is_some() {
            return Some(target);
        }
        let inner = target.schema.get("items");
        let inner = inner.into_iter().chain(
            alternatives(target.schema)
                .into_iter()
                .flatten()
                .filter(|one| !is_null(one)),
        );
        inner
            .map(|one| self.target(one))
            .find(|one| one.schema.get("properties").is_some())
    }

    /// Returns the variants of a value, or of the entries of a list, if a field of each says which one it is.
    fn forms(&self, schema: &'s Value) -> Vec<ListEntry> {
        let target = self.target(schema).schema;
        let target = target
            .get("items")
            .map_or(target, |items| self.target(items).schema);
        let forms = alternatives(target).into_iter().flatten();
        forms.filter_map(form).collect()
    }

    /// Returns the allowed values as items, if the schema explains them.
    fn explained_words(&self, schema: &'s Value) -> Vec<ListEntry> {
        let target = self.target(schema).schema;
        let inner = alternatives(target).into_iter().flatten();
        std::iter::once(target)
            .chain(inner.map(|one| self.target(one).schema))
            .flat_map(words)
            .filter_map(|(word, meaning)| {
                Some(ListEntry {
                    text: format!("`{word}`: {}", meaning?.replace('\n', " ")),
                    below: Vec::new(),
                })
            })
            .collect()
    }

    /// Resolves a reference; returns any other schema itself.
    fn target(&self, schema: &'s Value) -> ResolvedSchema<'s> {
        let name = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|path| path.strip_prefix("#/$defs/"));
        let found = name.and_then(|name| self.root.get("$defs")?.get(name));
        ResolvedSchema {
            schema: found.unwrap_or(schema),
            name,
        }
    }
}

fn is_among(object: ResolvedSchema<'_>, outer: &[ResolvedSchema<'_>]) -> bool {
    object.name.is_some() && outer.iter().any(|one| one.name == object.name)
}

/// Describes a variant in one line: the field that identifies it, then the names of the others.
fn form(schema: &Value) -> Option<ListEntry> {
    let properties = schema.get("properties")?.as_object()?;
    let (tag, word) = properties
        .iter()
        .find_map(|(name, field)| Some((name, field.get("const")?)))?;
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    let others = properties.keys().filter(|name| *name != tag);
    let others: Vec<String> = others
        .map(|name| match is_required(name) {
            true => format!("`{name}` (required)"),
            false => format!("`{name}`"),
        })
        .collect();
    Some(ListEntry {
        text: format!("`{tag}` `{}`: {}", shown(word), others.join(", ")),
        below: Vec::new(),
    })
}

/// Returns the values of an enumeration, with their descriptions.
fn words(schema: &Value) -> Vec<(String, Option<&str>)> {
    let plain = schema.get("enum").and_then(Value::as_array);
    let plain = plain.into_iter().flatten().map(|word| (shown(word), None));
    let described = schema.get("oneOf").and_then(Value::as_array);
    let described = described.into_iter().flatten().flat_map(|one| {
        let meaning = one.get("description").and_then(Value::as_str);
        let several = one.get("enum").and_then(Value::as_array);
        let all = one
            .get("const")
            .into_iter()
            .chain(several.into_iter().flatten());
        all.map(move |word| (shown(word), meaning))
    });
    plain.chain(described).collect()
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Returns the default, unless it only says that there is none.
fn default(schema: &Value) -> Option<String> {
    let value = schema.get("default").filter(|value| !value.is_null())?;
    Some(match value.as_str() {
        Some("") => "\"\"".to_owned(),
        _ => shown(value),
    })
}

/// Formats a value, without the quotation marks of a string.
fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
