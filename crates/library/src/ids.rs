//! The ids of passages: an id says where a passage is and what it says, so that it proves itself.

use std::fmt;

use sectile_markdown::{Digest, NotePath, Span};

/// How many digits of a passage's digest its id carries.
const DIGITS: usize = 16;

/// Where a passage is, and the start of the digest of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceId {
    /// The name of the collection.
    pub collection: String,
    /// Relative to the collection.
    pub notebook: NotePath,
    /// The bytes of the passage in its notebook.
    pub span: Span,
    digest: String,
}

impl SourceId {
    /// The id of the passage `span` of a notebook, whose bytes have this digest.
    pub fn new(collection: &str, notebook: &NotePath, span: Span, digest: &Digest) -> Self {
        let mut digits = digest.to_string();
        digits.truncate(DIGITS);
        Self {
            collection: collection.to_owned(),
            notebook: notebook.clone(),
            span,
            digest: digits,
        }
    }

    /// Reads an id: `collection/notebook.md@start-end:digest`, with the bytes from `start` up to `end`.
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
        // One passage has one id: no leading zeros, plus signs, or other ways to write a path.
        (is_digest && span.start < span.end && id.to_string() == text).then_some(id)
    }

    /// The first digits of the digest of what it was given for.
    pub(crate) fn digits(&self) -> &str {
        &self.digest
    }

    /// Whether bytes with this digest are what the id was given for.
    pub fn is_of(&self, digest: &Digest) -> bool {
        digest.to_string().starts_with(&self.digest)
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
