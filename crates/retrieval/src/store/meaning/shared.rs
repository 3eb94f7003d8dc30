//! The vectors that all indexes of a user share: packs in one folder, each with vectors of one model.
//!
//! A pack has the format of the other files of the second tier, with its keys sorted. It is written under a temporary
//! name, renamed and never changed, so any number of processes can read and add packs without a lock; only merging small
//! packs takes one. A pack that vanishes was merged or removed, and one that is damaged counts as missing and is removed.

#[cfg(test)]
mod tests;

use std::{io, path::PathBuf, time::SystemTime};

use sectile_markdown::Digest;

use super::{Model, VectorCache, VectorFile, VectorKey, encoded, had};
use crate::{
    Bytes, Embedder, FormatError,
    container::Container,
    embedding::vectors::kept_bytes,
    store::{
        StoreError, TRIES,
        folder::{Folder, ListedFile},
    },
};

/// The prefix of the names of packs.
const PACK: &str = "pack-";
/// The file whose lock is held by the process that merges packs.
const LOCK: &str = "merging";
/// The size of a full pack in bytes: about 40,000 vectors of the built-in model. Before one vector of a pack is used, the
/// whole pack is verified, which should not take longer than embedding a passage.
const FULL_PACK: usize = 8 << 20;
/// The largest pack that is read, in bytes.
const MOST_PACK: u64 = 16 << 20;
/// The most packs that a lookup opens.
const MOST_PACKS: usize = 4_096;
/// More packs that are less than half full are merged. Each of them costs every lookup the opening of a file; each merge
/// writes a full pack at most.
const MOST_SMALL: usize = 16;
/// Bytes of a key and the reciprocal of a length, which every vector has.
const BESIDE_VECTOR: usize = 16 + 4;

/// The vectors that the indexes of a user share, by model and passage. Their folder need not exist.
#[derive(Clone, Debug)]
pub struct SharedVectors {
    location: PathBuf,
    most_bytes: u64,
}

/// A pack whose keys were read and verified, and whose vectors were not.
struct VectorPack {
    container: Container,
    keys: Bytes,
}

impl VectorPack {
    fn open(folder: &Folder, name: &str, model: &Model) -> Result<Self, StoreError> {
        let (origin, _) = folder.origin(name, MOST_PACK)?;
        let (container, keys) = VectorFile::open_keys(&origin, &model.pack_rules())?;
        let pack = Self { container, keys };
        match pack.keys().is_sorted_by(|one, other| one < other) {
            true => Ok(pack),
            false => Err(FormatError::Damaged.into()),
        }
    }

    fn keys(&self) -> &[[u8; 16]] {
        self.keys.as_ref().as_chunks().0
    }

    /// Adds the vectors of `keys` that are here to `known`, as far as it lacks them. Returns the keys that are not here.
    fn lend(
        &self,
        keys: &[VectorKey],
        known: &mut VectorCache,
    ) -> Result<Vec<VectorKey>, FormatError> {
        let (mut others, mut rows) = (Vec::new(), Vec::new());
        for key in keys {
            match self.keys().binary_search(&key.0) {
                Err(_) => others.push(*key),
                Ok(row) if !known.has(*key) => rows.push((*key, row)),
                Ok(_) => {}
            }
        }
        if rows.is_empty() {
            return Ok(others);
        }
        let dimensions = known.dimensions;
        let file = VectorFile::with_vectors(&self.container, self.keys.clone(), dimensions)?;
        for (key, row) in rows {
            let vector = file.vector(row, dimensions);
            known.borrow_kept(key, &vector.ok_or(FormatError::Damaged)?);
        }
        Ok(others)
    }
}

impl Model {
    /// Returns the beginning of the names of this model's packs.
    fn pack_prefix(&self) -> String {
        format!("{PACK}{}-", self.digits())
    }

    /// As [`Self::rules`], for a pack.
    fn pack_rules(&self) -> String {
        format!("model {}\npack\n", self.fingerprint)
    }

    /// Returns the number of vectors in a full pack.
    fn full_pack(&self) -> usize {
        (FULL_PACK / (kept_bytes(self.dimensions) + BESIDE_VECTOR)).max(1)
    }
}

impl SharedVectors {
    /// Refers to the folder at `location`, whose packs may have `most_bytes` in all.
    pub(in crate::store) fn new(location: PathBuf, most_bytes: u64) -> Self {
        Self {
            location,
            most_bytes,
        }
    }

    fn folder(&self) -> io::Result<Option<Folder>> {
        Folder::open(&self.location)
    }

