//! Sectile's own folder inside a root: locks, journal and temporary files. Private, and ignored by version control.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::mpsc,
    time::{Duration, Instant},
};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, DirBuilder, File, OpenOptions};

use super::{FileRefusal, PRIVATE_FOLDER, Root, is_link_loop, is_unconnected, read_bounded};
use crate::fault::step;

/// An open private folder. Anyone may have put its files there.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    pub(super) dir: Dir,
    /// Largest file that is read, in bytes.
    pub(super) limit: u64,
}

/// A lock that is held until it is dropped or the process ends, in whatever way.
#[derive(Debug)]
pub(crate) struct HeldLock {
    _file: std::fs::File,
}

/// Interval at which a waiter for a lock checks whether it is still wanted.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Stack size in bytes of a thread that only waits.
const LOCK_STACK: usize = 64 << 10;

const TEMPORARY: &str = "tmp";
const LOCKS: &str = "locks";

impl Root {
    /// Returns the private folder, or `None` if there is none.
    pub(crate) fn private_folder(&self) -> io::Result<Option<PrivateFolder>> {
        let limit = self.private_limit;
        match self.dir()?.open_dir_nofollow(PRIVATE_FOLDER) {
            Ok(dir) => Ok(Some(PrivateFolder { dir, limit })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the path of the private folder, whether or not it exists. For indexes; notes and journals are opened
    /// here.
    #[must_use]
    pub fn private_location(&self) -> PathBuf {
        self.location().join(PRIVATE_FOLDER)
    }

    /// Creates the private folder, if there is none.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn make_private(&self) -> io::Result<()> {
        self.make_private_folder()?;
        self.flush_root()
    }

    /// Flushes the root, so that its own entries, such as the private folder, survive a power cut.
    pub(crate) fn flush_root(&self) -> io::Result<()> {
        step("flush_root", || flush_folder(&self.dir()?))
    }

    /// Opens the private folder, and creates it if there is none.
    pub(crate) fn make_private_folder(&self) -> io::Result<PrivateFolder> {
        let root = self.dir()?;
        step("private_folder", || make_folder(&root, PRIVATE_FOLDER))?;
        let dir = root.open_dir_nofollow(PRIVATE_FOLDER)?;
        step("temporary_folder", || make_folder(&dir, TEMPORARY))?;
        step("lock_folder", || make_folder(&dir, LOCKS))?;
        let limit = self.private_limit;
        let folder = PrivateFolder { dir, limit };
        if !folder.exists(".gitignore") {
            // Every process writes the same content; a half-written file ignores as much as it needs to.
            step("write_gitignore", || {
                folder.write_file(".gitignore", b"*\n")
            })?;
        }
        Ok(folder)
    }
}

/// Creates a folder that only its owner can open. An existing one stays as it is; [`PrivateFolder::close_to_others`]
/// fixes its permissions, once.
pub(super) fn make_folder(parent: &Dir, name: &str) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    match parent.create_dir_with(name, &builder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Returns options for files that only their owner can read. A pipe in place of one must not block.
fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.follow(FollowSymlinks::No).nonblock(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// Opens a file of ours, which must be a regular file.
fn open_regular(dir: &Dir, name: &str, options: &OpenOptions) -> io::Result<File> {
    let not_regular = || FileRefusal::NotRegular {
        name: name.to_owned(),
    };
    match dir.open_with(name, options) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(not_regular().into()),
        Err(error)
            if error.kind() == io::ErrorKind::IsADirectory
                || is_link_loop(&error)
                || is_unconnected(&error) =>
        {
            Err(not_regular().into())
        }
        Err(error) => Err(error),
    }
}

/// Waits for a lock that someone else holds. The system hands it over in order and without delay, but the wait cannot
/// be cancelled, so a thread does the waiting. A thread that waits longer than it is wanted gets the lock in its turn
/// and releases it at once.
fn wait_for_lock(
    file: std::fs::File,
    deadline: Instant,
    stop: &dyn Fn() -> bool,
) -> io::Result<Option<HeldLock>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("lock".to_owned())
        .stack_size(LOCK_STACK)
        .spawn(move || {
            let locked = file.lock().map(|()| HeldLock { _file: file });
            // If nobody receives it any more, the lock is dropped with the message.
            sender.send(locked).unwrap_or_default();
        })?;
    loop {
        match receiver.recv_timeout(LOCK_PAUSE) {
            Ok(locked) => return locked.map(Some),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(io::ErrorKind::Other.into());
            }
        }
        if Instant::now() >= deadline || stop() {
            return Ok(None);
        }
    }
}

impl PrivateFolder {
    /// Takes the lock `name`, waiting until `deadline`. Returns `None` if it is still held then, or `stop` returns
    /// `true`.
    pub(crate) fn lock(
        &self,
        name: &str,
        deadline: Instant,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<HeldLock>> {
        let file = step("open_lock", || {
            let folder = self.dir.open_dir_nofollow(LOCKS)?;
            open_regular(&folder, name, private_options().write(true).create(true))
        })?
        .into_std();
        match file.try_lock() {
            Ok(()) => return Ok(Some(HeldLock { _file: file })),
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        if Instant::now() >= deadline || stop() {
            return Ok(None);
        }
        wait_for_lock(file, deadline, stop)
    }

    /// Closes the folder to others, if it is ours and they can open it.
    #[cfg(unix)]
    pub(crate) fn close_to_others(&self) -> io::Result<()> {
        use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};
        let folder = self.dir.open(".")?;
        let metadata = folder.metadata()?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if is_ours && metadata.mode() & 0o077 != 0 {
            folder.set_permissions(Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Does nothing, because there are no modes to set.
    #[cfg(not(unix))]
    pub(crate) fn close_to_others(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the bytes of a file of the folder, if they can be read.
    pub(crate) fn read_file(&self, name: &str) -> Option<Vec<u8>> {
        read_all(&self.dir, name, self.limit).ok()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok()
    }

    /// Opens a file of the folder for reading and appending, creating it if `create` is set.
    pub(crate) fn open_log(&self, name: &str, create: bool) -> io::Result<File> {
        let mut options = private_options();
        options.read(true).append(true).create(create);
        self.checked(name, open_regular(&self.dir, name, &options)?)
    }

    /// Returns `file`, unless it is larger than any that Sectile writes.
    fn checked(&self, name: &str, file: File) -> io::Result<File> {
        if file.metadata()?.len() > self.limit {
            return Err(FileRefusal::TooLarge {
                name: name.to_owned(),
                limit: self.limit,
            }
            .into());
        }
        Ok(file)
    }

    /// Opens a file of the folder for reading, or returns `None` if it does not exist.
    pub(crate) fn open_for_reading(&self, name: &str) -> io::Result<Option<File>> {
        let mut options = private_options();
        match open_regular(&self.dir, name, options.read(true)) {
            Ok(file) => self.checked(name, file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a file of the folder, replacing what was there.
    pub(crate) fn write_file(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        let mut options = private_options();
        options.write(true).create(true).truncate(true);
        let mut file = open_regular(&self.dir, name, &options)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Creates a file that only its owner can open, if the name is free.
    pub(super) fn create(&self, dir: &Dir, name: &str) -> io::Result<File> {
        let mut options = private_options();
        dir.open_with(name, options.read(true).write(true).create_new(true))
    }

    /// Opens a folder in the private folder, if it exists.
    pub(super) fn open_own_folder(&self, name: &str) -> io::Result<Option<Dir>> {
        match self.dir.open_dir_nofollow(name) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.dir.rename(from, &self.dir, to)
    }

    /// Flushes the folder, so that renames in it survive a power cut.
    pub(crate) fn flush(&self) -> io::Result<()> {
        flush_folder(&self.dir)
    }

    /// Opens the folder for temporary files.
    pub(super) fn temporary(&self) -> io::Result<Dir> {
        self.dir.open_dir_nofollow(TEMPORARY)
    }

    /// Returns the names of the temporary files that exist now.
    pub(crate) fn temporary_files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let Some(folder) = self.open_own_folder(TEMPORARY)? else {
            return Ok(names);
        };
        for entry in folder.entries()? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Removes a file of the folder, if it exists.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match self.dir.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Flushes `dir`, so that new and renamed entries survive a power cut.
#[cfg(unix)]
pub(super) fn flush_folder(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

/// Does nothing, because folders cannot be flushed here; the system does it with the file.
#[cfg(not(unix))]
pub(super) fn flush_folder(_: &Dir) -> io::Result<()> {
    Ok(())
}

/// Returns all bytes of a regular file, if there are at most `limit`.
pub(super) fn read_all(dir: &Dir, name: &str, limit: u64) -> io::Result<Vec<u8>> {
    let mut options = private_options();
    let file = open_regular(dir, name, options.read(true))?;
    let length = file.metadata()?.len();
    let too_large = || FileRefusal::TooLarge {
        name: name.to_owned(),
        limit,
    };
    if length > limit {
        return Err(too_large().into());
    }
    let bytes = read_bounded(&file, length, limit)?;
    if bytes.len() as u64 > limit {
        return Err(too_large().into());
    }
    Ok(bytes)
}
