//! The headings that the views show, with their ids.

use sectile_markdown::{Document, heading_id};

use super::{MAX_HEADINGS, cut_text};

/// The first headings of a note, in document order.
pub(super) struct Headings {
    pub(super) list: Vec<Heading>,
    /// Whether headings were left out, or a text was cut.
    pub(super) truncated: bool,
}

pub(super) struct Heading {
    pub(super) id: String,
    pub(super) level: u8,
    pub(super) text: String,
    /// Index of the enclosing heading, which always comes earlier.
    pub(super) parent: Option<usize>,
    pub(super) body_available: bool,
}

impl Headings {
    pub(super) fn of(document: &Document) -> Self {
        let mut truncated = document.sections().len() > MAX_HEADINGS;
        let list = document
            .sections()
            .iter()
            .take(MAX_HEADINGS)
            .map(|section| {
                let cut = cut_text(&section.text);
                truncated |= cut.truncated;
                Heading {
                    id: heading_id(section.level, &cut.text, section.ordinal),
                    level: section.level,
                    text: cut.text,
                    parent: section.parent,
                    body_available: section.body_available,
                }
            })
            .collect();
        Self { list, truncated }
    }
}
