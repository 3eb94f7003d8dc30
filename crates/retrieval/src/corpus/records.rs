//! Chunks as a database stores them, and the search among the candidates that it returns.

use sectile_markdown::Digest;

use super::{
    Chunk,
    search::{RankedChunks, SearchResults, fused},
    segment::{embedded, rules},
};
use crate::{
    embedding::{
        Embedder, EmbeddingReader, MeaningWeight, Vector,
        vectors::{coarse, kept, nearness, one_over_root, square},
    },
    lexical::{Candidates, Passage, PassageReader, PassageWords, Query, Statistics},
    store::VectorKey,
};

/// A chunk with everything that a search needs.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its location.
    pub chunk: Chunk,
    /// The whole digest of its bytes.
    pub digest: Digest,
    /// The title of its document and the headings above it, outermost first.
    pub path: Vec<String>,
    /// Its encoded words.
    pub words: PassageWords,
    /// Its vector: integers from -7 to 7, all zero if the model finds no meaning in it.
    pub vector: Vector,
    /// The key of its vectors, whatever the model.
    pub key: VectorKey,
}

/// Creates records, one after the other. Caches the words that it has met.
pub struct RecordBuilder<'e> {
    embedding: Box<dyn EmbeddingReader + 'e>,
    words: PassageReader,
}

impl<'e> RecordBuilder<'e> {
    /// Creates a recorder for a model.
    #[must_use]
    pub fn new(embedder: &'e dyn Embedder) -> Self {
        Self {
            embedding: embedder.reader(),
            words: PassageReader::default(),
        }
    }

    /// Creates the record of a chunk that was cut from a document, and whose bytes have this digest.
    #[must_use]
    pub fn record(&mut self, chunk: &Chunk, digest: Digest, passage: &Passage<'_>) -> Record {
        let vector = embedded(&mut *self.embedding, passage);
        let path = passage.trail.iter().chain([&passage.heading]);
        let path = path.filter(|step| !step.is_empty());
        Record {
            chunk: *chunk,
            digest,
            path: path.map(|step| (*step).to_owned()).collect(),
            words: self.words.read(passage),
            vector: coarse(&kept(&vector)),
            key: VectorKey::of(&passage.parts()),
        }
    }
}

impl Record {
    /// Returns the squared length of its vector.
    #[must_use]
    pub fn square(&self) -> u64 {
        square(&self.vector)
    }
}

/// The vector of a passage as a database stores it.
#[derive(Clone, Debug)]
pub struct VectorRecord {
    /// The key of the passage.
    pub key: VectorKey,
    /// Integers from -7 to 7, all zero if the model finds no meaning in the passage.
    pub vector: Vector,
    /// The squared length of the vector.
    pub square: u64,
}

impl VectorRecord {
    /// Creates the record of a vector of `model`, or of `None` if the model finds no meaning in the passage.
    #[must_use]
    pub fn new(model: &dyn Embedder, key: VectorKey, vector: Option<&[i8]>) -> Self {
        let vector = vector.filter(|vector| vector.len() == model.dimensions());
        let vector = match vector {
            Some(vector) => coarse(&kept(vector)),
            None => vec![0; model.dimensions()],
        };
        let square = square(&vector);
        Self {
            key,
            vector,
            square,
        }
    }
}

/// Returns the name of the rules that records are made by. Records made by different rules cannot be searched together.
#[must_use]
pub fn record_rules(embedder: &dyn Embedder) -> String {
    let fingerprint: Digest = embedder.fingerprint();
    rules(Some(&fingerprint))
}

/// A chunk that may answer a query.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Number of words in its heading, trail and body.
    pub lengths: [u32; 3],
    /// [`PassageWords::encoded`].
    pub encoded: Vec<u8>,
    /// The dot product of its vector and the query's.
    pub product: i32,
    /// [`Record::square`].
    pub square: u64,
}

/// Returns the `most` best of `candidates`, whose order breaks ties. `meaning` is the query's vector and the weight of
/// meaning; without it only words count. If the candidates are all the chunks there are, the answer is
/// that of a [`super::Corpus`] of them. A hit's number is its index among the candidates.
#[must_use]
pub fn search_candidates(
    candidates: &[Candidate],
    statistics: &Statistics,
    query: &Query,
    meaning: Option<(&[i8], MeaningWeight)>,
    most: usize,
) -> SearchResults {
    let passages = candidates.iter();
    let passages = passages.map(|one| (&one.lengths, one.encoded.as_slice()));
    let words = Candidates::new(statistics, passages);
    let meanings = meaning.map(|(vector, weight)| {
        let inverse = one_over_root(square(vector));
        let near = |one: &Candidate| nearness(one.product, one_over_root(one.square), inverse);
        (candidates.iter().map(near).collect(), weight)
    });
    let all = 0..candidates.len();
    let ranked = RankedChunks {
        words: words.rank(query, |_| 0),
        meanings,
        slots: vec![all],
    };
    fused(ranked, most, |chunk| chunk)
}
