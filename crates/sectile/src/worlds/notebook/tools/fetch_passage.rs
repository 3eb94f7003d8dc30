//! `fetch_passage`: the exact text of one passage, read and hashed in this call.

use schemars::JsonSchema;
use sectile_library::quote::Quote;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use serde::{Deserialize, Serialize};

use super::super::{
    NotebookWorld,
    errors::{NotebookError, about_source},
    source_id,
};

/// The longest passage that one answer can hold, in bytes.
pub(in super::super) const MOST_BYTES: usize = 1 << 20;

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "fetch_passage",
        "Fetch a passage",
        "Retrieves exact quoted passage with bounded context from source. The bytes are read and hashed in this call; a passage that changed is never quoted.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FetchPassageParams {
    /// Reference identifier from semantic_search
    source_id: String,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PassageAnswer {
    /// The requested id.
    source_id: String,
    /// Text of the passage.
    passage: Passage,
    /// Origin of the passage.
    provenance: PassageProvenance,
    /// Data for checking the passage.
    integrity: Integrity,
    /// Statement about the authority of the passage.
    disclaimer: &'static str,
}

/// Text of the passage.
#[derive(Debug, Serialize, JsonSchema)]
struct Passage {
    /// The passage, verbatim.
    exact_text: String,
    /// Text before the passage in the notebook; up to 500 characters unless the settings say otherwise.
    context_before: String,
    /// Text after the passage, up to the same length.
    context_after: String,
}

/// Origin of the passage.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Provenance")]
struct PassageProvenance {
    /// Path of the notebook in the collection.
    notebook_id: String,
    /// Title of the notebook.
    notebook_title: String,
    /// Always null, because Markdown has no pages. See line.
    page: Option<u32>,
    /// Date in its headings or front matter, if any, in milliseconds since 1970.
    timestamp: Option<i64>,
    /// Method by which the text was obtained: `verbatim_file_read`.
    export_method: &'static str,
    /// When the bytes were read and hashed, in milliseconds since 1970.
    last_verified: i64,
    /// Title and headings above the passage, outermost first.
    heading_path: Vec<String>,
    /// Line of the passage in its notebook, counted from 1.
    line: usize,
    /// Offset of its first byte in the notebook.
    first_byte: usize,
    /// Offset after its last byte.
    end_byte: usize,
    /// SHA-256 of the whole notebook.
    notebook_checksum: String,
}

/// Data for checking the passage.
#[derive(Debug, Serialize, JsonSchema)]
struct Integrity {
    /// SHA-256 of the passage's bytes.
    checksum: String,
    /// Whether the bytes read in this call are the ones that the id was issued for.
    verified: bool,
}

impl From<Quote> for PassageAnswer {
    fn from(quote: Quote) -> Self {
        Self {
            source_id: quote.id.to_string(),
            provenance: PassageProvenance {
                notebook_id: quote.id.notebook.as_str().to_owned(),
                notebook_title: quote.notebook_title,
                page: None,
                timestamp: quote.timestamp,
                export_method: "verbatim_file_read",
                last_verified: quote.verified_at,
                heading_path: quote.heading_path,
                line: quote.line,
                first_byte: quote.id.span.start,
                end_byte: quote.id.span.end,
                notebook_checksum: quote.notebook_digest.to_string(),
            },
            passage: Passage {
                exact_text: quote.text,
                context_before: quote.before,
                context_after: quote.after,
            },
            integrity: Integrity {
                checksum: quote.digest.to_string(),
                verified: true,
            },
            disclaimer: "This is a quoted passage from human-authored material. It is provided as-is with no interpretation.",
        }
    }
}

/// Every error names the requested id, whatever its cause.
fn handle(
    world: &NotebookWorld,
    params: FetchPassageParams,
    call: &CallContext,
) -> Result<(PassageAnswer, AnswerFacts), Failure> {
    fetched(world, &params, call).map_err(|error| about_source(error, &params.source_id))
}

fn fetched(
    world: &NotebookWorld,
    params: &FetchPassageParams,
    call: &CallContext,
) -> Result<(PassageAnswer, AnswerFacts), NotebookError> {
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let id = source_id(&entered, &params.source_id)?;
    if id.span.len() > MOST_BYTES {
        return Err(NotebookError::AmbiguousRequest {
            argument: "source_id",
            message: "The passage is too long for one answer.".to_owned(),
        });
    }
    let quote = world.quote(&id, world.constraints.max_passage_context)?;
    entered
        .context
        .record(world.now(), "fetch_passage", vec![id.to_string()]);
    Ok((PassageAnswer::from(quote), AnswerFacts::default()))
}
