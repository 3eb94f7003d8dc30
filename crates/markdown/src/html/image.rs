//! Images, of which only the words are shown.

use pulldown_cmark::{Event, Tag, TagEnd};

/// The image being read. Its alternative text may have images in it.
#[derive(Debug)]
pub(super) struct ImageText {
    destination: String,
    text: String,
    depth: usize,
}

impl ImageText {
    pub(super) fn new(destination: &str) -> Self {
        Self {
            destination: destination.to_owned(),
            text: String::new(),
            depth: 1,
        }
    }

    /// Reads an event inside the image. Returns whether it ends the image.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                self.text.push_str(text);
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::Image { .. }) => self.depth += 1,
            Event::End(TagEnd::Image) => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }

    /// Returns the alternative text and the destination.
    pub(super) fn finish(self) -> (String, String) {
        (self.text, self.destination)
    }
}
