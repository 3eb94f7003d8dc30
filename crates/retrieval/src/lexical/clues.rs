//! What leads a database to the passages that may answer a question: lists of passages by word and by stem, each with about
//! what the word counts there. A passage that is not among the best by these may be missed.

use std::collections::{BTreeMap, HashMap};

use super::{
    Query, Statistics,
    candidates::{Entries, PassageWords, distances, words_of},
    field::{Lengths, Totals, counts},
    search::Form,
    terms::rarity,
};
use crate::analysis::stem;

/// About how many words a heading, a trail and a body have. Fixed, so that what is kept of a passage depends on no other.
const TYPICAL: [u64; 3] = [4, 8, 120];

/// What a passage is found by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageTerms {
    /// Its words and names, each once, sorted.
    pub terms: Vec<PassageTerm>,
    /// The stems of its words, each once, sorted, and about what each counts.
    pub stems: Vec<(String, u16)>,
}

/// A word or a name of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageTerm {
    /// The word.
    pub term: String,
    /// Whether it is there as a word, and not only as a name.
    pub is_word: bool,
    /// Its stem, if it is a word that has one.
    pub stem: Option<String>,
    /// About what it counts.
    pub weight: u16,
}

impl PassageTerms {
    /// Of a passage with these lengths and [`PassageWords::encoded`] words.
    #[must_use]
    pub fn of(lengths: &[u32; 3], encoded: &[u8]) -> Self {
        let norms = Totals::of(1, TYPICAL).norms(lengths);
        let weight = |counts: &Lengths| u16::try_from(norms.weight(counts)).unwrap_or(u16::MAX);
        let mut terms: Vec<(PassageTerm, Lengths)> = Vec::new();
        let mut stems: BTreeMap<String, Lengths> = BTreeMap::new();
        for entry in Entries::new(encoded) {
            let counts = counts(distances(entry.places_of(encoded)));
            let term = String::from_utf8_lossy(entry.term);
            let stem = match entry.is_name {
                true => None,
                false => stem(&term).map(|stem| stem.into_owned()),
            };
            if let Some(stem) = &stem {
                add(stems.entry(stem.clone()).or_default(), &counts);
            }
            match terms.last_mut() {
                // A word and a name that are spelt the same.
                Some((last, all)) if last.term == term => {
                    last.is_word |= !entry.is_name;
                    last.stem = last.stem.take().or(stem);
                    add(all, &counts);
                }
                _ => {
                    let term = PassageTerm {
                        term: term.into_owned(),
                        is_word: !entry.is_name,
                        stem,
                        weight: 0,
                    };
                    terms.push((term, counts));
                }
            }
        }
        let weighed = |(mut term, counts): (PassageTerm, Lengths)| {
            term.weight = weight(&counts);
            term
        };
        Self {
            terms: terms.into_iter().map(weighed).collect(),
            stems: stems
                .into_iter()
                .map(|(stem, counts)| (stem, weight(&counts)))
                .collect(),
        }
    }
}

impl PassageWords {
    /// What the passage is found by.
    #[must_use]
    pub fn found_by(&self) -> PassageTerms {
        PassageTerms::of(&self.lengths, &self.encoded)
    }
}

fn add(all: &mut Lengths, more: &Lengths) {
    for (all, more) in all.iter_mut().zip(more) {
        *all += more;
    }
}

/// Something that leads to passages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clue {
    /// A word or a name.
    Term(String),
    /// A stem.
    Stem(String),
}

