//! Mistakes in settings. Each message says where it is, what is wrong and what to do; none contains an absolute path.

use std::fmt;

use super::ValueOrigin;

/// All mistakes in the settings, in file order; never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// The most mistakes shown; a longer list helps nobody.
    const MOST_SHOWN: usize = 100;

    /// Returns the value, or keeps the mistake and returns `None`.
    pub(crate) fn take<T>(&mut self, result: Result<T, impl Into<Self>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(mistakes) => {
                self.0.extend(mistakes.into().0);
                None
            }
        }
    }

    pub(crate) fn add(&mut self, mistake: ConfigError) {
        self.0.push(mistake);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a mistake is about the setting `key` or about one in the section `key`.
    pub(crate) fn mention(&self, key: &str) -> bool {
        self.0.iter().filter_map(ConfigError::key).any(|mistaken| {
            let rest = mistaken.strip_prefix(key);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Returns these mistakes and `earlier`, without those that follow from an earlier one about the same setting.
    pub(crate) fn after(self, earlier: &Self) -> Self {
        let mut all = earlier.clone();
        let is_new = |mistake: &ConfigError| !mistake.key().is_some_and(|key| earlier.mention(key));
        all.0.extend(self.0.into_iter().filter(is_new));
        all.0.sort_by_key(|mistake| {
            mistake
                .origin()
                .and_then(ValueOrigin::position)
                .unwrap_or(LAST)
        });
        all.0.dedup();
        all
    }

    /// Returns one message for each mistake. If there are too many, the last says how many were left out.
    pub(crate) fn texts(&self) -> Vec<String> {
        let shown = self.0.iter().take(Self::MOST_SHOWN);
        let mut texts: Vec<String> = shown.map(ToString::to_string).collect();
        if let Some(more @ 1..) = self.0.len().checked_sub(Self::MOST_SHOWN) {
            texts.push(format!("There are {more} more mistakes."));
        }
        texts
    }
}

/// Mistakes outside the file come after those in it.
const LAST: (usize, usize) = (usize::MAX, usize::MAX);

impl From<ConfigError> for ConfigErrors {
    fn from(mistake: ConfigError) -> Self {
        Self(vec![mistake])
    }
}

impl FromIterator<ConfigError> for ConfigErrors {
    fn from_iter<I: IntoIterator<Item = ConfigError>>(mistakes: I) -> Self {
        Self(mistakes.into_iter().collect())
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().join(" "))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("{file}: the settings file does not exist. Create one with `sectile config init`.")]
    NoFile { file: String },
    #[error("{file}: the settings file cannot be read ({reason}).")]
    Unreadable { file: String, reason: String },
    #[error("{}: not valid TOML: {message}.", .origin.place())]
    Syntax {
        origin: ValueOrigin,
        message: String,
    },
    #[error("{}: unknown setting `{key}`.{}", .origin.place(), suggestion(.nearest.as_ref()))]
    UnknownKey {
        origin: ValueOrigin,
        key: String,
        nearest: Option<String>,
    },
    #[error("{}: `{key}` must be {expected}.", .origin.place())]
    WrongValue {
        origin: ValueOrigin,
        key: String,
        expected: String,
    },
    #[error("{}: `{key}` names `{name}`, which no world has.{}", .origin.place(), suggestion(.nearest.as_ref()))]
    UnknownName {
        origin: ValueOrigin,
        key: String,
        name: String,
        nearest: Option<String>,
    },
    #[error(
        "{}: `{key}` has the pattern `{pattern}`, which is not valid. Write it as in a .gitignore file.",
        .origin.place()
    )]
    BadPattern {
        origin: ValueOrigin,
        key: String,
        pattern: String,
    },
    #[error(
        "{}: `{key}` must be a loopback address with a port, such as 127.0.0.1:7420; any other address requires keys or tokens in [server.auth].",
        .origin.place()
    )]
    NotLoopback { origin: ValueOrigin, key: String },
    #[error("{}: `{key}`{} cannot be used: {problem}.", .origin.place(), named(.written))]
    Unusable {
        origin: ValueOrigin,
        key: String,
        /// The value of the setting, as written.
        written: String,
        problem: String,
    },
}

impl ConfigError {
    fn key(&self) -> Option<&str> {
        match self {
            Self::NoFile { .. } | Self::Unreadable { .. } | Self::Syntax { .. } => None,
            Self::UnknownKey { key, .. }
            | Self::WrongValue { key, .. }
            | Self::UnknownName { key, .. }
            | Self::BadPattern { key, .. }
            | Self::NotLoopback { key, .. }
            | Self::Unusable { key, .. } => Some(key),
        }
    }

    fn origin(&self) -> Option<&ValueOrigin> {
        match self {
            Self::NoFile { .. } | Self::Unreadable { .. } => None,
            Self::Syntax { origin, .. }
            | Self::UnknownKey { origin, .. }
            | Self::WrongValue { origin, .. }
            | Self::UnknownName { origin, .. }
            | Self::BadPattern { origin, .. }
            | Self::NotLoopback { origin, .. }
            | Self::Unusable { origin, .. } => Some(origin),
        }
    }
}

/// Returns a path as it is written, unless that reveals its location on this machine.
fn named(written: &str) -> String {
    if written.is_empty() || std::path::Path::new(written).is_absolute() {
        String::new()
    } else {
        format!(" (`{written}`)")
    }
}

fn suggestion(nearest: Option<&String>) -> String {
    nearest
        .map(|nearest| format!(" Did you mean `{nearest}`?"))
        .unwrap_or_default()
}

/// Returns the known word nearest to `word`, if one is near enough for a suggestion.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let found = sectile_mcp::nearest(word, known, 1);
    found.first().map(|&found| found.to_owned())
}
