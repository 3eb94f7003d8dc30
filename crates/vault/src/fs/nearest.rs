//! Finds the root that a path belongs to. Servers and shells share the rule, so that a note has one history.

use std::{
    fs::Metadata,
    io,
    path::{Path, PathBuf},
};

use super::{PRIVATE_FOLDER, RootError, canonical};

/// A sign that a folder is the root of the notes below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootMark {
    /// Ids and history of Sectile.
    History,
    /// The settings of an Obsidian vault.
    Obsidian,
    /// A repository, or one of its work trees.
    Git,
}

/// The root that a path belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestRoot {
    /// The folder, without links.
    pub folder: PathBuf,
    /// The sign that it is one. Without a sign, it is the folder of the path itself.
    pub mark: Option<RootMark>,
}

impl RootMark {
    /// Returns the name that marks the folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::History => PRIVATE_FOLDER,
            Self::Obsidian => ".obsidian",
            Self::Git => ".git",
        }
    }
}

impl NearestRoot {
    /// Finds the root of the note or folder at `place`: the nearest folder upward, its own first, that has `.sectile`,
    /// `.obsidian` or `.git`; otherwise its own. Links are followed, so a note belongs to the root that it is really
    /// in. The file itself need not exist.
    ///
    /// A folder further up does not count, and ends the search, if it
    /// - is on another file system, cannot be read, or is the top of the file system;
    /// - is owned by someone else, or writable by everyone: anyone who marks it could get others' notes changed;
    /// - is the home folder, unless it has a history: a `.git` there usually holds settings.
    ///
    /// # Errors
    /// [`RootError`] when the folder of `place` does not exist or cannot be read.
    pub fn of(place: &Path, home: Option<&Path>) -> Result<Self, RootError> {
        let own = match canonical(place) {
            Ok(folder) if folder.is_dir() => folder,
            Ok(file) => file.parent().unwrap_or(&file).to_path_buf(),
            Err(RootError::NotFound) => match place.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => canonical(folder)?,
                Some(_) => canonical(Path::new("."))?,
                None => return Err(RootError::NotFound),
            },
            Err(error) => return Err(error),
        };
        let home = home.and_then(|home| home.canonicalize().ok());
        Ok(decided(&own, home.as_deref(), &FolderFacts::at))
    }
}

/// The facts about a folder that the rule depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FolderFacts {
    mark: Option<RootMark>,
    device: u64,
    owner: u32,
    /// Whether everyone may write to it.
    is_open: bool,
}

impl FolderFacts {
    fn at(folder: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(folder).ok()?;
        let (device, owner, is_open) = ownership(&metadata);
        Some(Self {
            mark: mark(folder).ok()?,
            device,
            owner,
            is_open,
        })
    }
}

fn mark(folder: &Path) -> io::Result<Option<RootMark>> {
    let found = |mark: RootMark| match std::fs::symlink_metadata(folder.join(mark.name())) {
        Ok(metadata) => Ok(match mark {
            // Sectile writes to a folder, never through a link.
            RootMark::History => metadata.is_dir(),
            RootMark::Obsidian => folder.join(mark.name()).is_dir(),
            // It is a file in the work trees and submodules of another repository.
            RootMark::Git => true,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    for mark in [RootMark::History, RootMark::Obsidian, RootMark::Git] {
        if found(mark)? {
            return Ok(Some(mark));
        }
    }
    Ok(None)
}

fn decided(
    own: &Path,
    home: Option<&Path>,
    look: &dyn Fn(&Path) -> Option<FolderFacts>,
) -> NearestRoot {
    let root = |folder: &Path, mark| NearestRoot {
        folder: folder.to_path_buf(),
        mark,
    };
    let first = look(own);
    let unmarked = root(own, None);
    let Some(first) = first else {
        return unmarked;
    };
    if first.mark.is_some() || Some(own) == home {
        return root(own, first.mark);
    }
    for folder in own.ancestors().skip(1) {
        let Some(found) = look(folder) else {
            break;
        };
        let is_top = folder.parent().is_none();
        let is_foreign = found.device != first.device || found.owner != first.owner;
        if is_top || is_foreign || found.is_open {
            break;
        }
        match found.mark {
            Some(mark) if mark == RootMark::History || Some(folder) != home => {
                return root(folder, Some(mark));
            }
            _ if Some(folder) == home => break,
            _ => {}
        }
    }
    unmarked
}

#[cfg(unix)]
fn ownership(metadata: &Metadata) -> (u64, u32, bool) {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_MAY_WRITE: u32 = 0o002;
    let is_open = metadata.mode() & OTHERS_MAY_WRITE != 0;
    (metadata.dev(), metadata.uid(), is_open)
}

#[cfg(not(unix))]
fn ownership(_: &Metadata) -> (u64, u32, bool) {
    (0, 0, false)
}

#[cfg(test)]
mod tests;
