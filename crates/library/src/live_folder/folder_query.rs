//! Queries of a folder: words, exact phrases, and filters.

mod dates;
mod filter;
mod parse;

use sectile_markdown::{Task, name_key};
use sectile_retrieval::Corpus;

pub(super) use self::filter::{Facet, value_key};
use self::filter::{Filter, FilterTerm};
pub use self::parse::QueryMistake;
use crate::{live_folder::NoteRecord, query::SearchQuery};

/// A parsed query.
#[derive(Clone, Debug)]
pub struct FolderQuery {
    text: String,
    words: QueryWords,
    /// Words that are too long to be searched for.
    long_words: Vec<String>,
    phrases: Vec<String>,
    /// All of them must hold.
    terms: Vec<FilterTerm>,
    tasks: Option<TaskFilter>,
    order: HitOrder,
}

/// The words of a query, those of phrases included.
#[derive(Clone, Debug)]
enum QueryWords {
    /// There are none that can be searched for.
    None,
    /// All of them can be searched for.
    Few(SearchQuery),
    /// There are too many: which are searched for depends on the index.
    Many(String),
}

/// The order of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// By relevance, or by path where nothing is more relevant than anything else.
    #[default]
    Relevance,
    /// Last modified first.
    Modified,
    /// By path.
    Path,
}

/// The tasks that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFilter {
    /// Open tasks.
    Open,
    /// Tasks that are done.
    Done,
    /// Both.
    Any,
}

impl TaskFilter {
    /// Returns whether a task is asked for.
    pub fn wants(self, task: &Task) -> bool {
        match self {
            Self::Open => !task.is_done,
            Self::Done => task.is_done,
            Self::Any => true,
        }
    }

    /// Returns whether a note has a task that is asked for.
    fn is_in(self, note: &NoteRecord) -> bool {
        let tasks = note.properties.tasks.iter();
        tasks.into_iter().any(|task| self.wants(task))
    }
}

impl FolderQuery {
    /// Returns everything that is not a filter, as it was written, but without quotation marks around phrases.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the words to search for in `corpus`, those of phrases included, and the words that are left out, because
    /// there are too many or they are too long: first those that cost most and say least. `None` if there are only filters,
    /// or if every word is too long.
    pub fn words(&self, corpus: &Corpus) -> Option<(SearchQuery, Vec<String>)> {
        let (mut words, mut dropped) = match &self.words {
            QueryWords::None => return None,
            QueryWords::Few(words) => (words.clone(), Vec::new()),
            QueryWords::Many(text) => SearchQuery::lenient(text, corpus),
        };
        for phrase in &self.phrases {
            words.require(phrase);
        }
        dropped.extend_from_slice(&self.long_words);
        Some((words, dropped))
    }

    /// Returns whether there are words, but none that can be searched for. Such a query finds nothing.
    pub fn is_unsearchable(&self) -> bool {
        matches!(self.words, QueryWords::None) && !self.text.is_empty()
    }

    /// Returns the words that are too long to be searched for.
    pub fn long_words(&self) -> &[String] {
        &self.long_words
    }

    /// Returns the phrases that a hit must contain exactly.
    pub fn phrases(&self) -> &[String] {
        &self.phrases
    }

    /// Returns whether `text` contains all phrases. Letter case and the kind of white space do not matter.
    pub fn has_phrases(&self, text: &str) -> bool {
        if self.phrases.is_empty() {
            return true;
        }
        let even = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            name_key(&words.join(" "))
        };
        let text = even(text);
        self.phrases
            .iter()
            .all(|phrase| text.contains(&even(phrase)))
    }

    /// Returns the kind of tasks that is asked for.
    pub fn tasks(&self) -> Option<TaskFilter> {
        self.tasks
    }

    /// Returns whether hits are tasks and not passages or notes.
    pub fn needs_tasks(&self) -> bool {
        self.tasks.is_some()
    }

    /// Returns the order of the hits.
    pub fn order(&self) -> HitOrder {
        self.order
    }

    /// Returns whether [`Self::matches`] can refuse a note.
    pub fn has_filters(&self) -> bool {
        !self.terms.is_empty() || self.tasks.is_some()
    }

    /// Returns whether a note passes the filters. Of tasks, it must have one that is asked for. Words and phrases are
    /// not filters of notes.
    pub fn matches(&self, note: &NoteRecord) -> bool {
        self.tasks.is_none_or(|tasks| tasks.is_in(note))
            && self.terms.iter().all(|term| term.matches(note))
    }

    /// Returns the filters that a table of notes can answer, each with whether it excludes.
    pub(super) fn facets(&self) -> impl Iterator<Item = (Facet, bool)> {
        let tasks = match self.tasks {
            Some(TaskFilter::Open) => Some((Facet::task(false), false)),
            Some(TaskFilter::Done) => Some((Facet::task(true), false)),
            Some(TaskFilter::Any) | None => None,
        };
        let terms = self.terms.iter();
        let terms = terms.filter_map(|term| Some((term.filter.facet()?, term.excludes)));
        terms.chain(tasks)
    }

    /// Returns whether a note passes the filters that exclude nothing a table can answer.
    pub(super) fn matches_rest(&self, note: &NoteRecord) -> bool {
        let is_rest = |term: &&FilterTerm| !(term.excludes && term.filter.is_exact_facet());
        self.tasks.is_none_or(|tasks| tasks.is_in(note))
            && self
                .terms
                .iter()
                .filter(is_rest)
                .all(|term| term.matches(note))
    }

    /// Returns whether a note is excluded by a filter that a table can answer.
    pub(super) fn is_excluded(&self, note: &NoteRecord) -> bool {
        let is_exact = |term: &&FilterTerm| term.excludes && term.filter.is_exact_facet();
        self.terms
            .iter()
            .filter(is_exact)
            .any(|term| !term.matches(note))
    }
}

#[cfg(test)]
mod tests;
