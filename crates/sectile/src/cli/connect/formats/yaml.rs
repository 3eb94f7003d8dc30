//! Edits of YAML, line by line: an edit is made only if parsing the result shows that nothing else has changed.

use std::ops::Range;

use sectile_markdown::{Mapping, Value, parse_ignoring_tags};

use super::ClientFileError;
use crate::cli::connect::entry::{EntryFields, EntryTarget, FieldValue};

const EXTENSIONS: &str = "extensions";
const SERVERS: &str = "mcpServers";

/// Returns the file of Goose with the extension added or replaced.
pub(super) fn insert(
    text: &str,
    name: &str,
    fields: &EntryFields,
) -> Result<String, ClientFileError> {
    let before = parse(text)?;
    let expected = value_of(fields);
    if extension(&before, name).is_some_and(|old| holds(old, &expected)) {
        return Ok(text.to_owned());
    }
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let indent;
    let mut new = String::new();
    let place = match block(&lines)? {
        Some(found) => {
            indent = found.indent;
            match found.child(&lines, name) {
                Some(child) => child,
                None => found.end..found.end,
            }
        }
        // An empty mapping is written on one line.
        None if has_empty_extensions(&before) => {
            indent = 2;
            let position = lines
                .iter()
                .position(|line| line.trim_end() == "extensions: {}")
                .ok_or(ClientFileError::NotPlaceable)?;
            new += "extensions:\n";
            position..position + 1
        }
        None => {
            indent = 2;
            new += "extensions:\n";
            lines.len()..lines.len()
        }
    };
    let needs_line_end = place.start > 0 && !lines[place.start - 1].ends_with('\n');
    if needs_line_end {
        new.insert(0, '\n');
    }
    new += &format!("{}{}:\n", " ".repeat(indent), quoted(name));
    write_fields(&mut new, fields, indent + 2);
    lines.splice(place, [new.as_str()]);
    let after = lines.concat();
    check(&before, &parse(&after)?, name, Some(&expected))?;
    Ok(after)
}

/// Returns the file of Goose without the extension.
pub(super) fn remove(text: &str, name: &str) -> Result<String, ClientFileError> {
    let before = parse(text)?;
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(found) = block(&lines)? else {
        return Ok(text.to_owned());
    };
    let Some(child) = found.child(&lines, name) else {
        return Err(ClientFileError::NotPlaceable);
    };
    lines.drain(child);
    let after = lines.concat();
    check(&before, &parse(&after)?, name, None)?;
    Ok(after)
}

/// Returns the extensions of Goose.
pub(super) fn entries(text: &str) -> Result<Vec<(String, EntryTarget)>, ClientFileError> {
    let extensions = match parse(text)?.get(EXTENSIONS) {
        Some(Value::Map(extensions)) => extensions.clone(),
        Some(Value::Null) | None => return Ok(Vec::new()),
        Some(_) => return Err(ClientFileError::NotServers(EXTENSIONS)),
    };
    let entries = extensions
        .iter()
        .map(|(name, extension)| (name.to_owned(), target(extension, "cmd", "uri")));
    Ok(entries.collect())
}

/// Returns the file of Continue for one server. A file with anything else in it is not replaced.
pub(super) fn own_file(
    text: &str,
    name: &str,
    fields: &EntryFields,
) -> Result<String, ClientFileError> {
    if !text.trim().is_empty() {
        check_own(text)?;
        if let Some(Value::List(servers)) = parse(text)?.get(SERVERS)
            && servers.iter().any(|old| holds(old, &value_of(fields)))
        {
            return Ok(text.to_owned());
        }
    }
    let mut new = format!(
        "name: {}\nversion: 0.0.1\nschema: v1\nmcpServers:\n",
        quoted(name)
    );
    let mut server = String::new();
    write_fields(&mut server, fields, 4);
    new += "  - ";
    new += server.trim_start();
    parse(&new)?;
    Ok(new)
}

