//! Builds the chunks of a stream, each with what it adds and the measured reason, and the record of completion.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use sectile_library::{
    artifacts::{ArtifactLink, LinkedArtifacts},
    ids::SourceId,
    quote::Quote,
};
use sectile_vault::NotePath;
use serde::Serialize;

use super::{
    super::{
        answers::{GoneNote, PassageVerdict, ScoreParts, counted, score},
        errors::NotebookError,
    },
    Cluster, MOST_LINKS, SECTIONS_A_CHUNK, Stream, StreamReference, StreamStep,
};

/// Maximum number of characters quoted from one section.
pub(crate) const MOST_CHARACTERS: usize = 8000;

/// The functions through which a stream reads what it discloses.
pub(crate) struct StreamReader<'a> {
    /// Reads and hashes a passage.
    pub(crate) quote: &'a QuoteFn<'a>,
    /// Finds the first few artifacts that record one of these notebooks as a source.
    pub(crate) linked: &'a Finding<'a>,
    /// Returns those of the given artifacts that still do, with their state.
    pub(crate) links: &'a LinkFn<'a>,
}

type QuoteFn<'a> = dyn Fn(&SourceId) -> Result<Quote, NotebookError> + 'a;
type Finding<'a> = dyn Fn(&[NotePath], usize) -> Result<LinkedArtifacts, NotebookError> + 'a;
type LinkFn<'a> = dyn Fn(&[NotePath], &[String]) -> Result<Vec<ArtifactLink>, NotebookError> + 'a;

/// One answer of a stream: a chunk, or the record of its completion.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamChunk {
    /// Token of the stream.
    stream_token: String,
    /// Its number, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_index: Option<usize>,
    /// The step; `stream_complete` at the end.
    chunk_type: &'static str,
    /// Its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<ChunkPayload>,
    /// About the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_metadata: Option<StreamMetadata>,
    /// About the whole stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    /// How the stream goes on.
    continuation: Continuation,
    /// The references in this answer, for the access log.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) handed_out: Vec<String>,
}

/// Content of a chunk: items, or links in the last step.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Payload")]
struct ChunkPayload {
    /// References, passages or sections, by `chunk_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<StreamItem>>,
    /// Artifacts made from these notebooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<ArtifactLink>>,
    /// Number of links; the first 50 are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_links: Option<usize>,
}

/// A reference, a passage, or a section that contains several references.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct StreamItem {
    /// The id, for fetch_passage.
    reference_id: String,
    /// Path of the notebook in the collection.
    notebook_id: String,
    /// Title and headings above it, outermost first.
    heading_path: Vec<String>,
    /// Line in the notebook, from 1; null if gone.
    line: Option<usize>,
    /// It was read in this call and matches its id.
    verified: bool,
    /// Why it does not match.
    gone: Option<GoneNote>,
    /// Relevance of a reference, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance_score: Option<f64>,
    /// Parts of the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<ScoreParts>,
    /// Query words in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched_terms: Option<Vec<String>>,
    /// Text of a passage or section, verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_text: Option<String>,
    /// SHA-256 of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
    /// When it was read, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_verified: Option<i64>,
    /// A section was cut at 8,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// Number of references in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<usize>,
    /// Length in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    /// References per 1,000 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    hits_per_1000_bytes: Option<f64>,
}

/// Explanation of a chunk.
#[derive(Debug, Serialize, JsonSchema)]
struct StreamMetadata {
    /// What this chunk adds.
    what_changed: String,
    /// The measured fact behind it.
    why: String,
    /// Progress of the stream.
    progress: StreamProgress,
}

/// Progress of a stream.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Progress")]
struct StreamProgress {
    /// The step of this chunk.
    current_step: &'static str,
    /// The steps before it.
    completed_steps: Vec<&'static str>,
    /// The steps after it.
    remaining_steps: Vec<&'static str>,
}

/// About the whole stream.
#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    /// Chunks with content.
    total_chunks: usize,
    /// Number of references.
    total_references: usize,
    /// The query.
    query: String,
}

