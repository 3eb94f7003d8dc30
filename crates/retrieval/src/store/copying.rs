//! Copying of an index: its files as bytes, to and from another place.
//!
//! A copy consists of the very files of an index folder, so it is opened by the same code. What is copied here is trusted
//! as little as any other file of a folder.

use std::{io, ops::Range};

use sectile_markdown::Digest;

use super::{
    LOCK, MANIFEST, MOST_FILE, MOST_MANIFEST, Manifest, SEGMENT, Store, StoreError, Writer,
    folder::{Folder, Lock},
    meaning::{MEANING, PART},
};
use crate::{Bytes, bytes::Origin};

/// The lock that a copy is made under.
pub(super) const COPYING: &str = "copying";
/// Hexadecimal digits of a segment in the names of files.
const DIGITS: usize = 32;

/// The state of an index, as far as a copy has to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedState {
    /// The name of the indexed collection.
    pub collection: String,
    /// When it was built, in milliseconds since 1970.
    pub made_at: i64,
    /// The names of its files: the manifest first, then its segments and the files of the second tier that belong to them.
    pub names: Vec<String>,
}

/// A file of an index, opened to be copied.
#[derive(Debug)]
pub struct IndexFile {
    origin: Origin,
    stamp: Digest,
}

/// The exclusive right to copy an index folder to another place, while it is also being written.
#[derive(Debug)]
pub struct CopyLock {
    _lock: Lock,
}

impl IndexFile {
    /// Returns the number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.origin.len()
    }

    /// Returns a stamp that changes when the file does.
    #[must_use]
    pub fn stamp(&self) -> Digest {
        self.stamp
    }

    /// Reads a range; `None` if it is out of bounds or cannot be read.
    #[must_use]
    pub fn read(&self, range: Range<u64>) -> Option<Bytes> {
        self.origin.bytes(range)
    }
}

impl Store {
    /// Returns whether a file of an index can have this name, and is part of a copy: the manifest, a segment, or a file of
    /// the second tier.
    #[must_use]
    pub fn is_copied(name: &str) -> bool {
        let is_hex = |digits: &str| {
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            !digits.is_empty() && digits.len() <= 64 && digits.bytes().all(is_digit)
        };
        if let Some(digits) = name.strip_prefix(SEGMENT) {
            return digits.len() == DIGITS && is_hex(digits);
        }
        match name.strip_prefix(MEANING) {
            Some(rest) => rest.split_once('-').is_some_and(|(segment, model)| {
                segment.len() == DIGITS && is_hex(segment) && is_hex(model)
            }),
            None => name == MANIFEST,
        }
    }

    /// Returns what a copy of the current state consists of; `None` if nothing was ever written.
    ///
    /// # Errors
    /// When the folder cannot be read, or its manifest is damaged.
    pub fn copied_state(&self) -> Result<Option<CopiedState>, StoreError> {
        let Some(bytes) = self.folder.read(MANIFEST, MOST_MANIFEST)? else {
            return Ok(None);
        };
        let manifest = Manifest::decode(&Bytes::new(bytes))?;
        let segments = manifest.segments;
        let tier = self.folder.names()?.into_iter();
        let tier: Vec<String> = tier
            .filter(|name| Self::is_copied(name) && belongs(name, &segments))
            .collect();
        let mut names = vec![MANIFEST.to_owned()];
        names.extend(segments);
        names.extend(tier);
        Ok(Some(CopiedState {
            collection: manifest.name,
            made_at: manifest.made_at,
            names,
        }))
    }

    /// Returns whether there are files that a copy would consist of, but that are not among `names`.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn has_others(&self, names: &[String]) -> io::Result<bool> {
        let mut all = self.folder.names()?.into_iter();
        Ok(all.any(|name| Self::is_copied(&name) && !names.contains(&name)))
    }

    /// Opens a file to copy it.
    ///
    /// # Errors
    /// When it does not exist, is not one that is copied, is larger than any file of an index, or cannot be read.
    pub fn copied_file(&self, name: &str) -> io::Result<IndexFile> {
        if !Self::is_copied(name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (origin, stamp) = self.folder.origin(name, MOST_FILE)?;
        Ok(IndexFile { origin, stamp })
    }

    /// Returns the stamp of a file: see [`IndexFile::stamp`]. `None` if it does not exist.
    #[must_use]
    pub fn stamp_of(&self, name: &str) -> Option<Digest> {
        self.folder.stamp(name)
    }

    /// Takes the exclusive right to copy this folder elsewhere.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process holds it.
    pub fn copy_lock(&self) -> Result<CopyLock, StoreError> {
        let lock = self.folder.lock(COPYING)?.ok_or(StoreError::Busy)?;
        Ok(CopyLock { _lock: lock })
    }
}

