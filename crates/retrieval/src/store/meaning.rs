//! The second tier of an index: vectors of another model for the chunks of its segments, in files beside them.
//!
//! A file belongs to one segment and one model, and is written once. It says for each chunk which text its vector is of, so
//! that a vector is never made twice, whatever becomes of segments. Parts hold what a filler came to that was stopped.
//! Chunks of documents that did not count when a file was made have no vector in it.

use std::{collections::HashMap, io};

use sectile_markdown::Digest;

use super::{
    Store, StoreError,
    folder::{Folder, Lock},
};
use crate::{
    Bytes, Embedder, FormatError, Place, Segment,
    container::{self, Container, Name},
    embedding::vectors::{inverse_length, kept, kept_bytes},
};

/// The version of the format.
const VERSION: u32 = 1;
const RULES: Name = *b"rules   ";
const KEYS: Name = *b"keys    ";
const VECTORS: Name = *b"vectors ";
const LENGTHS: Name = *b"inverses";

/// What names of files here begin with.
pub(super) const MEANING: &str = "meaning-";
const PART: &str = "meaning-part-";
const LOCK: &str = "filling";
/// Hexadecimal digits of a model in names.
const MODEL_DIGITS: usize = 16;

/// Which text a vector is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MeaningKey([u8; 16]);

impl MeaningKey {
    /// Of a text in several parts. Where one ends and the next begins counts.
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

    /// Whether there is no vector.
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Vectors and the texts that they are of.
#[derive(Clone, Debug)]
struct Meaning {
    container: Container,
    keys: Bytes,
    vectors: Bytes,
    inverse_lengths: Bytes,
}

impl Meaning {
    /// Opens a file. Its vectors were not compared with their checksums then.
    fn open(file: &Bytes, rules: &str, dimensions: usize) -> Result<Self, FormatError> {
        let mut container = Container::open(file, VERSION)?;
        if container.checked_part(&RULES)?.as_ref() != rules.as_bytes() {
            return Err(FormatError::OtherModel);
        }
        let meaning = Self {
            keys: container.checked_part(&KEYS)?,
            vectors: container.part(&VECTORS)?,
            inverse_lengths: container.part(&LENGTHS)?,
            container,
        };
        let count = meaning.keys().len();
        let fits = meaning.keys.as_ref().len() == count * 16
            && meaning.vectors.as_ref().len() == count * kept_bytes(dimensions)
            && meaning.inverse_lengths.as_ref().len() == count * 4;
        fits.then_some(meaning).ok_or(FormatError::Damaged)
    }

    fn keys(&self) -> &[[u8; 16]] {
        self.keys.as_ref().as_chunks().0
    }

    /// Whether it has vectors for all of these chunks, and for no more chunks than there are.
    fn covers(&self, chunks: usize, mut wanted: impl Iterator<Item = usize>) -> bool {
        let keys = self.keys();
        let has = |chunk: usize| {
            keys.get(chunk)
                .is_some_and(|key| !MeaningKey(*key).is_none())
        };
        keys.len() == chunks && wanted.all(has)
    }
}

/// The bytes of a file.
fn encoded<'v>(rules: &str, rows: impl Iterator<Item = (MeaningKey, &'v [u8])>) -> Vec<u8> {
    let (mut keys, mut vectors, mut inverse_lengths) = (Vec::new(), Vec::new(), Vec::new());
    for (key, vector) in rows {
        keys.extend_from_slice(&key.0);
        vectors.extend_from_slice(vector);
        inverse_lengths.extend_from_slice(&inverse_length(vector).to_le_bytes());
    }
    container::write(
        VERSION,
        &[
            (RULES, rules.as_bytes()),
            (KEYS, &keys),
            (VECTORS, &vectors),
            (LENGTHS, &inverse_lengths),
        ],
    )
}

/// Vectors of one model, by the texts that they are of.
#[derive(Debug)]
pub struct KnownVectors {
    dimensions: usize,
    files: Vec<Meaning>,
    /// The file and the number in it; those that were added are behind all files.
    places: HashMap<MeaningKey, (usize, usize)>,
    added: Vec<MeaningKey>,
    /// As they are kept.
    added_vectors: Vec<u8>,
}

impl KnownVectors {
    /// None yet, of a model.
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
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many were added.
    #[must_use]
    pub fn added(&self) -> usize {
        self.added.len()
    }

    /// Whether the vector of a text is there.
    #[must_use]
    pub fn has(&self, key: MeaningKey) -> bool {
        self.places.contains_key(&key)
    }

