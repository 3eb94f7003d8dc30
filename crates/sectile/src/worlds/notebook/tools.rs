//! The eleven tools of the `notebook` world, one file each.

mod begin_result_stream;
mod describe_world;
mod enter_collection;
mod explain_provenance;
pub(super) mod fetch_passage;
mod list_artifact_sets;
mod list_collections;
mod list_constraints;
mod next_stream_chunk;
mod retrieve_artifact;
pub(super) mod semantic_search;

use sectile_mcp::Tool;

use super::{Constraints, NotebookWorld};

/// Returns all tools, in listing order.
pub(super) fn table(constraints: &Constraints) -> Vec<Tool<NotebookWorld>> {
    vec![
        describe_world::tool(),
        list_collections::tool(),
        enter_collection::tool(),
        list_artifact_sets::tool(),
        semantic_search::tool(constraints.max_search_results),
        fetch_passage::tool(),
        retrieve_artifact::tool(),
        begin_result_stream::tool(),
        next_stream_chunk::tool(),
        explain_provenance::tool(),
        list_constraints::tool(),
    ]
}