    /// Adds the shared vectors of these passages to `known`, as far as it lacks them. Returns the keys of the passages
    /// whose vectors are not shared, sorted.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn lend(
        &self,
        model: &dyn Embedder,
        keys: &[VectorKey],
        known: &mut VectorCache,
    ) -> io::Result<Vec<VectorKey>> {
        let mut missing = keys.to_vec();
        missing.sort_unstable();
        missing.dedup();
        let Some(folder) = self.folder()? else {
            return Ok(missing);
        };
        let model = Model::of(model);
        let prefix = model.pack_prefix();
        for _ in 0..TRIES {
            let mut names = folder.names()?;
            names.retain(|name| name.starts_with(&prefix));
            let mut has_vanished = false;
            for name in names.iter().take(MOST_PACKS) {
                if missing.is_empty() {
                    break;
                }
                let lent = VectorPack::open(&folder, name, &model)
                    .and_then(|pack| Ok(pack.lend(&missing, known)?));
                match lent {
                    Ok(others) => missing = others,
                    Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                        has_vanished = true;
                    }
                    Err(StoreError::Format(FormatError::Damaged)) => remove(&folder, name),
                    // It may be readable for another version of this program, or another time.
                    Err(_) => {}
                }
            }
            // What vanished may have been merged into a pack that was not listed yet.
            if !has_vanished {
                break;
            }
        }
        Ok(missing)
    }

    /// Shares the vectors of these passages, as far as `known` has them. The oldest packs make room for them.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add(
        &self,
        model: &dyn Embedder,
        keys: &[VectorKey],
        known: &VectorCache,
    ) -> io::Result<()> {
        let keys = keys.iter().filter(|key| known.has(**key));
        let mut keys: Vec<Option<VectorKey>> = keys.copied().map(Some).collect();
        if keys.is_empty() {
            return Ok(());
        }
        keys.sort_unstable();
        keys.dedup();
        let model = Model::of(model);
        let mut folder = Folder::make(&self.location)?;
        folder.is_cache = true;
        for keys in keys.chunks(model.full_pack()) {
            write(&folder, &model, keys, known, None)?;
        }
        merge(&folder, &model)?;
        self.shrink().map(|_| ())
    }

    /// Returns the size of the packs in bytes.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn bytes(&self) -> io::Result<u64> {
        let Some(folder) = self.folder()? else {
            return Ok(0);
        };
        Ok(packs(&folder)?.iter().map(|pack| pack.bytes).sum())
    }

    /// Removes the oldest packs while all of them together are larger than they may be. Returns the size of the rest.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn shrink(&self) -> io::Result<u64> {
        let Some(folder) = self.folder()? else {
            return Ok(0);
        };
        let packs = packs(&folder)?;
        let mut sum: u64 = packs.iter().map(|pack| pack.bytes).sum();
        for pack in packs {
            if sum <= self.most_bytes {
                break;
            }
            remove(&folder, &pack.name);
            sum -= pack.bytes;
        }
        Ok(sum)
    }

    /// Removes all packs, even if they are in use: a reader has copied what it needs, and a writer adds new ones. Other
    /// files stay where they are. Returns whether there were any.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn clear(&self) -> io::Result<bool> {
        let Some(folder) = self.folder()? else {
            return Ok(false);
        };
        let packs = packs(&folder)?;
        for name in packs.iter().map(|pack| pack.name.as_str()).chain([LOCK]) {
            match folder.remove(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        folder.remove_if_empty()?;
        Ok(!packs.is_empty())
    }
}

/// Returns the packs of all models, finished or not, the oldest first.
fn packs(folder: &Folder) -> io::Result<Vec<ListedFile>> {
    let mut files = folder.files()?;
    files.retain(|file| file.name.starts_with(PACK) || Folder::is_unfinished(&file.name));
    Ok(files)
}

/// Removes a pack; one that cannot be removed now is removed another time.
fn remove(folder: &Folder, name: &str) {
    folder.remove(name).unwrap_or_default();
}

/// Writes a pack of the vectors with these keys, which are sorted. Returns its name.
fn write(
    folder: &Folder,
    model: &Model,
    keys: &[Option<VectorKey>],
    known: &VectorCache,
    modified: Option<SystemTime>,
) -> io::Result<String> {
    let file = encoded(&model.pack_rules(), &had(known.rows(keys))?);
    let mut digits = Digest::of(&file).to_string();
    digits.truncate(32);
    let name = format!("{}{digits}", model.pack_prefix());
    folder.write_among_others(&name, &file, modified)?;
    Ok(name)
}

/// Returns the packs of a model that are less than half full, the oldest first.
fn small_packs(folder: &Folder, model: &Model) -> io::Result<Vec<ListedFile>> {
    let prefix = model.pack_prefix();
    let mut small = packs(folder)?;
    small.retain(|pack| pack.name.starts_with(&prefix) && pack.bytes < FULL_PACK as u64 / 2);
    Ok(small)
}

/// Merges the oldest small packs of a model into one, if there are many.
fn merge(folder: &Folder, model: &Model) -> io::Result<()> {
    if small_packs(folder, model)?.len() <= MOST_SMALL {
        return Ok(());
    }
    let Some(_lock) = folder.lock(LOCK)? else {
        // Another process does it.
        return Ok(());
    };
    let mut known = VectorCache::of(model.dimensions);
    let mut merged = Vec::new();
    let mut bytes = 0;
    for pack in small_packs(folder, model)? {
        bytes += pack.bytes;
        if bytes > FULL_PACK as u64 {
            break;
        }
        let opened = folder
            .origin(&pack.name, MOST_PACK)
            .map_err(StoreError::from);
        let opened = opened.and_then(|(origin, _)| {
            let file = VectorFile::open(&origin, &model.pack_rules(), model.dimensions);
            Ok(file?)
        });
        match opened {
            Ok(file) => {
                known.take(file);
                merged.push(pack);
            }
            Err(StoreError::Format(FormatError::Damaged)) => remove(folder, &pack.name),
            Err(_) => {}
        }
    }
    let Some(newest) = merged.last() else {
        return Ok(());
    };
    let mut keys: Vec<Option<VectorKey>> = known.places.keys().copied().map(Some).collect();
    keys.sort_unstable();
    let name = write(folder, model, &keys, &known, Some(newest.modified))?;
    for pack in merged.iter().filter(|pack| pack.name != name) {
        remove(folder, &pack.name);
    }
    Ok(())
}
