//! Opens a path without following any link on the way.
//!
//! If the kernel can, it resolves the whole path itself and stops at the first link. Otherwise each folder is opened
//! from the one before. Either way nothing is checked before it is opened.

use std::{io, path::Path};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, OpenOptions};

use super::{ReadError, Root, is_private, open_file_path, read_bounded, read_error};
use crate::{FileStamp, NotePath, walk::stamp};

impl Root {
    /// Like [`Root::read`], but a link anywhere on the way makes it [`ReadError::NotFound`], wherever it leads.
    ///
    /// # Errors
    /// [`ReadError`] gives the reason.
    pub fn read_plain(&self, note: &NotePath, limit: u64) -> Result<Vec<u8>, ReadError> {
        Ok(self.read_once(note, limit)?.0)
    }

    /// Like [`Self::read_plain`], with the stamp of the file. A file that changes while it is read is read again, a few
    /// times; `None` if it never stood still, so that half of an edit is never taken for a document.
    ///
    /// # Errors
    /// As [`Self::read_plain`].
    pub fn read_settled(
        &self,
        note: &NotePath,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, FileStamp)>, ReadError> {
        const TRIES: usize = 4;
        for _ in 0..TRIES {
            let (bytes, before, after) = self.read_once(note, limit)?;
            if before == after && before.bytes == bytes.len() as u64 {
                return Ok(Some((bytes, after)));
            }
        }
        Ok(None)
    }

    /// Returns the bytes of `note` if its file has exactly this path, which is the case for nearly every note and takes
    /// few system calls. `None` says nothing: a link may be on the way, the system may spell a name differently or not
    /// say how, and the file may be missing, too large or unreadable.
    pub(crate) fn read_in_place(&self, note: &NotePath, limit: u64) -> Option<Vec<u8>> {
        if is_private(note.as_str()) {
            return None;
        }
        let file = open_file(&self.dir().ok()?, note.as_str()).ok()?;
        // A file that is replaced just now has another path already.
        let path = open_file_path(&file)?;
        if path.strip_prefix(self.location()).ok()? != Path::new(note.as_str()) {
            return None;
        }
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > limit {
            return None;
        }
        let bytes = read_bounded(&file, metadata.len(), limit).ok()?;
        (bytes.len() as u64 <= limit).then_some(bytes)
    }

    /// Reads a file; returns its stamps before and after too.
    fn read_once(
        &self,
        note: &NotePath,
        limit: u64,
    ) -> Result<(Vec<u8>, FileStamp, FileStamp), ReadError> {
        if is_private(note.as_str()) {
            return Err(ReadError::NotFound);
        }
        let plain_error = |error: io::Error| match read_error(&error) {
            ReadError::OutsideRoot => ReadError::NotFound,
            error => error,
        };
        let dir = self.dir().map_err(plain_error)?;
        let file = open_file(&dir, note.as_str()).map_err(plain_error)?;
        let metadata = file.metadata().map_err(plain_error)?;
        if !metadata.is_file() {
            return Err(ReadError::NotFound);
        }
        if metadata.len() > limit {
            return Err(ReadError::TooLarge { limit });
        }
        let bytes = read_bounded(&file, metadata.len(), limit).map_err(plain_error)?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge { limit });
        }
        let after = file.metadata().map_err(plain_error)?;
        Ok((bytes, stamp(&metadata), stamp(&after)))
    }
}

/// Opens the file at `path` for reading, without blocking on a pipe. It may turn out not to be a regular file.
fn open_file(dir: &Dir, path: &str) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Some(opened) = resolved_by_kernel(dir, path, rustix::fs::OFlags::NONBLOCK) {
        return opened.map(|file| File::from_std(file.into()));
    }
    file_by_folder(dir, path)
}

fn file_by_folder(dir: &Dir, path: &str) -> io::Result<File> {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder_by_folder(dir, folder)?), name),
        None => (None, path),
    };
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    folder.as_ref().unwrap_or(dir).open_with(name, &options)
}

/// Opens the folder at `path` below `dir`; a link anywhere on the way is an error.
pub(crate) fn open_folder(dir: &Dir, path: &str) -> io::Result<Dir> {
    #[cfg(target_os = "linux")]
    if let Some(opened) = resolved_by_kernel(dir, path, rustix::fs::OFlags::DIRECTORY) {
        return opened.map(|folder| Dir::from_std_file(folder.into()));
    }
    folder_by_folder(dir, path)
}

fn folder_by_folder(dir: &Dir, path: &str) -> io::Result<Dir> {
    let mut segments = path.split('/');
    let first = segments.next().unwrap_or_default();
    let mut opened = dir.open_dir_nofollow(Path::new(first))?;
    for segment in segments {
        opened = opened.open_dir_nofollow(Path::new(segment))?;
    }
    Ok(opened)
}

