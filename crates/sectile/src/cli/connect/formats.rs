//! Edits of a client's file that keep every byte they are not asked to change.

mod yaml;

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::{
    clients::ClientFormat,
    entry::{EntryFields, EntryTarget, FieldValue},
};

/// The reason why a client's file is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientFileError {
    #[error("the file is not valid {format}{}", at_line(*line))]
    Syntax {
        format: &'static str,
        line: Option<usize>,
    },
    #[error("the file does not hold settings by name")]
    NotSettings,
    #[error("`{0}` in the file is not a list of servers by name")]
    NotServers(&'static str),
    #[error("the file is written in a way that cannot be edited safely")]
    NotPlaceable,
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}"))
        .unwrap_or_default()
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl ClientFormat {
    /// Returns `text` with the entry added, or replacing one with the same name.
    pub(super) fn insert(
        self,
        text: &str,
        name: &str,
        fields: &EntryFields,
    ) -> Result<String, ClientFileError> {
        keeping_line_ends(text, |text| match self {
            Self::Json(key) => insert_json(text, key, name, fields),
            Self::Toml(key) => insert_toml(text, key, name, fields),
            Self::Goose => yaml::insert(text, name, fields),
            Self::Continue => yaml::own_file(text, name, fields),
        })
    }

    /// Returns `text` without the entry.
    pub(super) fn remove(self, text: &str, name: &str) -> Result<String, ClientFileError> {
        keeping_line_ends(text, |text| match self {
            Self::Json(key) => {
                let root = parse_json(text)?;
                if let Some(property) = json_servers(&root, key)?.and_then(|all| all.get(name)) {
                    property.remove();
                }
                Ok(root.to_string())
            }
            Self::Toml(key) => {
                let mut document = parse_toml(text)?;
                if let Some(servers) = document.get_mut(key) {
                    let servers = servers.as_table_like_mut();
                    servers
                        .ok_or(ClientFileError::NotServers(key))?
                        .remove(name);
                }
                Ok(document.to_string())
            }
            Self::Goose => yaml::remove(text, name),
            Self::Continue => yaml::check_own(text).map(|()| String::new()),
        })
    }

    /// Returns the servers in `text`, by name.
    pub(super) fn entries(self, text: &str) -> Result<Vec<(String, EntryTarget)>, ClientFileError> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        match self {
            Self::Json(key) => json_entries(text, key),
            Self::Toml(key) => toml_entries(text, key),
            Self::Goose => yaml::entries(text),
            Self::Continue => yaml::own_entries(text),
        }
    }
}

/// Lets `edit` work on text with plain line ends, if all of them are those of Windows, and puts them back. A byte order mark
/// stays, too.
fn keeping_line_ends(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, ClientFileError>,
) -> Result<String, ClientFileError> {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (BYTE_ORDER_MARK.to_string(), rest),
        None => (String::new(), text),
    };
    let ends = text.matches('\n').count();
    if ends > 0 && text.matches("\r\n").count() == ends {
        let edited = edit(&text.replace("\r\n", "\n"))?;
        return Ok(mark + &edited.replace('\n', "\r\n"));
    }
    Ok(mark + &edit(text)?)
}

/// Returns the number of the line that holds a byte, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// JSON with comments and trailing commas. Clients read no more than that, so anything else is a mistake in the file.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parse_json(text: &str) -> Result<CstRootNode, ClientFileError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &JSONC).map_err(|error| ClientFileError::Syntax {
        format: "JSON",
        line: Some(error.line_display()),
    })
}

fn parse_toml(text: &str) -> Result<DocumentMut, ClientFileError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| ClientFileError::Syntax {
            format: "TOML",
            line: error.span().map(|span| line_of(text, span.start)),
        })
}

/// Returns the object of servers; `None` if the file has none yet.
fn json_servers(
    root: &CstRootNode,
    key: &'static str,
) -> Result<Option<CstObject>, ClientFileError> {
    let object = match root.value() {
        Some(value) => value.as_object().ok_or(ClientFileError::NotSettings)?,
        // Only comments.
        None => return Ok(None),
    };
    let is_servers = |property: &CstObjectProp| property.decoded_name().as_deref() == Some(key);
    let mut all = object.properties().into_iter().filter(is_servers);
    let Some(servers) = all.next() else {
        return Ok(None);
    };
    // Of several, a client would take the last.
    if all.next().is_some() {
        return Err(ClientFileError::NotPlaceable);
    }
    let servers = servers.object_value();
    servers.ok_or(ClientFileError::NotServers(key)).map(Some)
}

