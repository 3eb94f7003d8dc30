//! Labelled questions: how often the expected section is found, and at which rank.

use sectile_mcp::{CallContext, Failure};
use serde::Deserialize;

use super::{DocsWorld, answer::DocsSearchAnswer};

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
    /// `slug#anchor`, or `slug` for an introduction. Any one of them counts.
    pub(crate) expect: Vec<String>,
}

/// The outcome of all questions.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    /// For each question, the rank of the first expected section, from 1; `None` if it is not among the first ten.
    pub(crate) ranks: Vec<Option<usize>>,
    /// Labels that do not name a section, with the number of their question.
    pub(crate) wrong_labels: Vec<(usize, String)>,
}

/// Number of ranks that are considered.
const DEPTH: usize = 10;

impl Evaluation {
    /// Returns how many of a thousand questions have an expected section among the first `depth`.
    pub(crate) fn hit_at(&self, depth: usize) -> usize {
        let hits = self.ranks.iter().flatten().filter(|rank| **rank <= depth);
        hits.count() * 1_000 / self.ranks.len().max(1)
    }

    /// The mean reciprocal rank, in thousandths.
    pub(crate) fn reciprocal_rank(&self) -> usize {
        let sum: usize = self
            .ranks
            .iter()
            .flatten()
            .map(|rank| 1_000_000 / rank)
            .sum();
        sum / self.ranks.len().max(1) / 1_000
    }
}

impl DocsWorld {
    /// Asks all questions.
    pub(crate) fn evaluate(&self, questions: &[Question]) -> Result<Evaluation, Failure> {
        let mut evaluation = Evaluation::default();
        let context = CallContext::without_client();
        for (number, question) in questions.iter().enumerate() {
            let labels = question.expect.iter();
            let wrong = labels.filter(|label| !self.has_section(label));
            evaluation
                .wrong_labels
                .extend(wrong.map(|label| (number, label.clone())));
            let answered = self.search(&question.ask, Some(DEPTH), false, &context)?;
            evaluation.ranks.push(rank(&answered, &question.expect));
        }
        Ok(evaluation)
    }

    fn has_section(&self, label: &str) -> bool {
        let (slug, anchor) = parts(label);
        let document = self
            .documents
            .iter()
            .find(|document| document.doc.slug == slug);
        document.is_some_and(|document| {
            let mut sections = document.doc.sections.iter();
            sections.any(|section| section.anchor.as_deref() == anchor)
        })
    }
}

fn parts(label: &str) -> (&str, Option<&str>) {
    match label.split_once('#') {
        Some((slug, anchor)) => (slug, Some(anchor)),
        None => (label, None),
    }
}

fn rank(answered: &DocsSearchAnswer, expected: &[String]) -> Option<usize> {
    let found = answered.shown().position(|section| {
        let uri = section.uri;
        let label = uri.split_once("://docs/").map_or(uri, |(_, label)| label);
        expected.iter().any(|one| one == label)
    });
    found.map(|at| at + 1)
}
