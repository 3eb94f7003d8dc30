//! Defaults, file, environment and flags on top of each other, with the origin of every value.

use std::{cell::LazyCell, collections::BTreeMap, fmt, path::Path};

use toml::{Table, Value};

use super::{
    ConfigError, Key, env,
    error::nearest,
    keys::{Kind, keys},
    raw::Raw,
};
use crate::files;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// Name of the settings file, without its folder.
    File(String),
    /// Name of the environment variable.
    Environment(String),
    /// Name of the command line flag or argument.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(name) => f.write_str(name),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A text given on the command line, for a setting that takes text.
pub(crate) struct Flag {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) name: &'static str,
}

/// The settings as written, from all layers.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) raw: Raw,
    values: BTreeMap<String, (Value, Origin)>,
}

impl Loaded {
    /// The origin of the setting at `path`.
    pub(crate) fn origin(&self, path: &str) -> Origin {
        self.values
            .get(path)
            .map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// The value of `key` as TOML.
    pub(crate) fn value(&self, key: &Key) -> String {
        match self.values.get(&key.path) {
            Some((value, _)) => value.to_string(),
            None => key.default.to_string(),
        }
    }
}

/// Reads all layers. `file` must exist when given.
pub(crate) fn load(file: Option<&Path>, flags: &[Flag]) -> Result<Loaded, ConfigError> {
    load_with(file, &env::overrides(), flags)
}

pub(super) fn load_with(
    file: Option<&Path>,
    environment: &[(String, String)],
    flags: &[Flag],
) -> Result<Loaded, ConfigError> {
    let mut values = BTreeMap::new();
    // The table of keys takes longer to make than the rest of a start without a file.
    let keys = LazyCell::new(keys);
    if let Some(path) = file {
        read_file(path, &keys, &mut values)?;
    }
    for (name, text) in environment {
        let key = keys
            .iter()
            .find(|key| env::variable(&key.path) == *name)
            .ok_or_else(|| {
                let known: Vec<String> = keys.iter().map(|key| env::variable(&key.path)).collect();
                ConfigError::UnknownKey {
                    origin: Origin::Environment("environment".to_owned()),
                    key: name.clone(),
                    nearest: nearest(name, known.iter().map(String::as_str)),
                }
            })?;
        put_text(key, text, &Origin::Environment(name.clone()), &mut values)?;
    }
    for flag in flags {
        let value = Value::String(flag.value.clone());
        values.insert(flag.key.to_owned(), (value, Origin::Flag(flag.name)));
    }
    Ok(Loaded {
        raw: to_raw(&values),
        values,
    })
}

type Values = BTreeMap<String, (Value, Origin)>;

fn read_file(path: &Path, keys: &[Key], values: &mut Values) -> Result<(), ConfigError> {
    let file = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    let text = files::read_text(path)
        .map_err(|error| ConfigError::Unreadable {
            file: file.clone(),
            kind: error.kind(),
        })?
        .ok_or_else(|| ConfigError::NoFile { file: file.clone() })?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..offset]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        ConfigError::Syntax {
            file: file.clone(),
            line,
            message: error.message().replace('\n', " "),
        }
    })?;
    flatten("", table, keys, &Origin::File(file), values)
}

fn flatten(
    prefix: &str,
    table: Table,
    keys: &[Key],
    origin: &Origin,
    values: &mut Values,
) -> Result<(), ConfigError> {
    for (name, value) in table {
        let path = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}.{name}")
        };
        if let Some(key) = keys.iter().find(|key| key.path == path) {
            put(key, value, origin, values)?;
            continue;
        }
        let is_section = keys
            .iter()
            .any(|key| key.path.starts_with(&format!("{path}.")));
        match value {
            Value::Table(inner) if is_section => flatten(&path, inner, keys, origin, values)?,
            _ if is_section => {
                return Err(ConfigError::WrongValue {
                    origin: origin.clone(),
                    expected: format!("a section, written as [{path}]"),
                    key: path,
                });
            }
            _ => {
                return Err(ConfigError::UnknownKey {
                    origin: origin.clone(),
                    nearest: nearest(&path, known_paths(keys).iter().map(String::as_str)),
                    key: path,
                });
            }
        }
    }
    Ok(())
}

