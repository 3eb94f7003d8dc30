//! Files that are not notes: settings, keys, the configuration of MCP clients, the audit log, and artifacts that are being
//! added. The one module of this crate that may touch the file system.

#![expect(
    clippy::disallowed_methods,
    reason = "the one module of this crate that may access files"
)]

use std::{
    io::{self, Read as _, Write as _},
    path::{Component, Path, PathBuf},
};

use sectile_mcp::access::random_bytes;

/// Returns the text of a file, or `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a file with `text` atomically, and creates its folder if needed. A symbolic link is followed, so that settings
/// kept elsewhere stay there; permissions of an existing file are kept.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    replace_from(&mut tempfile::Builder::new(), path, text)
}

/// Like [`replace`], but a new file has the permissions of any new file, so that others can read it.
pub(crate) fn replace_shared(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        temporary.permissions(std::fs::Permissions::from_mode(0o666));
    }
    replace_from(&mut temporary, path, text)
}

fn replace_from(
    temporary: &mut tempfile::Builder<'_, '_>,
    path: &Path,
    text: &str,
) -> io::Result<()> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        Err(error) => return Err(error),
    };
    replace_here_from(temporary, &target, text)
}

/// Like [`replace`], but a symbolic link is itself replaced, and nothing is written where it leads.
pub(crate) fn replace_here(target: &Path, text: &str) -> io::Result<()> {
    replace_here_from(&mut tempfile::Builder::new(), target, text)
}

fn replace_here_from(
    temporary: &mut tempfile::Builder<'_, '_>,
    target: &Path,
    text: &str,
) -> io::Result<()> {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary = temporary.prefix(".sectile-").tempfile_in(folder)?;
    if let Ok(metadata) = std::fs::symlink_metadata(target)
        && !metadata.is_symlink()
    {
        temporary
            .as_file()
            .set_permissions(metadata.permissions())?;
    }
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Returns whether `path` is a symbolic link that leads nowhere.
pub(crate) fn is_dangling_link(path: &Path) -> bool {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    is_link && !path.exists()
}

/// Replaces the text of a file atomically with what `change` makes of it; a file that does not exist yet counts as empty.
/// Concurrent updates of the same file wait for each other. A new file is readable by its owner only.
pub(crate) fn update<T, E: From<io::Error>>(
    path: &Path,
    change: impl FnOnce(Option<String>) -> Result<(String, T), E>,
) -> Result<T, E> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        Err(error) => return Err(error.into()),
    };
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // The file itself cannot be locked: a waiting process would then hold a lock on the replaced file. The lock file stays
    // behind, because removing it could remove one that another process is waiting for.
    let mut lock = target.clone().into_os_string();
    lock.push(".lock");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let lock = options.open(lock)?;
    lock.lock()?;
    let (text, result) = change(read_text(&target)?)?;
    // It starts as a temporary file, which is readable by its owner only.
    replace(&target, &text)?;
    Ok(result)
}

/// Replaces a file that only its owner can read, in a folder that only its owner can open, which is created if needed.
pub(crate) fn replace_private(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private_folder(folder)?;
    // It starts as a temporary file, which is readable by its owner only.
    replace(path, text)
}

/// Creates a folder that only its owner can open, and the folders above it.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes a file. One that is not there counts as removed.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the paths of what is in a folder, in no particular order; none if it does not exist.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns whether a person named a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Creates a file that must not exist yet.
pub(crate) fn create_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Returns the bytes of a regular file that a person named, or `None` if it has more than `limit`.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // Opening a pipe would block.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Returns the length of a file and when it was last changed; `None` if it cannot be looked at.
pub(crate) fn length_and_time(path: &Path) -> Option<(u64, std::time::SystemTime)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// Returns the secret in the file at `path`: `N` random bytes, written as hexadecimal digits. If the file does not exist,
/// creates one that only its owner can read if `create` is set, and returns `None` otherwise.
pub(crate) fn secret_bytes<const N: usize>(
    path: &Path,
    create: bool,
) -> io::Result<Option<[u8; N]>> {
    const MOST_BYTES: u64 = 4096;
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    match read_bytes(path, MOST_BYTES) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes.ok_or_else(invalid)?).map_err(|_| invalid())?;
            let digits = text.trim();
            if digits.len() != 2 * N || !digits.is_ascii() {
                return Err(invalid());
            }
            let mut secret = [0; N];
            for (at, byte) in secret.iter_mut().enumerate() {
                let pair = &digits[2 * at..2 * at + 2];
                *byte = u8::from_str_radix(pair, 16).map_err(|_| invalid())?;
            }
            return Ok(Some(secret));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && create => {}
        // Below a home that is not a folder, there is no file either.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) && !create =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let secret = random_bytes::<N>()?;
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private_folder(folder)?;
    // A temporary file is readable by its owner only.
    let mut temporary = tempfile::Builder::new()
        .prefix(".sectile-")
        .tempfile_in(folder)?;
    let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    temporary.write_all(format!("{digits}\n").as_bytes())?;
    temporary.as_file().sync_all()?;
    match temporary.persist_noclobber(path) {
        Ok(_) => sync_folder(folder).map(|()| Some(secret)),
        // Another process was faster. Its secret counts.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            secret_bytes(path, false)
        }
        Err(error) => Err(error.error),
    }
}

