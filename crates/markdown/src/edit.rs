//! Edits of sections: what is asked for in, replacements of bytes out.
//!
//! An edit is planned on a document and its text, then made on a copy, then checked: the new tree must be the old tree
//! with just the intended change, or the edit is refused with the reason. The parser is the judge, so that an open
//! fence, a comment or an underline in somebody's payload can never swallow the section that follows.

mod error;
pub(crate) mod heading;
mod payload;
mod place;
mod plan;
mod spacing;
mod verify;

pub use self::{
    error::{EditError, Escape},
    payload::PayloadHeadings,
    place::Place,
    spacing::content_span,
};

use std::borrow::Cow;

use crate::{Changes, Document, Source, Span, align, lines::dominant_line_end};

/// What an edit shall do. A section is named by its position: its index among the sections of top-level headings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// A new section.
    Insert {
        /// Where.
        place: Place,
        /// 1 to 6, or the level that the place suggests.
        level: Option<u8>,
        /// Its heading, in one line.
        heading: &'a str,
        /// Its text, without the heading. May hold subsections.
        body: &'a str,
        /// What to do with headings in the text.
        headings: PayloadHeadings,
    },
    /// A section with all that is below it, taken from another document.
    Graft {
        /// Where.
        place: Place,
        /// The level of its first heading, or the level that the place suggests.
        level: Option<u8>,
        /// Its bytes, from its heading on.
        subtree: &'a str,
    },
    /// Another text between a heading and the next one.
    ReplaceBody {
        /// Which section.
        section: usize,
        /// The text.
        body: &'a str,
        /// What to do with headings in the text.
        headings: PayloadHeadings,
    },
    /// Another text, subsections included, behind a heading.
    ReplaceSubtree {
        /// Which section.
        section: usize,
        /// The text.
        body: &'a str,
        /// What to do with headings in the text.
        headings: PayloadHeadings,
    },
    /// The section and all that is below it goes.
    Delete {
        /// Which section.
        section: usize,
    },
    /// The section and all that is below it stands elsewhere.
    Move {
        /// Which section.
        section: usize,
        /// Where. A position is the index that the heading has afterwards.
        place: Place,
        /// Its level there, or the level that the place suggests.
        level: Option<u8>,
    },
    /// Another heading.
    Rename {
        /// Which section.
        section: usize,
        /// The heading, in one line.
        heading: &'a str,
    },
    /// Another level for the section; what is below it follows.
    SetLevel {
        /// Which section.
        section: usize,
        /// 1 to 6.
        level: u8,
    },
    /// Other words for the same passage.
    ReplaceText {
        /// Which part of the document.
        within: Within,
        /// What is there.
        old: &'a str,
        /// What shall be there.
        new: &'a str,
        /// How often `old` must occur.
        expected: usize,
    },
    /// Replacements in the front matter, already planned and checked.
    FrontMatter(Changes),
    /// Replacements that stay inside lines of the Markdown, such as other spellings of links. Texts and headings may
    /// change, the tree may not.
    WithinLines(Changes),
}

/// A part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Everything.
    Document,
    /// What stands between the heading of this section and the next one.
    Body(usize),
    /// What stands behind the heading of this section, subsections included.
    Subtree(usize),
}

/// What an edit makes of a document.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The replacements.
    pub changes: Changes,
    /// The document afterwards.
    pub bytes: Vec<u8>,
    /// Its sections.
    pub document: Document,
    /// For each section afterwards, by position: which one it was, or `None` for a new one.
    pub lineage: Vec<Option<usize>>,
    /// The position afterwards of the section that the edit is about.
    pub focus: Option<usize>,
}

/// A document that can be edited.
#[derive(Debug)]
pub struct Editable<'a> {
    bytes: &'a [u8],
    text: &'a str,
    source: Source<'a>,
    document: &'a Document,
    tops: Vec<Top>,
    line_end: &'static str,
}

/// A section of a top-level heading, in terms of positions.
#[derive(Clone, Copy, Debug)]
struct Top {
    level: u8,
    heading: Span,
    own_body: Span,
    subtree: Span,
    /// Position after the last section of the subtree.
    subtree_end: usize,
    parent: Option<usize>,
}

impl<'a> Editable<'a> {
    /// The document `bytes`, whose sections are `document`.
    ///
    /// # Errors
    /// [`EditError::NotUtf8`] when it is not UTF-8.
    pub fn new(bytes: &'a [u8], document: &'a Document) -> Result<Self, EditError> {
        let source = Source::new(bytes);
        let text = match source.text {
            Cow::Borrowed(text) => text,
            // It has zeros, or is no text.
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
    /// [`EditError`] says why it cannot be made without changing something else.
    pub fn edit(&self, edit: &Edit<'_>) -> Result<Edited, EditError> {
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

    fn carry_out(&self, plan: plan::Plan) -> Result<Edited, EditError> {
        let changes = Changes::new(plan.changes).ok_or(EditError::Escapes(Escape::Structure))?;
        let bytes = changes
            .apply(self.bytes)
            .ok_or(EditError::Escapes(Escape::Structure))?;
        let document = Source::new(&bytes).parse_after(&self.source, self.document, &changes);
        let lineage = self.verify(&plan.expected, &plan.free, &bytes, &document)?;
        Ok(Edited {
            changes,
            bytes,
            document,
            lineage,
            focus: plan.focus,
        })
    }

    fn top(&self, section: usize) -> Result<&Top, EditError> {
        self.tops.get(section).ok_or(EditError::NoSuchSection)
    }

    /// The sections below `section`, by fingerprint, for alignment with what replaces them.
    fn fingerprints(&self, range: std::ops::Range<usize>) -> Vec<align::Fingerprint> {
        let mut all = align::fingerprints(self.bytes, self.document);
        all.drain(range).collect()
    }
}

fn tops(document: &Document) -> Vec<Top> {
    let mut position_of = std::collections::HashMap::new();
    let mut tops: Vec<Top> = Vec::new();
    for (index, section, extent) in document.top_level() {
        position_of.insert(index, tops.len());
        tops.push(Top {
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
