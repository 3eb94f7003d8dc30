//! Labelled questions: how often the expected section is found, and at which rank.

mod saved_run;

use std::collections::HashMap;

use sectile_mcp::{CallContext, Failure};
use serde::{Deserialize, Serialize};

pub(crate) use self::saved_run::{RunDifference, SavedRun};
use super::{
    DocsSearch, DocsWorld, ScoredSection, answer,
    corpus::{Doc, DocsCorpus},
};

/// A file of questions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Questions {
    #[serde(rename = "question", default)]
    pub(crate) questions: Vec<Question>,
}

/// A question, and the sections that answer it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The question.
    pub(crate) ask: String,
    /// `slug#anchor` or `path/of/page.md#anchor`; without the anchor, an introduction. Any one of them counts.
    pub(crate) expect: Vec<String>,
}

/// The outcome of all questions.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// For each question.
    pub(crate) outcomes: Vec<QuestionOutcome>,
    /// Labels that do not name a section, with the number of their question.
    pub(crate) wrong_labels: Vec<(usize, String)>,
    /// The digest of the documents, as in a receipt.
    pub(crate) corpus: String,
    /// The name and version of the ranking, as in a receipt.
    pub(crate) ranking: String,
}

/// The outcome of one question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QuestionOutcome {
    /// The rank of the first expected section, from 1; `None` if it is not among the first ten.
    pub(crate) rank: Option<usize>,
    /// The first expected section, if it was found at all.
    pub(crate) expected: Option<ScoredSection>,
    /// The section right above it; the first of all if it is not among the first ten.
    pub(crate) above: Option<ScoredSection>,
}

/// Number of ranks that are considered.
const DEPTH: usize = 10;
/// Number of ranks among which an expected section is looked for, in order to explain why it is not among the first.
const EXPLAINED_DEPTH: usize = 200;

impl Evaluation {
    /// Returns the rank of each question.
    pub(crate) fn ranks(&self) -> Vec<Option<usize>> {
        self.outcomes.iter().map(|outcome| outcome.rank).collect()
    }

    /// Returns how many of a thousand questions have an expected section among the first `depth`.
    pub(crate) fn hit_at(&self, depth: usize) -> usize {
        hit_at(&self.ranks(), depth)
    }

    /// The mean reciprocal rank, in thousandths.
    pub(crate) fn reciprocal_rank(&self) -> usize {
        reciprocal_rank(&self.ranks())
    }
}

fn hit_at(ranks: &[Option<usize>], depth: usize) -> usize {
    let hits = ranks.iter().flatten().filter(|rank| **rank <= depth);
    hits.count() * 1_000 / ranks.len().max(1)
}

fn reciprocal_rank(ranks: &[Option<usize>]) -> usize {
    let sum: usize = ranks.iter().flatten().map(|rank| 1_000_000 / rank).sum();
    sum / ranks.len().max(1) / 1_000
}

impl DocsWorld {
    /// Asks all questions.
    pub(crate) fn evaluate(&self, questions: &[Question]) -> Result<Evaluation, Failure> {
        let context = CallContext::without_client();
        let all = self.current(&|| false)?;
        let visible = self.visible_corpus(&all, &context);
        let mut evaluation = Evaluation {
            outcomes: Vec::with_capacity(questions.len()),
            wrong_labels: Vec::new(),
            corpus: visible.digest.to_string(),
            ranking: answer::ranking(self, &visible),
        };
        let by_name: HashMap<&str, &Doc> = all
            .documents
            .iter()
            .map(|doc| &**doc)
            .flat_map(|doc| [(doc.slug.as_str(), doc), (doc.path.as_str(), doc)])
            .collect();
        for (number, question) in questions.iter().enumerate() {
            let mut expected = Vec::new();
            for label in &question.expect {
                match self.labelled(&all, &by_name, label) {
                    Some(uri) => expected.push(uri),
                    None => evaluation.wrong_labels.push((number, label.clone())),
                }
            }
            let outcome = self.outcome(&question.ask, &expected, &context)?;
            evaluation.outcomes.push(outcome);
        }
        Ok(evaluation)
    }

    /// Asks one question.
    fn outcome(
        &self,
        ask: &str,
        expected: &[String],
        context: &CallContext,
    ) -> Result<QuestionOutcome, Failure> {
        for depth in [DEPTH, EXPLAINED_DEPTH] {
            let search = DocsSearch {
                query: ask,
                max_sections: Some(depth),
                explain: true,
                ..DocsSearch::default()
            };
            let answered = self.search(&search, context)?;
            let found: Vec<ScoredSection> = answered.scored().collect();
            let at = found.iter().position(|one| expected.contains(&one.uri));
            let (rank, above) = match at {
                Some(at) if at < DEPTH => (Some(at + 1), at.checked_sub(1)),
                _ => (None, Some(0)),
            };
            if at.is_some() || depth == EXPLAINED_DEPTH || found.len() < depth {
                return Ok(QuestionOutcome {
                    rank,
                    expected: at.map(|at| found[at].clone()),
                    above: above.and_then(|above| found.get(above).cloned()),
                });
            }
        }
        Ok(QuestionOutcome::default())
    }

    /// Returns the address of the section with this label, if there is one.
    fn labelled(
        &self,
        all: &DocsCorpus,
        by_name: &HashMap<&str, &Doc>,
        label: &str,
    ) -> Option<String> {
        let (name, anchor) = match label.split_once('#') {
            Some((name, anchor)) => (name, Some(anchor)),
            None => (label, None),
        };
        let doc = by_name.get(name)?;
        let page = self.pages.read(all, doc)?;
        page.at_anchor(anchor)?;
        let uri = self.uri_of(&doc.slug);
        Some(match anchor {
            Some(anchor) => format!("{uri}#{anchor}"),
            None => uri,
        })
    }
}