/// Creates the folder `name` in `parent` with these files, atomically. `parent` is created if needed; it must not be a
/// symbolic link. Anything already there, except an empty folder, is left alone and is an error.
pub(crate) fn create_folder(
    parent: &Path,
    name: &str,
    files: &[(String, Vec<u8>)],
) -> io::Result<()> {
    match std::fs::create_dir(parent) {
        Ok(()) => sync_folder(parent.parent().unwrap_or(parent))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !std::fs::symlink_metadata(parent)?.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Err(error) => return Err(error),
    }
    let target = parent.join(name);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sectile-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The permissions of any new folder; a server of another user could not read a private one.
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    let temporary = builder.tempdir_in(parent)?;
    for (name, bytes) in files {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(temporary.path().join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    sync_folder(temporary.path())?;
    // Replaces nothing, or an empty folder; the system refuses anything else.
    match std::fs::rename(temporary.path(), &target) {
        Ok(()) => {
            // Nothing is left to remove.
            let gone = temporary.keep();
            debug_assert!(!gone.exists(), "the folder has its name now");
            sync_folder(parent)
        }
        Err(_) if std::fs::symlink_metadata(&target).is_ok() => {
            Err(io::ErrorKind::AlreadyExists.into())
        }
        Err(error) => Err(error),
    }
}

/// A folder that no other process uses, until this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: std::fs::File,
}

/// Creates a folder that only its owner can open, with those above it, unless it is there already.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Creates a folder if needed and locks it; `None` if another process has it.
pub(crate) fn lock_folder(folder: &Path) -> io::Result<Option<FolderLock>> {
    make_private_folder(folder)?;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).write(true).truncate(false);
    let file = options.open(folder.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FolderLock { _file: file })),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Flushes the directory entries of a folder, where the system can.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::fs::File::open(folder)?.sync_all();
    #[cfg(not(unix))]
    folder.metadata().map(drop)
}

/// Checks that a file can be written in a folder, which is not created if it does not exist yet: then the nearest one above
/// it is checked.
pub(crate) fn check_writable(folder: &Path) -> io::Result<()> {
    let exists = |folder: &&Path| folder.symlink_metadata().is_ok();
    let nearest = folder.ancestors().find(exists).unwrap_or(folder);
    let mut temporary = tempfile::Builder::new()
        .prefix(".sectile-")
        .tempfile_in(nearest)?;
    temporary.write_all(b"x")
}

/// Writes a file and creates the folders above it; for samples in a temporary folder.
pub(crate) fn write_sample(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// Returns standard error in non-blocking mode if it is a pipe: a full pipe that nobody reads would otherwise block the
/// server. Returns `None` where that is not possible or not needed.
pub(crate) fn stderr_without_waiting() -> Option<std::fs::File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
        const O_NONBLOCK: i32 = 0o4000;
        // Reopened, so that the flag stays private to this process.
        let stderr = std::fs::OpenOptions::new()
            .write(true)
            .custom_flags(O_NONBLOCK)
            .open("/proc/self/fd/2")
            .ok()?;
        stderr
            .metadata()
            .ok()?
            .file_type()
            .is_fifo()
            .then_some(stderr)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Describes a file error in plain words.
pub(crate) fn reason(kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        kind => kind.to_string(),
    }
}

/// Returns `path`, which must exist, as an absolute path.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// Returns the path `levels` folders up: `../..`.
pub(crate) fn levels_up(levels: usize) -> String {
    let up: PathBuf = (0..levels).map(|_| Component::ParentDir).collect();
    up.display().to_string()
}

