//! Selection of the chunks that a search looks at, where an external store keeps their words: by approximate scores of all
//! chunks.

use super::search::{FusionRule, TopChunks, best_words};
use crate::{embedding::MeaningWeight, lexical::MOST_WEIGHT};

/// Approximate scores of all chunks for one query, by their numbers.
pub struct ChunkScores<'a> {
    /// The lexical scores, in 1024ths: the sum over the [`crate::Clue`]s of a chunk of their weights times those in the chunk.
    pub words: &'a [u32],
    /// The order by words, if it is not that of the scores.
    pub order: Option<&'a [u32]>,
    /// The sum of the weights of all clues.
    pub clues: u64,
    /// The similarities, in millionths, and the weight of meaning; without them only words count.
    pub meanings: Option<(&'a [u32], MeaningWeight)>,
}

impl ChunkScores<'_> {
    /// Returns the chunks that are among the `most` best by words, by meaning, or by both together, in order, and the number of
    /// chunks that match at all.
    #[must_use]
    pub fn select(&self, most: usize) -> (Vec<usize>, usize) {
        let none = vec![
            0;
            if self.meanings.is_some() {
                0
            } else {
                self.words.len()
            }
        ];
        let (meanings, weight) = self.meanings.unwrap_or((&none, MeaningWeight::default()));
        let most = most.min(self.words.len()).max(1);
        let reachable = self.clues * MOST_WEIGHT / 1024;
        let all = 0..self.words.len();
        let both = FusionRule::new(weight, reachable, best_words(self.words, &[all]));
        let mut selected = Vec::new();
        let mut choose = |words: &[u32], meanings: &[u32], rule: FusionRule| {
            let mut best = TopChunks::new(most, |chunk| chunk);
            let total = best.choose(0, words, meanings, rule);
            selected.extend(best.finish().into_iter().map(|(chunk, _)| chunk));
            total
        };
        let by_words = self.order.unwrap_or(self.words);
        let total = choose(self.words, meanings, both);
        choose(by_words, meanings, FusionRule::words_alone());
        if self.meanings.is_some() {
            choose(self.words, meanings, FusionRule::meaning_alone());
        }
        selected.sort_unstable();
        selected.dedup();
        (selected, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of 300 chunks: those by words grow with the number, and those by meaning become smaller.
    fn scores() -> (Vec<u32>, Vec<u32>) {
        let words = (0..300).map(|number| number * 10).collect();
        let meanings = (0..300).map(|number| 900_000 - number * 3_000).collect();
        (words, meanings)
    }

    #[test]
    fn the_best_of_each_order_are_selected() {
        let (words, meanings) = scores();
        let weight = MeaningWeight {
            most: 500_000,
            discount: 0,
        };
        let scores = ChunkScores {
            words: &words,
            order: None,
            clues: 1_024,
            meanings: Some((&meanings, weight)),
        };
        let (selected, total) = scores.select(3);
        assert!(
            [0, 1, 2, 297, 298, 299]
                .iter()
                .all(|best| selected.contains(best))
        );
        assert!(selected.is_sorted() && selected.len() <= 9);
        assert_eq!(total, 300);
        let (all, _) = scores.select(1_000);
        assert_eq!(all, (0..300).collect::<Vec<usize>>());
    }

    #[test]
    fn chunks_without_a_word_and_without_meaning_do_not_match() {
        let (words, _) = scores();
        let scores = ChunkScores {
            words: &words,
            order: None,
            clues: 1_024,
            meanings: None,
        };
        let (all, total) = scores.select(1_000);
        assert_eq!((all.len(), total), (299, 299));
        assert!(!all.contains(&0));
    }

    #[test]
    fn another_order_by_words_comes_first() {
        let (words, _) = scores();
        let mut order = words.clone();
        order[7] += 1 << 22;
        let scores = ChunkScores {
            words: &words,
            order: Some(&order),
            clues: 1_024,
            meanings: None,
        };
        assert_eq!(scores.select(1).0, [7, 299]);
    }
}
