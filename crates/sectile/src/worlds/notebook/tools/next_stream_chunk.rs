//! `next_stream_chunk`: pulls from a running stream.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use sectile_library::artifacts;
use sectile_mcp::{AnswerFacts, CallContext, Tool};
use serde::Deserialize;

use super::super::{
    NotebookWorld,
    errors::NotebookError,
    streams::{Stream, StreamChunk, StreamReader},
};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "next_stream_chunk",
        "Pull the next chunk",
        "Retrieves next chunk from active result stream. Each says what it adds and the measured fact why; the last answer is stream_complete.",
    )
    .idempotent(false)
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NextStreamChunkParams {
    /// Stream token from begin_result_stream
    stream_token: String,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

/// Pause between two checks whether another call is still pulling from the stream.
const PAUSE: Duration = Duration::from_millis(5);

/// Returns the stream, once no other call is pulling from it.
fn pulled<'s>(
    running: &'s Mutex<Stream>,
    stop: &dyn Fn() -> bool,
) -> Result<MutexGuard<'s, Stream>, NotebookError> {
    loop {
        match running.try_lock() {
            Some(stream) => return Ok(stream),
            None if stop() => return Err(NotebookError::Cancelled),
            None => std::thread::sleep(PAUSE),
        }
    }
}

fn handle(
    world: &NotebookWorld,
    params: NextStreamChunkParams,
    call: &CallContext,
) -> Result<(StreamChunk, AnswerFacts), NotebookError> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let running = entered.context.stream(&params.stream_token, world.now())?;
    let stop = || call.cancelled.is_cancelled();
    let mut stream = pulled(&running, &stop)?;
    let storage = world.storage.as_ref();
    let reading = StreamReader {
        quote: &|id| {
            if stop() {
                return Err(NotebookError::Cancelled);
            }
            world.quote(id, 0)
        },
        linked: &|notebooks, most| {
            artifacts::linked_to(storage, &entered.collection, notebooks, most, &stop)
                .map_err(NotebookError::from)
        },
        links: &|notebooks, ids| {
            artifacts::links(storage, &entered.collection, notebooks, ids, &stop)
                .map_err(NotebookError::from)
        },
    };
    let mut chunk = stream.pull(&reading)?;
    if chunk.is_completion() {
        entered.context.finish(&params.stream_token);
    }
    let handed_out = std::mem::take(&mut chunk.handed_out);
    entered
        .context
        .record(world.now(), "next_stream_chunk", handed_out);
    Ok((chunk, AnswerFacts::default()))
}
