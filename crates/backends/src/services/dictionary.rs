//! The word counts of a collection, in shards that are read and written alone.
//!
//! A word is in the shard of its stem, so that one shard has all forms of a stem.

use std::collections::BTreeMap;

use sectile_library::StorageError;
use sectile_retrieval::Lexicon;
use serde::{Deserialize, Serialize};

use super::records::damaged;
use crate::postgres::terms::{TERM, TermChanges, fnv};

/// The bytes of a shard that is neither so long that a small change is costly, nor so short that there are many.
const SHARD_BYTES: usize = 16_000;
/// The most shards. Their versions are in the manifest.
const MAX_SHARDS: usize = 4_096;
/// The longest word that is counted.
const LONGEST: usize = 1_000;

/// The counts of some words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TermShard {
    /// For each word or name, the number of chunks that have it, and of those in which it is a word.
    pub(super) terms: BTreeMap<String, (u64, u64)>,
    /// For each stem, the number of chunks that have a word with it.
    pub(super) stems: BTreeMap<String, u64>,
}

impl TermShard {
    fn bytes(&self) -> usize {
        let terms = self.terms.keys().map(|term| term.len() + 12);
        let stems = self.stems.keys().map(|stem| stem.len() + 8);
        terms.sum::<usize>() + stems.sum::<usize>()
    }

    /// Returns the words with this stem.
    pub(super) fn forms(&self, stem: &str, stemmer: &mut Stemmer) -> Vec<String> {
        let words = self.terms.iter().filter(|(_, (_, words))| *words > 0);
        let forms = words.filter(|(term, _)| stemmer.stem(term) == Some(stem));
        forms.map(|(term, _)| term.clone()).collect()
    }
}

/// Finds the stems of words, and remembers them.
#[derive(Default)]
pub(super) struct Stemmer(Lexicon);

impl Stemmer {
    pub(super) fn stem(&mut self, term: &str) -> Option<&str> {
        let number = self.0.number_of(term) as usize;
        self.0.stem_of(number)
    }

    /// Returns the shard, one of `shards`, that has a word or name.
    pub(super) fn shard_of_term(&mut self, term: &str, shards: usize) -> usize {
        let known = self.stem(term);
        shard(known.unwrap_or(term), shards)
    }
}

/// Returns the shard, one of `shards`, that has a stem.
pub(super) fn shard(stem: &str, shards: usize) -> usize {
    let hash = fnv(b'k', stem).cast_unsigned();
    usize::try_from(hash % shards.max(1) as u64).unwrap_or_default()
}

/// The word counts of a collection that is being written.
pub(super) struct Dictionary {
    pub(super) shards: Vec<TermShard>,
    /// Whether each shard differs from what is stored.
    pub(super) is_changed: Vec<bool>,
}

impl Dictionary {
    /// Creates a dictionary from its shards as they are stored.
    pub(super) fn new(shards: Vec<TermShard>) -> Self {
        let shards = match shards.is_empty() {
            true => vec![TermShard::default()],
            false => shards,
        };
        let is_changed = vec![false; shards.len()];
        Self { shards, is_changed }
    }

    /// Applies changes, and splits all shards if one has become too long.
    pub(super) fn apply(&mut self, changes: &TermChanges) -> Result<(), StorageError> {
        let mut stemmer = Stemmer::default();
        let count = self.shards.len();
        for row in changes.rows() {
            // Of a long word only a digest is known.
            let Ok(term) = String::from_utf8(row.term) else {
                continue;
            };
            if term.len() > LONGEST {
                continue;
            }
            let at = match row.kind == TERM {
                true => stemmer.shard_of_term(&term, count),
                false => shard(&term, count),
            };
            self.is_changed[at] = true;
            let shard = &mut self.shards[at];
            if row.kind == TERM {
                let (chunks, words) = shard.terms.get(&term).copied().unwrap_or_default();
                let chunks = added(chunks, row.chunks)?;
                let words = added(words, row.words)?;
                match chunks {
                    0 => shard.terms.remove(&term),
                    _ => shard.terms.insert(term, (chunks, words)),
                };
            } else {
                let chunks = shard.stems.get(&term).copied().unwrap_or_default();
                match added(chunks, row.chunks)? {
                    0 => shard.stems.remove(&term),
                    chunks => shard.stems.insert(term, chunks),
                };
            }
        }
        let most = self.shards.iter().map(TermShard::bytes).max();
        if most.unwrap_or_default() > SHARD_BYTES * 2 && count < MAX_SHARDS {
            self.reshard(&mut stemmer);
        }
        Ok(())
    }

