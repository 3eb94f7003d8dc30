//! Clues that lead a database to the passages that may answer a query: posting lists by word and by stem, with an
//! approximate weight in each passage ([`super::Lexicon`]). A passage that does not rank high by these may be missed.

use std::collections::HashMap;

use super::{Query, Statistics, candidates::words_of, search::Form, terms::rarity};
use crate::analysis::stem;

/// A term that leads to passages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clue {
    /// A word or a name.
    Term(String),
    /// A stem.
    Stem(String),
}

impl Query {
    /// Returns the terms that lead to passages that may answer this query, each with its weight.
    #[must_use]
    pub fn clues(&self, statistics: &Statistics) -> Vec<(Clue, u64)> {
        let rarity = |passages: u64| rarity(statistics.passages, passages);
        let mut clues: HashMap<Clue, u64> = HashMap::new();
        let mut offer = |clue: Clue, weight: u64| {
            let known = clues.entry(clue).or_default();
            *known = weight.max(*known).max(1);
        };
        let with = |term: &String| statistics.terms.get(term).copied().filter(|with| *with > 0);
        // Similar spellings are a last resort.
        let is_last_resort = statistics.has_nothing_of(self);
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
                let nearest = statistics.nearest.get(word).filter(|_| is_last_resort);
                for near in nearest.into_iter().flatten() {
                    let weight = with(near).map_or(0, rarity) * Form::Near.percent() / 100;
                    offer(Clue::Term(near.clone()), weight);
                }
            }
        }
        let mut clues: Vec<(Clue, u64)> = clues.into_iter().collect();
        clues.sort_unstable();
        clues
    }

    /// Returns the words that must be present because they are in quotation marks.
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
