//! Checks a whole folder for surprises: parts that cannot be read, and nested histories.

use std::{io, rc::Rc};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::fs::{Dir, OpenOptions};

use super::{PendingFolder, Rules, Walk, WalkError, is_left_out, joined};
use crate::{
    NotePath, Root,
    editor::is_markdown,
    fs::{is_private, open_folder},
    journal::{IDS, JOURNAL},
};

/// The result of a checkup of a whole folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkup {
    /// Folders and documents that count but cannot be read, sorted.
    pub unreadable: Vec<(String, io::ErrorKind)>,
    /// Folders below that have a history of their own, sorted. Ignored ones are included.
    pub histories: Vec<String>,
    /// Folders above that have a history, as the number of levels up, nearest first.
    pub histories_above: Vec<usize>,
    /// Whether there was more than the limit allowed to check.
    pub is_cut: bool,
}

/// A folder that is still to be checked.
struct PendingCheck {
    folder: PendingFolder,
    /// Whether documents in it count.
    counts: bool,
}

impl Root {
    /// Checks up to `most` files and folders below the root, without following links. Hidden folders are left out.
    ///
    /// # Errors
    /// [`WalkError`] when the root itself cannot be read.
    pub fn check_up(&self, walk: &Walk, most: usize) -> Result<Checkup, WalkError> {
        let top = self
            .dir()
            .map_err(|error| WalkError::Unreadable(error.kind()))?;
        let mut found = Checkup {
            histories_above: self.histories_above(),
            ..Checkup::default()
        };
        let mut folders = vec![PendingCheck {
            folder: PendingFolder {
                path: String::new(),
                rules: None,
            },
            counts: true,
        }];
        let mut left = most;
        while let Some(next) = folders.pop() {
            let path = next.folder.path.as_str();
            let opened = match path {
                "" => top.try_clone(),
                path => open_folder(&top, path),
            };
            let looked =
                opened.and_then(|dir| next.look(&dir, walk, &mut left, &mut found, &mut folders));
            match looked {
                Ok(()) => {}
                Err(error) if path.is_empty() => return Err(WalkError::Unreadable(error.kind())),
                Err(error) if next.counts && error.kind() != io::ErrorKind::NotFound => {
                    found.unreadable.push((path.to_owned(), error.kind()));
                }
                Err(_) => {}
            }
            if left == 0 {
                found.is_cut = true;
                break;
            }
        }
        found.unreadable.sort_by(|one, other| one.0.cmp(&other.0));
        found.histories.sort();
        Ok(found)
    }

    /// Returns the folders above the root that have a history, as the number of levels up.
    fn histories_above(&self) -> Vec<usize> {
        let above = self.location().ancestors().enumerate().skip(1);
        let has_history = |folder| {
            let root = Self::open(folder).ok()?;
            let private = root.private_folder().ok()??;
            (private.exists(JOURNAL) || private.exists(IDS)).then_some(())
        };
        above
            .filter(|(_, folder)| has_history(folder).is_some())
            .map(|(levels, _)| levels)
            .collect()
    }

    /// Returns the number of levels up to the nearest folder above the root that has a history, if there is one.
    #[must_use]
    pub fn nearest_history_above(&self) -> Option<usize> {
        self.histories_above().first().copied()
    }
}

impl PendingCheck {
    fn look(
        &self,
        dir: &Dir,
        walk: &Walk,
        left: &mut usize,
        found: &mut Checkup,
        folders: &mut Vec<Self>,
    ) -> io::Result<()> {
        let folder = &self.folder;
        let rules = Rules::read(dir, folder);
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let entry = entry?;
            if let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) {
                entries.push((name, kind));
            }
        }
        let mut without_waiting = OpenOptions::new();
        without_waiting.read(true).nonblock(true);
        // The last entry is visited first.
        entries.sort_by(|one, other| other.0.cmp(&one.0));
        for (name, kind) in entries {
            let path = joined(&folder.path, &name);
            let counts =
                self.counts && !is_left_out(&name, &path, kind.is_dir(), walk, rules.as_deref());
            if kind.is_dir() && is_private(&name) {
                let history = open_folder(dir, &name).ok();
                let has = |file| {
                    let history = history.as_ref();
                    history.is_some_and(|history| history.symlink_metadata(file).is_ok())
                };
                if !folder.path.is_empty() && (has(JOURNAL) || has(IDS)) {
                    found.histories.push(folder.path.clone());
                }
            } else if kind.is_dir() && !name.starts_with('.') {
                folders.push(Self {
                    folder: PendingFolder {
                        path,
                        rules: rules.as_ref().map(Rc::clone),
                    },
                    counts,
                });
            } else if kind.is_file()
                && counts
                && let Ok(note) = NotePath::parse_vault(&path)
                && is_markdown(&note)
                && walk.includes(&path)
                && let Err(error) = dir.open_with(&name, &without_waiting)
                && error.kind() != io::ErrorKind::NotFound
            {
                found.unreadable.push((path, error.kind()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
