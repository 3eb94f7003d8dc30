//! The second tier of an index: vectors of another model for the chunks of its segments, in files beside them.
//!
//! A file belongs to one segment and one model, and is written once. It records which text each vector belongs to, so
//! that a vector is never computed twice, whatever happens to segments. Parts hold the progress of an interrupted
//! filler. Chunks of documents that were not live when a file was written have no vector in it.

mod shared;

use std::{borrow::Cow, collections::HashMap, io};

use sectile_markdown::Digest;

pub use self::shared::SharedVectors;
use super::{
    MOST_FILE, Store, StoreError,
    folder::{Folder, Lock},
};
use crate::{
    Bytes, DocumentLocation, Embedder, FormatError, Segment,
    bytes::{LazyBytes, Origin},
    container::{self, Container, Name},
    embedding::vectors::{inverse_length, kept, kept_bytes},
};

/// The version of the format.
const VERSION: u32 = 1;
const RULES: Name = *b"rules   ";
const KEYS: Name = *b"keys    ";
const VECTORS: Name = *b"vectors ";
const LENGTHS: Name = *b"inverses";

/// The prefix of file names of the second tier.
pub(super) const MEANING: &str = "meaning-";
pub(super) const PART: &str = "meaning-part-";
pub(super) const LOCK: &str = "filling";
/// Hexadecimal digits of the model's fingerprint in file names.
const MODEL_DIGITS: usize = 16;

/// Identifies the passage that a vector belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorKey([u8; 16]);

impl VectorKey {
    /// Hashes a passage given in parts. The boundaries between parts matter.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        let mut key = [0; 16];
        key.copy_from_slice(&Digest::of(&bytes).as_bytes()[..16]);
        Self(key)
    }

    /// Returns the key with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns `true` if there is no vector.
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Vectors and the keys of their passages. Everything was verified against its checksums when it was opened.
#[derive(Clone, Debug)]
struct VectorFile {
    keys: Bytes,
    vectors: LazyBytes,
    inverse_lengths: LazyBytes,
}

impl VectorFile {
    /// Opens a file.
    fn open(origin: &Origin, rules: &str, dimensions: usize) -> Result<Self, FormatError> {
        let (container, keys) = Self::open_keys(origin, rules)?;
        Self::with_vectors(&container, keys, dimensions)
    }

    /// Opens a file as far as its keys.
    fn open_keys(origin: &Origin, rules: &str) -> Result<(Container, Bytes), FormatError> {
        let container = Container::open(origin, VERSION)?;
        if container.part(&RULES)?.as_ref() != rules.as_bytes() {
            return Err(FormatError::OtherModel);
        }
        let keys = container.part(&KEYS)?;
        Ok((container, keys))
    }

    /// Opens the rest of a file.
    fn with_vectors(
        container: &Container,
        keys: Bytes,
        dimensions: usize,
    ) -> Result<Self, FormatError> {
        let meaning = Self {
            keys,
            vectors: container.stretch(&VECTORS)?,
            inverse_lengths: container.stretch(&LENGTHS)?,
        };
        let count = meaning.keys().len();
        let fits = meaning.keys.as_ref().len() == count * 16
            && meaning.vectors.len() == count * kept_bytes(dimensions)
            && meaning.inverse_lengths.len() == count * 4;
        fits.then_some(meaning).ok_or(FormatError::Damaged)
    }

    fn keys(&self) -> &[[u8; 16]] {
        self.keys.as_ref().as_chunks().0
    }

    /// Returns a vector in stored form, or `None` if there is no such row, or the file has changed.
    fn vector(&self, row: usize, dimensions: usize) -> Option<Cow<'_, [u8]>> {
        let bytes = kept_bytes(dimensions);
        let start = row.checked_mul(bytes)?;
        self.vectors.read(start..start.checked_add(bytes)?)
    }

    /// Returns whether there are vectors for all of these chunks, and a row for each chunk of the segment.
    fn covers(&self, chunks: usize, mut wanted: impl Iterator<Item = usize>) -> bool {
        let keys = self.keys();
        let has = |chunk: usize| {
            keys.get(chunk)
                .is_some_and(|key| !VectorKey(*key).is_none())
        };
        keys.len() == chunks && wanted.all(has)
    }
}

