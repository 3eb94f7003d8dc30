//! Words in the tables, and in vector services: keys that fit into an index, hashes that lists are found by, and changes of the counts.

use sectile_markdown::Digest;
use sectile_retrieval::{Clue, Lexicon};

/// The longest key in bytes. An index of PostgreSQL takes at most 2,700.
const LONGEST_KEY: usize = 1_000;
/// Marks a shortened key: no UTF-8 string starts with this byte.
const SHORTENED: u8 = 0xff;

/// Returns the key of a word, name or stem in the table.
pub(super) fn key(term: &str) -> Vec<u8> {
    match term.len() {
        0..=LONGEST_KEY => term.as_bytes().to_vec(),
        _ => {
            let digest = Digest::of(term.as_bytes());
            [&[SHORTENED], digest.as_bytes().as_slice()].concat()
        }
    }
}

/// Returns the key of a clue's list: FNV-1a. A collision yields one candidate too many, and nothing worse.
pub(crate) fn hash(clue: &Clue) -> i64 {
    let (kind, text) = match clue {
        Clue::Term(term) => (KIND_TERM, term),
        Clue::Stem(stem) => (KIND_STEM, stem),
    };
    fnv(kind, text)
}

/// Returns the key of the list of a row in the table; `None` if the row does not have the whole word.
pub(super) fn hash_of_row(kind: i8, key: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(key).ok()?;
    Some(fnv(kind.cast_unsigned(), text))
}

pub(crate) fn fnv(kind: u8, text: &str) -> i64 {
    let bytes = std::iter::once(&kind).chain(text.as_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}

/// Changes of the word counts.
#[derive(Default)]
pub(crate) struct TermChanges {
    lexicon: Lexicon,
    /// Indexed by the number of the word, and of the stem.
    terms: Vec<Change>,
    stems: Vec<Change>,
}

#[derive(Clone, Copy, Default)]
struct Change {
    hash: i64,
    chunks: i64,
    words: i64,
}

impl TermChanges {
    /// Counts a chunk that was added (`by` 1) or removed (`by` -1), and returns what it is listed under: hashes with
    /// approximate weights.
    pub(crate) fn count(
        &mut self,
        lengths: &[u32; 3],
        encoded: &[u8],
        by: i64,
        mut listed: impl FnMut(i64, i16),
    ) {
        self.lexicon.found_by(lengths, encoded);
        self.fill();
        let found_by = self.lexicon.last();
        for term in &found_by.terms {
            let change = &mut self.terms[term.number as usize];
            change.chunks += by;
            change.words += if term.is_word { by } else { 0 };
            listed(change.hash, weight(term.weight));
        }
        for (stem, counted) in &found_by.stems {
            let change = &mut self.stems[*stem as usize];
            change.chunks += by;
            listed(change.hash, weight(*counted));
        }
    }

    /// Makes room for new words.
    fn fill(&mut self) {
        let (terms, stems) = self.lexicon.lengths();
        let new = |hash: i64| Change {
            hash,
            ..Change::default()
        };
        for number in self.terms.len()..terms {
            self.terms
                .push(new(fnv(KIND_TERM, self.lexicon.term(number))));
        }
        for number in self.stems.len()..stems {
            self.stems
                .push(new(fnv(KIND_STEM, self.lexicon.stem(number))));
        }
    }

    /// Adds other changes to these.
    pub(crate) fn add(&mut self, other: &Self) {
        for (number, change) in other.terms.iter().enumerate() {
            let number = self.lexicon.number_of(other.lexicon.term(number));
            self.fill();
            let known = &mut self.terms[number as usize];
            known.chunks += change.chunks;
            known.words += change.words;
        }
        for (number, change) in other.stems.iter().enumerate() {
            let number = self.lexicon.number_of_stem(other.lexicon.stem(number));
            self.fill();
            self.stems[number as usize].chunks += change.chunks;
        }
    }

    /// Returns the changed rows, sorted like the table.
    pub(crate) fn rows(&self) -> Vec<TermRow> {
        let stems = self.stems.iter().enumerate().map(|(number, change)| {
            let term = self.lexicon.stem(number);
            (STEM, term, None, change)
        });
        let terms = self.terms.iter().enumerate().map(|(number, change)| {
            let stem = self.lexicon.stem_of(number);
            let stem = stem.filter(|_| change.words > 0);
            (TERM, self.lexicon.term(number), stem, change)
        });
        // A word that was both added and removed may have changed its kind.
        let changed = stems
            .chain(terms)
            .filter(|(.., change)| change.chunks != 0 || change.words != 0);
        let mut rows: Vec<TermRow> = changed
            .map(|(kind, term, stem, change)| TermRow {
                kind,
                term: key(term),
                stem: stem.map(key),
                chunks: change.chunks,
                words: change.words,
            })
            .collect();
        rows.sort_unstable_by(|one, other| (one.kind, &one.term).cmp(&(other.kind, &other.term)));
        rows
    }
}

fn weight(weight: u16) -> i16 {
    i16::try_from(weight).unwrap_or(i16::MAX)
}

const KIND_TERM: u8 = b't';
const KIND_STEM: u8 = b's';
pub(crate) const TERM: i8 = KIND_TERM.cast_signed();
const STEM: i8 = KIND_STEM.cast_signed();

/// A change of one row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TermRow {
    pub(crate) kind: i8,
    pub(crate) term: Vec<u8>,
    pub(crate) stem: Option<Vec<u8>>,
    pub(crate) chunks: i64,
    pub(crate) words: i64,
}