    /// Adds the vector of a text, or `None` when the text says nothing to the model.
    pub fn add(&mut self, key: MeaningKey, vector: Option<&[i8]>) {
        if key.is_none() || self.has(key) {
            return;
        }
        let silent = vec![0; self.dimensions];
        let vector = vector.filter(|vector| vector.len() == self.dimensions);
        self.places
            .insert(key, (self.files.len(), self.added.len()));
        self.added.push(key);
        self.added_vectors
            .extend_from_slice(&kept(vector.unwrap_or(&silent)));
    }

    /// Takes in what a file has. Must come before anything is added.
    fn take(&mut self, meaning: Meaning) {
        let file = self.files.len();
        for (number, key) in meaning.keys().iter().enumerate() {
            let key = MeaningKey(*key);
            if !key.is_none() {
                self.places.entry(key).or_insert((file, number));
            }
        }
        self.files.push(meaning);
    }

    /// A vector as it is kept.
    fn get(&self, key: MeaningKey) -> Option<&[u8]> {
        let (file, number) = *self.places.get(&key)?;
        let vectors = match self.files.get(file) {
            Some(meaning) => meaning.vectors.as_ref(),
            None => &self.added_vectors,
        };
        let bytes = kept_bytes(self.dimensions);
        vectors.get(number * bytes..(number + 1) * bytes)
    }

    /// The vectors of chunks with these texts; one that is not known, or whose text is not given, has none.
    fn rows<'v>(
        &'v self,
        keys: &'v [Option<MeaningKey>],
        silent: &'v [u8],
    ) -> impl Iterator<Item = (MeaningKey, &'v [u8])> {
        keys.iter().map(|key| {
            let known = key.and_then(|key| Some((key, self.get(key)?)));
            known.unwrap_or((MeaningKey::default(), silent))
        })
    }

    fn silent(&self) -> Vec<u8> {
        kept(&vec![0; self.dimensions])
    }

    /// A segment with these vectors in place of its own: those of the texts that its chunks have, none where that is not
    /// given. `None` when not all of them are known.
    #[must_use]
    pub fn in_place(&self, segment: &Segment, keys: &[Option<MeaningKey>]) -> Option<Segment> {
        if !keys.iter().flatten().all(|key| self.has(*key)) {
            return None;
        }
        let (mut vectors, mut inverse_lengths) = (Vec::new(), Vec::new());
        for (_, vector) in self.rows(keys, &self.silent()) {
            vectors.extend_from_slice(vector);
            inverse_lengths.extend_from_slice(&inverse_length(vector).to_le_bytes());
        }
        (keys.len() == segment.chunks())
            .then(|| segment.with_vectors(Bytes::new(vectors), Bytes::new(inverse_lengths)))
    }
}

/// The one who may fill the second tier of an index, with one model.
#[derive(Debug)]
pub struct Filler<'s> {
    store: &'s Store,
    model: Model,
    _lock: Lock,
}

/// What files depend on of a model.
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

    /// The name of the file for a segment.
    fn file_of(&self, segment: &str) -> String {
        let digits = segment.strip_prefix(super::SEGMENT).unwrap_or(segment);
        format!("{MEANING}{digits}-{}", self.digits())
    }

    /// Everything besides the texts that the contents of a file depend on.
    fn rules(&self, segment: &str) -> String {
        format!("model {}\nsegment {segment}\n", self.fingerprint)
    }

    /// The same, of a part.
    fn part_rules(&self) -> String {
        format!("model {}\npart\n", self.fingerprint)
    }

    /// The rules that a file with this name was made by, if it is one of this model.
    fn rules_of(&self, name: &str) -> Option<String> {
        let digits = self.digits();
        if let Some(rest) = name.strip_prefix(PART) {
            return rest.starts_with(&digits).then(|| self.part_rules());
        }
        let rest = name.strip_prefix(MEANING)?;
        let segment = rest.strip_suffix(&digits)?.strip_suffix('-')?;
        Some(self.rules(&format!("{}{segment}", super::SEGMENT)))
    }

    /// What is in all files of this model that are whole. What is damaged or foreign is as good as missing.
    fn known(&self, folder: &Folder) -> io::Result<KnownVectors> {
        let mut known = KnownVectors::of(self.dimensions);
        for name in folder.names()? {
            let file = self
                .rules_of(&name)
                .and_then(|rules| Some((rules, folder.map(&name).ok()?)));
            let Some((rules, file)) = file else {
                continue;
            };
            if let Ok(meaning) = Meaning::open(&Bytes::kept(file), &rules, self.dimensions)
                && meaning.container.verify().is_ok()
            {
                known.take(meaning);
            }
        }
        Ok(known)
    }

    fn open(&self, folder: &Folder, segment: &str) -> Result<Meaning, StoreError> {
        let file = Bytes::kept(folder.map(&self.file_of(segment))?);
        Ok(Meaning::open(&file, &self.rules(segment), self.dimensions)?)
    }
}

