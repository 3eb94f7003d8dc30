//! Artifacts derived from a collection, with the record of how they were made.
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
//! Unknown keys, other versions, names with a slash and anything over the limits in `record` make a record damaged. A
//! damaged set is reported as a problem and does not affect others. An artifact's id is `<set>/<file>`. A payload is
//! returned only if its bytes have the recorded digest. Files that the record does not name are not artifacts.

mod check;
mod links;
pub mod record;

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use sectile_markdown::{Digest, NotePath};
use serde::Serialize;
use serde_json::Value;

pub use crate::artifacts::{
    check::{ArtifactCheck, Drift, check},
    links::{ArtifactLink, LinkedArtifacts, linked_to, links},
    record::{ArtifactRecord, ArtifactType, Maker, SIDECAR, Status},
};
use crate::{
    artifacts::record::{RecordPayload, is_plain_name},
    error::LibraryError,
    library::Library,
    storage::ARTIFACTS,
};

/// The most sets of one collection that are examined.
pub const MAX_SETS: usize = 1000;
/// The most bytes of records that one call reads, about.
pub const MOST_RECORD_BYTES: usize = 16 << 20;
/// The most bytes of names in one list of sets or collections, about: as long as other long answers.
pub const MOST_LISTED_BYTES: usize = 32 << 10;
/// The most bytes of the names of a set's notebooks in such a list.
pub const MOST_SOURCE_BYTES: usize = 4 << 10;
/// The size of a set in such a list, without names.
const SET_BYTES: usize = 200;

const DISCLAIMER: &str = "This artifact is derived material. It is offered for inspection only and carries no authority. Verify against source notebooks for authoritative content.";

const NO_NOTE: &str = "No confidence note was recorded.";

/// The artifact sets of a collection, and those that cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactSets {
    /// Sorted by id.
    pub artifact_sets: Vec<ArtifactSet>,
    /// Sets whose record is damaged.
    pub problems: Vec<SetProblem>,
    /// Number of sets in the collection. Only present if the list is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_sets: Option<usize>,
    /// Call again with this `cursor` for the rest, which may continue a set with many artifacts. Only present if the
    /// list is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A set of artifacts, without their contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactSet {
    /// Name of the set.
    pub artifact_set_id: String,
    /// The kind of derived material in it.
    pub artifact_type: ArtifactType,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// Whether a person vouches for it.
    pub status: Status,
    /// The notebooks it was made from.
    pub source_notebooks: Vec<String>,
    /// Number of notebooks it was made from. Only present if that list is incomplete; `retrieve_artifact` names all of
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source_count: Option<usize>,
    /// Number of artifacts in it.
    pub(crate) artifact_count: usize,
    /// Their ids, for `retrieve_artifact`.
    pub artifact_ids: Vec<String>,
}

/// A set that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SetProblem {
    /// Name of the set.
    pub artifact_set_id: String,
    /// Always `upstream_failure`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = "upstream_failure")))]
    pub kind: &'static str,
    /// A sentence about the problem.
    pub message: String,
}

/// An artifact with its contents.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Artifact {
    /// Id of the artifact: set and file.
    pub artifact_id: String,
    /// The kind of derived material.
    pub artifact_type: ArtifactType,
    /// Whether a person vouches for it.
    pub status: Status,
    /// The whole payload: an object if it is a JSON object, or else its text.
    pub contents: Contents,
    /// How it was made, as recorded.
    pub provenance: ArtifactProvenance,
    /// How far it can be trusted.
    pub(crate) synthesis_metadata: SynthesisMetadata,
    /// The limits of its authority.
    #[cfg_attr(feature = "schema", schemars(extend("const" = DISCLAIMER)))]
    pub disclaimer: &'static str,
    /// Always true: this world changes nothing.
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    pub(crate) immutable: bool,
    /// Computed during this call from the returned bytes.
    pub integrity: ArtifactIntegrity,
}

/// A payload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Contents {
    /// Text, exactly as in the file.
    Text(String),
    /// A JSON object.
    Object(serde_json::Map<String, Value>),
}

