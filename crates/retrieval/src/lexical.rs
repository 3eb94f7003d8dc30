//! An index of words, and the order in which passages answer a question.
//!
//! A passage has a heading, a trail (what stands above the heading) and a body. [`Index`] is made once, in memory, of all
//! passages that count. [`Segments`] are files, to which others can be added and in which passages can cease to count. Both
//! answer the same of the same passages: words are rare or frequent among exactly those that count, and ranking asks for
//! terms only, wherever these are kept.

mod candidates;
mod clues;
mod collect;
mod field;
mod index;
mod lexicon;
mod passages;
mod query;
mod search;
mod segment;
mod segments;
mod spelling;
mod terms;

use self::terms::Posting;
pub(crate) use self::{
    candidates::Candidates,
    segment::{Lexical, LexicalBuilder},
    segments::{DEAD, Segments},
};
pub use self::{
    candidates::{Lookup, Statistics},
    clues::Clue,
    index::{Index, IndexError, MAX_PASSAGES},
    lexicon::{Lexicon, PassageTerm, PassageTerms},
    passages::{PassageReader, PassageWords},
    query::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, Query, QueryError},
    search::{Correction, Form, Hit, MOST_CORRECTED, Match, RANKING, Ranked, Remarks},
    spelling::Vocabulary,
};

/// A passage to index.
#[derive(Clone, Debug, Default)]
pub struct Passage<'a> {
    /// Its heading.
    pub heading: &'a str,
    /// The headings above it, and the title of the document.
    pub trail: Vec<&'a str>,
    /// Its text, without markup.
    pub body: &'a str,
}

impl<'a> Passage<'a> {
    /// What is embedded of it: title, headings and text, outermost first.
    #[must_use]
    pub fn parts(&self) -> Vec<&'a str> {
        let inner = [self.heading, self.body];
        self.trail.iter().copied().chain(inner).collect()
    }
}

#[cfg(test)]
mod tests;
