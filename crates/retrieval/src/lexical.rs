//! An index of words, and the order in which passages answer a question.
//!
//! A passage has a heading, a trail (what stands above the heading) and a body. The index is made once, of all passages
//! that count, and never changes: words are rare or frequent among exactly these. Where it is kept is the business of
//! [`Index`]; query and ranking ask it for terms and postings only.

mod index;
mod query;
mod search;
mod spelling;

pub use self::{
    index::{Index, IndexError, MAX_PASSAGES, Passage},
    query::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, Query, QueryError},
    search::{Correction, Form, Hit, Match, RANKING, Ranked, Remarks},
};

#[cfg(test)]
mod tests;
