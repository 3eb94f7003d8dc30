//! Settings: one `sectile.toml`, environment overrides and flags, in two stages.
//!
//! [`raw`] is the file as people write it, and its doc comments are the reference; each world defines its own section in
//! its `settings.rs`. `layers` merges defaults, file, environment and flags and remembers where each value came from.
//! [`Settings`] is the form the program uses: checked, with no string left that could still be wrong.

mod front;
mod keys;
mod layers;
mod raw;
mod settings;

pub(crate) use self::{
    front::{AccessSettings, FrontSettings},
    keys::{ConfigKey, ValueKind, keys, schema},
    layers::{Flag, LoadedConfig, load, load_for_all_mistakes, variable_warning},
    raw::{LogFormat, LogLevel, LogSettings},
    settings::Settings,
};

pub(crate) use crate::settings::{
    ConfigError, ConfigErrors, home_folder, named_config_file, os_variable, state_folder,
    variable_name, without_tilde,
};

#[cfg(debug_assertions)]
pub(crate) use crate::settings::fault;

#[cfg(test)]
mod tests;
