//! A note as a whole: where it is, its front matter, its title and its bytes.

mod scalar;
mod title;

pub use scalar::scalar_text;

use crate::{Mapping, Source, Value};

/// Unicode scalar values shown of a title or heading. Without it, one long heading would be repeated in every child.
pub const MAX_TEXT_CHARS: usize = 256;

/// One note: its path, what its front matter says, and its Markdown.
#[derive(Debug)]
pub struct Note<'a> {
    path: &'a str,
    front_matter: Mapping,
    source: Source<'a>,
}

impl<'a> Note<'a> {
    /// The note at `path`, a path that has been through its parser, with these bytes.
    #[must_use]
    pub fn new(path: &'a str, bytes: &'a [u8]) -> Self {
        let source = Source::new(bytes);
        let front_matter = match source.front_matter_value() {
            Some(Ok(Value::Map(mapping))) => mapping,
            // A block that is broken or is not a mapping is still not Markdown; it just says nothing.
            _ => Mapping::default(),
        };
        Self {
            path,
            front_matter,
            source,
        }
    }

    /// The same, when the store that keeps the note says what its front matter is. A block at the head of the bytes is
    /// still not Markdown, but its values do not count.
    #[must_use]
    pub fn with_front_matter(path: &'a str, bytes: &'a [u8], front_matter: Mapping) -> Self {
        Self {
            path,
            front_matter,
            source: Source::new(bytes),
        }
    }

    /// The path that it was given.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// Its bytes, with front matter and Markdown apart.
    #[must_use]
    pub fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// What the front matter says; nothing when there is none, or none that can be read.
    #[must_use]
    pub fn front_matter(&self) -> &Mapping {
        &self.front_matter
    }

    /// The title to show, cut, or `None` when nothing is left of the file name either.
    #[must_use]
    pub fn title(&self) -> Option<CutText> {
        title::title(self).map(|title| cut_text(&title))
    }
}

/// A title or heading, cut to what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutText {
    /// What is left of it.
    pub text: String,
    /// Whether something was cut.
    pub truncated: bool,
}

/// Cuts a title or heading to what is shown of it.
#[must_use]
pub fn cut_text(text: &str) -> CutText {
    let end = text.char_indices().nth(MAX_TEXT_CHARS).map(|(end, _)| end);
    CutText {
        text: text[..end.unwrap_or(text.len())].to_owned(),
        truncated: end.is_some(),
    }
}
