//! What was derived from a collection, with the record of how.
//!
//! A set of artifacts is a folder `_artifacts/<set>/` of the collection. It holds payload files and `set.toml`:
//!
//! ```toml
//! format = 1
//! type = "summary"                          # summary, index, extraction or synthesis
//! status = "offered"                        # offered, or canonical: written by a person
//! created_at = 2026-07-28T09:30:00Z         # times have a day and an offset
//! created_by = "synthesis_pipeline"         # or human_export, which canonical ones must be
//! last_refreshed = 2026-07-29T08:00:00Z     # optional
//! confidence_note = "Not reviewed."         # optional
//!
//! [[sources]]                               # notebooks, relative to the collection, and the SHA-256 of their bytes then
//! notebook = "week-1.md"
//! sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
//!
//! [[steps]]                                 # numbered from 1; inputs and outputs are SHA-256 digests
//! order = 1
//! tool = "summarise"
//! timestamp = 2026-07-28T09:29:00Z
//! inputs = ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
//! outputs = ["2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"]
//! parameters = { model = "x" }              # optional
//!
//! [[artifacts]]                             # payload files beside this one, at least one
//! file = "summary.md"
//! sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
//! bytes = 5
//! ```
//!
//! Unknown keys, other versions, names with a slash and anything over the bounds in `record` make the record damaged. A
//! damaged set is told as a problem and hides no other. An artifact's id is `<set>/<file>`. A payload is answered only when
//! its bytes have the recorded digest. Files that the record does not name are not artifacts.

mod check;
pub(crate) mod record;

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use sectile_markdown::Digest;
use sectile_vault::NotePath;
use serde::Serialize;
use serde_json::Value;

use self::record::{Payload, is_plain_name};
pub(crate) use self::{
    check::{Checked, Drift, check},
    record::{ArtifactType, Maker, Record, SIDECAR, Status},
};
use super::{errors::NotebookError, library::Library};
use sectile_retrieval::ARTIFACTS;

/// Sets of one collection that are looked at.
const MAX_SETS: usize = 1000;

const DISCLAIMER: &str = "This artifact is derived material. It is offered for inspection only and carries no authority. Verify against source notebooks for authoritative content.";

const NO_NOTE: &str = "No confidence note was recorded.";

/// The sets of a collection, and those that cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ArtifactSets {
    /// Sorted by id.
    pub(crate) artifact_sets: Vec<ArtifactSet>,
    /// Sets whose record is damaged.
    pub(crate) problems: Vec<SetProblem>,
}

/// A set of artifacts, without their contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ArtifactSet {
    /// Name of the set.
    pub(crate) artifact_set_id: String,
    /// What kind of derived material it holds.
    pub(crate) artifact_type: ArtifactType,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created_at: i64,
    /// Whether a person stands behind it.
    pub(crate) status: Status,
    /// The notebooks it was made from.
    pub(crate) source_notebooks: Vec<String>,
    /// Number of artifacts in it.
    pub(crate) artifact_count: usize,
    /// Their ids, for `retrieve_artifact`.
    pub(crate) artifact_ids: Vec<String>,
}

/// A set that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SetProblem {
    /// Name of the set.
    pub(crate) artifact_set_id: String,
    /// Always `upstream_failure`.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "upstream_failure"))]
    pub(crate) kind: &'static str,
    /// What is wrong, in a sentence.
    pub(crate) message: String,
}

/// An artifact with its contents.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Artifact {
    /// Id of the artifact: set and file.
    pub(crate) artifact_id: String,
    /// What kind of derived material it is.
    pub(crate) artifact_type: ArtifactType,
    /// Whether a person stands behind it.
    pub(crate) status: Status,
    /// The whole payload: an object when it is one in JSON, else its text.
    pub(crate) contents: Contents,
    /// How it came to be, as recorded.
    pub(crate) provenance: ArtifactProvenance,
    /// How far it can be trusted.
    pub(crate) synthesis_metadata: SynthesisMetadata,
    /// What it is not.
    #[schemars(extend("const" = DISCLAIMER))]
    pub(crate) disclaimer: &'static str,
    /// Always true: this world changes nothing.
    #[schemars(extend("const" = true))]
    pub(crate) immutable: bool,
    /// Computed in this call from the bytes that are answered.
    pub(crate) integrity: ArtifactIntegrity,
}

/// A payload.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Contents {
    /// Text, exactly as in the file.
    Text(String),
    /// A JSON object.
    Object(serde_json::Map<String, Value>),
}

