//! A folder whose contents are a copy: the documents, their journal and their ids are kept elsewhere, and the folder
//! follows.
//!
//! The editor works in such a folder as in any other. This module is the other side: it finds out what the editor
//! changed, and puts in place what others changed. Nothing here is flushed, because a copy that is lost is fetched again.
//! The caller makes sure that nobody uses the folder meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use sectile_markdown::Digest;

use super::{PRIVATE_FOLDER, PrivateFolder, Root, RootError, is_private, plain::open_folder};
use crate::{
    NotePath,
    journal::{IDS, JOURNAL, JournalKey, touched_paths},
};

/// A file that a person does not see, kept beside the documents and only ever appended to or replaced as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogName {
    /// The history.
    Journal,
    /// The ids of documents that were only read.
    Ids,
}

impl LogName {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Journal, Self::Ids];

    /// Returns the name of its file.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Journal => JOURNAL,
            Self::Ids => IDS,
        }
    }
}

/// The part of a log that is known: its length, and enough of its bytes to recognize it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMark {
    /// Its length in bytes.
    pub len: u64,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// A change of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// These bytes were appended.
    Append(Vec<u8>),
    /// It was rewritten, and has these bytes now.
    Replace(Vec<u8>),
}

impl LogChange {
    /// Returns the bytes that were appended or written.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Append(bytes) | Self::Replace(bytes) => bytes,
        }
    }
}

/// The paths that an edit may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedPaths {
    /// Paths of files.
    pub files: BTreeSet<String>,
    /// Paths of folders, with everything in them.
    pub folders: BTreeSet<String>,
}

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedFile {
    /// The digest of its bytes.
    pub digest: Digest,
    /// The number of its bytes.
    pub bytes: u64,
    /// When it was last changed, in milliseconds since 1970.
    pub modified: i64,
}

/// A folder whose contents are a copy.
#[derive(Debug)]
pub struct WorkingCopy {
    root: Root,
    key: JournalKey,
}

/// Number of bytes at the start and at the end of a log by which it is recognized. A line has a checksum, and a log that
/// was rewritten has another first line.
const MARK_BYTES: usize = 256;
/// Name of the file that is being written.
const INCOMING: &str = "incoming";

impl Root {
    /// Returns all bytes of a log; none if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_log(&self, log: LogName) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let folder = self.private_folder()?;
        let file = folder.map(|folder| folder.open_for_reading(log.file()));
        if let Some(mut file) = file.transpose()?.flatten() {
            file.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

impl WorkingCopy {
    /// Opens the copy in the folder `location`, which must exist.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder, or cannot be opened.
    pub fn open(location: &Path, key: JournalKey) -> Result<Self, RootError> {
        let root = Root::open(location)?;
        let made = root.make_private_folder();
        made.map_err(|error| RootError::Unreadable(error.kind()))?;
        Ok(Self { root, key })
    }

    /// Returns the folder.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns every file of the folder with its state. Whatever is not a plain file with a valid path, such as a link, is
    /// removed.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn files(&self) -> io::Result<BTreeMap<NotePath, CopiedFile>> {
        let mut files = BTreeMap::new();
        let root = self.root.dir()?;
        collect(&root, "", &mut |dir, name, path| {
            let file = NotePath::parse_vault(path)
                .ok()
                .filter(|note| note.as_str() == path);
            match file {
                Some(note) => {
                    let state = state_of(dir, name)?;
                    files.insert(note, state);
                    Ok(())
                }
                None => dir.remove_file(name),
            }
        })?;
        Ok(files)
    }

    /// Returns the bytes of a file and its state; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &NotePath) -> io::Result<Option<(Vec<u8>, CopiedFile)>> {
        let Some(folder) = self.folder_of(path)? else {
            return Ok(None);
        };
        match folder.symlink_metadata(path.file_name()) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Ok(None),
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut file = folder.open(path.file_name())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let modified = file.metadata()?.modified()?.into_std();
        let state = CopiedFile {
            digest: Digest::of(&bytes),
            bytes: bytes.len() as u64,
            modified: milliseconds(modified),
        };
        Ok(Some((bytes, state)))
    }

