//! Positions of keys and values in a settings file.

use std::collections::BTreeMap;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::settings::{ConfigError, ConfigErrors, FilePosition, ValueOrigin};

/// Lines and columns of everything in one file, by path: `server.tools.denylist.0`.
#[derive(Default)]
pub(super) struct FilePositions {
    file: String,
    keys: BTreeMap<String, FilePosition>,
    values: BTreeMap<String, FilePosition>,
    /// Values that are entries of lists, or that have names chosen by the user.
    pub(super) entries: BTreeMap<String, FilePosition>,
}

impl FilePositions {
    /// Scans a whole file. If it is not valid TOML, reports one error for every line with a mistake.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, ConfigErrors> {
        let mut spots = Self {
            file: file.to_owned(),
            ..Self::default()
        };
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let mut mistakes: Vec<ConfigError> = errors
                .iter()
                .map(|error| spots.syntax(text, error))
                .collect();
            // One mistake may confuse the parser more than once.
            let line = |mistake: &ConfigError| match mistake {
                ConfigError::Syntax { origin, .. } => origin.position().map(|(line, _)| line),
                _ => None,
            };
            mistakes.sort_by_key(line);
            mistakes.dedup_by_key(|mistake| line(mistake));
            return Err(mistakes.into_iter().collect());
        }
        let lines = LineTable::of(text);
        spots.add_table("", table.get_ref(), &lines);
        Ok(spots)
    }

    /// Converts an error of the TOML parser.
    pub(super) fn syntax(&self, text: &str, error: &toml::de::Error) -> ConfigError {
        let offset = error.span().map_or(0, |span| span.start);
        ConfigError::Syntax {
            origin: ValueOrigin::File(LineTable::of(text).spot(&self.file, offset)),
            message: error.message().replace('\n', " "),
        }
    }

    /// Returns the position of the key at `path`.
    pub(super) fn key(&self, path: &str) -> ValueOrigin {
        self.origin(self.keys.get(path))
    }

    /// Returns the position of the value at `path`.
    pub(super) fn value(&self, path: &str) -> ValueOrigin {
        self.origin(self.values.get(path))
    }

    /// Keeps the positions of everything below `path` as entries.
    pub(super) fn keep_below(&mut self, path: &str) {
        let prefix = format!("{path}.");
        let below = self.values.range(prefix.clone()..);
        let below = below.take_while(|(path, _)| path.starts_with(&prefix));
        let below = below.map(|(path, spot)| (path.clone(), spot.clone()));
        self.entries.extend(below);
    }

    fn origin(&self, spot: Option<&FilePosition>) -> ValueOrigin {
        // Everything that was parsed has a position; the start of the file is a fallback that misleads nobody.
        ValueOrigin::File(spot.cloned().unwrap_or_else(|| FilePosition {
            file: self.file.clone(),
            line: 1,
            column: 1,
        }))
    }

    fn add_table(&mut self, prefix: &str, table: &DeTable<'_>, lines: &LineTable<'_>) {
        for (key, value) in table.iter() {
            let path = joined(prefix, key.get_ref());
            let spot = lines.spot(&self.file, key.span().start);
            self.keys.insert(path.clone(), spot);
            self.add_value(&path, value, lines);
        }
    }

    fn add_value(&mut self, path: &str, value: &Spanned<DeValue<'_>>, lines: &LineTable<'_>) {
        let spot = lines.spot(&self.file, value.span().start);
        self.values.insert(path.to_owned(), spot);
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(path, table, lines),
            DeValue::Array(array) => {
                for (index, value) in array.iter().enumerate() {
                    let path = format!("{path}.{index}");
                    let spot = lines.spot(&self.file, value.span().start);
                    self.entries.insert(path.clone(), spot);
                    self.add_value(&path, value, lines);
                }
            }
            _ => {}
        }
    }
}

/// Returns the path of `name` in the section `prefix`.
pub(super) fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// A file's text with an index of its lines.
struct LineTable<'a> {
    text: &'a str,
    /// Byte offset of the start of each line.
    starts: Vec<usize>,
}

impl<'a> LineTable<'a> {
    fn of(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(end, _)| end + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    fn spot(&self, file: &str, offset: usize) -> FilePosition {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let before = self.text.get(start..offset).unwrap_or_default();
        FilePosition {
            file: file.to_owned(),
            line,
            column: before.chars().count() + 1,
        }
    }
}
