//! Hybrid search: ranks chunks by words and meaning together.
//!
//! Each chunk has a lexical score, as a fraction of the best one, and a cosine similarity to the query. Their weighted
//! sum decides; ties are broken by the order of the chunks.

use std::cmp::Reverse;

use super::Corpus;
use crate::{
    embedding::{
        EmbeddingReader,
        vectors::{COSINE_DIGITS, cosines},
    },
    lexical::{DEAD, Match, Query, RankedPassages, Remarks},
};

/// The name of these ranking rules. It changes whenever an answer may.
pub const FUSION: &str = "sectile-fusion-2";

/// One, in the millionths in which scores are reported.
const WHOLE: u64 = 1_000_000;
/// Minimum similarity, in millionths, for a chunk without any of the words to match: a cosine of 0.35, as
/// `docs/notebook.md` promises. Changing it changes answers, and so the name in [`FUSION`].
const NEAR_ENOUGH: u64 = 350_000;
/// Adjacent query words are looked for in this many of the best chunks.
const MOST_COMPARED: usize = 64;

/// The results of one search.
#[derive(Clone, Debug)]
pub struct SearchResults {
    /// The best chunks, best first.
    pub hits: Vec<ChunkHit>,
    /// Number of chunks that match at all.
    pub total: usize,
    /// Whether meaning counted, that is, whether the model finds meaning in the query.
    pub has_meaning: bool,
    /// Remarks about the words of the query.
    pub remarks: Remarks,
}

/// A chunk found by a search. Scores are in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkHit {
    /// Its number.
    pub chunk: usize,
    /// Its lexical score, as a fraction of the best.
    pub lexical: u64,
    /// Its cosine similarity to the query.
    pub semantic: u64,
    /// Their weighted sum.
    pub fused: u64,
    /// The score of each query item in it.
    pub matches: Vec<Match>,
}

impl Corpus {
    /// Returns the `most` best chunks for a query. `reader` embeds the query's text; without it only words count.
    #[must_use]
    pub fn search(
        &self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        most: usize,
    ) -> SearchResults {
        let ranked = self.words.rank(query, |_| 0);
        let meanings = reader.and_then(|reader| {
            let vector = reader.embed(&[text])?;
            Some((self.meanings(&vector), reader.model().weight()))
        });
        fused(ranked, meanings, most)
    }

    /// Returns the similarity of each chunk, in millionths; 0 if its cosine is negative.
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

/// Converts a cosine to millionths; a negative one becomes 0.
#[inline]
pub(crate) fn nearness(cosine: i32) -> u32 {
    let cosine = u64::try_from(cosine).unwrap_or_default();
    ((cosine * WHOLE) >> COSINE_DIGITS) as u32
}

/// Returns the `most` best of the chunks whose words are ranked. `meanings` holds the similarity of each chunk and the
/// weight of meaning, both in millionths; without it only words count.
pub(crate) fn fused<F: Fn(usize) -> u64>(
    ranked: RankedPassages<'_, F>,
    meanings: Option<(Vec<u32>, u64)>,
    most: usize,
) -> SearchResults {
    let words = ranked.scores();
    let has_meaning = meanings.is_some();
    let (meanings, weight) = meanings.unwrap_or_else(|| (vec![0; words.len()], 0));
    let (meanings, weights) = (&meanings, Weights::new(weight));
    let best_words = largest(words).max(1);
    // The reciprocal of the best, with 32 fractional bits: a division for each chunk would cost more.
    let one_over = |best: u64| (WHOLE << 32).div_ceil(best);
    let mut best = TopChunks::new(MOST_COMPARED.max(most));
    let total = best.choose(words, meanings, weights, one_over(best_words));
    let chunks = best.finish();
    // Adjacent query words raise the score of the best chunks.
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
    SearchResults {
        hits,
        total,
        has_meaning,
        remarks: ranked.remarks,
    }
}

/// The weights of words and meaning, in millionths.
#[derive(Clone, Copy)]
struct Weights {
    words: u64,
    meaning: u64,
}

impl Weights {
    /// Gives `meaning` this weight, and words the rest.
    fn new(meaning: u64) -> Self {
        let meaning = meaning.min(WHOLE);
        Self {
            words: WHOLE - meaning,
            meaning,
        }
    }

    /// Returns the weighted sum, in units of 1/[`WHOLE`] of a score.
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

/// Selects the best chunks, by score and then by order. They are offered in order, with scores in units of 1/[`WHOLE`].
struct TopChunks {
    most: usize,
    /// More than are wanted, so that the worst need not be found each time.
    kept: Vec<(Reverse<u64>, usize)>,
    /// The lowest score that may still be among the best.
    least: u64,
}

impl TopChunks {
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::with_capacity(most * 4),
            least: 0,
        }
    }

    /// Considers all chunks and returns how many match. `factor` is the reciprocal of the best lexical score.
    #[inline(never)]
    fn choose(&mut self, words: &[u64], meanings: &[u32], weights: Weights, factor: u64) -> usize {
        let (mut total, mut least) = (0, self.least);
        for (chunk, (words, meaning)) in words.iter().zip(meanings).enumerate() {
            let semantic = u64::from(*meaning);
            // Which chunks match is unpredictable, so there is no branch before their score is known.
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
            // A later chunk with an equal score ranks behind it.
            self.least = (worst.0.0 + 1) * WHOLE;
            self.kept.truncate(self.most);
        }
    }

    /// Returns the best, best first.
    fn finish(mut self) -> Vec<usize> {
        self.cut();
        self.kept.sort_unstable();
        self.kept.into_iter().map(|(_, chunk)| chunk).collect()
    }
}