/// Returns the path of a document below `root`, given relative to the current folder, or to the root if there is no such
/// file.
pub(crate) fn below(root: &Path, given: &Path) -> Option<String> {
    let folder = given
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let here = folder
        .canonicalize()
        .ok()
        .zip(given.file_name())
        .map(|(folder, name)| folder.join(name));
    let inside = here
        .as_deref()
        .and_then(|here| here.strip_prefix(root).ok());
    let exists = here.as_ref().is_some_and(|here| here.exists());
    // A symbolic link from elsewhere may point to a document below the root.
    let behind_link = || {
        let target = here.as_ref()?.canonicalize().ok()?;
        target.strip_prefix(root).ok()?.to_str().map(str::to_owned)
    };
    match inside {
        Some(inside) if exists => inside.to_str().map(str::to_owned),
        _ if given.is_relative() && root.join(given).exists() => given.to_str().map(str::to_owned),
        Some(inside) => inside.to_str().map(str::to_owned),
        None => behind_link(),
    }
}

/// Returns the path below `root` of something that need not exist, nor the folders above it, given relative to the current
/// folder. The root itself is the empty path.
pub(crate) fn below_or_new(root: &Path, given: &Path) -> Option<String> {
    let mut missing = Vec::new();
    let mut there = given;
    let folder = loop {
        match there.as_os_str().is_empty() {
            true => break Path::new(".").canonicalize().ok()?,
            false => {
                if let Ok(folder) = there.canonicalize() {
                    break folder;
                }
            }
        }
        // A last part of `..` below something that does not exist leads nowhere.
        missing.push(there.file_name()?);
        there = there.parent()?;
    };
    let place: PathBuf = std::iter::once(folder.as_os_str())
        .chain(missing.into_iter().rev())
        .collect();
    let below = place.strip_prefix(root).ok()?;
    below.to_str().map(str::to_owned)
}

/// Lets `change` work on a temporary file that holds `text`. Returns the text afterwards, or `None` if `change` reports a
/// failure.
pub(crate) fn with_temporary(
    text: &str,
    change: impl FnOnce(&Path) -> io::Result<bool>,
) -> io::Result<Option<String>> {
    let mut file = tempfile::Builder::new()
        .prefix("sectile-")
        .suffix(".md")
        .tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let path = file.into_temp_path();
    if change(&path)? {
        std::fs::read_to_string(&path).map(Some)
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_new_path_is_found_below_the_root_by_its_folders_that_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("notes")).unwrap();
        let below = |given: &str| below_or_new(&root, &root.join(given));
        assert_eq!(
            below("notes/new/plan.md").as_deref(),
            Some("notes/new/plan.md")
        );
        assert_eq!(below("notes/../plan.md").as_deref(), Some("plan.md"));
        assert_eq!(below("").as_deref(), Some(""));
        assert_eq!(below("new/../../plan.md"), None);
        assert_eq!(below("../plan.md"), None);
    }

    #[test]
    fn changes_at_the_same_time_are_made_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/keys.toml");
        let add = |line: String| {
            update(&path, |text| {
                let mut text = text.unwrap_or_default();
                // Makes a race with another thread likely.
                thread::yield_now();
                text += &line;
                Ok::<_, io::Error>((text, ()))
            })
        };
        thread::scope(|scope| {
            for thread in 0..4 {
                let add = &add;
                scope.spawn(move || {
                    for number in 0..10 {
                        add(format!("{thread}/{number}\n")).unwrap();
                    }
                });
            }
        });
        let text = read_text(&path).unwrap().unwrap();
        assert_eq!(text.lines().count(), 40, "{text}");
    }

    #[test]
    fn a_change_that_fails_leaves_the_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let fail = |_| Err::<(String, ()), _>(io::Error::from(io::ErrorKind::InvalidData));
        assert!(update(&path, fail).is_err());
        assert_eq!(read_text(&path).unwrap(), None);
        update(&path, |_| Ok::<_, io::Error>(("one".to_owned(), ()))).unwrap();
        assert!(update(&path, fail).is_err());
        assert_eq!(read_text(&path).unwrap().as_deref(), Some("one"));
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_its_owners_and_an_old_one_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let write = |text: &str| update(&path, |_| Ok::<_, io::Error>((text.to_owned(), ())));
        write("one").unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        write("two").unwrap();
        assert_eq!(mode(), 0o640);
    }
}
