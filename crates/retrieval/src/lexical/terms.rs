//! The interface between ranking and an index, wherever that is stored.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use super::{
    collect::Occurrence,
    field::{Lengths, Norms, counts},
};
use crate::fixed_point::log2;

/// A passage that has a term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(super) passage: u32,
    /// Weight of the term in the passage, without its rarity.
    pub(super) weight: u32,
    /// Start of its positions.
    pub(super) first_place: u32,
    /// Number of positions that are stored, times four, plus one if it is in the heading and two if in the trail.
    pub(super) fields: u32,
}

impl Posting {
    /// Returns whether the term is in the heading.
    pub(super) fn in_heading(&self) -> bool {
        self.fields & 1 == 1
    }

    /// Returns whether the term is in the heading or in the trail.
    pub(super) fn in_headings(&self) -> bool {
        self.fields & 3 > 0
    }

    /// Returns the number of positions that are stored.
    pub(super) fn places(&self) -> u32 {
        self.fields >> 2
    }
}

/// A posting list, in the order of passages.
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

/// The positions of a word in a passage, in order.
pub(super) type WordPositions<'a> = Cow<'a, [u32]>;

/// The key of a posting list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TermKey {
    Term(String),
    /// A stem, if other words than this one share it.
    Stem(String, String),
}

/// Passages by their terms. All numbers are about live passages only.
pub(super) trait TermSource {
    /// Returns one more than the largest number of a passage available for ranking.
    fn len(&self) -> usize;
    /// Returns the number of passages in all.
    fn all(&self) -> usize {
        self.len()
    }
    /// Returns the number of passages in all that have `key`, of which `at_hand` are available.
    fn frequency(&self, _key: &TermKey, at_hand: usize) -> usize {
        at_hand
    }
    /// Returns the passages with a word or a name, in order.
    fn with_term(&self, term: &str) -> List<'_>;
    /// Returns the passages that have a word with this stem, in order, or `None` if they are those that have `word`.
    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>>;
    /// Returns the positions of `word` in one passage.
    fn places(&self, posting: &Posting, word: &str) -> WordPositions<'_>;
    /// Returns at most `most` words nearest to `word`: first by the number of letters wrong, missing, superfluous or
    /// swapped, then by the number of passages, then alphabetically.
    fn nearest(&self, word: &str, most: usize) -> Vec<String>;

    /// Returns the rarity of a term that this many passages have.
    fn rarity(&self, passages: usize) -> u64 {
        rarity(self.all() as u64, passages as u64)
    }
}

/// Returns the rarity of a term that `with` of `all` passages have.
pub(super) fn rarity(all: u64, with: u64) -> u64 {
    // log((N + 1) / (n + 1/2)), the form of BM25's inverse document frequency that is never negative.
    log2(2 * all + 2).saturating_sub(log2(2 * with + 1))
}

/// The occurrences of a term in the fields of a passage.
#[derive(Clone, Copy)]
pub(super) struct TermCount {
    pub(super) passage: u32,
    pub(super) counts: Lengths,
    /// Start of its positions, or [`NO_PLACES`].
    pub(super) first_place: u32,
    /// Number of positions that are stored there.
    pub(super) places: u32,
}

/// Marks a term that does not occur as a word.
pub(super) const NO_PLACES: u32 = u32::MAX;

impl TermCount {
    /// Counts the positions in one passage.
    pub(super) fn of(together: &[Occurrence]) -> Self {
        Self {
            passage: together.first().map_or(0, |first| first.passage),
            counts: counts(together.iter().map(|one| one.place)),
            first_place: NO_PLACES,
            places: 0,
        }
    }

    #[inline]
    pub(super) fn posting(&self, norms: Norms) -> Posting {
        self.weighing(norms.weight(&self.counts))
    }

    /// Returns the posting of a term with this weight in the passage.
    #[inline]
    pub(super) fn weighing(&self, weight: u32) -> Posting {
        Posting {
            passage: self.passage,
            weight,
            first_place: self.first_place,
            fields: u32::from(self.counts[0] > 0)
                | u32::from(self.counts[1] > 0) << 1
                | self.places.min(u32::MAX >> 2) << 2,
        }
    }
}

/// Merges concatenated lists, each in the order of passages, into one.
pub(super) fn add_up(lists: &mut Vec<TermCount>) {
    lists.sort_by_key(|counted| counted.passage);
    lists.dedup_by(|next, sum| {
        let is_same = next.passage == sum.passage;
        if is_same {
            for (count, more) in sum.counts.iter_mut().zip(next.counts) {
                *count = count.saturating_add(more);
            }
            if next.first_place < sum.first_place {
                (sum.first_place, sum.places) = (next.first_place, next.places);
            }
        }
        is_same
    });
}