fn json_entries(
    text: &str,
    key: &'static str,
) -> Result<Vec<(String, EntryTarget)>, ClientFileError> {
    let root = parse_json(text)?;
    let Some(servers) = json_servers(&root, key)? else {
        return Ok(Vec::new());
    };
    let text_of = |server: &CstObject, key: &str| {
        let value = server.get(key)?.value()?;
        value.as_string_lit()?.decoded_value().ok()
    };
    let target = |server: &CstObject| {
        let mut urls = ["url", "httpUrl", "serverUrl"].iter();
        if let Some(url) = urls.find_map(|key| text_of(server, key)) {
            return Some(EntryTarget::Url(url));
        }
        let program = text_of(server, "command")?;
        let elements = server.array_value("args").map(|args| args.elements());
        let arguments = elements.unwrap_or_default().into_iter();
        let arguments = arguments.filter_map(|node| node.as_string_lit()?.decoded_value().ok());
        let arguments = arguments.collect();
        Some(EntryTarget::Command { program, arguments })
    };
    let entry = |property: CstObjectProp| {
        let name = property.decoded_name()?;
        let target = property.object_value().and_then(|server| target(&server));
        Some((name, target.unwrap_or(EntryTarget::Other)))
    };
    Ok(servers.properties().into_iter().filter_map(entry).collect())
}

fn toml_entries(
    text: &str,
    key: &'static str,
) -> Result<Vec<(String, EntryTarget)>, ClientFileError> {
    let document = parse_toml(text)?;
    let Some(servers) = document.get(key) else {
        return Ok(Vec::new());
    };
    let servers = servers.as_table_like();
    let servers = servers.ok_or(ClientFileError::NotServers(key))?;
    let target = |server: &Item| {
        if let Some(url) = server.get("url").and_then(Item::as_str) {
            return Some(EntryTarget::Url(url.to_owned()));
        }
        let program = server.get("command")?.as_str()?.to_owned();
        let arguments = server.get("args").and_then(Item::as_array);
        let arguments = arguments.map(|all| all.iter().filter_map(Value::as_str));
        let arguments = arguments.into_iter().flatten().map(str::to_owned).collect();
        Some(EntryTarget::Command { program, arguments })
    };
    let entries = servers.iter().map(|(name, server)| {
        let target = target(server).unwrap_or(EntryTarget::Other);
        (name.to_owned(), target)
    });
    Ok(entries.collect())
}

/// Returns whether an old entry reaches its server in the same way as the new one, so that what people added to it makes
/// sense for the new one, too.
fn is_of_same_form(has_field: impl Fn(&str) -> bool, fields: &EntryFields) -> bool {
    const ADDRESSES: [&str; 4] = ["command", "url", "httpUrl", "serverUrl"];
    let mut addresses = fields
        .iter()
        .filter(|(name, _)| ADDRESSES.contains(&name.as_str()));
    addresses.any(|(name, _)| has_field(name))
}

fn json_value(value: &FieldValue) -> CstInputValue {
    match value {
        FieldValue::Text(text) => CstInputValue::from(text.as_str()),
        FieldValue::Bool(value) => CstInputValue::Bool(*value),
        FieldValue::Number(number) => CstInputValue::Number(number.to_string()),
        FieldValue::List(texts) => {
            let texts = texts.iter().map(|text| CstInputValue::from(text.as_str()));
            CstInputValue::Array(texts.collect())
        }
        FieldValue::Map(fields) => json_object(fields),
    }
}

fn json_object(fields: &EntryFields) -> CstInputValue {
    let fields = fields
        .iter()
        .map(|(name, value)| (name.clone(), json_value(value)));
    CstInputValue::Object(fields.collect())
}

fn insert_json(
    text: &str,
    key: &'static str,
    name: &str,
    fields: &EntryFields,
) -> Result<String, ClientFileError> {
    let root = parse_json(text)?;
    json_servers(&root, key)?;
    let servers = root
        .object_value_or_create()
        .and_then(|object| object.object_value_or_create(key))
        .ok_or(ClientFileError::NotServers(key))?;
    let Some(property) = servers.get(name) else {
        servers.append(name, json_object(fields));
        return Ok(root.to_string());
    };
    let of_same_form = |old: &CstObject| is_of_same_form(|field| old.get(field).is_some(), fields);
    match property.object_value().filter(of_same_form) {
        Some(old) => update_json(&old, fields),
        None => property.set_value(json_object(fields)),
    }
    Ok(root.to_string())
}

