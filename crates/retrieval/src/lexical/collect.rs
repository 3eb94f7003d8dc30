//! Passages read word by word: which term is where. What an index is made of, in memory or on disk.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{
    Passage,
    field::{FIELDS, Field, Lengths, place},
    terms::Counted,
};
use crate::analysis::{LONGEST_WORD, Reader, fold, parts, read, stem};

/// Terms and where they are. Words and names are counted apart, also where they are spelt the same: whether a name is a
/// word as well must not depend on other passages.
#[derive(Default)]
pub(super) struct Collected {
    /// From a word to its number.
    pub(super) words: HashMap<Box<str>, u32, RandomState>,
    /// From a name to its number.
    pub(super) names: HashMap<Box<str>, u32, RandomState>,
    /// From a stem to its number, which is of another kind. Where the stem is, its words say.
    pub(super) stems: HashMap<Box<str>, u32, RandomState>,
    /// What each term is, by its number.
    kinds: Vec<Kind>,
    occurrences: Vec<Occurrence>,
    /// How many words the fields of each passage have.
    pub(super) lengths: Vec<Lengths>,
    /// The words in what is written as one, and what is written as a name: each is taken apart once.
    written_words: HashMap<Box<str>, Box<[u32]>, RandomState>,
    written_names: HashMap<Box<str>, u32, RandomState>,
}

/// What a term is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word, with its stem.
    Word {
        stem: Option<u32>,
    },
    Name,
}

/// A term at a place.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    term: u32,
    pub(super) passage: u32,
    /// The field, and where in it.
    pub(super) place: u32,
}

/// Takes in one field of a passage.
struct FieldReader<'c> {
    collected: &'c mut Collected,
    passage: u32,
    field: Field,
}

impl Collected {
    /// Reads one more passage.
    pub(super) fn add(&mut self, texts: &Passage<'_>) {
        let passage = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut lengths = [0; FIELDS.len()];
        let mut read_field = |field: Field, text: &str, first: u32| {
            let mut reader = FieldReader {
                collected: self,
                passage,
                field,
            };
            read(text, first, &mut reader)
        };
        lengths[Field::Heading as usize] = read_field(Field::Heading, texts.heading, 0);
        let mut at = 0;
        for (number, above) in texts.trail.iter().enumerate() {
            // A gap, so that the last word of one and the first of the next are no neighbours.
            let first = if number == 0 { 0 } else { at + 1 };
            let end = read_field(Field::Trail, above, first);
            lengths[Field::Trail as usize] += end - first;
            at = end;
        }
        lengths[Field::Body as usize] = read_field(Field::Body, texts.body, 0);
        self.lengths.push(lengths);
    }

    /// How many places were read.
    pub(super) fn len(&self) -> usize {
        self.occurrences.len()
    }

    /// How many terms there are.
    pub(super) fn terms(&self) -> usize {
        self.kinds.len()
    }

    /// Whether a term is a word. Only the places of words count.
    pub(super) fn is_word(&self, number: u32) -> bool {
        self.kinds[number as usize] != Kind::Name
    }

    fn next_number(&self) -> u32 {
        u32::try_from(self.kinds.len()).unwrap_or(u32::MAX)
    }

    /// The number of a word. The first time, its stem is found.
    fn word(&mut self, word: &str) -> u32 {
        if let Some(number) = self.words.get(word) {
            return *number;
        }
        let number = self.next_number();
        self.words.insert(word.into(), number);
        let stem = stem(word).map(|stem| match self.stems.get(&*stem) {
            Some(stem) => *stem,
            None => {
                let next = u32::try_from(self.stems.len()).unwrap_or(u32::MAX);
                self.stems.insert(stem.into(), next);
                next
            }
        });
        self.kinds.push(Kind::Word { stem });
        number
    }

    /// The number of a name, as it is written.
    fn name(&mut self, written: &str) -> u32 {
        if let Some(number) = self.written_names.get(written) {
            return *number;
        }
        let name = fold(written);
        let number = self.names.get(name.as_str()).copied();
        let number = number.unwrap_or_else(|| {
            let number = self.next_number();
            self.names.insert(name.into(), number);
            self.kinds.push(Kind::Name);
            number
        });
        self.written_names.insert(written.into(), number);
        number
    }

    /// The words of each stem, by its number.
    pub(super) fn forms(&self) -> Vec<Vec<u32>> {
        let mut forms = vec![Vec::new(); self.stems.len()];
        for (number, kind) in (0..).zip(&self.kinds) {
            if let Kind::Word { stem: Some(stem) } = kind {
                forms[*stem as usize].push(number);
            }
        }
        forms
    }

    /// All places, those of one term together, in the order in which they came.
    pub(super) fn by_term(&self) -> ByTerm {
        let terms = self.terms();
        let mut starts = vec![0_u32; terms + 1];
        for one in &self.occurrences {
            starts[one.term as usize + 1] += 1;
        }
        for term in 0..terms {
            starts[term + 1] += starts[term];
        }
        let mut next = starts.clone();
        let mut sorted = self.occurrences.clone();
        for one in &self.occurrences {
            let at = &mut next[one.term as usize];
            sorted[*at as usize] = *one;
            *at += 1;
        }
        ByTerm {
            starts,
            occurrences: sorted,
        }
    }
}

/// Places, those of one term together.
pub(super) struct ByTerm {
    starts: Vec<u32>,
    occurrences: Vec<Occurrence>,
}

impl ByTerm {
    /// What is said of a term: for each passage, how often its fields have it.
    pub(super) fn counts(&self, term: u32) -> Vec<Counted> {
        let together = self
            .of(term)
            .chunk_by(|one, next| one.passage == next.passage);
        together.map(Counted::of).collect()
    }

    pub(super) fn of(&self, term: u32) -> &[Occurrence] {
        let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
        &self.occurrences[range]
    }
}

impl Reader for FieldReader<'_> {
    fn written(&mut self, written: &str, at: u32) -> u32 {
        // Most words are as they are compared already.
        let is_plain = written.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_plain && written.len() <= LONGEST_WORD {
            self.word(written, at);
            return 1;
        }
        if !self.collected.written_words.contains_key(written) {
            let words = parts(written);
            let words = words.iter().map(|word| self.collected.word(word)).collect();
            self.collected.written_words.insert(written.into(), words);
        }
        let (passage, field) = (self.passage, self.field);
        let Collected {
            written_words: known,
            occurrences,
            ..
        } = &mut *self.collected;
        let words = known.get(written).map(|words| &**words).unwrap_or_default();
        occurrences.extend(words.iter().zip(at..).map(|(term, at)| Occurrence {
            term: *term,
            passage,
            place: place(field, at),
        }));
        u32::try_from(words.len()).unwrap_or(u32::MAX)
    }

    fn word(&mut self, term: &str, at: u32) {
        let term = self.collected.word(term);
        self.push(term, at);
    }

    fn name(&mut self, written: &str, at: u32, _: u32) {
        let term = self.collected.name(written);
        self.push(term, at);
    }
}

impl FieldReader<'_> {
    fn push(&mut self, term: u32, at: u32) {
        self.collected.occurrences.push(Occurrence {
            term,
            passage: self.passage,
            place: place(self.field, at),
        });
    }
}
