//! Replaces the bytes of a note, wholly or not at all.
//!
//! The new bytes are written to a temporary file and swapped in. If the system can, old and new change places in one
//! step, and the old file is checked afterwards: if another program wrote it in between, the two are swapped back. If
//! it cannot, the old file is moved away first and the new one moved to the free name, so that for a moment there is no
//! file; a rename over the old one would be one step, but could overwrite what another program saved just before. So
//! nobody's bytes are overwritten unseen.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, OpenOptions};

use super::{
    FileRefusal, ReadError, Root, attributes, is_private,
    private::{PrivateFolder, flush_folder, read_all},
    read_error,
    temporary::{StepName, TemporaryFolder, TemporaryRole},
};
use crate::{NotePath, fault::step};

/// The real location of a note, after following links inside the root.
#[derive(Debug)]
pub(crate) struct LocatedNote {
    pub(super) folder: Arc<Dir>,
    name: PathBuf,
    path: NotePath,
    /// Whether it is on a different file system than the private folder, once that is known.
    pub(super) is_apart: OnceLock<bool>,
}

/// Open folders, by their paths without links.
pub(crate) type OpenFolders = HashMap<String, Arc<Dir>>;

/// The outcome of a swap.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SwapOutcome {
    /// The new bytes are in place.
    Done,
    /// The note was not what was expected, and is unchanged.
    Changed,
}

/// The file or folder at a path, behind links inside the root, and its path without them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// A regular file.
    File(NotePath),
    /// A folder.
    Folder(NotePath),
}

impl LocatedNote {
    /// Returns the path of the file itself, below the root.
    pub(crate) fn path(&self) -> &NotePath {
        &self.path
    }

