//! A map from texts, made for words: most are short, and a short one is compared without looking elsewhere in memory.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A map from texts to small values.
#[derive(Clone, Debug)]
pub(crate) struct Table<V> {
    short: HashMap<Short, V, RandomState>,
    long: HashMap<Box<str>, V, RandomState>,
}

/// A text of at most 16 bytes: its first and its last bytes, which may overlap, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Short {
    first: u64,
    last: u64,
    length: u8,
}

impl Short {
    #[inline]
    fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (first, last) = match bytes.len() {
            8..=16 => (
                u64::from_le_bytes(*bytes.first_chunk()?),
                u64::from_le_bytes(*bytes.last_chunk()?),
            ),
            4..=7 => (
                u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
                u64::from(u32::from_le_bytes(*bytes.last_chunk()?)),
            ),
            2..=3 => (
                u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
                u64::from(u16::from_le_bytes(*bytes.last_chunk()?)),
            ),
            1 => (u64::from(bytes[0]), 0),
            0 => (0, 0),
            _ => return None,
        };
        Some(Self {
            first,
            last,
            length: bytes.len() as u8,
        })
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self {
            short: HashMap::default(),
            long: HashMap::default(),
        }
    }
}

impl<V: Copy> Table<V> {
    #[inline]
    pub(crate) fn get(&self, text: &str) -> Option<V> {
        match Short::of(text) {
            Some(short) => self.short.get(&short).copied(),
            None => self.long.get(text).copied(),
        }
    }

    pub(crate) fn insert(&mut self, text: &str, value: V) {
        match Short::of(text) {
            Some(short) => self.short.insert(short, value),
            None => self.long.insert(text.into(), value),
        };
    }

    pub(crate) fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.short.values_mut().chain(self.long.values_mut())
    }
}

/// Texts by number, one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    all: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends
            .push(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        let start = match number.checked_sub(1) {
            Some(before) => self.ends[before],
            None => 0,
        };
        &self.all[start as usize..self.ends[number] as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(texts in proptest::collection::vec("[ab\u{e9}]{0,20}", 0..60)) {
            let (mut table, mut map, mut all) = (Table::default(), BTreeMap::new(), Texts::default());
            for (number, text) in texts.iter().enumerate() {
                table.insert(text, number);
                map.insert(text.as_str(), number);
                all.push(text);
            }
            prop_assert_eq!(table.len(), map.len());
            for (number, text) in texts.iter().enumerate() {
                prop_assert_eq!(table.get(text), map.get(text.as_str()).copied());
                prop_assert_eq!(all.get(number), text);
            }
            prop_assert_eq!(table.get("c"), None);
        }
    }
}