    /// Puts a file in place, with this time of its last change.
    ///
    /// # Errors
    /// When it cannot be written. Then the old file is still there.
    pub fn put(&self, path: &NotePath, bytes: &[u8], modified: i64) -> io::Result<()> {
        if is_private(path.as_str()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let root = self.root.dir()?;
        if let Some(folder) = path.folder() {
            root.create_dir_all(folder)?;
        }
        let folder = self.folder_of(path)?;
        let folder = folder.ok_or(io::ErrorKind::NotFound)?;
        let private = self.private()?;
        let file = private.write_file(INCOMING, bytes)?.into_std();
        let since = Duration::from_millis(u64::try_from(modified).unwrap_or_default());
        file.set_modified(UNIX_EPOCH + since)?;
        private.dir.rename(INCOMING, &folder, path.file_name())
    }

    /// Removes a file if it is there, and the folders above it in which nothing is left.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, path: &NotePath) -> io::Result<()> {
        if is_private(path.as_str()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some(folder) = self.folder_of(path)? {
            match folder.remove_file(path.file_name()) {
                Err(error) if !is_nothing(&error) => return Err(error),
                _ => {}
            }
        }
        self.remove_empty_folders_above(path)
    }

    /// Removes the folders above `path` in which nothing is left: elsewhere, a folder is there as long as a file is.
    ///
    /// # Errors
    /// When the root cannot be opened.
    pub fn remove_empty_folders_above(&self, path: &NotePath) -> io::Result<()> {
        let root = self.root.dir()?;
        let mut above = path.folder();
        while let Some(folder) = above {
            if root.remove_dir(folder).is_err() {
                break;
            }
            above = folder.rsplit_once('/').map(|(above, _)| above);
        }
        Ok(())
    }

    /// Returns the mark of a log as it is now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log_mark(&self, log: LogName) -> io::Result<LogMark> {
        let Some(mut file) = self.private()?.open_for_reading(log.file())? else {
            return Ok(LogMark::default());
        };
        let len = file.metadata()?.len();
        let (first, last) = ends(&mut file, len)?;
        Ok(LogMark { len, first, last })
    }

