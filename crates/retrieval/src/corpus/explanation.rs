//! Why a chunk is where it is among the hits of a search: its ranks by words, by meaning and by both, and the parts of its
//! scores.
//!
//! Nothing here is computed by a search. An explanation ranks the same chunks again, by the same code, so that it costs about
//! as much as the search it explains.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use super::{
    ChunkHit, Corpus,
    search::{FusionRule, RankedChunks, best_chunks},
};
use crate::{
    embedding::{EmbeddingReader, MeaningWeight},
    lexical::{Query, RankedPassages, TermExplanation},
};

/// The reasons for the order of some hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchExplanation {
    /// The rules that all hits have in common.
    pub basis: RankingBasis,
    /// The reasons for the place of each chunk that was asked about, in the same order; `None` if it is not a hit.
    pub hits: Vec<Option<HitExplanation>>,
}

/// The numbers that the scores of all hits of a search are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankingBasis {
    /// Whether meaning counted.
    pub has_meaning: bool,
    /// The weight of words in the sum, in millionths.
    pub words_weight: u64,
    /// The weight of meaning in the sum, in millionths.
    pub meaning_weight: u64,
    /// The score of words that counts as one, in 1024ths: that of a chunk that has every query item as often as counts.
    pub reachable: u64,
    /// Number of live chunks, which the rarity of a word refers to.
    pub chunks: usize,
}

/// The reasons for the place of a hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitExplanation {
    /// Its rank and its score by words and meaning together: the weighted sum, or one if it is verbatim.
    pub fused: RankedScore,
    /// Its rank and its score by words alone; `None` if it has none of them.
    pub words: Option<RankedScore>,
    /// Its rank by meaning alone and its similarity to the query; `None` without meaning, and where it is not similar at all.
    pub meaning: Option<RankedScore>,
    /// Whether it has all words of the query side by side, in the same order, and so comes before all that do not.
    pub is_verbatim: bool,
    /// The query items that it has.
    pub terms: Vec<TermExplanation>,
    /// The part of its lexical score for adjacent words, in 1024ths.
    pub together: u64,
    /// The part of its lexical score for the caller's boost, in 1024ths.
    pub favour: u64,
}

/// A place in an order, and the score that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedScore {
    /// The place, from 1.
    pub rank: usize,
    /// The score, in millionths.
    pub score: u64,
}

impl HitExplanation {
    /// Returns its lexical score, in 1024ths: the sum of its parts.
    #[must_use]
    pub fn word_score(&self) -> u64 {
        let terms: u64 = self.terms.iter().map(|term| term.score).sum();
        terms + self.together + self.favour
    }
}

impl Corpus {
    /// Explains hits of [`Self::search_within`], which was called with the same arguments, by their numbers.
    #[must_use]
    pub fn explain_within(
        &self,
        query: &Query,
        (text, reader): (&str, Option<&mut dyn EmbeddingReader>),
        most: usize,
        allowed: Option<&dyn Fn(usize) -> bool>,
        chunks: &[usize],
    ) -> SearchExplanation {
        self.explained(
            &self.ranked_within(query, text, reader, allowed),
            most,
            chunks,
        )
    }

    /// Explains hits of [`Self::search_favouring`], which was called with the same arguments, by their numbers.
    #[must_use]
    pub fn explain_favouring(
        &self,
        query: &Query,
        (text, reader): (&str, Option<&mut dyn EmbeddingReader>),
        most: usize,
        favour: &dyn Fn(usize) -> u64,
        chunks: &[usize],
    ) -> SearchExplanation {
        self.explained(
            &self.ranked_favouring(query, text, reader, favour),
            most,
            chunks,
        )
    }

