//! What a query item contributes to the score of a passage, for people who ask why it was found.

use super::{Form, RankedPassages};
use crate::lexical::{field::Lengths, terms::TermKey};

/// A query item in a passage: in which form it was found, where, how often, and how rare it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermExplanation {
    /// The query item.
    pub asked: String,
    /// The word, name or stem in the index that counted for it.
    pub found: String,
    /// The form in which it was found.
    pub form: Form,
    /// Number of occurrences in the heading.
    pub in_heading: u32,
    /// Number of occurrences in the title of the document and the headings above.
    pub in_trail: u32,
    /// Number of occurrences in the text.
    pub in_body: u32,
    /// Number of passages that have it.
    pub passages: usize,
    /// Its rarity, in 1024ths: 1024 more for a term that half as many passages have.
    pub rarity: u64,
    /// Its part of the lexical score, in 1024ths.
    pub score: u64,
}

impl<F: Fn(usize) -> u64> RankedPassages<'_, F> {
    /// Returns the query items in each of these passages. `counts` returns how often each field of each passage has a term; it
    /// is called once for each term that counted.
    pub(in crate::lexical) fn explained(
        &self,
        passages: &[usize],
        counts: impl Fn(&TermKey, &[usize]) -> Vec<Lengths>,
    ) -> Vec<Vec<TermExplanation>> {
        let mut explained: Vec<Vec<TermExplanation>> = vec![Vec::new(); passages.len()];
        for one in &self.wanted {
            let mut counted: Vec<(usize, Vec<Lengths>)> = Vec::new();
            for (at, passage) in passages.iter().enumerate() {
                let Some(best) = self.best_form(one, *passage) else {
                    continue;
                };
                let list = best.list.0;
                let fetched = &self.lists.terms[list];
                let known = counted.iter().position(|(number, _)| *number == list);
                let known = known.unwrap_or_else(|| {
                    counted.push((list, counts(&fetched.key, passages)));
                    counted.len() - 1
                });
                let [in_heading, in_trail, in_body] = counted[known].1[at];
                explained[at].push(TermExplanation {
                    asked: one.asked.clone(),
                    found: match &fetched.key {
                        TermKey::Term(text) | TermKey::Stem(text, _) => text.clone(),
                    },
                    form: best.form.0,
                    in_heading,
                    in_trail,
                    in_body,
                    passages: fetched.frequency,
                    rarity: self.lists.rarity(list),
                    score: best.score,
                });
            }
        }
        explained
    }
}
