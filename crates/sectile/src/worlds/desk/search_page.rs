//! A page of search results, for the `search` tool and for people who ask why a result is there.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use schemars::JsonSchema;
use sectile_library::{
    clock,
    live_folder::{
        FolderHit, FolderHits, FolderQuery, FolderState, HitOrder, IndexProgress, SearchOptions,
    },
};
use sectile_markdown::Digest;
use sectile_mcp::{CallContext, Failure, quoted, visible};
use sectile_vault::editor::{View, ViewBatch, part_hash};
use serde::Serialize;

use super::{
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
pub(super) const DEFAULT_LIMIT: usize = 8;
/// Longest snippet, in characters.
const MAX_SNIPPET_CHARS: usize = 240;
/// Shortest snippet that a result with a long name is cut to, in characters.
const MIN_SNIPPET_CHARS: usize = 60;
/// Most words that are named as dropped or unknown.
const MOST_DROPPED: usize = 12;
/// How many times as many hits as results are asked for: several may be in one section. Where that is not enough, the
/// number grows by the same factor.
const HITS_PER_RESULT: usize = 4;

/// A search of the roots that a caller can see.
#[derive(Clone, Copy)]
pub(super) struct SearchRequest<'a> {
    pub(super) query: &'a str,
    /// Most results.
    pub(super) limit: usize,
    pub(super) cursor: Option<&'a str>,
    pub(super) options: SearchOptions,
    /// Whether [`SearchPage::sources`] are wanted.
    pub(super) has_sources: bool,
}

/// The answer to a search.
pub(super) struct SearchPage<'a> {
    pub(super) query: FolderQuery,
    pub(super) results: Vec<SearchResult>,
    /// The hit that each result is made of, if wanted. Of tasks that share a result, it is the first.
    pub(super) sources: Vec<ResultSource>,
    /// Number of matching places.
    pub(super) total: usize,
    /// Cursor for more.
    pub(super) next: Option<String>,
    /// The hits by root; there may be more than results.
    pub(super) found: Vec<RootHits<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchResult {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
    pub(crate) tokens: usize,
    pub(crate) base: String,
}

/// The hit that a result is made of.
pub(super) struct ResultSource {
    /// Its place among the hits of all roots, from 1.
    pub(super) place: usize,
    pub(super) root: String,
    pub(super) hit: FolderHit,
}

/// The hits of one root, best first.
pub(super) struct RootHits<'a> {
    pub(super) root: &'a DeskRoot,
    pub(super) state: Arc<FolderState>,
    views: ViewBatch<'a>,
    pub(super) found: FolderHits,
}

/// A hit and the root it is in.
#[derive(Clone, Copy)]
struct RankedHit<'h> {
    of: &'h RootHits<'h>,
    hit: &'h FolderHit,
}

impl DeskWorld {
    /// Searches the roots that the caller can see, as they are now.
    pub(super) fn search_page<'a>(
        &'a self,
        request: &SearchRequest<'_>,
        context: &'a CallContext,
    ) -> Result<SearchPage<'a>, Failure> {
        let roots = self.roots_for(context);
        let start = PageCursor::parse(request.cursor, 1)?;
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
        let query = FolderQuery::parse(request.query, clock::now(), &is_field)
            .map_err(|mistake| failure(&INVALID_QUERY, mistake.message, ""))?;
        let mut most = start
            .position(0)
            .saturating_add(request.limit.saturating_mul(HITS_PER_RESULT));
        loop {
            let mut found = Vec::new();
            for (root, state) in &states {
                let hits = state.search_with(&query, 0..most, request.options, &stop);
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
            start.check(&state_of(request.query, &hits, start.position(0)))?;
            let mut page = ResultList::new(request, query.tasks().is_some());
            let end = page.fill(&roots, &hits, start.position(0), context)?;
            if page.is_full || has_all {
                let is_last = end >= hits.len() && has_all;
                let next = (!is_last).then(|| {
                    let end_position = u64::try_from(end).unwrap_or(u64::MAX);
                    cursor(&[end_position], &state_of(request.query, &hits, end))
                });
                return Ok(SearchPage {
                    results: page.list.items,
                    sources: page.sources,
                    query,
                    total,
                    next,
                    found,
                });
            }
            most = most.saturating_mul(HITS_PER_RESULT);
        }
    }
}

