//! The terms of passages for an external store of posting lists: words and stems, with approximate weights.

use super::{
    candidates::{PassageEntries, distances},
    field::{Lengths, Totals, counts},
};
use crate::{
    analysis::stem,
    table::{Table, Texts},
};

/// Typical number of words in a heading, a trail and a body. Fixed, so that the stored weights of a passage do not
/// depend on other passages; they only select candidates, which are then ranked exactly.
const TYPICAL: [u64; 3] = [4, 8, 120];

/// The words of many passages, by number. Everything about a word is computed once.
#[derive(Default)]
pub struct Lexicon {
    numbers: Table<u32>,
    terms: Texts,
    /// The number of the stem of each word, if it has one.
    stems: Vec<Option<u32>>,
    stem_numbers: Table<u32>,
    stem_texts: Texts,
    /// For each stem, one more than its index among those of the current passage.
    seats: Vec<u32>,
    passage: PassageTerms,
    counts: Vec<Lengths>,
    stem_counts: Vec<Lengths>,
}

/// The terms under which a passage is found.
#[derive(Debug, Default)]
pub struct PassageTerms {
    /// Its words and names, each once, sorted by text.
    pub terms: Vec<PassageTerm>,
    /// The numbers of the stems of its words, each once, with approximate weights.
    pub stems: Vec<(u32, u16)>,
}

/// A word or a name of a passage.
#[derive(Clone, Copy, Debug)]
pub struct PassageTerm {
    /// Its number.
    pub number: u32,
    /// Whether it occurs as a word, and not only as a name.
    pub is_word: bool,
    /// Its approximate weight.
    pub weight: u16,
}

impl Lexicon {
    /// Returns the number of words and names, and the number of stems. Numbers start at 0.
    #[must_use]
    pub fn lengths(&self) -> (usize, usize) {
        (self.terms.len(), self.stem_texts.len())
    }

    /// Returns a word or name by its number.
    #[must_use]
    pub fn term(&self, number: usize) -> &str {
        self.terms.get(number)
    }

    /// Returns the stem of a word by the number of the word, if it has one.
    #[must_use]
    pub fn stem_of(&self, number: usize) -> Option<&str> {
        let stem = self.stems.get(number).copied().flatten()?;
        Some(self.stem(stem as usize))
    }

    /// Returns a stem by its number.
    #[must_use]
    pub fn stem(&self, number: usize) -> &str {
        self.stem_texts.get(number)
    }

    /// Returns the number of a word or name, adding it if it is new.
    pub fn number_of(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return number;
        }
        let number = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        self.numbers.insert(term, number);
        self.terms.push(term);
        let stem = stem(term).map(|stem| self.number_of_stem(&stem));
        self.stems.push(stem);
        number
    }

    /// Returns the number of a stem, adding it if it is new.
    pub fn number_of_stem(&mut self, stem: &str) -> u32 {
        if let Some(number) = self.stem_numbers.get(stem) {
            return number;
        }
        let number = u32::try_from(self.stem_texts.len()).unwrap_or(u32::MAX);
        self.stem_numbers.insert(stem, number);
        self.stem_texts.push(stem);
        self.seats.push(0);
        number
    }

    /// Returns the terms of a passage with these lengths and these [`super::PassageWords::encoded`] words.
    pub fn found_by(&mut self, lengths: &[u32; 3], encoded: &[u8]) -> &PassageTerms {
        let mut passage = std::mem::take(&mut self.passage);
        passage.terms.clear();
        passage.stems.clear();
        self.counts.clear();
        self.stem_counts.clear();
        for entry in PassageEntries::new(encoded) {
            let counts = counts(distances(entry.places_of(encoded)));
            let number = self.number_of(&String::from_utf8_lossy(entry.term));
            if !entry.is_name
                && let Some(stem) = self.stems[number as usize]
            {
                self.count_stem(stem, &counts, &mut passage.stems);
            }
            match (passage.terms.last_mut(), self.counts.last_mut()) {
                // A word and a name that are spelt the same.
                (Some(last), Some(all)) if last.number == number => {
                    last.is_word |= !entry.is_name;
                    add(all, &counts);
                }
                _ => {
                    passage.terms.push(PassageTerm {
                        number,
                        is_word: !entry.is_name,
                        weight: 0,
                    });
                    self.counts.push(counts);
                }
            }
        }
        let norms = Totals::of(1, TYPICAL).norms(lengths);
        let weight = |counts: &Lengths| u16::try_from(norms.weight(counts)).unwrap_or(u16::MAX);
        for (term, counts) in passage.terms.iter_mut().zip(&self.counts) {
            term.weight = weight(counts);
        }
        for ((stem, counted), counts) in passage.stems.iter_mut().zip(&self.stem_counts) {
            *counted = weight(counts);
            self.seats[*stem as usize] = 0;
        }
        self.passage = passage;
        &self.passage
    }

    /// Returns the last result of [`Self::found_by`].
    #[must_use]
    pub fn last(&self) -> &PassageTerms {
        &self.passage
    }

    fn count_stem(&mut self, stem: u32, counts: &Lengths, stems: &mut Vec<(u32, u16)>) {
        let seat = &mut self.seats[stem as usize];
        if *seat == 0 {
            stems.push((stem, 0));
            self.stem_counts.push(*counts);
            *seat = u32::try_from(stems.len()).unwrap_or(u32::MAX);
        } else {
            add(&mut self.stem_counts[*seat as usize - 1], counts);
        }
    }
}

fn add(all: &mut Lengths, more: &Lengths) {
    for (all, more) in all.iter_mut().zip(more) {
        *all += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Passage, PassageReader};

    #[test]
    fn a_passage_is_found_by_all_its_words_and_stems() {
        let passage = Passage {
            heading: "Running max_doc_bytes",
            trail: vec!["Runs"],
            body: "He runs and runs. MaxDoc, maxdoc.",
        };
        let words = PassageReader::default().read(&passage);
        let mut lexicon = Lexicon::default();
        // Seen before, and not sorted.
        for known in ["zebras", "runs"] {
            lexicon.number_of(known);
        }
        for _ in 0..2 {
            let terms = lexicon.found_by(&words.lengths, &words.encoded);
            let (terms, stems) = (terms.terms.clone(), terms.stems.clone());
            let texts: Vec<&str> = terms
                .iter()
                .map(|one| lexicon.term(one.number as usize))
                .collect();
            let expected = [
                "and",
                "bytes",
                "doc",
                "he",
                "max",
                "max_doc_bytes",
                "maxdoc",
                "running",
                "runs",
            ];
            assert_eq!(texts, expected);
            let of = |text: &str| terms[texts.iter().position(|one| *one == text).unwrap()];
            assert_eq!(lexicon.stem_of(of("running").number as usize), Some("run"));
            assert!(!of("max_doc_bytes").is_word);
            // Once as a word, once as a name.
            assert!(of("maxdoc").is_word);
            // In the heading, and in the text.
            assert!(of("running").weight > of("he").weight);
            let mut texts: Vec<&str> = stems
                .iter()
                .map(|(stem, _)| lexicon.stem(*stem as usize))
                .collect();
            let run = texts.iter().position(|stem| *stem == "run").unwrap();
            assert!(stems[run].1 > of("running").weight);
            texts.sort_unstable();
            assert_eq!(texts, ["and", "byte", "doc", "max", "maxdoc", "run"]);
        }
    }
}
