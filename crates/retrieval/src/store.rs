//! An index on disk: a folder with segments, and a manifest that says which documents of which segment count.
//!
//! Segments are written once, under a name made of their contents, and never changed. The manifest is replaced in one step,
//! after everything that it names is safely on disk. So whoever opens the folder, at whatever moment a writer was killed,
//! finds the old state or the new one.

mod folder;
mod manifest;
mod meaning;
#[cfg(test)]
mod tests;

use std::{io, path::Path};

use sectile_markdown::Digest;

use self::{
    folder::{Folder, Lock},
    meaning::MEANING,
};
pub use self::{
    manifest::{Entry, Manifest},
    meaning::{Filler, KnownVectors, MeaningKey},
};
use crate::{Bytes, Corpus, Embedder, FormatError, Place, Segment};

const MANIFEST: &str = "manifest";
const LOCK: &str = "lock";
/// What names of segments begin with.
const SEGMENT: &str = "segment-";
/// The most bytes of a manifest, of one file of an index, and of all segments of one together. Indexes of libraries that
/// anybody has are far smaller; a file with a hole in it may say that it is larger than the memory.
const MOST_MANIFEST: u64 = 256 << 20;
const MOST_FILE: u64 = 1 << 30;
const MOST_SEGMENTS: u64 = 4 << 30;
/// A writer may remove a segment between the reading of a manifest and that of its segments; then there is a new manifest.
const TRIES: usize = 5;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refuses.
    #[error("the index folder cannot be used ({})", .0.kind())]
    Io(io::Error),
    /// What is there is no index that can be used. It can be made again.
    #[error("the index cannot be used: {0}")]
    Format(#[from] FormatError),
    /// Another process writes it now.
    #[error("another process writes the index now")]
    Busy,
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Something that is not a file, or too large or too short to be one of ours.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Self::Format(FormatError::Damaged)
            }
            _ => Self::Io(error),
        }
    }
}

/// What tells a state from any other: the manifest, and the stamps of its segments.
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

/// An index that was opened.
#[derive(Clone, Debug)]
pub struct Stored {
    /// What it says.
    pub manifest: Manifest,
    /// The segments that the manifest names.
    pub segments: Vec<Segment>,
    /// What tells this state from any other: see [`Store::state`].
    pub state: Digest,
}

/// The one who may write an index.
#[derive(Debug)]
pub struct Writer<'s> {
    store: &'s Store,
    _lock: Lock,
}

impl Store {
    /// The index at `location`, or `None` when there is no such folder.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn at(location: &Path) -> io::Result<Option<Self>> {
        Ok(Folder::open(location)?.map(|folder| Self { folder }))
    }

    /// The index at `location`. The folder is made when there is none.
    ///
    /// # Errors
    /// When the folder cannot be made or opened.
    pub fn make_at(location: &Path) -> io::Result<Self> {
        let folder = Folder::make(location)?;
        Ok(Self { folder })
    }

    /// A digest of the manifest that is there and of the stamps of the segments that it names, or `None` when nothing was ever
    /// written. It changes when one of these files does.
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

    /// Opens what is there, or `None` when nothing was ever written. All of it is compared with its checksums.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read, is damaged, or was made by other rules or with another model than `embedder`.
    pub fn read(&self, embedder: Option<&dyn Embedder>) -> Result<Option<Stored>, StoreError> {
        for _ in 0..TRIES {
            let Some(bytes) = self.folder.read(MANIFEST, MOST_MANIFEST)? else {
                return Ok(None);
            };
            let bytes = Bytes::new(bytes);
            let manifest = Manifest::decode(&bytes)?;
            match self.segments(&manifest.segments, embedder) {
                Ok((segments, stamps)) => {
                    return Ok(Some(Stored {
                        manifest,
                        segments,
                        state: state(&bytes, stamps.into_iter().map(Some)),
                    }));
                }
                Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        // Nobody replaces a manifest so often: the segments are gone.
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

    /// Takes the right to write.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process has it.
    pub fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let lock = self.folder.lock(LOCK)?.ok_or(StoreError::Busy)?;
        Ok(Writer {
            store: self,
            _lock: lock,
        })
    }
}

impl Writer<'_> {
    /// Puts a segment on disk. Its name is returned; nothing counts of it until a manifest names it.
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

    /// Makes `manifest` the state of the index. What it does not name is removed.
    ///
    /// # Errors
    /// When the system refuses; then the old state counts.
    pub fn commit(&self, manifest: &Manifest) -> io::Result<()> {
        let folder = &self.store.folder;
        // Before the manifest that names them.
        folder.flush()?;
        folder.write(MANIFEST, &manifest.encode())?;
        folder.flush()?;
        self.clean(&manifest.segments)
    }

    /// Removes what no manifest names: segments nobody reads any more, and what a writer left that did not come to its end.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn clean(&self, segments: &[String]) -> io::Result<()> {
        let folder = &self.store.folder;
        // Anyone who still reads a removed segment has it open. One that cannot be removed now is so next time.
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

impl Stored {
    /// How many chunks count.
    #[must_use]
    pub fn chunks(&self) -> usize {
        let entries = self.manifest.entries.iter();
        entries.map(|entry| self.chunks_at(entry.place)).sum()
    }

    /// For each segment, the chunks that count, in no particular order.
    #[must_use]
    pub fn living(&self) -> Vec<Vec<usize>> {
        let entries = self.manifest.entries.iter();
        let places: Vec<Place> = entries.map(|entry| entry.place).collect();
        meaning::living(&self.segments, &places)
    }

    /// The numbers of a document's chunks in its segment; none where there is no document.
    #[must_use]
    pub fn numbers_at(&self, place: Place) -> std::ops::Range<usize> {
        let segment = self.segments.get(place.segment);
        segment.map_or(0..0, |segment| segment.chunks_of(place.document))
    }

    /// How many chunks a document has; none where there is no document.
    #[must_use]
    pub fn chunks_at(&self, place: Place) -> usize {
        self.numbers_at(place).len()
    }

    /// What counts, ready to be searched.
    #[must_use]
    pub fn corpus(&self) -> Corpus {
        let places: Vec<Place> = self
            .manifest
            .entries
            .iter()
            .map(|entry| entry.place)
            .collect();
        Corpus::new(self.segments.clone(), &places)
    }
}