/// The record of how an artifact was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactProvenance {
    /// The notebooks it was made from.
    pub source_notebooks: Vec<String>,
    /// The transformations, in order.
    pub(crate) transformation_steps: Vec<ArtifactStep>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// Who made it.
    pub created_by: Maker,
}

/// One transformation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactStep {
    /// Number of the step, from 1.
    pub step_order: usize,
    /// The tool that was used.
    pub tool: String,
    /// When it ran, in milliseconds since 1970.
    pub timestamp: i64,
    /// The parameters of the tool.
    pub parameters: serde_json::Map<String, Value>,
}

/// How far an artifact can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SynthesisMetadata {
    /// Whether a program made it.
    pub synthesized: bool,
    /// A note by its maker.
    pub confidence_note: String,
    /// When it was last made again, in milliseconds since 1970.
    pub last_refreshed: Option<i64>,
    /// Whether its sources have changed since.
    pub staleness_indicator: Staleness,
}

/// Whether sources have changed since they were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Staleness {
    /// Every recorded source still has its recorded digest.
    Fresh,
    /// A source has another digest, or no longer exists.
    Stale,
    /// No sources are recorded.
    Unknown,
}

/// The verification of a payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactIntegrity {
    /// SHA-256 of the payload's bytes, computed during this call.
    pub checksum: String,
    /// Whether that is the recorded digest. Always true: no other payload is returned.
    pub verified: bool,
}

/// A source as recorded, and as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState {
    /// Path of the notebook, relative to the collection.
    pub notebook: NotePath,
    /// Its digest in the record of the set.
    pub recorded: Digest,
    /// Its current digest; `None` if it no longer exists or cannot be read.
    pub today: Option<Digest>,
}

/// An artifact that was found. Its payload may differ from what the record says.
pub struct LoadedArtifact {
    /// Its id: set and file.
    pub id: String,
    /// The record of its set.
    pub record: ArtifactRecord,
    /// The entry of its file in the record.
    pub payload: RecordPayload,
    /// The bytes of the file; `None` if it no longer exists or is too large.
    pub bytes: Option<Vec<u8>>,
}

/// The current digests of notebooks, each read once.
pub(crate) struct CurrentDigests<'a> {
    storage: &'a Library,
    collection: &'a str,
    stop: &'a dyn Fn() -> bool,
    digests: HashMap<NotePath, Option<Digest>>,
}

/// Number of bytes of records that one call may still read. Records take time to parse, and are not trusted.
pub(crate) struct RecordBudget(usize);

impl Default for RecordBudget {
    fn default() -> Self {
        Self(MOST_RECORD_BYTES)
    }
}

/// Returns the artifact sets of a collection after `cursor`, as many as fit in one answer.
pub fn sets(
    storage: &Library,
    collection: &str,
    cursor: Option<&str>,
    stop: &dyn Fn() -> bool,
) -> Result<ArtifactSets, LibraryError> {
    let folders = folders(storage, collection, stop)?;
    let mut sets = ArtifactSets::default();
    let (mut budget, mut rest) = (RecordBudget::default(), MOST_LISTED_BYTES);
    // A cursor is the id of a set, or of an artifact in a set that is listed only in part.
    let (from, file) = match cursor.map(|cursor| cursor.split_once('/').unwrap_or((cursor, ""))) {
        Some((set, "")) => (Bound::Excluded(set), None),
        Some((set, file)) => (Bound::Included(set), Some((set, file))),
        None => (Bound::Unbounded, None),
    };
    let mut last = None;
    for (set, files) in folders.range::<str, _>((from, Bound::Unbounded)) {
        if rest == 0 || budget.is_spent() {
            sets.next_cursor = last;
            break;
        }
        match load(storage, collection, (set, files), &mut budget, stop)? {
            Ok(record) => {
                let after = file.filter(|(of, _)| of == set).map(|(_, file)| file);
                let (listed, open_end) = listed(set, &record, after, &mut rest);
                sets.artifact_sets.push(listed);
                if let Some(file) = open_end {
                    sets.next_cursor = Some(format!("{set}/{file}"));
                    break;
                }
            }
            Err(message) => {
                rest = rest.saturating_sub(SET_BYTES + set.len() + message.len());
                sets.problems.push(SetProblem {
                    artifact_set_id: set.clone(),
                    kind: "upstream_failure",
                    message,
                });
            }
        }
        last = Some(set.clone());
    }
    sets.total_sets = sets.next_cursor.is_some().then_some(folders.len());
    Ok(sets)
}

