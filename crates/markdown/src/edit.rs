//! Edits of sections: takes a request, returns replacements of bytes.
//!
//! An edit is planned on a document and its text, applied to a copy, then verified: the new tree must be the old tree
//! with only the intended change, or the edit is refused with the reason. The parser is the judge, so that an open
//! fence, a comment or an underline in a caller's payload can never swallow the section that follows.

mod error;
pub(crate) mod heading;
mod insertion;
mod payload;
mod placement;
mod plan;
mod spacing;
mod verify;

pub use self::{
    error::{EditError, Escape},
    insertion::TextPlacement,
    payload::PayloadHeadings,
    placement::SectionPlacement,
    spacing::content_span,
};

use std::borrow::Cow;

use crate::{Changes, Document, Source, Span, align, lines::dominant_line_end};

/// An edit to make. A section is named by its position: its index among the sections with top-level headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Inserts a new section.
    Insert {
        /// Where to insert it.
        place: SectionPlacement,
        /// Its level, 1 to 6, or `None` for the level that the place implies.
        level: Option<u8>,
        /// Its heading, on one line.
        heading: &'a str,
        /// Its text, without the heading. May contain subsections.
        body: &'a str,
        /// How to treat headings in the text.
        headings: PayloadHeadings,
    },
    /// Inserts a section with its subsections, taken from another document.
    Graft {
        /// Where to insert it.
        place: SectionPlacement,
        /// The level of its first heading, or `None` for the level that the place implies.
        level: Option<u8>,
        /// Its bytes, starting with its heading.
        subtree: &'a str,
    },
    /// Replaces the text between a heading and the next one.
    ReplaceBody {
        /// Position of the section.
        section: usize,
        /// The new text.
        body: &'a str,
        /// How to treat headings in the text.
        headings: PayloadHeadings,
    },
    /// Replaces everything after a heading, subsections included.
    ReplaceSubtree {
        /// Position of the section.
        section: usize,
        /// The new text.
        body: &'a str,
        /// How to treat headings in the text.
        headings: PayloadHeadings,
    },
    /// Deletes a section with its subsections.
    Delete {
        /// Position of the section.
        section: usize,
    },
    /// Moves a section with its subsections.
    Move {
        /// Position of the section.
        section: usize,
        /// Where to move it. A position is the index that the heading has afterwards.
        place: SectionPlacement,
        /// Its new level, or `None` for the level that the place implies.
        level: Option<u8>,
    },
    /// Changes the text of a heading.
    Rename {
        /// Position of the section.
        section: usize,
        /// The new heading, on one line.
        heading: &'a str,
    },
    /// Changes the level of a section; its subsections follow.
    SetLevel {
        /// Position of the section.
        section: usize,
        /// The new level, 1 to 6.
        level: u8,
    },
    /// Replaces a passage of text.
    ReplaceText {
        /// The part of the document to search.
        within: EditScope,
        /// The text to find.
        old: &'a str,
        /// The text to put in its place.
        new: &'a str,
        /// How often `old` must occur.
        expected: usize,
    },
    /// Adds text without replacing any. Blank lines that separate it from what is there are added as needed.
    InsertText {
        /// Where to add it.
        place: TextPlacement,
        /// The text to add. May contain headings.
        text: &'a str,
        /// How to treat headings in the text.
        headings: PayloadHeadings,
    },
    /// Applies changes to the front matter, already planned and verified.
    FrontMatter(Changes),
    /// Applies changes within lines of the Markdown, such as respelled links. Text and headings may change, the tree
    /// may not.
    WithinLines(Changes),
}

/// A part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditScope {
    /// The whole document.
    Document,
    /// The text between the heading of this section and the next heading.
    Body(usize),
    /// Everything after the heading of this section, subsections included.
    Subtree(usize),
}

