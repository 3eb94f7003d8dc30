//! Result streams: the results of one search, disclosed step by step to a caller who pulls.
//!
//! A stream keeps ids, scores and matched words, never text: what a chunk quotes is read and hashed when the chunk is
//! pulled. The number of chunks is known from the start, so the number of remaining chunks is exact.

pub(super) mod chunks;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use sectile_library::{
    artifacts::{self, LinkedArtifacts},
    ids::SourceId,
    library::Library,
    open_collection::{Scores, VerifiedHit, VerifiedResults},
    tiers::Tier,
};
use sectile_markdown::{Digest, Document, Source, Span};
use sectile_vault::NotePath;

pub(crate) use self::chunks::{StreamChunk, StreamReader};
use super::{answers::tier_change, errors::NotebookError, not_searched::told};

/// Maximum number of streams in one context; a new one replaces the oldest.
pub(crate) const MOST_STREAMS: usize = 8;

/// Maximum number of ended streams that a context remembers, so that it can say how they ended.
pub(super) const MOST_ENDED: usize = 64;

/// Maximum number of sections in one chunk: they are long.
pub(crate) const SECTIONS_A_CHUNK: usize = 4;

/// Maximum number of artifacts that a stream links to.
pub(crate) const MOST_LINKS: usize = 50;

/// The steps of a stream, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamStep {
    References,
    Passages,
    Sections,
    Links,
}

impl StreamStep {
    pub(crate) const ALL: [Self; 4] = [
        Self::References,
        Self::Passages,
        Self::Sections,
        Self::Links,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::References => "reference_identifiers",
            Self::Passages => "passages",
            Self::Sections => "dense_sections",
            Self::Links => "artifact_links",
        }
    }
}

/// A passage in the results: its id and its scores, without its text.
#[derive(Clone, Debug)]
struct StreamReference {
    id: SourceId,
    scores: Scores,
    matched: Vec<String>,
}

/// A section that contains several references.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cluster {
    /// The whole section as a passage.
    id: SourceId,
    hits: usize,
}

/// A running stream.
#[derive(Debug)]
pub(crate) struct Stream {
    token: String,
    query: String,
    collection: String,
    expires_at: i64,
    references: Vec<StreamReference>,
    clusters: Vec<Cluster>,
    /// The artifacts to link to; `None` if their records could not be read, which is retried in the last step.
    linked: Option<LinkedArtifacts>,
    /// Number of passages that matched.
    total: usize,
    unknown_words: Vec<String>,
    /// Sentences about what was and was not searched.
    remarks: Vec<String>,
    /// Number of entries in one chunk.
    page: usize,
    /// Number of the next chunk.
    next: usize,
}

/// The parameters of a new stream.
pub(crate) struct StreamStart<'a> {
    pub(crate) token: String,
    pub(crate) query: &'a str,
    pub(crate) collection: &'a str,
    pub(crate) expires_at: i64,
    /// Number of entries in one chunk.
    pub(crate) page: usize,
    /// The tier of the previous search in the same context.
    pub(crate) tier_before: Option<Tier>,
}

