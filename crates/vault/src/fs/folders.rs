//! Moves a folder with everything in it, in one step of the file system.

use std::io;

use cap_std::fs::Dir;
use sectile_markdown::name_key;

use super::{Root, open_folder, private::flush_folder};
use crate::{NotePath, fault::step};

impl Root {
    /// Moves the folder at `from` to the free path `to`. The folders above `to` must exist; no link is followed. Where
    /// the disk ignores letter case, a name may change into another case of itself.
    pub(crate) fn move_folder(&self, from: &NotePath, to: &NotePath) -> io::Result<()> {
        let dir = self.dir()?;
        let (old, new) = (above(&dir, from)?, above(&dir, to)?);
        step("move_folder", || {
            move_exclusively(&old, from.file_name(), &new, to.file_name())
        })
    }

    /// Flushes the folders above `from` and `to`, so that a move survives a power cut.
    pub(crate) fn flush_move(&self, from: &NotePath, to: &NotePath) -> io::Result<()> {
        let dir = self.dir()?;
        step("flush_moved_folder", || {
            flush_folder(&above(&dir, to)?)?;
            flush_folder(&above(&dir, from)?)
        })
    }

    /// Removes the folder at `path`, which must be empty. No link is followed.
    pub(crate) fn remove_folder(&self, path: &NotePath) -> io::Result<()> {
        above(&self.dir()?, path)?.remove_dir(path.file_name())
    }

    /// Returns whether a folder is at `path`, spelled exactly like this, without links on the way.
    pub(crate) fn has_folder(&self, path: &NotePath) -> io::Result<bool> {
        let dir = self.dir()?;
        let parent = match above(&dir, path) {
            Err(error) if is_nothing(&error) => return Ok(false),
            parent => parent?,
        };
        match parent.symlink_metadata(path.file_name()) {
            Ok(metadata) if !metadata.is_dir() => return Ok(false),
            Err(error) if is_nothing(&error) => return Ok(false),
            metadata => metadata?,
        };
        // Where the disk ignores letter case, the name may be spelled differently.
        for entry in parent.entries()? {
            if entry?.file_name().to_str() == Some(path.file_name()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether `one` and `other` are the same folder under two spellings of its name.
    pub(crate) fn is_same_folder(&self, one: &NotePath, other: &NotePath) -> bool {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            let number = |path: &NotePath| {
                let metadata = above(&self.dir()?, path)?.symlink_metadata(path.file_name())?;
                io::Result::Ok((metadata.dev(), metadata.ino()))
            };
            matches!((number(one), number(other)), (Ok(one), Ok(other)) if one == other)
        }
        #[cfg(not(unix))]
        {
            name_key(one.as_str()) == name_key(other.as_str())
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens the folder above `path`.
fn above(dir: &Dir, path: &NotePath) -> io::Result<Dir> {
    match path.folder() {
        Some(folder) => open_folder(dir, folder),
        None => dir.try_clone(),
    }
}

/// Moves a folder to a free name.
fn move_exclusively(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use super::replace::{is_unsupported, rename_with};
        use rustix::fs::RenameFlags;
        match rename_with(from, name, to, new_name.as_ref(), RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result,
        }
    }
    // All that is left is to look first: the name must be free, or another case of the folder's own.
    match to.symlink_metadata(new_name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(_) if is_own_name(from, name, to, new_name) => {}
        Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => return Err(error),
    }
    from.rename(name, to, new_name)
}

/// Returns whether both names are one entry of one folder.
fn is_own_name(from: &Dir, name: &str, to: &Dir, new_name: &str) -> bool {
    let spelled = |dir: &Dir, name: &str| {
        let entries = dir.entries().into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.any(|found| found.to_str() == Some(name))
    };
    name != new_name
        && name_key(name) == name_key(new_name)
        && from.symlink_metadata(new_name).is_ok()
        && to.symlink_metadata(name).is_ok()
        && !spelled(to, new_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str) -> NotePath {
        NotePath::parse_vault(path).unwrap()
    }

    #[test]
    fn a_folder_moves_to_free_names_only() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        for folder in ["a/deep", "b", "c"] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        std::fs::write(temp.path().join("a/deep/x"), "x").unwrap();
        let kind = |from: &str, to: &str| {
            let moved = root.move_folder(&note(from), &note(to));
            moved.map_err(|error| error.kind())
        };
        // An empty folder would be replaced by a plain rename.
        assert_eq!(kind("a", "b"), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(kind("a/deep", "missing/deep"), Err(io::ErrorKind::NotFound));
        assert!(kind("a", "a/deep/a").is_err());
        assert_eq!(kind("a", "c/a"), Ok(()));
        assert!(temp.path().join("c/a/deep/x").is_file());
        for (path, is_there) in [
            ("a", false),
            ("c/a", true),
            ("C/a", false),
            ("c/a/deep/x", false),
        ] {
            assert_eq!(root.has_folder(&note(path)).unwrap(), is_there, "{path}");
        }
    }

    /// A link that another program puts in the place of a folder after a check leads nowhere.
    #[cfg(unix)]
    #[test]
    fn no_folder_behind_a_link_is_removed_or_compared() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        std::fs::create_dir_all(temp.path().join("real/empty")).unwrap();
        std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
        assert!(root.remove_folder(&note("link/empty")).is_err());
        assert!(root.remove_folder(&note("link")).is_err());
        assert!(!root.is_same_folder(&note("link/empty"), &note("real/empty")));
        assert!(root.is_same_folder(&note("real/empty"), &note("real/empty")));
        assert!(temp.path().join("real/empty").is_dir());
        root.remove_folder(&note("real/empty")).unwrap();
    }
}
