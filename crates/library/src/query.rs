//! A query, parsed once for everything that searches with it.

use sectile_retrieval::{Corpus, LenientQuery, Query, QueryError};

/// A query as text and parsed. The lexical index uses the parsed form, the embedding models the text.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    text: String,
    parsed: Query,
}

impl SearchQuery {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError`] when it is too long.
    pub fn parse(text: impl Into<String>) -> Result<Self, QueryError> {
        let text = text.into();
        let parsed = Query::parse(&text)?;
        Ok(Self { text, parsed })
    }

    /// Parses a question of any length. If it is too long, the words that say least about `corpus` are left out; returns
    /// them too, the most frequent first.
    pub(crate) fn lenient(text: &str, corpus: &Corpus) -> (Self, Vec<String>) {
        let LenientQuery {
            query: parsed,
            text,
            dropped,
        } = LenientQuery::new(text, corpus);
        let text = text.into_owned();
        (Self { text, parsed }, dropped)
    }

    /// Requires the words of a phrase side by side. Returns `false`, and requires nothing, if the index cannot tell.
    pub(crate) fn require(&mut self, phrase: &str) -> bool {
        self.parsed.require(phrase)
    }

    /// Returns the query as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the parsed query.
    pub fn parsed(&self) -> &Query {
        &self.parsed
    }
}
