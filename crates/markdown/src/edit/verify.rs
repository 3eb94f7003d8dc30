//! Verification after every edit: the new tree is the old tree with only the intended change.

use std::ops::Range;

use super::{EditError, EditableDocument, Escape, content_span, plan::ExpectedSection, tops};
use crate::{Document, Span, align};

impl EditableDocument<'_> {
    /// Compares the sections of the edited document with the expected ones, and returns the old position of each.
    pub(super) fn verify(
        &self,
        expected: &[ExpectedSection],
        free: &Range<usize>,
        bytes: &[u8],
        document: &Document,
    ) -> Result<Vec<Option<usize>>, EditError> {
        let now = tops(document);
        let changed = EditError::Escapes(Escape::Structure);
        if now.len() != expected.len() {
            return Err(changed);
        }
        let mut lineage = Vec::with_capacity(now.len());
        for (expected, top) in expected.iter().zip(&now) {
            let (origin, level) = match *expected {
                ExpectedSection::Kept(old)
                | ExpectedSection::OwnBody(old)
                | ExpectedSection::SamePlace(old) => (Some(old), self.tops[old].level),
                ExpectedSection::Heading(old, level) => (Some(old), level),
                ExpectedSection::New(level) | ExpectedSection::OneOf { level, .. } => (None, level),
            };
            if top.level != level {
                return Err(changed);
            }
            let same = |was: Span, is: Span| was.slice(self.bytes) == is.slice(bytes);
            let same_content =
                |was: Span, is: Span| same(content_span(self.bytes, was), content_span(bytes, is));
            let holds = match *expected {
                ExpectedSection::Kept(old) => {
                    same_content(self.tops[old].heading, top.heading)
                        && same_content(self.tops[old].own_body, top.own_body)
                }
                ExpectedSection::OwnBody(old) => same_content(self.tops[old].heading, top.heading),
                ExpectedSection::Heading(old, _) => {
                    same_content(self.tops[old].own_body, top.own_body)
                }
                ExpectedSection::SamePlace(_)
                | ExpectedSection::New(_)
                | ExpectedSection::OneOf { .. } => true,
            };
            if !holds {
                return Err(changed);
            }
            lineage.push(origin);
        }
        self.compare_window(expected, bytes, document, &mut lineage);
        self.same_parents(free, &now, &lineage)?;
        Ok(lineage)
    }

    /// Matches the sections in a replaced window with the old ones.
    fn compare_window(
        &self,
        expected: &[ExpectedSection],
        bytes: &[u8],
        document: &Document,
        lineage: &mut [Option<usize>],
    ) {
        let is_open =
            |expected: &ExpectedSection| matches!(expected, ExpectedSection::OneOf { .. });
        let Some(start) = expected.iter().position(is_open) else {
            return;
        };
        let end = start
            + expected[start..]
                .iter()
                .take_while(|one| is_open(one))
                .count();
        let ExpectedSection::OneOf {
            old: (from, to), ..
        } = expected[start]
        else {
            return;
        };
        let old = self.fingerprints(from..to);
        let new: Vec<_> = align::fingerprints(bytes, document)
            .drain(start..end)
            .collect();
        for (slot, origin) in lineage[start..end].iter_mut().zip(align::align(&old, &new)) {
            *slot = origin.map(|index| from + index);
        }
    }

    /// Checks that no section gets a different parent, except those that the edit is about.
    fn same_parents(
        &self,
        free: &Range<usize>,
        now: &[super::TopSection],
        lineage: &[Option<usize>],
    ) -> Result<(), EditError> {
        for (position, top) in now.iter().enumerate() {
            let Some(old) = lineage[position] else {
                continue;
            };
            if free.contains(&old) {
                continue;
            }
            let parent_now = top.parent.map(|parent| lineage[parent]);
            let same = match (self.tops[old].parent, parent_now) {
                (None, None) => true,
                (Some(was), Some(Some(is))) => was == is,
                _ => false,
            };
            if !same {
                return Err(EditError::Reparents { section: old });
            }
        }
        Ok(())
    }
}
