//! Collects the terms of passages and their positions: the input of an index, in memory or on disk.

use super::{
    Passage,
    field::{FIELDS, Field, Lengths, place},
    found::FoundTerms,
    terms::{TermCount, add_up},
};
use crate::{
    analysis::{LONGEST_WORD, TokenSink, fold, parts, read, stem},
    table::{Table, Texts},
};

/// The most groups in which positions are sorted by term, and the fewest positions that are worth a group of their own:
/// each takes another look at all of them.
const MOST_GROUPS: usize = 4;
const LEAST_TOGETHER: usize = 1 << 20;

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
    /// Terms and their places.
    found: FoundTerms,
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
        self.found.end_passage();
    }

    /// Clears the passages, but keeps the cache of words.
    pub(super) fn forget_passages(&mut self) {
        self.found.clear();
        self.lengths.clear();
    }

    /// Returns the approximate number of strings cached.
    pub(super) fn remembered(&self) -> usize {
        self.terms.len() + self.written_words.len() + self.written_names.len()
    }

    /// Iterates over the terms and their positions.
    pub(super) fn found(&self) -> impl Iterator<Item = (u32, u32)> {
        self.found.iter().map(|(term, at)| (term, at.place))
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
        Buckets::new(self.terms.len(), self.found.iter())
    }

    /// Calls `take` for each term in the order of `ranks`, which has the rank of each term, with its positions in the
    /// order in which they were read. To save memory, only some of them are grouped at a time.
    pub(super) fn each_by_rank(&self, ranks: &[u32], mut take: impl FnMut(u32, &[Occurrence])) {
        let mut counts = vec![0_usize; ranks.len()];
        for (term, _) in self.found.iter() {
            counts[ranks[term as usize] as usize] += 1;
        }
        let most = LEAST_TOGETHER.max(self.found.len().div_ceil(MOST_GROUPS));
        let mut start = 0;
        while start < counts.len() {
            let mut sum = 0;
            let fits = counts[start..].iter().take_while(|count| {
                sum += **count;
                sum <= most
            });
            // A group has at least one term, however frequent it is.
            let end = start + fits.count().max(1);
            let inside = start as u32..end as u32;
            let found = self.found.iter().filter_map(|(term, occurrence)| {
                let rank = ranks[term as usize];
                let is_inside = inside.contains(&rank);
                is_inside.then(|| (rank - inside.start, occurrence))
            });
            let group = Buckets::of_counts(&counts[start..end], found);
            for rank in inside.clone() {
                take(rank, group.of(rank - inside.start));
            }
            start = end;
        }
    }
}

/// Values grouped by number, in insertion order within a group.
pub(super) struct Buckets<T> {
    starts: Vec<u32>,
    all: Vec<T>,
}

impl<T: Copy + Default> Buckets<T> {
    fn new(numbers: usize, things: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut counts = vec![0; numbers];
        let numbers = things.clone();
        numbers.for_each(|(number, _)| counts[number as usize] += 1);
        Self::of_counts(&counts, things)
    }

    /// Groups things, of which there are this many for each number.
    fn of_counts(counts: &[usize], things: impl Iterator<Item = (u32, T)>) -> Self {
        // The start of each group is stored one index further on, and advances to its end while the group is filled.
        let mut starts = Vec::with_capacity(counts.len() + 2);
        let mut sum = 0_u32;
        starts.extend([0, 0]);
        for count in counts {
            sum += *count as u32;
            starts.push(sum);
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
        for (term, at) in words.zip(at..) {
            found.push(*term, place(field, at));
        }
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
        self.collected.found.push(term, place(self.field, at));
    }
}