impl Store {
    /// The segments of a manifest, opened already, with the vectors of `model` in place of their own. `None` unless there
    /// are files for all of them, with vectors for every chunk that counts. The vectors were not compared with their
    /// checksums then: see [`Self::verify_meaning`].
    #[must_use]
    pub fn meaning(
        &self,
        names: &[String],
        segments: &[Segment],
        places: &[Place],
        model: &dyn Embedder,
    ) -> Option<Vec<Segment>> {
        let model = Model::of(model);
        let there = self.folder.names().ok()?;
        // Most often the last ones are missing, and nothing need be opened to see that.
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
                is_whole.then(|| segment.with_vectors(meaning.vectors, meaning.inverse_lengths))
            })
            .collect()
    }

    /// Whether the files that [`Self::meaning`] opens have their checksums.
    #[must_use]
    pub fn verify_meaning(&self, names: &[String], model: &dyn Embedder) -> bool {
        let model = Model::of(model);
        let files: Vec<String> = names.iter().map(|name| model.file_of(name)).collect();
        self.verify(&files).is_ok()
    }

    /// All vectors of `model` that are there and whole, whatever segment they were made for.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn known_vectors(&self, model: &dyn Embedder) -> io::Result<KnownVectors> {
        Model::of(model).known(&self.folder)
    }

    /// Takes the right to fill the second tier with the vectors of `model`. It is another right than [`Self::writer`]: it
    /// takes long, and the index can be brought up to date meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process has it.
    pub fn filler(&self, model: &dyn Embedder) -> Result<Filler<'_>, StoreError> {
        let lock = self.folder.lock(LOCK)?.ok_or(StoreError::Busy)?;
        Ok(Filler {
            store: self,
            model: Model::of(model),
            _lock: lock,
        })
    }
}

/// For each segment, the chunks of the documents at these places, in no particular order.
pub(super) fn living(segments: &[Segment], places: &[Place]) -> Vec<Vec<usize>> {
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

impl Filler<'_> {
    /// See [`Store::known_vectors`].
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn known(&self) -> io::Result<KnownVectors> {
        self.model.known(&self.store.folder)
    }

    /// Whether the file of a segment is there and whole, with vectors for these chunks.
    #[must_use]
    pub fn has(&self, name: &str, segment: &Segment, living: &[usize]) -> bool {
        let Ok(meaning) = self.model.open(&self.store.folder, name) else {
            return false;
        };
        meaning.covers(segment.chunks(), living.iter().copied())
            && meaning.container.verify().is_ok()
    }

    /// Keeps what was added to `known` from the number `since` on, until the files of segments have it. The name of the
    /// part is returned.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep(&self, known: &KnownVectors, since: usize) -> io::Result<String> {
        let keys: Vec<Option<MeaningKey>> =
            known.added.iter().skip(since).copied().map(Some).collect();
        let file = encoded(&self.model.part_rules(), known.rows(&keys, &known.silent()));
        let mut digits = Digest::of(&file).to_string();
        digits.truncate(32);
        let name = format!("{PART}{}-{digits}", self.model.digits());
        self.store.folder.write(&name, &file)?;
        self.store.folder.flush()?;
        Ok(name)
    }

    /// Writes the file of a segment whose chunks have these texts; `None` for chunks that do not count. Parts that it makes
    /// superfluous are removed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn finish(
        &self,
        segment: &str,
        keys: &[Option<MeaningKey>],
        known: &KnownVectors,
        parts: &[String],
    ) -> io::Result<()> {
        let folder = &self.store.folder;
        let file = encoded(
            &self.model.rules(segment),
            known.rows(keys, &known.silent()),
        );
        folder.write(&self.model.file_of(segment), &file)?;
        folder.flush()?;
        for part in parts {
            self.remove(part);
        }
        Ok(())
    }

    /// Removes everything of the second tier that these segments do not need with this model.
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

    /// What cannot be removed now is so next time.
    fn remove(&self, name: &str) {
        self.store.folder.remove(name).unwrap_or_default();
    }
}