/// Refuses a file of Continue with more in it than one server.
pub(super) fn check_own(text: &str) -> Result<(), ClientFileError> {
    let is_ours = |name| ["name", "version", "schema", SERVERS].contains(&name);
    let is_alone = parse(text)?.iter().all(|(name, _)| is_ours(name));
    match is_alone && own_entries(text)?.len() == 1 {
        true => Ok(()),
        false => Err(ClientFileError::NotPlaceable),
    }
}

/// Returns the servers in a file of Continue.
pub(super) fn own_entries(text: &str) -> Result<Vec<(String, EntryTarget)>, ClientFileError> {
    let document = parse(text)?;
    let Some(Value::List(servers)) = document.get(SERVERS) else {
        return Ok(Vec::new());
    };
    let entries = servers.iter().map(|server| {
        let name = match server {
            Value::Map(server) => server.get("name"),
            _ => None,
        };
        let name = match name {
            Some(Value::String(name)) => name.clone(),
            _ => String::new(),
        };
        (name, target(server, "command", "url"))
    });
    Ok(entries.collect())
}

fn target(server: &Value, command_key: &str, url_key: &str) -> EntryTarget {
    let Value::Map(server) = server else {
        return EntryTarget::Other;
    };
    if let Some(Value::String(url)) = server.get(url_key) {
        return EntryTarget::Url(url.clone());
    }
    let Some(Value::String(program)) = server.get(command_key) else {
        return EntryTarget::Other;
    };
    let arguments = match server.get("args") {
        Some(Value::List(arguments)) => arguments.as_slice(),
        _ => &[],
    };
    let arguments = arguments.iter().filter_map(|argument| match argument {
        Value::String(text) => Some(text.clone()),
        _ => None,
    });
    EntryTarget::Command {
        program: program.clone(),
        arguments: arguments.collect(),
    }
}

fn extension<'a>(document: &'a Mapping, name: &str) -> Option<&'a Value> {
    match document.get(EXTENSIONS) {
        Some(Value::Map(extensions)) => extensions.get(name),
        _ => None,
    }
}

/// Returns whether an entry has all of the expected fields; people may have added others.
fn holds(entry: &Value, expected: &Value) -> bool {
    match (entry, expected) {
        (Value::Map(entry), Value::Map(expected)) => expected
            .iter()
            .all(|(name, expected)| entry.get(name).is_some_and(|value| holds(value, expected))),
        _ => entry == expected,
    }
}

fn parse(text: &str) -> Result<Mapping, ClientFileError> {
    match parse_ignoring_tags(text) {
        Ok(Value::Map(document)) => Ok(document),
        Ok(Value::Null) => Ok(Mapping::default()),
        Ok(_) => Err(ClientFileError::NotSettings),
        Err(error) => Err(ClientFileError::Syntax {
            format: "YAML",
            line: Some(error.line),
        }),
    }
}

fn has_empty_extensions(document: &Mapping) -> bool {
    document
        .get(EXTENSIONS)
        .is_some_and(|value| matches!(value, Value::Map(all) if all.iter().next().is_none()))
}