/// Returns the list entry of a set with the artifacts after `after`; and the last artifact, if others follow.
fn listed(
    set: &str,
    record: &ArtifactRecord,
    after: Option<&str>,
    rest: &mut usize,
) -> (ArtifactSet, Option<String>) {
    let mut source_notebooks = Vec::new();
    let mut for_sources = MOST_SOURCE_BYTES;
    for source in &record.sources {
        let name = source.notebook.as_str();
        if name.len() > for_sources {
            break;
        }
        for_sources -= name.len();
        source_notebooks.push(name.to_owned());
    }
    *rest = rest.saturating_sub(SET_BYTES + set.len() + MOST_SOURCE_BYTES - for_sources);
    let payloads = record.payloads.iter();
    let known = after.and_then(|after| payloads.clone().position(|one| one.file == after));
    let mut payloads = payloads.skip(known.map_or(0, |at| at + 1)).peekable();
    let mut artifact_ids = Vec::new();
    let mut last = None;
    // At least one, so that every page makes progress.
    while let Some(payload) = payloads.next_if(|_| artifact_ids.is_empty() || *rest > 0) {
        let id = format!("{set}/{}", payload.file);
        *rest = rest.saturating_sub(id.len());
        artifact_ids.push(id);
        last = Some(payload.file.clone());
    }
    let is_cut = source_notebooks.len() < record.sources.len();
    let listed = ArtifactSet {
        artifact_set_id: set.to_owned(),
        artifact_type: record.kind,
        created_at: record.created_at,
        status: record.status,
        source_notebooks,
        source_count: is_cut.then_some(record.sources.len()),
        artifact_count: record.payloads.len(),
        artifact_ids,
    };
    (listed, last.filter(|_| payloads.peek().is_some()))
}

/// Counts the artifacts of a collection within the budget. Returns also whether all were counted.
pub(crate) fn count(
    storage: &Library,
    collection: &str,
    budget: &mut RecordBudget,
    stop: &dyn Fn() -> bool,
) -> Result<(usize, bool), LibraryError> {
    let mut count = 0;
    let is_complete = each_record(storage, collection, budget, stop, |_, record| {
        count += record.map_or(0, |record| record.payloads.len());
        Ok(())
    })?;
    Ok((count, is_complete))
}

