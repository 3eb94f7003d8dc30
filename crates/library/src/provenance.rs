//! The provenance of passages and artifacts, as a chain of digests that anyone can check.
//!
//! A passage is a byte range of a notebook, and a notebook is a line in its collection's root. An artifact is a payload
//! produced by recorded steps from recorded sources, which are notebooks. Every link says whether it holds, judging by
//! bytes read during the call. See `root` for how to compute the root of a collection in a shell.

mod root;

use std::collections::{HashMap, HashSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use sectile_markdown::{Digest, NotePath};
use serde::Serialize;
use serde_json::Value;

pub(crate) use crate::provenance::root::DigestCache;
pub use crate::provenance::root::{CollectionRoot, NotebookDigests, collection_root, sums};
use crate::{
    artifacts::{
        self, ArtifactRecord, CurrentDigests, LoadedArtifact, SourceState, Staleness, record,
    },
    collection,
    error::LibraryError,
    facts::{NotebookFacts, notebook_facts},
    library::Library,
    quote::Quote,
};

const INTERPRETATION_NOTE: &str =
    "This provenance chain is descriptive only. No new interpretation has been added.";

/// The provenance of a passage or an artifact.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Provenance {
    /// Origin and transformations.
    pub provenance: Lineage,
    /// The digests from the passage or artifact up to the whole collection, each with whether it holds.
    pub chain: Vec<ChainLink>,
    /// The limits of this answer.
    #[cfg_attr(feature = "schema", schemars(extend("const" = INTERPRETATION_NOTE)))]
    pub(crate) interpretation_note: &'static str,
}

/// Origin and transformations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Lineage {
    /// The notebook it comes from, or the first of several; null if none is recorded.
    pub(crate) origin_notebook: Option<OriginNotebook>,
    /// All notebooks that an artifact comes from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) origin_notebooks: Vec<OriginNotebook>,
    /// The transformations, in order. A passage is quoted verbatim and has none.
    pub(crate) transformation_steps: Vec<TracedStep>,
    /// The tools of the steps, each once.
    pub(crate) tools_involved: Vec<String>,
    /// Notes on how far it can be trusted.
    pub confidence_notes: Vec<String>,
}

/// A notebook that something comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Origin"))]
pub struct OriginNotebook {
    /// Path of the notebook in its collection.
    pub notebook_id: String,
    /// Title from its front matter, or else derived from its file name.
    pub title: String,
    /// Author from its front matter, or else from the collection's manifest.
    pub author: Option<String>,
    /// Date from its front matter, in milliseconds since 1970; never the time of the file. 0 if there is none, which
    /// confidence_notes reports.
    pub created_at: i64,
}

/// One transformation, with its inputs and outputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TracedStep {
    /// Number of the step, from 1.
    pub step_order: usize,
    /// The tool that was used.
    pub tool: String,
    /// The parameters of the tool.
    pub parameters: serde_json::Map<String, Value>,
    /// When it ran, in milliseconds since 1970.
    pub timestamp: i64,
    /// SHA-256 digests of the inputs.
    pub inputs: Vec<String>,
    /// SHA-256 digests of the outputs.
    pub outputs: Vec<String>,
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChainLink {
    /// The level of the link.
    pub level: Level,
    /// An id, a path, or the number of a step.
    pub name: String,
    /// The recorded SHA-256 digest, if there is one.
    pub recorded: Option<String>,
    /// The SHA-256 digest of the current bytes, computed during this call; null if they no longer exist.
    pub today: Option<String>,
    /// Whether the link holds.
    pub holds: bool,
    /// A sentence on what that means.
    pub statement: String,
}

/// The levels of a chain, from a passage or artifact to the whole collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A quoted passage.
    Passage,
    /// The file of an artifact.
    Payload,
    /// A recorded transformation.
    Step,
    /// A notebook that an artifact was made from.
    Source,
    /// The notebook of a passage.
    Notebook,
    /// All notebooks of the collection.
    Collection,
}

