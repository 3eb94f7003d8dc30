//! Merges defaults, file, environment and flags, and keeps the origin of every value.

mod spots;

use std::{cell::LazyCell, collections::BTreeMap, path::Path};

use toml::{Table, Value};

use self::spots::{FilePositions, joined};
use super::{
    ConfigKey,
    keys::{ValueKind, keys},
    raw::RawConfig,
};
use crate::{
    files,
    settings::{
        ConfigError, ConfigErrors, SettingsReader, ValueOrigin, ValueOrigins, looks_like_a_setting,
        nearest, overrides, variable_name,
    },
};

/// A string given on the command line, for a setting that takes one.
pub(crate) struct Flag {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) name: &'static str,
}

/// The settings of all layers as written, without the values that are wrong.
#[derive(Debug)]
pub(crate) struct LoadedConfig {
    pub(crate) raw: RawConfig,
    values: BTreeMap<String, Value>,
    pub(super) origins: ValueOrigins,
    pub(super) mistakes: ConfigErrors,
    /// Variables with our prefix that are not settings and do not look like one either.
    stray_variables: Vec<String>,
}

impl LoadedConfig {
    /// Returns the origin of the setting at `path`.
    pub(crate) fn origin(&self, path: &str) -> ValueOrigin {
        self.origins.of(path)
    }

    /// Returns the reader that checks sections. Paths in a settings file are relative to its folder, `base`.
    pub(super) fn reader<'a>(&'a self, base: &'a Path) -> SettingsReader<'a> {
        SettingsReader {
            origins: &self.origins,
            base,
            max_note_bytes: self.raw.worlds.vault.max_note_bytes,
        }
    }

    /// Returns the value of `key` as TOML.
    pub(crate) fn value(&self, key: &ConfigKey) -> String {
        match self.values.get(&key.path) {
            Some(value) => value.to_string(),
            None => key.default.to_string(),
        }
    }

    /// Returns the value of `key` as JSON.
    pub(crate) fn json_value(&self, key: &ConfigKey) -> serde_json::Value {
        let set = self.values.get(&key.path);
        set.and_then(|value| serde_json::to_value(value).ok())
            .unwrap_or_else(|| key.default.clone())
    }

    /// Returns a sentence about oddities that do no harm, if there are any.
    pub(crate) fn warning(&self) -> Option<String> {
        match self.stray_variables.is_empty() {
            true => None,
            false => warning_about(&self.stray_variables, &known_variables()),
        }
    }
}

/// Returns a sentence about variables with our prefix that are not settings, if there are any, for a command that reads no
/// settings and so refuses none.
pub(crate) fn variable_warning() -> Option<String> {
    let mut names: Vec<String> = overrides().into_iter().map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    let known = known_variables();
    names.retain(|name| !known.contains(name));
    warning_about(&names, &known)
}

fn known_variables() -> Vec<String> {
    keys().iter().map(|key| variable_name(&key.path)).collect()
}

fn warning_about(names: &[String], known: &[String]) -> Option<String> {
    let said = names
        .iter()
        .map(|name| match nearest_variable(name, known) {
            Some(meant) => format!("{name} (did you mean {meant}?)"),
            None => name.clone(),
        });
    let said = said.collect::<Vec<_>>().join(", ");
    (!said.is_empty()).then(|| format!("variables that are not settings are ignored: {said}"))
}

/// Reads all layers. `file` must exist when given.
pub(crate) fn load(file: Option<&Path>, flags: &[Flag]) -> Result<LoadedConfig, ConfigErrors> {
    let loaded = load_for_all_mistakes(file, flags)?;
    match loaded.mistakes.is_empty() {
        true => Ok(loaded),
        false => Err(ConfigErrors::default().after(&loaded.mistakes)),
    }
}

/// Like [`load`], for [`Settings::resolve`](super::Settings::resolve), which reports all mistakes at once: mistakes found
/// here are kept, and only an unreadable file is an error.
pub(crate) fn load_for_all_mistakes(
    file: Option<&Path>,
    flags: &[Flag],
) -> Result<LoadedConfig, ConfigErrors> {
    load_with(file, &overrides(), flags)
}

