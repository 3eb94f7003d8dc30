//! Verification: every artifact of a collection is hashed again.

use serde::Serialize;

use crate::{
    artifacts::{
        ArtifactType, CurrentDigests, RecordBudget, Status, each_record, judged, read_payload,
    },
    error::LibraryError,
    library::Library,
};

/// The result of hashing everything again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArtifactCheck {
    /// Sets with a valid record.
    pub sets: Vec<CheckedSet>,
    /// Sets with a damaged record.
    pub damaged: Vec<Drift>,
}

/// Something that differs from the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// The set, artifact or notebook.
    pub id: String,
    /// The problem, in a few words.
    pub problem: String,
}

/// A set whose record is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckedSet {
    /// The id of the set.
    pub artifact_set_id: String,
    /// The kind of derived material in it.
    pub artifact_type: ArtifactType,
    /// Whether a person vouches for it.
    pub status: Status,
    /// Number of artifacts in its record.
    pub artifacts: usize,
    /// Number of sources in its record.
    pub sources: usize,
    /// Artifacts that differ from the record.
    pub drifted_artifacts: Vec<Drift>,
    /// Sources that differ from the record.
    pub drifted_sources: Vec<Drift>,
}

/// Hashes every payload and every recorded source of a collection.
pub fn check(storage: &Library, collection: &str) -> Result<ArtifactCheck, LibraryError> {
    let mut checked = ArtifactCheck::default();
    let mut today = CurrentDigests::new(storage, collection, &|| false);
    let mut budget = RecordBudget::without_end();
    each_record(
        storage,
        collection,
        &mut budget,
        &|| false,
        |set, record| {
            let record = match record {
                Ok(record) => record,
                Err(what) => {
                    checked.damaged.push(Drift {
                        id: set.to_owned(),
                        problem: what,
                    });
                    return Ok(());
                }
            };
            let mut drifted_artifacts = Vec::new();
            for payload in &record.payloads {
                let bytes = read_payload(storage, collection, set, payload);
                let why = match bytes.map(|bytes| judged(bytes, payload)) {
                    Ok(Ok(_)) => continue,
                    Ok(Err(why)) => why,
                    Err(LibraryError::Failed { .. }) => "cannot be read",
                    Err(error) => return Err(error),
                };
                drifted_artifacts.push(Drift {
                    id: format!("{set}/{}", payload.file),
                    problem: why.to_owned(),
                });
            }
            let (_, sources) = today.sources(&record)?;
            let drifted_sources = sources.iter().filter(|source| !source.is_fresh());
            let drifted_sources = drifted_sources.map(|source| {
                let why = match source.today {
                    Some(_) => "has changed",
                    None => "no longer exists, or cannot be read",
                };
                Drift {
                    id: source.notebook.to_string(),
                    problem: why.to_owned(),
                }
            });
            checked.sets.push(CheckedSet {
                artifact_set_id: set.to_owned(),
                artifact_type: record.kind,
                status: record.status,
                artifacts: record.payloads.len(),
                sources: record.sources.len(),
                drifted_artifacts,
                drifted_sources: drifted_sources.collect(),
            });
            Ok(())
        },
    )?;
    Ok(checked)
}
