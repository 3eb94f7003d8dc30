//! Artifacts that were made from given notebooks.

use std::collections::{BTreeMap, HashSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use sectile_markdown::NotePath;
use serde::Serialize;

use crate::{
    artifacts::{
        ArtifactRecord, ArtifactType, CurrentDigests, RecordBudget, Staleness, Status, each_record,
        folders, load,
    },
    error::LibraryError,
    library::Library,
};

/// An artifact that was made from given notebooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactLink {
    /// Id, for `retrieve_artifact`.
    pub artifact_id: String,
    /// Its set.
    pub artifact_set_id: String,
    /// Its kind.
    pub artifact_type: ArtifactType,
    /// Whether a person vouches for it.
    pub status: Status,
    /// Whether its sources changed.
    pub staleness_indicator: Staleness,
    /// Its sources among these notebooks.
    pub matching_sources: Vec<String>,
}

/// The artifacts made from given notebooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedArtifacts {
    /// The first ids, sorted.
    pub ids: Vec<String>,
    /// Number of such artifacts.
    pub total: usize,
    /// Whether all records were examined.
    pub is_complete: bool,
}

/// Returns the artifacts whose recorded sources include one of `notebooks`: the ids of the first `most`, and the total.
/// Sets with a damaged record have no sources.
pub fn linked_to(
    storage: &Library,
    collection: &str,
    notebooks: &[NotePath],
    most: usize,
    stop: &dyn Fn() -> bool,
) -> Result<LinkedArtifacts, LibraryError> {
    let notebooks: HashSet<&NotePath> = notebooks.iter().collect();
    let mut found = LinkedArtifacts::default();
    let mut budget = RecordBudget::default();
    found.is_complete = each_record(storage, collection, &mut budget, stop, |set, record| {
        let Ok(record) = record else { return Ok(()) };
        if matching(&record, &notebooks).is_empty() {
            return Ok(());
        }
        found.total += record.payloads.len();
        let wanted = most.saturating_sub(found.ids.len());
        let payloads = record.payloads.iter().take(wanted);
        let ids = payloads.map(|payload| format!("{set}/{}", payload.file));
        found.ids.extend(ids);
        Ok(())
    })?;
    Ok(found)
}

/// Returns those of the artifacts `ids` that are made from one of `notebooks`, according to the current records.
pub fn links(
    storage: &Library,
    collection: &str,
    notebooks: &[NotePath],
    ids: &[String],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<ArtifactLink>, LibraryError> {
    let notebooks: HashSet<&NotePath> = notebooks.iter().collect();
    let mut sets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (set, file) in ids.iter().filter_map(|id| id.split_once('/')) {
        sets.entry(set).or_default().push(file);
    }
    let mut today = CurrentDigests::new(storage, collection, stop);
    let mut budget = RecordBudget::default();
    let folders = folders(storage, collection, stop)?;
    let mut links = Vec::with_capacity(ids.len());
    for (set, files) in sets {
        let Some(there) = folders.get(set) else {
            continue;
        };
        let Ok(record) = load(storage, collection, (set, there), &mut budget, stop)? else {
            continue;
        };
        let matching = matching(&record, &notebooks);
        if matching.is_empty() {
            continue;
        }
        let staleness = today.staleness(&record)?;
        let payloads = record.payloads.iter();
        let wanted = payloads.filter(|payload| files.contains(&payload.file.as_str()));
        links.extend(wanted.map(|payload| ArtifactLink {
            artifact_id: format!("{set}/{}", payload.file),
            artifact_set_id: set.to_owned(),
            artifact_type: record.kind,
            status: record.status,
            staleness_indicator: staleness,
            matching_sources: matching.clone(),
        }));
    }
    Ok(links)
}

/// Returns the sources of a set that are among `notebooks`.
fn matching(record: &ArtifactRecord, notebooks: &HashSet<&NotePath>) -> Vec<String> {
    let sources = record.sources.iter().map(|source| &source.notebook);
    sources
        .filter(|source| notebooks.contains(source))
        .map(NotePath::to_string)
        .collect()
}
