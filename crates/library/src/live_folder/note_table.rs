//! A table from keys to notes that is cheap to copy: two states of a folder share all parts that are equal in both.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hash, Hasher},
    sync::Arc,
};

use sectile_markdown::NotePath;

use crate::live_folder::NoteRecord;

/// The number of parts that are copied on their own. With 100,000 keys, a change copies about a hundred
/// of them for each of its own.
const PARTS: usize = 1024;

/// A kind of key, so that equal texts of different kinds have different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KeyKind {
    /// A path as it is written.
    Path,
    /// A file name, with or without its extension, ignoring case.
    Name,
    /// An alias, ignoring case.
    Alias,
    /// A name of any kind without regard to the characters between words.
    Words,
    /// A tag or one that contains it.
    Tag,
    /// The name of a field.
    Field,
    /// A field and one of its values.
    Value,
    /// A folder that contains a note.
    Folder,
    /// A kind of task.
    Task,
}

/// The key of a text. Two texts may share a key, so a lookup compares the texts that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TableKey(u64);

impl TableKey {
    pub(super) fn new(kind: KeyKind, text: &str) -> Self {
        // The default keys make the result the same in every process; a folder that provokes collisions is slow to
        // search, and nothing else.
        let mut hasher = std::hash::DefaultHasher::new();
        kind.hash(&mut hasher);
        text.hash(&mut hasher);
        Self(hasher.finish())
    }

    fn part(self) -> usize {
        self.0 as usize % PARTS
    }
}

/// Something that a table lists, sorted by path.
pub(super) trait TableEntry: Clone {
    fn path(&self) -> &NotePath;
}

impl TableEntry for Arc<NoteRecord> {
    fn path(&self) -> &NotePath {
        &self.path
    }
}

impl TableEntry for NotePath {
    fn path(&self) -> &NotePath {
        self
    }
}

/// The entries of one key. Most have one.
#[derive(Clone, Debug)]
enum Entries<T> {
    One(T),
    Several(Vec<T>),
}

impl<T> Entries<T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// A hasher for keys that are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The low bits chose the part.
        self.0 = number.rotate_right(PARTS.trailing_zeros());
    }
}

type Part<T> = HashMap<TableKey, Entries<T>, BuildHasherDefault<KeyHasher>>;

/// Entries by key, each list sorted by path and without duplicates.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    parts: Vec<Arc<Part<T>>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            parts: (0..PARTS).map(|_| Arc::default()).collect(),
        }
    }
}

impl<T: TableEntry> Table<T> {
    /// Returns the entries with this key, sorted by path. Some of them may belong to another key that is equal by
    /// chance.
    pub(super) fn get(&self, key: TableKey) -> &[T] {
        let found = self.parts[key.part()].get(&key);
        found.map_or(&[], Entries::as_slice)
    }

    /// Adds an entry, or replaces the one with its path.
    pub(super) fn insert(&mut self, key: TableKey, entry: &T) {
        let part = Arc::make_mut(&mut self.parts[key.part()]);
        let Some(there) = part.get_mut(&key) else {
            part.insert(key, Entries::One(entry.clone()));
            return;
        };
        if let Entries::One(one) = there {
            if one.path() == entry.path() {
                *one = entry.clone();
                return;
            }
            *there = Entries::Several(vec![one.clone()]);
        }
        if let Entries::Several(several) = there {
            // Most tables are filled in the order of paths.
            if several
                .last()
                .is_some_and(|last| last.path() < entry.path())
            {
                several.push(entry.clone());
                return;
            }
            match several.binary_search_by(|one| one.path().cmp(entry.path())) {
                Ok(at) => several[at] = entry.clone(),
                Err(at) => several.insert(at, entry.clone()),
            }
        }
    }

    /// Removes the entry with this path.
    pub(super) fn remove(&mut self, key: TableKey, path: &NotePath) {
        let there = self.get(key);
        let Ok(at) = there.binary_search_by(|one| one.path().cmp(path)) else {
            return;
        };
        let is_last = there.len() == 1;
        let part = Arc::make_mut(&mut self.parts[key.part()]);
        match part.get_mut(&key) {
            Some(Entries::Several(several)) if !is_last => {
                several.remove(at);
            }
            _ => {
                part.remove(&key);
            }
        }
    }

    /// Iterates over all entries, in no particular order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &T> {
        let keys = self.parts.iter().flat_map(|part| part.values());
        keys.flat_map(Entries::as_slice)
    }

    /// Returns whether there is no entry at all.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn copies_share_what_is_equal() {
        let path = NotePath::parse_vault("a.md").unwrap();
        let mut table = Table::default();
        for number in 0..10_000 {
            table.insert(TableKey::new(KeyKind::Name, &number.to_string()), &path);
        }
        let before = table.clone();
        table.insert(TableKey::new(KeyKind::Name, "new"), &path);
        let pairs = before.parts.iter().zip(&table.parts);
        let copied = pairs
            .filter(|(one, other)| !Arc::ptr_eq(one, other))
            .count();
        assert_eq!(copied, 1);
        assert!(before.get(TableKey::new(KeyKind::Name, "new")).is_empty());
    }

    proptest! {
        /// A table has the entries that a plain map has, sorted, and copies are independent.
        #[test]
        fn a_table_is_a_map(steps in proptest::collection::vec((any::<bool>(), 0..4_usize, 0..6_usize), 0..60)) {
            let mut table = Table::default();
            let mut model: BTreeMap<usize, BTreeSet<NotePath>> = BTreeMap::new();
            for (adds, key, path) in steps {
                let old = (table.clone(), model.clone());
                let path = NotePath::parse_vault(&format!("n{path}.md")).unwrap();
                let hashed = TableKey::new(KeyKind::Tag, &key.to_string());
                if adds {
                    table.insert(hashed, &path);
                    model.entry(key).or_default().insert(path);
                } else {
                    table.remove(hashed, &path);
                    model.entry(key).or_default().remove(&path);
                }
                for (table, model) in [(&table, &model), (&old.0, &old.1)] {
                    for key in 0..4 {
                        let expected: Vec<NotePath> = model.get(&key).into_iter().flatten().cloned().collect();
                        prop_assert_eq!(table.get(TableKey::new(KeyKind::Tag, &key.to_string())), &expected[..]);
                    }
                }
                prop_assert_eq!(table.is_empty(), model.values().all(BTreeSet::is_empty));
            }
        }
    }
}