impl Writer<'_> {
    /// Writes a file that was copied from elsewhere. It is not part of the index until [`Self::adopt`].
    ///
    /// # Errors
    /// When the name is not one that is copied, or the system refuses.
    pub fn add_copied(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match Store::is_copied(name) && name != MANIFEST {
            true => self.store.folder.write(name, bytes),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Makes a copied manifest the current state, and removes segments and files of the second tier that are not among
    /// `names`. With `keep_tier`, files of the second tier stay if they belong to one of these segments.
    ///
    /// # Errors
    /// When the system refuses; the old state then stays current.
    pub fn adopt(&self, manifest: &[u8], names: &[String], keep_tier: bool) -> io::Result<()> {
        let folder = &self.store.folder;
        folder.flush()?;
        folder.write(MANIFEST, manifest)?;
        folder.flush()?;
        for name in folder.names()? {
            let is_ours = Folder::is_of(&name, SEGMENT)
                || Folder::is_of(&name, MEANING)
                || Folder::is_unfinished(&name);
            let is_kept = keep_tier && (Folder::is_of(&name, PART) || belongs(&name, names));
            if is_ours && !names.contains(&name) && !is_kept {
                // One that cannot be removed now is removed next time.
                folder.remove(&name).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Removes the whole index. Readers that have it open keep what they have.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn discard(&self) -> io::Result<()> {
        let folder = &self.store.folder;
        for name in folder.names()? {
            let is_kept = [LOCK, COPYING, super::LABEL].contains(&name.as_str());
            let is_ours = Store::is_copied(&name)
                || Folder::is_of(&name, MEANING)
                || Folder::is_unfinished(&name);
            if is_ours && !is_kept {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// Returns whether a file of the second tier belongs to one of these segments.
fn belongs(name: &str, segments: &[String]) -> bool {
    let digits = name
        .strip_prefix(MEANING)
        .and_then(|rest| rest.get(..DIGITS));
    digits.is_some_and(|digits| {
        let mut all = segments
            .iter()
            .filter_map(|name| name.strip_prefix(SEGMENT));
        all.any(|segment| segment == digits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_an_index_are_copied() {
        let digits = "0123456789abcdef0123456789abcdef";
        for name in [
            "manifest".to_owned(),
            format!("segment-{digits}"),
            format!("meaning-{digits}-0011223344556677"),
        ] {
            assert!(Store::is_copied(&name), "{name}");
        }
        for name in [
            String::new(),
            "lock".to_owned(),
            "label".to_owned(),
            "../manifest".to_owned(),
            format!("segment-{digits}0"),
            format!("segment-{}", digits.to_uppercase()),
            "segment-../../../../../../../../x".to_owned(),
            format!("new-segment-{digits}"),
            format!("meaning-{digits}"),
            format!("meaning-{digits}-"),
            format!("meaning-{digits}-../x"),
            format!("meaning-part-{digits}-00"),
        ] {
            assert!(!Store::is_copied(&name), "{name}");
        }
    }

    #[test]
    fn a_copy_is_the_index() {
        let temp = tempfile::tempdir().unwrap();
        let from = Store::make_at(&temp.path().join("from")).unwrap();
        assert!(from.copied_state().unwrap().is_none());
        let writer = from.writer().unwrap();
        let name = writer.add(b"not really a segment").unwrap();
        let manifest = Manifest {
            name: "lab".to_owned(),
            segments: vec![name.clone()],
            ..Manifest::default()
        };
        writer.commit(&manifest).unwrap();
        let state = from.copied_state().unwrap().unwrap();
        let names = state.names.clone();
        assert_eq!(names, ["manifest".to_owned(), name.clone()]);
        let to = Store::make_cache_at(&temp.path().join("to")).unwrap();
        let writer = to.writer().unwrap();
        let bytes = |name: &str| {
            let file = from.copied_file(name).unwrap();
            file.read(0..file.bytes()).unwrap()
        };
        writer.add_copied(&name, bytes(&name).as_ref()).unwrap();
        assert!(writer.add_copied("label", b"x").is_err());
        assert!(writer.add_copied("manifest", b"x").is_err());
        let stale = format!("segment-{}", "0".repeat(32));
        writer.add_copied(&stale, b"x").unwrap();
        writer
            .adopt(bytes("manifest").as_ref(), &names, false)
            .unwrap();
        assert_eq!(to.copied_state().unwrap().unwrap(), state);
        assert!(to.copied_file(&stale).is_err());
        writer.discard().unwrap();
        assert!(to.copied_state().unwrap().is_none());
        let held = to.copy_lock().unwrap();
        assert!(matches!(to.copy_lock(), Err(StoreError::Busy)));
        drop(held);
    }
}