#[cfg(test)]
mod tests {
    use sectile_retrieval::{Passage, PassageReader};

    use super::*;

    /// Counts a chunk, and returns what it is listed under.
    fn count(changes: &mut TermChanges, body: &str, by: i64) -> Vec<(i64, i16)> {
        let passage = Passage {
            body,
            ..Passage::default()
        };
        let words = PassageReader::default().read(&passage);
        let mut listed = Vec::new();
        changes.count(&words.lengths, &words.encoded, by, |hash, weight| {
            listed.push((hash, weight));
        });
        listed
    }

    #[test]
    fn long_words_have_keys_that_no_text_has() {
        assert_eq!(key("word"), b"word");
        let long = key(&"w".repeat(5_000));
        assert_eq!(long.len(), 33);
        assert!(String::from_utf8(long).is_err());
        assert_ne!(key(&"w".repeat(5_000)), key(&"w".repeat(5_001)));
    }

    #[test]
    fn stems_and_words_have_lists_of_their_own() {
        let (term, stem) = (Clue::Term("run".to_owned()), Clue::Stem("run".to_owned()));
        assert_ne!(hash(&term), hash(&stem));
        // Stored in databases: it must not change.
        assert_eq!(fnv(b't', ""), -5_808_542_579_502_742_877);
        assert_eq!(hash_of_row(TERM, &key("run")), Some(hash(&term)));
        assert_eq!(hash_of_row(STEM, &key("run")), Some(hash(&stem)));
        assert_eq!(hash_of_row(TERM, &key(&"w".repeat(5_000))), None);
    }

    #[test]
    fn lists_are_found_by_what_questions_ask_for() {
        let listed = count(&mut TermChanges::default(), "runs", 1);
        let hashes: Vec<i64> = listed.iter().map(|(hash, _)| *hash).collect();
        let expected = [Clue::Term("runs".to_owned()), Clue::Stem("run".to_owned())];
        assert_eq!(hashes, expected.map(|clue| hash(&clue)));
        assert!(listed.iter().all(|(_, weight)| *weight > 0));
    }

    #[test]
    fn what_comes_and_goes_changes_nothing() {
        let mut changes = TermChanges::default();
        let came = count(&mut changes, "Cats run and run.", 1);
        assert_eq!(count(&mut changes, "Cats run and run.", -1), came);
        assert_eq!(changes.rows(), []);
        count(&mut changes, "Dogs run.", 1);
        let mut gone = TermChanges::default();
        count(&mut gone, "Cats bark.", -1);
        count(&mut gone, "Dogs run.", -1);
        count(&mut gone, "Cats bark.", 1);
        changes.add(&gone);
        assert_eq!(changes.rows(), []);
    }

    #[test]
    fn words_are_counted_once_a_chunk() {
        let mut changes = TermChanges::default();
        count(&mut changes, "run runs run", 1);
        count(&mut changes, "running MaxDoc", 1);
        let rows = changes.rows();
        assert!(rows.is_sorted_by_key(|row| (row.kind, row.term.clone())));
        let find = |kind: i8, term: &str| {
            let mut rows = rows.iter();
            rows.find(|row| row.kind == kind && row.term == term.as_bytes())
                .unwrap()
        };
        assert_eq!(find(STEM, "run").chunks, 2);
        assert_eq!(find(TERM, "run").chunks, 1);
        assert_eq!(
            find(TERM, "running").stem.as_deref(),
            Some(b"run".as_slice())
        );
        // A name has no stem.
        let name = find(TERM, "maxdoc");
        assert_eq!((name.chunks, name.words, &name.stem), (1, 0, &None));
    }
}
