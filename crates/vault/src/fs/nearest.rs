//! Which root a place belongs to. One rule for servers and for shells, so that one note has one history.

use std::{
    fs::Metadata,
    io,
    path::{Path, PathBuf},
};

use super::{PRIVATE_FOLDER, RootError, canonical};

/// What shows that a folder is the root of the notes below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootMark {
    /// Ids and history of Sectile.
    History,
    /// The settings of an Obsidian vault.
    Obsidian,
    /// A repository, or a work tree of one.
    Git,
}

/// The root that a place belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestRoot {
    /// The folder, without links.
    pub folder: PathBuf,
    /// What shows that it is one. Without anything, it is the folder of the place itself.
    pub mark: Option<RootMark>,
}

impl RootMark {
    /// The name that is found in the folder.
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
    /// The root of the note or folder at `place`: the nearest folder upward, its own first, that has `.sectile`, `.obsidian` or
    /// `.git`; else its own. Links are followed, so a note belongs to the root that it really lies in. The file itself need
    /// not be there.
    ///
    /// A folder further up does not count, and the search ends there, where it is
    /// - on another file system, cannot be looked into, or is the top of the file system;
    /// - owned by somebody else, or one that everybody may write to: anybody who can put a mark there could have notes of others
    ///   changed;
    /// - the home folder, unless it has a history: the `.git` there is that of settings.
    ///
    /// # Errors
    /// [`RootError`] when the folder of the place is not there or cannot be looked at.
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

/// What the rule goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FolderFacts {
    mark: Option<RootMark>,
    device: u64,
    owner: u32,
    /// Whether everybody may write to it.
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
            // Only a folder is written to, never what a link leads to.
            RootMark::History => metadata.is_dir(),
            RootMark::Obsidian => folder.join(mark.name()).is_dir(),
            // A file in the work trees and submodules of another repository.
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
