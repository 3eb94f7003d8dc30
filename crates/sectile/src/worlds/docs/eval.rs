//! Labelled questions: how often the expected section is found, and at which rank.

use std::collections::HashMap;

use sectile_mcp::{CallContext, Failure};
use serde::Deserialize;

use super::{
    DocsSearch, DocsWorld,
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
        let all = self.current(&|| false)?;
        let by_name: HashMap<&str, &Doc> = all
            .documents
            .iter()
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
            let search = DocsSearch {
                query: &question.ask,
                max_sections: Some(DEPTH),
                ..DocsSearch::default()
            };
            let answered = self.search(&search, &context)?;
            let found = answered
                .shown()
                .position(|section| expected.iter().any(|expected| expected == section.uri));
            evaluation.ranks.push(found.map(|at| at + 1));
        }
        Ok(evaluation)
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
