//! `explain_provenance`: the origin of a passage or an artifact.

use schemars::JsonSchema;
use sectile_library::provenance::{self, Provenance};
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use serde::{Deserialize, Serialize};

use super::super::{NotebookWorld, errors::NotebookError, naming, source_id};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "explain_provenance",
        "Explain provenance",
        "Returns origin, transformation steps, tools, and confidence notes for a source or artifact.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExplainProvenanceParams {
    /// Source ID or artifact ID
    id: String,
    /// Type of identifier
    id_type: IdType,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

/// Type of identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum IdType {
    Source,
    Artifact,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProvenanceAnswer {
    /// The requested id.
    id: String,
    /// Type of the id.
    id_type: IdType,
    #[serde(flatten)]
    provenance: Provenance,
}

fn handle(
    world: &NotebookWorld,
    params: ExplainProvenanceParams,
    call: &CallContext,
) -> Result<(ProvenanceAnswer, AnswerFacts), Failure> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let storage = world.storage.as_ref();
    let stop = || call.cancelled.is_cancelled();
    let provenance = match params.id_type {
        IdType::Source => {
            let id = source_id(&entered, &params.id)?;
            provenance::of_source(storage, &world.quote(&id, 0)?, &stop)
                .map_err(NotebookError::from)?
        }
        IdType::Artifact => {
            provenance::of_artifact(storage, &entered.collection, &params.id, &stop)
                .map_err(|error| naming::of_artifact(error, storage, &entered.collection, call))?
        }
    };
    entered
        .context
        .record(world.now(), "explain_provenance", vec![params.id.clone()]);
    let explained = ProvenanceAnswer {
        id: params.id,
        id_type: params.id_type,
        provenance,
    };
    Ok((explained, AnswerFacts::default()))
}
