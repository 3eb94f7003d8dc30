//! A model that reads a passage as a whole: a small BERT. `model/reference_transformer.py` defines its vectors.
//!
//! All arithmetic is 32-bit floating point in a fixed order, with fused multiply-add on every machine: where the
//! processor lacks it, it is emulated. Tokens are rows that interact only within their own passage. So a vector depends
//! on the passage alone, not on the machine, the number of threads, or what was embedded in the same batch.

mod functions;
mod layers;
mod maps;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use sectile_markdown::Digest;

use self::layers::{Encoder, Scratch};
use super::{
    Embedder, EmbeddingReader, ModelError, Vector,
    file::{self, Head, ModelKind},
    pieces::PieceVocabulary,
};

/// The name of this arithmetic. It changes whenever a vector may.
const ARITHMETIC: &str = "sectile-encoder-1";
/// The most tokens read from a passage, including the start and end tokens.
const MOST_TOKENS: usize = 128;
/// The most tokens encoded in one batch, whose passages share the cost of unpacking the weights.
const TOKENS_TOGETHER: usize = 256;

/// The pieces at the start of the vocabulary.
const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
const UNKNOWN: u32 = 1;
const START: u32 = 2;
const END: u32 = 3;

/// A transformer that borrows its file's bytes.
pub struct TransformerModel {
    name: &'static str,
    file: &'static [u8],
    head: Head,
    words: &'static [u8],
    encoder: Encoder,
    /// Built when first needed.
    vocabulary: OnceLock<PieceVocabulary>,
    fingerprint: OnceLock<Digest>,
}

impl TransformerModel {
    /// Opens the model in `file`.
    ///
    /// # Errors
    /// [`ModelError`] when it is not a transformer.
    pub fn new(name: &'static str, file: &'static [u8]) -> Result<Self, ModelError> {
        let (head, words, parts) = file::open(file, ModelKind::Transformer)?;
        let encoder = Encoder::new(&head, parts)?;
        if head.positions < MOST_TOKENS || !begins_with_special(words) {
            return Err(ModelError::OtherKind);
        }
        Ok(Self {
            name,
            file,
            head,
            words,
            encoder,
            vocabulary: OnceLock::new(),
            fingerprint: OnceLock::new(),
        })
    }

    /// Sets the digest of its file, if known.
    pub(super) fn with_file_digest(mut self, digest: Digest) -> Self {
        self.fingerprint = OnceLock::from(fingerprint(&digest));
        self
    }

    /// Returns the tokens of a passage given in parts.
    fn tokens(&self, parts: &[&str]) -> Vec<u32> {
        let vocabulary = self.vocabulary.get_or_init(|| {
            PieceVocabulary::new(self.words, self.head.pieces).with_unknown(UNKNOWN)
        });
        let mut tokens = vec![START];
        for part in parts {
            vocabulary.tokens(part, &mut tokens, MOST_TOKENS - 1);
        }
        tokens.truncate(MOST_TOKENS - 1);
        tokens.push(END);
        tokens
    }
}

fn fingerprint(file: &Digest) -> Digest {
    Digest::of(format!("{ARITHMETIC}\n{file}").as_bytes())
}

/// Returns whether the first pieces are the special ones, each after its length.
fn begins_with_special(words: &[u8]) -> bool {
    let mut words = words;
    SPECIAL.iter().all(|piece| {
        let rest = words
            .split_first()
            .filter(|(length, _)| usize::from(**length) == piece.len())
            .and_then(|(_, rest)| rest.strip_prefix(piece.as_bytes()));
        words = rest.unwrap_or_default();
        rest.is_some()
    })
}

impl Embedder for TransformerModel {
    fn name(&self) -> &str {
        self.name
    }

    fn fingerprint(&self) -> Digest {
        *self
            .fingerprint
            .get_or_init(|| fingerprint(&Digest::of(self.file)))
    }

    fn dimensions(&self) -> usize {
        self.head.dimensions
    }

    fn weight(&self) -> u64 {
        self.head.weight
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        Box::new(TextReader {
            model: self,
            scratch: Scratch::default(),
        })
    }
}

struct TextReader<'m> {
    model: &'m TransformerModel,
    scratch: Scratch,
}

impl TextReader<'_> {
    /// Returns the vectors of tokenized passages, encoded in one batch.
    fn encode(&mut self, texts: &[Vec<u32>]) -> Vec<Option<Vector>> {
        let directions = self.model.encoder.encode(texts, &mut self.scratch);
        let directions = directions.chunks_exact(self.model.head.dimensions);
        directions.map(rounded).collect()
    }
}

impl EmbeddingReader for TextReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.model
    }

    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        let tokens = self.model.tokens(parts);
        self.encode(&[tokens]).pop().flatten()
    }

    fn embed_all(&mut self, texts: &[Vec<&str>]) -> Vec<Option<Vector>> {
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| self.model.tokens(text)).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let mut sum = 0;
            let fits = rest.iter().take_while(|tokens| {
                sum += tokens.len();
                sum <= TOKENS_TOGETHER
            });
            let (some, behind) = rest.split_at(fits.count().max(1));
            vectors.extend(self.encode(some));
            rest = behind;
        }
        vectors
    }
}

/// Scales a direction to integers, the largest being 127.
fn rounded(direction: &[f32]) -> Option<Vector> {
    let most = direction
        .iter()
        .fold(0.0_f32, |most, value| most.max(value.abs()));
    if most <= 0.0 || !most.is_finite() {
        return None;
    }
    let numbers = direction
        .iter()
        .map(|value| (value * 127.0 / most).round() as i8);
    Some(numbers.collect())
}