/// What is recorded of how an artifact came to be.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ArtifactProvenance {
    /// The notebooks it was made from.
    pub(crate) source_notebooks: Vec<String>,
    /// What was done, in order.
    pub(crate) transformation_steps: Vec<ArtifactStep>,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created_at: i64,
    /// Who made it.
    pub(crate) created_by: Maker,
}

/// One transformation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ArtifactStep {
    /// Place of the step, from 1.
    pub(crate) step_order: usize,
    /// The tool that did it.
    pub(crate) tool: String,
    /// When, in milliseconds since 1970.
    pub(crate) timestamp: i64,
    /// What the tool was told.
    pub(crate) parameters: serde_json::Map<String, Value>,
}

/// How far an artifact can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SynthesisMetadata {
    /// Whether a program made it.
    pub(crate) synthesized: bool,
    /// What its maker says of it.
    pub(crate) confidence_note: String,
    /// When it was last made anew, in milliseconds since 1970.
    pub(crate) last_refreshed: Option<i64>,
    /// Whether its sources are still what it was made from.
    pub(crate) staleness_indicator: Staleness,
}

/// Whether sources are still what was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Staleness {
    /// Every recorded source has the recorded digest today.
    Fresh,
    /// A source has another digest today, or is gone.
    Stale,
    /// No sources are recorded.
    Unknown,
}

/// What was checked of a payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ArtifactIntegrity {
    /// SHA-256 of the payload's bytes, computed in this call.
    pub(crate) checksum: String,
    /// Whether that is the recorded digest. Nothing else is answered.
    pub(crate) verified: bool,
}

/// An artifact that was made from given notebooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ArtifactLink {
    /// For `retrieve_artifact`.
    pub(crate) artifact_id: String,
    /// Its set.
    pub(crate) artifact_set_id: String,
    /// Its kind.
    pub(crate) artifact_type: ArtifactType,
    /// Its standing.
    pub(crate) status: Status,
    /// Whether its sources changed.
    pub(crate) staleness_indicator: Staleness,
    /// Sources that hold references.
    pub(crate) matching_sources: Vec<String>,
}

/// A source as recorded, and as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceState {
    pub(crate) notebook: NotePath,
    pub(crate) recorded: Digest,
    /// `None` when it is gone or cannot be read.
    pub(crate) today: Option<Digest>,
}

/// An artifact that was found. Its payload may not be what the record says.
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) record: Record,
    pub(crate) payload: Payload,
    /// `None` when the file is gone or too large.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// The digests of notebooks as they are now, each read once.
pub(crate) struct Today<'a> {
    storage: &'a Library,
    collection: &'a str,
    digests: HashMap<NotePath, Option<Digest>>,
}

/// The artifact sets of a collection.
pub(crate) fn sets(storage: &Library, collection: &str) -> Result<ArtifactSets, NotebookError> {
    let mut sets = ArtifactSets::default();
    for (set, record) in records(storage, collection)? {
        match record {
            Ok(record) => sets.artifact_sets.push(ArtifactSet {
                artifact_type: record.kind,
                created_at: record.created_at,
                status: record.status,
                source_notebooks: source_notebooks(&record),
                artifact_count: record.payloads.len(),
                artifact_ids: record
                    .payloads
                    .iter()
                    .map(|payload| format!("{set}/{}", payload.file))
                    .collect(),
                artifact_set_id: set,
            }),
            Err(message) => sets.problems.push(SetProblem {
                artifact_set_id: set,
                kind: "upstream_failure",
                message,
            }),
        }
    }
    Ok(sets)
}

/// How many artifacts a collection has.
pub(crate) fn count(storage: &Library, collection: &str) -> Result<usize, NotebookError> {
    let records = records(storage, collection)?;
    let sound = records
        .iter()
        .filter_map(|(_, record)| record.as_ref().ok());
    Ok(sound.map(|record| record.payloads.len()).sum())
}