    /// Returns whether a log is as it was at `mark`, judging by its length.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn has_length(&self, log: LogName, mark: &LogMark) -> io::Result<bool> {
        let file = self.private()?.open_for_reading(log.file())?;
        let len = file.map(|file| file.metadata()).transpose()?;
        Ok(len.map_or(0, |metadata| metadata.len()) == mark.len)
    }

    /// Returns how a log has changed since `mark`; `None` if it has not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log_change(&self, log: LogName, mark: &LogMark) -> io::Result<Option<LogChange>> {
        let Some(mut file) = self.private()?.open_for_reading(log.file())? else {
            return Ok((mark.len > 0).then(|| LogChange::Replace(Vec::new())));
        };
        let mut bytes = Vec::new();
        let len = file.metadata()?.len();
        if len >= mark.len && ends(&mut file, mark.len)? == (mark.first.clone(), mark.last.clone())
        {
            file.seek(SeekFrom::Start(mark.len))?;
            file.read_to_end(&mut bytes)?;
            return Ok((!bytes.is_empty()).then_some(LogChange::Append(bytes)));
        }
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(Some(LogChange::Replace(bytes)))
    }

    /// Makes a log consist of its first `keep` bytes and of `bytes`.
    ///
    /// # Errors
    /// When it cannot be written, or has fewer bytes than are to be kept.
    pub fn write_log(&self, log: LogName, keep: u64, bytes: &[u8]) -> io::Result<()> {
        let private = self.private()?;
        if keep == 0 {
            if bytes.is_empty() {
                return private.remove(log.file());
            }
            private.write_file(INCOMING, bytes)?;
            return private.rename(INCOMING, log.file());
        }
        let mut file = private.open_log(log.file(), false)?;
        if file.metadata()?.len() < keep {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.set_len(keep)?;
        file.write_all(bytes)
    }

    /// Returns the paths that the lines of a journal are about.
    #[must_use]
    pub fn touched_paths(&self, journal: &[u8]) -> TouchedPaths {
        touched_paths(journal, &self.key)
    }

    fn private(&self) -> io::Result<PrivateFolder> {
        self.root.make_private_folder()
    }

    /// Opens the folder above `path`, without following links; `None` if there is none.
    fn folder_of(&self, path: &NotePath) -> io::Result<Option<Dir>> {
        let root = self.root.dir()?;
        let opened = match path.folder() {
            Some(folder) => open_folder(&root, folder),
            None => Ok(root),
        };
        match opened {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Calls `each` with every file below `dir`, and removes everything that is neither a file nor a folder. The private
/// folder is left out.
fn collect(
    dir: &Dir,
    above: &str,
    each: &mut dyn FnMut(&Dir, &Path, &str) -> io::Result<()>,
) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        if above.is_empty() && name == PRIVATE_FOLDER {
            continue;
        }
        let path = match name.to_str() {
            Some(name) if above.is_empty() => name.to_owned(),
            Some(name) => format!("{above}/{name}"),
            None => String::new(),
        };
        let kind = entry.file_type()?;
        if kind.is_dir() && !path.is_empty() {
            collect(&dir.open_dir_nofollow(&name)?, &path, each)?;
        } else if kind.is_dir() {
            dir.remove_dir_all(&name)?;
        } else if kind.is_file() {
            each(dir, Path::new(&name), &path)?;
        } else {
            dir.remove_file(&name)?;
        }
    }
    Ok(())
}

fn state_of(dir: &Dir, name: &Path) -> io::Result<CopiedFile> {
    let mut file = dir.open(name)?;
    let modified = file.metadata()?.modified()?.into_std();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(CopiedFile {
        digest: Digest::of(&bytes),
        bytes: bytes.len() as u64,
        modified: milliseconds(modified),
    })
}

/// Returns the first and the last bytes of the part of a file that has this length.
fn ends(file: &mut cap_std::fs::File, len: u64) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let most = usize::try_from(len).unwrap_or(usize::MAX).min(MARK_BYTES);
    let mut first = vec![0; most];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut first)?;
    let mut last = vec![0; most];
    file.seek(SeekFrom::Start(len - most as u64))?;
    file.read_exact(&mut last)?;
    Ok((first, last))
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NotePath {
        NotePath::parse_vault(text).unwrap()
    }

    fn copy() -> (tempfile::TempDir, WorkingCopy) {
        let folder = tempfile::tempdir().unwrap();
        let key = JournalKey::new(&[7; JournalKey::BYTES]);
        let copy = WorkingCopy::open(folder.path(), key).unwrap();
        (folder, copy)
    }

    #[test]
    fn files_come_and_go_with_their_folders() {
        let (folder, copy) = copy();
        copy.put(&path("a/b/c.md"), b"one", 5_000).unwrap();
        copy.put(&path("a/d.md"), b"two", 6_000).unwrap();
        copy.put(&path("a/b/c.md"), b"three", 7_000).unwrap();
        let files = copy.files().unwrap();
        let names: Vec<&str> = files.keys().map(NotePath::as_str).collect();
        assert_eq!(names, ["a/b/c.md", "a/d.md"]);
        let (bytes, state) = copy.read(&path("a/b/c.md")).unwrap().unwrap();
        assert_eq!((bytes.as_slice(), state.modified), (&b"three"[..], 7_000));
        assert_eq!(files[&path("a/b/c.md")], state);
        copy.remove(&path("a/b/c.md")).unwrap();
        assert!(!folder.path().join("a/b").exists());
        copy.remove(&path("a/b/c.md")).unwrap();
        copy.remove(&path("a/d.md")).unwrap();
        assert!(!folder.path().join("a").exists());
        assert_eq!(copy.read(&path("a/d.md")).unwrap(), None);
        for hidden in [".sectile/journal", ".sectile/x.md"] {
            assert!(copy.put(&path(hidden), b"x", 0).is_err());
            assert!(copy.remove(&path(hidden)).is_err());
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_a_plain_file_is_removed() {
        use std::os::unix::{ffi::OsStrExt as _, fs::symlink};
        let (folder, copy) = copy();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.md"), "secret").unwrap();
        symlink(outside.path(), folder.path().join("out")).unwrap();
        symlink(outside.path().join("secret.md"), folder.path().join("s.md")).unwrap();
        let odd = std::ffi::OsStr::from_bytes(b"\xff.md");
        std::fs::write(folder.path().join(odd), "odd").unwrap();
        // Nothing is written through the link of a folder.
        assert!(copy.put(&path("out/x.md"), b"x", 0).is_err());
        assert!(!outside.path().join("x.md").exists());
        assert_eq!(copy.read(&path("s.md")).unwrap(), None);
        assert!(copy.files().unwrap().is_empty());
        assert!(!folder.path().join("out").exists() && !folder.path().join(odd).exists());
        assert!(outside.path().join("secret.md").exists());
    }

    #[test]
    fn a_log_grows_or_is_another() {
        let (_folder, copy) = copy();
        let log = LogName::Journal;
        let empty = copy.log_mark(log).unwrap();
        assert_eq!(copy.log_change(log, &empty).unwrap(), None);
        copy.write_log(log, 0, b"one\n").unwrap();
        let appended = Some(LogChange::Append(b"one\n".to_vec()));
        assert_eq!(copy.log_change(log, &empty).unwrap(), appended);
        assert!(!copy.has_length(log, &empty).unwrap());
        let one = copy.log_mark(log).unwrap();
        assert_eq!(copy.log_change(log, &one).unwrap(), None);
        copy.write_log(log, 4, b"two\n").unwrap();
        let appended = Some(LogChange::Append(b"two\n".to_vec()));
        assert_eq!(copy.log_change(log, &one).unwrap(), appended);
        // Taken back, and something else instead.
        copy.write_log(log, 4, b"three\n").unwrap();
        assert_eq!(copy.root().read_log(log).unwrap(), b"one\nthree\n");
        copy.write_log(log, 0, b"other\nlines\n").unwrap();
        let replaced = Some(LogChange::Replace(b"other\nlines\n".to_vec()));
        assert_eq!(copy.log_change(log, &one).unwrap(), replaced);
        assert!(copy.write_log(log, 100, b"x").is_err());
        copy.write_log(log, 0, b"").unwrap();
        assert_eq!(copy.log_change(log, &empty).unwrap(), None);
        let gone = Some(LogChange::Replace(Vec::new()));
        assert_eq!(copy.log_change(log, &one).unwrap(), gone);
    }
}