/// Encodes a file.
fn encoded(rules: &str, rows: &VectorRows) -> Vec<u8> {
    container::write(
        VERSION,
        &[
            (RULES, rules.as_bytes()),
            (KEYS, &rows.keys),
            (VECTORS, &rows.vectors),
            (LENGTHS, &rows.inverse_lengths),
        ],
    )
}

/// Vectors as stored in a file.
#[derive(Default)]
struct VectorRows {
    keys: Vec<u8>,
    vectors: Vec<u8>,
    inverse_lengths: Vec<u8>,
}

/// Vectors of one model, by the keys of their passages.
#[derive(Debug)]
pub struct VectorCache {
    dimensions: usize,
    files: Vec<VectorFile>,
    /// The file and the row in it; added vectors come after all files.
    places: HashMap<VectorKey, (usize, usize)>,
    added: Vec<VectorKey>,
    /// In stored form.
    added_vectors: Vec<u8>,
    /// The number of added vectors that were shared, and not computed now.
    borrowed: usize,
}

impl VectorCache {
    /// Creates an empty set for a model.
    #[must_use]
    pub fn none(model: &dyn Embedder) -> Self {
        Self::of(model.dimensions())
    }

    fn of(dimensions: usize) -> Self {
        Self {
            dimensions,
            files: Vec::new(),
            places: HashMap::new(),
            added: Vec::new(),
            added_vectors: Vec::new(),
            borrowed: 0,
        }
    }

    /// Returns the number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the number of vectors added.
    #[must_use]
    pub fn added(&self) -> usize {
        self.added.len()
    }

    /// Returns the number of vectors added that [`SharedVectors`] had.
    #[must_use]
    pub fn borrowed(&self) -> usize {
        self.borrowed
    }

    /// Returns whether the vector of a passage is known.
    #[must_use]
    pub fn has(&self, key: VectorKey) -> bool {
        self.places.contains_key(&key)
    }

    /// Adds the vector of a passage, or `None` if the model finds no meaning in it.
    pub fn add(&mut self, key: VectorKey, vector: Option<&[i8]>) {
        if key.is_none() || self.has(key) {
            return;
        }
        let silent = vec![0; self.dimensions];
        let vector = vector.filter(|vector| vector.len() == self.dimensions);
        self.add_kept(key, &kept(vector.unwrap_or(&silent)));
    }

    /// Adds a vector in stored form, of a passage that has none.
    fn add_kept(&mut self, key: VectorKey, vector: &[u8]) {
        self.places
            .insert(key, (self.files.len(), self.added.len()));
        self.added.push(key);
        self.added_vectors.extend_from_slice(vector);
    }

    /// Adds a vector in stored form that was computed before.
    fn borrow_kept(&mut self, key: VectorKey, vector: &[u8]) {
        if !self.has(key) {
            self.add_kept(key, vector);
            self.borrowed += 1;
        }
    }

    /// Takes in the vectors of a file. Must be called before anything is added.
    fn take(&mut self, meaning: VectorFile) {
        let file = self.files.len();
        for (number, key) in meaning.keys().iter().enumerate() {
            let key = VectorKey(*key);
            if !key.is_none() {
                self.places.entry(key).or_insert((file, number));
            }
        }
        self.files.push(meaning);
    }

    /// Returns a vector in stored form, or `None` if it is not known, or its file has changed.
    fn get(&self, key: VectorKey) -> Option<Cow<'_, [u8]>> {
        let (file, number) = *self.places.get(&key)?;
        if let Some(meaning) = self.files.get(file) {
            return meaning.vector(number, self.dimensions);
        }
        let bytes = kept_bytes(self.dimensions);
        let range = number * bytes..(number + 1) * bytes;
        self.added_vectors.get(range).map(Cow::Borrowed)
    }

    /// Returns the vectors for these keys; a chunk without a key gets a zero vector. Returns `None` if one is not
    /// known, or its file has changed.
    fn rows(&self, keys: &[Option<VectorKey>]) -> Option<VectorRows> {
        let silent = kept(&vec![0; self.dimensions]);
        let mut rows = VectorRows::default();
        for key in keys {
            let vector = match key {
                Some(key) => self.get(*key)?,
                None => Cow::Borrowed(silent.as_slice()),
            };
            rows.keys.extend_from_slice(&key.unwrap_or_default().0);
            rows.vectors.extend_from_slice(&vector);
            let inverse = inverse_length(&vector).to_le_bytes();
            rows.inverse_lengths.extend_from_slice(&inverse);
        }
        Some(rows)
    }

    /// Returns a segment with these vectors in place of its own, by the keys of its chunks; zero where there is no key.
    /// Returns `None` if not all of them are known.
    #[must_use]
    pub fn in_place(&self, segment: &Segment, keys: &[Option<VectorKey>]) -> Option<Segment> {
        if keys.len() != segment.chunks() {
            return None;
        }
        let rows = self.rows(keys)?;
        let (vectors, inverse_lengths) =
            (Bytes::new(rows.vectors), Bytes::new(rows.inverse_lengths));
        Some(segment.with_vectors(vectors, inverse_lengths))
    }
}