/// How the stream goes on.
#[derive(Debug, Serialize, JsonSchema)]
struct Continuation {
    /// Another answer follows: a chunk, or `stream_complete`.
    has_more: bool,
    /// The next answer is a chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_chunk_available: Option<bool>,
    /// Number of chunks left.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_remaining: Option<usize>,
    /// True at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_closed: Option<bool>,
}

/// The payload of a chunk with its explanation.
struct Delivery {
    payload: ChunkPayload,
    what_changed: String,
    why: String,
    handed_out: Vec<String>,
}

impl StreamChunk {
    /// Returns whether this is the last answer of its stream.
    pub(crate) fn is_completion(&self) -> bool {
        self.summary.is_some()
    }
}

impl Stream {
    /// Returns the next chunk, or the record of completion. If this fails, nothing counts as delivered.
    pub(crate) fn pull(
        &mut self,
        reading: &StreamReader<'_>,
    ) -> Result<StreamChunk, NotebookError> {
        let index = self.next;
        let Some((step, page)) = self.place(index) else {
            return Ok(self.completion());
        };
        let delivery = match step {
            StreamStep::References => self.references(page, reading)?,
            StreamStep::Passages => self.passages(page, reading)?,
            StreamStep::Sections => self.sections(page, reading)?,
            StreamStep::Links => self.links(page, reading)?,
        };
        self.next = index + 1;
        let remaining = self.chunks() - self.next;
        let names = |steps: &[StreamStep]| steps.iter().map(|step| step.name()).collect();
        let at = StreamStep::ALL.iter().position(|other| *other == step);
        let (before, after) = StreamStep::ALL.split_at(at.unwrap_or_default());
        Ok(StreamChunk {
            stream_token: self.token.clone(),
            chunk_index: Some(index),
            chunk_type: step.name(),
            payload: Some(delivery.payload),
            stream_metadata: Some(StreamMetadata {
                what_changed: delivery.what_changed,
                why: delivery.why,
                progress: StreamProgress {
                    current_step: step.name(),
                    completed_steps: names(before),
                    remaining_steps: names(&after[1..]),
                },
            }),
            summary: None,
            continuation: Continuation {
                has_more: true,
                next_chunk_available: Some(remaining > 0),
                estimated_remaining: Some(remaining),
                stream_closed: None,
            },
            handed_out: delivery.handed_out,
        })
    }

    fn completion(&self) -> StreamChunk {
        StreamChunk {
            stream_token: self.token.clone(),
            chunk_index: None,
            chunk_type: "stream_complete",
            payload: None,
            stream_metadata: None,
            summary: Some(Summary {
                total_chunks: self.chunks(),
                total_references: self.references.len(),
                query: self.query.clone(),
            }),
            continuation: Continuation {
                has_more: false,
                next_chunk_available: None,
                estimated_remaining: None,
                stream_closed: Some(true),
            },
            handed_out: Vec::new(),
        }
    }

    fn references(
        &self,
        page: usize,
        reading: &StreamReader<'_>,
    ) -> Result<Delivery, NotebookError> {
        let (first, references) = page_of(&self.references, page, self.page);
        let (payload, gone) = items(references, |one| reference(one, reading))?;
        let (count, all) = (references.len(), self.references.len());
        Ok(Delivery {
            payload,
            what_changed: added("reference", first, count, all, gone),
            why: self.why_references(first, references),
            handed_out: ids(references),
        })
    }

