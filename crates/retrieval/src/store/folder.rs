//! The only code of this crate that touches files: those of an index folder.
#![expect(
    clippy::disallowed_methods,
    reason = "this is where index files are touched"
)]

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    ops::Range,
    path::{Path, PathBuf},
};

use mmap_io::{MemoryMappedFile, MmapAdvice, MmapMode};

use crate::bytes::Keeper;

/// What names of files begin with that are not finished.
const UNFINISHED: &str = "new-";

/// A folder for index files, and nothing else.
#[derive(Debug)]
pub(super) struct Folder {
    location: PathBuf,
}

/// Held until it is dropped, also when the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// A file in memory, as far as it is used.
pub(super) struct Mapped {
    map: MemoryMappedFile,
    length: u64,
    #[cfg(unix)]
    file: File,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.map.as_slice_bytes(0, self.length).unwrap_or_default()
    }
}

impl Keeper for Mapped {
    fn release(&self, range: Range<usize>) {
        let (start, length) = (range.start as u64, range.len() as u64);
        // A hint, and no harm is done when it is not taken.
        self.map
            .advise(start, length, MmapAdvice::DontNeed)
            .unwrap_or_default();
    }

    /// Not from the map: whoever touches one byte of that may get two megabytes of it.
    #[cfg(unix)]
    fn read(&self, range: Range<usize>) -> Option<std::borrow::Cow<'_, [u8]>> {
        use std::os::unix::fs::FileExt as _;

        let length = range.end.checked_sub(range.start)?;
        if range.end as u64 > self.length {
            return None;
        }
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, range.start as u64)
            .ok()?;
        Some(bytes.into())
    }
}

impl Folder {
    pub(super) fn open(location: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(location) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(Self {
                location: location.to_owned(),
            })),
            Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the folder, and those above it. Only its owner can open what is made.
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

    /// Options for regular files that only their owner can read. Links are not followed.
    fn options() -> fs::OpenOptions {
        let mut options = fs::OpenOptions::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        options
    }

    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let path = self.path(name);
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::options().read(true).open(path)
    }

    /// The bytes of a file, or `None` when there is none.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match self.open_file(name) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A file as memory. Files that are mapped are replaced and removed, but never changed or cut off. An empty one cannot
    /// be mapped, and is none of ours.
    pub(super) fn map(&self, name: &str) -> io::Result<Mapped> {
        let file = self.open_file(name)?;
        let length = file.metadata()?.len();
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        #[cfg(unix)]
        let same = file.try_clone()?;
        let map = MemoryMappedFile::from_file(file, MmapMode::ReadOnly, name)
            .map_err(io::Error::other)?;
        Ok(Mapped {
            map,
            length,
            #[cfg(unix)]
            file: same,
        })
    }

    /// Puts a whole file in place of what is there, on disk before it can be seen.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.path(&format!("{UNFINISHED}{name}"));
        let mut options = Self::options();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(unfinished, self.path(name))
    }

    /// Makes what was renamed survive a power cut.
    pub(super) fn flush(&self) -> io::Result<()> {
        #[cfg(unix)]
        File::open(&self.location)?.sync_all()?;
        Ok(())
    }

    /// The names of all files.
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

    /// Whether a file's name begins so, once it is finished.
    pub(super) fn is_of(name: &str, start: &str) -> bool {
        let name = name.strip_prefix(UNFINISHED).unwrap_or(name);
        name.starts_with(start)
    }

    /// Whether a file was not finished.
    pub(super) fn is_unfinished(name: &str) -> bool {
        name.starts_with(UNFINISHED)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    /// The right that a file stands for, or `None` when another process has it.
    pub(super) fn lock(&self, name: &str) -> io::Result<Option<Lock>> {
        let mut options = Self::options();
        let file = options.write(true).create(true).open(self.path(name))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}
