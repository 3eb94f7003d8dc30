//! The index in memory: for each term its postings, with weights.

use std::{borrow::Cow, sync::OnceLock};

use fst::Map;

use super::{
    Passage, Posting,
    collect::{Occurrence, TermCollector},
    field::{Norms, Totals},
    spelling::{nearest, ranked},
    terms::{List, TermCount, TermSource, WordPositions},
};
use crate::table::{Table, Texts};

/// The most passages indexed: this bounds the cost of a query.
pub const MAX_PASSAGES: usize = 10_000;

/// The reason why an index cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There are more passages than [`MAX_PASSAGES`].
    #[error("There are more than {MAX_PASSAGES} passages.")]
    TooManyPassages,
    /// There are more words than the index can count.
    #[error("There are too many words.")]
    TooManyWords,
}

/// An inverted index in memory.
#[derive(Debug)]
pub struct Index {
    passages: usize,
    /// Maps a word or a name to its list.
    terms: Table<u32>,
    /// The texts of the terms.
    texts: Texts,
    /// Maps a stem to its list.
    stems: Table<u32>,
    /// The terms as an automaton, for finding similar spellings; built when first needed.
    dictionary: OnceLock<Map<Vec<u8>>>,
    /// Start of each list, and one more for the end.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// Positions of words, those of one posting together.
    places: Vec<u32>,
}

impl Index {
    /// Indexes passages; their order breaks ties.
    ///
    /// # Errors
    /// [`IndexError`] when there are too many.
    pub fn new<'a>(passages: impl IntoIterator<Item = Passage<'a>>) -> Result<Self, IndexError> {
        let mut collected = TermCollector::default();
        for (number, passage) in passages.into_iter().enumerate() {
            if number == MAX_PASSAGES {
                return Err(IndexError::TooManyPassages);
            }
            collected.add(&passage);
        }
        Self::of(collected)
    }

    fn of(collected: TermCollector) -> Result<Self, IndexError> {
        let mut totals = Totals::default();
        collected
            .lengths
            .iter()
            .for_each(|lengths| totals.add(lengths));
        let norms: Vec<Norms> = collected
            .lengths
            .iter()
            .map(|lengths| totals.norms(lengths))
            .collect();
        let by_term = collected.by_term();
        let mut index = Self {
            passages: norms.len(),
            dictionary: OnceLock::new(),
            starts: Vec::with_capacity(collected.terms.len() + collected.stems.len() / 4),
            postings: Vec::with_capacity(collected.len()),
            places: Vec::with_capacity(collected.len() * 3 / 2),
            terms: Table::default(),
            texts: Texts::default(),
            stems: Table::default(),
        };
        for number in 0..collected.terms.len() as u32 {
            index.begin_list()?;
            index.add_term(by_term.of(number), collected.is_word(number), &norms)?;
        }
        // Maps a stem to its list. A stem with one word shares the list of that word.
        let mut lists = Vec::with_capacity(collected.stems.len());
        let forms = collected.forms();
        let mut merged = Vec::new();
        for stem in 0..collected.stems.len() as u32 {
            lists.push(match forms.of(stem) {
                [one] => *one,
                several => {
                    by_term.count(several, &mut merged);
                    index.add_merged(&merged, &norms)?
                }
            });
        }
        let mut names = Vec::new();
        for number in 0..collected.terms.len() as u32 {
            let name = collected.terms.get(number as usize);
            if collected.is_word(number) {
                continue;
            }
            names.push(match collected.words.get(name) {
                None => (name, number),
                Some(word) => {
                    by_term.count(&[word, number], &mut merged);
                    let list = index.add_merged(&merged, &norms)?;
                    index.share_places(word, list);
                    (name, list)
                }
            });
        }
        index.begin_list()?;
        index.terms = collected.words;
        for (name, list) in names {
            index.terms.insert(name, list);
        }
        index.texts = collected.terms;
        index.stems = collected.stems;
        for list in index.stems.values_mut() {
            *list = lists.get(*list as usize).copied().unwrap_or_default();
        }
        Ok(index)
    }

    /// Starts a list and returns its number.
    fn begin_list(&mut self) -> Result<u32, IndexError> {
        let count = |count: usize| u32::try_from(count).map_err(|_| IndexError::TooManyWords);
        self.starts.push(count(self.postings.len())?);
        count(self.starts.len() - 1)
    }

    fn add_term(
        &mut self,
        occurrences: &[Occurrence],
        has_places: bool,
        norms: &[Norms],
    ) -> Result<(), IndexError> {
        for together in occurrences.chunk_by(|one, next| one.passage == next.passage) {
            let mut counted = TermCount::of(together);
            if !has_places {
                self.postings
                    .push(counted.posting(norms_of(norms, counted.passage)));
                continue;
            }
            counted.first_place =
                u32::try_from(self.places.len()).map_err(|_| IndexError::TooManyWords)?;
            self.postings
                .push(counted.posting(norms_of(norms, counted.passage)));
            self.places.extend(together.iter().map(|one| one.place));
            self.places.push(END);
        }
        Ok(())
    }

    /// Adds a merged list of several terms and returns its number.
    fn add_merged(&mut self, merged: &[TermCount], norms: &[Norms]) -> Result<u32, IndexError> {
        let list = self.begin_list()?;
        let postings = merged.iter();
        let postings = postings.map(|counted| counted.posting(norms_of(norms, counted.passage)));
        self.postings.extend(postings);
        Ok(list)
    }

    /// Gives the last list, which is of a word and a name, the positions of the word.
    fn share_places(&mut self, word: u32, list: u32) {
        let start = self.starts[list as usize] as usize;
        let (before, merged) = self.postings.split_at_mut(start);
        let word = self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize;
        for posting in merged {
            let same = before[word.clone()]
                .binary_search_by_key(&posting.passage, |posting| posting.passage);
            if let Ok(at) = same {
                posting.first_place = before[word.start + at].first_place;
            }
        }
    }

    fn list(&self, number: Option<u32>) -> &[Posting] {
        number.map_or(&[], |number| {
            let at = number as usize;
            &self.postings[self.starts[at] as usize..self.starts[at + 1] as usize]
        })
    }

    fn dictionary(&self) -> &Map<Vec<u8>> {
        self.dictionary.get_or_init(|| {
            let texts = (0..self.texts.len()).map(|number| self.texts.get(number));
            let numbered = texts.filter_map(|term| Some((term, u64::from(self.terms.get(term)?))));
            let mut terms: Vec<(&str, u64)> = numbered.collect();
            terms.sort_unstable();
            // A word that is also a name occurs twice.
            terms.dedup();
            // They are sorted and distinct, which is all that is required of them.
            Map::from_iter(terms).unwrap_or_default()
        })
    }
}

