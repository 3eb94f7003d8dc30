//! Opens notes. The one module of this crate that may touch the file system.
//!
//! Every open goes through `cap-std`, which resolves a path relative to the open root folder and follows links only
//! while they stay inside. There is no check before the open that a swapped link could outrun.

#![expect(
    clippy::disallowed_methods,
    reason = "the one module that may open notes"
)]

mod attributes;
mod displaced;
mod folders;
mod nearest;
mod plain;
mod private;
mod replace;
mod search;
mod temporary;
mod working_copy;

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cap_fs_ext::OpenOptionsSyncExt as _;
use cap_std::{
    ambient_authority,
    fs::{Dir, File, OpenOptions},
};

pub(crate) use self::{
    displaced::RESCUED,
    plain::open_folder,
    private::{HeldLock, PrivateFolder},
    replace::{LocatedNote, OpenFolders, ReplaceStages, SwapOutcome},
    temporary::StepName,
};
pub use self::{
    nearest::{NearestRoot, RootMark},
    replace::PathEntry,
    working_copy::{CopiedFile, LogChange, LogMark, LogName, TouchedPaths, WorkingCopy},
};
use crate::NotePath;

/// Sectile's own folder inside a root. No tool reaches it.
const PRIVATE_FOLDER: &str = ".sectile";

/// A folder of notes.
#[derive(Clone, Debug)]
pub struct Root {
    location: PathBuf,
    /// Largest file of the private folder that is read, in bytes.
    private_limit: u64,
}

/// Default for the largest file of the private folder that is read, in bytes.
const PRIVATE_LIMIT: u64 = 512 << 20;

/// The target of a path that a person gave. Links on the way are followed: a link stands for its target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PathTarget {
    /// A regular file: its folder, and its path in that folder.
    File(Root, NotePath),
    /// A folder.
    Folder(Root),
    /// A pipe, a device, a socket, or a file whose name no [`NotePath`] can hold.
    Other,
}

/// Times of a file, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTimes {
    /// When the file was created.
    pub created: Option<i64>,
    /// When the file was last changed.
    pub modified: Option<i64>,
}

/// The reason a folder cannot serve as a root. The messages name no path: the caller knows which one it gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// Nothing exists there.
    #[error("the folder does not exist")]
    NotFound,
    /// Something other than a folder is there.
    #[error("it is not a folder")]
    NotAFolder,
    /// The file there does not have the name of a document.
    #[error("it is not a Markdown document: its name does not end in .md or .markdown")]
    NotMarkdown,
    /// The system refuses access.
    #[error("the folder cannot be opened ({0})")]
    Unreadable(io::ErrorKind),
}

/// The reason a note cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such regular file. Folders, pipes, devices and dangling links are not notes.
    #[error("the note does not exist")]
    NotFound,
    /// A link on the way leads out of the root, whether or not its target exists.
    #[error("the path leads out of the root")]
    OutsideRoot,
    /// The file is larger than the caller allows.
    #[error("the note is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The process or the system has reached its limit of open files.
    #[error("too many files are open")]
    TooManyOpenFiles,
    /// The system refuses access.
    #[error("the note cannot be read ({0})")]
    Unreadable(io::ErrorKind),
}

/// A reason of Sectile's own not to touch a file, in contrast to the system's. It is passed inside an [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileRefusal {
    /// The note may not be written.
    #[error("the note is read-only")]
    ReadOnly,
    /// The file that would replace a note cannot have something that the note has.
    #[error("{what} cannot be kept")]
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only attributes of Linux are looked at")
    )]
    Unkept { what: String },
    /// Something else is where a file of the private folder belongs.
    #[error("{name} is not a regular file")]
    NotRegular { name: String },
    /// A file of the private folder is larger than any that Sectile writes.
    #[error("{name} is larger than {limit} bytes")]
    TooLarge { name: String, limit: u64 },
}

