//! The published list of fields that may differ between two equal calls on the same library. Everything else in an answer
//! is a function of the call and the library.

/// Fields that may differ, each as the tool, a space, and the path in its answer; `[]` stands for every entry of a list.
pub(crate) const VOLATILE: [&str; 28] = [
    "describe_world session",
    "describe_world retrieval.active",
    "list_collections metadata.data_as_of",
    "enter_collection context_handle",
    "semantic_search metadata.search_time_ms",
    "semantic_search metadata.index_as_of",
    "semantic_search metadata.index_location",
    "semantic_search metadata.changed_not_indexed",
    "semantic_search metadata.passages_not_seen",
    "semantic_search metadata.notebooks_not_searched",
    "semantic_search metadata.not_searched",
    "semantic_search metadata.tier",
    "semantic_search metadata.tier_change",
    "semantic_search results[].last_verified",
    "fetch_passage provenance.last_verified",
    "begin_result_stream stream_token",
    "begin_result_stream metadata.created_at",
    "begin_result_stream metadata.expires_at",
    "begin_result_stream metadata.index_as_of",
    "begin_result_stream metadata.index_location",
    "begin_result_stream metadata.changed_not_indexed",
    "begin_result_stream metadata.passages_not_seen",
    "begin_result_stream metadata.notebooks_not_searched",
    "begin_result_stream metadata.not_searched",
    "begin_result_stream metadata.tier",
    "begin_result_stream metadata.tier_change",
    "next_stream_chunk stream_token",
    "next_stream_chunk payload.items[].last_verified",
];

/// Other changes between equal calls, and how answers show them.
pub(crate) const VOLATILE_RULES: [&str; 3] = [
    "the tier that answers a collection changes when its second tier is completed, or falls behind the notebooks; results, scores and totals are the same as long as metadata.tier is",
    "if another tier answers than for the previous search in the same context, a search says so in metadata.tier_change, and a stream in the why of its first chunk",
    "while notebooks change, or are not compared with the index yet, metadata.changed_not_indexed, metadata.notebooks_not_searched and the why of a stream's first chunk say what is known",
];
