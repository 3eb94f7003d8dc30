//! Parts that several answers share.

use schemars::JsonSchema;
use sectile_library::{
    GoneReason,
    ids::SourceId,
    open_collection::{IndexState, Scores},
    quote::Quote,
    tiers::Tier,
};
use serde::Serialize;

use super::{
    errors::NotebookError,
    not_searched::{NotSearched, named},
};

/// The index that was searched, and how.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SearchScope {
    /// When the index was built, in milliseconds since 1970.
    index_as_of: i64,
    /// Location of the index: `disk`, `memory`, or the name of its backend.
    index_location: &'static str,
    /// Number of notebooks that changed since; null until known.
    changed_not_indexed: Option<usize>,
    /// Number of indexed passages that a service did not show.
    passages_not_seen: u64,
    /// Number of notebooks that are too large or unreadable, so not searched; null until known.
    notebooks_not_searched: Option<usize>,
    /// The first 10 of them.
    not_searched: Vec<NotSearched>,
    /// Kind of retrieval: `lexical+semantic` or `lexical`.
    retrieval: &'static str,
    /// The tier that answered: `static` or `transformer`.
    tier: &'static str,
    /// A sentence if another tier answered the previous search in this context.
    tier_change: Option<String>,
}

impl SearchScope {
    /// Describes the index that was searched. `before` is the tier of the previous search in the same context.
    pub(super) fn new(state: &IndexState, before: Option<Tier>) -> Self {
        let left_out = state.left_out.as_deref();
        Self {
            index_as_of: state.as_of,
            index_location: match state.backend {
                Some(backend) => backend.name,
                None if state.on_disk => "disk",
                None => "memory",
            },
            changed_not_indexed: state.changed,
            passages_not_seen: state.unseen,
            notebooks_not_searched: left_out.map(Vec::len),
            not_searched: left_out.map_or_else(Vec::new, |left_out| named(left_out)),
            retrieval: retrieval(state),
            tier: state.tier.name(),
            tier_change: tier_change(before, state.tier),
        }
    }
}

/// Returns the kind of retrieval that a search used.
pub(super) fn retrieval(state: &IndexState) -> &'static str {
    match state.semantic {
        true => "lexical+semantic",
        false => "lexical",
    }
}

/// Returns a sentence saying that the tier changed since the previous search, if it did.
pub(super) fn tier_change(before: Option<Tier>, now: Tier) -> Option<String> {
    let before = before.filter(|before| *before != now)?;
    Some(format!(
        "The tier changed from {} to {} since the last search in this context, so ranking and scores differ from those before.",
        before.name(),
        now.name()
    ))
}

/// Parts of a passage's score, each between 0 and 1.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct ScoreParts {
    /// Score from the words of the query.
    lexical: f64,
    /// Score from the meaning of the query; 0 if meaning does not count.
    semantic: f64,
    /// Both combined, which decides the order.
    fused: f64,
}

impl From<Scores> for ScoreParts {
    fn from(scores: Scores) -> Self {
        Self {
            lexical: score(scores.lexical),
            semantic: score(scores.semantic),
            fused: score(scores.fused),
        }
    }
}

/// Converts a score in millionths to a number.
pub(super) fn score(millionths: u32) -> f64 {
    f64::from(millionths) / 1e6
}

/// The source of a passage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SourcePointer {
    /// Path of the notebook in the collection.
    notebook_id: String,
    /// Always null, because Markdown has no pages. See line.
    page: Option<u32>,
    /// Date in its headings or front matter, if any, in milliseconds since 1970.
    timestamp: Option<i64>,
}

impl SourcePointer {
    pub(super) fn new(id: &SourceId, timestamp: Option<i64>) -> Self {
        Self {
            notebook_id: id.notebook.as_str().to_owned(),
            page: None,
            timestamp,
        }
    }
}

/// The reason why a passage can no longer be quoted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct GoneNote {
    /// `changed`, `moved` or `deleted`.
    reason: &'static str,
    /// The new id of the passage, if it only moved.
    new_source_id: Option<String>,
}

/// The state of a passage that an earlier search found.
pub(super) enum PassageVerdict {
    Verified(Box<Quote>),
    Gone(GoneNote),
}

impl PassageVerdict {
    /// Converts a quote. A passage that is gone is a verdict; any other failure stays an error.
    pub(super) fn of(quote: Result<Quote, NotebookError>) -> Result<Self, NotebookError> {
        match quote {
            Ok(quote) => Ok(Self::Verified(Box::new(quote))),
            Err(NotebookError::SourceNotFound {
                reason,
                new_source_id,
                ..
            }) => Ok(Self::gone(reason, new_source_id)),
            Err(error) => Err(error),
        }
    }

    fn gone(reason: GoneReason, new_source_id: Option<SourceId>) -> Self {
        Self::Gone(GoneNote {
            reason: reason.word(),
            new_source_id: new_source_id.map(|id| id.to_string()),
        })
    }
}

/// Returns the first `most` characters of `text`, on one line.
pub(super) fn snippet(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(most).collect()
}

/// Formats a count with its noun: `1 passage`, `2 passages`.
pub(super) fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_counts_characters_and_has_no_lines() {
        assert_eq!(snippet("  a\n\tb  c\u{a0}d ", 100), "a b c d");
        let long = "日本 ".repeat(100);
        assert_eq!(snippet(&long, 100).chars().count(), 100);
        assert_eq!(snippet("", 100), "");
    }

    #[test]
    fn scores_are_numbers_between_0_and_1() {
        let number = |millionths| serde_json::json!(score(millionths)).to_string();
        assert_eq!(number(0), "0.0");
        assert_eq!(number(1_000_000), "1.0");
        assert_eq!(number(912_345), "0.912345");
    }
}
