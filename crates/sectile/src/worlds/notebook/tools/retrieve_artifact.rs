//! `retrieve_artifact`: derived material, with its provenance and a disclaimer.

use schemars::JsonSchema;
use sectile_library::artifacts::{self, Artifact};
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use serde::Deserialize;

use super::super::{NotebookWorld, naming};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "retrieve_artifact",
        "Retrieve an artifact",
        "Retrieves full artifact contents with provenance and non-authoritative disclaimer.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RetrieveArtifactParams {
    /// Artifact identifier from list_artifact_sets
    artifact_id: String,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

fn handle(
    world: &NotebookWorld,
    params: RetrieveArtifactParams,
    call: &CallContext,
) -> Result<(Artifact, AnswerFacts), Failure> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let storage = world.storage.as_ref();
    let stop = || call.cancelled.is_cancelled();
    let collection = &entered.collection;
    let artifact = artifacts::retrieve(storage, collection, &params.artifact_id, &stop)
        .map_err(|error| naming::of_artifact(error, storage, collection, call))?;
    entered
        .context
        .record(world.now(), "retrieve_artifact", vec![params.artifact_id]);
    Ok((artifact, AnswerFacts::default()))
}
