//! Words and meaning together: which chunks answer a question best.
//!
//! Each chunk has what its words come to, as a part of the most that any chunk's words come to, and how near its meaning is
//! to that of the question. A weighted sum of the two decides; among equal ones, the order of the chunks.

use std::cmp::Reverse;

use super::Corpus;
use crate::{
    embedding::{
        EmbeddingReader,
        vectors::{COSINE_DIGITS, cosines},
    },
    lexical::{DEAD, Match, Query, Ranked, Remarks},
};

/// The name of the rules here. It changes whenever an answer may.
pub const FUSION: &str = "sectile-fusion-2";

/// A whole, in the millionths that scores are told in.
const WHOLE: u64 = 1_000_000;
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
        let meanings = reader.and_then(|reader| {
            let vector = reader.embed(&[text])?;
            Some((self.meanings(&vector), reader.model().weight()))
        });
        fused(ranked, meanings, most)
    }

    /// How near the meaning of each chunk is, in millionths; nothing for those that point elsewhere.
    fn meanings(&self, vector: &[i8]) -> Vec<u32> {
        let mut meanings = vec![0; self.len()];
        for file in &self.files {
            let (vectors, inverse_lengths) = file.segment.vectors();
            cosines(vector, vectors, inverse_lengths, |local, cosine| {
                let number = file.numbers.get(local).copied().unwrap_or(DEAD);
                if let Some(meaning) = meanings.get_mut(number as usize) {
                    *meaning = nearness(cosine);
                }
            });
        }
        meanings
    }
}

/// How near a meaning is with this cosine, in millionths; nothing for one that points elsewhere.
#[inline]
pub(crate) fn nearness(cosine: i32) -> u32 {
    let cosine = u64::try_from(cosine).unwrap_or_default();
    ((cosine * WHOLE) >> COSINE_DIGITS) as u32
}

/// The `most` best of chunks whose words are ranked, and whose meanings are so near and count so much, both in millionths;
/// without these only words count.
pub(crate) fn fused<F: Fn(usize) -> u64>(
    ranked: Ranked<'_, F>,
    meanings: Option<(Vec<u32>, u64)>,
    most: usize,
) -> Found {
    let words = ranked.scores();
    let has_meaning = meanings.is_some();
    let (meanings, weight) = meanings.unwrap_or_else(|| (vec![0; words.len()], 0));
    let (meanings, weights) = (&meanings, Weights::new(weight));
    let best_words = largest(words).max(1);
    // One over the best, with 32 binary digits behind the point: a division for each chunk would cost more.
    let one_over = |best: u64| (WHOLE << 32).div_ceil(best);
    let mut best = Best::new(MOST_COMPARED.max(most));
    let total = best.choose(words, meanings, weights, one_over(best_words));
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
            let lexical = (words * factor) >> 32;
            let semantic = u64::from(meanings[*chunk]);
            ChunkHit {
                chunk: *chunk,
                lexical,
                semantic,
                fused: weights.fused(lexical, semantic) / WHOLE,
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
        has_meaning,
        remarks: ranked.remarks,
    }
}

/// How much words and meaning count, in millionths.
#[derive(Clone, Copy)]
struct Weights {
    words: u64,
    meaning: u64,
}

impl Weights {
    /// `meaning` counts so much, and words the rest.
    fn new(meaning: u64) -> Self {
        let meaning = meaning.min(WHOLE);
        Self {
            words: WHOLE - meaning,
            meaning,
        }
    }

    /// What both come to, [`WHOLE`] times as fine as what counts.
    #[inline]
    fn fused(self, lexical: u64, semantic: u64) -> u64 {
        lexical * self.words + semantic * self.meaning
    }
}

fn largest(numbers: &[u64]) -> u64 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || numbers.iter().copied().fold(0, u64::max),
    )
}

/// The best of many, by score and then by order. They come in their order, with scores that are [`WHOLE`] times as fine as
/// what counts.
struct Best {
    most: usize,
    /// More than are wanted, so that the worst need not be found each time.
    kept: Vec<(Reverse<u64>, usize)>,
    /// The least score of one that may still be among the best.
    least: u64,
}

impl Best {
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::with_capacity(most * 4),
            least: 0,
        }
    }

    /// Looks at all chunks. How many match is returned. `factor` is one over what words come to at best.
    #[inline(never)]
    fn choose(&mut self, words: &[u64], meanings: &[u32], weights: Weights, factor: u64) -> usize {
        let (mut total, mut least) = (0, self.least);
        for (chunk, (words, meaning)) in words.iter().zip(meanings).enumerate() {
            let semantic = u64::from(*meaning);
            // Nobody can guess which chunks match, so there is no branch before it is known whether they are good.
            let is_match = (*words > 0) | (semantic >= NEAR_ENOUGH);
            total += usize::from(is_match);
            let score = weights.fused((words * factor) >> 32, semantic);
            if is_match & (score >= least) {
                self.offer(score, chunk);
                least = self.least;
            }
        }
        total
    }

    fn offer(&mut self, score: u64, chunk: usize) {
        self.kept.push((Reverse(score / WHOLE), chunk));
        if self.kept.len() == self.most * 4 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.most {
            let (_, worst, _) = self.kept.select_nth_unstable(self.most - 1);
            // One that comes later and is only as good is behind it.
            self.least = (worst.0.0 + 1) * WHOLE;
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
