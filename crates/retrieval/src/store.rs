//! An index on disk: a folder with segments, and a manifest that lists the live documents of each segment.
//!
//! Segments are written once, under a name derived from their contents, and never changed. The manifest is replaced by
//! an atomic rename, after everything that it names is flushed to disk. So whenever a writer was killed, a reader finds
//! either the old state or the new one.

mod copying;
mod folder;
mod manifest;
mod meaning;
#[cfg(test)]
mod tests;

use std::{io, path::Path};

use sectile_markdown::Digest;

pub use self::{
    copying::{CopiedState, CopyLock, IndexFile},
    folder::{CacheFolder, CachedIndex},
    manifest::{Manifest, ManifestEntry},
    meaning::{SecondTierWriter, SharedVectors, VectorCache, VectorKey},
};
use self::{
    folder::{Folder, Lock},
    meaning::MEANING,
};
use crate::{
    Bytes, Corpus, DocumentLocation, Embedder, FormatError, Segment,
    container::{self, Container, Name},
};

const MANIFEST: &str = "manifest";
const LOCK: &str = "lock";
/// The file that says what an index is for.
const LABEL: &str = "label";
/// The file of the caller's records.
const RECORDS: &str = "records";
const RECORDS_VERSION: u32 = 1;
const RECORDS_PART: Name = *b"records ";
/// The prefix of segment names.
const SEGMENT: &str = "segment-";
/// The largest manifest, the largest file of an index, and the largest total size of its segments, in bytes. Real
/// indexes are far smaller; a sparse file may claim to be larger than the memory.
const MOST_MANIFEST: u64 = 256 << 20;
const MOST_FILE: u64 = 1 << 30;
const MOST_RECORDS: u64 = 512 << 20;
const MOST_SEGMENTS: u64 = 4 << 30;
/// Attempts to open an index: a writer may remove a segment after a reader has read the manifest; then there is a new
/// manifest.
const TRIES: usize = 5;

/// The reason why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused.
    #[error("the index folder cannot be used ({})", .0.kind())]
    Io(io::Error),
    /// The files are not a usable index. It can be rebuilt.
    #[error("the index cannot be used: {0}")]
    Format(#[from] FormatError),
    /// Another process is writing it now.
    #[error("another process is writing the index")]
    Busy,
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Not a regular file, or too large or too short to be one of ours.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Self::Format(FormatError::Damaged)
            }
            _ => Self::Io(error),
        }
    }
}

/// Returns a digest that identifies a state: of the manifest, and of the stamps of its segments.
fn state(manifest: &Bytes, stamps: impl Iterator<Item = Option<Digest>>) -> Digest {
    let mut text = Digest::of(manifest.as_ref()).to_string();
    for stamp in stamps {
        text += &stamp.map_or_else(|| "none".to_owned(), |stamp| stamp.to_string());
    }
    Digest::of(text.as_bytes())
}

/// The folder of one index.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
}

/// An open index.
#[derive(Clone, Debug)]
pub struct OpenIndex {
    /// Its manifest.
    pub manifest: Manifest,
    /// The segments that the manifest names.
    pub segments: Vec<Segment>,
    /// A digest that identifies this state: see [`Store::state`].
    pub state: Digest,
}

/// The exclusive right to write an index.
#[derive(Debug)]
pub struct Writer<'s> {
    store: &'s Store,
    _lock: Lock,
}