impl Stream {
    /// Creates a stream of the results of a search.
    pub(crate) fn new(
        beginning: StreamStart<'_>,
        found: VerifiedResults,
        storage: &Library,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, NotebookError> {
        let clusters = clusters(&found.hits, storage, stop)?;
        let state = &found.state;
        let remarks = [
            state
                .left_out
                .as_deref()
                .and_then(|left_out| told(left_out)),
            tier_change(beginning.tier_before, state.tier),
        ];
        let references = found.hits.into_iter().map(|hit| StreamReference {
            id: hit.id,
            scores: hit.scores,
            matched: hit.matched,
        });
        let mut stream = Self {
            token: beginning.token,
            query: beginning.query.to_owned(),
            collection: beginning.collection.to_owned(),
            expires_at: beginning.expires_at,
            references: references.collect(),
            clusters,
            linked: None,
            total: found.total,
            unknown_words: found.unknown_words,
            remarks: remarks.into_iter().flatten().collect(),
            page: beginning.page.max(1),
            next: 0,
        };
        let linked = match stream.notebooks().as_slice() {
            [] => Ok(LinkedArtifacts {
                is_complete: true,
                ..LinkedArtifacts::default()
            }),
            notebooks => {
                artifacts::linked_to(storage, &stream.collection, notebooks, MOST_LINKS, stop)
                    .map_err(NotebookError::from)
            }
        };
        stream.linked = match linked {
            Ok(linked) => Some(linked),
            // The step for links reports it, if it still fails then.
            Err(NotebookError::UpstreamFailure { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(stream)
    }

    pub(crate) fn collection(&self) -> &str {
        &self.collection
    }

    /// Returns the references that were found, best first.
    pub(crate) fn reference_ids(&self) -> Vec<String> {
        let ids = self.references.iter();
        ids.map(|reference| reference.id.to_string()).collect()
    }

    /// Returns the number of chunks with content. An empty step says so in a chunk of its own.
    pub(crate) fn chunks(&self) -> usize {
        StreamStep::ALL
            .iter()
            .map(|step| self.chunks_of(*step))
            .sum()
    }

    fn chunks_of(&self, step: StreamStep) -> usize {
        let pages = |entries: usize, page: usize| entries.div_ceil(page).max(1);
        match step {
            StreamStep::References | StreamStep::Passages => {
                pages(self.references.len(), self.page)
            }
            StreamStep::Sections => pages(self.clusters.len(), self.page.min(SECTIONS_A_CHUNK)),
            StreamStep::Links => {
                let linked = self.linked.as_ref();
                pages(linked.map_or(0, |linked| linked.ids.len()), self.page)
            }
        }
    }

    /// Returns the step of a chunk, and its index among the chunks of that step.
    fn place(&self, chunk: usize) -> Option<(StreamStep, usize)> {
        let mut before = 0;
        for step in StreamStep::ALL {
            let chunks = self.chunks_of(step);
            if chunk < before + chunks {
                return Some((step, chunk - before));
            }
            before += chunks;
        }
        None
    }

    /// Returns the notebooks that contain references.
    fn notebooks(&self) -> Vec<NotePath> {
        let notebooks: BTreeSet<&NotePath> = self
            .references
            .iter()
            .map(|reference| &reference.id.notebook)
            .collect();
        notebooks.into_iter().cloned().collect()
    }
}

/// Returns the smallest sections with at least two hits: most hits first, then by the best of them.
fn clusters(
    hits: &[VerifiedHit],
    storage: &Library,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Cluster>, NotebookError> {
    let mut notebooks: Vec<(&NotePath, Vec<&SourceId>)> = Vec::new();
    for hit in hits {
        let known = notebooks
            .iter_mut()
            .find(|(notebook, _)| **notebook == hit.id.notebook);
        match known {
            Some((_, ids)) => ids.push(&hit.id),
            None => notebooks.push((&hit.id.notebook, vec![&hit.id])),
        }
    }
    notebooks.retain(|(_, ids)| ids.len() > 1);
    let mut clusters = Vec::new();
    for (notebook, ids) in notebooks {
        if stop() {
            return Err(NotebookError::Cancelled);
        }
        let collection = &ids[0].collection;
        let Some(bytes) = storage.read(collection, notebook)? else {
            continue;
        };
        // The hits show whether these are the bytes that were searched.
        let is_there = |id: &&SourceId| {
            let passage = bytes.get(id.span.range());
            passage.is_some_and(|passage| id.is_of(&Digest::of(passage)))
        };
        if !ids.iter().all(is_there) {
            continue;
        }
        let document = Source::new(&bytes).parse();
        clusters.extend(dense(&document, &ids).into_iter().map(|(section, hits)| {
            let digest = Digest::of(section.slice(&bytes));
            let id = SourceId::new(collection, notebook, section, &digest);
            Cluster { id, hits }
        }));
    }
    clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.hits));
    Ok(clusters)
}

/// Returns the sections that hold at least two of these passages and contain no smaller section that does, each with its
/// count.
fn dense(document: &Document, ids: &[&SourceId]) -> Vec<(Span, usize)> {
    let sections = document.top_level().map(|(.., extent)| extent.subtree);
    let held = |section: &Span| {
        let inside = |id: &&&SourceId| section.range().contains(&id.span.start);
        ids.iter().filter(inside).count()
    };
    let counted: Vec<(Span, usize)> = std::iter::once(document.preamble())
        .chain(sections)
        .map(|section| (section, held(&section)))
        .filter(|(_, hits)| *hits > 1)
        .collect();
    let is_inside =
        |one: &Span, other: &Span| one != other && other.start <= one.start && one.end <= other.end;
    let smallest = counted
        .iter()
        .filter(|(section, _)| !counted.iter().any(|(other, _)| is_inside(other, section)));
    smallest.copied().collect()
}

/// A stream, locked while a chunk is built: a chunk counts as delivered only once it is complete.
pub(crate) type SharedStream = Arc<Mutex<Stream>>;

/// The way a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    Finished,
    CollectionChanged,
    CollectionLeft,
    Displaced,
    Expired,
}

impl StreamEnd {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::CollectionChanged => "collection_changed",
            Self::CollectionLeft => "collection_left",
            Self::Displaced => "displaced",
            Self::Expired => "expired",
        }
    }

