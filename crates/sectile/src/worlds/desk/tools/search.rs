//! `search`: finds notes, sections and tasks.

use schemars::JsonSchema;
use sectile_library::live_folder::SearchOptions;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool};
use serde::{Deserialize, Serialize};

use super::super::{
    DeskWorld,
    search_page::{DEFAULT_LIMIT, RootHits, SearchRequest, SearchResult},
};

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::read(
        "search",
        "Search",
        "Find notes, sections and tasks by words and meaning. Filters in the query: tag:x, path:dir/, field:value, -field:value, field:*, before:2026-01-31, after:, modified:7d, is:task, is:done, \"exact words\", sort:modified. Filters alone list.",
    )
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchParams {
    query: String,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 20))]
    limit: usize,
    cursor: Option<String>,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchAnswer {
    results: Vec<SearchResult>,
    /// Number of matching places.
    total: usize,
    /// Cursor for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Suggestions if nothing was found.
    #[serde(rename = "try", skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<String>,
    /// Words left out of a long query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<String>,
    /// The model that ranked: static or transformer.
    tier: &'static str,
    /// Progress, while notes are still being read.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
}

fn handle(
    world: &DeskWorld,
    params: SearchParams,
    context: &CallContext,
) -> Result<(SearchAnswer, AnswerFacts), Failure> {
    let request = SearchRequest {
        query: &params.query,
        limit: params.limit,
        cursor: params.cursor.as_deref(),
        options: SearchOptions::default(),
        has_sources: false,
    };
    let page = world.search_page(&request, context)?;
    let facts = AnswerFacts {
        sections: Some(page.results.len()),
        truncated: page.next.is_some(),
        ..AnswerFacts::default()
    };
    let answer = SearchAnswer {
        suggestions: page.suggestions(),
        dropped: page.dropped(),
        tier: tier(&page.found),
        index: page.progress(),
        results: page.results,
        total: page.total,
        next: page.next,
    };
    Ok((answer, facts))
}

/// Returns the name of the tier that ranked the hits of all roots.
fn tier(found: &[RootHits<'_>]) -> &'static str {
    let tiers = found.iter().map(|of| of.found.progress.tier);
    // The tiers of several roots may differ; the least of them is what the answer can be compared by.
    tiers
        .min_by_key(|tier| tier.name())
        .map_or("static", |tier| tier.name())
}
