//! Which heading of the page is which section of the note.

use super::PageTargets;
use crate::{Section, section_anchor};

/// The sections of a note, in order, while its headings are written.
///
/// The page and the section model are parsed with different extensions, so either may know a heading that the other does
/// not. Where the model has one and the page has not, an empty element before the next block has its id.
pub(super) struct SectionIds<'a> {
    sections: &'a [Section],
    targets: &'a dyn PageTargets,
    /// Index of the first section that has not been met.
    next: usize,
    /// Sections that were passed by without a heading.
    missed: Vec<usize>,
}

impl<'a> SectionIds<'a> {
    pub(super) fn new(sections: &'a [Section], targets: &'a dyn PageTargets) -> Self {
        Self {
            sections,
            targets,
            next: 0,
            missed: Vec::new(),
        }
    }

    /// Returns the anchor of the heading at `offset` of the bytes.
    pub(super) fn heading(&mut self, offset: usize) -> Option<String> {
        self.pass(offset);
        let section = self.sections.get(self.next)?;
        if section.heading.start > offset {
            return None;
        }
        self.next += 1;
        self.anchor(self.next - 1)
    }

    /// Returns the anchors of the sections before `offset` whose headings are not on the page.
    pub(super) fn missed_before(&mut self, offset: usize) -> Vec<String> {
        self.pass(offset);
        let missed = std::mem::take(&mut self.missed);
        missed
            .into_iter()
            .filter_map(|index| self.anchor(index))
            .collect()
    }

    fn pass(&mut self, offset: usize) {
        while let Some(section) = self.sections.get(self.next)
            && section.heading.end <= offset
        {
            self.missed.push(self.next);
            self.next += 1;
        }
    }

    fn anchor(&self, index: usize) -> Option<String> {
        let id = self.targets.section_id(index)?;
        let is_valid =
            !id.is_empty() && !id.contains(|c: char| c.is_whitespace() || c.is_control());
        is_valid.then(|| section_anchor(id))
    }
}