/// The exclusive right to fill the second tier of an index, with one model.
#[derive(Debug)]
pub struct SecondTierWriter<'s> {
    store: &'s Store,
    model: Model,
    _lock: Lock,
}

/// The properties of a model that files depend on.
#[derive(Clone, Copy, Debug)]
struct Model {
    fingerprint: Digest,
    dimensions: usize,
}

impl Model {
    fn of(model: &dyn Embedder) -> Self {
        Self {
            fingerprint: model.fingerprint(),
            dimensions: model.dimensions(),
        }
    }

    fn digits(&self) -> String {
        let mut digits = self.fingerprint.to_string();
        digits.truncate(MODEL_DIGITS);
        digits
    }

    /// Returns the name of the file for a segment.
    fn file_of(&self, segment: &str) -> String {
        let digits = segment.strip_prefix(super::SEGMENT).unwrap_or(segment);
        format!("{MEANING}{digits}-{}", self.digits())
    }

    /// Returns everything except the passages that the contents of a file depend on.
    fn rules(&self, segment: &str) -> String {
        format!("model {}\nsegment {segment}\n", self.fingerprint)
    }

    /// The same for a part.
    fn part_rules(&self) -> String {
        format!("model {}\npart\n", self.fingerprint)
    }

    /// Returns the rules of the file with this name, if it belongs to this model.
    fn rules_of(&self, name: &str) -> Option<String> {
        let digits = self.digits();
        if let Some(rest) = name.strip_prefix(PART) {
            return rest.starts_with(&digits).then(|| self.part_rules());
        }
        let rest = name.strip_prefix(MEANING)?;
        let segment = rest.strip_suffix(&digits)?.strip_suffix('-')?;
        Some(self.rules(&format!("{}{segment}", super::SEGMENT)))
    }

    /// Reads all intact files of this model. Damaged or foreign ones count as missing.
    fn known(&self, folder: &Folder) -> io::Result<VectorCache> {
        let mut known = VectorCache::of(self.dimensions);
        for name in folder.names()? {
            let file = self
                .rules_of(&name)
                .and_then(|rules| Some((rules, folder.origin(&name, MOST_FILE).ok()?)));
            let Some((rules, (origin, _))) = file else {
                continue;
            };
            if let Ok(meaning) = VectorFile::open(&origin, &rules, self.dimensions) {
                known.take(meaning);
            }
        }
        Ok(known)
    }

    fn open(&self, folder: &Folder, segment: &str) -> Result<VectorFile, StoreError> {
        let (origin, _) = folder.origin(&self.file_of(segment), MOST_FILE)?;
        let rules = self.rules(segment);
        Ok(VectorFile::open(&origin, &rules, self.dimensions)?)
    }
}

impl Store {
    /// Returns the open segments of a manifest with the vectors of `model` in place of their own, or `None` unless all
    /// of them have intact files with vectors for every live chunk.
    #[must_use]
    pub fn meaning(
        &self,
        names: &[String],
        segments: &[Segment],
        places: &[DocumentLocation],
        model: &dyn Embedder,
    ) -> Option<Vec<Segment>> {
        let model = Model::of(model);
        let there = self.folder.names().ok()?;
        // Usually the last ones are missing, and no file need be opened to see that.
        let is_there = |name: &String| there.binary_search(&model.file_of(name)).is_ok();
        if names.len() != segments.len() || !names.iter().all(is_there) {
            return None;
        }
        let living = living(segments, places);
        names
            .iter()
            .zip(segments)
            .zip(living)
            .map(|((name, segment), living)| {
                let meaning = model.open(&self.folder, name).ok()?;
                let is_whole = meaning.covers(segment.chunks(), living.into_iter());
                let (vectors, inverse_lengths) =
                    (meaning.vectors.whole()?, meaning.inverse_lengths.whole()?);
                is_whole.then(|| segment.with_vectors(vectors, inverse_lengths))
            })
            .collect()
    }

