//! `semantic_search`: references to the passages of the active collection that match a query.

use std::{borrow::Cow, time::Instant};

use schemars::JsonSchema;
use sectile_library::open_collection::VerifiedHit;
use sectile_mcp::{AnswerFacts, CallContext, JsonObject, Tool, input_schema};
use sectile_retrieval::Correction;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::{
    NotebookWorld,
    answers::{ScoreParts, SearchScope, SourcePointer, score, snippet},
    errors::NotebookError,
    search_query,
};

/// Maximum number of characters in a preview.
pub(in super::super) const PREVIEW: usize = 100;

/// Number of results if the call does not say how many.
const DEFAULT_K: usize = 10;

pub(super) fn tool(max_search_results: usize) -> Tool<NotebookWorld> {
    let most = max_search_results.clamp(1, 50);
    Tool::read(
        "semantic_search",
        "Search the collection",
        "Returns ranked reference identifiers for semantic query within active collection. Full text is not included: fetch_passage has it.",
    )
    .input(move || input(most))
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SemanticSearchParams {
    /// Natural language query; up to 2,048 bytes and 32 words.
    query: String,
    /// Maximum results
    k: Option<usize>,
    /// Handle from enter_collection, if it returned one.
    context_handle: Option<String>,
}

/// Returns the schema of the arguments, with the maximum number of results from the settings.
fn input(most: usize) -> JsonObject {
    let mut schema = input_schema::<SemanticSearchParams>();
    let property = schema
        .get_mut("properties")
        .and_then(|properties| properties.get_mut("k"));
    if let Some(property) = property {
        let default = DEFAULT_K.min(most);
        *property = json!({
            "type": "integer",
            "minimum": 1,
            "maximum": most,
            "default": default,
            "description": format!("Maximum results (default {default}, max {most})"),
        });
    }
    schema
}

#[derive(Debug, Serialize, JsonSchema)]
struct SemanticSearchAnswer {
    /// The active collection.
    collection_id: String,
    /// The query.
    query: String,
    /// The passages that match best, best first.
    results: Vec<PassageReference>,
    /// About the search.
    metadata: SearchMetadata,
    /// Note on what the answer leaves out.
    note: Cow<'static, str>,
}

/// A passage that matches the query.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Reference")]
struct PassageReference {
    /// Id of the passage, for fetch_passage.
    reference_id: String,
    /// Relevance of the passage, from 0 to 1.
    relevance_score: f64,
    /// Source of the passage.
    source_pointer: SourcePointer,
    /// Start of the passage, at most 100 characters, white space collapsed; not for quoting.
    preview_snippet: String,
    /// Parts of the score.
    scores: ScoreParts,
    /// Words of the query that the passage contains.
    matched_terms: Vec<String>,
    /// Title and headings above the passage, outermost first.
    heading_path: Vec<String>,
    /// Line of the passage in its notebook, counted from 1.
    line: usize,
    /// Always true: read and hashed in this call. A passage that differs from the index is left out.
    verified: bool,
    /// When, in milliseconds since 1970.
    last_verified: i64,
}

/// About the search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Metadata")]
struct SearchMetadata {
    /// Number of passages that match.
    total_matches: usize,
    /// Number of passages in this answer.
    returned: usize,
    /// Duration of the search, in milliseconds.
    search_time_ms: u64,
    #[serde(flatten)]
    searched: SearchScope,
    /// Words of the query that no searched notebook contains.
    unknown_words: Vec<String>,
    /// Words that no searched notebook contains, and those searched for instead.
    corrected_words: Vec<CorrectedWord>,
}

/// A word of the query that was replaced.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Corrected")]
struct CorrectedWord {
    /// The word in the query.
    asked: String,
    /// Words of almost the same spelling.
    used: Vec<String>,
}

impl From<VerifiedHit> for PassageReference {
    fn from(hit: VerifiedHit) -> Self {
        Self {
            reference_id: hit.id.to_string(),
            relevance_score: score(hit.scores.fused),
            source_pointer: SourcePointer::new(&hit.id, hit.timestamp),
            preview_snippet: snippet(&hit.text, PREVIEW),
            scores: hit.scores.into(),
            matched_terms: hit.matched,
            heading_path: hit.heading_path,
            line: hit.line,
            verified: true,
            last_verified: hit.verified_at,
        }
    }
}

impl From<Correction> for CorrectedWord {
    fn from(correction: Correction) -> Self {
        Self {
            asked: correction.asked,
            used: correction.used,
        }
    }
}

fn handle(
    world: &NotebookWorld,
    params: SemanticSearchParams,
    call: &CallContext,
) -> Result<(SemanticSearchAnswer, AnswerFacts), NotebookError> {
    let started = Instant::now();
    let entered = world.entered(params.context_handle.as_deref(), call)?;
    let query = search_query(&params.query)?;
    let most = world.constraints.max_search_results;
    let k = params.k.unwrap_or(DEFAULT_K).min(most);
    let found = world.search(&entered, &query, k, call)?;
    let before = entered.context.searched_with(found.state.tier);
    let searched = SearchScope::new(&found.state, before);
    let results: Vec<PassageReference> =
        found.hits.into_iter().map(PassageReference::from).collect();
    let references = results.iter().map(|result| result.reference_id.clone());
    entered
        .context
        .record(world.now(), "semantic_search", references.collect());
    let facts = AnswerFacts {
        sections: Some(results.len()),
        truncated: false,
        ..AnswerFacts::default()
    };
    let answered = SemanticSearchAnswer {
        collection_id: entered.collection,
        query: params.query,
        metadata: SearchMetadata {
            total_matches: found.total,
            returned: results.len(),
            search_time_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            searched,
            unknown_words: found.unknown_words,
            corrected_words: found
                .corrected_words
                .into_iter()
                .map(CorrectedWord::from)
                .collect(),
        },
        results,
        note: call.for_caller("Full text not included. Use fetch_passage to retrieve content."),
    };
    Ok((answered, facts))
}