pub(super) fn load_with(
    file: Option<&Path>,
    environment: &[(String, String)],
    flags: &[Flag],
) -> Result<LoadedConfig, ConfigErrors> {
    // Building the table of keys takes longer than the rest of a start without a file.
    let keys = LazyCell::new(keys);
    let mut found = FoundValues::default();
    if let Some(path) = file {
        found.read_file(path, &keys)?;
    }
    let mut stray_variables = Vec::new();
    for (name, text) in environment {
        match keys.iter().find(|key| variable_name(&key.path) == *name) {
            Some(key) => found.put_text(key, text, &ValueOrigin::Environment(name.clone())),
            // A service manager may have set it: Kubernetes sets SECTILE_PORT for a service named `sectile`.
            None if !looks_like_a_setting(name) => stray_variables.push(name.clone()),
            None => {
                let known: Vec<String> = keys.iter().map(|key| variable_name(&key.path)).collect();
                found.mistakes.add(ConfigError::UnknownKey {
                    origin: ValueOrigin::Environment("environment".to_owned()),
                    key: name.clone(),
                    nearest: nearest(name, known.iter().map(String::as_str)),
                });
            }
        }
    }
    for flag in flags {
        let value = Value::String(flag.value.clone());
        found
            .values
            .insert(flag.key.to_owned(), (value, ValueOrigin::Flag(flag.name)));
    }
    let raw = to_raw(&found.values);
    let parted = |(path, (value, origin)): (String, _)| ((path.clone(), value), (path, origin));
    let (values, settings) = found.values.into_iter().map(parted).unzip();
    Ok(LoadedConfig {
        raw,
        values,
        origins: ValueOrigins {
            settings,
            entries: found.spots.entries,
        },
        mistakes: found.mistakes,
        stray_variables,
    })
}

/// Returns the known names at the same level as `path`, as candidates for a suggestion; the sections that contain it are
/// not among them.
fn beside<'a>(path: &str, known: &'a [String]) -> impl Iterator<Item = &'a str> {
    let known = known.iter().map(String::as_str);
    known.filter(move |known| {
        let rest = path.strip_prefix(known);
        !rest.is_some_and(|rest| rest.starts_with('.'))
    })
}

type Values = BTreeMap<String, (Value, ValueOrigin)>;

/// Returns the setting that a variable without `__` most likely stands for: one that differs in underscores alone.
fn nearest_variable<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let letters = |name: &str| name.replace('_', "");
    known.iter().find(|known| letters(known) == letters(name))
}

/// The values and mistakes collected from the layers read so far.
#[derive(Default)]
struct FoundValues {
    values: Values,
    spots: FilePositions,
    mistakes: ConfigErrors,
}

impl FoundValues {
    fn read_file(&mut self, path: &Path, keys: &[ConfigKey]) -> Result<(), ConfigErrors> {
        let file = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        let text = files::read_text(path)
            .map_err(|error| ConfigError::Unreadable {
                file: file.clone(),
                reason: files::reason(error.kind()),
            })?
            .ok_or_else(|| ConfigError::NoFile { file: file.clone() })?;
        self.spots = FilePositions::read(&file, &text)?;
        let table: Table = text
            .parse()
            .map_err(|error| self.spots.syntax(&text, &error))?;
        self.flatten("", table, keys);
        Ok(())
    }

    fn flatten(&mut self, prefix: &str, table: Table, keys: &[ConfigKey]) {
        for (name, value) in table {
            let path = joined(prefix, &name);
            if let Some(key) = keys.iter().find(|key| key.path == path) {
                let origin = self.spots.value(&path);
                self.put(key, value, &origin);
                continue;
            }
            let is_section = keys
                .iter()
                .any(|key| key.path.starts_with(&format!("{path}.")));
            match value {
                Value::Table(inner) if is_section => self.flatten(&path, inner, keys),
                _ if is_section => self.mistakes.add(ConfigError::WrongValue {
                    origin: self.spots.key(&path),
                    expected: format!("a section, written as [{path}]"),
                    key: path,
                }),
                _ => self.mistakes.add(ConfigError::UnknownKey {
                    origin: self.spots.key(&path),
                    nearest: nearest(&path, beside(&path, &known_paths(keys))),
                    key: path,
                }),
            }
        }
    }

