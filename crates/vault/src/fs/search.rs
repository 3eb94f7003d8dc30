//! Searches the private folder for bytes, to verify that a secret is gone, and removes what can be rebuilt.

use std::io::{self, Read as _};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};
use memchr::memmem::Finder;

use super::{PrivateFolder, Root};

/// Number of bytes of a file that are searched at a time.
const PIECE: usize = 1 << 20;

impl Root {
    /// Removes a folder inside the private folder that others keep there, such as an index. Returns whether it existed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_private(&self, name: &str) -> io::Result<bool> {
        let Some(folder) = self.private_folder()? else {
            return Ok(false);
        };
        match folder.dir.remove_dir_all(name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl PrivateFolder {
    /// Returns the path, from this folder, of the first file at any depth that holds one of the `needles`. Links are
    /// not followed.
    pub(crate) fn file_holding(&self, needles: &[&[u8]]) -> io::Result<Option<String>> {
        let finders: Vec<Finder<'_>> = needles.iter().map(Finder::new).collect();
        let mut folders = vec![(String::new(), self.dir.try_clone()?)];
        while let Some((path, dir)) = folders.pop() {
            let mut entries = dir.entries()?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(cap_std::fs::DirEntry::file_name);
            for entry in entries {
                let name = entry.file_name();
                let shown = format!("{path}{}", name.to_string_lossy());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push((format!("{shown}/"), dir.open_dir_nofollow(&name)?));
                } else if kind.is_file() && holds(&dir, &name, &finders)? {
                    return Ok(Some(shown));
                }
            }
        }
        Ok(None)
    }
}

fn holds(dir: &Dir, name: &std::ffi::OsStr, finders: &[Finder<'_>]) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let mut file = match dir.open_with(name, &options) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let longest = finders.iter().map(|finder| finder.needle().len()).max();
    let overlap = longest.unwrap_or(1).saturating_sub(1);
    let mut piece = Vec::new();
    loop {
        let kept = piece.len().min(overlap);
        piece.drain(..piece.len() - kept);
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        if finders.iter().any(|finder| finder.find(&piece).is_some()) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn bytes_are_found_at_any_depth_and_across_pieces() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        let folder = root.make_private_folder().unwrap();
        let private = temp.path().join(".sectile");
        let find = || folder.file_holding(&[b"needle", b"pin"]).unwrap();
        assert_eq!(find(), None);
        for start in [0, PIECE - 6, PIECE - 3, PIECE, 2 * PIECE - 1] {
            let mut bytes = vec![b'-'; start];
            bytes.extend_from_slice(b"needle");
            std::fs::create_dir_all(private.join("a/b")).unwrap();
            std::fs::write(private.join("a/b/c"), &bytes).unwrap();
            assert_eq!(find().as_deref(), Some("a/b/c"), "{start}");
        }
        std::fs::write(private.join("a/b/c"), "pi-n need-le").unwrap();
        assert_eq!(find(), None);
    }
}
