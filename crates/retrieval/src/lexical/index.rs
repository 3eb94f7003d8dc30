//! The index: a dictionary of terms, and for each term the passages that have it and how much that says.

use std::collections::HashMap;

use fst::Map;

use crate::{
    analysis::{Token, stem, tokens},
    fixed::{ONE, log2},
};

/// More passages than this are not indexed: what a question may cost depends on it.
pub const MAX_PASSAGES: usize = 10_000;

/// A passage to index.
#[derive(Clone, Debug, Default)]
pub struct Passage<'a> {
    /// Its heading.
    pub heading: &'a str,
    /// The headings above it, and the title of the document.
    pub trail: Vec<&'a str>,
    /// Its text, without markup.
    pub body: &'a str,
}

/// Why there is no index.
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

/// Words and where they are.
#[derive(Debug)]
pub struct Index {
    passages: usize,
    /// From a term to its number.
    dictionary: Map<Vec<u8>>,
    /// For each term, where its postings start; one more for the end.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// Places of words, those of one posting together.
    places: Vec<u32>,
}

/// A passage that has a term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) passage: u32,
    /// How much the term is what the passage is about, before the rarity of the term.
    pub(super) weight: u32,
    /// Where its places start.
    first_place: u32,
    /// Whether the term is in the heading.
    pub(super) in_heading: bool,
}

/// The parts of a passage, in the order of a place's highest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Heading,
    Trail,
    Body,
}

const FIELDS: [Field; 3] = [Field::Heading, Field::Trail, Field::Body];

impl Field {
    /// How much one occurrence counts.
    fn weight(self) -> u64 {
        match self {
            Self::Heading => 2 * ONE,
            Self::Trail | Self::Body => ONE,
        }
    }

    /// How much of its length counts, in quarters: in a long text a word says less than in a short one.
    fn length_quarters(self) -> u64 {
        match self {
            Self::Heading | Self::Trail => 1,
            Self::Body => 3,
        }
    }
}

/// Bits of a place that number the words of a field.
const PLACE_BITS: u32 = 28;

/// How soon more occurrences stop to count: the `k1` of BM25, 1.2.
const SATURATION: u64 = ONE * 6 / 5;
/// The most that occurrences can come to.
const MOST_BY_COUNT: u64 = ONE + SATURATION;
/// What a term in the heading counts besides: as much as it ever can in the body, so that the heading always wins.
const IN_HEADING: u64 = MOST_BY_COUNT;
/// What a term in the trail counts besides.
const IN_TRAIL: u64 = ONE / 2;

/// What is known of a term in a passage while the index is made.
struct Seen {
    passage: u32,
    counts: [u32; FIELDS.len()],
    places: Vec<u32>,
}

#[derive(Default)]
struct Builder {
    numbers: HashMap<String, usize>,
    seen: Vec<Vec<Seen>>,
    stems: HashMap<String, Option<String>>,
    lengths: Vec<[u64; FIELDS.len()]>,
    places: usize,
}

/// How a stem is told from a word.
const STEM_MARK: char = '\u{1}';

pub(super) fn stem_term(stem: &str) -> String {
    format!("{STEM_MARK}{stem}")
}

pub(super) fn is_word(term: &str) -> bool {
    !term.starts_with(STEM_MARK)
}

impl Index {
    /// Indexes passages; their order is the order of equal hits.
    ///
    /// # Errors
    /// [`IndexError`] when there are too many.
    pub fn new<'a>(passages: impl IntoIterator<Item = Passage<'a>>) -> Result<Self, IndexError> {
        let mut builder = Builder::default();
        for (number, passage) in passages.into_iter().enumerate() {
            if number == MAX_PASSAGES {
                return Err(IndexError::TooManyPassages);
            }
            builder.add(u32::try_from(number).unwrap_or(u32::MAX), &passage);
        }
        builder.finish()
    }

    /// How many passages it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.passages
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.passages == 0
    }

    pub(super) fn dictionary(&self) -> &Map<Vec<u8>> {
        &self.dictionary
    }

    /// The passages with `term`, in order.
    pub(super) fn postings(&self, term: &str) -> &[Posting] {
        match self.dictionary.get(term) {
            Some(number) => &self.postings[self.range(number)],
            None => &[],
        }
    }

    /// How many passages have the term with this number.
    pub(super) fn frequency(&self, number: u64) -> usize {
        self.range(number).len()
    }

    fn range(&self, number: u64) -> std::ops::Range<usize> {
        let number = usize::try_from(number).unwrap_or(usize::MAX - 1);
        let start = |at: usize| self.starts.get(at).map_or(0, |start| *start as usize);
        start(number)..start(number + 1).max(start(number))
    }

    /// How rare a term with so many postings is.
    pub(super) fn rarity(&self, postings: usize) -> u64 {
        // log((N + 1) / (n + 1/2)), the form of BM25 that is never negative.
        let (all, with) = (self.passages as u64, postings as u64);
        log2(2 * all + 2) - log2(2 * with + 1)
    }

    /// The places of a word in one passage, in order.
    pub(super) fn places(&self, posting: &Posting) -> &[u32] {
        let rest = &self.places[posting.first_place as usize..];
        // Places of one posting are in order and end with a mark.
        let end = rest
            .iter()
            .position(|place| *place == END)
            .unwrap_or(rest.len());
        &rest[..end]
    }
}

