//! Append-only files that are rotated when they get long.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the listed home of the files that this crate writes: the audit log"
)]

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A file that is appended to.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: File,
}

impl AppendFile {
    /// Opens the file at `path`. A new file is readable by its owner alone.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match std::fs::metadata(path) {
            // Opening a pipe would block.
            Ok(found) if !found.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        Ok(Self { file })
    }

    /// Returns its current length in bytes.
    pub(crate) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Returns whether `path` still names this file: it may have been renamed or removed.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        match (self.file.metadata(), std::fs::metadata(path)) {
            (Ok(own), Ok(found)) => are_the_same(&own, &found),
            _ => false,
        }
    }

    /// Appends `bytes`. An error comes with the number of bytes that were written before it.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < bytes.len() {
            match self.file.write(&bytes[written..]) {
                Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        Ok(())
    }

    /// Flushes what was appended to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Rotates the file: it becomes `path.1`, the old `path.1` becomes `path.2`, and so on; `keep` of them are kept.
    /// Another process that appends to the same file rotates it too, and that must happen once: if the other process is
    /// at it, or was first, this does nothing.
    pub(crate) fn put_aside(self, path: &Path, keep: usize) -> io::Result<()> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(()),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        if !self.is_at(path) {
            return Ok(());
        }
        if keep == 0 {
            return std::fs::remove_file(path);
        }
        for number in (1..keep).rev() {
            match std::fs::rename(aside(path, number), aside(path, number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(path, aside(path, 1))
    }
}

/// Returns the path of the file that was rotated `number` times.
fn aside(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(unix)]
fn are_the_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// An open file cannot be renamed on this platform.
#[cfg(not(unix))]
fn are_the_same(one: &Metadata, other: &Metadata) -> bool {
    one.is_file() && other.is_file()
}
