//! Ids as people give them in a shell: paths relative to the current folder, absolute, or with `~`, in addition to everything that
//! the desk takes.

use std::path::{Path, PathBuf};

use sectile_vault::{PathTarget, editor::is_markdown};

use super::super::{
    root::{root_of, root_to_serve, too_large},
    ui::{CliError, visible},
};
use crate::{config::without_tilde, files};

/// Says how to name the folder of a desk.
const HOW_TO_NAME_IT: &str = "give the folder of your notes with --root DIR";

/// Turns what a person gave into ids of the desk.
pub(super) struct ShellIds {
    /// The root, if there is only one.
    root: Option<PathBuf>,
}

/// Returns the root that the first existing note among `ids` belongs to, or else that of the current folder.
pub(super) fn root_of_any(ids: &[String]) -> Result<PathBuf, CliError> {
    let existing = ids.iter().find_map(|id| existing(id));
    let Some((place, _)) = existing else {
        return Ok(root_to_serve(HOW_TO_NAME_IT)?.folder);
    };
    let named = visible(&place.display().to_string());
    let root = root_of(&place).map_err(|error| {
        CliError::failed(format_args!("{named}: {error}.")).next(HOW_TO_NAME_IT)
    })?;
    match too_large(&root) {
        None => Ok(root.folder),
        Some(what) => Err(CliError::usage(format_args!(
            "{named} is not in a folder of notes: its root would be {what}, which must be named."
        ))
        .next(HOW_TO_NAME_IT)),
    }
}

/// Returns the note or folder that the start of an id names in this shell, and the rest, from the `#` on. The folder of any
/// other file does not become a desk because the file is named.
fn existing(id: &str) -> Option<(PathBuf, &str)> {
    let ends = std::iter::once(id.len()).chain(id.rmatch_indices('#').map(|(at, _)| at));
    ends.filter(|end| *end > 0).find_map(|end| {
        let place = without_tilde(PathBuf::from(&id[..end]));
        let is_of_desk = match PathTarget::at(&place) {
            Ok(PathTarget::File(_, file)) => is_markdown(&file),
            Ok(PathTarget::Folder(_)) => true,
            Ok(_) | Err(_) => false,
        };
        is_of_desk.then(|| (place, &id[end..]))
    })
}

/// Returns whether an id can only be a path: names of notes do not start like this.
fn is_path_of_shell(id: &str) -> bool {
    ["/", "~/", "./", "../"]
        .iter()
        .any(|start| id.starts_with(start))
        || matches!(id, "." | ".." | "~")
}

impl ShellIds {
    /// Takes paths below `root`, or, if there are several roots, only ids of the desk.
    pub(super) fn of(root: Option<&Path>) -> Self {
        let root = root.map(|root| files::absolute(root).unwrap_or_else(|_| root.to_path_buf()));
        Self { root }
    }

    /// Returns the id of something that should exist.
    pub(super) fn id(&self, given: &str) -> Result<String, CliError> {
        let Some(root) = &self.root else {
            return Ok(given.to_owned());
        };
        match existing(given) {
            Some((place, rest)) => match files::below_or_new(root, &place) {
                Some(below) => Ok(format!("{below}{rest}")),
                // A file of that name happens to be here, but the desk is elsewhere.
                None if !is_path_of_shell(given) => Ok(given.to_owned()),
                None => Err(outside(given)),
            },
            None if is_path_of_shell(given) => self.new_path(given),
            None => Ok(given.to_owned()),
        }
    }

    /// Returns the path of something that need not exist, given relative to the current folder as in any shell.
    pub(super) fn new_path(&self, given: &str) -> Result<String, CliError> {
        let Some(root) = &self.root else {
            return Ok(given.to_owned());
        };
        let place = without_tilde(PathBuf::from(given));
        let is_folder = given.ends_with('/');
        match files::below_or_new(root, &place) {
            Some(below) if is_folder => Ok(format!("{below}/")),
            Some(below) => Ok(below),
            None => Err(outside(given)),
        }
    }

    /// Returns the destination of a move: a path if `id` names a document or a folder, or if `to` looks like one.
    pub(super) fn destination(&self, id: &str, to: &str) -> Result<String, CliError> {
        let is_section = id.contains('#');
        let (file, rest) = match to.split_once('#') {
            Some((file, _)) if is_section => (file, &to[file.len()..]),
            _ => (to, ""),
        };
        let is_path = is_path_of_shell(to) || file.ends_with(".md") || file.ends_with(".markdown");
        match is_path || !is_section {
            true => Ok(format!("{}{rest}", self.new_path(file)?)),
            false => Ok(to.to_owned()),
        }
    }
}

fn outside(given: &str) -> CliError {
    CliError::failed(format_args!("{} is not inside the root.", visible(given)))
        .next(HOW_TO_NAME_IT)
}
