//! Temporary files: their names and locations.
//!
//! They are in the private folder or, if a note is on a different file system, next to the note under a hidden name: a
//! file can only change places with one of its own file system. A name says which bytes the file may hold, so that
//! anyone who finds it later can tell whether another program has written to it.

use std::io;

use cap_std::fs::Dir;
use sectile_markdown::Digest;

use super::{
    private::{PrivateFolder, read_all},
    replace::LocatedNote,
};
use crate::fault::step;

/// The names of the temporary files for one step of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepName {
    entry: u64,
    at: usize,
    before: String,
    after: String,
}

/// The role of a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporaryRole {
    /// New bytes that are still being written. Nobody else knows the file.
    Unfinished,
    /// The new file, or the old one once the two have changed places.
    New,
    /// The old file, moved away.
    Old,
    /// A file that says that the others are next to the note whose path it holds.
    Marker,
}

const PARTS: [(TemporaryRole, &str); 4] = [
    (TemporaryRole::Unfinished, "-part"),
    (TemporaryRole::Old, "-old"),
    (TemporaryRole::Marker, "-beside"),
    (TemporaryRole::New, ""),
];

/// Digits of a digest in a name, enough to tell texts apart.
const DIGITS: usize = 32;
/// Takes the place of a digest if there is no file.
const NOTHING: &str = "none";

/// Separates two paths, because no path can contain it.
const MARK_SEPARATOR: &str = "\0";
const BESIDE_PREFIX: &str = ".sectile-";
const BESIDE_SUFFIX: &str = ".tmp";

impl StepName {
    /// Returns the names for step `at` of `entry`, which turns a document with the digest `before` into one with
    /// `after`.
    pub(crate) fn new(entry: u64, at: usize, before: Option<&str>, after: Option<&str>) -> Self {
        let short = |digest: Option<&str>| match digest {
            Some(digest) => digest.chars().take(DIGITS).collect(),
            None => NOTHING.to_owned(),
        };
        Self {
            entry,
            at,
            before: short(before),
            after: short(after),
        }
    }

