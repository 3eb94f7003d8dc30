//! The origins of values.

use std::{collections::BTreeMap, fmt};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueOrigin {
    Default,
    /// A settings file.
    File(FilePosition),
    /// Name of the environment variable.
    Environment(String),
    /// Name of the command line flag or argument.
    Flag(&'static str),
}

/// A position in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePosition {
    /// Name of the file, without its folder.
    pub(crate) file: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// Column in characters, counted from 1.
    pub(crate) column: usize,
}

/// The origins of all settings that are set.
#[derive(Debug)]
pub(crate) struct ValueOrigins {
    /// By the path of the setting: `server.tools.denylist`.
    pub(crate) settings: BTreeMap<String, ValueOrigin>,
    /// Positions of single list entries, by path and index, and of values with names chosen by the user:
    /// `server.tools.denylist.0`, `desk.roots.work.hide`.
    pub(crate) entries: BTreeMap<String, FilePosition>,
}

impl ValueOrigin {
    /// Describes the origin as precisely as possible, for messages.
    pub(super) fn place(&self) -> String {
        match self {
            Self::File(spot) => {
                format!("{}, line {}, column {}", spot.file, spot.line, spot.column)
            }
            other => other.to_string(),
        }
    }

    /// Returns line and column if the value comes from a file.
    pub(crate) fn position(&self) -> Option<(usize, usize)> {
        match self {
            Self::File(spot) => Some((spot.line, spot.column)),
            _ => None,
        }
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(spot) => f.write_str(&spot.file),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

impl ValueOrigins {
    /// Returns the origin of the setting at `path`.
    pub(crate) fn of(&self, path: &str) -> ValueOrigin {
        self.settings
            .get(path)
            .cloned()
            .unwrap_or(ValueOrigin::Default)
    }

    /// Returns the origin of an entry of the list at `path`, or of a value below it that has a name chosen by the user.
    pub(crate) fn of_entry(&self, path: &str, entry: impl fmt::Display) -> ValueOrigin {
        let spot = self.entries.get(&format!("{path}.{entry}"));
        match (self.of(path), spot) {
            (ValueOrigin::File(_), Some(spot)) => ValueOrigin::File(spot.clone()),
            (origin, _) => origin,
        }
    }

    /// Returns whether `key` is set, or anything in the section of that name.
    pub(crate) fn mention(&self, key: &str) -> bool {
        self.settings.keys().any(|path| {
            let rest = path.strip_prefix(key);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}
