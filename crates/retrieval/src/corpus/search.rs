//! Words and meaning together: which chunks answer a question best.
//!
//! Each chunk has what its words come to, as a part of the most that any chunk's words come to, and how near its meaning is
//! to that of the question. A weighted sum of the two decides; among equal ones, the order of the chunks.

use std::cmp::Reverse;

use super::Corpus;
use crate::{
    embedding::{
        EmbeddingReader, Vector,
        vectors::{COSINE_DIGITS, cosines},
    },
    lexical::{DEAD, Match, Query, Remarks},
};

/// The name of the rules here. It changes whenever an answer may.
pub const FUSION: &str = "sectile-fusion-1";

/// A whole, in the millionths that scores are told in.
const WHOLE: u64 = 1_000_000;
/// How much meaning counts, in millionths; words count the rest.
const MEANING: u64 = 400_000;
/// A chunk without any of the words is a match when its meaning is at least so near, in millionths.
const NEAR_ENOUGH: u64 = 350_000;
/// Words that stand together are looked for in so many of the best chunks.
const MOST_COMPARED: usize = 64;

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best chunks, best first.
    pub hits: Vec<ChunkHit>,
    /// How many chunks match at all.
    pub total: usize,
    /// Whether meaning counted: the question says something to the model.
    pub has_meaning: bool,
    /// What there is to say of the words.
    pub remarks: Remarks,
}

/// A chunk that was found. Scores are in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkHit {
    /// Its number.
    pub chunk: usize,
    /// What its words come to, as a part of the best.
    pub lexical: u64,
    /// How near its meaning is.
    pub semantic: u64,
    /// Both together.
    pub fused: u64,
    /// What each word counts in it.
    pub matches: Vec<Match>,
}

impl Corpus {
    /// The `most` best chunks for a question. `reader` embeds the question's text; without it only words count.
    #[must_use]
    pub fn search(
        &self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        most: usize,
    ) -> Found {
        let ranked = self.words.rank(query, |_| 0);
        let words = ranked.scores();
        let vector = reader.and_then(|reader| reader.embed(&[text]));
        let meaning = vector.map(|vector| self.meanings(&vector));
        let is_match = |chunk: usize| {
            words[chunk] > 0
                || meaning
                    .as_ref()
                    .is_some_and(|meaning| u64::from(meaning[chunk]) >= NEAR_ENOUGH)
        };
        let best_words = words.iter().copied().max().unwrap_or_default().max(1);
        // One over the best, with 32 binary digits behind the point: a division for each chunk would cost more.
        let one_over = |best: u64| (WHOLE << 32).div_ceil(best);
        let share = |chunk: usize, words: u64, factor: u64| {
            let lexical = (words * factor) >> 32;
            let Some(meaning) = &meaning else {
                return (lexical, 0, lexical);
            };
            let semantic = u64::from(meaning[chunk]);
            let fused = (lexical * (WHOLE - MEANING) + semantic * MEANING) / WHOLE;
            (lexical, semantic, fused)
        };
        let factor = one_over(best_words);
        let mut best = Best::new(MOST_COMPARED.max(most));
        let mut total = 0;
        for chunk in (0..self.len()).filter(|chunk| is_match(*chunk)) {
            total += 1;
            best.offer(share(chunk, words[chunk], factor).2, chunk);
        }
        let chunks = best.finish();
        // Words that stand together count besides, in the best chunks.
        let words: Vec<u64> = chunks
            .iter()
            .map(|chunk| words[*chunk] + ranked.together(*chunk))
            .collect();
        let best_words = words.iter().copied().max().unwrap_or_default().max(1);
        let factor = one_over(best_words);
        let mut hits: Vec<ChunkHit> = chunks
            .iter()
            .zip(words)
            .map(|(chunk, words)| {
                let (lexical, semantic, fused) = share(*chunk, words, factor);
                ChunkHit {
                    chunk: *chunk,
                    lexical,
                    semantic,
                    fused,
                    matches: Vec::new(),
                }
            })
            .collect();
        hits.sort_by_key(|hit| (Reverse(hit.fused), hit.chunk));
        hits.truncate(most);
        for hit in &mut hits {
            hit.matches = ranked.matches(hit.chunk);
        }
        Found {
            hits,
            total,
            has_meaning: meaning.is_some(),
            remarks: ranked.remarks,
        }
    }

    /// How near the meaning of each chunk is, in millionths; nothing for those that point elsewhere.
    fn meanings(&self, vector: &Vector) -> Vec<u32> {
        let mut meanings = vec![0; self.len()];
        for file in &self.files {
            let (vectors, inverse_lengths) = file.segment.vectors();
            cosines(vector, vectors, inverse_lengths, |local, cosine| {
                let number = file.numbers.get(local).copied().unwrap_or(DEAD);
                if let Some(meaning) = meanings.get_mut(number as usize) {
                    let cosine = u64::try_from(cosine).unwrap_or_default();
                    *meaning = ((cosine * WHOLE) >> COSINE_DIGITS) as u32;
                }
            });
        }
        meanings
    }
}

/// The best of many, by score and then by order.
struct Best {
    most: usize,
    /// More than are wanted, so that the worst need not be found each time.
    kept: Vec<(Reverse<u64>, usize)>,
    /// What comes behind this is not among the best.
    worst: Option<(Reverse<u64>, usize)>,
}

impl Best {
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::with_capacity(most * 4),
            worst: None,
        }
    }

    fn offer(&mut self, score: u64, chunk: usize) {
        let one = (Reverse(score), chunk);
        if self.worst.is_some_and(|worst| one > worst) {
            return;
        }
        self.kept.push(one);
        if self.kept.len() == self.most * 4 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.most {
            let (_, worst, _) = self.kept.select_nth_unstable(self.most - 1);
            self.worst = Some(*worst);
            self.kept.truncate(self.most);
        }
    }

    /// The best, best first.
    fn finish(mut self) -> Vec<usize> {
        self.cut();
        self.kept.sort_unstable();
        self.kept.into_iter().map(|(_, chunk)| chunk).collect()
    }
}
