//! Settings: one `sectile.toml`, environment overrides and flags, in two stages.
//!
//! [`raw`] is what people write, and its doc comments are the reference. `layers` puts defaults, file, environment and
//! flags on top of each other and remembers where each value came from. [`Settings`] is what the program uses: checked,
//! with no string left that could still be wrong. Only this module reads the environment.

mod docs;
mod env;
mod error;
mod front;
mod hosted;
mod keys;
mod layers;
mod notebook;
mod raw;
mod settings;

pub(crate) use self::{
    docs::{DocsPath, DocsSettings},
    env::{home_folder, named_config_file, os_variable, variable as variable_name, without_tilde},
    error::{ConfigError, Mistakes},
    front::{AccessSettings, FrontSettings},
    hosted::HostedSettings,
    keys::{Key, Kind, keys, schema},
    layers::{Flag, Loaded, Origin, load, load_for_all_mistakes},
    notebook::{ArtifactPlace, NotebookSettings},
    raw::{DocsRole, EditorErrors, LogFormat, LogLevel},
    settings::{EditorSettings, LogSettings, Settings},
};

#[cfg(debug_assertions)]
pub(crate) use self::env::fault;

#[cfg(test)]
mod tests;
