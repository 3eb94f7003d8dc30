//! A run of labelled questions that was saved, and how another one differs from it.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Evaluation, Question, QuestionOutcome};
use crate::worlds::docs::MEANING;

/// The version of the format.
const VERSION: u32 = 1;

/// A run as it is saved.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedRun {
    version: u32,
    /// The digest of the documents.
    corpus: String,
    /// The name and version of the ranking.
    ranking: String,
    questions: Vec<SavedQuestion>,
}

/// A question as it is saved.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedQuestion {
    ask: String,
    #[serde(flatten)]
    outcome: QuestionOutcome,
}

/// How a run differs from a saved one.
#[derive(Debug, Serialize)]
pub(crate) struct RunDifference {
    /// For the first place, the first three, the first ten and the mean reciprocal rank: then and now, in thousandths,
    /// counting only questions of both runs.
    pub(crate) totals: [(usize, usize); 4],
    /// The number of questions of both runs.
    pub(crate) asked_in_both: usize,
    /// The number of questions that only this run has, and that only the saved one has.
    pub(crate) only_now: usize,
    pub(crate) only_then: usize,
    pub(crate) corpus_changed: bool,
    /// The rankings then and now, if they differ.
    pub(crate) ranking_changed: Option<(String, String)>,
    pub(crate) moved: Vec<MovedQuestion>,
}

/// A question whose rank has changed.
#[derive(Debug, Serialize)]
pub(crate) struct MovedQuestion {
    /// Its number in this run.
    pub(crate) number: usize,
    pub(crate) then: Option<usize>,
    pub(crate) now: Option<usize>,
    /// What decided it, such as "meaning 412 -> 380", as far as the scores show it.
    pub(crate) reason: Option<String>,
}

impl SavedRun {
    /// Returns a run to be saved.
    pub(crate) fn new(questions: &[Question], evaluation: &Evaluation) -> Self {
        let questions = questions.iter().zip(&evaluation.outcomes);
        Self {
            version: VERSION,
            corpus: evaluation.corpus.clone(),
            ranking: evaluation.ranking.clone(),
            questions: questions
                .map(|(question, outcome)| SavedQuestion {
                    ask: question.ask.clone(),
                    outcome: outcome.clone(),
                })
                .collect(),
        }
    }

    /// Parses a saved run. The error is what is wrong with it, as the end of a sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let not_a_run = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            format!("is not a saved run (line {line}, column {column})")
        };
        let Head { version } = serde_json::from_str(text).map_err(not_a_run)?;
        if version != VERSION {
            return Err(format!(
                "is a saved run of version {version}, and only version {VERSION} can be read"
            ));
        }
        serde_json::from_str(text).map_err(not_a_run)
    }

    /// Returns how a run differs from this one. Questions are the same if their texts are.
    pub(crate) fn difference(
        &self,
        questions: &[Question],
        evaluation: &Evaluation,
    ) -> RunDifference {
        let then: HashMap<&str, &QuestionOutcome> = self
            .questions
            .iter()
            .map(|saved| (saved.ask.as_str(), &saved.outcome))
            .collect();
        let mut ranks = (Vec::new(), Vec::new());
        let mut moved = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            let now = &evaluation.outcomes[number];
            let Some(then) = then.get(question.ask.as_str()) else {
                continue;
            };
            ranks.0.push(then.rank);
            ranks.1.push(now.rank);
            if then.rank != now.rank {
                moved.push(MovedQuestion {
                    number,
                    then: then.rank,
                    now: now.rank,
                    reason: reason(then, now),
                });
            }
        }
        let both = ranks.0.len();
        let is_asked = |saved: &&SavedQuestion| questions.iter().any(|one| one.ask == saved.ask);
        let still_asked = self.questions.iter().filter(is_asked).count();
        let totals = [1, 3, 10].map(|depth| {
            let hits = |ranks: &[Option<usize>]| super::hit_at(ranks, depth);
            (hits(&ranks.0), hits(&ranks.1))
        });
        let [first, three, ten] = totals;
        let mean = |ranks: &[Option<usize>]| super::reciprocal_rank(ranks);
        let rankings = (self.ranking.clone(), evaluation.ranking.clone());
        RunDifference {
            totals: [first, three, ten, (mean(&ranks.0), mean(&ranks.1))],
            asked_in_both: both,
            only_now: questions.len() - both,
            only_then: self.questions.len() - still_asked,
            corpus_changed: self.corpus != evaluation.corpus,
            ranking_changed: (rankings.0 != rankings.1).then_some(rankings),
            moved,
        }
    }
}

