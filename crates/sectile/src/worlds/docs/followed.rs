//! The documents as they are now, and the clients that are told when they change.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sectile_library::LibraryError;
use sectile_mcp::ResourceNotice;
use tokio::sync::broadcast;

use super::{
    corpus::{Doc, DocsCorpus},
    resources,
    sources::DocsSources,
};

/// Most notices that wait for a slow subscriber.
const MOST_NOTICES: usize = 1_024;
/// How often changes are looked for while somebody wants to be told about them.
const PAUSE: Duration = Duration::from_millis(500);

/// The share of the time that is spent on looking, as a divisor.
const SHARE: u32 = 20;

/// Documents whose changes are told.
pub(super) struct FollowedDocs {
    namespace: String,
    sources: DocsSources,
    /// The documents that clients were last told about.
    told: Mutex<Option<Arc<DocsCorpus>>>,
    notices: broadcast::Sender<ResourceNotice>,
    /// Whether a thread looks for changes.
    is_watched: Mutex<bool>,
}

impl FollowedDocs {
    pub(super) fn new(namespace: &str, sources: DocsSources) -> Arc<Self> {
        Arc::new(Self {
            namespace: namespace.to_owned(),
            sources,
            told: Mutex::default(),
            notices: broadcast::channel(MOST_NOTICES).0,
            is_watched: Mutex::new(false),
        })
    }

    /// Returns the documents as they are now, and tells clients what has changed.
    pub(super) fn current(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<DocsCorpus>, LibraryError> {
        let current = self.sources.current(stop)?;
        self.tell(&current);
        Ok(current)
    }

    /// Waits until everything is indexed and in the cache.
    pub(super) fn settle(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.sources.settle(stop)
    }

    /// Returns a receiver of notices. As long as there is one, a thread looks for changes that no call finds.
    pub(super) fn subscribe(self: &Arc<Self>) -> broadcast::Receiver<ResourceNotice> {
        let receiver = self.notices.subscribe();
        let mut is_watched = self.is_watched.lock();
        if !*is_watched {
            let weak = Arc::downgrade(self);
            let spawned = thread::Builder::new()
                .name("docs_notices".to_owned())
                .spawn(move || watch(&weak));
            if let Err(error) = &spawned {
                tracing::warn!(kind = %error.kind(), "changes are told only when a call finds them");
            }
            *is_watched = spawned.is_ok();
        }
        receiver
    }

    /// Tells clients what has changed since they were last told.
    fn tell(&self, now: &Arc<DocsCorpus>) {
        let before = {
            let mut told = self.told.lock();
            match told.replace(Arc::clone(now)) {
                Some(before) if !Arc::ptr_eq(&before, now) => before,
                _ => return,
            }
        };
        if self.notices.receiver_count() == 0 {
            return;
        }
        for notice in notices(&before, now, |slug| resources::uri(&self.namespace, slug)) {
            // Without subscribers there is nobody to tell.
            if self.notices.send(notice).is_err() {
                return;
            }
        }
    }
}

/// Looks for changes until there are no subscribers, or the documents are no longer served.
fn watch(weak: &Weak<FollowedDocs>) {
    while let Some(docs) = weak.upgrade() {
        {
            let mut is_watched = docs.is_watched.lock();
            if docs.notices.receiver_count() == 0 {
                *is_watched = false;
                return;
            }
        }
        // Only this thread still uses them.
        let stop = || Arc::strong_count(&docs) == 1;
        let began = Instant::now();
        match docs.sources.follow(&stop) {
            Ok(current) => docs.tell(&current),
            Err(error) => tracing::debug!(?error, "the documents cannot be read"),
        }
        drop(docs);
        // Where folders have to be listed to find changes, that must not keep the machine busy.
        thread::sleep(PAUSE.max(began.elapsed() * SHARE));
    }
}

/// Returns what clients are to be told about a change of the documents.
fn notices(
    before: &DocsCorpus,
    now: &DocsCorpus,
    uri_of: impl Fn(&str) -> String,
) -> Vec<ResourceNotice> {
    // Mostly a text has changed, and nothing has come or gone.
    if Arc::ptr_eq(&before.listed, &now.listed) {
        let changes = || now.documents.changes(&before.documents);
        let changed = changes().filter(|(one, other)| one.digest != other.digest);
        let changed = changed.map(|(_, doc)| ResourceNotice::Updated(uri_of(&doc.slug)));
        let mut notices: Vec<ResourceNotice> = changed.collect();
        if changes().any(|(one, other)| shown(one) != shown(other)) {
            notices.push(ResourceNotice::ListChanged);
        }
        return notices;
    }
    let documents = before.documents.iter();
    let known: HashMap<&str, &Arc<Doc>> = documents.map(|doc| (doc.slug.as_str(), doc)).collect();
    let changed = now.documents.iter().filter(|doc| {
        let known = known.get(doc.slug.as_str());
        known.is_some_and(|known| known.digest != doc.digest)
    });
    let mut notices: Vec<ResourceNotice> = changed
        .map(|doc| ResourceNotice::Updated(uri_of(&doc.slug)))
        .collect();
    if !listed(before).eq(listed(now)) {
        notices.push(ResourceNotice::ListChanged);
    }
    notices
}

/// Returns what a listing shows of each document, in its order.
fn listed(corpus: &DocsCorpus) -> impl Iterator<Item = (&str, &str, &str, u64)> {
    corpus.listed.iter().map(|at| shown(&corpus.documents[*at]))
}

/// Returns what a listing shows of a document.
fn shown(doc: &Doc) -> (&str, &str, &str, u64) {
    let (slug, title) = (doc.slug.as_str(), doc.title.as_str());
    (slug, title, doc.description.as_str(), doc.bytes)
}
