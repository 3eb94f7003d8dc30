//! The part that the heading views share: the title, and the headings that are shown, with their ids.

use sectile_markdown::{Document, Note, cut_text, heading_id};

use super::{MAX_HEADINGS, NoteTooLong, parse};

/// The outline of a note.
pub(super) struct Outline {
    pub(super) title: Option<String>,
    /// The first headings, in document order.
    pub(super) headings: Vec<Heading>,
    /// Whether headings were left out, or their text was cut.
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

impl Outline {
    pub(super) fn of(note: &Note<'_>) -> Result<Self, NoteTooLong> {
        let document = parse(note)?;
        let title = note.title();
        let title_cut = title.as_ref().is_some_and(|title| title.truncated);
        let mut truncated = title_cut || document.sections().len() > MAX_HEADINGS;
        let headings = headings(&document, &mut truncated);
        Ok(Self {
            title: title.map(|title| title.text),
            headings,
            truncated,
        })
    }
}

fn headings(document: &Document, truncated: &mut bool) -> Vec<Heading> {
    document
        .sections()
        .iter()
        .take(MAX_HEADINGS)
        .map(|section| {
            let cut = cut_text(&section.text);
            *truncated |= cut.truncated;
            Heading {
                id: heading_id(section.level, &cut.text, section.ordinal),
                level: section.level,
                text: cut.text,
                parent: section.parent,
                body_available: section.body_available,
            }
        })
        .collect()
}