/// Returns what moved a question: the part of the expected section that changed most, else of the one above it.
fn reason(then: &QuestionOutcome, now: &QuestionOutcome) -> Option<String> {
    if let (Some(before), Some(after)) = (&then.expected, &now.expected) {
        if before.uri != after.uri {
            return Some(format!("`{}` -> `{}`", before.uri, after.uri));
        }
        if let Some(change) = greatest_change(&before.parts, &after.parts) {
            return Some(change);
        }
    }
    match (&then.above, &now.above) {
        (Some(before), Some(after)) if before.uri == after.uri => {
            let change = greatest_change(&before.parts, &after.parts)?;
            Some(format!("above it, `{}`: {change}", after.uri))
        }
        (_, Some(after)) => Some(format!("now below `{}`", after.uri)),
        (Some(before), None) => Some(format!("no longer below `{}`", before.uri)),
        (None, None) => None,
    }
}

/// Returns the part that changed most, with its values: words relative to all words of the section, meaning to an identical
/// one.
fn greatest_change(then: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Option<String> {
    let words = |parts: &BTreeMap<String, u64>| {
        let words = parts.iter().filter(|(name, _)| *name != MEANING);
        words.map(|(_, score)| score).sum::<u64>()
    };
    let all_words = words(then).max(words(now)).max(1);
    let names = then
        .keys()
        .chain(now.keys().filter(|name| !then.contains_key(*name)));
    let changes = names.filter_map(|name| {
        let (before, after) = (then.get(name).copied(), now.get(name).copied());
        let change = before.unwrap_or(0).abs_diff(after.unwrap_or(0));
        let share = match name == MEANING {
            true => change,
            false => change.saturating_mul(1_000) / all_words,
        };
        (before != after).then_some((share, name, before, after))
    });
    // Of equal changes, the first by name.
    let (_, name, before, after) =
        changes.max_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(one.1)))?;
    let shown = |score: Option<u64>| score.map_or("none".to_owned(), |score| score.to_string());
    Some(format!("{name} {} -> {}", shown(before), shown(after)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::docs::ScoredSection;

    fn section(uri: &str, parts: &[(&str, u64)]) -> ScoredSection {
        let parts = parts
            .iter()
            .map(|(name, score)| ((*name).to_owned(), *score));
        ScoredSection {
            uri: uri.to_owned(),
            parts: parts.collect(),
        }
    }

    fn outcome(
        rank: usize,
        expected: ScoredSection,
        above: Option<ScoredSection>,
    ) -> QuestionOutcome {
        QuestionOutcome {
            rank: Some(rank),
            expected: Some(expected),
            above,
        }
    }

    #[test]
    fn the_part_that_changed_most_is_named() {
        let then = section(
            "a",
            &[("meaning", 412), ("word `lock`", 1_200), ("role", 7)],
        );
        let now = |parts| {
            reason(
                &outcome(1, then.clone(), None),
                &outcome(2, section("a", parts), None),
            )
        };
        let reason = |parts| now(parts).unwrap();
        // 32 thousandths against 300 of 1,207.
        let both = [("meaning", 380), ("word `lock`", 900), ("role", 7)];
        assert_eq!(reason(&both), "word `lock` 1200 -> 900");
        let near = [("meaning", 380), ("word `lock`", 1_190), ("role", 7)];
        assert_eq!(reason(&near), "meaning 412 -> 380");
        let without = [("word `lock`", 1_200), ("role", 7)];
        assert_eq!(reason(&without), "meaning 412 -> none");
        assert_eq!(
            now(&[("meaning", 412), ("word `lock`", 1_200), ("role", 7)]),
            None
        );
    }

    #[test]
    fn if_the_section_did_not_change_the_one_above_it_did() {
        let expected = || section("a", &[("role", 1)]);
        let above = |score| Some(section("b", &[("role", score)]));
        let then = outcome(3, expected(), above(5));
        assert_eq!(
            reason(&then, &outcome(2, expected(), above(4))).unwrap(),
            "above it, `b`: role 5 -> 4"
        );
        assert_eq!(
            reason(&then, &outcome(1, expected(), None)).unwrap(),
            "no longer below `b`"
        );
        let other = Some(section("c", &[]));
        assert_eq!(
            reason(&then, &outcome(4, expected(), other)).unwrap(),
            "now below `c`"
        );
    }

    #[test]
    fn what_is_not_a_saved_run_is_refused() {
        for (text, expected) in [
            ("", "is not a saved run (line 1, column 0)"),
            ("{\"version\": 1}", "is not a saved run (line 1, column 14)"),
            (
                "{\"version\": 2, \"new\": true}",
                "is a saved run of version 2, and only version 1 can be read",
            ),
        ] {
            assert_eq!(SavedRun::parse(text).unwrap_err(), expected);
        }
    }
}
