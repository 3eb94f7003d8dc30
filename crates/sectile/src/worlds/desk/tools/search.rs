//! `search`: finds notes, sections and tasks.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use schemars::JsonSchema;
use sectile_library::{
    clock,
    live_folder::{FolderHit, FolderHits, FolderQuery, FolderState, HitOrder, IndexProgress},
};
use sectile_markdown::Digest;
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool, quoted, visible};
use sectile_vault::editor::{View, ViewBatch, part_hash};
use serde::{Deserialize, Serialize};

use super::super::{
    DeskWorld,
    describe::{FolderSummary, progress_text},
    errors::{INVALID_QUERY, failure, library_failure},
    fetched::{MAX_TITLE_CHARS, ReadItem, section_at, title},
    lists::{FittedList, LIST_TOKENS, json_tokens},
    paging::{PageCursor, cursor},
    roots::{DeskRoot, VisibleRoots},
};
use crate::worlds::snippet::snippet;

/// Number of results if the call does not say how many.
const DEFAULT_LIMIT: usize = 8;
/// Longest snippet, in characters.
const MAX_SNIPPET_CHARS: usize = 240;
/// Shortest snippet that a result with a long name is cut to, in characters.
const MIN_SNIPPET_CHARS: usize = 60;
/// Most words that are named as dropped.
const MOST_DROPPED: usize = 12;
/// How many times as many hits as results are asked for: several may be in one section. Where that is not enough, the
/// number grows by the same factor.
const HITS_PER_RESULT: usize = 4;

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

#[derive(Debug, Serialize, JsonSchema)]
struct SearchResult {
    id: String,
    title: String,
    url: String,
    snippet: String,
    tokens: usize,
    base: String,
}

/// The hits of one root, best first.
struct RootHits<'a> {
    root: &'a DeskRoot,
    state: Arc<FolderState>,
    views: ViewBatch<'a>,
    found: FolderHits,
}

/// A hit and the root it is in.
#[derive(Clone, Copy)]
struct RankedHit<'h> {
    of: &'h RootHits<'h>,
    hit: &'h FolderHit,
}

fn handle(
    world: &DeskWorld,
    params: SearchParams,
    context: &CallContext,
) -> Result<(SearchAnswer, AnswerFacts), Failure> {
    let roots = world.roots_for(context);
    let start = PageCursor::parse(params.cursor.as_deref(), 1)?;
    let stop = || context.cancelled.is_cancelled();
    let mut states = Vec::new();
    for root in roots.iter() {
        let state = root.folder.index.current(&stop);
        states.push((root, state.map_err(|error| library_failure(&error))?));
    }
    let is_field = |name: &str| {
        states
            .iter()
            .any(|(_, state)| state.facets().has_field(name))
    };
    let query = FolderQuery::parse(&params.query, clock::now(), &is_field)
        .map_err(|mistake| failure(&INVALID_QUERY, mistake.message, ""))?;
    let mut most = start
        .position(0)
        .saturating_add(params.limit.saturating_mul(HITS_PER_RESULT));
    loop {
        let mut found = Vec::new();
        for (root, state) in &states {
            let hits = state.search(&query, 0..most, &stop);
            found.push(RootHits {
                root,
                state: Arc::clone(state),
                views: root.folder.editor.view_batch(),
                found: hits.map_err(|error| library_failure(&error))?,
            });
        }
        let total: usize = found.iter().map(|of| of.found.total).sum();
        let hits = ranked(&found, query.order());
        let has_all = hits.len() >= total || found.iter().all(|of| of.found.hits.len() < most);
        start.check(&state_of(&params.query, &hits, start.position(0)))?;
        let mut page = ResultPage::new(params.limit, query.tasks().is_some());
        let end = page.fill(&roots, &hits, start.position(0), context)?;
        if page.is_full || has_all {
            let is_last = end >= hits.len() && has_all;
            let next = (!is_last).then(|| {
                let end_position = u64::try_from(end).unwrap_or(u64::MAX);
                cursor(&[end_position], &state_of(&params.query, &hits, end))
            });
            return Ok(answered(page.list.items, total, next, &found, &query));
        }
        most = most.saturating_mul(HITS_PER_RESULT);
    }
}

