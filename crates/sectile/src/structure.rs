//! The body-free views of one note: what a reader may know of its structure without reading its text.
//!
//! Shared by the worlds that serve them; where the note comes from is theirs. Every view is built from a [`Note`] and is
//! a plain struct whose field order is the order on the wire.

mod document_tree;
mod metadata_facets;
mod note_outline;
mod outline;
mod scalar;
mod section_source;
mod title;

pub(crate) use self::{
    document_tree::DocumentTree, metadata_facets::MetadataFacets, note_outline::NoteOutline,
    section_source::SectionSource,
};

use schemars::JsonSchema;
use sectile_markdown::{Document, Mapping, Source, Value};
use serde::Deserialize;

/// Arguments of every tool that shows one note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteParams {
    /// Vault-relative path (e.g. inbox/foo.md)
    pub(crate) path: String,
}

/// Headings shown of one note.
const MAX_HEADINGS: usize = 500;
/// UTF-16 code units of Markdown, front matter and trailing white space aside, that are parsed.
const MAX_BODY_UTF16_UNITS: usize = 1_000_000;
/// Unicode scalar values shown of a title or heading. Without it, one long heading would be repeated in every child.
const MAX_TEXT_CHARS: usize = 256;

/// The Markdown is longer than any view will parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Note outline input exceeds {MAX_BODY_UTF16_UNITS} characters; refusing to parse unbounded Markdown."
)]
pub(crate) struct TooLong;

/// A note as the views see it: where it is, its front matter, and its bytes.
pub(crate) struct Note<'a> {
    path: &'a str,
    front_matter: Mapping,
    source: Source<'a>,
}

impl<'a> Note<'a> {
    /// The note at `path`, a path that has been through its parser, with these bytes.
    pub(crate) fn new(path: &'a str, bytes: &'a [u8]) -> Self {
        let source = Source::new(bytes);
        let front_matter = match source.front_matter_value() {
            Some(Ok(Value::Map(mapping))) => mapping,
            // A block that is broken or no mapping is still not Markdown; it just says nothing.
            _ => Mapping::default(),
        };
        Self {
            path,
            front_matter,
            source,
        }
    }

    /// The same, when whoever keeps the note says what its front matter is. A block at the head of the bytes is still not
    /// Markdown, but its values do not count.
    pub(crate) fn with_front_matter(path: &'a str, bytes: &'a [u8], front_matter: Mapping) -> Self {
        Self {
            path,
            front_matter,
            source: Source::new(bytes),
        }
    }

    /// The title to show, or `None` when nothing is left of the file name either.
    pub(crate) fn title(&self) -> Option<String> {
        title::title(self).0
    }

    /// What the front matter says; nothing when there is none, or none that can be read.
    pub(crate) fn front_matter(&self) -> &Mapping {
        &self.front_matter
    }

    fn parse(&self) -> Result<Document, TooLong> {
        if self.source.body_exceeds_utf16_units(MAX_BODY_UTF16_UNITS) {
            return Err(TooLong);
        }
        Ok(self.source.parse())
    }
}

/// A text cut to what the views show, and whether something was cut.
struct Cut {
    text: String,
    truncated: bool,
}

fn cut_text(text: &str) -> Cut {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => Cut {
            text: text[..end].to_owned(),
            truncated: true,
        },
        None => Cut {
            text: text.to_owned(),
            truncated: false,
        },
    }
}

#[cfg(test)]
mod tests;
