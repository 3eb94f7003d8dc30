//! A query, parsed once for everything that searches with it.

use sectile_retrieval::{Query, QueryError};

/// A query as it was written and as it was understood. The words are looked up in the lexical index; the text is what the
/// embedding models read.
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

    /// Returns the query as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the parsed query.
    pub fn parsed(&self) -> &Query {
        &self.parsed
    }
}