    /// Returns all intact vectors of `model`, whatever segment they were computed for.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn known_vectors(&self, model: &dyn Embedder) -> io::Result<VectorCache> {
        Model::of(model).known(&self.folder)
    }

    /// Takes the lock for filling the second tier with the vectors of `model`. It is separate from [`Self::writer`]:
    /// filling takes long, and the index can be updated meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process holds it.
    pub fn filler(&self, model: &dyn Embedder) -> Result<SecondTierWriter<'_>, StoreError> {
        let lock = self.folder.lock(LOCK)?.ok_or(StoreError::Busy)?;
        Ok(SecondTierWriter {
            store: self,
            model: Model::of(model),
            _lock: lock,
        })
    }
}

/// Unwraps vectors that were known a moment ago.
fn had(rows: Option<VectorRows>) -> io::Result<VectorRows> {
    rows.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Returns the chunks of the documents at these places, for each segment, in no particular order.
pub(super) fn living(segments: &[Segment], places: &[DocumentLocation]) -> Vec<Vec<usize>> {
    let mut living = vec![Vec::new(); segments.len()];
    for place in places {
        if let Some((living, segment)) = living
            .get_mut(place.segment)
            .zip(segments.get(place.segment))
        {
            living.extend(segment.chunks_of(place.document));
        }
    }
    living
}

impl SecondTierWriter<'_> {
    /// See [`Store::known_vectors`].
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn known(&self) -> io::Result<VectorCache> {
        self.model.known(&self.store.folder)
    }

    /// Returns whether the file of a segment exists and is intact, with vectors for these chunks.
    #[must_use]
    pub fn has(&self, name: &str, segment: &Segment, living: &[usize]) -> bool {
        let Ok(meaning) = self.model.open(&self.store.folder, name) else {
            return false;
        };
        meaning.covers(segment.chunks(), living.iter().copied())
    }

    /// Saves the vectors added to `known` from number `since` on, until segment files contain them. Returns the name of
    /// the part.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep(&self, known: &VectorCache, since: usize) -> io::Result<String> {
        let keys: Vec<Option<VectorKey>> =
            known.added.iter().skip(since).copied().map(Some).collect();
        let file = encoded(&self.model.part_rules(), &had(known.rows(&keys))?);
        let mut digits = Digest::of(&file).to_string();
        digits.truncate(32);
        let name = format!("{PART}{}-{digits}", self.model.digits());
        self.store.folder.write(&name, &file)?;
        self.store.folder.flush()?;
        Ok(name)
    }

    /// Writes the file of a segment whose chunks have these keys; `None` for chunks that are not live. Removes the
    /// parts that it makes superfluous.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn finish(
        &self,
        segment: &str,
        keys: &[Option<VectorKey>],
        known: &VectorCache,
        parts: &[String],
    ) -> io::Result<()> {
        let folder = &self.store.folder;
        let file = encoded(&self.model.rules(segment), &had(known.rows(keys))?);
        folder.write(&self.model.file_of(segment), &file)?;
        folder.flush()?;
        for part in parts {
            self.remove(part);
        }
        Ok(())
    }

    /// Removes all files of the second tier that these segments do not need with this model.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn clean(&self, segments: &[String]) -> io::Result<()> {
        let wanted: Vec<String> = segments
            .iter()
            .map(|segment| self.model.file_of(segment))
            .collect();
        for name in self.store.folder.names()? {
            if Folder::is_of(&name, MEANING) && !wanted.contains(&name) {
                self.remove(&name);
            }
        }
        Ok(())
    }

    /// Removes a file; one that cannot be removed now is removed next time.
    fn remove(&self, name: &str) {
        self.store.folder.remove(name).unwrap_or_default();
    }
}
