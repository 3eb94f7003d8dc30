//! The `docs` world: a manual that can be searched and read, offline and reproducibly.
//!
//! One tool searches the documents by section; resources hold them whole and by section. Changes are seen by the next call.
//! Documents that a caller may not read are not in the index that its queries run against, so they cannot be found,
//! counted or guessed from a score.

mod answer;
pub(crate) mod corpus;
mod errors;
pub(crate) mod eval;
pub(crate) mod examine;
mod followed;
mod open;
mod pages;
pub(crate) mod resources;
mod roles;
mod settings;
mod skipped;
pub(crate) mod sources;
mod tools;
mod visible_corpus;

use std::sync::Arc;

use parking_lot::Mutex;
use sectile_library::LibraryError;
use sectile_mcp::{CallContext, ErrorResponse, Failure, FailureKind, WorldSpec};
use sectile_retrieval::Section;
use serde_json::{Value, json};

pub(crate) use self::{
    answer::{DocsSearchAnswer, MEANING, ScoredSection},
    open::{ENTRY, missing, opened_sources, policy_problem},
    settings::{DocsDocument, DocsPath, DocsRanking, DocsSection, DocsSettings, SiteSetting},
};
use self::{
    corpus::{Doc, DocsCorpus},
    followed::FollowedDocs,
    pages::PageCache,
    sources::DocsSources,
    visible_corpus::VisibleCorpus,
};
use crate::worlds::url_template::{PART, PATH, encoded, filled};

/// The names that `docs.url_template` may have in braces.
const PLACEHOLDERS: [&str; 3] = ["url", "slug", "path"];
/// Prefix of tool names and URIs, unless the settings give another one.
pub(crate) const NAMESPACE: &str = "sectile";

/// State of the world.
pub(crate) struct DocsWorld {
    settings: DocsSection,
    followed: Arc<FollowedDocs>,
    /// The documents that callers may see, made when first needed.
    visible_corpora: Mutex<Vec<Arc<VisibleCorpus>>>,
    pages: PageCache,
}

/// The arguments of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DocsSearch<'a> {
    pub(crate) query: &'a str,
    /// The most sections to return.
    pub(crate) max_sections: Option<usize>,
    /// The most tokens to return.
    pub(crate) budget: Option<usize>,
    pub(crate) explain: bool,
}

/// How often a search starts again because a page has changed meanwhile.
const MOST_ATTEMPTS: usize = 5;

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
    pub(crate) fn new(settings: &DocsSection, sources: DocsSources) -> Self {
        Self {
            settings: settings.clone(),
            followed: FollowedDocs::new(&settings.namespace, sources),
            visible_corpora: Mutex::default(),
            pages: PageCache::default(),
        }
    }

    /// Returns the documents as they are now.
    pub(crate) fn current(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<DocsCorpus>, Failure> {
        self.followed.current(stop).map_err(unreadable)
    }

    /// Waits until everything is indexed and in the cache.
    pub(crate) fn settle(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.followed.settle(stop)
    }

    /// Searches the documents that the caller may see.
    pub(crate) fn search(
        &self,
        search: &DocsSearch<'_>,
        context: &CallContext,
    ) -> Result<DocsSearchAnswer, Failure> {
        let progress = &context.progress;
        let stop = || context.cancelled.is_cancelled();
        self.attempt(&stop, |all| {
            let visible = self.visible_corpus(all, context);
            progress.report(1, Some(2), "The documents are indexed.");
            let answered = answer::answer(self, &visible, search)?;
            progress.report(2, Some(2), "The sections are ranked.");
            Some(answered)
        })
    }

    /// Does something with the documents as they are now. If it returns `None`, because a page has changed meanwhile, it is
    /// tried again.
    fn attempt<T>(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        work: impl Fn(&Arc<DocsCorpus>) -> Option<Result<T, Failure>>,
    ) -> Result<T, Failure> {
        for _ in 0..MOST_ATTEMPTS {
            if let Some(done) = work(&self.current(stop)?) {
                return done;
            }
        }
        Err(errors::PAGES_CHANGE.failure("The pages change faster than they can be read."))
    }

    /// Returns the address of a section for people, if the settings have a template for it.
    fn url(&self, doc: &Doc, section: &Section) -> Option<String> {
        self.url_at(doc, section.anchor.as_deref())
    }

    /// Returns the address of a document in a list of all documents: that for people, else the published one relative to
    /// that of the manual, else its path.
    pub(crate) fn address(&self, doc: &Doc) -> String {
        let published = || match doc.url.as_deref() {
            Some("") => "./".to_owned(),
            Some(url) => url.to_owned(),
            None => encoded(doc.path.as_str(), PATH),
        };
        self.url_at(doc, None).unwrap_or_else(published)
    }

    fn url_at(&self, doc: &Doc, anchor: Option<&str>) -> Option<String> {
        let template = Some(self.settings.url_template.as_str());
        let template = template.filter(|template| !template.is_empty())?;
        // A page that is not published has no address.
        let has_url = doc.url.is_some() || !template.contains("{url}");
        has_url.then(|| {
            filled(template, |name| match name {
                "url" => Some(with_anchor(doc.url.as_deref().unwrap_or_default(), anchor)),
                "slug" => Some(with_anchor(&doc.slug, anchor)),
                "path" => Some(with_anchor(&encoded(doc.path.as_str(), PATH), anchor)),
                _ => None,
            })
        })
    }

    /// Returns the address of the document with this slug.
    fn uri_of(&self, slug: &str) -> String {
        resources::uri(&self.settings.namespace, slug)
    }
}

/// Returns the address of a page with a fragment for the anchor of a section in it.
fn with_anchor(address: &str, anchor: Option<&str>) -> String {
    match anchor {
        Some(anchor) => format!("{address}#{}", encoded(anchor, PART)),
        None => address.to_owned(),
    }
}

fn unreadable(error: LibraryError) -> Failure {
    match error {
        LibraryError::Cancelled => Failure::new(
            FailureKind::Cancelled,
            "The documents were not read in time.",
        ),
        error => errors::DOCUMENTS_UNREADABLE.failure(match error {
            LibraryError::FolderNotFound => "A folder of documents does not exist any more.",
            _ => "The documents cannot be read.",
        }),
    }
}
