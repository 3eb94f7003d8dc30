//! The index: a dictionary of terms, and for each term the passages that have it and how much that says.

use std::{collections::HashMap, sync::OnceLock};

use foldhash::fast::RandomState;
use fst::Map;

use crate::{
    analysis::{LONGEST_WORD, Reader, fold, parts, read, stem},
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
    numbers: HashMap<String, u32, RandomState>,
    /// The same in a form that can be searched for what is spelt almost the same; made when that is first needed.
    dictionary: OnceLock<Map<Vec<u8>>>,
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

/// A term at a place.
#[derive(Clone, Copy)]
struct Occurrence {
    term: u32,
    passage: u32,
    /// The field, and where in it.
    place: u32,
}

#[derive(Default)]
struct Builder {
    numbers: HashMap<String, u32, RandomState>,
    occurrences: Vec<Occurrence>,
    /// The words in what is written as one, and what is written as a name: each is taken apart once.
    written: HashMap<String, Box<[u32]>, RandomState>,
    names: HashMap<String, u32, RandomState>,
    lengths: Vec<[u64; FIELDS.len()]>,
    /// What each term is, by its number.
    kinds: Vec<Kind>,
    /// For the mark and the stem, again and again.
    stem: String,
}

/// What a term is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word, with its stem. Only the places of words count.
    Word { stem: Option<u32> },
    /// A name, a stem, or both.
    Other,
}

/// Takes in one field of a passage.
struct FieldReader<'b> {
    builder: &'b mut Builder,
    passage: u32,
    field: Field,
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
        self.dictionary.get_or_init(|| {
            let mut terms: Vec<(&String, u64)> = self
                .numbers
                .iter()
                .map(|(term, number)| (term, u64::from(*number)))
                .collect();
            terms.sort_unstable();
            // They are in order and different, which is all that is asked of them.
            Map::from_iter(terms).unwrap_or_default()
        })
    }

    /// The passages with `term`, in order.
    pub(super) fn postings(&self, term: &str) -> &[Posting] {
        match self.numbers.get(term) {
            Some(number) => &self.postings[self.range(*number as usize)],
            None => &[],
        }
    }

    /// How many passages have the term with this number.
    pub(super) fn frequency(&self, number: u64) -> usize {
        usize::try_from(number).map_or(0, |number| self.range(number).len())
    }

    fn range(&self, number: usize) -> std::ops::Range<usize> {
        self.starts[number] as usize..self.starts[number + 1] as usize
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

impl Reader for FieldReader<'_> {
    fn written(&mut self, written: &str, at: u32) -> u32 {
        // Most words are as they are compared already.
        let is_plain = written.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_plain && written.len() <= LONGEST_WORD {
            self.word(written, at);
            return 1;
        }
        let (passage, field) = (self.passage, self.field);
        if !self.builder.written.contains_key(written) {
            let words = parts(written);
            let words = words.iter().map(|word| self.builder.word(word)).collect();
            self.builder.written.insert(written.to_owned(), words);
        }
        let Builder {
            written: known,
            occurrences,
            kinds,
            ..
        } = &mut *self.builder;
        let words = known.get(written).map(|words| &**words).unwrap_or_default();
        for (word, at) in words.iter().zip(at..) {
            note(occurrences, kinds, *word, passage, place(field, at));
        }
        u32::try_from(words.len()).unwrap_or(u32::MAX)
    }

    fn word(&mut self, term: &str, at: u32) {
        let word = self.builder.word(term);
        let place = place(self.field, at);
        let Builder {
            occurrences, kinds, ..
        } = &mut *self.builder;
        note(occurrences, kinds, word, self.passage, place);
    }

    fn name(&mut self, written: &str, at: u32, _: u32) {
        let term = match self.builder.names.get(written) {
            Some(term) => *term,
            None => {
                let term = self.builder.number(&fold(written));
                self.builder.names.insert(written.to_owned(), term);
                term
            }
        };
        self.push(term, at);
    }
}

/// Notes a word, and its stem.
fn note(occurrences: &mut Vec<Occurrence>, kinds: &[Kind], term: u32, passage: u32, place: u32) {
    occurrences.push(Occurrence {
        term,
        passage,
        place,
    });
    if let Kind::Word { stem: Some(term) } = kinds[term as usize] {
        occurrences.push(Occurrence {
            term,
            passage,
            place,
        });
    }
}

