//! What differs between two equal calls on an equal library, as a published list. All else in an answer is a function of the
//! question and of the library.

/// Each as the tool, a space, and the path in its answer; `[]` stands for every entry of a list.
pub(crate) const VOLATILE: [&str; 17] = [
    "describe_world session",
    "describe_world retrieval.active",
    "list_collections metadata.data_as_of",
    "enter_collection context_handle",
    "semantic_search metadata.search_time_ms",
    "semantic_search metadata.index_as_of",
    "semantic_search metadata.index_location",
    "semantic_search metadata.changed_not_indexed",
    "semantic_search results[].last_verified",
    "fetch_passage provenance.last_verified",
    "begin_result_stream stream_token",
    "begin_result_stream metadata.created_at",
    "begin_result_stream metadata.expires_at",
    "begin_result_stream metadata.index_as_of",
    "begin_result_stream metadata.changed_not_indexed",
    "next_stream_chunk stream_token",
    "next_stream_chunk payload.items[].last_verified",
];
