//! The words of a segment, in the form of a file.
//!
//! Parts: three dictionaries (words, names, stems), the words of each stem, the posting lists ([`super::lists`]) and the
//! lengths of the passages. A stem is only listed if it has other words than itself. Its passages are those of its words.

use std::sync::Arc;

use super::{
    Passage, Posting,
    collect::TermCollector,
    dictionary::{self, Dictionary},
    field::{FIELDS, Field, Lengths, place},
    lists::{ListWriter, Lists},
    terms::{NO_PLACES, TermCount},
};
use crate::{
    analysis::{Token, stem, tokens},
    bytes::Bytes,
    container::{Container, FormatError, Name},
    headings::Headings,
    table::Texts,
    varint::{self, Numbers},
};

const WORDS: Name = *b"words   ";
const NAMES: Name = *b"names   ";
const STEMS: Name = *b"stems   ";
const FORMS: Name = *b"forms   ";
const LENGTHS: Name = *b"lengths ";

/// Builds the words of a file.
#[derive(Default)]
pub(crate) struct LexicalBuilder(TermCollector);

impl LexicalBuilder {
    pub(crate) fn add(&mut self, passage: &Passage<'_>) {
        self.0.add(passage);
    }

    /// Returns the parts of the file.
    pub(crate) fn finish(self) -> Vec<(Name, Vec<u8>)> {
        let collected = self.0;
        let all = 0..collected.terms.len();
        let (words, names): (Vec<usize>, Vec<usize>) =
            all.partition(|number| collected.is_word(*number as u32));
        let (words, names) = (
            sorted(&collected.terms, words),
            sorted(&collected.terms, names),
        );
        // Terms are numbered alphabetically in a file, names after words.
        let mut new_numbers = vec![0_u32; collected.terms.len()];
        for (new, (_, old)) in (0..).zip(words.iter().chain(&names)) {
            new_numbers[*old as usize] = new;
        }
        let mut lists = ListWriter::new(&collected.lengths);
        collected.each_by_rank(&new_numbers, |number, occurrences| {
            lists.add(occurrences, (number as usize) < words.len());
        });
        let (stems, forms) = stems(&collected, &new_numbers);
        let mut lengths = Vec::with_capacity(collected.lengths.len() * FIELDS.len());
        for length in collected.lengths.iter().flatten() {
            varint::write(&mut lengths, *length);
        }
        let mut parts = vec![
            (WORDS, dictionary::written(numbered(&words, 0))),
            (NAMES, dictionary::written(numbered(&names, words.len()))),
            (STEMS, stems),
            (FORMS, forms),
            (LENGTHS, lengths),
        ];
        parts.extend(lists.finish());
        parts
    }
}

/// Writes the stems that have other words than themselves, and their words: the number of the word, doubled, or else the
/// offset of their numbers, doubled plus one.
fn stems(collected: &TermCollector, new_numbers: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let forms = collected.forms();
    let text_of = |stem: usize| collected.stem_texts.get(stem);
    let is_listed = |stem: &usize| match forms.of(*stem as u32) {
        [one] => collected.terms.get(*one as usize) != text_of(*stem),
        _ => true,
    };
    let listed = (0..collected.stem_texts.len()).filter(is_listed).collect();
    let mut several = Vec::new();
    let mut numbers = Vec::new();
    for (stem, old) in sorted(&collected.stem_texts, listed) {
        let words = forms.of(old).iter();
        let words: Vec<u32> = words.map(|word| new_numbers[*word as usize]).collect();
        let value = match words.as_slice() {
            [one] => u64::from(*one) << 1,
            words => {
                let start = several.len() as u64;
                varint::write(&mut several, words.len() as u32);
                words
                    .iter()
                    .for_each(|word| varint::write(&mut several, *word));
                start << 1 | 1
            }
        };
        numbers.push((stem, value));
    }
    (dictionary::written(numbers), several)
}

/// Returns the strings with these numbers, sorted alphabetically.
fn sorted(texts: &Texts, numbers: Vec<usize>) -> Vec<(&str, u32)> {
    let mut sorted: Vec<(&str, u32)> = numbers
        .into_iter()
        .map(|number| (texts.get(number), number as u32))
        .collect();
    sorted.sort_unstable();
    sorted
}

/// Numbers the keys in order, starting at `first`.
fn numbered<'k>(sorted: &[(&'k str, u32)], first: usize) -> Vec<(&'k str, u64)> {
    let keys = sorted.iter().map(|(key, _)| *key);
    keys.zip(first as u64..).collect()
}

/// The words of an open file.
#[derive(Debug)]
pub(crate) struct LexicalSegment {
    words: Dictionary,
    names: Dictionary,
    stems: Dictionary,
    forms: Bytes,
    lists: Lists,
    lengths: Vec<Lengths>,
    longest: Lengths,
    /// The words of headings and trails have no positions in the lists; they are read again instead.
    headings: Arc<Headings>,
}