impl FileRefusal {
    /// Returns the refusal inside `error`, if there is one.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<FileRefusal> for io::Error {
    fn from(refusal: FileRefusal) -> Self {
        Self::other(refusal)
    }
}

impl Root {
    /// Opens the root at `location`, which must be a folder now.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder, or cannot be opened.
    pub fn open(location: &Path) -> Result<Self, RootError> {
        let location = canonical(location)?;
        if !location.is_dir() {
            return Err(RootError::NotAFolder);
        }
        let root = Self {
            location,
            private_limit: PRIVATE_LIMIT,
        };
        // A handle to a folder can be opened without the right to look inside.
        let looked_into = |dir: Dir| match dir.symlink_metadata(PRIVATE_FOLDER) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
            Ok(_) | Err(_) => Ok(()),
        };
        match root.dir().and_then(looked_into) {
            Ok(()) => Ok(root),
            Err(error) => Err(RootError::Unreadable(error.kind())),
        }
    }

    /// Returns the folder of the file at `location`, with links followed, and the file's path in it.
    pub(crate) fn of_document(location: &Path) -> Result<(Self, NotePath), RootError> {
        match PathTarget::at(location)? {
            PathTarget::File(root, note) => Ok((root, note)),
            PathTarget::Folder(_) | PathTarget::Other => Err(RootError::NotFound),
        }
    }

    /// Returns the same root, which reads files of its private folder up to `limit` bytes.
    pub(crate) fn with_private_limit(self, limit: u64) -> Self {
        Self {
            private_limit: limit,
            ..self
        }
    }

    /// Returns the path of the folder, for watching it. Notes are opened through [`Self::read`].
    #[must_use]
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// Returns when the file of a note was created and last changed, in milliseconds since 1970, if the system says so.
    #[must_use]
    pub fn times(&self, note: &NotePath) -> FileTimes {
        let metadata = self
            .open_note(note)
            .ok()
            .and_then(|file| file.metadata().ok());
        let milliseconds = |time: io::Result<cap_std::time::SystemTime>| {
            let since = time
                .ok()?
                .into_std()
                .duration_since(std::time::UNIX_EPOCH)
                .ok()?;
            i64::try_from(since.as_millis()).ok()
        };
        FileTimes {
            created: metadata
                .as_ref()
                .and_then(|metadata| milliseconds(metadata.created())),
            modified: metadata
                .as_ref()
                .and_then(|metadata| milliseconds(metadata.modified())),
        }
    }

    /// Returns whether anything, of whatever kind, is at `note`.
    pub(crate) fn is_occupied(&self, note: &NotePath) -> bool {
        self.dir()
            .is_ok_and(|dir| dir.symlink_metadata(note.as_str()).is_ok())
    }

    /// Returns whether `path` below the root, with links followed, is a folder.
    pub(crate) fn leads_to_folder(&self, path: &str) -> bool {
        self.location.join(path).is_dir()
    }

    /// Returns numbers that identify the folder as it is now, or `None` if it cannot be opened. They change when
    /// another folder takes its place. Where the system has no such numbers, they are always the same.
    #[must_use]
    pub fn identity(&self) -> Option<(u64, u64)> {
        let metadata = self.dir().and_then(|dir| dir.dir_metadata()).ok()?;
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            Some((metadata.dev(), metadata.ino()))
        }
        #[cfg(not(unix))]
        {
            metadata.is_dir().then_some((0, 0))
        }
    }

    /// Returns whether the folder itself can still be opened.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.dir().is_ok()
    }

    /// Returns whether the folder is known to be on a disk of this machine, where a read takes no longer than the disk.
    /// On anything else (network, FUSE, a system that does not say) a read may block forever.
    #[must_use]
    pub fn is_on_local_disk(&self) -> bool {
        is_on_local_disk(&self.location)
    }

    /// Returns the present bytes of `note`, if there are at most `limit`.
    ///
    /// # Errors
    /// [`ReadError`] gives the reason.
    pub fn read(&self, note: &NotePath, limit: u64) -> Result<Vec<u8>, ReadError> {
        if is_private(note.as_str()) {
            return Err(ReadError::NotFound);
        }
        let file = self.open_outside_private_folder(note)?;
        let metadata = file.metadata().map_err(|error| read_error(&error))?;
        if !metadata.is_file() {
            return Err(ReadError::NotFound);
        }
        if metadata.len() > limit {
            return Err(ReadError::TooLarge { limit });
        }
        let bytes =
            read_bounded(&file, metadata.len(), limit).map_err(|error| read_error(&error))?;
        if bytes.len() as u64 > limit {
            Err(ReadError::TooLarge { limit })
        } else {
            Ok(bytes)
        }
    }

    /// Returns the first `most` bytes of a note, or all of a shorter one.
    pub(crate) fn read_start(&self, note: &NotePath, most: u64) -> Result<Vec<u8>, ReadError> {
        if is_private(note.as_str()) {
            return Err(ReadError::NotFound);
        }
        let file = self.open_outside_private_folder(note)?;
        let metadata = file.metadata().map_err(|error| read_error(&error))?;
        if !metadata.is_file() {
            return Err(ReadError::NotFound);
        }
        let mut start = Vec::new();
        file.take(most)
            .read_to_end(&mut start)
            .map_err(|error| read_error(&error))?;
        Ok(start)
    }

    /// Opens the folder. It is reopened for every read, so that a replaced folder is noticed.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        Dir::open_ambient_dir(&self.location, ambient_authority())
    }

    fn open_note(&self, note: &NotePath) -> Result<File, ReadError> {
        let dir = self.dir().map_err(|error| read_error(&error))?;
        match open_confined(&dir, Path::new(note.as_str())) {
            Err(ReadError::OutsideRoot) => {
                let target = self
                    .absolute_link_target(note.as_str())
                    .ok_or(ReadError::OutsideRoot)?;
                open_confined(&dir, &target)
            }
            result => result,
        }
    }

    /// Returns the target of `note` if only absolute links made it look like an escape. The target is opened under the
    /// same confinement, so this is a hint, not a permission.
    fn absolute_link_target(&self, note: &str) -> Option<PathBuf> {
        let target = self.location.join(note).canonicalize().ok()?;
        target
            .strip_prefix(&self.location)
            .ok()
            .map(Path::to_path_buf)
    }

    /// Opens `note`, unless links lead from it into the private folder, or from the name of a document to a file that
    /// is not a document.
    fn open_outside_private_folder(&self, note: &NotePath) -> Result<File, ReadError> {
        /// More edits than anyone makes to a document between two system calls.
        const MOST_OPENS: usize = 64;
        let path_now = || self.location.join(note.as_str()).canonicalize().ok();
        let must_be_markdown = is_markdown_name(note.file_name());
        let may_be_read = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_document = !must_be_markdown || is_markdown_name(&name);
            is_document && !self.is_in_private_folder(path)
        };
        for _ in 0..MOST_OPENS {
            let file = self.open_note(note)?;
            let opened = open_file_path(&file).or_else(path_now);
            if opened.is_some_and(|path| may_be_read(&path)) {
                return Ok(file);
            }
            // An edit swaps the old file into the private folder, and another program may have removed it. Then it is
            // reopened.
            if path_now().is_none_or(|path| !may_be_read(&path)) {
                break;
            }
        }
        Err(ReadError::NotFound)
    }

    fn is_in_private_folder(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.location).unwrap_or(path);
        below
            .components()
            .any(|part| part.as_os_str().eq_ignore_ascii_case(PRIVATE_FOLDER))
    }
}