    /// Explains the references by what the search measured.
    fn why_references(&self, first: usize, references: &[StreamReference]) -> String {
        let mut why = match references {
            [] => "The search found 0 passages in the notebooks that were searched.".to_owned(),
            [best, ..] => {
                let last = references.last().unwrap_or(best);
                let with_words = references.iter().filter(|one| !one.matched.is_empty());
                let words: BTreeSet<&str> = references
                    .iter()
                    .flat_map(|one| one.matched.iter().map(String::as_str))
                    .collect();
                let words: Vec<&str> = words.into_iter().collect();
                let words = match words.as_slice() {
                    [] => String::new(),
                    words => format!(" ({})", words.join(", ")),
                };
                format!(
                    "Ranked by fused score, here from {:.6} to {:.6}; {} of {} contain words of the query{words}.",
                    score(best.scores.fused),
                    score(last.scores.fused),
                    with_words.count(),
                    references.len(),
                )
            }
        };
        if first == 0 && self.total > self.references.len() {
            why += &format!(
                " {} match; the best {} are disclosed.",
                counted(self.total, "passage"),
                self.references.len()
            );
        }
        if first == 0 && !self.unknown_words.is_empty() {
            why += &format!(
                " Words that no searched notebook contains: {}.",
                self.unknown_words.join(", ")
            );
        }
        for remark in self.remarks.iter().filter(|_| first == 0) {
            why += " ";
            why += remark;
        }
        why
    }

    fn passages(&self, page: usize, reading: &StreamReader<'_>) -> Result<Delivery, NotebookError> {
        let (first, references) = page_of(&self.references, page, self.page);
        let (payload, gone) = items(references, |one| passage(&one.id, reading))?;
        let count = references.len();
        let why = match count {
            0 => "There are 0 references to quote.".to_owned(),
            count => format!(
                "Each was read from its notebook and hashed in this call; {} of {count} match their ids.",
                count - gone
            ),
        };
        Ok(Delivery {
            payload,
            what_changed: added("passage", first, count, self.references.len(), gone),
            why,
            handed_out: ids(references),
        })
    }

    fn sections(&self, page: usize, reading: &StreamReader<'_>) -> Result<Delivery, NotebookError> {
        let size = self.page.min(SECTIONS_A_CHUNK);
        let (first, clusters) = page_of(&self.clusters, page, size);
        let (payload, gone) = items(clusters, |one| section(one, reading))?;
        let (count, all) = (clusters.len(), self.clusters.len());
        let why = match clusters {
            [] => format!(
                "No section contains two or more of the {}.",
                counted(self.references.len(), "reference")
            ),
            clusters => {
                let measured: Vec<String> = clusters.iter().map(measured).collect();
                format!(
                    "References are close together here: {}.",
                    measured.join("; ")
                )
            }
        };
        let handed_out = clusters.iter().map(|cluster| cluster.id.to_string());
        Ok(Delivery {
            payload,
            what_changed: added("whole section", first, count, all, gone),
            why,
            handed_out: handed_out.collect(),
        })
    }

    fn links(
        &mut self,
        page: usize,
        reading: &StreamReader<'_>,
    ) -> Result<Delivery, NotebookError> {
        let notebooks = self.notebooks();
        let linked = match self.linked.take() {
            Some(linked) => linked,
            None => (reading.linked)(&notebooks, MOST_LINKS)?,
        };
        let linked = self.linked.insert(linked);
        let (first, ids) = page_of(&linked.ids, page, self.page);
        let links = match ids {
            [] => Vec::new(),
            ids => (reading.links)(&notebooks, ids)?,
        };
        let (total, gone) = (linked.total, ids.len() - links.len());
        let left_out = match linked.is_complete {
            true => "",
            false => " There are too many records, or they are too large, to check all of them.",
        };
        let disclosed = match total > linked.ids.len() {
            true => format!(" The first {} are disclosed.", linked.ids.len()),
            false => String::new(),
        };
        let mut what_changed = added("artifact link", first, ids.len(), total, 0);
        if gone > 0 {
            what_changed += &format!(" {gone} of them were removed since the stream began.");
        }
        Ok(Delivery {
            what_changed,
            why: format!(
                "Notebooks that contain references: {}. Artifacts that record one of them as a source: {total}.{disclosed}{left_out}",
                notebooks.len()
            ),
            handed_out: Vec::new(),
            payload: ChunkPayload {
                links: Some(links),
                total_links: Some(total),
                ..ChunkPayload::default()
            },
        })
    }
}

/// Returns one page of a list, with the index of its first entry.
fn page_of<T>(all: &[T], page: usize, size: usize) -> (usize, &[T]) {
    let first = (page * size).min(all.len());
    let end = (first + size).min(all.len());
    (first, &all[first..end])
}