/// Opens `path` in the kernel, or returns `None` if it cannot resolve paths this way (before Linux 5.6, or in a
/// sandbox).
#[cfg(target_os = "linux")]
fn resolved_by_kernel(
    dir: &Dir,
    path: &str,
    flags: rustix::fs::OFlags,
) -> Option<io::Result<std::os::fd::OwnedFd>> {
    use rustix::{
        fs::{Mode, OFlags, ResolveFlags, openat2},
        io::Errno,
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | flags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(dir, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => None,
        opened => Some(opened.map_err(io::Error::from)),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::symlink,
        path::PathBuf,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    fn fixture() -> (tempfile::TempDir, PathBuf, Root) {
        let temp = tempfile::tempdir().unwrap();
        let vault = temp.path().join("vault");
        fs::create_dir_all(vault.join("a/b")).unwrap();
        fs::create_dir_all(temp.path().join("outside/b")).unwrap();
        fs::write(vault.join("a/b/one.md"), "inside").unwrap();
        fs::write(temp.path().join("outside/b/one.md"), "SECRET").unwrap();
        let root = Root::open(&vault).unwrap();
        (temp, vault, root)
    }

    fn read(root: &Root, path: &str) -> Result<String, ReadError> {
        let bytes = root.read_plain(&NotePath::parse_vault(path).unwrap(), 1000)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// Opens `path` folder by folder, as if the kernel could not resolve it.
    fn by_folder(vault: &Path, path: &str) -> io::Result<bool> {
        let dir = Dir::open_ambient_dir(vault, cap_std::ambient_authority())?;
        let metadata = match path.ends_with(".md") {
            true => file_by_folder(&dir, path)?.metadata()?,
            false => folder_by_folder(&dir, path)?.dir_metadata()?,
        };
        Ok(metadata.is_file())
    }

    #[test]
    fn a_link_anywhere_on_the_way_is_not_followed() {
        let (temp, vault, root) = fixture();
        assert_eq!(read(&root, "a/b/one.md").as_deref(), Ok("inside"));
        symlink("a", vault.join("first")).unwrap();
        symlink("b", vault.join("a/middle")).unwrap();
        symlink("one.md", vault.join("a/b/last.md")).unwrap();
        symlink(temp.path().join("outside"), vault.join("out")).unwrap();
        symlink("loop.md", vault.join("loop.md")).unwrap();
        for path in [
            "first/b/one.md",
            "a/middle/one.md",
            "a/b/last.md",
            "out/b/one.md",
            "loop.md",
            "a/b",
            "a/b/one.md/x.md",
            "a/none.md",
            ".sectile/journal",
        ] {
            assert_eq!(read(&root, path), Err(ReadError::NotFound), "{path}");
        }
        assert!(!by_folder(&vault, "a/b").unwrap());
        assert!(by_folder(&vault, "a/b/one.md").unwrap());
        for path in [
            "first/b",
            "a/middle",
            "out/b",
            "first/b/one.md",
            "a/middle/one.md",
            "a/b/last.md",
            "out/b/one.md",
            "loop.md",
            "a/b/one.md/x.md",
        ] {
            assert!(by_folder(&vault, path).is_err(), "{path}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_file_with_exactly_this_path_is_read_in_place() {
        let (_folder, vault, root) = fixture();
        fs::create_dir_all(vault.join("deep/er")).unwrap();
        fs::write(vault.join("deep/er/one.md"), "one").unwrap();
        symlink("one.md", vault.join("deep/er/link.md")).unwrap();
        symlink("deep", vault.join("by")).unwrap();
        fs::create_dir_all(vault.join(".sectile")).unwrap();
        fs::write(vault.join(".sectile/own.md"), "own").unwrap();
        let read =
            |path: &str, limit| root.read_in_place(&NotePath::parse_vault(path).unwrap(), limit);
        assert_eq!(read("deep/er/one.md", 3), Some(b"one".to_vec()));
        assert_eq!(read("deep/er/one.md", 2), None);
        for path in [
            "deep/er/link.md",
            "by/er/one.md",
            "deep/er",
            "none.md",
            ".sectile/own.md",
        ] {
            assert_eq!(read(path, 100), None, "{path}");
        }
    }

    #[test]
    fn limits_and_odd_files() {
        let (_temp, vault, root) = fixture();
        let note = NotePath::parse_vault("a/b/one.md").unwrap();
        assert_eq!(
            root.read_plain(&note, 5),
            Err(ReadError::TooLarge { limit: 5 })
        );
        assert_eq!(root.read_plain(&note, 6).unwrap(), b"inside");
        let made = std::process::Command::new("mkfifo")
            .arg(vault.join("pipe.md"))
            .status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(read(&root, "pipe.md"), Err(ReadError::NotFound));
        }
    }

    #[test]
    fn a_folder_swapped_for_a_link_while_reading_gives_nothing_away() {
        let (temp, vault, root) = fixture();
        let done = AtomicBool::new(false);
        symlink(temp.path().join("outside"), vault.join("link")).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..300 {
                    fs::rename(vault.join("a"), vault.join("real")).unwrap();
                    fs::rename(vault.join("link"), vault.join("a")).unwrap();
                    fs::rename(vault.join("a"), vault.join("link")).unwrap();
                    fs::rename(vault.join("real"), vault.join("a")).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                match read(&root, "a/b/one.md") {
                    Ok(text) => assert_eq!(text, "inside"),
                    Err(error) => assert_eq!(error, ReadError::NotFound),
                }
            }
        });
    }
}
