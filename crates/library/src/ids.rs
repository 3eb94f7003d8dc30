//! The ids of passages. An id holds both the location of a passage and the start of its digest, so that it proves
//! itself.

use std::fmt;

use sectile_markdown::{NotePath, Span};
use sectile_retrieval::ChunkDigest;

/// Number of hexadecimal digits of the digest in an id: 64 bits, enough to tell passages at one location apart.
const DIGITS: usize = 16;

/// The location of a passage, and the start of the digest of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceId {
    /// Name of the collection.
    pub collection: String,
    /// Path of the notebook, relative to the collection.
    pub notebook: NotePath,
    /// Byte range of the passage in its notebook.
    pub span: Span,
    digest: String,
}

impl SourceId {
    /// Creates the id of the passage `span` of a notebook, whose bytes have this digest.
    pub fn new<'d, D>(collection: &str, notebook: &NotePath, span: Span, digest: &'d D) -> Self
    where
        ChunkDigest: From<&'d D>,
    {
        Self {
            collection: collection.to_owned(),
            notebook: notebook.clone(),
            span,
            digest: ChunkDigest::from(digest).to_string(),
        }
    }

    /// Parses an id of the form `collection/notebook.md@start-end:digest`, where `end` is exclusive.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, rest) = text.rsplit_once('@')?;
        let (range, digest) = rest.split_once(':')?;
        let (start, end) = range.split_once('-')?;
        let (collection, notebook) = path.split_once('/')?;
        let notebook = NotePath::parse_vault(notebook).ok()?;
        let span = Span::new(start.parse().ok()?, end.parse().ok()?);
        let is_digest = digest.len() == DIGITS
            && digest
                .bytes()
                .all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
        let id = Self {
            collection: collection.to_owned(),
            notebook,
            span,
            digest: digest.to_owned(),
        };
        // A passage has exactly one id: no leading zeros, plus signs, or other spellings of a path.
        (is_digest && span.start < span.end && id.to_string() == text).then_some(id)
    }

    /// Returns the digits of the digest that the id holds.
    pub(crate) fn digits(&self) -> &str {
        &self.digest
    }

    /// Returns whether bytes with this digest are those that the id was made for.
    pub fn is_of<'d, D>(&self, digest: &'d D) -> bool
    where
        ChunkDigest: From<&'d D>,
    {
        ChunkDigest::from(digest).to_string() == self.digest
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            collection,
            notebook,
            span,
            digest,
        } = self;
        write!(
            f,
            "{collection}/{}@{}-{}:{digest}",
            notebook.as_str(),
            span.start,
            span.end
        )
    }
}

#[cfg(test)]
mod tests;