impl Query {
    /// What leads to passages that may answer this question, and how much it counts.
    #[must_use]
    pub fn clues(&self, statistics: &Statistics) -> Vec<(Clue, u64)> {
        let rarity = |passages: u64| rarity(statistics.passages, passages);
        let mut clues: HashMap<Clue, u64> = HashMap::new();
        let mut offer = |clue: Clue, weight: u64| {
            let known = clues.entry(clue).or_default();
            *known = weight.max(*known).max(1);
        };
        let with = |term: &String| statistics.terms.get(term).copied().filter(|with| *with > 0);
        for item in &self.items {
            for word in words_of(item) {
                let is_part = *word != item.term;
                let percent = if is_part { Form::Part } else { Form::Exact }.percent();
                let stem = stem(word).map(|stem| stem.into_owned());
                let stem = stem.and_then(|stem| {
                    let (passages, forms) = statistics.stems.get(&stem)?;
                    // A word that is its stem's only form is enough of a clue.
                    if forms.as_slice() == std::slice::from_ref(word) {
                        return None;
                    }
                    let weight = rarity(*passages) * percent / 100 * Form::Stem.percent() / 100;
                    Some((stem, weight))
                });
                // Passages with the word have the stem as well.
                let already = stem.as_ref().map_or(0, |(_, weight)| *weight);
                if let Some((stem, weight)) = stem {
                    offer(Clue::Stem(stem), weight);
                }
                if let Some(passages) = with(word) {
                    let weight = rarity(passages) * percent / 100;
                    offer(Clue::Term(word.clone()), weight.saturating_sub(already));
                }
                for near in statistics.nearest.get(word).into_iter().flatten() {
                    let weight = with(near).map_or(0, rarity) * Form::Near.percent() / 100;
                    offer(Clue::Term(near.clone()), weight);
                }
            }
        }
        let mut clues: Vec<(Clue, u64)> = clues.into_iter().collect();
        clues.sort_unstable();
        clues
    }

    /// The words that must be there, since they stand in quotation marks.
    #[must_use]
    pub fn required(&self) -> Vec<String> {
        let mut required: Vec<String> = self.phrases.iter().flatten().cloned().collect();
        required.sort_unstable();
        required.dedup();
        required
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Passage;

    #[test]
    fn a_passage_is_found_by_all_its_words_and_stems() {
        let passage = Passage {
            heading: "Running max_doc_bytes",
            trail: vec!["Runs"],
            body: "He runs and runs. MaxDoc, maxdoc.",
        };
        let words = PassageWords::of(&passage);
        let found_by = words.found_by();
        let terms: Vec<&str> = found_by.terms.iter().map(|one| one.term.as_str()).collect();
        assert_eq!(terms, words.terms);
        let stems: Vec<&str> = found_by
            .stems
            .iter()
            .map(|(stem, _)| stem.as_str())
            .collect();
        assert_eq!(stems, words.stems);
        let of = |term: &str| found_by.terms.iter().find(|one| one.term == term).unwrap();
        assert_eq!(of("running").stem.as_deref(), Some("run"));
        assert!(!of("max_doc_bytes").is_word);
        // Once as a word, once as a name.
        assert!(of("maxdoc").is_word);
        assert!(of("running").weight > of("runs").weight);
        let run = found_by
            .stems
            .iter()
            .find(|(stem, _)| stem == "run")
            .unwrap();
        assert!(run.1 > of("running").weight);
    }

    #[test]
    fn rare_words_count_more() {
        let query = Query::parse("the cat runs \"big dog\"").unwrap();
        let terms = [
            ("cat", 5),
            ("runs", 1),
            ("big", 90),
            ("dog", 50),
            ("the", 100),
        ];
        let statistics = Statistics {
            passages: 100,
            terms: terms.map(|(term, count)| (term.to_owned(), count)).into(),
            stems: [("run".to_owned(), (30, vec![]))].into(),
            ..Statistics::default()
        };
        let clues: HashMap<Clue, u64> = query.clues(&statistics).into_iter().collect();
        let term = |term: &str| clues.get(&Clue::Term(term.to_owned())).copied();
        assert!(term("cat") > term("dog"));
        assert!(term("dog") > term("big"));
        assert_eq!(term("the"), None);
        let stem = clues[&Clue::Stem("run".to_owned())];
        assert!(stem > 0 && term("runs").unwrap() > stem);
        assert_eq!(query.required(), ["big", "dog"]);
    }
}
