//! The folder that a command works in, where nobody names one. `NearestRoot` is the rule; a folder that somebody names is taken
//! as it is, by commands and by servers, which never serve more than they were told to.

use std::path::{Component, Path};

use sectile_vault::{NearestRoot, RootError};

use super::ui::{CliError, visible};
use crate::{config, files};

/// The root of a note or folder that somebody named.
pub(super) fn root_of(place: &Path) -> Result<NearestRoot, RootError> {
    NearestRoot::of(place, config::home_folder().as_deref())
}

/// The root of the current folder, for a server. A whole home folder or file system is served only to those who name it.
pub(super) fn root_to_serve(how_to_name_it: &str) -> Result<NearestRoot, CliError> {
    let root = root_of(Path::new(".")).map_err(|error| {
        CliError::failed(format_args!(
            "the current folder cannot be served: {error}."
        ))
        .next(how_to_name_it)
    })?;
    let home = config::home_folder().and_then(|home| files::absolute(&home).ok());
    let what = match (&root.folder, home) {
        (folder, Some(home)) if *folder == home => "your whole home folder",
        (folder, _) if folder.parent().is_none() => "the whole file system",
        _ => return Ok(root),
    };
    Err(CliError::usage(format_args!(
        "no folder is given, and the current one would serve {what}."
    ))
    .next(how_to_name_it))
}

/// A root and how it was found, for a person: `.. (the nearest folder with .obsidian)`.
pub(super) fn described(root: &NearestRoot) -> String {
    let folder = visible(&shown(&root.folder));
    match root.mark {
        Some(mark) => format!("{folder} (the nearest folder with {})", mark.name()),
        None => format!("{folder} (its own folder: none above has .sectile, .obsidian or .git)"),
    }
}

/// A folder as seen from the current one, where one of them lies in the other.
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
