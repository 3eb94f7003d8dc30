//! `enter_collection`: the one call that makes notebooks readable.

use schemars::JsonSchema;
use sectile_library::collection;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use serde::{Deserialize, Serialize};

use super::super::{NotebookWorld, errors::NotebookError, naming};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "enter_collection",
        "Enter a collection",
        "Establishes active collection context, restricting all subsequent operations. Replaces the context before it and ends its streams. With leave: true it leaves the context, and nothing can be read.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EnterCollectionParams {
    /// Collection identifier from list_collections
    collection_id: String,
    /// If true, leave the active collection instead of entering one. This always works, whatever collection_id is.
    leave: Option<bool>,
    /// A context_handle to give up; not needed if the connection keeps the collection.
    context_handle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EnteredCollection {
    /// The collection.
    collection_id: String,
    /// Title of the collection; empty if it was left.
    title: String,
    /// Whether the collection is active now; false if it was left.
    context_established: bool,
    /// Effect on later calls.
    scope_note: &'static str,
    /// Operations available in the collection.
    available_operations: Vec<&'static str>,
    /// Note on preloaded data.
    preload_note: &'static str,
    /// Handle to pass with every later call; null if the connection keeps the collection.
    context_handle: Option<String>,
}

const PRELOAD_NOTE: &str = "No data preloaded. Invoke retrieval tools explicitly.";

const OPERATIONS: [&str; 5] = [
    "list_artifact_sets",
    "semantic_search",
    "fetch_passage",
    "retrieve_artifact",
    "begin_result_stream",
];

fn handle(
    world: &NotebookWorld,
    params: EnterCollectionParams,
    call: &CallContext,
) -> Result<(EnteredCollection, AnswerFacts), Failure> {
    if params.leave == Some(true) {
        return Ok((leave(world, params, call), AnswerFacts::default()));
    }
    let storage = world.storage.as_ref();
    storage
        .require(&params.collection_id)
        .map_err(|error| naming::of_collection(error, storage, &params.collection_id, call))?;
    let title = collection::title(storage, &params.collection_id).map_err(NotebookError::from)?;
    let collection_id = params.collection_id;
    let caller = call.caller();
    if let Some(given_up) = &params.context_handle {
        world.contexts.drop_handle(caller, given_up);
    }
    // A context that begins with this call is not younger than what it records.
    let own = world.context(None, call)?;
    let now = world.now();
    let (context_handle, context) = match own {
        Some(context) => {
            context.enter(&collection_id, now);
            (None, context)
        }
        None => {
            let (handle, context) = world.contexts.make(caller, &collection_id, now)?;
            (Some(handle), context)
        }
    };
    context.record(now, "enter_collection", Vec::new());
    let entered = EnteredCollection {
        collection_id,
        title,
        context_established: true,
        scope_note: "All subsequent operations restricted to this collection until exit or new enter_collection call",
        available_operations: OPERATIONS
            .into_iter()
            .filter(|name| call.may_use(name))
            .collect(),
        preload_note: PRELOAD_NOTE,
        context_handle,
    };
    Ok((entered, AnswerFacts::default()))
}

/// Returns to the safe state. No storage is involved, so this cannot fail because of one.
fn leave(
    world: &NotebookWorld,
    params: EnterCollectionParams,
    call: &CallContext,
) -> EnteredCollection {
    if let Some(given_up) = &params.context_handle {
        world.contexts.drop_handle(call.caller(), given_up);
    }
    if let Some(context) = world.connection_context(call) {
        let now = world.now();
        context.leave(now);
        context.record(now, "enter_collection", Vec::new());
    }
    EnteredCollection {
        collection_id: params.collection_id,
        title: String::new(),
        context_established: false,
        scope_note: match params.context_handle.is_some() && world.contexts.are_sealed() {
            true => {
                "The state of the context_handle was dropped here. Other servers with the same secret accept it until it expires: discard it."
            }
            false => {
                "No collection is active. Nothing can be read until the next enter_collection call"
            }
        },
        available_operations: Vec::new(),
        preload_note: PRELOAD_NOTE,
        context_handle: None,
    }
}
