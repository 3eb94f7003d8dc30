//! The tools for checking settings: origins of values, mistakes, and a reader for the paths and secrets that values name.
//!
//! A world checks its own section with a [`SettingsReader`]; `config` composes the sections. This module knows neither worlds
//! nor settings. Only `env` reads the environment.

mod env;
mod error;
mod origin;
mod reader;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub(crate) use self::{
    env::{
        cache_folder, home_folder, looks_like_a_setting, named_config_file, os_variable, overrides,
        state_folder, variable as variable_name, without_tilde,
    },
    error::{ConfigError, ConfigErrors, nearest},
    origin::{FilePosition, ValueOrigin, ValueOrigins},
    reader::{LEAST_SECRET_BYTES, SettingsReader},
};

#[cfg(debug_assertions)]
pub(crate) use self::env::fault;

/// A section of the settings file, as written.
pub(crate) trait SettingsSection {
    /// The checked form, in which no string is left that could still be wrong.
    type Checked;

    /// Checks the section and reports all of its mistakes at once.
    fn check(&self, reader: SettingsReader<'_>) -> Result<Self::Checked, ConfigErrors>;

    /// Returns the names of the roots that callers can be bound to; `None` if the section names none, so that a name
    /// cannot be known to be wrong.
    fn root_names(&self) -> Option<Vec<String>> {
        None
    }
}

/// Returns all numbers in a section, by the full names of their settings.
pub(crate) fn numbers(section: &str, values: &impl Serialize) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut rest = vec![(
        section.to_owned(),
        serde_json::to_value(values).unwrap_or_default(),
    )];
    while let Some((name, value)) = rest.pop() {
        match value {
            Value::Object(fields) => {
                let fields = fields.into_iter();
                rest.extend(fields.map(|(field, value)| (format!("{name}.{field}"), value)));
            }
            value => {
                found.extend(value.as_u64().map(|number| (name, number)));
            }
        }
    }
    found
}