/// Returns an artifact with its contents. The id of a set that has a single artifact stands for that artifact.
pub fn retrieve(
    storage: &Library,
    collection: &str,
    artifact_id: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Artifact, LibraryError> {
    let LoadedArtifact {
        id,
        record,
        bytes,
        payload,
    } = find(storage, collection, artifact_id, stop)?;
    let bytes = judged(bytes, &payload).map_err(|why| LibraryError::Failed {
        message: format!("The payload of `{id}` {why}, so it is not returned."),
        at: storage.artifact_place(),
    })?;
    let staleness = CurrentDigests::new(storage, collection, stop).staleness(&record)?;
    let contents = contents(&payload.file, bytes).ok_or_else(|| LibraryError::Failed {
        message: format!("The payload of `{id}` is binary; only text and JSON can be returned."),
        at: storage.artifact_place(),
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

/// Finds an artifact and reads its payload.
pub fn find(
    storage: &Library,
    collection: &str,
    artifact_id: &str,
    stop: &dyn Fn() -> bool,
) -> Result<LoadedArtifact, LibraryError> {
    let unknown = || LibraryError::ArtifactNotFound {
        artifact_id: artifact_id.to_owned(),
    };
    let (set, file) = match artifact_id.split_once('/') {
        Some((set, file)) => (set, Some(file)),
        None => (artifact_id, None),
    };
    let folders = folders(storage, collection, stop)?;
    let (set, files) = folders.get_key_value(set).ok_or_else(unknown)?;
    let mut budget = RecordBudget::default();
    let record =
        load(storage, collection, (set, files), &mut budget, stop)?.map_err(|message| {
            LibraryError::Failed {
                message,
                at: storage.artifact_place(),
            }
        })?;
    let payload = match (file, record.payloads.as_slice()) {
        (Some(file), payloads) => payloads.iter().find(|payload| payload.file == file),
        (None, [only]) => Some(only),
        (None, several) => return Err(ambiguous(set, several)),
    };
    let payload = payload.ok_or_else(unknown)?.clone();
    let id = format!("{set}/{}", payload.file);
    let bytes = read_payload(storage, collection, set, &payload)?;
    Ok(LoadedArtifact {
        id,
        record,
        payload,
        bytes,
    })
}

fn ambiguous(set: &str, payloads: &[RecordPayload]) -> LibraryError {
    /// The most ids that the message names.
    const SHOWN: usize = 10;
    let ids = payloads.iter().take(SHOWN);
    let ids: Vec<String> = ids.map(|one| format!("`{set}/{}`", one.file)).collect();
    let more = if payloads.len() > SHOWN { ", ..." } else { "" };
    LibraryError::AmbiguousArtifact {
        message: format!(
            "The set holds {} artifacts. Ask for one of them: {}{more}.",
            payloads.len(),
            ids.join(", ")
        ),
    }
}

/// Reads a payload without checking it.
fn read_payload(
    storage: &Library,
    collection: &str,
    set: &str,
    payload: &RecordPayload,
) -> Result<Option<Vec<u8>>, LibraryError> {
    match NotePath::parse_vault(&format!("{ARTIFACTS}/{set}/{}", payload.file)) {
        Ok(path) => storage.read(collection, &path),
        Err(_) => Ok(None),
    }
}

/// Returns the bytes of a payload if they have the recorded digest, or else the reason why not.
fn judged(bytes: Option<Vec<u8>>, payload: &RecordPayload) -> Result<Vec<u8>, &'static str> {
    match bytes {
        None => Err("does not exist, or is too large to be read"),
        Some(bytes) if Digest::of(&bytes) == payload.digest => Ok(bytes),
        Some(_) => Err("does not match its recorded digest"),
    }
}

impl<'a> CurrentDigests<'a> {
    pub(crate) fn new(
        storage: &'a Library,
        collection: &'a str,
        stop: &'a dyn Fn() -> bool,
    ) -> Self {
        Self {
            storage,
            collection,
            stop,
            digests: HashMap::new(),
        }
    }

    /// Returns whether the sources of a set still have their recorded digests. Stops at the first that does not.
    fn staleness(&mut self, record: &ArtifactRecord) -> Result<Staleness, LibraryError> {
        for source in &record.sources {
            if self.of(&source.notebook)? != Some(source.digest) {
                return Ok(Staleness::Stale);
            }
        }
        Ok(match record.sources.is_empty() {
            true => Staleness::Unknown,
            false => Staleness::Fresh,
        })
    }

    /// Returns every source of a set as it is now, and whether all have their recorded digests.
    pub(crate) fn sources(
        &mut self,
        record: &ArtifactRecord,
    ) -> Result<(Staleness, Vec<SourceState>), LibraryError> {
        let mut states = Vec::with_capacity(record.sources.len());
        for source in &record.sources {
            states.push(SourceState {
                notebook: source.notebook.clone(),
                recorded: source.digest,
                today: self.of(&source.notebook)?,
            });
        }
        Ok((self.staleness(record)?, states))
    }

    fn of(&mut self, notebook: &NotePath) -> Result<Option<Digest>, LibraryError> {
        if let Some(digest) = self.digests.get(notebook) {
            return Ok(*digest);
        }
        if (self.stop)() {
            return Err(LibraryError::Cancelled);
        }
        let digest = match self.storage.read(self.collection, notebook) {
            Ok(bytes) => bytes.map(|bytes| Digest::of(&bytes)),
            // A source that cannot be read counts as missing.
            Err(LibraryError::Failed { .. }) => None,
            Err(error) => return Err(error),
        };
        self.digests.insert(notebook.clone(), digest);
        Ok(digest)
    }
}

impl SourceState {
    /// Returns whether the notebook still has the recorded digest.
    pub fn is_fresh(&self) -> bool {
        self.today == Some(self.recorded)
    }
}

impl RecordBudget {
    /// Enough for all possible records.
    fn without_end() -> Self {
        Self(usize::MAX)
    }

    fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// Calls `visit` for each set of a collection by name, with its record or the reason why that is damaged. Returns
/// whether all sets were visited.
fn each_record(
    storage: &Library,
    collection: &str,
    budget: &mut RecordBudget,
    stop: &dyn Fn() -> bool,
    mut visit: impl FnMut(&str, Result<ArtifactRecord, String>) -> Result<(), LibraryError>,
) -> Result<bool, LibraryError> {
    let folders = folders(storage, collection, stop)?;
    for (index, (set, files)) in folders.iter().enumerate() {
        if index == MAX_SETS {
            visit(set, Err(too_many()))?;
            return Ok(false);
        }
        if budget.is_spent() {
            return Ok(false);
        }
        visit(set, load(storage, collection, (set, files), budget, stop)?)?;
    }
    Ok(true)
}

fn too_many() -> String {
    format!("The collection has more than {MAX_SETS} sets; the others are left out.")
}

/// Returns the files of each folder that could be a set.
fn folders(
    storage: &Library,
    collection: &str,
    stop: &dyn Fn() -> bool,
) -> Result<BTreeMap<String, Vec<String>>, LibraryError> {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in storage.artifact_files(collection, stop)? {
        let segments: Vec<&str> = path.segments().collect();
        if let [_, set, file] = segments.as_slice() {
            let files = folders.entry((*set).to_owned()).or_default();
            files.push((*file).to_owned());
        }
    }
    Ok(folders)
}

/// Returns the record of a set, or a sentence about what is wrong with it.
fn load(
    storage: &Library,
    collection: &str,
    (set, files): (&str, &[String]),
    budget: &mut RecordBudget,
    stop: &dyn Fn() -> bool,
) -> Result<Result<ArtifactRecord, String>, LibraryError> {
    if stop() {
        return Err(LibraryError::Cancelled);
    }
    let damaged = |what: &str| Ok(Err(format!("`{SIDECAR}` of the set `{set}` {what}.")));
    if !is_plain_name(set) {
        return damaged("is in a folder whose name is not allowed for a set");
    }
    if !files.iter().any(|file| file == SIDECAR) {
        return damaged("is missing");
    }
    let Ok(path) = NotePath::parse_vault(&format!("{ARTIFACTS}/{set}/{SIDECAR}")) else {
        return damaged("has an invalid path");
    };
    let bytes = match storage.read(collection, &path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return damaged("no longer exists, or is too large"),
        Err(LibraryError::Failed { .. }) => return damaged("cannot be read"),
        Err(error) => return Err(error),
    };
    budget.0 = budget.0.saturating_sub(bytes.len());
    match ArtifactRecord::parse(&bytes) {
        Ok(record) => Ok(Ok(record)),
        Err(what) => damaged(&what),
    }
}

fn source_notebooks(record: &ArtifactRecord) -> Vec<String> {
    let sources = record.sources.iter();
    sources.map(|source| source.notebook.to_string()).collect()
}

/// Returns whether a payload with these bytes can be returned: only text can, which includes JSON.
pub fn is_deliverable(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
}

/// Returns the contents of a payload, or `None` if it is not text.
fn contents(file: &str, bytes: Vec<u8>) -> Option<Contents> {
    if !is_deliverable(&bytes) {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    let is_json = file.len() > 5 && file.to_ascii_lowercase().ends_with(".json");
    if is_json && let Ok(Value::Object(object)) = serde_json::from_str(&text) {
        return Some(Contents::Object(object));
    }
    Some(Contents::Text(text))
}

#[cfg(test)]
mod tests;
