//! Settings: one `sectile.toml`, environment overrides and flags, in two stages.
//!
//! [`raw`] is what people write, and its doc comments are the reference; the section of a world is that world's own, in its
//! `settings.rs`. `layers` puts defaults, file, environment and flags on top of each other and remembers where each value
//! came from. [`Settings`] is what the program uses: checked, with no string left that could still be wrong.

mod front;
mod keys;
mod layers;
mod raw;
mod settings;

pub(crate) use self::{
    front::{AccessSettings, FrontSettings},
    keys::{ConfigKey, ValueKind, keys, schema},
    layers::{Flag, LoadedConfig, load, load_for_all_mistakes},
    raw::{LogFormat, LogLevel, LogSettings},
    settings::Settings,
};

pub(crate) use crate::settings::{
    ConfigError, ConfigErrors, home_folder, named_config_file, os_variable, variable_name,
    without_tilde,
};

#[cfg(debug_assertions)]
pub(crate) use crate::settings::fault;

#[cfg(test)]
mod tests;
