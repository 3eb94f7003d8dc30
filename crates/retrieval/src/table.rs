//! A hash map keyed by strings, made for words: most are short, and short ones are compared without following a
//! pointer.

use std::{collections::HashMap, hash::BuildHasher as _};

use foldhash::fast::RandomState;

/// A map from strings to small values.
#[derive(Clone, Debug)]
pub(crate) struct Table<V> {
    /// Open-addressing slots of short strings: each at the slot of its hash, or at the next free one.
    slots: Vec<Slot>,
    /// In insertion order. Frequent words come early, so they are close together.
    entries: Vec<(ShortText, V)>,
    hasher: RandomState,
    long: HashMap<Box<str>, V, RandomState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The 1-based number of an entry; 0 in a free slot.
    entry: u32,
    /// Bits of its hash.
    mark: u32,
}

const FEWEST_SLOTS: usize = 64;

/// A string of at most 15 bytes, followed by its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ShortText {
    first: u64,
    rest: u64,
}

impl ShortText {
    #[inline]
    fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let length = bytes.len();
        // The first and the last bytes, which may overlap, are combined.
        let (first, rest) = match length {
            8..=15 => {
                let last = u64::from_le_bytes(*bytes.last_chunk()?);
                let first = u64::from_le_bytes(*bytes.first_chunk()?);
                (first, (last >> (8 * (15 - length))) >> 8)
            }
            4..=7 => {
                let last = u64::from(u32::from_le_bytes(*bytes.last_chunk()?));
                let first = u64::from(u32::from_le_bytes(*bytes.first_chunk()?));
                (first | last << (8 * (length - 4)), 0)
            }
            2..=3 => {
                let last = u64::from(u16::from_le_bytes(*bytes.last_chunk()?));
                let first = u64::from(u16::from_le_bytes(*bytes.first_chunk()?));
                (first | last << (8 * (length - 2)), 0)
            }
            1 => (u64::from(bytes[0]), 0),
            0 => (0, 0),
            _ => return None,
        };
        let rest = rest | (length as u64) << 56;
        Some(Self { first, rest })
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            entries: Vec::new(),
            hasher: RandomState::default(),
            long: HashMap::default(),
        }
    }
}

impl<V: Copy> Table<V> {
    #[inline]
    pub(crate) fn get(&self, text: &str) -> Option<V> {
        let Some(short) = ShortText::of(text) else {
            return self.long.get(text).copied();
        };
        let found = self.find(&short).ok()?;
        self.entries.get(found).map(|(_, value)| *value)
    }

    pub(crate) fn insert(&mut self, text: &str, value: V) {
        let Some(short) = ShortText::of(text) else {
            self.long.insert(text.into(), value);
            return;
        };
        // A quarter of the slots stays free, so that the next free one is never far.
        if (self.entries.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        match self.find(&short) {
            Ok(known) => self.entries[known].1 = value,
            Err(slot) => {
                self.entries.push((short, value));
                self.slots[slot] = Slot {
                    entry: u32::try_from(self.entries.len()).unwrap_or(u32::MAX),
                    mark: self.mark(&short).1,
                };
            }
        }
    }

    /// Returns the slot of a hash, and bits that distinguish it from others there.
    #[inline]
    fn mark(&self, short: &ShortText) -> (usize, u32) {
        let hash = self.hasher.hash_one(short);
        (hash as usize, (hash >> 32) as u32)
    }

    /// Returns the number of the entry, or else the slot where it would be.
    #[inline]
    fn find(&self, short: &ShortText) -> Result<usize, usize> {
        let (place, mark) = self.mark(short);
        let last = self.slots.len().wrapping_sub(1);
        let mut at = place & last;
        while let Some(slot) = self.slots.get(at)
            && slot.entry > 0
        {
            let entry = slot.entry as usize - 1;
            if slot.mark == mark
                && self
                    .entries
                    .get(entry)
                    .is_some_and(|(known, _)| known == short)
            {
                return Ok(entry);
            }
            at = (at + 1) & last;
        }
        Err(at)
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FEWEST_SLOTS);
        self.slots = vec![Slot::default(); slots];
        for (entry, (short, _)) in (1..).zip(&self.entries) {
            let (place, mark) = self.mark(short);
            let mut at = place & (slots - 1);
            while self.slots[at].entry > 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = Slot { entry, mark };
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.long.len()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let short = self.entries.iter_mut().map(|(_, value)| value);
        short.chain(self.long.values_mut())
    }
}

/// Strings by number, stored back to back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    all: String,
    /// The end of each string.
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

    #[test]
    fn it_grows() {
        let mut table = Table::default();
        let text = |number: u32| format!("{number:x}{}", "-".repeat(number as usize % 17));
        for number in 0..5_000 {
            table.insert(&text(number), 0);
            table.insert(&text(number), number);
        }
        assert_eq!(table.len(), 5_000);
        table.values_mut().for_each(|value| *value += 1);
        for number in 0..5_000 {
            assert_eq!(table.get(&text(number)), Some(number + 1));
        }
        assert_eq!(table.get("x"), None);
    }
}
