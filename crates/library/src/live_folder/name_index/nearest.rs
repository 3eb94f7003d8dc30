//! Notes with names similar to one that no note has.

use std::sync::Arc;

use sectile_markdown::NotePath;

use super::{NameIndex, without_extension, words_of};
use crate::live_folder::NoteRecord;

/// Maximum number of notes that are offered.
const MAX_OFFERED: usize = 5;
/// Maximum number of notes that are compared letter by letter.
const MAX_COMPARED: usize = 64;
/// Maximum number of characters of a name that are compared.
const MAX_CHARS: usize = 128;
/// Maximum number of aliases of a note that are considered.
const MAX_ALIASES: usize = 8;
/// Minimum similarity of a name that is offered, in hundredths.
const MIN_SIMILARITY: u32 = 60;

/// The pairs of letters in a string, as a set of 64 classes.
#[derive(Clone, Copy, Debug)]
struct Letters(u64);

impl Letters {
    fn of(text: &str) -> Self {
        let mut pairs = 0;
        let mut before = ' ';
        for c in text.chars().take(MAX_CHARS) {
            let c = if c.is_alphanumeric() {
                c.to_lowercase().next().unwrap_or(c)
            } else {
                ' '
            };
            let pair = u64::from(u32::from(before)) << 21 | u64::from(u32::from(c));
            // A multiplication spreads the pairs over the classes.
            pairs |= 1 << (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
            before = c;
        }
        Self(pairs)
    }

    /// Returns how much of both is in both, in hundredths.
    fn likeness(self, other: Self) -> u32 {
        let both = self.0.count_ones() + other.0.count_ones();
        200 * (self.0 & other.0).count_ones() / both.max(1)
    }
}

impl NameIndex {
    /// Returns the notes whose names are most similar to `name`. All notes are looked at, but only those that share
    /// many pairs of letters are compared.
    pub(super) fn nearest(&self, name: &str) -> Vec<NotePath> {
        let last = name.rsplit_once('/').map_or(name, |(_, last)| last);
        let wanted: String = words_of(without_extension(last))
            .chars()
            .take(MAX_CHARS)
            .collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let letters = Letters::of(&wanted);
        let mut likely: Vec<(u32, &Arc<NoteRecord>)> = self
            .paths
            .entries()
            .map(|note| {
                let likeness = names(note).map(|name| letters.likeness(Letters::of(name)));
                (likeness.max().unwrap_or_default(), note)
            })
            .filter(|(likeness, _)| *likeness > 0)
            .collect();
        let by_likeness = |one: &(u32, &Arc<NoteRecord>), other: &(u32, &Arc<NoteRecord>)| {
            other
                .0
                .cmp(&one.0)
                .then_with(|| one.1.path.cmp(&other.1.path))
        };
        if likely.len() > MAX_COMPARED {
            likely.select_nth_unstable_by(MAX_COMPARED - 1, by_likeness);
            likely.truncate(MAX_COMPARED);
        }
        let mut found: Vec<(u32, &NotePath)> = likely
            .into_iter()
            .map(|(_, note)| (similarity(&wanted, note), &note.path))
            .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
            .collect();
        found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1)));
        found.truncate(MAX_OFFERED);
        found.into_iter().map(|(_, path)| path.clone()).collect()
    }
}

/// Iterates over the names of a note that are compared.
fn names(note: &NoteRecord) -> impl Iterator<Item = &str> {
    let aliases = note.properties.aliases.iter().take(MAX_ALIASES);
    [
        without_extension(note.path.file_name()),
        note.title.as_str(),
    ]
    .into_iter()
    .chain(aliases.map(String::as_str))
}

/// Returns how similar the most similar name of a note is, in hundredths: few letters differ, or words are the same.
fn similarity(wanted: &str, note: &NoteRecord) -> u32 {
    let of = |name: &str| {
        let name: String = words_of(name).chars().take(MAX_CHARS).collect();
        let longest = wanted.chars().count().max(name.chars().count()).max(1);
        let different = strsim::damerau_levenshtein(wanted, &name).min(longest);
        let by_letters = 100 * (longest - different) / longest;
        let is_in_name = |word: &&str| name.split(' ').any(|other| other == *word);
        let all = wanted.split(' ').count();
        let same = wanted.split(' ').filter(is_in_name).count();
        // A name that shares half of the words is as similar as one with a third of other letters.
        let by_words = if same == 0 { 0 } else { 33 + 66 * same / all };
        u32::try_from(by_letters.max(by_words)).unwrap_or_default()
    };
    names(note).map(of).max().unwrap_or_default()
}
