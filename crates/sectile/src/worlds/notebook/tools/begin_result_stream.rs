//! `begin_result_stream`: a search whose results are disclosed step by step.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Tool};
use serde::{Deserialize, Serialize};

use super::super::{
    NotebookWorld,
    answers::SearchScope,
    errors::NotebookError,
    search_query,
    streams::{Stream, StreamStart, StreamStep},
    tokens::uuid,
};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "begin_result_stream",
        "Begin a result stream",
        "Initiates a pull-based result stream for progressive disclosure. next_stream_chunk pulls from it; nothing is sent by itself.",
    )
    .idempotent(false)
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BeginResultStreamParams {
    /// Search query for streaming results; up to 2,048 bytes and 32 words.
    query: String,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BeginStreamAnswer {
    /// Token for next_stream_chunk. Valid in this context only.
    stream_token: String,
    /// The query.
    query: String,
    /// Steps and rules of the disclosure.
    disclosure_policy: DisclosurePolicy,
    /// About the stream.
    metadata: NewStreamMetadata,
    /// Note on what the answer leaves out.
    note: Cow<'static, str>,
}

/// Steps and rules of the disclosure.
#[derive(Debug, Serialize, JsonSchema)]
struct DisclosurePolicy {
    /// The steps, in order.
    step_order: Vec<&'static str>,
    /// Strategy for the order of chunks.
    chunk_strategy: &'static str,
    /// Whether the stream can be cancelled: stop pulling, enter or leave a collection, or close the connection.
    cancelable: bool,
    /// Lifetime of the stream from its start, in seconds.
    timeout_s: u64,
}

/// About the stream.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Metadata")]
struct NewStreamMetadata {
    /// Exact number of chunks, without the record of completion.
    estimated_chunks: Option<usize>,
    /// When the stream began, in milliseconds since 1970.
    created_at: i64,
    /// When the stream expires, in milliseconds since 1970.
    expires_at: i64,
    /// Number of references that the stream discloses.
    references: usize,
    /// Number of passages that match.
    total_matches: usize,
    #[serde(flatten)]
    searched: SearchScope,
}

fn handle(
    world: &NotebookWorld,
    params: BeginResultStreamParams,
    call: &CallContext,
) -> Result<(BeginStreamAnswer, AnswerFacts), NotebookError> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let query = search_query(&params.query)?;
    let most = world.constraints.max_search_results;
    let found = world.search(&entered, &query, most, call)?;
    let total_matches = found.total;
    let before = entered.context.searched_with(found.state.tier);
    let searched = SearchScope::new(&found.state, before);
    let timeout_s = world.constraints.stream_timeout_s;
    let created_at = world.now();
    let lasts = i64::try_from(timeout_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    let expires_at = created_at.saturating_add(lasts);
    let token = uuid()?;
    let beginning = StreamStart {
        token: token.clone(),
        query: &params.query,
        collection: &entered.collection,
        expires_at,
        page: world.constraints.stream_chunk_size,
        tier_before: before,
    };
    let stop = || call.cancelled.is_cancelled();
    let stream = Stream::new(beginning, found, world.storage.as_ref(), &stop)?;
    let estimated_chunks = Some(stream.chunks());
    let references = stream.reference_ids();
    entered.context.begin(stream, created_at)?;
    let begun = BeginStreamAnswer {
        stream_token: token,
        disclosure_policy: DisclosurePolicy {
            step_order: StreamStep::ALL.map(StreamStep::name).to_vec(),
            chunk_strategy: "progressive_depth",
            cancelable: true,
            timeout_s,
        },
        metadata: NewStreamMetadata {
            estimated_chunks,
            created_at,
            expires_at,
            references: references.len(),
            total_matches,
            searched,
        },
        query: params.query,
        note: call
            .for_caller("No content returned. Use next_stream_chunk to retrieve incrementally."),
    };
    // The chunks return the references themselves.
    entered
        .context
        .record(created_at, "begin_result_stream", Vec::new());
    Ok((begun, AnswerFacts::default()))
}