impl PathTarget {
    /// Opens whatever is at `location`.
    ///
    /// # Errors
    /// [`RootError`] when nothing is there, or the system refuses access.
    pub fn at(location: &Path) -> Result<Self, RootError> {
        let location = canonical(location)?;
        if location.is_dir() {
            return Root::open(&location).map(Self::Folder);
        }
        let name = location.file_name().and_then(|name| name.to_str());
        let note = name.and_then(|name| NotePath::parse_vault(name).ok());
        // A name with a backslash would be read as a different path.
        let note = note.filter(|note| Some(note.as_str()) == name);
        match (location.parent(), note) {
            (Some(folder), Some(note)) if location.is_file() => {
                Ok(Self::File(Root::open(folder)?, note))
            }
            _ => Ok(Self::Other),
        }
    }
}

/// Returns `location` without links.
fn canonical(location: &Path) -> Result<PathBuf, RootError> {
    location.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => RootError::NotFound,
        kind => RootError::Unreadable(kind),
    })
}

/// Returns whether the name of a file says that it is Markdown.
pub(crate) fn is_markdown_name(name: &str) -> bool {
    [".md", ".markdown"].iter().any(|ending| {
        name.len() > ending.len()
            && name
                .get(name.len() - ending.len()..)
                .is_some_and(|end| end.eq_ignore_ascii_case(ending))
    })
}

