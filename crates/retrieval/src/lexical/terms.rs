//! What ranking asks of an index, wherever that is kept.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use super::{
    collect::Occurrence,
    field::{Lengths, Norms, counts},
};
use crate::fixed::log2;

/// A passage that has a term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(super) passage: u32,
    /// How much the term is what the passage is about, before the rarity of the term.
    pub(super) weight: u32,
    /// Where its places start.
    pub(super) first_place: u32,
    /// Whether the term is in the heading.
    pub(super) in_heading: bool,
}

/// A list of passages, in order.
#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Kept(&'a [Posting]),
    Shared(Arc<Vec<Posting>>),
    Made(Vec<Posting>),
}

impl Deref for List<'_> {
    type Target = [Posting];

    fn deref(&self) -> &[Posting] {
        match self {
            Self::Kept(list) => list,
            Self::Shared(list) => list,
            Self::Made(list) => list,
        }
    }
}

/// Where a word is in a passage, in order.
pub(super) type Places<'a> = Cow<'a, [u32]>;

/// What a list of passages is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Term(String),
    /// A stem, where it is in more than this word.
    Stem(String, String),
}

/// Passages by the terms that they have. All numbers are about the passages that count, and no others.
pub(super) trait Terms {
    /// How many passages are at hand.
    fn len(&self) -> usize;
    /// How many passages there are in all.
    fn all(&self) -> usize {
        self.len()
    }
    /// How many passages there are in all with what `key` says, of which so many are at hand.
    fn frequency(&self, _key: &Key, at_hand: usize) -> usize {
        at_hand
    }
    /// The passages that have a word or a name, in order.
    fn with_term(&self, term: &str) -> List<'_>;
    /// The passages that have a word with this stem, in order, or `None` when they are those that have `word`.
    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>>;
    /// The places of a word in one passage.
    fn places(&self, posting: &Posting) -> Places<'_>;
    /// At most `most` words that are nearest to `word`: first by the number of letters that are wrong, missing, too many
    /// or swapped, then by the number of passages, then by the alphabet.
    fn nearest(&self, word: &str, most: usize) -> Vec<String>;

    /// How rare a term is that so many passages have.
    fn rarity(&self, passages: usize) -> u64 {
        rarity(self.all() as u64, passages as u64)
    }
}

/// How rare a term is that so many of all passages have.
pub(super) fn rarity(all: u64, with: u64) -> u64 {
    // log((N + 1) / (n + 1/2)), the form of BM25 that is never negative.
    log2(2 * all + 2).saturating_sub(log2(2 * with + 1))
}

/// How often the fields of a passage have a term.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) passage: u32,
    pub(super) counts: Lengths,
    /// Where its places start, or [`NO_PLACES`].
    pub(super) first_place: u32,
}

/// For a term that is nowhere as a word.
pub(super) const NO_PLACES: u32 = u32::MAX;

impl Counted {
    /// Of places in one passage.
    pub(super) fn of(together: &[Occurrence]) -> Self {
        Self {
            passage: together.first().map_or(0, |first| first.passage),
            counts: counts(together.iter().map(|one| one.place)),
            first_place: NO_PLACES,
        }
    }

    #[inline]
    pub(super) fn posting(&self, norms: &[Norms]) -> Posting {
        let norms = norms.get(self.passage as usize).copied();
        Posting {
            passage: self.passage,
            weight: norms.unwrap_or_default().weight(&self.counts),
            first_place: self.first_place,
            in_heading: self.counts[0] > 0,
        }
    }
}

/// Lists that stand one behind the other, each in the order of passages, as one.
pub(super) fn add_up(lists: &mut Vec<Counted>) {
    lists.sort_by_key(|counted| counted.passage);
    lists.dedup_by(|next, sum| {
        let is_same = next.passage == sum.passage;
        if is_same {
            for (count, more) in sum.counts.iter_mut().zip(next.counts) {
                *count = count.saturating_add(more);
            }
            sum.first_place = sum.first_place.min(next.first_place);
        }
        is_same
    });
}
