//! The only code of this crate that touches files: those of an index folder.
#![expect(
    clippy::disallowed_methods,
    reason = "this is where index files are touched"
)]

mod cache;

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use sectile_markdown::Digest;

pub use self::cache::{CacheFolder, CachedIndex};
use crate::bytes::{DiskFile, Origin, ReadAt};

/// The prefix of names of unfinished files.
const UNFINISHED: &str = "new-";

/// A folder of index files, and nothing else.
#[derive(Debug)]
pub(super) struct Folder {
    location: PathBuf,
    /// Whether files are not flushed to disk: one that a power failure damages is detected by its checksum and rebuilt.
    pub(super) is_cache: bool,
}

/// A file of a folder, as it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

/// A lock held until it is dropped, or until the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

#[cfg(unix)]
impl ReadAt for File {
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, at)
    }
}

#[cfg(windows)]
impl ReadAt for File {
    fn read_exact_at(&self, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buffer, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => {
                    buffer = &mut buffer[length..];
                    at += length as u64;
                }
            }
        }
        Ok(())
    }
}

impl Folder {
    pub(super) fn open(location: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(location) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(Self {
                location: location.to_owned(),
                is_cache: false,
            })),
            Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the folder and its parents. Only the owner can open what is created.
    pub(super) fn make(location: &Path) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(location)?;
        Self::open(location)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.location.join(name)
    }

    /// Returns options for files that only their owner can read. Links are not followed, and opening a pipe does not
    /// block.
    fn options() -> fs::OpenOptions {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "nothing is set"))]
        let mut options = fs::OpenOptions::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;

            use rustix::fs::OFlags;
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            options.mode(0o600).custom_flags(flags.bits().cast_signed());
        }
        options
    }

    /// Opens an existing regular file. Anything else is [`io::ErrorKind::InvalidData`].
    fn regular(&self, name: &str, options: &fs::OpenOptions) -> io::Result<File> {
        let path = self.path(name);
        let not_ours = || io::Error::from(io::ErrorKind::InvalidData);
        // Opening a device may already have side effects.
        match fs::symlink_metadata(&path) {
            Ok(metadata) if !metadata.is_file() => return Err(not_ours()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = options.open(path)?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(not_ours()),
        }
    }

    fn open_file(&self, name: &str) -> io::Result<File> {
        self.regular(name, Self::options().read(true))
    }

    /// Reads a file; `None` if there is none. One with more than `most` bytes is [`io::ErrorKind::InvalidData`].
    pub(super) fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        match self.open_file(name) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(most + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > most {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for reading on demand, and returns its stamp. One with more than `most` bytes is
    /// [`io::ErrorKind::InvalidData`].
    pub(super) fn origin(&self, name: &str, most: u64) -> io::Result<(Origin, Digest)> {
        let file = self.open_file(name)?;
        let metadata = file.metadata()?;
        if metadata.len() > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let file = DiskFile::new(file, metadata.len());
        Ok((Origin::Disk(file.into()), stamp(&metadata)))
    }

    /// Returns a stamp that changes when the file does, or `None` if there is none.
    pub(super) fn stamp(&self, name: &str) -> Option<Digest> {
        let metadata = fs::symlink_metadata(self.path(name)).ok()?;
        Some(stamp(&metadata))
    }

    /// Replaces a file atomically, flushed to disk before it is visible, unless this is a cache.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_through(&format!("{UNFINISHED}{name}"), name, bytes, None)
    }

    /// As [`Self::write`], where others may be writing the same file at this moment. A file that takes the place of older
    /// ones is given their time.
    pub(super) fn write_among_others(
        &self,
        name: &str,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
        let unfinished = format!("{UNFINISHED}{process}-{number}-{name}");
        self.write_through(&unfinished, name, bytes, modified)
    }

    /// Writes `unfinished`, and renames it to `name`.
    fn write_through(
        &self,
        unfinished: &str,
        name: &str,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> io::Result<()> {
        let unfinished = self.path(unfinished);
        // A leftover, or a link planted to have something else overwritten.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = Self::options()
            .write(true)
            .create_new(true)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        if let Some(modified) = modified {
            file.set_modified(modified)?;
        }
        if !self.is_cache {
            file.sync_all()?;
        }
        drop(file);
        let path = self.path(name);
        // An empty folder in its place is not in use, and is the only thing that a rename cannot replace.
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            fs::remove_dir(&path)?;
        }
        fs::rename(unfinished, path)
    }

    /// Makes renames survive a power failure.
    pub(super) fn flush(&self) -> io::Result<()> {
        #[cfg(unix)]
        if !self.is_cache {
            File::open(&self.location)?.sync_all()?;
        }
        Ok(())
    }

    /// Returns the names of all files.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.location)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns all regular files, the oldest first.
    pub(super) fn files(&self) -> io::Result<Vec<ListedFile>> {
        let listed = self.names()?.into_iter().filter_map(|name| {
            // One that was removed meanwhile is not listed.
            let metadata = fs::symlink_metadata(self.path(&name)).ok()?;
            let modified = metadata.modified().ok()?;
            metadata.is_file().then_some(ListedFile {
                name,
                bytes: metadata.len(),
                modified,
            })
        });
        let mut files: Vec<ListedFile> = listed.collect();
        files.sort_by(|one, other| {
            let by_age = one.modified.cmp(&other.modified);
            by_age.then_with(|| one.name.cmp(&other.name))
        });
        Ok(files)
    }

    /// Returns whether a file's name, once finished, begins with `start`.
    pub(super) fn is_of(name: &str, start: &str) -> bool {
        let name = name.strip_prefix(UNFINISHED).unwrap_or(name);
        name.starts_with(start)
    }

    /// Returns whether a file is unfinished.
    pub(super) fn is_unfinished(name: &str) -> bool {
        name.starts_with(UNFINISHED)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    /// Removes the folder itself, unless something is in it.
    pub(super) fn remove_if_empty(&self) -> io::Result<()> {
        match fs::remove_dir(&self.location) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the lock on a file, or returns `None` if another process holds it.
    pub(super) fn lock(&self, name: &str) -> io::Result<Option<Lock>> {
        let file = self.regular(name, Self::options().write(true).create(true))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Returns a digest of the length of a file, its inode and its change time.
fn stamp(metadata: &Metadata) -> Digest {
    let mut text = format!("{}", metadata.len());
    #[cfg(unix)]
    {
        use std::{fmt::Write as _, os::unix::fs::MetadataExt as _};
        let numbers = [metadata.dev(), metadata.ino()];
        let times = [
            (metadata.mtime(), metadata.mtime_nsec()),
            (metadata.ctime(), metadata.ctime_nsec()),
        ];
        // Writing to a string cannot fail.
        write!(text, " {numbers:?} {times:?}").unwrap_or_default();
    }
    #[cfg(not(unix))]
    {
        text += &format!(" {:?}", metadata.modified().ok());
    }
    Digest::of(text.as_bytes())
}