    fn reshard(&mut self, stemmer: &mut Stemmer) {
        let bytes: usize = self.shards.iter().map(TermShard::bytes).sum();
        let wanted = (bytes / SHARD_BYTES + 1).max(self.shards.len() * 2);
        let count = wanted.next_power_of_two().min(MAX_SHARDS);
        let mut shards = vec![TermShard::default(); count];
        for old in std::mem::take(&mut self.shards) {
            for (term, counts) in old.terms {
                let at = stemmer.shard_of_term(&term, count);
                shards[at].terms.insert(term, counts);
            }
            for (stem, chunks) in old.stems {
                let at = shard(&stem, count);
                shards[at].stems.insert(stem, chunks);
            }
        }
        self.shards = shards;
        self.is_changed = vec![true; count];
    }
}

/// Adds a change to a count, which it cannot make negative.
fn added(count: u64, change: i64) -> Result<u64, StorageError> {
    count.checked_add_signed(change).ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use sectile_retrieval::{Passage, PassageReader};

    use super::*;

    fn changes(bodies: &[String], by: i64) -> TermChanges {
        let mut changes = TermChanges::default();
        let mut reader = PassageReader::default();
        for body in bodies {
            let words = reader.read(&Passage {
                body,
                ..Passage::default()
            });
            changes.count(&words.lengths, &words.encoded, by, |_, _| {});
        }
        changes
    }

    #[test]
    fn forms_of_a_stem_are_in_its_shard_however_many_there_are() {
        let bodies: Vec<String> = (0..6_000)
            .map(|number| format!("running runs run word{number} measured"))
            .collect();
        let mut dictionary = Dictionary::new(Vec::new());
        for part in bodies.chunks(1_000) {
            dictionary.apply(&changes(part, 1)).unwrap();
        }
        let count = dictionary.shards.len();
        assert!(count > 4, "{count}");
        let most = dictionary.shards.iter().map(TermShard::bytes).max();
        assert!(most.unwrap() <= SHARD_BYTES * 2);
        let shard_of_run = &dictionary.shards[shard("run", count)];
        assert_eq!(shard_of_run.stems["run"], 6_000);
        let forms = shard_of_run.forms("run", &mut Stemmer::default());
        assert_eq!(forms, ["run", "running", "runs"]);
        dictionary.apply(&changes(&bodies, -1)).unwrap();
        let rest = dictionary.shards.iter().map(TermShard::bytes);
        assert_eq!(rest.sum::<usize>(), 0);
    }

    #[test]
    fn counts_cannot_become_negative() {
        let mut dictionary = Dictionary::new(Vec::new());
        let fewer = changes(&["word".to_owned()], -1);
        assert_eq!(dictionary.apply(&fewer), Err(damaged()));
    }

    #[test]
    fn a_small_change_touches_few_shards() {
        let words: Vec<String> = (0..9_000).map(|number| format!("word{number}")).collect();
        let mut dictionary = Dictionary::new(Vec::new());
        dictionary.apply(&changes(&words, 1)).unwrap();
        dictionary.is_changed.fill(false);
        dictionary.apply(&changes(&words[..3], 1)).unwrap();
        let changed = dictionary.is_changed.iter().filter(|is| **is).count();
        assert!((1..=6).contains(&changed), "{changed}");
    }
}