impl Store {
    /// Opens the index at `location`; `None` if there is no such folder.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn at(location: &Path) -> io::Result<Option<Self>> {
        Ok(Folder::open(location)?.map(|folder| Self { folder }))
    }

    /// Opens the index at `location`, and creates the folder if there is none.
    ///
    /// # Errors
    /// When the folder cannot be created or opened.
    pub fn make_at(location: &Path) -> io::Result<Self> {
        let folder = Folder::make(location)?;
        Ok(Self { folder })
    }

    /// Like [`Self::make_at`], for an index that can be rebuilt: its files are not flushed to disk.
    ///
    /// # Errors
    /// As [`Self::make_at`].
    pub fn make_cache_at(location: &Path) -> io::Result<Self> {
        let mut store = Self::make_at(location)?;
        store.folder.is_cache = true;
        Ok(store)
    }

    /// Says what the index is for, and that it was used now. See [`CacheFolder`].
    ///
    /// # Errors
    /// When the system refuses.
    pub fn label(&self, label: &str) -> io::Result<()> {
        self.folder.write(LABEL, label.as_bytes())
    }

    /// Reads what [`Writer::write_records`] wrote; `None` if there is nothing, or nothing that can be used.
    #[must_use]
    pub fn records(&self) -> Option<Bytes> {
        let (origin, _) = self.folder.origin(RECORDS, MOST_RECORDS).ok()?;
        let container = Container::open(&origin, RECORDS_VERSION).ok()?;
        container.part(&RECORDS_PART).ok()
    }

    /// Opens one segment.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn segment(
        &self,
        name: &str,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Segment, StoreError> {
        let (origin, _) = self.folder.origin(name, MOST_FILE)?;
        Ok(Segment::of(&origin, embedder)?)
    }

    /// Returns a digest of the current manifest and of the stamps of the segments that it names, or `None` if nothing
    /// was ever written. It changes when one of these files does.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn state(&self) -> io::Result<Option<Digest>> {
        let Some(bytes) = self.folder.read(MANIFEST, MOST_MANIFEST)? else {
            return Ok(None);
        };
        let bytes = Bytes::new(bytes);
        let names = Manifest::segments_of(&bytes).unwrap_or_default();
        let stamps = names.iter().map(|name| self.folder.stamp(name));
        Ok(Some(state(&bytes, stamps)))
    }

    /// Opens the index and verifies all its checksums; `None` if nothing was ever written.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read, is damaged, or was made by other rules or with a model other than
    /// `embedder`.
    pub fn read(&self, embedder: Option<&dyn Embedder>) -> Result<Option<OpenIndex>, StoreError> {
        for _ in 0..TRIES {
            let Some(bytes) = self.folder.read(MANIFEST, MOST_MANIFEST)? else {
                return Ok(None);
            };
            let bytes = Bytes::new(bytes);
            let manifest = Manifest::decode(&bytes)?;
            match self.segments(&manifest.segments, embedder) {
                Ok((segments, stamps)) => {
                    return Ok(Some(OpenIndex {
                        manifest,
                        segments,
                        state: state(&bytes, stamps.into_iter().map(Some)),
                    }));
                }
                Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        // No writer replaces a manifest this often: the segments are gone.
        Err(FormatError::Damaged.into())
    }

    fn segments(
        &self,
        names: &[String],
        embedder: Option<&dyn Embedder>,
    ) -> Result<(Vec<Segment>, Vec<Digest>), StoreError> {
        let (mut segments, mut stamps) = (Vec::new(), Vec::new());
        let mut rest = MOST_SEGMENTS;
        for name in names {
            let (origin, stamp) = self.folder.origin(name, MOST_FILE.min(rest))?;
            rest -= origin.len();
            segments.push(Segment::of(&origin, embedder)?);
            stamps.push(stamp);
        }
        Ok((segments, stamps))
    }

    /// Takes the write lock.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process holds it.
    pub fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let lock = self.folder.lock(LOCK)?.ok_or(StoreError::Busy)?;
        Ok(Writer {
            store: self,
            _lock: lock,
        })
    }
}

impl Writer<'_> {
    /// Writes a segment to disk and returns its name. It is not part of the index until a manifest names it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add(&self, segment: &[u8]) -> io::Result<String> {
        let mut digits = Digest::of(segment).to_string();
        digits.truncate(32);
        let name = format!("{SEGMENT}{digits}");
        self.store.folder.write(&name, segment)?;
        Ok(name)
    }

    /// Keeps `records` beside the index. What they mean is up to the caller; a reader must expect them to be of another
    /// state than the manifest.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write_records(&self, records: &[u8]) -> io::Result<()> {
        let file = container::write(RECORDS_VERSION, &[(RECORDS_PART, records)]);
        self.store.folder.write(RECORDS, &file)
    }

    /// Makes `manifest` the current state of the index, and removes what it does not name.
    ///
    /// # Errors
    /// When the system refuses; the old state then stays current.
    pub fn commit(&self, manifest: &Manifest) -> io::Result<()> {
        let folder = &self.store.folder;
        // The segments must be on disk before the manifest that names them.
        folder.flush()?;
        folder.write(MANIFEST, &manifest.encode())?;
        folder.flush()?;
        self.clean(&manifest.segments)
    }

    /// Removes files that no manifest names: segments no longer in use, and leftovers of a writer that was interrupted.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn clean(&self, segments: &[String]) -> io::Result<()> {
        let folder = &self.store.folder;
        // Readers of a removed segment still have it open. One that cannot be removed now is removed next time.
        for name in folder.names()? {
            let is_ours = Folder::is_of(&name, SEGMENT) || Folder::is_unfinished(&name);
            // The second tier may be being filled at this very moment.
            let is_wanted = segments.contains(&name) || Folder::is_of(&name, MEANING);
            if is_ours && !is_wanted {
                folder.remove(&name).unwrap_or_default();
            }
        }
        Ok(())
    }
}

impl OpenIndex {
    /// Returns the number of live chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        let entries = self.manifest.entries.iter();
        entries.map(|entry| self.chunks_at(entry.place)).sum()
    }

    /// Returns the live chunks of each segment, in no particular order.
    #[must_use]
    pub fn living(&self) -> Vec<Vec<usize>> {
        let entries = self.manifest.entries.iter();
        let places: Vec<DocumentLocation> = entries.map(|entry| entry.place).collect();
        meaning::living(&self.segments, &places)
    }

    /// Returns the numbers of a document's chunks in its segment; empty if there is no such document.
    #[must_use]
    pub fn numbers_at(&self, place: DocumentLocation) -> std::ops::Range<usize> {
        let segment = self.segments.get(place.segment);
        segment.map_or(0..0, |segment| segment.chunks_of(place.document))
    }

    /// Returns the number of chunks of a document; 0 if there is no such document.
    #[must_use]
    pub fn chunks_at(&self, place: DocumentLocation) -> usize {
        self.numbers_at(place).len()
    }

    /// Returns the live documents, ready to be searched.
    #[must_use]
    pub fn corpus(&self) -> Corpus {
        let places: Vec<DocumentLocation> = self
            .manifest
            .entries
            .iter()
            .map(|entry| entry.place)
            .collect();
        Corpus::new(self.segments.clone(), &places)
    }
}
