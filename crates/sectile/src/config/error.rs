//! What can be wrong with settings. Each text says what, and what to do; none names an absolute path.

use super::Origin;
use crate::mcp;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("{file}: the settings file does not exist. Make one with `sectile config init`.")]
    NoFile { file: String },
    #[error("{file}: the settings file cannot be read ({kind}).")]
    Unreadable {
        file: String,
        kind: std::io::ErrorKind,
    },
    #[error("{file}, line {line}: not valid TOML: {message}.")]
    Syntax {
        file: String,
        line: usize,
        message: String,
    },
    #[error("{origin}: unknown setting `{key}`.{}", suggestion(.nearest.as_ref()))]
    UnknownKey {
        origin: Origin,
        key: String,
        nearest: Option<String>,
    },
    #[error("{origin}: `{key}` must be {expected}.")]
    WrongValue {
        origin: Origin,
        key: String,
        expected: String,
    },
    #[error("{origin}: `{key}` names `{name}`, which no world has.{}", suggestion(.nearest.as_ref()))]
    UnknownName {
        origin: Origin,
        key: String,
        name: String,
        nearest: Option<String>,
    },
    #[error(
        "{origin}: `{key}` has the pattern `{pattern}`, which cannot be read. Write it as in a .gitignore file."
    )]
    BadPattern {
        origin: Origin,
        key: String,
        pattern: String,
    },
    #[error(
        "{origin}: `{key}` must be a loopback address with a port, such as 127.0.0.1:7420; binding elsewhere needs keys or tokens in [server.auth]."
    )]
    NotLoopback { origin: Origin, key: String },
}

fn suggestion(nearest: Option<&String>) -> String {
    nearest
        .map(|nearest| format!(" Did you mean `{nearest}`?"))
        .unwrap_or_default()
}

/// The known word nearest to `word`, if any is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let found = mcp::nearest(word, known, 1);
    found.first().map(|&found| found.to_owned())
}
