//! Queries of a folder: words, exact phrases, and filters.

use crate::{live_folder::NoteRecord, query::SearchQuery};

/// A parsed query.
#[derive(Clone, Debug)]
pub struct FolderQuery {
    words: Option<SearchQuery>,
}

/// A query that cannot be understood. The message is one or two sentences.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryMistake {
    /// The sentences to show.
    pub message: String,
}

/// The order of hits when no words are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// By relevance, or by path where nothing is more relevant than anything else.
    #[default]
    Relevance,
    /// Last modified first.
    Modified,
}

/// The tasks that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFilter {
    /// Open tasks.
    Open,
    /// Tasks that are done.
    Done,
}

impl FolderQuery {
    /// Parses a query. `now` is the time in milliseconds since 1970.
    ///
    /// # Errors
    /// [`QueryMistake`] when a filter has no meaning.
    pub fn parse(text: &str, _now: i64) -> Result<Self, QueryMistake> {
        let words = SearchQuery::parse(text).map_err(|error| QueryMistake {
            message: error.to_string(),
        })?;
        let words = (!text.trim().is_empty()).then_some(words);
        Ok(Self { words })
    }

    /// Returns the words to search for; `None` if there are only filters.
    pub fn words(&self) -> Option<&SearchQuery> {
        self.words.as_ref()
    }

    /// Returns the words that are not searched for, because there are too many.
    pub fn dropped_words(&self) -> &[String] {
        &[]
    }

    /// Returns the phrases that a hit must contain exactly.
    pub fn phrases(&self) -> &[String] {
        &[]
    }

    /// Returns the kind of tasks that is asked for.
    pub fn tasks(&self) -> Option<TaskFilter> {
        None
    }

    /// Returns the order of the hits.
    pub fn order(&self) -> HitOrder {
        HitOrder::Relevance
    }

    /// Returns whether [`Self::matches`] can refuse a note.
    pub fn has_filters(&self) -> bool {
        false
    }

    /// Returns whether a note passes the filters. Words, phrases and tasks are not filters of notes.
    pub fn matches(&self, _: &NoteRecord) -> bool {
        true
    }
}