fn place(field: Field, at: u32) -> u32 {
    (field as u32) << PLACE_BITS | at.min((1 << PLACE_BITS) - 1)
}

impl FieldReader<'_> {
    fn push(&mut self, term: u32, at: u32) {
        let place = place(self.field, at);
        let passage = self.passage;
        self.builder.occurrences.push(Occurrence {
            term,
            passage,
            place,
        });
    }
}

impl Builder {
    fn add(&mut self, passage: u32, texts: &Passage<'_>) {
        let mut lengths = [0; FIELDS.len()];
        let trail = texts.trail.join(" \u{b7} ");
        for (field, text) in FIELDS.into_iter().zip([texts.heading, &trail, texts.body]) {
            let mut reader = FieldReader {
                builder: self,
                passage,
                field,
            };
            lengths[field as usize] = u64::from(read(text, &mut reader));
        }
        self.lengths.push(lengths);
    }

    /// The number of a term.
    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(term.to_owned(), next);
        self.kinds.push(Kind::Other);
        next
    }

    /// The number of a word. The first time, its stem is found.
    fn word(&mut self, word: &str) -> u32 {
        let number = self.number(word);
        if self.kinds[number as usize] == Kind::Other {
            let stem = stem(word).map(|stem| {
                let mut term = std::mem::take(&mut self.stem);
                term.clear();
                term.push(STEM_MARK);
                term.push_str(&stem);
                let number = self.number(&term);
                self.stem = term;
                number
            });
            self.kinds[number as usize] = Kind::Word { stem };
        }
        number
    }

    fn finish(self) -> Result<Index, IndexError> {
        let totals = self.lengths.iter().fold([0; FIELDS.len()], |sum, lengths| {
            std::array::from_fn(|at| sum[at] + lengths[at])
        });
        let passages = self.lengths.len() as u64;
        let by_term = by_term(&self.occurrences, self.numbers.len());
        let mut index = Index {
            passages: self.lengths.len(),
            dictionary: OnceLock::new(),
            starts: Vec::with_capacity(self.numbers.len() + 1),
            numbers: self.numbers,
            postings: Vec::new(),
            places: Vec::with_capacity(self.occurrences.len()),
        };
        let count = |count: usize| u32::try_from(count).map_err(|_| IndexError::TooManyWords);
        for (number, kind) in (0..).zip(&self.kinds) {
            index.starts.push(count(index.postings.len())?);
            let occurrences = by_term.of(number);
            for together in occurrences.chunk_by(|one, next| one.passage == next.passage) {
                let mut counts = [0; FIELDS.len()];
                for one in together {
                    counts[(one.place >> PLACE_BITS) as usize] += 1;
                }
                let passage = together[0].passage;
                index.postings.push(Posting {
                    passage,
                    weight: weight(&counts, &self.lengths[passage as usize], &totals, passages),
                    first_place: count(index.places.len())?,
                    in_heading: counts[Field::Heading as usize] > 0,
                });
                if *kind != Kind::Other {
                    index.places.extend(together.iter().map(|one| one.place));
                }
                index.places.push(END);
            }
        }
        index.starts.push(count(index.postings.len())?);
        Ok(index)
    }
}

/// Occurrences, those of one term together, in the order in which they came.
struct ByTerm {
    starts: Vec<usize>,
    occurrences: Vec<Occurrence>,
}

impl ByTerm {
    fn of(&self, term: u32) -> &[Occurrence] {
        &self.occurrences[self.starts[term as usize]..self.starts[term as usize + 1]]
    }
}

fn by_term(occurrences: &[Occurrence], terms: usize) -> ByTerm {
    let mut starts = vec![0; terms + 1];
    for one in occurrences {
        starts[one.term as usize + 1] += 1;
    }
    for term in 0..terms {
        starts[term + 1] += starts[term];
    }
    let mut next = starts.clone();
    let mut sorted = occurrences.to_vec();
    for one in occurrences {
        let at = &mut next[one.term as usize];
        sorted[*at] = *one;
        *at += 1;
    }
    ByTerm {
        starts,
        occurrences: sorted,
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
        .filter(|field| counts[*field as usize] > 0)
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