/// Ends the places of a posting.
const END: u32 = u32::MAX;

impl Builder {
    fn add(&mut self, number: u32, passage: &Passage<'_>) {
        let mut lengths = [0; FIELDS.len()];
        let trail = passage.trail.join(" \u{b7} ");
        for (field, text) in FIELDS
            .into_iter()
            .zip([passage.heading, &trail, passage.body])
        {
            let length = tokens(text, |token| self.token(number, field, token));
            lengths[field as usize] = u64::from(length);
        }
        self.lengths.push(lengths);
    }

    fn token(&mut self, passage: u32, field: Field, token: Token) {
        match token {
            Token::Word { term, at } => {
                if !self.stems.contains_key(&term) {
                    self.stems
                        .insert(term.clone(), stem(&term).map(|stem| stem_term(&stem)));
                }
                if let Some(Some(stem)) = self.stems.get(&term) {
                    let stem = stem.clone();
                    self.count(passage, field, stem, None);
                }
                let place = (field as u32) << PLACE_BITS | at.min((1 << PLACE_BITS) - 1);
                self.count(passage, field, term, Some(place));
            }
            Token::Name { term, .. } => self.count(passage, field, term, None),
        }
    }

    fn count(&mut self, passage: u32, field: Field, term: String, place: Option<u32>) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(term).or_insert(next);
        if number == self.seen.len() {
            self.seen.push(Vec::new());
        }
        let seen = &mut self.seen[number];
        if seen.last().is_none_or(|last| last.passage != passage) {
            seen.push(Seen {
                passage,
                counts: [0; FIELDS.len()],
                places: Vec::new(),
            });
        }
        if let Some(last) = seen.last_mut() {
            last.counts[field as usize] += 1;
            last.places.extend(place);
            self.places += 1;
        }
    }

    fn finish(self) -> Result<Index, IndexError> {
        let totals = self.lengths.iter().fold([0; FIELDS.len()], |sum, lengths| {
            std::array::from_fn(|at| sum[at] + lengths[at])
        });
        let passages = self.lengths.len() as u64;
        let mut terms: Vec<(String, usize)> = self.numbers.into_iter().collect();
        terms.sort();
        let mut index = Index {
            passages: self.lengths.len(),
            dictionary: Map::default(),
            starts: Vec::with_capacity(terms.len() + 1),
            postings: Vec::new(),
            places: Vec::with_capacity(self.places),
        };
        let count = |count: usize| u32::try_from(count).map_err(|_| IndexError::TooManyWords);
        for (_, number) in &terms {
            index.starts.push(count(index.postings.len())?);
            for seen in &self.seen[*number] {
                let lengths = &self.lengths[seen.passage as usize];
                index.postings.push(Posting {
                    passage: seen.passage,
                    weight: weight(&seen.counts, lengths, &totals, passages),
                    first_place: count(index.places.len())?,
                    in_heading: seen.counts[Field::Heading as usize] > 0,
                });
                index.places.extend(&seen.places);
                index.places.push(END);
            }
        }
        index.starts.push(count(index.postings.len())?);
        let numbered = terms
            .iter()
            .zip(0..)
            .map(|((term, _), number)| (term, number));
        index.dictionary = Map::from_iter(numbered).map_err(|_| IndexError::TooManyWords)?;
        Ok(index)
    }
}

/// How much a term that occurs so often says of a passage with these lengths: BM25F, and what the heading and the trail
/// count besides.
fn weight(
    counts: &[u32; FIELDS.len()],
    lengths: &[u64; FIELDS.len()],
    totals: &[u64; FIELDS.len()],
    passages: u64,
) -> u32 {
    let sum: u64 = FIELDS
        .into_iter()
        .map(|field| {
            let at = field as usize;
            let quarters = field.length_quarters();
            // The average length over (1 - b) averages and b lengths, where b is so many quarters.
            let divisor = (4 - quarters) * totals[at] + quarters * lengths[at] * passages;
            field.weight() * u64::from(counts[at]) * 4 * totals[at] / divisor.max(1)
        })
        .sum();
    let by_count = sum * MOST_BY_COUNT / (sum + SATURATION);
    let has = |field: Field| counts[field as usize] > 0;
    let heading = if has(Field::Heading) { IN_HEADING } else { 0 };
    let trail = if has(Field::Trail) { IN_TRAIL } else { 0 };
    u32::try_from(by_count + heading + trail).unwrap_or(u32::MAX)
}
