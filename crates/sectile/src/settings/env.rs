//! Environment variables. Nothing else in the product reads them.

#![expect(
    clippy::disallowed_methods,
    reason = "the one module that may read the environment"
)]

use std::path::PathBuf;

const PREFIX: &str = "SECTILE_";
/// Variables that are not settings.
const RESERVED: [&str; 2] = ["SECTILE_CONFIG", "SECTILE_FAULT"];

/// Returns the variables that override settings, sorted by name.
pub(crate) fn overrides() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(PREFIX) && !RESERVED.contains(&name.as_str()))
        .collect();
    found.sort();
    found
}

/// Returns whether a variable with our prefix has the form of one that overrides a setting, `SECTILE_A__B`.
pub(crate) fn looks_like_a_setting(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.contains("__"))
}

/// Returns the variable that overrides the setting at `path`: `SECTILE_SERVER__TOOLS__MODE`.
pub(crate) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "__").to_uppercase())
}

/// Returns the settings file named by `SECTILE_CONFIG`.
pub(crate) fn named_config_file() -> Option<PathBuf> {
    os_variable("SECTILE_CONFIG").map(without_tilde)
}

/// Returns a path from a system variable, such as `XDG_CONFIG_HOME`.
pub(crate) fn os_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Returns the value of a variable that a setting names as the source of a secret.
pub(super) fn secret(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the user's home folder.
pub(crate) fn home_folder() -> Option<PathBuf> {
    std::env::home_dir()
}

/// Replaces a leading `~` with the home folder. A shell does so only at the start of a word.
pub(crate) fn without_tilde(path: PathBuf) -> PathBuf {
    match (path.strip_prefix("~"), home_folder()) {
        (Ok(below), Some(home)) if below.as_os_str().is_empty() => home,
        (Ok(below), Some(home)) => home.join(below),
        _ => path,
    }
}

/// Returns the folder for data that belongs to this user on this machine, such as generated keys.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let named = os_variable("XDG_STATE_HOME").or_else(|| os_variable("LOCALAPPDATA"));
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(home_folder()?.join(".local/state")))
}

/// Returns the folder for data of this user that can be made again, such as indexes.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let named = os_variable("XDG_CACHE_HOME").or_else(|| os_variable("LOCALAPPDATA"));
    let usual = if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        ".cache"
    };
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(home_folder()?.join(usual)))
}

/// Returns the fault that a test asks for.
#[cfg(debug_assertions)]
pub(crate) fn fault() -> Option<String> {
    std::env::var("SECTILE_FAULT").ok()
}
