//! Chunks as a database keeps them, and the search among those that it offers.

use sectile_markdown::Digest;

use super::{
    Chunk,
    search::{Found, fused, nearness},
    segment::{embedded, rules},
};
use crate::{
    embedding::{
        Embedder, EmbeddingReader, Vector,
        vectors::{coarse, cosine, kept, one_over_root, square},
    },
    lexical::{Candidates, Passage, PassageReader, PassageWords, Query, Statistics},
};

/// A chunk with all that a search needs to know of it.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it is, and what its bytes were.
    pub chunk: Chunk,
    /// The title of its document and the headings above it, outermost first.
    pub path: Vec<String>,
    /// What its words come to.
    pub words: PassageWords,
    /// What it is about: whole numbers from -7 to 7, all zero when it says nothing to the model.
    pub vector: Vector,
}

/// Makes records, one after the other. Words that it met it remembers.
pub struct Recorder<'e> {
    embedding: Box<dyn EmbeddingReader + 'e>,
    words: PassageReader,
}

impl<'e> Recorder<'e> {
    /// With a model.
    #[must_use]
    pub fn new(embedder: &'e dyn Embedder) -> Self {
        Self {
            embedding: embedder.reader(),
            words: PassageReader::default(),
        }
    }

    /// The record of a chunk that was cut from a document.
    #[must_use]
    pub fn record(&mut self, chunk: &Chunk, passage: &Passage<'_>) -> Record {
        let vector = embedded(&mut *self.embedding, passage);
        let path = passage.trail.iter().chain([&passage.heading]);
        let path = path.filter(|step| !step.is_empty());
        Record {
            chunk: *chunk,
            path: path.map(|step| (*step).to_owned()).collect(),
            words: self.words.read(passage),
            vector: coarse(&kept(&vector)),
        }
    }
}

impl Record {
    /// The square of the length of its vector.
    #[must_use]
    pub fn square(&self) -> u64 {
        square(&self.vector)
    }
}

/// The rules that records are made by. Those of other rules cannot be searched together.
#[must_use]
pub fn record_rules(embedder: &dyn Embedder) -> String {
    let fingerprint: Digest = embedder.fingerprint();
    rules(Some(&fingerprint))
}

/// A chunk that may answer a question.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// How many words its heading, its trail and its body have.
    pub lengths: [u32; 3],
    /// [`PassageWords::encoded`].
    pub encoded: Vec<u8>,
    /// The product of its vector with the question's.
    pub product: i32,
    /// [`Record::square`].
    pub square: u64,
}

/// The `most` best of `candidates`, which are in the order of equal hits; `meaning` is the
/// question's vector and how much meaning counts, in millionths; without it only words do.
/// Where the candidates are all chunks that there are, the answer is that of a [`super::Corpus`] of these. A hit's number is
/// its place among the candidates.
#[must_use]
pub fn search_candidates(
    candidates: &[Candidate],
    statistics: &Statistics,
    query: &Query,
    meaning: Option<(&[i8], u64)>,
    most: usize,
) -> Found {
    let passages = candidates.iter();
    let passages = passages.map(|one| (&one.lengths, one.encoded.as_slice()));
    let words = Candidates::new(statistics, passages);
    let meanings = meaning.map(|(vector, weight)| {
        let inverse = one_over_root(square(vector));
        let near =
            |one: &Candidate| nearness(cosine(one.product, one_over_root(one.square), inverse));
        (candidates.iter().map(near).collect(), weight)
    });
    fused(words.rank(query, |_| 0), meanings, most)
}
