//! Ranks some passages out of many that a database or another store keeps: each candidate carries its own words, and
//! statistics about all passages are passed in. Ranks like [`super::Segments`] of them all.
//!
//! The encoding of the words of a passage is described in [`super::passages`].

use std::{borrow::Cow, collections::HashMap};

use super::{
    Query, RankedPassages,
    field::{Lengths, Norms, Totals, counts},
    query::Item,
    search::{Phrases, rank},
    terms::{List, NO_PLACES, TermCount, TermKey, TermSource, WordPositions, add_up},
};
use crate::{analysis::stem, varint::Numbers};

/// The terms of a query whose frequencies the store must look up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// Words and names.
    pub terms: Vec<String>,
    /// Stems.
    pub stems: Vec<String>,
}

impl Query {
    /// Returns the terms whose frequencies among all passages are needed to answer this query.
    #[must_use]
    pub fn lookup(&self) -> Lookup {
        let mut lookup = Lookup::default();
        for item in &self.items {
            lookup.terms.push(item.term.clone());
            lookup.terms.extend(item.parts.iter().cloned());
            let words = words_of(item);
            lookup
                .stems
                .extend(words.filter_map(|word| stem(word).map(Cow::into_owned)));
        }
        let neighbours = self.neighbours.iter().flat_map(|(one, next)| [one, next]);
        let others = neighbours
            .chain(self.phrases.iter().flatten())
            .chain(&self.run);
        lookup.terms.extend(others.cloned());
        for list in [&mut lookup.terms, &mut lookup.stems] {
            list.sort_unstable();
            list.dedup();
        }
        lookup
    }
}

pub(super) fn words_of(item: &Item) -> impl Iterator<Item = &String> {
    std::iter::once(&item.term).chain(&item.parts)
}

/// Statistics about all passages, as far as a query needs them.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Number of passages.
    pub passages: u64,
    /// Total number of words in their headings, trails and bodies.
    pub words: [u64; 3],
    /// Number of passages with each term of the [`Lookup`], and with the words in `nearest`.
    pub terms: HashMap<String, u64>,
    /// Number of passages that have a word with each stem, and those words.
    pub stems: HashMap<String, (u64, Vec<String>)>,
    /// For query words that no passage has: the nearest existing ones, as found by [`crate::Vocabulary::nearest`].
    pub nearest: HashMap<String, Vec<String>>,
}

impl Statistics {
    /// Returns the words of a query that no passage has in any form, which may be misspelt.
    #[must_use]
    pub fn unknown(&self, query: &Query) -> Vec<String> {
        self.missing(query).0
    }

    /// Returns whether no passage has any of the words of a query, in any form.
    pub(super) fn has_nothing_of(&self, query: &Query) -> bool {
        !self.missing(query).1
    }

    /// Returns the words of a query that no passage has, and whether passages have others.
    fn missing(&self, query: &Query) -> (Vec<String>, bool) {
        let mut unknown = Vec::new();
        let mut has_others = false;
        for item in &query.items {
            let has_whole = !item.parts.is_empty() && self.has_term(&item.term);
            let words = match item.parts.as_slice() {
                _ if has_whole => {
                    has_others = true;
                    continue;
                }
                [] => std::slice::from_ref(&item.term),
                parts => parts,
            };
            for word in words {
                let has_stem = stem(word).is_some_and(|stem| self.stems.contains_key(&*stem));
                if self.has_term(word) || has_stem {
                    has_others = true;
                } else if !unknown.contains(word) {
                    unknown.push(word.clone());
                }
            }
        }
        (unknown, has_others)
    }

    fn has_term(&self, term: &str) -> bool {
        self.terms.get(term).is_some_and(|passages| *passages > 0)
    }
}

/// Passages that may answer a query; their order breaks ties.
pub(crate) struct Candidates<'a> {
    statistics: &'a Statistics,
    words: Vec<&'a [u8]>,
    norms: Vec<Norms>,
}

impl<'a> Candidates<'a> {
    /// Takes passages by their lengths and encoded words.
    pub(crate) fn new(
        statistics: &'a Statistics,
        passages: impl Iterator<Item = (&'a Lengths, &'a [u8])>,
    ) -> Self {
        let totals = Totals::of(statistics.passages, statistics.words);
        let (norms, words) = passages
            .map(|(lengths, words)| (totals.norms(lengths), words))
            .unzip();
        Self {
            statistics,
            words,
            norms,
        }
    }

