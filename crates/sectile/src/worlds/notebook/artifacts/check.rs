//! Every artifact of a collection, hashed again.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{errors::NotebookError, library::Library},
    ArtifactType, RecordBudget, Status, Today, each_record, judged, read_payload,
};

/// What came of hashing everything again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// Sets with a sound record.
    pub(crate) sets: Vec<CheckedSet>,
    /// Sets with a damaged one.
    pub(crate) damaged: Vec<Drift>,
}

/// Something that is not as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Drift {
    /// The set, artifact or notebook.
    pub(crate) id: String,
    pub(crate) problem: String,
}

/// A set whose record is sound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CheckedSet {
    pub(crate) artifact_set_id: String,
    pub(crate) artifact_type: ArtifactType,
    pub(crate) status: Status,
    pub(crate) artifacts: usize,
    pub(crate) sources: usize,
    /// Artifacts that are not what the record says.
    pub(crate) drifted_artifacts: Vec<Drift>,
    /// Sources that are not what the record says.
    pub(crate) drifted_sources: Vec<Drift>,
}

/// Hashes every payload and every recorded source of a collection.
pub(crate) fn check(storage: &Library, collection: &str) -> Result<Checked, NotebookError> {
    let mut checked = Checked::default();
    let mut today = Today::new(storage, collection, &|| false);
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
                    Err(NotebookError::UpstreamFailure { .. }) => "cannot be read",
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
                    Some(_) => "is not what it was",
                    None => "is gone, or cannot be read",
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