/// Sets fields of an object that differ, and keeps the others.
fn update_json(object: &CstObject, fields: &EntryFields) {
    for (name, field) in fields {
        let Some(property) = object.get(name) else {
            object.append(name, json_value(field));
            continue;
        };
        match (field, property.object_value()) {
            (FieldValue::Map(fields), Some(inner)) => update_json(&inner, fields),
            _ if property.value().is_some_and(|old| is_json(&old, field)) => {}
            _ => property.set_value(json_value(field)),
        }
    }
}

/// Returns whether a value is already the one to set, however it is laid out.
fn is_json(value: &CstNode, field: &FieldValue) -> bool {
    let is_text = |value: &CstNode, text: &str| {
        let literal = value.as_string_lit();
        literal.is_some_and(|literal| literal.decoded_value().is_ok_and(|value| value == text))
    };
    match field {
        FieldValue::Text(text) => is_text(value, text),
        FieldValue::Bool(field) => value
            .as_boolean_lit()
            .is_some_and(|value| value.value() == *field),
        FieldValue::List(texts) => value.as_array().is_some_and(|array| {
            let elements = array.elements();
            elements.len() == texts.len()
                && elements
                    .iter()
                    .zip(texts)
                    .all(|(value, text)| is_text(value, text))
        }),
        FieldValue::Number(_) | FieldValue::Map(_) => false,
    }
}

fn toml_value(field: &FieldValue) -> Value {
    match field {
        FieldValue::Text(text) => Value::from(text.as_str()),
        FieldValue::Bool(value) => Value::from(*value),
        FieldValue::Number(number) => Value::from(i64::from(*number)),
        FieldValue::List(texts) => {
            Value::Array(texts.iter().map(String::as_str).collect::<Array>())
        }
        FieldValue::Map(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.as_str(), toml_value(value)));
            Value::InlineTable(fields.collect::<InlineTable>())
        }
    }
}

fn insert_toml(
    text: &str,
    key: &'static str,
    name: &str,
    fields: &EntryFields,
) -> Result<String, ClientFileError> {
    let mut document = parse_toml(text)?;
    let servers = document.entry(key).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or(ClientFileError::NotServers(key))?;
    let old = servers.get_mut(name).and_then(Item::as_table_like_mut);
    if let Some(old) = old.filter(|old| keeps_toml(*old, fields)) {
        update_toml(old, fields);
        return Ok(document.to_string());
    }
    let mut server = Table::new();
    for (name, field) in fields {
        server.insert(name, value(toml_value(field)));
    }
    // What people wrote above and beside the heading of the table stays.
    if let Some(old) = servers.get(name).and_then(Item::as_table) {
        *server.decor_mut() = old.decor().clone();
        server.set_position(old.position());
    }
    servers.insert(name, Item::Table(server));
    Ok(document.to_string())
}

/// Returns whether an old table can keep its other fields. It cannot if one of them holds another key for the same server.
fn keeps_toml(old: &dyn TableLike, fields: &EntryFields) -> bool {
    let is_set = |field: &str| fields.iter().any(|(name, _)| name == field);
    let has_key_variable = old.contains_key("bearer_token_env_var");
    let headers = old.get("http_headers");
    let has_key = headers.is_some_and(|headers| headers.get("Authorization").is_some());
    let has_other_key =
        (is_set("http_headers") && has_key_variable) || (is_set("bearer_token_env_var") && has_key);
    is_of_same_form(|field| old.contains_key(field), fields) && !has_other_key
}

/// Sets fields of a table that differ, and keeps the others.
fn update_toml(table: &mut dyn TableLike, fields: &EntryFields) {
    for (name, field) in fields {
        let Some(item) = table.get_mut(name) else {
            table.insert(name, value(toml_value(field)));
            continue;
        };
        if let (FieldValue::Map(fields), Some(inner)) = (field, item.as_table_like_mut()) {
            update_toml(inner, fields);
            continue;
        }
        if is_toml(item, field) {
            continue;
        }
        let mut new = toml_value(field);
        // A comment after the value stays.
        if let Some(old) = item.as_value() {
            *new.decor_mut() = old.decor().clone();
        }
        *item = Item::Value(new);
    }
}

/// Returns whether a value is already the one to set, however it is laid out.
fn is_toml(item: &Item, field: &FieldValue) -> bool {
    match field {
        FieldValue::Text(text) => item.as_str() == Some(text),
        FieldValue::Bool(value) => item.as_bool() == Some(*value),
        FieldValue::Number(number) => item.as_integer() == Some(i64::from(*number)),
        FieldValue::List(texts) => item.as_array().is_some_and(|array| {
            array.len() == texts.len()
                && array
                    .iter()
                    .zip(texts)
                    .all(|(value, text)| value.as_str() == Some(text))
        }),
        FieldValue::Map(_) => false,
    }
}

#[cfg(test)]
mod tests;
