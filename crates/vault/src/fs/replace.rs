//! Putting new bytes in place of a note's, wholly or not at all.
//!
//! The new bytes are written beside and swapped in. Where the system can, old and new change places in one step, and the
//! old file is looked at afterwards: if another program wrote it in between, the two are swapped back. So nobody's
//! bytes are overwritten unseen.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};

use super::{
    ReadError, Root, is_private,
    private::{PrivateFolder, RESCUED, flush_folder, read_all},
    read_error,
};
use crate::{NotePath, fault::step};

/// Where a note really is, after links inside the root.
#[derive(Debug)]
pub(crate) struct Located {
    folder: Dir,
    name: PathBuf,
    path: NotePath,
}

/// What became of a swap.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    /// The new bytes are in place.
    Done,
    /// The note was not what it was expected to be, and is as it was.
    Changed,
}

/// What is at a path, behind links inside the root, and its path without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    File(NotePath),
    Folder(NotePath),
}

impl Located {
    /// The path of the file itself, below the root.
    pub(crate) fn path(&self) -> &NotePath {
        &self.path
    }

    /// Whether the file is there and holds just these bytes.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        read_all(&self.folder, &self.name.to_string_lossy()).is_ok_and(|found| found == bytes)
    }
}

impl Root {
    /// Finds the file behind `note`. The last part need not exist; the folders above it must.
    ///
    /// # Errors
    /// [`ReadError`] when a folder on the way does not exist or leads out.
    pub(crate) fn locate(&self, note: &NotePath) -> Result<Located, ReadError> {
        let dir = self.dir().map_err(|error| read_error(&error))?;
        let path = self.resolve(note)?;
        let folder = match path.folder() {
            Some(folder) => dir.open_dir(folder).map_err(|error| read_error(&error))?,
            None => dir,
        };
        let name = PathBuf::from(path.file_name());
        Ok(Located { folder, name, path })
    }

    /// The path of the file behind `note`, without links. Neither it nor the folders above it need exist.
    ///
    /// # Errors
    /// [`ReadError`] when something on the way leads out, or nowhere.
    pub(crate) fn resolve(&self, note: &NotePath) -> Result<NotePath, ReadError> {
        if is_private(note.as_str()) {
            return Err(ReadError::NotFound);
        }
        let dir = self.dir().map_err(|error| read_error(&error))?;
        let real = self.real_path(&dir, note)?;
        let text = real.to_str().ok_or(ReadError::NotFound)?;
        let path = NotePath::parse_vault(text).map_err(|_| ReadError::OutsideRoot)?;
        if is_private(path.as_str()) {
            return Err(ReadError::NotFound);
        }
        Ok(path)
    }

    /// The file or folder that `path` leads to, if it is there.
    pub(crate) fn find(&self, path: &NotePath) -> Option<Thing> {
        let Located { folder, name, path } = self.locate(path).ok()?;
        let metadata = folder.symlink_metadata(name).ok()?;
        if metadata.is_file() {
            Some(Thing::File(path))
        } else if metadata.is_dir() {
            Some(Thing::Folder(path))
        } else {
            None
        }
    }

    /// The path of `note` without links.
    fn real_path(&self, dir: &Dir, note: &NotePath) -> Result<PathBuf, ReadError> {
        let real = |path: &str| match dir.canonicalize(path).map_err(|error| read_error(&error)) {
            Err(ReadError::OutsideRoot) => self
                .absolute_link_target(path)
                .ok_or(ReadError::OutsideRoot),
            result => result,
        };
        let mut found = self.steady_path(dir, || real(note.as_str()));
        let mut there = note.as_str();
        while matches!(found, Err(ReadError::NotFound)) {
            // A link that leads nowhere is no place to write to.
            if dir.symlink_metadata(there).is_ok() {
                return Err(ReadError::NotFound);
            }
            (there, found) = match there.rsplit_once('/') {
                Some((above, _)) => (above, real(above)),
                None => ("", Ok(PathBuf::new())),
            };
        }
        let missing = note.as_str()[there.len()..].trim_start_matches('/');
        found.map(|path| match missing {
            "" => path,
            missing => path.join(missing),
        })
    }