/// The result of an edit.
#[derive(Clone, Debug)]
pub struct EditOutcome {
    /// The replacements it made.
    pub changes: Changes,
    /// The document afterwards.
    pub bytes: Vec<u8>,
    /// The sections of the document afterwards.
    pub document: Document,
    /// For each section afterwards, its position before, or `None` for a new section.
    pub lineage: Vec<Option<usize>>,
    /// Position afterwards of the section that was edited.
    pub focus: Option<usize>,
}

/// A document ready to be edited.
#[derive(Debug)]
pub struct EditableDocument<'a> {
    bytes: &'a [u8],
    text: &'a str,
    source: Source<'a>,
    document: &'a Document,
    tops: Vec<TopSection>,
    line_end: &'static str,
}

/// A section with a top-level heading, by position.
#[derive(Clone, Copy, Debug)]
struct TopSection {
    level: u8,
    heading: Span,
    own_body: Span,
    subtree: Span,
    /// Position after the last section of the subtree.
    subtree_end: usize,
    parent: Option<usize>,
}

impl<'a> EditableDocument<'a> {
    /// Prepares the document `bytes`, whose sections are `document`.
    ///
    /// # Errors
    /// [`EditError::NotUtf8`] if it is not UTF-8.
    pub fn new(bytes: &'a [u8], document: &'a Document) -> Result<Self, EditError> {
        let source = Source::new(bytes);
        let text = match source.text {
            Cow::Borrowed(text) => text,
            // It contains NUL, or is not UTF-8.
            Cow::Owned(_) => std::str::from_utf8(bytes).map_err(|_| EditError::NotUtf8)?,
        };
        Ok(Self {
            bytes,
            text,
            source,
            document,
            tops: tops(document),
            line_end: dominant_line_end(bytes),
        })
    }

    /// Makes the edit on a copy.
    ///
    /// # Errors
    /// [`EditError`] if it cannot be made without changing anything else.
    pub fn edit(&self, edit: &Edit<'_>) -> Result<EditOutcome, EditError> {
        let mut refused = None;
        for spacing in [spacing::Spacing::AsFound, spacing::Spacing::Wide] {
            let plan = self.plan(edit, spacing)?;
            match self.carry_out(plan) {
                Ok(edited) => return Ok(edited),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or(EditError::Escapes(Escape::Structure)))
    }

    fn carry_out(&self, plan: plan::Plan) -> Result<EditOutcome, EditError> {
        let changes = Changes::new(plan.changes).ok_or(EditError::Escapes(Escape::Structure))?;
        let bytes = changes
            .apply(self.bytes)
            .ok_or(EditError::Escapes(Escape::Structure))?;
        let document = Source::new(&bytes).parse_after(&self.source, self.document, &changes);
        let lineage = self.verify(&plan.expected, &plan.free, &bytes, &document)?;
        Ok(EditOutcome {
            changes,
            bytes,
            document,
            lineage,
            focus: plan.focus,
        })
    }

    fn top(&self, section: usize) -> Result<&TopSection, EditError> {
        self.tops.get(section).ok_or(EditError::NoSuchSection)
    }

    /// Returns the fingerprints of the sections in `range`, for alignment with the ones that replace them.
    fn fingerprints(&self, range: std::ops::Range<usize>) -> Vec<align::Fingerprint> {
        let mut all = align::fingerprints(self.bytes, self.document);
        all.drain(range).collect()
    }
}

fn tops(document: &Document) -> Vec<TopSection> {
    let mut position_of = std::collections::HashMap::new();
    let mut tops: Vec<TopSection> = Vec::new();
    for (index, section, extent) in document.top_level() {
        position_of.insert(index, tops.len());
        tops.push(TopSection {
            level: section.level,
            heading: section.heading,
            own_body: extent.own_body,
            subtree: extent.subtree,
            subtree_end: 0,
            parent: extent
                .parent
                .and_then(|parent| position_of.get(&parent).copied()),
        });
    }
    let starts: Vec<usize> = tops.iter().map(|top| top.heading.start).collect();
    for top in &mut tops {
        top.subtree_end = starts.partition_point(|start| *start < top.subtree.end);
    }
    tops
}

#[cfg(test)]
mod tests;
