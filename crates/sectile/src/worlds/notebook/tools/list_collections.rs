//! `list_collections`: all collections, without their contents.

use schemars::JsonSchema;
use sectile_library::collection::{self, CollectionCard};
use sectile_mcp::{AnswerFacts, CallContext, Tool};
use serde::{Deserialize, Serialize};

use super::super::{NotebookWorld, errors::NotebookError};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "list_collections",
        "List collections",
        "Returns available notebook collections with metadata, no content.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListCollectionsParams {
    /// The `metadata.next_cursor` of the previous page
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CollectionsAnswer {
    /// The collections, sorted by id.
    collections: Vec<CollectionCard>,
    /// About the list.
    metadata: CollectionsMetadata,
}

/// About the list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Metadata")]
struct CollectionsMetadata {
    /// Total number of collections.
    total_collections: usize,
    /// When the list was made, in milliseconds since 1970.
    data_as_of: i64,
    /// Always null, because every call reads the list again.
    next_refresh: Option<i64>,
    /// Present only if the list is cut: pass it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn handle(
    world: &NotebookWorld,
    params: ListCollectionsParams,
    call: &CallContext,
) -> Result<(CollectionsAnswer, AnswerFacts), NotebookError> {
    let stop = || call.cancelled.is_cancelled();
    let data_as_of = world.now();
    let cards = collection::cards(world.storage.as_ref(), params.cursor.as_deref(), &stop)?;
    if let Some(context) = world.context(None, call)? {
        context.record(world.now(), "list_collections", Vec::new());
    }
    let listed = CollectionsAnswer {
        metadata: CollectionsMetadata {
            total_collections: cards.total,
            data_as_of,
            next_refresh: None,
            next_cursor: cards.next_cursor,
        },
        collections: cards.cards,
    };
    Ok((listed, AnswerFacts::default()))
}