/// The lines below `extensions:`.
struct ExtensionLines {
    start: usize,
    /// The line after the last one with content.
    end: usize,
    /// The spaces before each name.
    indent: usize,
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns whether a line has more than a comment.
fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// Finds the lines of a block mapping `extensions`; `None` if no line begins one.
fn block(lines: &[&str]) -> Result<Option<ExtensionLines>, ClientFileError> {
    let begins = |line: &&str| {
        line.strip_prefix("extensions:").is_some_and(|rest| {
            let rest = rest.trim();
            rest.is_empty() || rest.starts_with('#')
        })
    };
    let Some(position) = lines.iter().position(begins) else {
        return Ok(None);
    };
    let start = position + 1;
    let inside = |line: &&&str| !has_content(line) || indent_of(line) > 0;
    let count = lines[start..].iter().take_while(inside).count();
    let last = lines[start..start + count]
        .iter()
        .rposition(|line| has_content(line));
    let end = last.map_or(start, |last| start + last + 1);
    let first = lines[start..end].iter().find(|line| has_content(line));
    let indent = first.map_or(2, |line| indent_of(line));
    // A tab, which YAML does not take for an indent.
    if lines[start..end].iter().any(|line| line.starts_with('\t')) {
        return Err(ClientFileError::NotPlaceable);
    }
    Ok(Some(ExtensionLines { start, end, indent }))
}

impl ExtensionLines {
    /// Finds the lines of an extension.
    fn child(&self, lines: &[&str], name: &str) -> Option<Range<usize>> {
        let names = [
            format!("{name}:"),
            format!("{}:", quoted(name)),
            format!("'{name}':"),
        ];
        let is_child = |line: &&str| {
            indent_of(line) == self.indent && names.iter().any(|name| line.trim() == name)
        };
        let position = lines[self.start..self.end].iter().position(is_child)?;
        let start = self.start + position;
        let inside = |line: &&&str| !has_content(line) || indent_of(line) > self.indent;
        let count = lines[start + 1..self.end].iter().take_while(inside).count();
        let body = &lines[start + 1..start + 1 + count];
        let last = body.iter().rposition(|line| has_content(line));
        Some(start..start + 1 + last.map_or(0, |last| last + 1))
    }
}

/// Refuses an edit after which anything but the extension `name` differs.
fn check(
    before: &Mapping,
    after: &Mapping,
    name: &str,
    expected: Option<&Value>,
) -> Result<(), ClientFileError> {
    let others = |document: &Mapping| -> Mapping {
        document
            .iter()
            .filter(|(key, _)| *key != EXTENSIONS)
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    };
    let extensions = |document: &Mapping| -> Option<Mapping> {
        match document.get(EXTENSIONS) {
            Some(Value::Map(all)) => {
                let others = all.iter().filter(|(key, _)| *key != name);
                Some(
                    others
                        .map(|(key, value)| (key.to_owned(), value.clone()))
                        .collect(),
                )
            }
            Some(Value::Null) | None => Some(Mapping::default()),
            Some(_) => None,
        }
    };
    let is_as_meant = others(before) == others(after)
        && extensions(before).is_some()
        && extensions(before) == extensions(after)
        && extension(after, name) == expected;
    match is_as_meant {
        true => Ok(()),
        false => Err(ClientFileError::NotPlaceable),
    }
}

fn value_of(fields: &EntryFields) -> Value {
    let value = |field: &FieldValue| match field {
        FieldValue::Text(text) => Value::String(text.clone()),
        FieldValue::Bool(value) => Value::Bool(*value),
        FieldValue::Number(number) => Value::Number(f64::from(*number)),
        FieldValue::List(texts) => Value::List(texts.iter().cloned().map(Value::String).collect()),
        FieldValue::Map(fields) => value_of(fields),
    };
    let fields = fields
        .iter()
        .map(|(name, field)| (name.clone(), value(field)));
    Value::Map(fields.collect())
}

/// Returns a string in double quotes, unless it is a plain word that YAML cannot take for anything else.
fn quoted(text: &str) -> String {
    let is_plain = text.starts_with("sectile-")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match is_plain {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

fn write_fields(output: &mut String, fields: &EntryFields, indent: usize) {
    let spaces = " ".repeat(indent);
    for (name, field) in fields {
        match field {
            FieldValue::Text(text) => *output += &format!("{spaces}{name}: {}\n", quoted(text)),
            FieldValue::Bool(value) => *output += &format!("{spaces}{name}: {value}\n"),
            FieldValue::Number(number) => *output += &format!("{spaces}{name}: {number}\n"),
            FieldValue::List(texts) => {
                *output += &format!("{spaces}{name}:\n");
                for text in texts {
                    *output += &format!("{spaces}  - {}\n", quoted(text));
                }
            }
            FieldValue::Map(fields) => {
                *output += &format!("{spaces}{name}:\n");
                write_fields(output, fields, indent + 2);
            }
        }
    }
}