impl SearchPage<'_> {
    /// Returns the words that were left out of a long query; of many, the first.
    pub(super) fn dropped(&self) -> Vec<String> {
        let found = self.found.first();
        named(found.map_or(&[][..], |of| &of.found.dropped_words))
    }

    /// Returns the words of the query that are in none of the roots.
    fn unknown_words(&self) -> Vec<&String> {
        let is_unknown = |word: &&String| {
            let mut found = self.found.iter();
            found.all(|of| of.found.unknown_words.contains(word))
        };
        let words = self.found.first();
        let words = words.map_or(&[][..], |of| &of.found.unknown_words);
        words.iter().filter(is_unknown).collect()
    }

    /// Returns the words of the query that are in none of the roots; of many, the first.
    pub(super) fn unknown(&self) -> Vec<String> {
        named(&self.unknown_words())
    }

    /// Returns how far the indexes have come, unless they are complete.
    pub(super) fn progress(&self) -> Option<String> {
        let progress = self.found.iter().map(|of| of.found.progress.clone());
        progress_text(&progress.collect::<Vec<IndexProgress>>())
    }

    /// Returns what to try when nothing was found.
    pub(super) fn suggestions(&self) -> Vec<String> {
        if !self.results.is_empty() {
            return Vec::new();
        }
        let query = &self.query;
        let mut suggestions = Vec::new();
        if query.is_unsearchable() {
            suggestions.push("shorter words: what is that long is not in the index".to_owned());
        }
        let unknown = self.unknown_words().into_iter().take(MOST_DROPPED);
        let unknown: Vec<String> = unknown.map(|word| quoted(word)).collect();
        if !unknown.is_empty() {
            suggestions.push(format!(
                "other words: no note contains {}",
                unknown.join(", ")
            ));
        }
        if query.has_filters() || query.tasks().is_some() {
            suggestions.push("fewer filters".to_owned());
            for of in &self.found {
                let summary = FolderSummary::new("", &of.state);
                suggestions.extend(summary.names());
            }
        }
        if !query.phrases().is_empty() {
            suggestions.push("the words without quotes".to_owned());
        }
        suggestions
    }
}

/// Returns words of a query as an answer names them; of many, the first.
fn named(words: &[impl AsRef<str>]) -> Vec<String> {
    let shown = words.iter().take(MOST_DROPPED);
    let mut named: Vec<String> = shown
        .map(|word| visible(word.as_ref(), MAX_TITLE_CHARS))
        .collect();
    if words.len() > MOST_DROPPED {
        named.push(format!("and {} more", words.len() - MOST_DROPPED));
    }
    named
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
struct ResultList {
    list: FittedList<SearchResult>,
    limit: usize,
    /// Tokens that a result may take before its snippet is shortened.
    share: usize,
    /// Whether hits are tasks, which are listed one by one.
    has_tasks: bool,
    /// Whether there is no room for another result.
    is_full: bool,
    /// The hits of the results, if wanted.
    sources: Vec<ResultSource>,
    has_sources: bool,
}

impl ResultList {
    fn new(request: &SearchRequest<'_>, has_tasks: bool) -> Self {
        let limit = request.limit;
        let tokens = LIST_TOKENS.saturating_mul(limit.max(DEFAULT_LIMIT)) / DEFAULT_LIMIT;
        let list = FittedList::new(tokens);
        Self {
            share: list.left() / limit.max(1),
            list,
            limit,
            has_tasks,
            is_full: false,
            sources: Vec::new(),
            has_sources: request.has_sources,
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
            if self.has_sources {
                self.sources.push(ResultSource {
                    place: index + 1,
                    root: ranked.of.root.name.clone(),
                    hit: ranked.hit.clone(),
                });
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