fn ids(references: &[StreamReference]) -> Vec<String> {
    let ids = references.iter();
    ids.map(|reference| reference.id.to_string()).collect()
}

/// Describes in a sentence or two what a chunk adds.
fn added(what: &str, first: usize, count: usize, all: usize, gone: usize) -> String {
    let mut text = match count {
        0 => format!("Added no {what}s."),
        _ => format!(
            "Added {}: {} to {} of {all}.",
            counted(count, what),
            first + 1,
            first + count
        ),
    };
    if gone > 0 {
        text += &format!(" {gone} of them changed since the search and cannot be quoted.");
    }
    text
}

/// Returns the fields that every item has, read in this call, and the quote, if there is one.
fn item(
    id: &SourceId,
    reading: &StreamReader<'_>,
) -> Result<(StreamItem, Option<Quote>), NotebookError> {
    let mut item = StreamItem {
        reference_id: id.to_string(),
        notebook_id: id.notebook.as_str().to_owned(),
        ..StreamItem::default()
    };
    Ok(match PassageVerdict::of((reading.quote)(id))? {
        PassageVerdict::Verified(quote) => {
            item.heading_path.clone_from(&quote.heading_path);
            item.line = Some(quote.line);
            item.verified = true;
            (item, Some(*quote))
        }
        PassageVerdict::Gone(note) => {
            item.gone = Some(note);
            (item, None)
        }
    })
}

fn reference(
    of: &StreamReference,
    reading: &StreamReader<'_>,
) -> Result<StreamItem, NotebookError> {
    let (mut item, _) = item(&of.id, reading)?;
    item.relevance_score = Some(score(of.scores.fused));
    item.scores = Some(of.scores.into());
    item.matched_terms = Some(of.matched.clone());
    Ok(item)
}

fn passage(id: &SourceId, reading: &StreamReader<'_>) -> Result<StreamItem, NotebookError> {
    let (mut item, quote) = item(id, reading)?;
    if let Some(quote) = quote {
        item.exact_text = Some(quote.text);
        item.checksum = Some(quote.digest.to_string());
        item.last_verified = Some(quote.verified_at);
    }
    Ok(item)
}

fn section(cluster: &Cluster, reading: &StreamReader<'_>) -> Result<StreamItem, NotebookError> {
    let mut item = passage(&cluster.id, reading)?;
    if let Some(text) = &mut item.exact_text {
        let cut = text.char_indices().nth(MOST_CHARACTERS);
        if let Some((end, _)) = cut {
            text.truncate(end);
        }
        item.truncated = Some(cut.is_some());
    }
    let bytes = cluster.id.span.len();
    item.hits = Some(cluster.hits);
    item.bytes = Some(bytes);
    item.hits_per_1000_bytes = Some(density(cluster.hits, bytes));
    Ok(item)
}

fn measured(cluster: &Cluster) -> String {
    let bytes = cluster.id.span.len();
    format!(
        "{} in {bytes} bytes, {} per 1,000",
        counted(cluster.hits, "hit"),
        density(cluster.hits, bytes)
    )
}

/// Returns one item for each entry, and the number of those that are gone.
fn items<T>(
    all: &[T],
    make: impl Fn(&T) -> Result<StreamItem, NotebookError>,
) -> Result<(ChunkPayload, usize), NotebookError> {
    let items: Vec<StreamItem> = all.iter().map(make).collect::<Result<_, _>>()?;
    let gone = items.iter().filter(|item| !item.verified).count();
    let payload = ChunkPayload {
        items: Some(items),
        ..ChunkPayload::default()
    };
    Ok((payload, gone))
}

/// Returns the hits per 1,000 bytes, rounded to thousandths.
fn density(hits: usize, bytes: usize) -> f64 {
    let thousandths = hits.saturating_mul(1_000_000) / bytes.max(1);
    u32::try_from(thousandths).map_or(f64::from(u32::MAX), f64::from) / 1000.0
}
