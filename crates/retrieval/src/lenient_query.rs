//! Questions of any length, the same for every command and server that accepts them.

use std::borrow::Cow;

use crate::{Corpus, Query};

/// A question of any length, as a corpus is searched for it.
#[derive(Clone, Debug)]
pub struct LenientQuery<'t> {
    /// The words.
    pub query: Query,
    /// The text whose meaning counts: the question, or the words of a question that is too long.
    pub text: Cow<'t, str>,
    /// Words that are left out, the most frequent first.
    pub dropped: Vec<String>,
}

impl<'t> LenientQuery<'t> {
    /// Reads a question. If it has too many words, those that say least about `corpus` are left out, as in
    /// [`Corpus::lenient_query`], and their meaning does not count either.
    #[must_use]
    pub fn new(text: &'t str, corpus: &Corpus) -> Self {
        let (query, dropped) = corpus.lenient_query(text);
        let text = match dropped.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(query.terms().collect::<Vec<&str>>().join(" ")),
        };
        Self {
            query,
            text,
            dropped,
        }
    }
}
