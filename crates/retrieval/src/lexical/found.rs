//! Terms and their places in the order in which they were read, in few bytes: an index of many passages holds all of
//! them until it is written.
//!
//! Frequent terms have small numbers, because they are met early, and most places are the next ones.

use std::{iter::Enumerate, ops::Range, slice::Windows};

use super::collect::Occurrence;
use crate::varint::{self, Numbers};

/// Terms and their places, passage by passage.
pub(super) struct FoundTerms {
    /// For each, the number of the term, doubled, plus one if its place is not the expected one; then the distance
    /// follows.
    bytes: Vec<u8>,
    /// The start of each passage, and the end of the last.
    bounds: Vec<u32>,
    count: usize,
    expected: u32,
}

impl Default for FoundTerms {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            bounds: vec![0],
            count: 0,
            expected: 0,
        }
    }
}

impl FoundTerms {
    /// Adds a term to the current passage.
    #[inline]
    pub(super) fn push(&mut self, term: u32, place: u32) {
        let is_elsewhere = place != self.expected;
        varint::write(&mut self.bytes, term << 1 | u32::from(is_elsewhere));
        if is_elsewhere {
            varint::write_distance(&mut self.bytes, self.expected as usize, place as usize);
        }
        self.expected = place + 1;
        self.count += 1;
    }

    /// Ends the current passage.
    pub(super) fn end_passage(&mut self) {
        let end = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bounds.push(end);
        self.expected = 0;
    }

    /// Removes all passages.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bounds.truncate(1);
        (self.count, self.expected) = (0, 0);
    }

    /// Returns the number of places.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Iterates over the terms and their places, passage by passage.
    pub(super) fn iter(&self) -> FoundReader<'_> {
        FoundReader {
            bytes: &self.bytes,
            passages: self.bounds.windows(2).enumerate(),
            passage: 0,
            numbers: Numbers::new(&[]),
            expected: 0,
        }
    }
}

/// Reads terms and their places.
#[derive(Clone)]
pub(super) struct FoundReader<'f> {
    bytes: &'f [u8],
    passages: Enumerate<Windows<'f, u32>>,
    passage: u32,
    numbers: Numbers<'f>,
    expected: u32,
}

impl Iterator for FoundReader<'_> {
    type Item = (u32, Occurrence);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(number) = self.numbers.next() {
                let place = match number & 1 {
                    0 => self.expected,
                    _ => self.numbers.next_after(self.expected)?,
                };
                self.expected = place + 1;
                let passage = self.passage;
                return Some((number >> 1, Occurrence { passage, place }));
            }
            let (number, bounds) = self.passages.next()?;
            let range: Range<usize> = bounds[0] as usize..bounds[1] as usize;
            self.numbers = Numbers::new(self.bytes.get(range)?);
            (self.passage, self.expected) = (number as u32, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_found_comes_back(
            passages in proptest::collection::vec(proptest::collection::vec((0..1_u32 << 31, 0..u32::MAX), 0..6), 0..5),
        ) {
            let mut found = FoundTerms::default();
            // What was cleared leaves no trace.
            found.push(7, 7);
            found.end_passage();
            found.clear();
            let mut expected = Vec::new();
            for (passage, places) in (0..).zip(&passages) {
                for (term, place) in places {
                    // As in a text, each place is followed by the next one.
                    for place in [*place, place + 1] {
                        found.push(*term, place.min(u32::MAX - 1));
                        expected.push((*term, passage, place.min(u32::MAX - 1)));
                    }
                }
                found.end_passage();
            }
            prop_assert_eq!(found.len(), expected.len());
            let read = found.iter().map(|(term, at)| (term, at.passage, at.place));
            prop_assert_eq!(read.collect::<Vec<_>>(), expected);
        }
    }
}