/// Merges the hits of all roots, best first.
fn ranked<'h>(found: &'h [RootHits<'h>], order: HitOrder) -> Vec<RankedHit<'h>> {
    let hits = found
        .iter()
        .flat_map(|of| of.found.hits.iter().map(move |hit| RankedHit { of, hit }));
    let mut hits: Vec<RankedHit<'_>> = hits.collect();
    if found.len() > 1 {
        // The order within a root stays: the sort is stable, and each root is in this order already.
        match order {
            HitOrder::Relevance => hits.sort_by_key(|ranked| Reverse(ranked.hit.score)),
            HitOrder::Path => {}
            HitOrder::Modified => hits.sort_by_key(|ranked| {
                let note = ranked.of.state.note(&ranked.hit.path);
                Reverse(note.map(|note| note.stamp.modified))
            }),
        }
    }
    hits
}

/// Returns a digest of a query and of its first `count` hits, which a cursor after them depends on.
fn state_of(query: &str, hits: &[RankedHit<'_>], count: usize) -> Digest {
    let mut text = format!("{query}\n");
    for RankedHit { of, hit } in hits.iter().take(count) {
        let (root, path, span) = (&of.root.name, &hit.path, hit.span);
        text += &format!("{root}:{path} {} {}\n", span.start, span.end);
    }
    Digest::of(text.as_bytes())
}

/// The results of one answer.
struct ResultPage {
    list: FittedList<SearchResult>,
    limit: usize,
    /// Tokens that a result may take before its snippet is shortened.
    share: usize,
    /// Whether hits are tasks, which are listed one by one.
    has_tasks: bool,
    /// Whether there is no room for another result.
    is_full: bool,
}

impl ResultPage {
    fn new(limit: usize, has_tasks: bool) -> Self {
        let tokens = LIST_TOKENS.saturating_mul(limit.max(DEFAULT_LIMIT)) / DEFAULT_LIMIT;
        let list = FittedList::new(tokens);
        Self {
            share: list.left() / limit.max(1),
            list,
            limit,
            has_tasks,
            is_full: false,
        }
    }

    /// Adds results for the hits from `start` on. Returns the index of the first hit that is not in any.
    fn fill(
        &mut self,
        roots: &VisibleRoots<'_>,
        hits: &[RankedHit<'_>],
        start: usize,
        context: &CallContext,
    ) -> Result<usize, Failure> {
        let start = start.min(hits.len());
        let mut seen: HashSet<_> = hits[..start].iter().map(section_key).collect();
        for (index, ranked) in hits.iter().enumerate().skip(start) {
            context.check()?;
            if !self.has_tasks && !seen.insert(section_key(ranked)) {
                continue;
            }
            if !self.has_tasks && self.list.items.len() == self.limit {
                self.is_full = true;
                return Ok(index);
            }
            // What was moved or changed a moment ago is not quoted.
            let Some(item) = readable(roots, ranked) else {
                continue;
            };
            if self.has_tasks && self.joins_last(&item, ranked) {
                continue;
            }
            if self.list.items.len() == self.limit
                || !self.list.add(self.result(roots, ranked, &item))
            {
                self.is_full = true;
                return Ok(index);
            }
        }
        Ok(hits.len())
    }

    /// Adds a task to the result before it, if that is of the same section and its snippet has room.
    fn joins_last(&mut self, item: &ReadItem, ranked: &RankedHit<'_>) -> bool {
        let task = text_at(&item.view, ranked.hit);
        match self.list.items.last_mut() {
            Some(last) if last.id == item.id() => {
                let joined = format!("{}\n{}", last.snippet, task.trim());
                let fits = joined.chars().count() <= MAX_SNIPPET_CHARS;
                if fits {
                    last.snippet = joined;
                }
                fits
            }
            _ => false,
        }
    }

    fn result(
        &self,
        roots: &VisibleRoots<'_>,
        ranked: &RankedHit<'_>,
        item: &ReadItem,
    ) -> SearchResult {
        let hit = ranked.hit;
        let text = text_at(&item.view, hit);
        let mut result = SearchResult {
            id: item.id(),
            title: title(&hit.heading_path),
            url: roots.url_of(ranked.of.root, item),
            snippet: String::new(),
            tokens: item.tokens(),
            base: part_hash(&item.base()),
        };
        let room = self.share.saturating_sub(json_tokens(&result));
        result.snippet = snippet(&text, &hit.matched, MAX_SNIPPET_CHARS);
        let tokens = json_tokens(&result.snippet);
        if tokens > room {
            let most = MAX_SNIPPET_CHARS * room / tokens;
            result.snippet = snippet(&text, &hit.matched, most.max(MIN_SNIPPET_CHARS));
        }
        result
    }
}

/// Returns what hits in one section have in common.
fn section_key<'h>(ranked: &RankedHit<'h>) -> (&'h str, &'h str, &'h [String]) {
    let RankedHit { of, hit } = ranked;
    (&of.root.name, hit.path.as_str(), &hit.heading_path)
}

/// Reads the document of a hit, and finds the section that the hit is in. `None` if the text that was found is gone.
fn readable(roots: &VisibleRoots<'_>, ranked: &RankedHit<'_>) -> Option<ReadItem> {
    let RankedHit { of, hit } = ranked;
    let view = of.views.view(&hit.path).ok()?;
    let note = of.state.note(&hit.path)?;
    if *view.hash() != note.digest {
        return None;
    }
    let is_whole = hit.span.start == 0 && hit.span.end >= view.bytes().len();
    let section = match is_whole {
        true => None,
        false => section_at(&view, hit.span.start),
    };
    Some(ReadItem {
        document_id: roots.id_of(of.root, view.path().as_str(), None),
        view,
        section,
    })
}

/// Returns the text of a hit. That of a whole note starts below its front matter and title.
fn text_at(view: &View, hit: &FolderHit) -> String {
    let document = view.document();
    let front_matter = document.front_matter().map_or(0, |found| found.block.end);
    let mut start = hit.span.start.max(front_matter);
    let heading = document
        .top_level()
        .map(|(_, section, _)| section.heading)
        .find(|heading| heading.end > start);
    if let Some(heading) = heading
        && view.bytes()[start.min(heading.start)..heading.start]
            .trim_ascii()
            .is_empty()
        && heading.end < hit.span.end
    {
        start = heading.end;
    }
    let bytes = &view.bytes()[start.min(view.bytes().len())..hit.span.end.min(view.bytes().len())];
    // More than enough for any snippet.
    let bytes = &bytes[..bytes.len().min(64 << 10)];
    String::from_utf8_lossy(bytes).into_owned()
}

fn answered(
    results: Vec<SearchResult>,
    total: usize,
    next: Option<String>,
    found: &[RootHits<'_>],
    query: &FolderQuery,
) -> (SearchAnswer, AnswerFacts) {
    let facts = AnswerFacts {
        sections: Some(results.len()),
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let dropped = found.first().map_or(&[][..], |of| &of.found.dropped_words);
    let mut named: Vec<String> = dropped
        .iter()
        .take(MOST_DROPPED)
        .map(|word| visible(word, MAX_TITLE_CHARS))
        .collect();
    if dropped.len() > MOST_DROPPED {
        named.push(format!("and {} more", dropped.len() - MOST_DROPPED));
    }
    let suggestions = match results.is_empty() {
        true => suggestions(found, query),
        false => Vec::new(),
    };
    let progress: Vec<IndexProgress> = found.iter().map(|of| of.found.progress.clone()).collect();
    let answer = SearchAnswer {
        results,
        total,
        next,
        suggestions,
        dropped: named,
        tier: tier(found),
        index: progress_text(&progress),
    };
    (answer, facts)
}

/// Returns the name of the tier that ranked the hits of all roots.
fn tier(found: &[RootHits<'_>]) -> &'static str {
    let tiers = found.iter().map(|of| of.found.progress.tier);
    // The tiers of several roots may differ; the least of them is what the answer can be compared by.
    tiers
        .min_by_key(|tier| tier.name())
        .map_or("static", |tier| tier.name())
}

/// Returns what to try when nothing was found.
fn suggestions(found: &[RootHits<'_>], query: &FolderQuery) -> Vec<String> {
    let mut suggestions = Vec::new();
    if query.is_unsearchable() {
        suggestions.push("shorter words: what is that long is not in the index".to_owned());
    }
    let is_unknown = |word: &&String| found.iter().all(|of| of.found.unknown_words.contains(word));
    let unknown = found.first().map_or(&[][..], |of| &of.found.unknown_words);
    let unknown: Vec<String> = unknown
        .iter()
        .filter(is_unknown)
        .take(MOST_DROPPED)
        .map(|word| quoted(word))
        .collect();
    if !unknown.is_empty() {
        suggestions.push(format!(
            "other words: no note contains {}",
            unknown.join(", ")
        ));
    }
    if query.has_filters() || query.tasks().is_some() {
        suggestions.push("fewer filters".to_owned());
        for of in found {
            let summary = FolderSummary::new("", &of.state);
            suggestions.extend(summary.names());
        }
    }
    if !query.phrases().is_empty() {
        suggestions.push("the words without quotes".to_owned());
    }
    suggestions
}
