//! The text of a heading as the contract defines it: inline nodes joined by a space, NFC, white space collapsed.

use pulldown_cmark::{Event, Tag, TagEnd};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::whitespace::is_whitespace;

/// Collects the inline events of one heading.
///
/// Nodes are joined by one space and runs of white space are collapsed, so it is enough to put a space at every
/// boundary between nodes. Inside an image only the alternative text counts, and its nodes are not joined by spaces.
#[derive(Debug, Default)]
pub(crate) struct HeadingText {
    raw: String,
    image_depth: usize,
}

impl HeadingText {
    pub(crate) fn push(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) => self.raw.push_str(text),
            Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                self.border();
                self.raw.push_str(text);
                self.border();
            }
            Event::SoftBreak => self.raw.push('\n'),
            Event::HardBreak => self.border(),
            Event::Start(tag) => {
                self.border();
                self.image_depth += usize::from(matches!(tag, Tag::Image { .. }));
            }
            Event::End(tag) => {
                self.image_depth -= usize::from(matches!(tag, TagEnd::Image));
                self.border();
            }
            _ => {}
        }
    }

    pub(crate) fn finish(self) -> String {
        if self.raw.is_ascii() || is_nfc_quick(self.raw.chars()) == IsNormalized::Yes {
            collapse_whitespace(self.raw.chars(), self.raw.len())
        } else {
            collapse_whitespace(self.raw.nfc(), self.raw.len())
        }
    }

    fn border(&mut self) {
        if self.image_depth == 0 {
            self.raw.push(' ');
        }
    }
}

/// Collapses runs of white space to one space, and trims both ends.
pub(crate) fn collapse_whitespace(chars: impl Iterator<Item = char>, capacity: usize) -> String {
    let mut text = String::with_capacity(capacity);
    let mut pending = false;
    for c in chars {
        if is_whitespace(c) {
            pending = !text.is_empty();
        } else {
            if std::mem::take(&mut pending) {
                text.push(' ');
            }
            text.push(c);
        }
    }
    text
}