    /// Returns whether the file exists and holds exactly these bytes.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        holds(&self.folder, &self.name, bytes)
    }

    /// Returns whether the file is directly in the root.
    pub(crate) fn is_in_root(&self) -> bool {
        self.path.folder().is_none()
    }

    /// Returns whether anything is there.
    fn is_there(&self) -> bool {
        self.folder.symlink_metadata(&self.name).is_ok()
    }

    /// Opens the file for inspection, or returns `None` if there is none.
    fn open(&self) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        match self.folder.open_with(&self.name, &options) {
            Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        }
    }

    /// Refuses a note that nobody may write, or that we may not. A file can be replaced without the right to write it,
    /// so this must be checked.
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        let metadata = match self.folder.symlink_metadata(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata?,
        };
        if metadata.permissions().readonly() {
            return Err(FileRefusal::ReadOnly.into());
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::{
                fs::{Access, AtFlags, accessat},
                io::Errno,
            };
            let name: &Path = &self.name;
            match accessat(&self.folder, name, Access::WRITE_OK, AtFlags::EACCESS) {
                Err(Errno::ACCESS | Errno::PERM) => return Err(FileRefusal::ReadOnly.into()),
                Err(error @ Errno::ROFS) => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns whether a file exists and holds exactly these bytes.
fn holds(folder: &Dir, name: &Path, bytes: &[u8]) -> bool {
    let limit = bytes.len() as u64;
    read_all(folder, &name.to_string_lossy(), limit).is_ok_and(|found| found == bytes)
}

impl Root {
    /// Finds the file behind `note`. The last part need not exist; the folders above it must.
    ///
    /// # Errors
    /// [`ReadError`] when a folder on the way does not exist or leads out.
    pub(crate) fn locate(&self, note: &NotePath) -> Result<LocatedNote, ReadError> {
        self.locate_among(note, &mut OpenFolders::default())
    }

    /// Like [`Self::locate`], with folders that are open already: those of many notes would be too many.
    pub(crate) fn locate_among(
        &self,
        note: &NotePath,
        open: &mut OpenFolders,
    ) -> Result<LocatedNote, ReadError> {
        let path = self.resolve(note)?;
        let above = path.folder().unwrap_or_default();
        let folder = match open.get(above) {
            Some(folder) => Arc::clone(folder),
            None => {
                let dir = self.dir().map_err(|error| read_error(&error))?;
                let opened = match above {
                    "" => dir,
                    above => dir.open_dir(above).map_err(|error| read_error(&error))?,
                };
                let opened = Arc::new(opened);
                open.insert(above.to_owned(), Arc::clone(&opened));
                opened
            }
        };
        let name = PathBuf::from(path.file_name());
        Ok(LocatedNote {
            folder,
            name,
            path,
            is_apart: OnceLock::new(),
        })
    }

    /// Returns the path of the file behind `note`, without links. Neither it nor the folders above it need exist.
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

    /// Finds the file or folder that `path` leads to, if it exists.
    #[must_use]
    pub fn find(&self, path: &NotePath) -> Option<PathEntry> {
        // Where there is nothing, not even a link, there is no need to find out what the path leads to.
        let there = self.dir().ok()?.symlink_metadata(path.as_str());
        if there.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return None;
        }
        let LocatedNote {
            folder, name, path, ..
        } = self.locate(path).ok()?;
        let metadata = folder.symlink_metadata(name).ok()?;
        if metadata.is_file() {
            Some(PathEntry::File(path))
        } else if metadata.is_dir() {
            Some(PathEntry::Folder(path))
        } else {
            None
        }
    }

    /// Returns the path of `note` without links.
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
            // A dangling link is not a place to write to.
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

    /// Returns the path that `real` finds, once it is the path of a file. The system reports where an open file is by
    /// now: one that was replaced since it was opened is in the private folder, or deleted.
    fn steady_path(
        &self,
        dir: &Dir,
        real: impl Fn() -> Result<PathBuf, ReadError>,
    ) -> Result<PathBuf, ReadError> {
        /// More edits than anyone makes to a document between two system calls.
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

    /// Creates the folders above `note`, and flushes them so that they survive a power cut.
    pub(crate) fn make_folders_above(&self, note: &NotePath) -> io::Result<()> {
        let Some(folder) = note.folder().filter(|folder| !is_private(folder)) else {
            return Ok(());
        };
        let dir = self.dir()?;
        let mut above = None;
        let ends = folder.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([folder.len()]) {
            let path = &folder[..end];
            match step("make_folder", || dir.create_dir(path)) {
                Ok(()) => step("flush_parent", || match above {
                    Some(above) => flush_folder(&dir.open_dir(above)?),
                    None => flush_folder(&dir),
                })?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            above = Some(path);
        }
        Ok(())
    }
}

impl PrivateFolder {
    /// Writes `bytes` to a temporary file that will replace `target`, with all attributes of the file at `like`, and
    /// flushes it.
    pub(crate) fn prepare(
        &self,
        name: &StepName,
        bytes: &[u8],
        like: &LocatedNote,
        target: &LocatedNote,
    ) -> io::Result<()> {
        let workplace = self.workplace(target)?;
        if workplace.is_beside {
            step("mark_temporary", || self.mark(name, target))?;
        }
        let unfinished = workplace.file(name, TemporaryRole::Unfinished);
        match workplace.dir.remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let like = like.open()?;
        let mut file = step("create_temporary", || match like {
            Some(_) => self.create(&workplace.dir, &unfinished),
            // A new note gets the permissions that the user gives new files.
            None => {
                let mut options = OpenOptions::new();
                options.write(true).create_new(true);
                workplace.dir.open_with(&unfinished, &options)
            }
        })?;
        step("write_temporary", || file.write_all(bytes))?;
        if let Some(like) = like {
            step("copy_attributes", || attributes::copy(&like, &file))?;
        }
        step("flush_temporary", || file.sync_all())?;
        step("name_temporary", || {
            let finished = workplace.file(name, TemporaryRole::New);
            // An existing file is not ours: all known files of ours were cleaned up before.
            if place_new(
                &workplace.dir,
                &unfinished,
                &workplace.dir,
                finished.as_ref(),
            )? == SwapOutcome::Changed
            {
                self.rescue(&workplace, name, TemporaryRole::New)?;
                workplace
                    .dir
                    .rename(&unfinished, &workplace.dir, &finished)?;
            }
            Ok(())
        })
    }

    /// Puts the temporary file, which holds `new`, in place of the note, which must hold `old`; `None` means no file.
    pub(crate) fn swap_in(
        &self,
        name: &StepName,
        note: &LocatedNote,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> io::Result<SwapOutcome> {
        let workplace = self.workplace(note)?;
        let swapped = step("place", || match old {
            None => {
                let file = workplace.file(name, TemporaryRole::New);
                place_new(&workplace.dir, &file, &note.folder, &note.name)
            }
            Some(old) => self.exchange(&workplace, name, note, old, new),
        })?;
        if swapped == SwapOutcome::Done {
            step("flush_folder", || flush_folder(&note.folder))?;
        }
        Ok(swapped)
    }

    /// Puts the old file back where it was, if it was moved away and the name is free.
    pub(crate) fn put_back(&self, name: &StepName, note: &LocatedNote) -> io::Result<SwapOutcome> {
        let workplace = self.find(name, TemporaryRole::Old, note)?;
        let file = workplace.file(name, TemporaryRole::Old);
        let placed = step("put_back", || return_file(&workplace.dir, &file, note))?;
        if placed == SwapOutcome::Done {
            step("flush_folder", || flush_folder(&note.folder))?;
        }
        Ok(placed)
    }

    /// Moves the note, which must hold `old`, out of its folder. It is kept as a temporary file.
    pub(crate) fn take_out(
        &self,
        name: &StepName,
        note: &LocatedNote,
        old: &[u8],
    ) -> io::Result<SwapOutcome> {
        let workplace = self.workplace(note)?;
        if workplace.is_beside {
            step("mark_temporary", || self.mark(name, note))?;
        }
        step("take_out", || self.move_away(&workplace, name, note))?;
        let file = workplace.file(name, TemporaryRole::Old);
        if !holds(&workplace.dir, file.as_ref(), old) {
            // It is moved back. If another file is there by now, it is kept instead.
            if place_new(&workplace.dir, &file, &note.folder, &note.name)? == SwapOutcome::Changed {
                self.rescue(&workplace, name, TemporaryRole::Old)?;
            }
            return Ok(SwapOutcome::Changed);
        }
        step("flush_folder", || flush_folder(&note.folder))?;
        Ok(SwapOutcome::Done)
    }

    /// Undoes [`Self::swap_in`] of a new note, which must hold `new`.
    pub(crate) fn take_back(
        &self,
        name: &StepName,
        note: &LocatedNote,
        new: &[u8],
    ) -> io::Result<SwapOutcome> {
        let workplace = self.workplace(note)?;
        let taken = self.take_new_away(&workplace, name, note, new)?;
        if taken == SwapOutcome::Done {
            step("flush_folder", || flush_folder(&note.folder))?;
        }
        Ok(taken)
    }

    fn take_new_away(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        note: &LocatedNote,
        new: &[u8],
    ) -> io::Result<SwapOutcome> {
        let file = workplace.file(name, TemporaryRole::New);
        step("take_back", || {
            note.folder.rename(&note.name, &workplace.dir, &file)
        })?;
        if holds(&workplace.dir, file.as_ref(), new) {
            return Ok(SwapOutcome::Done);
        }
        if place_new(&workplace.dir, &file, &note.folder, &note.name)? == SwapOutcome::Changed {
            self.rescue(workplace, name, TemporaryRole::New)?;
        }
        Ok(SwapOutcome::Changed)
    }

    /// Undoes [`Self::swap_in`] of a note that was replaced, if it holds `new` and the old file is there.
    pub(crate) fn swap_back(
        &self,
        name: &StepName,
        note: &LocatedNote,
        old: &[u8],
        new: &[u8],
    ) -> io::Result<SwapOutcome> {
        let workplace = self.workplace(note)?;
        if workplace.has(name, TemporaryRole::Old) {
            if note.holds(new)
                && self.take_new_away(&workplace, name, note, new)? == SwapOutcome::Changed
            {
                return Ok(SwapOutcome::Changed);
            }
            // Between the two there is no file, so nothing that could fail is done here.
            return self.put_back(name, note);
        }
        if note.holds(new) {
            self.swap_in(name, note, Some(new), old)
        } else {
            Ok(SwapOutcome::Changed)
        }
    }

    /// Returns how far a step about `note` got.
    pub(crate) fn stages(&self, name: &StepName, note: &LocatedNote) -> io::Result<ReplaceStages> {
        let new = self.find(name, TemporaryRole::New, note)?;
        let new = match new.read(name, TemporaryRole::New, self.limit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            bytes => Some(bytes?),
        };
        Ok(ReplaceStages {
            has_new: new.as_ref().is_some_and(|bytes| name.is_after(bytes)),
            has_exchanged: new.is_some_and(|bytes| !name.is_after(&bytes)),
            has_old: self
                .find(name, TemporaryRole::Old, note)?
                .has(name, TemporaryRole::Old),
            is_absent: !note.is_there(),
        })
    }

    /// Exchanges old and new, and checks the old file.
    fn exchange(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        note: &LocatedNote,
        old: &[u8],
        new: &[u8],
    ) -> io::Result<SwapOutcome> {
        // This nearly always catches a change before anyone can see the new bytes.
        if !note.holds(old) {
            return Ok(SwapOutcome::Changed);
        }
        match self.exchanged(workplace, name, note, old, new)? {
            Some(swapped) => Ok(swapped),
            None => self.moved_and_placed(workplace, name, note, old, new),
        }
    }

    /// Exchanges the files in one step, or returns `None` if the system cannot.
    #[cfg(target_os = "linux")]
    fn exchanged(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        note: &LocatedNote,
        old: &[u8],
        new: &[u8],
    ) -> io::Result<Option<SwapOutcome>> {
        use rustix::fs::RenameFlags;
        let file = workplace.file(name, TemporaryRole::New);
        let exchange = || {
            step("exchange", || {
                rename_with(
                    &workplace.dir,
                    &file,
                    &note.folder,
                    &note.name,
                    RenameFlags::EXCHANGE,
                )
            })
        };
        let away_holds = |bytes| holds(&workplace.dir, file.as_ref(), bytes);
        match exchange() {
            Err(error) if is_unsupported(&error) => return Ok(None),
            // The note was removed or moved away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(SwapOutcome::Changed));
            }
            exchanged => exchanged?,
        }
        if away_holds(old) {
            return Ok(Some(SwapOutcome::Done));
        }
        exchange()?;
        if !away_holds(new) {
            // Someone wrote over the new bytes within these microseconds. Their bytes are put back, and what they
            // overwrote is kept.
            exchange()?;
            self.rescue(workplace, name, TemporaryRole::New)?;
        }
        Ok(Some(SwapOutcome::Changed))
    }

    #[cfg(not(target_os = "linux"))]
    fn exchanged(
        &self,
        _: &TemporaryFolder,
        _: &StepName,
        _: &LocatedNote,
        _: &[u8],
        _: &[u8],
    ) -> io::Result<Option<SwapOutcome>> {
        Ok(None)
    }

    /// Does the same in two steps, neither of which overwrites anything: the old file is moved away, and the new one is
    /// moved to the free name.
    fn moved_and_placed(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        note: &LocatedNote,
        old: &[u8],
        new: &[u8],
    ) -> io::Result<SwapOutcome> {
        let (fresh, away) = (
            workplace.file(name, TemporaryRole::New),
            workplace.file(name, TemporaryRole::Old),
        );
        match step("move_away", || self.move_away(workplace, name, note)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(SwapOutcome::Changed);
            }
            moved => moved?,
        }
        let to_note = |file: &str| place_new(&workplace.dir, file, &note.folder, &note.name);
        let placed = step("place_after", || to_note(&fresh));
        let is_old = holds(&workplace.dir, away.as_ref(), old);
        match placed {
            Ok(SwapOutcome::Done) if is_old => return Ok(SwapOutcome::Done),
            Ok(SwapOutcome::Done) => {
                // Someone wrote it at the last moment. Their file is put back, unless there is something newer by now.
                note.folder.rename(&note.name, &workplace.dir, &fresh)?;
                if !holds(&workplace.dir, fresh.as_ref(), new) {
                    if to_note(&fresh)? == SwapOutcome::Changed {
                        self.rescue(workplace, name, TemporaryRole::New)?;
                    }
                    self.rescue(workplace, name, TemporaryRole::Old)?;
                    return Ok(SwapOutcome::Changed);
                }
            }
            // Someone has created a file there. It stays.
            Ok(SwapOutcome::Changed) if is_old => return Ok(SwapOutcome::Changed),
            Ok(SwapOutcome::Changed) => {}
            Err(error) => {
                step("put_back", || return_file(&workplace.dir, &away, note))?;
                return Err(error);
            }
        }
        if to_note(&away)? == SwapOutcome::Changed {
            self.rescue(workplace, name, TemporaryRole::Old)?;
        }
        Ok(SwapOutcome::Changed)
    }

    /// Moves the note to the temporary file for the old one.
    fn move_away(
        &self,
        workplace: &TemporaryFolder,
        name: &StepName,
        note: &LocatedNote,
    ) -> io::Result<()> {
        if workplace.has(name, TemporaryRole::Old) {
            // All known files of ours were cleaned up before.
            self.rescue(workplace, name, TemporaryRole::Old)?;
        }
        let away = workplace.file(name, TemporaryRole::Old);
        note.folder.rename(&note.name, &workplace.dir, &away)
    }
}

/// The progress of a step, as its temporary files show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplaceStages {
    /// Whether the new file is waiting to be put in place.
    pub(crate) has_new: bool,
    /// Whether the new file has changed places with another.
    pub(crate) has_exchanged: bool,
    /// Whether the old file was moved away.
    pub(crate) has_old: bool,
    /// Whether nothing is where the note should be.
    pub(crate) is_absent: bool,
}

/// Moves the old file back to where it was, if the name is free.
fn return_file(from: &Dir, file: &str, note: &LocatedNote) -> io::Result<SwapOutcome> {
    match place_new(from, file, &note.folder, &note.name) {
        // There must be a file, even at the risk of replacing one that someone created just now.
        Err(error) if error.kind() != io::ErrorKind::NotFound && !note.is_there() => {
            from.rename(file, &note.folder, &note.name)?;
            Ok(SwapOutcome::Done)
        }
        placed => placed,
    }
}

/// Moves a file to a free name.
pub(super) fn place_new(from: &Dir, file: &str, to: &Dir, name: &Path) -> io::Result<SwapOutcome> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::RenameFlags;
        let renamed = step("rename_exclusively", || {
            rename_with(from, file, to, name, RenameFlags::NOREPLACE)
        });
        match renamed {
            Err(error) if is_unsupported(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(SwapOutcome::Changed);
            }
            result => return result.map(|()| SwapOutcome::Done),
        }
    }
    match from.hard_link(file, to, name) {
        Ok(()) => {
            from.remove_file(file)?;
            Ok(SwapOutcome::Done)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(SwapOutcome::Changed),
        // The file system supports neither. All that is left is to look first.
        Err(error) if has_no_links(&error) => match to.symlink_metadata(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                from.rename(file, to, name).map(|()| SwapOutcome::Done)
            }
            found => found.map(|_| SwapOutcome::Changed),
        },
        Err(error) => Err(error),
    }
}

/// Returns whether the file system has no hard links.
fn has_no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported | io::ErrorKind::TooManyLinks
    )
}

#[cfg(target_os = "linux")]
pub(super) fn rename_with(
    from: &Dir,
    file: &str,
    to: &Dir,
    name: &Path,
    flags: rustix::fs::RenameFlags,
) -> io::Result<()> {
    rustix::fs::renameat_with(from, file, to, name, flags)?;
    Ok(())
}

/// Returns whether the file system does not support this kind of rename.
#[cfg(target_os = "linux")]
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP]
        .iter()
        .any(|known| error.raw_os_error() == Some(known.raw_os_error()))
}
