//! `list_artifact_sets`: the material derived from the active collection.

use schemars::JsonSchema;
use sectile_library::artifacts::{self, ArtifactSets};
use sectile_mcp::{AnswerFacts, CallContext, Tool};
use serde::{Deserialize, Serialize};

use super::super::{NotebookWorld, errors::NotebookError};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "list_artifact_sets",
        "List artifact sets",
        "Returns artifact sets derived from the active collection.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArtifactSetsParams {
    /// The `next_cursor` of the previous page
    cursor: Option<String>,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ArtifactSetsAnswer {
    /// The active collection.
    collection_id: String,
    #[serde(flatten)]
    sets: ArtifactSets,
}

fn handle(
    world: &NotebookWorld,
    params: ListArtifactSetsParams,
    call: &CallContext,
) -> Result<(ArtifactSetsAnswer, AnswerFacts), NotebookError> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let stop = || call.cancelled.is_cancelled();
    let storage = world.storage.as_ref();
    let sets = artifacts::sets(
        storage,
        &entered.collection,
        params.cursor.as_deref(),
        &stop,
    )?;
    entered
        .context
        .record(world.now(), "list_artifact_sets", Vec::new());
    let listed = ArtifactSetsAnswer {
        collection_id: entered.collection,
        sets,
    };
    Ok((listed, AnswerFacts::default()))
}