    fn explained<F: Fn(usize) -> u64>(
        &self,
        ranked: &RankedChunks<'_, F>,
        most: usize,
        chunks: &[usize],
    ) -> SearchExplanation {
        let nothing;
        let (meanings, weight) = match &ranked.meanings {
            Some((meanings, weight)) => (meanings, *weight),
            None => {
                nothing = vec![0; ranked.words.scores().len()];
                (&nothing, MeaningWeight::default())
            }
        };
        let rule = FusionRule::of(&ranked.words, weight, &ranked.slots);
        let number_of = |slot: usize| self.number_of(slot);
        let scores = (meanings.as_slice(), rule);
        let (hits, _) = best_chunks(&ranked.words, scores, &ranked.slots, most, number_of);
        let asked: Vec<Option<usize>> = chunks.iter().map(|chunk| self.slot_of(*chunk)).collect();
        let mut slots: Vec<usize> = asked.iter().copied().flatten().collect();
        slots.sort_unstable();
        slots.dedup();
        let hits: HashMap<usize, (usize, ChunkHit)> = hits
            .into_iter()
            .zip(1..)
            .filter(|(hit, _)| slots.binary_search(&hit.chunk).is_ok())
            .map(|(hit, rank)| (hit.chunk, (rank, hit)))
            .collect();
        let by_words = self.ranks_by_words(ranked, most, &slots);
        let by_meaning = self.ranks_by_meaning(ranked, meanings, &slots);
        let terms = self.words.explained(&ranked.words, &slots);
        let explained = |slot: usize| {
            let (rank, hit) = hits.get(&slot)?;
            let at = slots.binary_search(&slot).ok()?;
            let ranked = |ranks: &HashMap<usize, usize>, score: u64| {
                let rank = ranks.get(&slot).copied();
                rank.map(|rank| RankedScore { rank, score })
            };
            Some(HitExplanation {
                fused: RankedScore {
                    rank: *rank,
                    score: hit.fused,
                },
                words: ranked(&by_words, hit.lexical),
                meaning: ranked(&by_meaning, hit.semantic),
                is_verbatim: hit.is_verbatim,
                terms: terms[at].clone(),
                together: hit.together,
                favour: hit.favour,
            })
        };
        SearchExplanation {
            basis: RankingBasis {
                has_meaning: ranked.meanings.is_some(),
                words_weight: rule.words,
                meaning_weight: rule.meaning,
                reachable: ranked.words.reachable(),
                chunks: self.len(),
            },
            hits: asked.into_iter().map(|slot| explained(slot?)).collect(),
        }
    }

    /// Returns the rank of each of these slots, if it matches, in the same search by words alone.
    fn ranks_by_words<F: Fn(usize) -> u64>(
        &self,
        ranked: &RankedChunks<'_, F>,
        most: usize,
        wanted: &[usize],
    ) -> HashMap<usize, usize> {
        let words: &RankedPassages<'_, F> = &ranked.words;
        let rule = FusionRule::of(words, MeaningWeight::default(), &ranked.slots);
        let nothing = vec![0; words.scores().len()];
        let number_of = |slot: usize| self.number_of(slot);
        let (best, _) = best_chunks(words, (&nothing, rule), &ranked.slots, most, number_of);
        let mut order: Vec<usize> = best.into_iter().map(|hit| hit.chunk).collect();
        // Behind the best, where adjacent words are not looked for, all others follow.
        let known: HashSet<usize> = order.iter().copied().collect();
        let score = |slot: usize| rule.lexical(u64::from(words.scores()[slot]));
        let others = ranked.slots.iter().cloned().flatten();
        let others = others.filter(|slot| words.scores()[*slot] > 0 && !known.contains(slot));
        order.extend(self.in_order(others, score));
        ranks(order, wanted)
    }

    /// Returns the rank by meaning of each of these slots that has a similar one.
    fn ranks_by_meaning<F>(
        &self,
        ranked: &RankedChunks<'_, F>,
        meanings: &[u32],
        wanted: &[usize],
    ) -> HashMap<usize, usize> {
        let similar = ranked.slots.iter().cloned().flatten();
        let similar = similar.filter(|slot| meanings[*slot] > 0);
        let order = self.in_order(similar, |slot| u64::from(meanings[slot]));
        ranks(order, wanted)
    }

    /// Sorts slots by score, best first, and then by number.
    fn in_order(
        &self,
        slots: impl Iterator<Item = usize>,
        score: impl Fn(usize) -> u64,
    ) -> Vec<usize> {
        let keys = slots.map(|slot| (Reverse(score(slot)), self.number_of(slot), slot));
        let mut keys: Vec<(Reverse<u64>, usize, usize)> = keys.collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, _, slot)| slot).collect()
    }
}

/// Returns the places of those that are wanted, which are sorted, in this order.
fn ranks(order: Vec<usize>, wanted: &[usize]) -> HashMap<usize, usize> {
    let places = order.into_iter().zip(1..);
    let places = places.filter(|(slot, _)| wanted.binary_search(slot).is_ok());
    places.collect()
}
