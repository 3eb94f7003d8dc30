//! The settings that a command works with.

use std::path::{Path, PathBuf};

use super::ui::{CliError, HEADING, StyledText, tell};
use crate::config::{self, ConfigErrors, Flag, LoadedConfig, Settings};

/// Returns the settings from `file`, or from the one that `SECTILE_CONFIG` names, and from the environment.
pub(super) fn settings(file: Option<&Path>) -> Result<Settings, CliError> {
    let (loaded, settings) = read(named(file).as_deref(), &[])?;
    warn(&loaded);
    Ok(settings)
}

/// Returns the given file, or the one that `SECTILE_CONFIG` names.
pub(super) fn named(file: Option<&Path>) -> Option<PathBuf> {
    file.map(Path::to_path_buf)
        .or_else(config::named_config_file)
}

/// Returns the settings as written and as resolved. All mistakes are reported at once.
pub(super) fn read(
    file: Option<&Path>,
    flags: &[Flag],
) -> Result<(LoadedConfig, Settings), ConfigErrors> {
    let loaded = config::load_for_all_mistakes(file, flags)?;
    let settings = Settings::resolve(&loaded, &folder_of(file))?;
    Ok((loaded, settings))
}

/// Warns about harmless oddities in the settings.
pub(super) fn warn(loaded: &LoadedConfig) {
    tell_warning(loaded.warning());
}

/// Warns about variables that look like ours and are not settings, in a command that reads no settings.
pub(super) fn warn_about_variables() {
    tell_warning(config::variable_warning());
}

fn tell_warning(warning: Option<String>) {
    if let Some(warning) = warning {
        tell(format_args!(
            "{} {warning}\n",
            StyledText(HEADING, "warning:")
        ));
    }
}

/// Returns the folder that relative paths in a settings file are relative to.
pub(super) fn folder_of(file: Option<&Path>) -> PathBuf {
    file.and_then(Path::parent)
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
