//! The body-free views of one note: its structure without its text.
//!
//! The worlds that serve them share the four tools, and each supplies the notes ([`NoteSource`]). Every view is built from
//! a [`Note`] and is a plain struct whose field order is the order on the wire.

mod document_tree;
pub(super) mod metadata_facets;
mod note_outline;
mod outline;
pub(super) mod section_source;

use schemars::JsonSchema;
use sectile_markdown::{Document, Note};
use sectile_mcp::{AnswerFacts, Tool, ToolBuilder};
use serde::{Deserialize, Serialize};

/// Makes one view of a note, with the facts that may be logged.
pub(crate) type View<T> = fn(&Note<'_>) -> Result<(T, AnswerFacts), NoteTooLong>;

/// A world whose tools show the structure of one note.
pub(crate) trait NoteSource: Sized + 'static {
    /// Finishes a tool that reads the note it is called for and answers with `view` of it.
    fn show<T: Serialize + JsonSchema + Send + 'static>(
        tool: ToolBuilder<Self>,
        view: View<T>,
    ) -> Tool<Self>;
}

/// The body-free tools, in listing order.
pub(crate) fn tools<S: NoteSource>() -> Vec<Tool<S>> {
    vec![
        section_source::tool(),
        note_outline::tool(),
        document_tree::tool(),
        metadata_facets::tool(),
    ]
}

/// Arguments of every tool that shows one note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteParams {
    /// Vault-relative path (e.g. inbox/foo.md)
    pub(crate) path: String,
}

/// Most headings shown of one note.
const MAX_HEADINGS: usize = 500;
/// Longest Markdown that is parsed, in UTF-16 code units, without front matter and trailing white space.
const MAX_BODY_UTF16_UNITS: usize = 1_000_000;

/// The error for Markdown that is longer than any view will parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Note outline input exceeds {MAX_BODY_UTF16_UNITS} characters; refusing to parse unbounded Markdown."
)]
pub(crate) struct NoteTooLong;

/// Parses a note, unless its Markdown is longer than any view will parse.
fn parse(note: &Note<'_>) -> Result<Document, NoteTooLong> {
    if note.source().body_exceeds_utf16_units(MAX_BODY_UTF16_UNITS) {
        return Err(NoteTooLong);
    }
    Ok(note.source().parse())
}

#[cfg(test)]
mod tests;
