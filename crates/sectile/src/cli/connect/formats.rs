//! Edits of a client's file that keep every byte they are not asked to change.

mod yaml;

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstRootNode},
};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value, value};

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
            Self::Continue => Ok(String::new()),
        })
    }

    /// Returns the servers in `text`, by name. Entries that are neither a command nor a URL are left out.
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

fn parse_json(text: &str) -> Result<CstRootNode, ClientFileError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| ClientFileError::Syntax {
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
    let not_servers = || ClientFileError::NotServers(key);
    let object = root.object_value().ok_or_else(not_servers)?;
    match object.get(key) {
        Some(servers) => servers.object_value().ok_or_else(not_servers).map(Some),
        None => Ok(None),
    }
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
    let entry = |property: jsonc_parser::cst::CstObjectProp| {
        let name = property.name()?.decoded_value().ok()?;
        let server = property.object_value()?;
        let mut urls = ["url", "httpUrl", "serverUrl"].iter();
        if let Some(url) = urls.find_map(|key| text_of(&server, key)) {
            return Some((name, EntryTarget::Url(url)));
        }
        let program = text_of(&server, "command")?;
        let elements = server.array_value("args").map(|args| args.elements());
        let arguments = elements.unwrap_or_default().into_iter();
        let arguments = arguments.filter_map(|node| node.as_string_lit()?.decoded_value().ok());
        let arguments = arguments.collect();
        Some((name, EntryTarget::Command { program, arguments }))
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
    let entry = |(name, server): (&str, &Item)| {
        if let Some(url) = server.get("url").and_then(Item::as_str) {
            return Some((name.to_owned(), EntryTarget::Url(url.to_owned())));
        }
        let program = server.get("command")?.as_str()?.to_owned();
        let arguments = server.get("args").and_then(Item::as_array);
        let arguments = arguments.map(|all| all.iter().filter_map(Value::as_str));
        let arguments = arguments.into_iter().flatten().map(str::to_owned).collect();
        Some((name.to_owned(), EntryTarget::Command { program, arguments }))
    };
    Ok(servers.iter().filter_map(entry).collect())
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
    match servers.get(name) {
        Some(property) => property.set_value(json_object(fields)),
        None => {
            servers.append(name, json_object(fields));
        }
    }
    Ok(root.to_string())
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

#[cfg(test)]
mod tests;
