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

use super::{Constraints, NotebookWorld};
use crate::mcp::Tool;

/// All tools, in listing order.
pub(super) fn table(constraints: &Constraints) -> Vec<Tool<NotebookWorld>> {
    vec![
        describe_world::TOOL,
        list_collections::TOOL,
        enter_collection::TOOL,
        list_artifact_sets::TOOL,
        semantic_search::tool(constraints.max_search_results),
        fetch_passage::TOOL,
        retrieve_artifact::TOOL,
        begin_result_stream::TOOL,
        next_stream_chunk::TOOL,
        explain_provenance::TOOL,
        list_constraints::TOOL,
    ]
}

/// The names of all tools, in listing order.
const NAMES: [&str; 11] = [
    "describe_world",
    "list_collections",
    "enter_collection",
    "list_artifact_sets",
    "semantic_search",
    "fetch_passage",
    "retrieve_artifact",
    "begin_result_stream",
    "next_stream_chunk",
    "explain_provenance",
    "list_constraints",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_table() {
        let table = table(&Constraints::default());
        let names: Vec<&str> = table.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, NAMES);
    }
}
