//! A folder of index folders: what each is for, how large it is, and when it was last used.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use super::{Folder, UNFINISHED};
use crate::store::{
    LABEL, LOCK, MANIFEST, RECORDS, SEGMENT,
    copying::COPYING,
    meaning::{self, SharedVectors},
};

/// The longest label that is read, in bytes.
const MOST_LABEL: u64 = 8 << 10;
/// The name of the folder with the vectors that the indexes share. Names of indexes are hexadecimal digits.
const SHARED: &str = "vectors";
/// Shared vectors may take up the whole cache divided by this. An index has its own copy of those that it needs, so they
/// are worth less than the indexes; a quarter of the usual limit is more than two million passages.
const SHARE_OF_VECTORS: u64 = 4;

/// A folder of index folders, one for each place that was indexed.
#[derive(Clone, Debug)]
pub struct CacheFolder {
    location: PathBuf,
}

/// An index in a [`CacheFolder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedIndex {
    /// The name of its folder.
    pub name: String,
    /// The place that it belongs to, as it was labelled.
    pub label: String,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// When it was last labelled, in milliseconds since 1970.
    pub used_at: i64,
}

impl CacheFolder {
    /// Refers to the folder at `location`, which need not exist.
    #[must_use]
    pub fn new(location: &Path) -> Self {
        let location = location.to_owned();
        Self { location }
    }

    /// Returns the location of the index folder called `name`.
    #[must_use]
    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.location.join(name)
    }

    /// Lists the indexes, the most recently used first. Whatever is not an index is left out.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self) -> io::Result<Vec<CachedIndex>> {
        let entries = match fs::read_dir(&self.location) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            if let Ok(name) = entry?.file_name().into_string() {
                found.extend(self.index(name));
            }
        }
        found.sort_by(|one: &CachedIndex, other| {
            let by_use = other.used_at.cmp(&one.used_at);
            by_use.then_with(|| one.name.cmp(&other.name))
        });
        Ok(found)
    }

    fn index(&self, name: String) -> Option<CachedIndex> {
        let folder = Folder::open(&self.location.join(&name)).ok().flatten()?;
        let label = folder.read(LABEL, MOST_LABEL).ok().flatten()?;
        let used = fs::symlink_metadata(folder.path(LABEL)).ok()?.modified();
        let used = used.ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let files = folder.names().ok()?;
        let sizes = files.iter().filter(|name| is_ours(name)).map(|name| {
            let metadata = fs::symlink_metadata(folder.path(name));
            metadata.map_or(0, |metadata| metadata.len())
        });
        Some(CachedIndex {
            label: String::from_utf8_lossy(&label).into_owned(),
            bytes: sizes.sum(),
            used_at: i64::try_from(used.as_millis()).unwrap_or(i64::MAX),
            name,
        })
    }

    /// Removes an index, unless a process is writing it; returns whether it did. Files that are not those of an index
    /// stay where they are.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self, index: &CachedIndex) -> io::Result<bool> {
        let Some(folder) = Folder::open(&self.location.join(&index.name))? else {
            return Ok(false);
        };
        let Some(_lock) = folder.lock(LOCK)? else {
            return Ok(false);
        };
        let names = folder.names()?;
        // Without its label it is not an index any more, so the label is removed last.
        for name in names.iter().filter(|name| is_ours(name) && *name != LABEL) {
            folder.remove(name)?;
        }
        if names.iter().any(|name| name == LABEL) {
            folder.remove(LABEL)?;
        }
        folder.remove_if_empty()?;
        Ok(true)
    }

    /// Returns the vectors that the indexes of this user share, whose part of a cache of `limit` bytes is bounded.
    #[must_use]
    pub fn shared_vectors(&self, limit: u64) -> SharedVectors {
        SharedVectors::new(self.location.join(SHARED), limit / SHARE_OF_VECTORS)
    }

    /// Removes the oldest shared vectors until they have at most their part of `limit` bytes, and then the least recently
    /// used indexes until everything together has at most `limit`, except the one called `keep`. Returns the number of
    /// indexes that were removed.
    ///
    /// # Errors
    /// As [`Self::list`] and [`Self::remove`].
    pub fn shrink(&self, limit: u64, keep: Option<&str>) -> io::Result<usize> {
        let all = self.list()?;
        // Vectors that cannot be used do not keep indexes from being removed.
        let shared = self.shared_vectors(limit).shrink();
        let mut sum: u64 = all.iter().map(|index| index.bytes).sum();
        sum += shared.as_ref().unwrap_or(&0);
        let mut removed = 0;
        for index in all.iter().rev() {
            if sum <= limit {
                break;
            }
            if Some(index.name.as_str()) != keep && self.remove(index)? {
                sum -= index.bytes;
                removed += 1;
            }
        }
        shared.map(|_| removed)
    }
}

/// Returns whether a file's name is one that an index folder has.
fn is_ours(name: &str) -> bool {
    let name = name.strip_prefix(UNFINISHED).unwrap_or(name);
    [MANIFEST, LOCK, LABEL, RECORDS, COPYING, meaning::LOCK].contains(&name)
        || Folder::is_of(name, SEGMENT)
        || Folder::is_of(name, meaning::MEANING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    fn cached(at: &Path, name: &str, label: &str, bytes: usize) {
        let store = Store::make_cache_at(&at.join(name)).unwrap();
        store.label(label).unwrap();
        let writer = store.writer().unwrap();
        writer.write_records(&vec![0; bytes]).unwrap();
    }

    #[test]
    fn the_least_recently_used_indexes_make_room() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CacheFolder::new(&temp.path().join("none/yet"));
        assert_eq!(cache.list().unwrap(), []);
        let cache = CacheFolder::new(temp.path());
        for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
            cached(temp.path(), name, &format!("/notes/{name}"), 1_000);
            let label = temp.path().join(name).join(LABEL);
            let label = fs::File::options().write(true).open(label);
            let time = UNIX_EPOCH + std::time::Duration::from_secs(number as u64 + 1);
            label.unwrap().set_modified(time).unwrap();
        }
        fs::create_dir(temp.path().join("other")).unwrap();
        fs::write(temp.path().join("a/mine.txt"), "x").unwrap();
        let names = |cache: &CacheFolder| -> Vec<String> {
            let all = cache.list().unwrap().into_iter();
            all.map(|index| index.name).collect()
        };
        assert_eq!(names(&cache), ["c", "b", "a"]);
        let all = cache.list().unwrap();
        assert_eq!((all[0].label.as_str(), all[0].used_at), ("/notes/c", 3_000));
        assert!(all[0].bytes > 1_000);
        assert_eq!(cache.shrink(u64::MAX, None).unwrap(), 0);
        assert_eq!(cache.shrink(all[0].bytes * 2, None).unwrap(), 1);
        assert_eq!(names(&cache), ["c", "b"]);
        // What was never part of an index stays.
        assert!(temp.path().join("a/mine.txt").exists() && temp.path().join("other").exists());
        // Neither the one in use nor one that is being written is removed.
        let store = Store::at(&temp.path().join("b")).unwrap().unwrap();
        let writer = store.writer().unwrap();
        assert_eq!(cache.shrink(0, Some("c")).unwrap(), 0);
        drop(writer);
        fs::write(temp.path().join(SHARED), "not a folder").unwrap();
        assert!(cache.shrink(0, None).is_err());
        assert!(names(&cache).is_empty());
        assert!(!temp.path().join("c").exists());
    }
}
