//! The settings that a command works with.

use std::path::{Path, PathBuf};

use super::ui::{CliError, HEADING, Styled, tell};
use crate::config::{self, Flag, Loaded, Mistakes, Settings};

/// The settings of `file`, or of the one that `SECTILE_CONFIG` names, and of the environment.
pub(super) fn settings(file: Option<&Path>) -> Result<Settings, CliError> {
    let (loaded, settings) = read(named(file).as_deref(), &[])?;
    warn(&loaded);
    Ok(settings)
}

/// The file that a person gave, or the one that `SECTILE_CONFIG` names.
pub(super) fn named(file: Option<&Path>) -> Option<PathBuf> {
    file.map(Path::to_path_buf)
        .or_else(config::named_config_file)
}

/// The settings as written and as used. All that is wrong with them is said at once.
pub(super) fn read(file: Option<&Path>, flags: &[Flag]) -> Result<(Loaded, Settings), Mistakes> {
    let loaded = config::load_for_all_mistakes(file, flags)?;
    let settings = Settings::resolve(&loaded, &folder_of(file))?;
    Ok((loaded, settings))
}

/// Says what is odd about the settings and does not matter.
pub(super) fn warn(loaded: &Loaded) {
    if let Some(warning) = loaded.warning() {
        tell(format_args!("{} {warning}\n", Styled(HEADING, "warning:")));
    }
}

/// The folder that relative paths of a settings file count from.
pub(super) fn folder_of(file: Option<&Path>) -> PathBuf {
    file.and_then(Path::parent)
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
