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
    /// What every world shares.
    pub(crate) server: RawServer,
    /// What is logged, to standard error.
    pub(crate) log: LogSettings,
    #[serde(flatten)]
    pub(crate) worlds: WorldSections,
}

/// What is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogSettings {
    /// The least important level that is logged.
    pub(crate) level: LogLevel,
    /// Text for people, or one JSON object a line.
    pub(crate) format: LogFormat,
}

/// The least important level that is logged.
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

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}