/// An artifact with its contents. The id of a set stands for its artifact when it holds only one.
pub(crate) fn retrieve(
    storage: &Library,
    collection: &str,
    artifact_id: &str,
) -> Result<Artifact, NotebookError> {
    let Found {
        id,
        record,
        bytes,
        payload,
    } = find(storage, collection, artifact_id)?;
    let bytes = judged(bytes, &payload).map_err(|why| NotebookError::UpstreamFailure {
        message: format!("The payload of `{id}` {why}; it is not answered."),
    })?;
    let (staleness, _) = staleness(&mut Today::new(storage, collection), &record)?;
    let contents = contents(&payload.file, bytes).ok_or_else(|| NotebookError::UpstreamFailure {
        message: format!(
            "The payload of `{id}` is binary; only text and JSON can be answered. It can be opened from its folder."
        ),
    })?;
    let source_notebooks = source_notebooks(&record);
    let steps = record.steps.into_iter().enumerate();
    let transformation_steps = steps.map(|(index, step)| ArtifactStep {
        step_order: index + 1,
        tool: step.tool,
        timestamp: step.timestamp,
        parameters: step.parameters,
    });
    Ok(Artifact {
        artifact_id: id,
        artifact_type: record.kind,
        status: record.status,
        contents,
        provenance: ArtifactProvenance {
            source_notebooks,
            transformation_steps: transformation_steps.collect(),
            created_at: record.created_at,
            created_by: record.created_by,
        },
        synthesis_metadata: SynthesisMetadata {
            synthesized: record.created_by == Maker::SynthesisPipeline,
            confidence_note: record.confidence_note.unwrap_or_else(|| NO_NOTE.to_owned()),
            last_refreshed: record.last_refreshed,
            staleness_indicator: staleness,
        },
        disclaimer: DISCLAIMER,
        immutable: true,
        integrity: ArtifactIntegrity {
            checksum: payload.digest.to_string(),
            verified: true,
        },
    })
}

/// The artifacts whose recorded sources include one of `notebooks`, by id. Sets with a damaged record have no sources.
pub(crate) fn linked_to(
    storage: &Library,
    collection: &str,
    notebooks: &[NotePath],
) -> Result<Vec<ArtifactLink>, NotebookError> {
    let mut links = Vec::new();
    let mut today = Today::new(storage, collection);
    for (set, record) in records(storage, collection)? {
        let Ok(record) = record else { continue };
        let sources = record.sources.iter().map(|source| &source.notebook);
        let matching: Vec<String> = sources
            .filter(|source| notebooks.contains(source))
            .map(NotePath::to_string)
            .collect();
        if matching.is_empty() {
            continue;
        }
        let (staleness, _) = staleness(&mut today, &record)?;
        links.extend(record.payloads.iter().map(|payload| ArtifactLink {
            artifact_id: format!("{set}/{}", payload.file),
            artifact_set_id: set.clone(),
            artifact_type: record.kind,
            status: record.status,
            staleness_indicator: staleness,
            matching_sources: matching.clone(),
        }));
    }
    Ok(links)
}

/// Finds an artifact and reads its payload.
pub(crate) fn find(
    storage: &Library,
    collection: &str,
    artifact_id: &str,
) -> Result<Found, NotebookError> {
    let unknown = || NotebookError::ArtifactNotFound {
        artifact_id: artifact_id.to_owned(),
    };
    let (set, file) = match artifact_id.split_once('/') {
        Some((set, file)) => (set, Some(file)),
        None => (artifact_id, None),
    };
    let folders = folders(storage, collection)?;
    let (set, files) = folders.get_key_value(set).ok_or_else(unknown)?;
    let record = load(storage, collection, set, files)?
        .map_err(|message| NotebookError::UpstreamFailure { message })?;
    let payload = match (file, record.payloads.as_slice()) {
        (Some(file), payloads) => payloads.iter().find(|payload| payload.file == file),
        (None, [only]) => Some(only),
        (None, several) => return Err(ambiguous(set, several)),
    };
    let payload = payload.ok_or_else(unknown)?.clone();
    let id = format!("{set}/{}", payload.file);
    let bytes = read_payload(storage, collection, set, &payload)?;
    Ok(Found {
        id,
        record,
        payload,
        bytes,
    })
}

fn ambiguous(set: &str, payloads: &[Payload]) -> NotebookError {
    /// Ids that the message names.
    const SHOWN: usize = 10;
    let ids = payloads.iter().take(SHOWN);
    let ids: Vec<String> = ids.map(|one| format!("`{set}/{}`", one.file)).collect();
    let more = if payloads.len() > SHOWN { ", ..." } else { "" };
    NotebookError::AmbiguousRequest {
        argument: "artifact_id",
        message: format!(
            "The set holds {} artifacts. Ask for one of them: {}{more}.",
            payloads.len(),
            ids.join(", ")
        ),
    }
}

/// The bytes of a payload, whatever they are.
fn read_payload(
    storage: &Library,
    collection: &str,
    set: &str,
    payload: &Payload,
) -> Result<Option<Vec<u8>>, NotebookError> {
    match NotePath::parse_vault(&format!("{ARTIFACTS}/{set}/{}", payload.file)) {
        Ok(path) => storage.read(collection, &path),
        Err(_) => Ok(None),
    }
}

/// The bytes of a payload when they are what was recorded, else what is wrong with them.
fn judged(bytes: Option<Vec<u8>>, payload: &Payload) -> Result<Vec<u8>, &'static str> {
    match bytes {
        None => Err("is not there, or is too large to be read"),
        Some(bytes) if Digest::of(&bytes) == payload.digest => Ok(bytes),
        Some(_) => Err("does not match its recorded digest"),
    }
}

