//! A note as a whole: its path, its front matter, its title and its bytes.

mod scalar;
mod title;

pub use scalar::scalar_text;

use crate::{Mapping, Source, Value};

/// Unicode scalar values shown of a title or heading. Without a limit, one long heading would be repeated in every
/// child.
pub const MAX_TEXT_CHARS: usize = 256;

/// One note: its path, its front matter and its Markdown.
#[derive(Debug)]
pub struct Note<'a> {
    path: &'a str,
    front_matter: Mapping,
    source: Source<'a>,
}

impl<'a> Note<'a> {
    /// Reads the note at `path`, which must have been validated, with these bytes.
    #[must_use]
    pub fn new(path: &'a str, bytes: &'a [u8]) -> Self {
        let source = Source::new(bytes);
        let front_matter = match source.front_matter_value() {
            Some(Ok(Value::Map(mapping))) => mapping,
            // A block that is broken or not a mapping is still not Markdown; it just has no values.
            _ => Mapping::default(),
        };
        Self {
            path,
            front_matter,
            source,
        }
    }

    /// Creates a note whose store supplies the front matter. A block at the start of the bytes is still not Markdown,
    /// but its values do not count.
    #[must_use]
    pub fn with_front_matter(path: &'a str, bytes: &'a [u8], front_matter: Mapping) -> Self {
        Self {
            path,
            front_matter,
            source: Source::new(bytes),
        }
    }

    /// Returns the path it was created with.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// Returns its decoded bytes, with front matter and Markdown separated.
    #[must_use]
    pub fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// Returns the front matter; empty if there is none, or none that can be parsed.
    #[must_use]
    pub fn front_matter(&self) -> &Mapping {
        &self.front_matter
    }

    /// Returns the title to show, truncated, or `None` if it is empty even after falling back to the file name.
    #[must_use]
    pub fn title(&self) -> Option<CutText> {
        title::title(self).map(|title| cut_text(&title))
    }
}

/// A title or heading, truncated for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutText {
    /// The text that is shown.
    pub text: String,
    /// Whether something was cut off.
    pub truncated: bool,
}

/// Truncates a title or heading for display.
#[must_use]
pub fn cut_text(text: &str) -> CutText {
    let end = text.char_indices().nth(MAX_TEXT_CHARS).map(|(end, _)| end);
    CutText {
        text: text[..end.unwrap_or(text.len())].to_owned(),
        truncated: end.is_some(),
    }
}