fn norms_of(norms: &[Norms], passage: u32) -> Norms {
    norms.get(passage as usize).copied().unwrap_or_default()
}

/// Terminates the positions of a posting.
const END: u32 = u32::MAX;

impl TermSource for Index {
    fn len(&self) -> usize {
        self.passages
    }

    fn with_term(&self, term: &str) -> List<'_> {
        List::Kept(self.list(self.terms.get(term)))
    }

    fn with_stem(&self, stem: &str, word: &str) -> Option<List<'_>> {
        let list = self.stems.get(stem);
        let is_only = list.is_none() || list == self.terms.get(word);
        (!is_only).then(|| List::Kept(self.list(list)))
    }

    fn places(&self, posting: &Posting, _: &str) -> WordPositions<'_> {
        let rest = self.places.get(posting.first_place as usize..);
        let rest = rest.unwrap_or_default();
        // The positions of one posting are in order and end with a terminator.
        let end = rest.iter().position(|place| *place == END);
        Cow::Borrowed(&rest[..end.unwrap_or(rest.len())])
    }

    fn nearest(&self, word: &str, most: usize) -> Vec<String> {
        let found = nearest(self.dictionary(), word);
        let frequency = |number: u64| self.list(u32::try_from(number).ok()).len();
        let found = found.into_iter().map(|near| {
            let passages = frequency(near.number);
            (near.distance, passages, near.term)
        });
        ranked(found.collect(), most)
    }
}