    /// The path that `real` finds, when it is the path of a file. The system tells where an open file is by now: one that
    /// was replaced since it was opened is in the private folder, or deleted.
    fn steady_path(
        &self,
        dir: &Dir,
        real: impl Fn() -> Result<PathBuf, ReadError>,
    ) -> Result<PathBuf, ReadError> {
        /// Nobody edits a document so often between two system calls.
        const MOST_LOOKS: usize = 64;
        let mut found = real()?;
        for _ in 0..MOST_LOOKS {
            let is_private = found.to_str().is_none_or(is_private);
            if !is_private && dir.symlink_metadata(&found).is_ok() {
                break;
            }
            found = real()?;
        }
        Ok(found)
    }

    /// Makes the folders above `note`.
    pub(crate) fn make_folders_above(&self, note: &NotePath) -> io::Result<()> {
        match note.folder() {
            Some(folder) if !is_private(folder) => {
                step("make_folders", || self.dir()?.create_dir_all(folder))
            }
            _ => Ok(()),
        }
    }
}

impl PrivateFolder {
    /// Writes `bytes` to a temporary file, with owner and permissions of the note it will replace, and flushes it.
    pub(crate) fn prepare(&self, name: &str, bytes: &[u8], like: &Located) -> io::Result<()> {
        let folder = self.temporary()?;
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .follow(FollowSymlinks::No);
        let file = step("create_temporary", || folder.open_with(name, &options))?;
        let mut file = file;
        step("write_temporary", || file.write_all(bytes))?;
        if let Ok(metadata) = like.folder.symlink_metadata(&like.name)
            && metadata.is_file()
        {
            step("copy_permissions", || {
                file.set_permissions(metadata.permissions())
            })?;
            #[cfg(target_os = "linux")]
            copy_owner(&file, &metadata);
        }
        step("flush_temporary", || file.sync_all())
    }

    /// Puts the temporary file `name`, which holds `new`, in place of the note, which must hold `old`; `None` stands for
    /// no file.
    pub(crate) fn swap_in(
        &self,
        name: &str,
        note: &Located,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> io::Result<Swap> {
        let temporary = self.temporary()?;
        let swapped = match old {
            None => step("place", || place_new(&temporary, name, note))?,
            Some(old) => step("place", || exchange(self, &temporary, name, note, old, new))?,
        };
        if swapped == Swap::Done {
            step("flush_folder", || flush_folder(&note.folder))?;
        }
        Ok(swapped)
    }

    /// Takes the note, which must hold `old`, out of its folder. It is kept as the temporary file `name` until that is
    /// removed.
    pub(crate) fn take_out(&self, name: &str, note: &Located, old: &[u8]) -> io::Result<Swap> {
        let temporary = self.temporary()?;
        step("take_out", || {
            note.folder.rename(&note.name, &temporary, name)
        })?;
        if read_all(&temporary, name)? != old {
            // It goes back. Where another file is by now, it is kept beside.
            if place_new(&temporary, name, note)? == Swap::Changed {
                temporary.rename(name, &self.dir, format!("{RESCUED}{name}"))?;
            }
            return Ok(Swap::Changed);
        }
        step("flush_folder", || flush_folder(&note.folder))?;
        Ok(Swap::Done)
    }

    /// Removes the file that was displaced, unless another program has written to it after all: then it is kept, and the
    /// answer is the name it is kept under.
    pub(crate) fn discard(&self, name: &str, old: Option<&[u8]>) -> io::Result<Option<String>> {
        let temporary = self.temporary()?;
        match (read_all(&temporary, name), old) {
            (Ok(bytes), Some(old)) if bytes != old => {
                let kept = format!("{RESCUED}{name}");
                temporary.rename(name, &self.dir, &kept)?;
                return Ok(Some(kept));
            }
            _ => self.remove_temporary(name)?,
        }
        Ok(None)
    }
}

/// Moves a temporary file to where no file is.
fn place_new(temporary: &Dir, name: &str, note: &Located) -> io::Result<Swap> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        match rename_with(temporary, name, note, RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Swap::Changed),
            result => return result.map(|()| Swap::Done),
        }
    }
    match temporary.hard_link(name, &note.folder, &note.name) {
        Ok(()) => {
            temporary.remove_file(name)?;
            Ok(Swap::Done)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Swap::Changed),
        Err(error) => Err(error),
    }
}

