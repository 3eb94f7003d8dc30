//! A model that reads a passage as a whole: a small BERT. `model/reference_transformer.py` defines its vectors.
//!
//! The products of a linear map are added up as integers. The rest is 32-bit floating point in a fixed order, with fused
//! multiply-add on every machine: where the processor lacks it, it is emulated. Tokens are rows that interact only within
//! their own passage. So a vector depends on the passage alone, not on the machine, the number of threads, or what was
//! embedded in the same batch.
//!
//! The model reads 128 tokens at a time. A longer passage is read in windows, each below its headings, and its vector is a
//! mean in which later windows count less.

mod attention;
mod functions;
mod instructions;
mod integer;
mod layers;
mod maps;
mod panels;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use sectile_markdown::Digest;

use self::layers::{Encoder, Scratch};
use super::{
    Embedder, EmbeddingReader, MeaningWeight, ModelError, Vector,
    file::{self, Head, ModelKind},
    pieces::PieceVocabulary,
    scripts::{is_readable, readable_share},
    vectors::WHOLE,
};
use crate::analysis::fold;

/// The name of this arithmetic. It changes whenever a vector may.
const ARITHMETIC: &str = "sectile-encoder-3";
/// The most tokens of a window, including the start and end tokens.
const MOST_TOKENS: usize = 128;
/// The most windows of a passage. With 8, nothing is found better, and long passages take twice the time.
const MOST_WINDOWS: usize = 4;
/// The most tokens of the headings in front of each window; the innermost headings say most.
const MOST_ABOVE: usize = 40;
/// The most tokens encoded in one batch, whose passages share the cost of unpacking the weights.
const TOKENS_TOGETHER: usize = 256;

/// The share of the letters of a query, in millionths, that have to be in words the model knows for its vector to count in
/// full, and what is left of its weight if none are. English queries have 0.7 to 0.9, French ones 0.4, German ones 0.2. Of
/// 0.5 to 0.8 and of 0.3 to 0.8, these were best on eight sets (`docs/decisions/0038`).
const ENOUGH_KNOWN: u64 = 700_000;
const LEAST_TRUST: u64 = 800_000;

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

    fn vocabulary(&self) -> &PieceVocabulary {
        self.vocabulary.get_or_init(|| {
            PieceVocabulary::new(self.words, self.head.pieces).with_unknown(UNKNOWN)
        })
    }

    /// Returns the share of the letters of a text that are in words the model knows as a whole, in millionths.
    fn known_share(&self, text: &str) -> u64 {
        let (mut known, mut all) = (0, 0);
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        for word in words.map(fold).filter(|word| !word.is_empty()) {
            let letters = word.chars().count() as u64;
            all += letters;
            known += letters * u64::from(self.vocabulary().has_word(&word));
        }
        match all {
            0 => WHOLE,
            all => known * WHOLE / all,
        }
    }

    /// Returns the tokens of the windows of a passage given in parts, the last of which is its text. There is at least one,
    /// unless the model cannot read the passage.
    fn windows(&self, parts: &[&str]) -> Vec<Vec<u32>> {
        if !is_readable(parts) {
            return Vec::new();
        }
        let vocabulary = self.vocabulary();
        let (text, headings) = parts.split_last().unwrap_or((&"", &[]));
        let mut above = Vec::new();
        for heading in headings {
            let mut tokens = Vec::new();
            vocabulary.tokens(heading, &mut tokens, MOST_TOKENS * MOST_WINDOWS);
            above.extend(tokens);
        }
        above.drain(..above.len().saturating_sub(MOST_ABOVE));
        let room = MOST_TOKENS - 2 - above.len();
        let mut tokens = Vec::new();
        vocabulary.tokens(text, &mut tokens, room * MOST_WINDOWS);
        // A passage without text has the headings.
        let first = [&tokens[..tokens.len().min(room)]];
        let others = tokens.chunks(room).skip(1).take(MOST_WINDOWS - 1);
        let windows = first.into_iter().chain(others);
        windows
            .map(|window| [&[START], above.as_slice(), window, &[END]].concat())
            .collect()
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

    fn weight(&self) -> MeaningWeight {
        self.head.weight
    }

    /// It is also lower where the query has few words that the model knows, as in languages other than English.
    fn weight_of(&self, query: &str) -> MeaningWeight {
        let known = self.known_share(query).min(ENOUGH_KNOWN);
        let share = LEAST_TRUST + (WHOLE - LEAST_TRUST) * known / ENOUGH_KNOWN;
        self.weight().times(readable_share(&[query])).times(share)
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
    /// Returns the directions of tokenized windows, one after another.
    fn encode(&mut self, windows: &[Vec<u32>]) -> Vec<f32> {
        let mut directions = Vec::with_capacity(windows.len() * self.model.head.dimensions);
        let mut rest = windows;
        while !rest.is_empty() {
            let mut sum = 0;
            let fits = rest.iter().take_while(|tokens| {
                sum += tokens.len();
                sum <= TOKENS_TOGETHER
            });
            let (some, behind) = rest.split_at(fits.count().max(1));
            directions.extend(self.model.encoder.encode(some, &mut self.scratch));
            rest = behind;
        }
        directions
    }
}

impl EmbeddingReader for TextReader<'_> {
    fn model(&self) -> &dyn Embedder {
        self.model
    }

    fn embed(&mut self, parts: &[&str]) -> Option<Vector> {
        self.embed_all(&[parts.to_vec()]).pop().flatten()
    }

    fn embed_all(&mut self, texts: &[Vec<&str>]) -> Vec<Option<Vector>> {
        let windows_of_texts = texts.iter().map(|text| self.model.windows(text));
        let windows_of_texts: Vec<Vec<Vec<u32>>> = windows_of_texts.collect();
        let directions = self.encode(&windows_of_texts.concat());
        let mut directions = directions.chunks_exact(self.model.head.dimensions);
        let vectors = windows_of_texts.iter().map(|windows| {
            let directions = directions.by_ref().take(windows.len());
            rounded(&mean(windows.iter().map(Vec::len).zip(directions)))
        });
        vectors.collect()
    }
}

/// Returns the mean of the directions of windows, given with the number of their tokens. The first counts most, because it
/// says what a passage is about, and a short one at the end counts less than a full one. Of the weights that were tried, on
/// nine sets of questions, this and its neighbours were best; `model/README.md` has the figures.
fn mean<'d>(mut windows: impl ExactSizeIterator<Item = (usize, &'d [f32])>) -> Vec<f32> {
    if windows.len() < 2 {
        return windows
            .next()
            .map_or_else(Vec::new, |(_, only)| only.to_vec());
    }
    let mut sum: Vec<f32> = Vec::new();
    for (number, (tokens, direction)) in windows.enumerate() {
        let length = direction
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt();
        let weight = (tokens as f32).sqrt() / (number + 1) as f32 / length;
        sum.resize(direction.len(), 0.0);
        for (sum, value) in sum.iter_mut().zip(direction) {
            *sum += value * weight;
        }
    }
    sum
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