/// Returns the provenance of a quoted passage.
pub fn of_source(
    storage: &Library,
    quote: &Quote,
    stop: &dyn Fn() -> bool,
) -> Result<Provenance, LibraryError> {
    let (collection, notebook) = (quote.id.collection.as_str(), &quote.id.notebook);
    let bytes = storage.read(collection, notebook)?;
    let span = quote.id.span;
    let passage = bytes
        .as_deref()
        .and_then(|bytes| bytes.get(span.start..span.end));
    let passage = passage.map(Digest::of);
    let today = bytes.as_deref().map(Digest::of);
    let facts = bytes
        .as_deref()
        .map(|bytes| notebook_facts(bytes, notebook));
    let sums = sums(storage, collection, stop)?;
    let in_root = today.is_some() && sums.of(notebook) == today;
    let holds = passage == Some(quote.digest);
    let chain = vec![
        ChainLink {
            level: Level::Passage,
            name: quote.id.to_string(),
            recorded: Some(quote.digest.to_string()),
            today: passage.map(|digest| digest.to_string()),
            holds,
            statement: said(
                holds,
                &format!(
                    "The bytes {} to {} of the notebook are the quoted passage.",
                    span.start, span.end
                ),
                "The notebook has different bytes there now.",
            ),
        },
        ChainLink {
            level: Level::Notebook,
            name: notebook.to_string(),
            recorded: Some(quote.notebook_digest.to_string()),
            today: today.map(|digest| digest.to_string()),
            holds: today == Some(quote.notebook_digest),
            statement: said(
                today == Some(quote.notebook_digest),
                "The notebook is the file that the passage was read from.",
                "The notebook changed while this was answered.",
            ),
        },
        collection_link(collection, in_root, sums),
    ];
    let mut confidence_notes = vec![
        "The passage is quoted from the notebook's file without any transformation.".to_owned(),
    ];
    let date = facts.as_ref().and_then(|facts| facts.date);
    note_missing_dates(usize::from(date.is_none()), &mut confidence_notes);
    note_broken_links(&chain, &mut confidence_notes);
    let author = quote.author.clone();
    let author = author.or_else(|| facts.as_ref()?.author.clone());
    let author = match author {
        Some(author) => Some(author),
        None => collection::manifest(storage, collection)?.author,
    };
    Ok(Provenance {
        provenance: Lineage {
            origin_notebook: Some(OriginNotebook {
                notebook_id: notebook.to_string(),
                title: quote.notebook_title.clone(),
                author,
                created_at: date.unwrap_or_default(),
            }),
            origin_notebooks: Vec::new(),
            transformation_steps: Vec::new(),
            tools_involved: Vec::new(),
            confidence_notes,
        },
        chain,
        interpretation_note: INTERPRETATION_NOTE,
    })
}

