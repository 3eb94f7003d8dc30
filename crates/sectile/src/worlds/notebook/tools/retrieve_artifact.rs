//! `retrieve_artifact`: derived material, with where it comes from and what it is not.

use schemars::JsonSchema;
use sectile_library::artifacts::{self, Artifact};
use serde::Deserialize;

use super::super::{NotebookWorld, naming};
use crate::mcp::{CallContext, Facts, Failure, Tool};

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
struct Params {
    /// Artifact identifier from list_artifact_sets
    artifact_id: String,
    /// Handle from enter_collection, where it gave one.
    context_handle: Option<String>,
}

fn handle(
    world: &NotebookWorld,
    params: Params,
    call: &CallContext,
) -> Result<(Artifact, Facts), Failure> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let storage = world.storage.as_ref();
    let stop = || call.cancelled.is_cancelled();
    let collection = &entered.collection;
    let artifact = artifacts::retrieve(storage, collection, &params.artifact_id, &stop)
        .map_err(|error| naming::of_artifact(error, storage, collection, call))?;
    entered
        .context
        .record(world.now(), "retrieve_artifact", vec![params.artifact_id]);
    Ok((artifact, Facts::default()))
}
