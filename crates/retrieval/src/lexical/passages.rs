//! Encodes the words of passages for an external store, such as a database, which keeps them with each passage.
//!
//! The encoding is a sequence of entries, sorted by their bytes: the length of the term, doubled, plus one for a name;
//! the term; the length in bytes of its positions; and the positions, each as the distance from the previous one. All
//! numbers are [`varint`]s.

use super::{Passage, collect::TermCollector};
use crate::varint;

/// The most strings cached. A round number that bounds the memory; the cache is cleared beyond it.
const MOST_REMEMBERED: usize = 500_000;

/// The encoded words of a passage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageWords {
    /// Number of words in its heading, trail and body.
    pub lengths: [u32; 3],
    /// Its words and names with their positions, as needed to rank candidates.
    pub encoded: Vec<u8>,
}

/// Reads one passage after the other. Caches the words that it has met; the cache does not affect the results.
#[derive(Default)]
pub struct PassageReader {
    collected: TermCollector,
    /// Terms and positions of the passage.
    found: Vec<(u32, u32)>,
    places: Vec<u8>,
}

impl PassageReader {
    /// Reads a passage.
    #[must_use]
    pub fn read(&mut self, passage: &Passage<'_>) -> PassageWords {
        if self.collected.remembered() > MOST_REMEMBERED {
            self.collected = TermCollector::default();
        }
        let Self {
            collected,
            found,
            places,
        } = self;
        collected.forget_passages();
        collected.add(passage);
        found.clear();
        found.extend(collected.found());
        found.sort_unstable();
        let entry = |found: &[(u32, u32)]| {
            let term = collected.terms.get(found[0].0 as usize);
            (beginning(term), term, !collected.is_word(found[0].0))
        };
        let entries = found.chunk_by(|one, next| one.0 == next.0);
        let mut entries: Vec<_> = entries.map(|found| (entry(found), found)).collect();
        entries.sort_unstable_by_key(|(entry, _)| *entry);
        let mut encoded = Vec::with_capacity(found.len() * 10);
        for ((_, term, is_name), found) in entries {
            let length = u32::try_from(term.len()).unwrap_or(u32::MAX);
            varint::write(&mut encoded, length << 1 | u32::from(is_name));
            encoded.extend_from_slice(term.as_bytes());
            places.clear();
            let mut last = 0;
            for (_, place) in found {
                varint::write(places, place - last);
                last = *place;
            }
            let length = u32::try_from(places.len()).unwrap_or(u32::MAX);
            varint::write(&mut encoded, length);
            encoded.extend_from_slice(places);
        }
        PassageWords {
            lengths: collected.lengths.first().copied().unwrap_or_default(),
            encoded,
        }
    }
}

/// Returns the first bytes as a number that sorts like the text, as far as those bytes decide.
fn beginning(text: &str) -> u64 {
    let mut first = [0; 8];
    for (to, byte) in first.iter_mut().zip(text.as_bytes()) {
        *to = *byte;
    }
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_read_before_makes_no_difference(
            bodies in proptest::collection::vec("([a-c]{1,9}(ing)? |MaxA |maxa |max_a |漢字 |a\\.b |\\PC{0,4} ){0,9}", 1..6),
        ) {
            let mut reader = PassageReader::default();
            for body in &bodies {
                let passage = Passage { heading: "A heading", trail: vec!["a", "B c"], body };
                prop_assert_eq!(reader.read(&passage), PassageReader::default().read(&passage));
            }
        }
    }
}