impl LexicalSegment {
    /// Opens the words of a file.
    pub(crate) fn open(
        container: &Container,
        headings: Arc<Headings>,
    ) -> Result<Self, FormatError> {
        let dictionary = |name| Dictionary::open(container.part(name)?);
        let lengths = Self::lengths_in(container)?;
        let mut longest = [0; FIELDS.len()];
        for here in &lengths {
            for (longest, here) in longest.iter_mut().zip(here) {
                *longest = (*here).max(*longest);
            }
        }
        let words = dictionary(&WORDS)?;
        Ok(Self {
            lengths,
            longest,
            lists: Lists::open(container, words.len())?,
            words,
            names: dictionary(&NAMES)?,
            stems: dictionary(&STEMS)?,
            forms: container.part(&FORMS)?,
            headings,
        })
    }

    fn lengths_in(container: &Container) -> Result<Vec<Lengths>, FormatError> {
        let part = container.part(&LENGTHS)?;
        let mut numbers = Numbers::new(part.as_ref());
        let mut lengths = Vec::with_capacity(part.as_ref().len() / FIELDS.len());
        while !numbers.is_at_end() {
            let mut next = || numbers.next().ok_or(FormatError::Damaged);
            lengths.push([next()?, next()?, next()?]);
        }
        Ok(lengths)
    }

    /// Returns whether a read found that lists or positions have changed since the file was opened.
    pub(crate) fn is_damaged(&self) -> bool {
        self.lists.is_damaged()
    }

    /// Re-reads lists and positions; returns whether they are unchanged since the file was opened.
    pub(crate) fn is_whole(&self) -> bool {
        self.lists.is_whole()
    }

    /// Returns the number of passages.
    pub(crate) fn passages(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the length of each field of a passage.
    #[inline]
    pub(super) fn lengths(&self, passage: usize) -> Lengths {
        self.lengths.get(passage).copied().unwrap_or_default()
    }

    /// Returns the greatest length of each field.
    pub(super) fn longest(&self) -> Lengths {
        self.longest
    }

    /// Returns the dictionaries of words and of names.
    pub(super) fn dictionaries(&self) -> [&Dictionary; 2] {
        [&self.words, &self.names]
    }

    /// Returns the numbers of a term: as a word, and as a name.
    pub(super) fn term(&self, term: &str) -> Vec<usize> {
        let numbers = self.dictionaries().map(|dictionary| dictionary.get(term));
        numbers.into_iter().flatten().collect()
    }

    /// Returns the numbers of the words that have a stem.
    pub(super) fn stem(&self, text: &str) -> Vec<usize> {
        let Some(value) = self.stems.get(text) else {
            let word = self.words.get(text);
            let is_own_stem = || stem(text).as_deref() == Some(text);
            return word.filter(|_| is_own_stem()).into_iter().collect();
        };
        if value & 1 == 0 {
            return vec![value >> 1];
        }
        let mut numbers = Numbers::new(self.forms.as_ref().get(value >> 1..).unwrap_or_default());
        let count = numbers.next().unwrap_or_default() as usize;
        let words = numbers.take(count).map(|word| word as usize);
        words.collect()
    }

    /// Calls `take` for every passage with the term of this number, in order, at most once each.
    #[inline]
    pub(super) fn list(&self, number: usize, take: impl FnMut(TermCount)) {
        self.lists.each(number, &self.lengths, take);
    }

    /// Returns the positions of a word in a passage, in order.
    pub(super) fn places(&self, posting: &Posting, passage: u32, word: &str) -> Vec<u32> {
        let mut places = Vec::new();
        if posting.in_headings() {
            self.places_in_headings(passage as usize, word, &mut places);
        }
        if posting.first_place != NO_PLACES {
            let length = self.lengths(passage as usize)[Field::Body as usize];
            let body = self
                .lists
                .places(posting.first_place, posting.places(), length);
            places.extend(body.into_iter().map(|at| place(Field::Body, at)));
        }
        places
    }

    fn places_in_headings(&self, passage: usize, word: &str, places: &mut Vec<u32>) {
        let mut read = |field: Field, text: &str, first: u32| {
            let words = tokens(text, |token| match token {
                Token::Word { term, at } if term == word => places.push(place(field, first + at)),
                _ => {}
            });
            first + words
        };
        let (trail, heading) = self.headings.trail_and_heading(passage);
        read(Field::Heading, heading, 0);
        let mut at = 0;
        for (number, above) in trail.into_iter().enumerate() {
            // As when they were collected.
            at = read(Field::Trail, above, if number == 0 { 0 } else { at + 1 });
        }
    }
}
