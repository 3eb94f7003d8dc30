//! Passages read word by word: which term is where. What an index is made of, in memory or on disk.

use super::{
    Passage,
    field::{FIELDS, Field, Lengths, place},
    terms::{Counted, add_up},
};
use crate::{
    analysis::{LONGEST_WORD, Reader, fold, parts, read, stem},
    table::{Table, Texts},
};

/// Terms and where they are. Words and names are counted apart, also where they are spelt the same: whether a name is a
/// word as well must not depend on other passages.
#[derive(Default)]
pub(super) struct Collected {
    /// From a word to its number.
    pub(super) words: Table<u32>,
    /// From a name to its number.
    pub(super) names: Table<u32>,
    /// What each term is called, by its number.
    pub(super) terms: Texts,
    /// What each term is, by its number.
    kinds: Vec<Kind>,
    /// From a stem to its number, which is of another kind. Where the stem is, its words say.
    pub(super) stems: Table<u32>,
    /// What each stem is called, by its number.
    pub(super) stem_texts: Texts,
    found: Vec<Found>,
    /// How many words the fields of each passage have.
    pub(super) lengths: Vec<Lengths>,
    /// The words in what is written as one, and what is written as a name: each is taken apart once.
    written_words: Table<Run>,
    written_names: Table<u32>,
    /// Numbers of words, those of one run together.
    runs: Vec<u32>,
}

/// The words in what is written as one.
#[derive(Clone, Copy)]
struct Run {
    start: u32,
    length: u32,
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

/// A term somewhere.
#[derive(Clone, Copy)]
struct Found {
    term: u32,
    at: Occurrence,
}

/// Where a term is.
#[derive(Clone, Copy, Default)]
pub(super) struct Occurrence {
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

    /// Forgets what was read, and not what was found out about words.
    pub(super) fn forget_passages(&mut self) {
        self.found.clear();
        self.lengths.clear();
    }

    /// About how many texts are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.terms.len() + self.written_words.len() + self.written_names.len()
    }

    /// The terms and their places.
    pub(super) fn found(&self) -> impl Iterator<Item = (u32, u32)> {
        self.found.iter().map(|found| (found.term, found.at.place))
    }

    /// How many places were read.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether a term is a word. Only the places of words count.
    pub(super) fn is_word(&self, number: u32) -> bool {
        self.kinds[number as usize] != Kind::Name
    }

    fn next_number(&self) -> u32 {
        u32::try_from(self.terms.len()).unwrap_or(u32::MAX)
    }

    /// The number of a word. The first time, its stem is found.
    fn word(&mut self, word: &str) -> u32 {
        if let Some(number) = self.words.get(word) {
            return number;
        }
        let number = self.next_number();
        self.words.insert(word, number);
        self.terms.push(word);
        let stem = stem(word).map(|stem| match self.stems.get(&stem) {
            Some(stem) => stem,
            None => {
                let next = u32::try_from(self.stem_texts.len()).unwrap_or(u32::MAX);
                self.stems.insert(&stem, next);
                self.stem_texts.push(&stem);
                next
            }
        });
        self.kinds.push(Kind::Word { stem });
        number
    }

    /// The number of a name, as it is written.
    fn name(&mut self, written: &str) -> u32 {
        if let Some(number) = self.written_names.get(written) {
            return number;
        }
        let name = fold(written);
        let number = self.names.get(&name).unwrap_or_else(|| {
            let number = self.next_number();
            self.names.insert(&name, number);
            self.terms.push(&name);
            self.kinds.push(Kind::Name);
            number
        });
        self.written_names.insert(written, number);
        number
    }

    /// The words in what is written as one.
    fn run(&mut self, written: &str) -> Run {
        if let Some(run) = self.written_words.get(written) {
            return run;
        }
        let start = self.runs.len();
        for word in parts(written) {
            let number = self.word(&word);
            self.runs.push(number);
        }
        let run = Run {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            length: u32::try_from(self.runs.len() - start).unwrap_or(u32::MAX),
        };
        self.written_words.insert(written, run);
        run
    }

    /// The words of all stems, those of one stem together.
    pub(super) fn forms(&self) -> Together<u32> {
        let stems = (0..).zip(&self.kinds);
        let stems = stems.filter_map(|(number, kind)| match kind {
            Kind::Word { stem } => Some(((*stem)?, number)),
            Kind::Name => None,
        });
        Together::new(self.stem_texts.len(), stems)
    }

    /// All places, those of one term together, in the order in which they came.
    pub(super) fn by_term(&self) -> Together<Occurrence> {
        let found = self.found.iter().map(|found| (found.term, found.at));
        Together::new(self.terms.len(), found)
    }
}

/// Things by the number of what they belong to, those of one number together, in the order in which they came.
pub(super) struct Together<T> {
    starts: Vec<u32>,
    all: Vec<T>,
}

impl<T: Copy + Default> Together<T> {
    fn new(numbers: usize, things: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        // Where those of a number start is one further on, and moves to its end while they are put in.
        let mut starts = vec![0_u32; numbers + 2];
        let mut sum = 0;
        for (number, _) in things.clone() {
            starts[number as usize + 2] += 1;
        }
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut all = vec![T::default(); sum as usize];
        for (number, thing) in things {
            let at = &mut starts[number as usize + 1];
            all[*at as usize] = thing;
            *at += 1;
        }
        Self { starts, all }
    }

    pub(super) fn of(&self, number: u32) -> &[T] {
        let at = number as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl Together<Occurrence> {
    /// What is said of several terms as if they were one: for each passage, how often its fields have one of them. It is
    /// put into `counts`.
    pub(super) fn count(&self, terms: &[u32], counts: &mut Vec<Counted>) {
        counts.clear();
        for term in terms {
            let together = self.of(*term);
            let together = together.chunk_by(|one, next| one.passage == next.passage);
            counts.extend(together.map(Counted::of));
        }
        if terms.len() > 1 {
            add_up(counts);
        }
    }
}

impl Reader for FieldReader<'_> {
    fn written(&mut self, written: &str, at: u32) -> u32 {
        let is_plain = written.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_plain && written.len() <= LONGEST_WORD {
            self.word(written, at);
            return 1;
        }
        let run = self.collected.run(written);
        let (passage, field) = (self.passage, self.field);
        let Collected { runs, found, .. } = &mut *self.collected;
        let words = runs.iter().skip(run.start as usize);
        let words = words.take(run.length as usize);
        found.extend(words.zip(at..).map(|(term, at)| Found {
            term: *term,
            at: Occurrence {
                passage,
                place: place(field, at),
            },
        }));
        run.length
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
        self.collected.found.push(Found {
            term,
            at: Occurrence {
                passage: self.passage,
                place: place(self.field, at),
            },
        });
    }
}