    /// Ranks the passages that match.
    pub(crate) fn rank<F: Fn(usize) -> u64>(
        &self,
        query: &Query,
        favour: F,
    ) -> RankedPassages<'_, F> {
        rank(self, query, Phrases::Preferred, favour)
    }

    /// Returns the passages with an entry that `take` accepts; it sees the entries of each passage up to the term
    /// `last`.
    fn with(&self, last: &str, take: impl Fn(&PassageEntry<'_>) -> bool) -> List<'_> {
        let mut found = Vec::new();
        for (passage, words) in (0..).zip(&self.words) {
            let start = found.len();
            let entries = PassageEntries::new(words);
            let up_to_last = entries.take_while(|entry| entry.term <= last.as_bytes());
            found.extend(up_to_last.filter(&take).map(|entry| TermCount {
                passage,
                counts: counts(entry.places(words)),
                first_place: match entry.is_name {
                    true => NO_PLACES,
                    false => u32::try_from(entry.places_at).unwrap_or(NO_PLACES),
                },
                places: 0,
            }));
            if found.len() - start > 1 {
                let mut same = found.split_off(start);
                add_up(&mut same);
                found.append(&mut same);
            }
        }
        let norms = |one: &TermCount| self.norms.get(one.passage as usize).copied();
        let found = found.iter();
        List::Made(
            found
                .map(|one| one.posting(norms(one).unwrap_or_default()))
                .collect(),
        )
    }
}

impl TermSource for Candidates<'_> {
    fn len(&self) -> usize {
        self.words.len()
    }

    fn all(&self) -> usize {
        usize::try_from(self.statistics.passages).unwrap_or(usize::MAX)
    }

    fn frequency(&self, key: &TermKey, _: usize) -> usize {
        let passages = match key {
            TermKey::Term(term) => self.statistics.terms.get(term).copied(),
            TermKey::Stem(stem, _) => self
                .statistics
                .stems
                .get(stem)
                .map(|(passages, _)| *passages),
        };
        usize::try_from(passages.unwrap_or_default()).unwrap_or(usize::MAX)
    }

    fn with_term(&self, term: &str) -> List<'_> {
        self.with(term, |entry| entry.term == term.as_bytes())
    }

    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>> {
        let forms = self.statistics.stems.get(stem).map(|(_, forms)| forms)?;
        if let [only] = forms.as_slice()
            && only == word
        {
            return None;
        }
        let last = forms.iter().max()?;
        let is_form = |term: &[u8]| forms.iter().any(|form| form.as_bytes() == term);
        Some(self.with(last, |entry| !entry.is_name && is_form(entry.term)))
    }

    fn places(&self, posting: &super::Posting, _: &str) -> WordPositions<'_> {
        let words = self.words.get(posting.passage as usize).copied();
        let bytes = words.and_then(|words| words.get(posting.first_place as usize..));
        let places = bytes.and_then(|bytes| {
            let mut numbers = Numbers::new(bytes);
            let length = numbers.next()? as usize;
            Some(distances(numbers.rest().get(..length)?).collect())
        });
        Cow::Owned(places.unwrap_or_default())
    }

    fn nearest(&self, word: &str, most: usize) -> Vec<String> {
        let nearest = self.statistics.nearest.get(word);
        let nearest = nearest.into_iter().flatten().take(most);
        nearest.cloned().collect()
    }
}

/// A term of a passage.
pub(super) struct PassageEntry<'a> {
    pub(super) term: &'a [u8],
    pub(super) is_name: bool,
    /// Offset of the length of its positions.
    places_at: usize,
    /// Start and end of the positions themselves.
    places: (usize, usize),
}

impl PassageEntry<'_> {
    fn places<'w>(&self, words: &'w [u8]) -> impl Iterator<Item = u32> + 'w {
        distances(self.places_of(words))
    }

    /// Returns its encoded positions.
    pub(super) fn places_of<'w>(&self, words: &'w [u8]) -> &'w [u8] {
        words.get(self.places.0..self.places.1).unwrap_or_default()
    }
}

/// Iterates over the terms of a passage, in order. Stops at damaged data.
pub(super) struct PassageEntries<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> PassageEntries<'a> {
    pub(super) fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    fn number(&mut self) -> Option<usize> {
        let mut numbers = Numbers::new(self.all.get(self.at..)?);
        let number = numbers.next()? as usize;
        self.at = self.all.len() - numbers.rest().len();
        Some(number)
    }

    fn bytes(&mut self, length: usize) -> Option<(usize, usize)> {
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.all.len())?;
        let start = std::mem::replace(&mut self.at, end);
        Some((start, end))
    }
}

impl<'a> Iterator for PassageEntries<'a> {
    type Item = PassageEntry<'a>;

    fn next(&mut self) -> Option<PassageEntry<'a>> {
        let head = self.number()?;
        let (start, end) = self.bytes(head >> 1)?;
        let term = self.all.get(start..end)?;
        let places_at = self.at;
        let length = self.number()?;
        Some(PassageEntry {
            term,
            is_name: head & 1 == 1,
            places_at,
            places: self.bytes(length)?,
        })
    }
}

/// Decodes positions from the distances between them.
pub(super) fn distances(bytes: &[u8]) -> impl Iterator<Item = u32> {
    Numbers::new(bytes).scan(0_u32, |place, distance| {
        *place = place.wrapping_add(distance);
        Some(*place)
    })
}
