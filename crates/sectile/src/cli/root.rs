//! The folder that a command works in if none is named. `NearestRoot` is the rule; a named folder is used exactly as given,
//! by commands and by servers, which never serve more than they were told to.

use std::path::{Component, Path};

use sectile_vault::{NearestRoot, RootError};

use super::ui::{CliError, visible};
use crate::{config, files};

/// Returns the root of a note or folder that was named.
pub(super) fn root_of(place: &Path) -> Result<NearestRoot, RootError> {
    NearestRoot::of(place, config::home_folder().as_deref())
}

/// Returns the root of the current folder, for a server. A whole home folder or file system is served only if it is named.
pub(super) fn root_to_serve(how_to_name_it: &str) -> Result<NearestRoot, CliError> {
    let root = root_of(Path::new(".")).map_err(|error| {
        CliError::failed(format_args!(
            "the current folder cannot be served: {error}."
        ))
        .next(how_to_name_it)
    })?;
    match too_large(&root) {
        None => Ok(root),
        Some(what) => Err(CliError::usage(format_args!(
            "no folder is given, and serving the current one would expose {what}."
        ))
        .next(how_to_name_it)),
    }
}

/// Describes a root that is used only if it is named, because all of it would be read: a whole home folder or file system.
pub(super) fn too_large(root: &NearestRoot) -> Option<&'static str> {
    let home = config::home_folder().and_then(|home| files::absolute(&home).ok());
    match (&root.folder, home) {
        (folder, Some(home)) if *folder == home => Some("your whole home folder"),
        (folder, _) if folder.parent().is_none() => Some("the whole file system"),
        _ => None,
    }
}

/// Describes a root and how it was found: `.. (the nearest folder with .obsidian)`.
pub(super) fn described(root: &NearestRoot) -> String {
    let folder = visible(&shown(&root.folder));
    match root.mark {
        Some(mark) => format!("{folder} (the nearest folder with {})", mark.name()),
        None => format!("{folder} (its own folder: none above has .sectile, .obsidian or .git)"),
    }
}

/// Returns a folder relative to the current one, if one of them contains the other.
pub(super) fn shown(folder: &Path) -> String {
    let Ok(here) = files::absolute(Path::new(".")) else {
        return folder.display().to_string();
    };
    let shown = if let Ok(below) = folder.strip_prefix(&here) {
        below.to_path_buf()
    } else if let Ok(above) = here.strip_prefix(folder) {
        above.components().map(|_| Component::ParentDir).collect()
    } else {
        folder.to_path_buf()
    };
    if shown.as_os_str().is_empty() {
        return ".".to_owned();
    }
    shown.display().to_string()
}
