//! The settings as they are written. A doc comment here is the description in `config schema` and `config show`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod server;

pub(crate) use self::server::*;
use crate::worlds::WorldSections;

/// A `sectile.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Raw")]
pub(crate) struct RawConfig {
    /// Settings shared by all worlds.
    pub(crate) server: RawServer,
    /// Logging to standard error.
    pub(crate) log: LogSettings,
    #[serde(flatten)]
    pub(crate) worlds: WorldSections,
}

/// Logging to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogSettings {
    /// The least severe level that is logged.
    pub(crate) level: LogLevel,
    /// Format of a log line: `text` for people, or `json` for one JSON object per line.
    pub(crate) format: LogFormat,
}

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    #[default]
    Info,
    Debug,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}