    fn error(self) -> NotebookError {
        match self {
            Self::Expired => NotebookError::StreamTokenExpired,
            _ => NotebookError::StreamTokenInvalid {
                reason: self.reason(),
            },
        }
    }
}

/// The streams of one context.
#[derive(Default)]
pub(crate) struct Streams {
    /// Running streams, oldest first.
    running: VecDeque<StreamEntry>,
    ended: VecDeque<(String, StreamEnd)>,
}

struct StreamEntry {
    token: String,
    expires_at: i64,
    stream: SharedStream,
}

impl Streams {
    /// Adds a new stream.
    pub(crate) fn begin(&mut self, stream: Stream, now: i64) {
        self.expire(now);
        if self.running.len() >= MOST_STREAMS
            && let Some(oldest) = self.running.pop_front()
        {
            self.remember(oldest.token, StreamEnd::Displaced);
        }
        self.running.push_back(StreamEntry {
            token: stream.token.clone(),
            expires_at: stream.expires_at,
            stream: Arc::new(Mutex::new(stream)),
        });
    }

    /// Returns the stream with this token, or an error that says how it ended.
    pub(crate) fn find(&mut self, token: &str, now: i64) -> Result<SharedStream, NotebookError> {
        self.expire(now);
        if let Some(entry) = self.running.iter().find(|entry| entry.token == token) {
            return Ok(Arc::clone(&entry.stream));
        }
        let ended = self.ended.iter().find(|(known, _)| known == token);
        Err(match ended {
            Some((_, end)) => end.error(),
            None => NotebookError::StreamTokenInvalid { reason: "unknown" },
        })
    }

    /// Ends one stream.
    pub(crate) fn end(&mut self, token: &str, end: StreamEnd) {
        let at = self.running.iter().position(|entry| entry.token == token);
        if let Some(entry) = at.and_then(|at| self.running.remove(at)) {
            self.remember(entry.token, end);
        }
    }

    /// Ends every stream.
    pub(crate) fn end_all(&mut self, end: StreamEnd, now: i64) {
        self.expire(now);
        while let Some(entry) = self.running.pop_front() {
            self.remember(entry.token, end);
        }
    }

    fn expire(&mut self, now: i64) {
        let (expired, running) = std::mem::take(&mut self.running)
            .into_iter()
            .partition::<VecDeque<_>, _>(|entry| entry.expires_at <= now);
        self.running = running;
        for entry in expired {
            self.remember(entry.token, StreamEnd::Expired);
        }
    }

    fn remember(&mut self, token: String, end: StreamEnd) {
        if self.ended.len() >= MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((token, end));
    }
}

#[cfg(test)]
mod tests;