    fn put_text(&mut self, key: &ConfigKey, text: &str, origin: &ValueOrigin) {
        let value = match &key.kind {
            ValueKind::Text | ValueKind::OneOf(_) | ValueKind::Tables(_) | ValueKind::Named(_) => {
                Value::String(text.to_owned())
            }
            ValueKind::Switch => match text.trim().parse() {
                Ok(switch) => Value::Boolean(switch),
                Err(_) => Value::String(text.to_owned()),
            },
            ValueKind::Integer { .. } => match text.trim().parse() {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::String(text.to_owned()),
            },
            ValueKind::Texts => {
                let items = text
                    .split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty());
                Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
            }
        };
        self.put(key, value, origin);
    }

    fn put(&mut self, key: &ConfigKey, value: Value, origin: &ValueOrigin) {
        if let (ValueKind::Tables(inner), Value::Array(items)) = (&key.kind, &value)
            && items.iter().all(Value::is_table)
        {
            let tables = items.iter().filter_map(Value::as_table).enumerate();
            let wrong = tables
                .filter(|(index, table)| !self.check_table(key, *index, table, inner))
                .count();
            if wrong > 0 {
                return;
            }
        } else if let (ValueKind::Named(inner), Value::Table(named)) = (&key.kind, &value) {
            let wrong = named
                .iter()
                .filter(|(name, value)| !self.check_named(key, name, value, inner))
                .count();
            if wrong > 0 {
                return;
            }
            self.spots.keep_below(&key.path);
        } else if !fits(&key.kind, &value) {
            let mut expected = key.kind.describe();
            if matches!(key.kind, ValueKind::Tables(_)) {
                expected += &format!(" in the settings file, each headed [[{}]]", key.path);
            } else if matches!(key.kind, ValueKind::Named(_)) {
                expected += &format!(" in the settings file, in the section [{}]", key.path);
            }
            return self.mistakes.add(ConfigError::WrongValue {
                origin: origin.clone(),
                key: key.path.clone(),
                expected,
            });
        }
        self.values
            .insert(key.path.clone(), (value, origin.clone()));
    }

    /// Checks one value under a name that the user chose. Returns `true` if it is valid.
    fn check_named(
        &mut self,
        key: &ConfigKey,
        name: &str,
        value: &Value,
        known: &[ConfigKey],
    ) -> bool {
        let place = joined(&key.path, name);
        let table = match value {
            Value::String(_) => return true,
            Value::Table(table) => table,
            _ => {
                self.mistakes.add(ConfigError::WrongValue {
                    origin: self.spots.value(&place),
                    expected: format!("a string in quotes, or a table headed [{place}]"),
                    key: place,
                });
                return false;
            }
        };
        let mut is_right = true;
        for (name, value) in table {
            let path = joined(&key.path, name);
            let place = joined(&place, name);
            match known.iter().find(|known| known.path == path) {
                Some(known) if fits(&known.kind, value) => continue,
                Some(known) => self.mistakes.add(ConfigError::WrongValue {
                    origin: self.spots.value(&place),
                    key: place,
                    expected: known.kind.describe(),
                }),
                None => {
                    let names = known
                        .iter()
                        .filter_map(|known| known.path.rsplit('.').next());
                    self.mistakes.add(ConfigError::UnknownKey {
                        origin: self.spots.key(&place),
                        nearest: nearest(name, names),
                        key: place,
                    });
                }
            }
            is_right = false;
        }
        is_right
    }

    /// Checks one table of the list `key`. Returns `true` if it is valid.
    fn check_table(
        &mut self,
        key: &ConfigKey,
        index: usize,
        table: &Table,
        known: &[ConfigKey],
    ) -> bool {
        let mut is_right = true;
        for (name, value) in table {
            let path = joined(&key.path, name);
            let place = format!("{}.{index}.{name}", key.path);
            match known.iter().find(|known| known.path == path) {
                Some(known) if fits(&known.kind, value) => continue,
                Some(known) => self.mistakes.add(ConfigError::WrongValue {
                    origin: self.spots.value(&place),
                    key: path,
                    expected: format!("{} (table {})", known.kind.describe(), index + 1),
                }),
                None => self.mistakes.add(ConfigError::UnknownKey {
                    origin: self.spots.key(&place),
                    nearest: nearest(&path, known.iter().map(|known| known.path.as_str())),
                    key: path,
                }),
            }
            is_right = false;
        }
        is_right
    }
}

/// Returns the paths of all settings and of the sections that contain them.
fn known_paths(keys: &[ConfigKey]) -> Vec<String> {
    let with_sections = |key: &ConfigKey| {
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

/// Returns whether a value other than a list of tables is of this kind.
fn fits(kind: &ValueKind, value: &Value) -> bool {
    match (kind, value) {
        (ValueKind::Text, Value::String(_)) | (ValueKind::Switch, Value::Boolean(_)) => true,
        (ValueKind::OneOf(words), Value::String(word)) => words.contains(word),
        (ValueKind::Integer { min, max }, Value::Integer(number)) => (min..=max).contains(&number),
        (ValueKind::Texts, Value::Array(items)) => items.iter().all(Value::is_str),
        _ => false,
    }
}

/// Returns the typed form of checked values. The table of keys is derived from the same types, so every value fits; a test
/// keeps the two in step.
fn to_raw(values: &Values) -> RawConfig {
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