/// Settings and the sections they stand in.
fn known_paths(keys: &[Key]) -> Vec<String> {
    let with_sections = |key: &Key| {
        let ends = key
            .path
            .match_indices('.')
            .map(|(end, _)| end)
            .chain([key.path.len()]);
        ends.map(|end| key.path[..end].to_owned())
            .collect::<Vec<_>>()
    };
    keys.iter().flat_map(with_sections).collect()
}

fn put_text(
    key: &Key,
    text: &str,
    origin: &Origin,
    values: &mut Values,
) -> Result<(), ConfigError> {
    let value = match &key.kind {
        Kind::Text | Kind::OneOf(_) | Kind::Tables(_) => Value::String(text.to_owned()),
        Kind::Switch => match text.trim().parse() {
            Ok(switch) => Value::Boolean(switch),
            Err(_) => Value::String(text.to_owned()),
        },
        Kind::Integer { .. } => match text.trim().parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::String(text.to_owned()),
        },
        Kind::Texts => {
            let items = text
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
    };
    put(key, value, origin, values)
}

fn put(key: &Key, value: Value, origin: &Origin, values: &mut Values) -> Result<(), ConfigError> {
    if let (Kind::Tables(inner), Value::Array(items)) = (&key.kind, &value)
        && items.iter().all(Value::is_table)
    {
        let tables = items.iter().filter_map(Value::as_table);
        tables
            .enumerate()
            .try_for_each(|(index, table)| check_table(key, index, table, inner, origin))?;
    } else if !fits(&key.kind, &value) {
        let mut expected = key.kind.describe();
        if matches!(key.kind, Kind::Tables(_)) {
            expected += &format!(" in the settings file, each headed [[{}]]", key.path);
        }
        return Err(ConfigError::WrongValue {
            origin: origin.clone(),
            key: key.path.clone(),
            expected,
        });
    }
    values.insert(key.path.clone(), (value, origin.clone()));
    Ok(())
}

/// Checks one table of the list `key`.
fn check_table(
    key: &Key,
    index: usize,
    table: &Table,
    known: &[Key],
    origin: &Origin,
) -> Result<(), ConfigError> {
    for (name, value) in table {
        let path = format!("{}.{name}", key.path);
        let Some(known) = known.iter().find(|known| known.path == path) else {
            return Err(ConfigError::UnknownKey {
                origin: origin.clone(),
                nearest: nearest(&path, known.iter().map(|known| known.path.as_str())),
                key: path,
            });
        };
        if !fits(&known.kind, value) {
            return Err(ConfigError::WrongValue {
                origin: origin.clone(),
                key: path,
                expected: format!("{} (table {})", known.kind.describe(), index + 1),
            });
        }
    }
    Ok(())
}

/// Whether a value, which is no list of tables, is of this kind.
fn fits(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Switch, Value::Boolean(_)) => true,
        (Kind::OneOf(words), Value::String(word)) => words.contains(word),
        (Kind::Integer { min, max }, Value::Integer(number)) => (min..=max).contains(&number),
        (Kind::Texts, Value::Array(items)) => items.iter().all(Value::is_str),
        _ => false,
    }
}

/// The typed form of checked values. The table of keys comes from the same types, so nothing can be left that does not
/// fit; a test holds the two together.
fn to_raw(values: &Values) -> Raw {
    let mut root = Table::new();
    for (path, (value, _)) in values {
        let mut table = &mut root;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                table.insert(part.to_owned(), value.clone());
                break;
            }
            let inner = table
                .entry(part)
                .or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(inner) = inner else { break };
            table = inner;
        }
    }
    root.try_into()
        .expect("checked values fit the types that the table of keys was made from")
}
