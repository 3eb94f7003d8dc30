//! The documents that one caller may see, and the searchable text of exactly those.

use std::sync::Arc;

use sectile_library::live_manual::PageNumber;
use sectile_markdown::Digest;
use sectile_mcp::CallContext;
use sectile_retrieval::Corpus;

use super::{
    DocsWorld,
    corpus::{Doc, DocsCorpus, SkipReason, SkippedDoc, is_page},
};

/// A set of documents, ready to be searched.
pub(super) struct VisibleCorpus {
    /// All documents at that moment.
    pub(super) all: Arc<DocsCorpus>,
    /// Positions in them, in order.
    pub(super) documents: Vec<usize>,
    /// Positions in the documents that were not loaded, of those that the caller may learn about.
    pub(super) skipped: Vec<usize>,
    /// Its documents are `documents`, and the chunks of each are its sections that have text.
    pub(super) text: Arc<Corpus>,
    /// Whether they have different roles.
    pub(super) has_roles: bool,
    /// Digest of everything an answer can expose.
    pub(super) digest: Digest,
    /// Whether it was made for callers who may read everything.
    is_for_all: bool,
}

/// A section of the visible documents: the number of a document there, and that of a section with text in it.
pub(super) type SectionNumber = (usize, usize);

/// How many sets of visible documents are kept. A set that was dropped is made again when it is asked for.
const MOST_VISIBLE_CORPORA: usize = 16;

impl DocsWorld {
    /// Returns the documents of `all` that the caller may read, ready to be searched.
    pub(super) fn visible_corpus(
        &self,
        all: &Arc<DocsCorpus>,
        context: &CallContext,
    ) -> Arc<VisibleCorpus> {
        // With thousands of documents, checking each takes longer than the search.
        let is_for_all = context.may_read_all();
        if is_for_all {
            let is_kept = |visible: &VisibleCorpus| visible.is_for_all;
            if let Some(visible) = kept(&mut self.visible_corpora.lock(), all, is_kept) {
                return visible;
            }
        }
        let (documents, skipped) = self.seen_by(context, all);
        let is_same = |visible: &VisibleCorpus| {
            visible.is_for_all == is_for_all
                && visible.documents == documents
                && visible.skipped == skipped
        };
        // It is made once, even if several callers ask for it at the same time.
        let mut visible_corpora = self.visible_corpora.lock();
        if let Some(visible) = kept(&mut visible_corpora, all, is_same) {
            return visible;
        }
        let has_roles;
        let some: Vec<PageNumber>;
        let pages = match documents.len() == all.documents.len() {
            true => {
                has_roles = all.documents.roles() > 1;
                all.page_numbers.as_slice()
            }
            false => {
                let mut roles = documents.iter().map(|at| all.documents[*at].role);
                let first = roles.next();
                has_roles = roles.any(|role| Some(role) != first);
                some = documents.iter().map(|at| all.page_numbers[*at]).collect();
                some.as_slice()
            }
        };
        let visible = Arc::new(VisibleCorpus {
            text: all.pages.corpus(pages),
            has_roles,
            digest: self.digest(all, &documents, &skipped),
            all: Arc::clone(all),
            documents,
            skipped,
            is_for_all,
        });
        if visible_corpora.len() == MOST_VISIBLE_CORPORA {
            visible_corpora.remove(0);
        }
        visible_corpora.push(Arc::clone(&visible));
        visible
    }

    /// Returns the positions of the documents that the caller may read, and of those that were not loaded and that the
    /// caller may learn about.
    pub(super) fn seen_by(
        &self,
        context: &CallContext,
        all: &DocsCorpus,
    ) -> (Vec<usize>, Vec<usize>) {
        let is_for_all = context.may_read_all();
        let may_see = |slug: &str| is_for_all || context.may_read(&self.uri_of(slug));
        // The names of thousands of documents are not looked at without need.
        let documents: Vec<usize> = (0..all.documents.len())
            .filter(|at| is_for_all || may_see(&all.documents[*at].slug))
            .collect();
        // If a document is hidden from the caller, the name of one that was not loaded could reveal a hidden one.
        let sees_all = documents.len() == all.documents.len();
        // Whether a link leads to a folder is a fact about the machine, for the operator only.
        let is_told = |skipped: &SkippedDoc| {
            let is_of_machine = skipped.reason == SkipReason::Link && !is_page(&skipped.name);
            sees_all && !is_of_machine && may_see(&skipped.slug)
        };
        let skipped = (0..all.skipped.len()).filter(|at| is_told(&all.skipped[*at]));
        (documents, skipped.collect())
    }

    /// Digest of everything that an answer can show of these documents.
    fn digest(&self, all: &DocsCorpus, documents: &[usize], skipped: &[usize]) -> Digest {
        let mut shown = format!("{}\n", self.settings.namespace).into_bytes();
        for digest in all.documents.shown(documents) {
            shown.extend(digest.as_bytes());
        }
        for at in skipped {
            let SkippedDoc { name, reason, .. } = &all.skipped[*at];
            let line = serde_json::json!([name, reason.code()]);
            shown.extend(format!("\n{line}").into_bytes());
        }
        Digest::of(&shown)
    }
}

/// Returns the set of visible documents of `all` that meets a condition, if it was made before.
fn kept(
    visible_corpora: &mut Vec<Arc<VisibleCorpus>>,
    all: &Arc<DocsCorpus>,
    is_wanted: impl Fn(&VisibleCorpus) -> bool,
) -> Option<Arc<VisibleCorpus>> {
    // What is not up to date any more is not asked for again.
    visible_corpora.retain(|visible| Arc::ptr_eq(&visible.all, all));
    let at = visible_corpora.iter().position(|one| is_wanted(one))?;
    let visible = visible_corpora.remove(at);
    visible_corpora.push(Arc::clone(&visible));
    Some(visible)
}

impl VisibleCorpus {
    /// Returns a document.
    pub(super) fn doc(&self, document: usize) -> &Doc {
        &self.all.documents[self.documents[document]]
    }

    /// Returns the section that a chunk of the text is.
    pub(super) fn section_of(&self, chunk: usize) -> SectionNumber {
        let document = self.text.document_of(chunk);
        (document, chunk - self.text.chunks_of(document).start)
    }

    /// Iterates over the sections with text, in order.
    pub(super) fn sections(&self) -> impl Iterator<Item = SectionNumber> + '_ {
        (0..self.documents.len()).flat_map(|document| {
            let sections = self.text.chunks_of(document).len();
            (0..sections).map(move |section| (document, section))
        })
    }
}
