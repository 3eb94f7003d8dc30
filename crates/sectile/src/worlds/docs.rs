//! The `docs` world: a manual that can be searched and read, offline and reproducibly.
//!
//! The documents are read once, at start. One tool searches them by section; resources hold them whole and by section.
//! Documents that a caller may not read are not in the index that its queries run against, so they cannot be found,
//! counted or guessed from a score.

mod answer;
pub(crate) mod corpus;
mod errors;
pub(crate) mod eval;
pub(crate) mod examine;
pub(crate) mod manual;
mod open;
pub(crate) mod resources;
mod roles;
mod settings;
mod tools;
mod visible_corpus;

use parking_lot::Mutex;
use sectile_mcp::{CallContext, ErrorResponse, Failure, WorldSpec};
use serde_json::{Value, json};

pub(crate) use self::{
    answer::DocsSearchAnswer,
    open::{ENTRY, loaded_corpus, missing, policy_problem},
    settings::{DocsDocument, DocsPath, DocsSection, DocsSettings},
};
use self::{
    corpus::{Doc, DocsCorpus, SkipReason, SkippedDoc, is_md},
    visible_corpus::VisibleCorpus,
};

/// Prefix of tool names and URIs, unless the settings give another one.
pub(crate) const NAMESPACE: &str = "sectile";

/// State of the world.
pub(crate) struct DocsWorld {
    documents: Vec<DocsEntry>,
    /// Documents that were not loaded, for callers who may see everything else.
    skipped: Vec<NotLoaded>,
    /// Most sections in an answer.
    max_sections: usize,
    /// Whether to search by meaning if no section has a word of the query.
    meaning_as_last_resort: bool,
    /// Indexes of the documents that callers may see, built when first needed.
    visible_corpora: Mutex<Vec<std::sync::Arc<VisibleCorpus>>>,
}

/// A document and its address.
struct DocsEntry {
    doc: Doc,
    uri: String,
}

/// A document that was named but not loaded, so it cannot be searched.
struct NotLoaded {
    name: String,
    reason: SkipReason,
    /// The address that it would have had.
    uri: String,
}

/// The contract of the world.
pub(crate) fn spec(settings: &DocsSection) -> WorldSpec<DocsWorld> {
    let namespace = settings.namespace.as_str();
    let mut tools = tools::table(settings);
    let mut absent = Vec::new();
    if !settings.offers_search() {
        absent.extend(tools.drain(..).map(|tool| tool.name));
    }
    WorldSpec {
        tools,
        absent,
        resources: settings
            .offers_resources()
            .then(|| resources::of(namespace)),
        families: vec![resources::template(namespace)],
        ..WorldSpec::new(
            "docs",
            include_str!("docs/instructions.md"),
            |failure| ErrorResponse::Result(error_object(failure)),
            errors::list,
        )
    }
}

/// A failure as one JSON object.
pub(crate) fn error_object(failure: &Failure) -> Value {
    let mut object = json!({ "error": failure.message, "code": failure.name() });
    if let Some(detail) = &failure.detail {
        object["recovery"] = detail.recovery.clone().into();
    }
    object
}

impl DocsWorld {
    /// Creates a world with these documents.
    pub(crate) fn new(settings: &DocsSection, corpus: DocsCorpus) -> Self {
        let namespace = &settings.namespace;
        let documents = corpus.documents.into_iter().map(|doc| DocsEntry {
            uri: resources::uri(namespace, &doc.slug),
            doc,
        });
        // Whether a link leads to a folder is a fact about the machine, for the operator only.
        let is_told =
            |skipped: &SkippedDoc| skipped.reason != SkipReason::Link || is_md(&skipped.name);
        let skipped = corpus.skipped.into_iter().filter(is_told);
        let skipped = skipped.map(|skipped| NotLoaded {
            uri: resources::uri(namespace, &skipped.slug),
            name: skipped.name,
            reason: skipped.reason,
        });
        Self {
            documents: documents.collect(),
            skipped: skipped.collect(),
            max_sections: settings.max_sections,
            meaning_as_last_resort: settings.meaning_as_last_resort,
            visible_corpora: Mutex::default(),
        }
    }

    /// Searches the documents that the caller may see.
    pub(crate) fn search(
        &self,
        query: &str,
        max_sections: Option<usize>,
        explain: bool,
        context: &CallContext,
    ) -> Result<DocsSearchAnswer, Failure> {
        let visible = self.visible_corpus(|uri| context.may_read(uri))?;
        let progress = &context.progress;
        progress.report(1, Some(2), "The documents are indexed.");
        let answered = answer::answer(self, &visible, query, max_sections, explain)?;
        progress.report(2, Some(2), "The sections are ranked.");
        Ok(answered)
    }
}