/// Returns whether a path below the root is the private folder, something in it, or a temporary file next to a note.
pub(crate) fn is_private(path: &str) -> bool {
    path.split('/').any(|segment| {
        segment.eq_ignore_ascii_case(PRIVATE_FOLDER) || temporary::is_beside(segment)
    })
}

/// Returns the path of an open file without links, if the system knows it.
#[cfg(target_os = "linux")]
fn open_file_path(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_file_path(_: &File) -> Option<PathBuf> {
    None
}

/// Opens a file for reading without blocking: a pipe without a writer must not block the call.
fn open_confined(dir: &Dir, path: &Path) -> Result<File, ReadError> {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    dir.open_with(path, &options)
        .map_err(|error| read_error(&error))
}

/// Reads a file of `expected` bytes, which may grow meanwhile: at most one byte more than `limit`.
fn read_bounded(mut file: &File, expected: u64, limit: u64) -> io::Result<Vec<u8>> {
    // One large read: reading to an unknown end takes many small ones.
    let mut bytes = vec![0; usize::try_from(expected).unwrap_or_default()];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    file.take((limit + 1).saturating_sub(filled as u64))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_error(error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::InvalidInput => ReadError::NotFound,
        // cap-std creates this error itself; one from the system has a number.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => ReadError::OutsideRoot,
        _ if is_link_loop(error) || is_unconnected(error) => ReadError::NotFound,
        _ if is_out_of_descriptors(error) => ReadError::TooManyOpenFiles,
        kind => ReadError::Unreadable(kind),
    }
}

#[cfg(target_os = "linux")]
fn is_on_local_disk(path: &Path) -> bool {
    /// ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS and bcachefs, by the kernel's numbers.
    const LOCAL: [u32; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
    ];
    // The kernel's numbers have 32 bits, whatever the width of the field on this machine.
    rustix::fs::statfs(path).is_ok_and(|stat| LOCAL.contains(&(stat.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_on_local_disk(_: &Path) -> bool {
    false
}

/// Returns whether links form a loop. `ErrorKind::FilesystemLoop` is not stable, so the error is recognized by its
/// number.
#[cfg(unix)]
pub(crate) fn is_link_loop(error: &io::Error) -> bool {
    const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
    error.raw_os_error() == Some(ELOOP)
}

/// Returns whether the process or the system has reached its limit of open files.
#[cfg(unix)]
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

/// Returns whether the file is a socket, or a device without a driver.
#[cfg(unix)]
fn is_unconnected(error: &io::Error) -> bool {
    const ENXIO: i32 = 6;
    error.raw_os_error() == Some(ENXIO)
}

#[cfg(not(unix))]
pub(crate) fn is_link_loop(_: &io::Error) -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn is_out_of_descriptors(_: &io::Error) -> bool {
    false
}

#[cfg(not(unix))]
fn is_unconnected(_: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests;
