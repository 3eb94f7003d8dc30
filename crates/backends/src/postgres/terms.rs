//! Words as the tables have them: keys that fit into an index, hashes that lists are found by, and how counts change.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use sectile_markdown::Digest;
use sectile_retrieval::{Clue, PassageTerms};

/// The longest key. An index of PostgreSQL takes no more than 2,700 bytes.
const LONGEST_KEY: usize = 1_000;
/// No text begins with it.
const SHORTENED: u8 = 0xff;

/// What a word, name or stem is called in the table.
pub(super) fn key(term: &str) -> Vec<u8> {
    match term.len() {
        0..=LONGEST_KEY => term.as_bytes().to_vec(),
        _ => {
            let digest = Digest::of(term.as_bytes());
            [&[SHORTENED], digest.as_bytes().as_slice()].concat()
        }
    }
}

/// What the list of a clue is found by: FNV-1a. Two clues with one hash bring a candidate too many, and nothing worse.
pub(super) fn hash(clue: &Clue) -> i64 {
    let (kind, text) = match clue {
        Clue::Term(term) => (b't', term),
        Clue::Stem(stem) => (b's', stem),
    };
    fnv(kind, text)
}

pub(super) fn fnv(kind: u8, text: &str) -> i64 {
    let bytes = std::iter::once(&kind).chain(text.as_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}

/// How the counts of words change.
#[derive(Debug, Default)]
pub(super) struct Changes {
    terms: HashMap<String, Change, RandomState>,
    stems: HashMap<String, i64, RandomState>,
}

#[derive(Debug, Default)]
struct Change {
    chunks: i64,
    words: i64,
    stem: Option<String>,
}

impl Changes {
    /// Takes in a chunk that is new (`by` 1) or gone (`by` -1).
    pub(super) fn count(&mut self, found_by: &PassageTerms, by: i64) {
        for term in &found_by.terms {
            // Most words are known already, and need no copy.
            let change = match self.terms.get_mut(&term.term) {
                Some(change) => change,
                None => self.terms.entry(term.term.clone()).or_default(),
            };
            change.chunks += by;
            change.words += if term.is_word { by } else { 0 };
            if change.stem.is_none() {
                change.stem.clone_from(&term.stem);
            }
        }
        for (stem, _) in &found_by.stems {
            match self.stems.get_mut(stem) {
                Some(change) => *change += by,
                None => {
                    self.stems.insert(stem.clone(), by);
                }
            }
        }
    }

    /// The rows that change, sorted as the table is.
    pub(super) fn rows(self) -> Vec<TermRow> {
        let stems = self.stems.into_iter().map(|(stem, chunks)| TermRow {
            kind: STEM,
            term: key(&stem),
            stem: None,
            chunks,
            words: 0,
        });
        let terms = self.terms.into_iter().map(|(term, change)| TermRow {
            kind: TERM,
            term: key(&term),
            stem: change.stem.as_deref().map(key),
            chunks: change.chunks,
            words: change.words,
        });
        // A word that came and went in one may have changed its kind.
        let mut rows: Vec<TermRow> = stems
            .chain(terms)
            .filter(|row| row.chunks != 0 || row.words != 0)
            .collect();
        rows.sort_unstable_by(|one, other| (one.kind, &one.term).cmp(&(other.kind, &other.term)));
        rows
    }
}

pub(super) const TERM: i8 = b't'.cast_signed();
pub(super) const STEM: i8 = b's'.cast_signed();

/// A change of a row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TermRow {
    pub(super) kind: i8,
    pub(super) term: Vec<u8>,
    pub(super) stem: Option<Vec<u8>>,
    pub(super) chunks: i64,
    pub(super) words: i64,
}

#[cfg(test)]
mod tests {
    use sectile_retrieval::{Passage, PassageWords};

    use super::*;

    fn passage(body: &str) -> PassageTerms {
        let passage = Passage {
            body,
            ..Passage::default()
        };
        PassageWords::of(&passage).found_by()
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
        // Kept in databases: it must not change.
        assert_eq!(fnv(b't', ""), -5_808_542_579_502_742_877);
    }

    #[test]
    fn what_comes_and_goes_changes_nothing() {
        let mut changes = Changes::default();
        changes.count(&passage("Cats run and run."), 1);
        changes.count(&passage("Cats run and run."), -1);
        assert_eq!(changes.rows(), []);
    }

    #[test]
    fn words_are_counted_once_a_chunk() {
        let mut changes = Changes::default();
        changes.count(&passage("run runs run"), 1);
        changes.count(&passage("running"), 1);
        let rows = changes.rows();
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
    }
}