/// Lets old and new change places, and looks at the old.
fn exchange(
    private: &PrivateFolder,
    temporary: &Dir,
    name: &str,
    note: &Located,
    old: &[u8],
    new: &[u8],
) -> io::Result<Swap> {
    // Nearly always this is noticed before anybody can see the new bytes.
    if !note.holds(old) {
        return Ok(Swap::Changed);
    }
    if let Some(swapped) = exchanged(private, temporary, name, note, old, new)? {
        return Ok(swapped);
    }
    temporary.rename(name, &note.folder, &note.name)?;
    Ok(Swap::Done)
}

/// The exchange in one step, or `None` where the system has no such thing.
#[cfg(target_os = "linux")]
fn exchanged(
    private: &PrivateFolder,
    temporary: &Dir,
    name: &str,
    note: &Located,
    old: &[u8],
    new: &[u8],
) -> io::Result<Option<Swap>> {
    use rustix::fs::RenameFlags;
    match rename_with(temporary, name, note, RenameFlags::EXCHANGE) {
        Err(error) if is_unsupported(&error) => return Ok(None),
        // The note was removed or moved away.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(Swap::Changed)),
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    if read_all(temporary, name)? == old {
        return Ok(Some(Swap::Done));
    }
    rename_with(temporary, name, note, RenameFlags::EXCHANGE)?;
    if read_all(temporary, name)? != new {
        // Somebody wrote over the new bytes within these microseconds. Theirs go back, and what they overwrote is kept.
        rename_with(temporary, name, note, RenameFlags::EXCHANGE)?;
        temporary.rename(name, &private.dir, format!("{RESCUED}{name}"))?;
    }
    Ok(Some(Swap::Changed))
}

#[cfg(not(target_os = "linux"))]
fn exchanged(
    _: &PrivateFolder,
    _: &Dir,
    _: &str,
    _: &Located,
    _: &[u8],
    _: &[u8],
) -> io::Result<Option<Swap>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn rename_with(
    temporary: &Dir,
    name: &str,
    note: &Located,
    flags: rustix::fs::RenameFlags,
) -> io::Result<()> {
    let target: &Path = &note.name;
    rustix::fs::renameat_with(temporary, name, &note.folder, target, flags)?;
    Ok(())
}

/// Whether the file system does not know this kind of rename, or the two folders are on different ones.
#[cfg(target_os = "linux")]
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP]
        .iter()
        .any(|known| error.raw_os_error() == Some(known.raw_os_error()))
}

/// The owner is kept where the system allows it; where not, the file belongs to whoever edits it, as in any editor.
#[cfg(target_os = "linux")]
fn copy_owner(file: &cap_std::fs::File, metadata: &cap_std::fs::Metadata) {
    use cap_std::fs::MetadataExt as _;
    use rustix::fs::{Gid, Uid, fchown};
    let owner = (metadata.uid(), metadata.gid());
    let same = file
        .metadata()
        .is_ok_and(|own| (own.uid(), own.gid()) == owner);
    if !same {
        let (uid, gid) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
        if fchown(file, Some(uid), Some(gid)).is_err() {
            // A group that may be kept even when the owner may not.
            fchown(file, None, Some(gid)).unwrap_or_default();
        }
    }
}
