//! Collects the terms of passages and their positions: the input of an index, in memory or on disk.

use super::{
    Passage,
    field::{FIELDS, Field, Lengths, place},
    terms::{TermCount, add_up},
};
use crate::{
    analysis::{LONGEST_WORD, TokenSink, fold, parts, read, stem},
    table::{Table, Texts},
};

/// Terms and their positions. Words and names are counted separately, even if they are spelt the same: whether a name
/// is also a word must not depend on other passages.
#[derive(Default)]
pub(super) struct TermCollector {
    /// Maps a word to its number.
    pub(super) words: Table<u32>,
    /// Maps a name to its number.
    pub(super) names: Table<u32>,
    /// The text of each term, by number.
    pub(super) terms: Texts,
    /// The kind of each term, by number.
    kinds: Vec<TermKind>,
    /// Maps a stem to its number, which is in a separate numbering. Its positions are those of its words.
    pub(super) stems: Table<u32>,
    /// The text of each stem, by number.
    pub(super) stem_texts: Texts,
    /// Terms and their places, those of one passage together.
    found: Vec<(u32, u32)>,
    /// The end of each passage among them.
    ends: Vec<u32>,
    /// Number of words in the fields of each passage.
    pub(super) lengths: Vec<Lengths>,
    /// Caches of the words within a written word, and of written names, so that each is split only once.
    written_words: Table<Run>,
    written_names: Table<u32>,
    /// Numbers of words, those of one run together.
    runs: Vec<u32>,
}

/// The words within one written word.
#[derive(Clone, Copy)]
struct Run {
    start: u32,
    length: u32,
}

/// The kind of a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TermKind {
    /// A word, with its stem.
    Word {
        stem: Option<u32>,
    },
    Name,
}

/// The position of a term.
#[derive(Clone, Copy, Default)]
pub(super) struct Occurrence {
    pub(super) passage: u32,
    /// The field, and the position in it.
    pub(super) place: u32,
}

/// Collects one field of a passage.
struct FieldReader<'c> {
    collected: &'c mut TermCollector,
    field: Field,
}

impl TermCollector {
    /// Adds a passage.
    pub(super) fn add(&mut self, texts: &Passage<'_>) {
        let mut lengths = [0; FIELDS.len()];
        let mut read_field = |field: Field, text: &str, first: u32| {
            let mut reader = FieldReader {
                collected: self,
                field,
            };
            read(text, first, &mut reader)
        };
        lengths[Field::Heading as usize] = read_field(Field::Heading, texts.heading, 0);
        let mut at = 0;
        for (number, above) in texts.trail.iter().enumerate() {
            // A gap, so that the last word of one heading and the first of the next are not adjacent.
            let first = if number == 0 { 0 } else { at + 1 };
            let end = read_field(Field::Trail, above, first);
            lengths[Field::Trail as usize] += end - first;
            at = end;
        }
        lengths[Field::Body as usize] = read_field(Field::Body, texts.body, 0);
        self.lengths.push(lengths);
        self.ends
            .push(u32::try_from(self.found.len()).unwrap_or(u32::MAX));
    }

    /// Clears the passages, but keeps the cache of words.
    pub(super) fn forget_passages(&mut self) {
        self.found.clear();
        self.ends.clear();
        self.lengths.clear();
    }

    /// Returns the approximate number of strings cached.
    pub(super) fn remembered(&self) -> usize {
        self.terms.len() + self.written_words.len() + self.written_names.len()
    }

    /// Iterates over the terms and their positions.
    pub(super) fn found(&self) -> impl Iterator<Item = (u32, u32)> {
        self.found.iter().copied()
    }

    /// Returns the number of positions.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns whether a term is a word. Only the positions of words are stored.
    pub(super) fn is_word(&self, number: u32) -> bool {
        self.kinds[number as usize] != TermKind::Name
    }

    fn next_number(&self) -> u32 {
        u32::try_from(self.terms.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of a word, and computes its stem the first time.
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
        self.kinds.push(TermKind::Word { stem });
        number
    }

    /// Returns the number of a name, given as written.
    fn name(&mut self, written: &str) -> u32 {
        if let Some(number) = self.written_names.get(written) {
            return number;
        }
        let name = fold(written);
        let number = self.names.get(&name).unwrap_or_else(|| {
            let number = self.next_number();
            self.names.insert(&name, number);
            self.terms.push(&name);
            self.kinds.push(TermKind::Name);
            number
        });
        self.written_names.insert(written, number);
        number
    }

    /// Returns the words within one written word.
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

    /// Groups the words of all stems by stem.
    pub(super) fn forms(&self) -> Buckets<u32> {
        let stems = (0..).zip(&self.kinds);
        let stems = stems.filter_map(|(number, kind)| match kind {
            TermKind::Word { stem } => Some(((*stem)?, number)),
            TermKind::Name => None,
        });
        Buckets::new(self.stem_texts.len(), stems)
    }

    /// Groups all positions by term, in the order in which they were read.
    pub(super) fn by_term(&self) -> Buckets<Occurrence> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let ranges = starts
            .zip(&self.ends)
            .map(|(start, end)| start as usize..*end as usize);
        let passages = (0..).zip(ranges.map(|range| &self.found[range]));
        let found = passages.flat_map(|(passage, found)| {
            let occurrence = move |place| Occurrence { passage, place };
            found
                .iter()
                .map(move |(term, place)| (*term, occurrence(*place)))
        });
        Buckets::new(self.terms.len(), found)
    }
}

/// Values grouped by number, in insertion order within a group.
pub(super) struct Buckets<T> {
    starts: Vec<u32>,
    all: Vec<T>,
}

impl<T: Copy + Default> Buckets<T> {
    fn new(numbers: usize, things: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        // The start of each group is stored one index further on, and advances to its end while the group is filled.
        let mut starts = vec![0_u32; numbers + 2];
        let mut sum = 0;
        let counts = things.clone();
        counts.for_each(|(number, _)| starts[number as usize + 2] += 1);
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut all = vec![T::default(); sum as usize];
        things.for_each(|(number, thing)| {
            let at = &mut starts[number as usize + 1];
            all[*at as usize] = thing;
            *at += 1;
        });
        Self { starts, all }
    }

    pub(super) fn of(&self, number: u32) -> &[T] {
        let at = number as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl Buckets<Occurrence> {
    /// Merges several terms as if they were one: writes to `counts`, for each passage, how often its fields have any of
    /// them.
    pub(super) fn count(&self, terms: &[u32], counts: &mut Vec<TermCount>) {
        counts.clear();
        for term in terms {
            let together = self.of(*term);
            let together = together.chunk_by(|one, next| one.passage == next.passage);
            counts.extend(together.map(TermCount::of));
        }
        if terms.len() > 1 {
            add_up(counts);
        }
    }
}

impl TokenSink for FieldReader<'_> {
    fn written(&mut self, written: &str, at: u32) -> u32 {
        let is_plain = written.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_plain && written.len() <= LONGEST_WORD {
            self.word(written, at);
            return 1;
        }
        let run = self.collected.run(written);
        let field = self.field;
        let TermCollector { runs, found, .. } = &mut *self.collected;
        let words = runs.iter().skip(run.start as usize);
        let words = words.take(run.length as usize);
        found.extend(words.zip(at..).map(|(term, at)| (*term, place(field, at))));
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
        self.collected.found.push((term, place(self.field, at)));
    }
}