/// Whether the sources of a set are still what was recorded.
pub(crate) fn staleness(
    today: &mut Today<'_>,
    record: &Record,
) -> Result<(Staleness, Vec<SourceState>), NotebookError> {
    let mut states = Vec::new();
    for source in &record.sources {
        states.push(SourceState {
            notebook: source.notebook.clone(),
            recorded: source.digest,
            today: today.of(&source.notebook)?,
        });
    }
    let staleness = if states.is_empty() {
        Staleness::Unknown
    } else if states.iter().all(SourceState::is_fresh) {
        Staleness::Fresh
    } else {
        Staleness::Stale
    };
    Ok((staleness, states))
}

impl<'a> Today<'a> {
    pub(crate) fn new(storage: &'a Library, collection: &'a str) -> Self {
        Self {
            storage,
            collection,
            digests: HashMap::new(),
        }
    }

    fn of(&mut self, notebook: &NotePath) -> Result<Option<Digest>, NotebookError> {
        if let Some(digest) = self.digests.get(notebook) {
            return Ok(*digest);
        }
        let digest = match self.storage.read(self.collection, notebook) {
            Ok(bytes) => bytes.map(|bytes| Digest::of(&bytes)),
            // One source that cannot be read is as good as gone.
            Err(NotebookError::UpstreamFailure { .. }) => None,
            Err(error) => return Err(error),
        };
        self.digests.insert(notebook.clone(), digest);
        Ok(digest)
    }
}

impl SourceState {
    pub(crate) fn is_fresh(&self) -> bool {
        self.today == Some(self.recorded)
    }
}

/// Every set of a collection by name, with its record or what is wrong with it.
#[expect(clippy::type_complexity, reason = "a list of names and outcomes")]
fn records(
    storage: &Library,
    collection: &str,
) -> Result<Vec<(String, Result<Record, String>)>, NotebookError> {
    let folders = folders(storage, collection)?;
    let mut records = Vec::new();
    for (index, (set, files)) in folders.into_iter().enumerate() {
        if index == MAX_SETS {
            let message =
                format!("The collection has more than {MAX_SETS} sets; the others are left out.");
            records.push((set, Err(message)));
            break;
        }
        let record = load(storage, collection, &set, &files)?;
        records.push((set, record));
    }
    Ok(records)
}

/// The files of each folder that could be a set.
fn folders(
    storage: &Library,
    collection: &str,
) -> Result<BTreeMap<String, Vec<String>>, NotebookError> {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in storage.artifact_files(collection)? {
        let segments: Vec<&str> = path.segments().collect();
        if let [_, set, file] = segments.as_slice() {
            let files = folders.entry((*set).to_owned()).or_default();
            files.push((*file).to_owned());
        }
    }
    Ok(folders)
}

/// The record of a set, or a sentence about what is wrong with it.
fn load(
    storage: &Library,
    collection: &str,
    set: &str,
    files: &[String],
) -> Result<Result<Record, String>, NotebookError> {
    let damaged = |what: &str| Ok(Err(format!("`{SIDECAR}` of the set `{set}` {what}.")));
    if !is_plain_name(set) {
        return damaged("is in a folder with a name that no set may have");
    }
    if !files.iter().any(|file| file == SIDECAR) {
        return damaged("is missing");
    }
    let Ok(path) = NotePath::parse_vault(&format!("{ARTIFACTS}/{set}/{SIDECAR}")) else {
        return damaged("cannot be named");
    };
    let bytes = match storage.read(collection, &path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return damaged("is not there any more, or too large"),
        Err(NotebookError::UpstreamFailure { .. }) => return damaged("cannot be read"),
        Err(error) => return Err(error),
    };
    match Record::parse(&bytes) {
        Ok(record) => Ok(Ok(record)),
        Err(what) => damaged(&what),
    }
}

fn source_notebooks(record: &Record) -> Vec<String> {
    let sources = record.sources.iter();
    sources.map(|source| source.notebook.to_string()).collect()
}

/// What is answered of a payload, or `None` when it is no text.
fn contents(file: &str, bytes: Vec<u8>) -> Option<Contents> {
    let text = String::from_utf8(bytes).ok()?;
    if text.contains('\0') {
        return None;
    }
    let is_json = file.len() > 5 && file.to_ascii_lowercase().ends_with(".json");
    if is_json && let Ok(Value::Object(object)) = serde_json::from_str(&text) {
        return Some(Contents::Object(object));
    }
    Some(Contents::Text(text))
}

#[cfg(test)]
mod tests;
