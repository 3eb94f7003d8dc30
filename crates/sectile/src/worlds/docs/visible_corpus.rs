//! The documents that one caller may see, and the index of exactly those.

use std::sync::{Arc, OnceLock};

use sectile_markdown::Digest;
use sectile_mcp::{Failure, FailureKind};
use sectile_retrieval::{Index, Meanings, Passage, Section};

use super::{DocsEntry, DocsWorld, NotLoaded};

/// A set of documents, ready to be searched.
#[derive(Debug)]
pub(super) struct VisibleCorpus {
    /// Positions in the documents of the world.
    pub(super) documents: Vec<usize>,
    /// Positions in the documents that were not loaded, of those that the caller may learn about.
    pub(super) skipped: Vec<usize>,
    /// The passages of the index: a document, and a section of it. Sections without text are left out.
    pub(super) passages: Vec<(usize, usize)>,
    pub(super) index: Index,
    /// The meanings of the passages, computed when a search by words first fails.
    pub(super) meanings: OnceLock<Meanings>,
    /// Digest of everything an answer can expose.
    pub(super) digest: Digest,
}

/// How many sets of visible documents keep their index. A set that was dropped is indexed again when it is asked for.
const MOST_VISIBLE_CORPORA: usize = 16;

impl DocsWorld {
    /// Returns the documents whose addresses `may_see` allows, ready to be searched.
    pub(super) fn visible_corpus(
        &self,
        may_see: impl Fn(&str) -> bool,
    ) -> Result<Arc<VisibleCorpus>, Failure> {
        let documents: Vec<usize> = (0..self.documents.len())
            .filter(|at| may_see(&self.documents[*at].uri))
            .collect();
        // If a document is hidden from the caller, the name of one that was not loaded could reveal a hidden one.
        let sees_all = documents.len() == self.documents.len();
        let skipped: Vec<usize> = (0..self.skipped.len())
            .filter(|at| sees_all && may_see(&self.skipped[*at].uri))
            .collect();
        let mut visible_corpora = self.visible_corpora.lock();
        if let Some(at) = visible_corpora
            .iter()
            .position(|visible| visible.documents == documents && visible.skipped == skipped)
        {
            let visible = visible_corpora.remove(at);
            visible_corpora.push(Arc::clone(&visible));
            return Ok(visible);
        }
        let visible = Arc::new(self.build_visible_corpus(documents, skipped)?);
        if visible_corpora.len() == MOST_VISIBLE_CORPORA {
            visible_corpora.remove(0);
        }
        visible_corpora.push(Arc::clone(&visible));
        Ok(visible)
    }

    fn build_visible_corpus(
        &self,
        documents: Vec<usize>,
        skipped: Vec<usize>,
    ) -> Result<VisibleCorpus, Failure> {
        let passages: Vec<(usize, usize)> = documents
            .iter()
            .flat_map(|document| {
                let sections = self.documents[*document].doc.sections.iter().enumerate();
                let with_text = sections.filter(|(_, section)| !section.plain.is_empty());
                with_text.map(|(section, _)| (*document, section))
            })
            .collect();
        let index = Index::new(self.passages(&passages))
            .map_err(|error| Failure::new(FailureKind::TooLarge, error.to_string()))?;
        Ok(VisibleCorpus {
            digest: self.digest(&documents, &skipped),
            documents,
            skipped,
            passages,
            index,
            meanings: OnceLock::new(),
        })
    }

    /// Converts sections to passages of the index.
    pub(super) fn passages<'a>(
        &'a self,
        sections: &'a [(usize, usize)],
    ) -> impl Iterator<Item = Passage<'a>> {
        sections.iter().map(|at| {
            let section = self.section(*at);
            Passage {
                heading: &section.heading,
                trail: section.trail.iter().map(String::as_str).collect(),
                body: &section.plain,
            }
        })
    }

    pub(super) fn section(&self, (document, section): (usize, usize)) -> &Section {
        &self.documents[document].doc.sections[section]
    }

    /// Digest of everything that an answer can show of these documents.
    fn digest(&self, documents: &[usize], skipped: &[usize]) -> Digest {
        let mut lines = String::new();
        for at in documents {
            let DocsEntry { doc, uri } = &self.documents[*at];
            let shown = serde_json::json!([
                uri,
                doc.title,
                doc.role,
                doc.description,
                Digest::of(&doc.bytes).to_string()
            ]);
            lines.push_str(&shown.to_string());
            lines.push('\n');
        }
        for at in skipped {
            let NotLoaded { name, reason, .. } = &self.skipped[*at];
            let shown = serde_json::json!([name, reason.code()]);
            lines.push_str(&shown.to_string());
            lines.push('\n');
        }
        Digest::of(lines.as_bytes())
    }
}