/// Returns the provenance of an artifact.
pub fn of_artifact(
    storage: &Library,
    collection: &str,
    artifact_id: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Provenance, LibraryError> {
    let found = artifacts::find(storage, collection, artifact_id, stop)?;
    let record = &found.record;
    let (staleness, sources) = CurrentDigests::new(storage, collection, stop).sources(record)?;
    let sums = sums(storage, collection, stop)?;
    let mut chain = vec![payload_link(&found)];
    chain.extend(step_links(record));
    chain.extend(sources.iter().map(source_link));
    let covered = sources.iter().filter(|source| source.today.is_some());
    let in_root = covered
        .clone()
        .all(|source| sums.of(&source.notebook) == source.today);
    let in_root = in_root && covered.count() > 0;
    chain.push(collection_link(collection, in_root, sums));
    let mut confidence_notes: Vec<String> = record.confidence_note.iter().cloned().collect();
    confidence_notes.push(
        match staleness {
            Staleness::Fresh => "Every recorded source has its recorded digest today.",
            Staleness::Stale => "A recorded source has changed or no longer exists.",
            Staleness::Unknown => "No sources are recorded.",
        }
        .to_owned(),
    );
    let (origins, without_date) = origins(storage, collection, &sources, stop)?;
    note_missing_dates(without_date, &mut confidence_notes);
    if record.steps.is_empty() {
        confidence_notes.push(
            "No transformation steps are recorded, so how it was made from its sources cannot be checked."
                .to_owned(),
        );
    }
    note_broken_links(&chain, &mut confidence_notes);
    let mut seen = HashSet::new();
    let tools = record.steps.iter().map(|step| &step.tool);
    Ok(Provenance {
        provenance: Lineage {
            origin_notebook: origins.first().cloned(),
            origin_notebooks: origins,
            transformation_steps: record.steps.iter().enumerate().map(traced).collect(),
            tools_involved: tools.filter(|tool| seen.insert(*tool)).cloned().collect(),
            confidence_notes,
        },
        chain,
        interpretation_note: INTERPRETATION_NOTE,
    })
}

/// Returns a link for each step that says whether it fits the steps before and after it.
pub fn step_links(record: &ArtifactRecord) -> Vec<ChainLink> {
    let sources = record.sources.iter().map(|source| source.digest);
    let mut known: HashSet<Digest> = sources.collect();
    let payloads = record.payloads.iter().map(|payload| payload.digest);
    let payloads: HashSet<Digest> = payloads.collect();
    let mut last_taken = HashMap::new();
    for (index, step) in record.steps.iter().enumerate() {
        last_taken.extend(step.inputs.iter().map(|digest| (*digest, index)));
    }
    let mut links = Vec::new();
    for (index, step) in record.steps.iter().enumerate() {
        let comes_from =
            !step.inputs.is_empty() && step.inputs.iter().all(|one| known.contains(one));
        let goes_on = |digest: &Digest| {
            let last = last_taken.get(digest);
            payloads.contains(digest) || last.is_some_and(|last| *last > index)
        };
        let leads_to = !step.outputs.is_empty() && step.outputs.iter().all(goes_on);
        known.extend(&step.outputs);
        let statement = match (comes_from, leads_to) {
            (true, true) => {
                "Every input is a recorded source or the output of an earlier step, and every output is a payload or the input of a later step."
            }
            (false, true) => {
                "An input is neither a recorded source nor the output of an earlier step, or none is recorded."
            }
            (true, false) => {
                "An output is neither a payload nor the input of a later step, or none is recorded."
            }
            (false, false) => "Neither its inputs nor its outputs fit the steps around it.",
        };
        links.push(ChainLink {
            level: Level::Step,
            name: (index + 1).to_string(),
            recorded: None,
            today: None,
            holds: comes_from && leads_to,
            statement: statement.to_owned(),
        });
    }
    links
}

/// Returns the link of the payload: whether it has its recorded digest and was produced by a recorded step.
fn payload_link(found: &LoadedArtifact) -> ChainLink {
    let recorded = found.payload.digest;
    let today = found.bytes.as_deref().map(Digest::of);
    let mut steps = found.record.steps.iter();
    let made = steps.any(|step| step.outputs.contains(&recorded));
    let statement = match today {
        Some(today) if today != recorded => "The payload does not have its recorded digest.",
        None => "The payload no longer exists, or is too large to be read.",
        Some(_) if made => "The payload has its recorded digest, and a recorded step produced it.",
        Some(_) => "The payload has its recorded digest, but no recorded step produced it.",
    };
    ChainLink {
        level: Level::Payload,
        name: found.id.clone(),
        recorded: Some(recorded.to_string()),
        today: today.map(|digest| digest.to_string()),
        holds: made && today == Some(recorded),
        statement: statement.to_owned(),
    }
}

fn source_link(source: &SourceState) -> ChainLink {
    ChainLink {
        level: Level::Source,
        name: source.notebook.to_string(),
        recorded: Some(source.recorded.to_string()),
        today: source.today.map(|digest| digest.to_string()),
        holds: source.is_fresh(),
        statement: match source.today {
            Some(_) if source.is_fresh() => {
                "The notebook is unchanged since the artifact was made."
            }
            Some(_) => "The notebook has changed since the artifact was made.",
            None => "The notebook no longer exists, or cannot be read.",
        }
        .to_owned(),
    }
}

fn collection_link(collection: &str, holds: bool, sums: NotebookDigests) -> ChainLink {
    let root = sums.root();
    let left_out = match root.left_out.len() {
        0 => String::new(),
        count => format!(" {count} more cannot be read and are not included."),
    };
    let statement = said(
        holds,
        "The current digest of every existing notebook above is one of those in the root.",
        "The root does not contain the digests above, or there are none.",
    );
    ChainLink {
        level: Level::Collection,
        name: collection.to_owned(),
        recorded: None,
        today: Some(root.root.to_string()),
        holds,
        statement: format!(
            "{statement} It covers {} notebooks.{left_out}",
            root.notebooks
        ),
    }
}

/// Returns the notebooks that an artifact was made from, and the number of those without a date. The title of a missing
/// one is derived from its file name.
fn origins(
    storage: &Library,
    collection: &str,
    sources: &[SourceState],
    stop: &dyn Fn() -> bool,
) -> Result<(Vec<OriginNotebook>, usize), LibraryError> {
    let manifest = collection::manifest(storage, collection)?;
    let (mut origins, mut without_date) = (Vec::new(), 0);
    for source in sources {
        if stop() {
            return Err(LibraryError::Cancelled);
        }
        let path: &NotePath = &source.notebook;
        let bytes = match source.today {
            Some(_) => storage.read(collection, path)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let NotebookFacts {
            title,
            author,
            date,
        } = notebook_facts(&bytes, path);
        origins.push(OriginNotebook {
            notebook_id: path.to_string(),
            title,
            author: author.or_else(|| manifest.author.clone()),
            created_at: date.unwrap_or_default(),
        });
        without_date += usize::from(date.is_none());
    }
    Ok((origins, without_date))
}

fn traced((index, step): (usize, &record::RecordStep)) -> TracedStep {
    let digits = |digests: &[Digest]| digests.iter().map(Digest::to_string).collect();
    TracedStep {
        step_order: index + 1,
        tool: step.tool.clone(),
        parameters: step.parameters.clone(),
        timestamp: step.timestamp,
        inputs: digits(&step.inputs),
        outputs: digits(&step.outputs),
    }
}

fn note_missing_dates(count: usize, notes: &mut Vec<String>) {
    match count {
        0 => {}
        1 => notes.push("A notebook has no date, so its created_at is 0.".to_owned()),
        count => notes.push(format!(
            "{count} notebooks have no date, so their created_at is 0."
        )),
    }
}

fn note_broken_links(chain: &[ChainLink], notes: &mut Vec<String>) {
    let broken = chain.iter().filter(|link| !link.holds).count();
    notes.push(match broken {
        0 => "Every link of the chain holds.".to_owned(),
        broken => format!(
            "{broken} of {} links of the chain do not hold.",
            chain.len()
        ),
    });
}

fn said(holds: bool, yes: &str, no: &str) -> String {
    if holds { yes } else { no }.to_owned()
}

#[cfg(test)]
mod tests;
