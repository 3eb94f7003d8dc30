//! An inverted index of words, and the ranking of passages for a query.
//!
//! A passage has a heading, a trail (the headings above it) and a body. [`Index`] is built once, in memory, from all
//! passages. [`Segments`] are files, to which others can be added and in which passages can be deleted. Both give the
//! same answers about the same live passages: document frequencies count exactly those, and ranking sees terms only,
//! wherever they are stored.

mod candidates;
mod clues;
mod collect;
mod dictionary;
mod field;
mod found;
mod index;
mod lexicon;
mod lists;
mod passages;
mod query;
mod search;
mod segment;
mod segments;
mod spelling;
mod terms;

pub(crate) use self::field::MOST_WEIGHT;
use self::terms::Posting;
pub(crate) use self::{
    candidates::Candidates,
    search::Phrases,
    segment::{LexicalBuilder, LexicalSegment},
    segments::{LivePassages, Segments},
};
pub use self::{
    candidates::{Lookup, Statistics},
    clues::Clue,
    index::{Index, IndexError, MAX_PASSAGES},
    lexicon::{Lexicon, PassageTerm, PassageTerms},
    passages::{PassageReader, PassageWords},
    query::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, Query, QueryError, WordTest},
    search::{
        Correction, Form, Hit, MOST_CORRECTED, Match, RANKING, RankedPassages, Remarks, Suggestion,
        TermExplanation,
    },
    spelling::Vocabulary,
};

/// A passage to index.
#[derive(Clone, Debug, Default)]
pub struct Passage<'a> {
    /// Its heading.
    pub heading: &'a str,
    /// The title of the document and the headings above its own.
    pub trail: Vec<&'a str>,
    /// Its text, without markup.
    pub body: &'a str,
}

impl<'a> Passage<'a> {
    /// Returns the parts to embed: title, headings and text, outermost first.
    #[must_use]
    pub fn parts(&self) -> Vec<&'a str> {
        let inner = [self.heading, self.body];
        self.trail.iter().copied().chain(inner).collect()
    }
}

#[cfg(test)]
mod tests;