    /// Returns the names that `file` belongs to, and its role.
    pub(crate) fn parse(file: &str) -> Option<(Self, TemporaryRole)> {
        let (part, stem) = PARTS
            .iter()
            .find_map(|(part, ending)| Some((*part, file.strip_suffix(ending)?)))?;
        let [entry, at, before, after] = stem.split('-').collect::<Vec<_>>()[..] else {
            return None;
        };
        let is_digest = |text: &str| {
            text == NOTHING
                || (text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        if !is_digest(before) || !is_digest(after) {
            return None;
        }
        let name = Self {
            entry: entry.parse().ok()?,
            at: at.parse().ok()?,
            before: before.to_owned(),
            after: after.to_owned(),
        };
        Some((name, part))
    }

    /// Returns the number of the entry.
    pub(crate) fn entry(&self) -> u64 {
        self.entry
    }

    /// Returns the numbers of the entry and the step, for names that people see.
    pub(super) fn short(&self) -> String {
        format!("{}-{}", self.entry, self.at)
    }

    pub(super) fn file(&self, part: TemporaryRole) -> String {
        let ending = PARTS.iter().find(|(one, _)| *one == part);
        let ending = ending.map_or("", |(_, ending)| *ending);
        let Self {
            entry,
            at,
            before,
            after,
        } = self;
        format!("{entry}-{at}-{before}-{after}{ending}")
    }

    /// Returns whether these are the bytes of the old file.
    pub(super) fn is_before(&self, bytes: &[u8]) -> bool {
        Digest::of(bytes).to_string().starts_with(&self.before)
    }

    /// Returns whether these are the bytes of the new file.
    pub(super) fn is_after(&self, bytes: &[u8]) -> bool {
        Digest::of(bytes).to_string().starts_with(&self.after)
    }
}

/// Returns whether a file has the name of a temporary file next to a note.
pub(super) fn is_beside(name: &str) -> bool {
    let stem = name
        .strip_prefix(BESIDE_PREFIX)
        .and_then(|rest| rest.strip_suffix(BESIDE_SUFFIX));
    stem.is_some_and(|stem| StepName::parse(stem).is_some())
}

/// The folder for the temporary files of a note.
#[derive(Debug)]
pub(super) struct TemporaryFolder {
    pub(super) dir: Dir,
    pub(super) is_beside: bool,
}

impl TemporaryFolder {
    /// Returns the name of a file there.
    pub(super) fn file(&self, name: &StepName, part: TemporaryRole) -> String {
        let file = name.file(part);
        if self.is_beside {
            format!("{BESIDE_PREFIX}{file}{BESIDE_SUFFIX}")
        } else {
            file
        }
    }

    pub(super) fn has(&self, name: &StepName, part: TemporaryRole) -> bool {
        self.dir.symlink_metadata(self.file(name, part)).is_ok()
    }

    pub(super) fn read(
        &self,
        name: &StepName,
        part: TemporaryRole,
        limit: u64,
    ) -> io::Result<Vec<u8>> {
        read_all(&self.dir, &self.file(name, part), limit)
    }
}

impl PrivateFolder {
    /// Opens the folder for the temporary files of `note`.
    pub(super) fn workplace(&self, note: &LocatedNote) -> io::Result<TemporaryFolder> {
        let dir = self.temporary()?;
        let is_beside = match note.is_apart.get() {
            Some(known) => *known,
            None => {
                let looked = step("compare_mounts", || compare_mounts(&dir, &note.folder));
                let is_apart = match looked {
                    Err(error) if error.kind() == io::ErrorKind::CrossesDevices => true,
                    looked => looked.map(|()| false)?,
                };
                *note.is_apart.get_or_init(|| is_apart)
            }
        };
        Ok(if is_beside {
            TemporaryFolder {
                dir: note.folder.try_clone()?,
                is_beside,
            }
        } else {
            TemporaryFolder { dir, is_beside }
        })
    }

    /// Finds a temporary file of a step about `note` that another process may have made.
    pub(super) fn find(
        &self,
        name: &StepName,
        part: TemporaryRole,
        note: &LocatedNote,
    ) -> io::Result<TemporaryFolder> {
        let private = TemporaryFolder {
            dir: self.temporary()?,
            is_beside: false,
        };
        if private.has(name, part) || !private.has(name, TemporaryRole::Marker) {
            return Ok(private);
        }
        Ok(TemporaryFolder {
            dir: note.folder.try_clone()?,
            is_beside: true,
        })
    }

    /// Records that temporary files of a step are next to `note`, so that they are found after a crash.
    pub(super) fn mark(&self, name: &StepName, note: &LocatedNote) -> io::Result<()> {
        let path = note.path().as_str();
        let mut paths = self.marked_notes(name);
        if paths.iter().any(|known| known == path) {
            return Ok(());
        }
        paths.push(path.to_owned());
        let folder = self.temporary()?;
        let marker = name.file(TemporaryRole::Marker);
        match folder.remove_file(&marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = self.create(&folder, &marker)?;
        io::Write::write_all(&mut file, paths.join(MARK_SEPARATOR).as_bytes())
    }

    /// Returns the paths of the notes that have files of a step next to them.
    pub(crate) fn marked_notes(&self, name: &StepName) -> Vec<String> {
        const LONGEST_MARK: u64 = 64 << 10;
        let read = self
            .temporary()
            .and_then(|folder| read_all(&folder, &name.file(TemporaryRole::Marker), LONGEST_MARK));
        let text = read.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let paths = text.iter().flat_map(|text| text.split(MARK_SEPARATOR));
        paths.map(str::to_owned).collect()
    }
}

/// Returns [`io::ErrorKind::CrossesDevices`] if no file can be moved between the folders.
#[cfg(unix)]
fn compare_mounts(one: &Dir, other: &Dir) -> io::Result<()> {
    use cap_std::fs::MetadataExt as _;
    if one.dir_metadata()?.dev() != other.dir_metadata()?.dev() {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    // A folder cannot be moved onto itself, but the kernel compares the mounts before it says so: two of them may show
    // the same file system.
    #[cfg(target_os = "linux")]
    if rustix::fs::renameat(one, ".", other, ".") == Err(rustix::io::Errno::XDEV) {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    Ok(())
}

/// Other systems say so when the file is moved.
#[cfg(not(unix))]
fn compare_mounts(_: &Dir, _: &Dir) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let digest = Digest::of(b"x").to_string();
        for (before, after) in [
            (None, Some(digest.as_str())),
            (Some(digest.as_str()), Some(digest.as_str())),
            (Some(digest.as_str()), None),
        ] {
            let name = StepName::new(17, 3, before, after);
            for (part, _) in PARTS {
                let file = name.file(part);
                assert_eq!(StepName::parse(&file), Some((name.clone(), part)), "{file}");
                assert!(is_beside(&format!(".sectile-{file}.tmp")));
            }
            assert_eq!(name.is_before(b"x"), before.is_some());
            assert_eq!(name.is_after(b"x"), after.is_some());
            assert!(!name.is_after(b"y"));
        }
        for other in ["", "17-3", "17-3-old", "a-b-none-none", "1-1-none-zz", "x"] {
            assert_eq!(StepName::parse(other), None, "{other}");
        }
        assert!(!is_beside(".sectile-notes.tmp"));
    }
}
