//! A sorted map from strings to numbers, as part of a file: an automaton, or a plain list if there are few strings,
//! because an automaton takes long to build.

use fst::Map;

use super::spelling::{NearWord, NearWords};
use crate::{
    bytes::Bytes,
    container::FormatError,
    varint::{self, Numbers},
};

/// Fewer strings than this are kept in a list.
const FEW: usize = 2_048;
/// The first byte of a list, and of an automaton.
const LIST: u8 = 0;
const AUTOMATON: u8 = 1;

/// Writes a map from strings, which are sorted and distinct.
pub(super) fn written(sorted: Vec<(&str, u64)>) -> Vec<u8> {
    if sorted.len() < FEW {
        let mut out = vec![LIST];
        for (text, number) in sorted {
            varint::write(&mut out, u32::try_from(text.len()).unwrap_or(u32::MAX));
            out.extend_from_slice(text.as_bytes());
            varint::write(&mut out, u32::try_from(number).unwrap_or(u32::MAX));
        }
        return out;
    }
    let mut builder = fst::MapBuilder::new(vec![AUTOMATON]);
    // They are sorted and distinct, which is all that is required of them.
    let built = builder
        .as_mut()
        .map_err(|_| ())
        .and_then(|builder| builder.extend_iter(sorted).map_err(|_| ()));
    let built = built.and_then(|()| builder.map_err(|_| ())?.into_inner().map_err(|_| ()));
    built.unwrap_or_else(|()| vec![LIST])
}

/// A map in an open file.
#[derive(Debug)]
pub(super) enum Dictionary {
    List(SortedList),
    Automaton(Map<Bytes>),
}

/// Strings and their numbers.
#[derive(Debug)]
pub(super) struct SortedList {
    bytes: Bytes,
    /// Start and end of each string, and its number.
    entries: Vec<(u32, u32, u32)>,
}

impl Dictionary {
    pub(super) fn open(part: Bytes) -> Result<Self, FormatError> {
        let opened = || {
            let (kind, rest) = part.as_ref().split_first()?;
            match *kind {
                LIST => SortedList::open(&part, rest).map(Self::List),
                AUTOMATON => Some(Self::Automaton(
                    Map::new(part.slice(1..part.as_ref().len())?).ok()?,
                )),
                _ => None,
            }
        };
        opened().ok_or(FormatError::Damaged)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.entries.len(),
            Self::Automaton(map) => map.len(),
        }
    }

    pub(super) fn get(&self, text: &str) -> Option<usize> {
        match self {
            Self::List(list) => list.get(text),
            Self::Automaton(map) => usize::try_from(map.get(text)?).ok(),
        }
    }

    /// Returns the words similar to `word`.
    pub(super) fn nearest(&self, word: &str) -> Vec<NearWord> {
        match self {
            Self::List(list) => list.nearest(word),
            Self::Automaton(map) => super::spelling::nearest(map, word),
        }
    }
}

impl SortedList {
    fn open(part: &Bytes, rest: &[u8]) -> Option<Self> {
        let all = part.as_ref().len();
        let mut entries = Vec::new();
        let mut numbers = Numbers::new(rest);
        while !numbers.is_at_end() {
            let length = numbers.next()? as usize;
            let start = all - numbers.rest().len();
            let end = start.checked_add(length)?;
            numbers = Numbers::new(part.as_ref().get(end..)?);
            let number = numbers.next()?;
            entries.push((u32::try_from(start).ok()?, u32::try_from(end).ok()?, number));
        }
        let bytes = part.clone();
        Some(Self { bytes, entries })
    }

    fn text(&self, entry: &(u32, u32, u32)) -> &[u8] {
        let range = entry.0 as usize..entry.1 as usize;
        self.bytes.as_ref().get(range).unwrap_or_default()
    }

    fn get(&self, text: &str) -> Option<usize> {
        let found = self
            .entries
            .binary_search_by(|entry| self.text(entry).cmp(text.as_bytes()));
        found.ok().map(|at| self.entries[at].2 as usize)
    }

    fn nearest(&self, word: &str) -> Vec<NearWord> {
        let Some(near) = NearWords::of(word) else {
            return Vec::new();
        };
        let found = self.entries.iter().filter_map(|entry| {
            let text = self.text(entry);
            Some(NearWord {
                distance: near.distance(text)?,
                term: std::str::from_utf8(text).ok()?.to_owned(),
                number: u64::from(entry.2),
            })
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns a word without digits: those are never corrected.
    fn word(number: u64) -> String {
        let letter = |digit: u32| char::from(b'a' + (number >> (4 * digit) & 15) as u8);
        "word".chars().chain((0..5).map(letter)).collect()
    }

    #[test]
    fn few_and_many_strings_are_found_alike() {
        for count in [0_u64, 3, FEW as u64 + 5] {
            let all: BTreeMap<String, u64> = (0..count).map(|at| (word(at), at)).collect();
            let sorted = all.iter().map(|(text, at)| (text.as_str(), *at)).collect();
            let dictionary = Dictionary::open(Bytes::new(written(sorted))).unwrap();
            assert_eq!(
                matches!(dictionary, Dictionary::List(_)),
                count < FEW as u64
            );
            assert_eq!(dictionary.len() as u64, count);
            for (text, at) in &all {
                assert_eq!(dictionary.get(text).map(|at| at as u64), Some(*at));
            }
            assert_eq!(dictionary.get("none"), None);
            let near: Vec<String> = dictionary
                .nearest("wordbaaaazz")
                .into_iter()
                .map(|near| near.term)
                .collect();
            assert_eq!(near.contains(&word(1)), count > 1);
        }
    }
}
