//! Plans an edit: the replacements to make and the tree that must result.

use std::ops::Range;

use super::{
    Edit, EditError, EditScope, EditableDocument, Escape, PayloadHeadings, SectionPlacement,
    TopSection, content_span, heading,
    payload::{Payload, open_end, relevel, shifted_level},
    placement::{self, ResolvedPlacement},
    spacing::{
        Spacing, ends_with_blank_line, ends_with_line_end, lead, with_line_ends,
        without_trailing_blank_lines,
    },
};
use crate::{Change, Changes, Source, Span};

/// A planned edit.
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    /// The sections that must result.
    pub(super) expected: Vec<ExpectedSection>,
    /// Old positions of the sections that may get a different parent, because that was requested.
    pub(super) free: Range<usize>,
    pub(super) focus: Option<usize>,
}

/// The required state of a section afterwards.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExpectedSection {
    /// Unchanged.
    Kept(usize),
    /// Unchanged except for its own body.
    OwnBody(usize),
    /// Unchanged except for its heading, which has this level.
    Heading(usize, u8),
    /// At the same position with the same level, whatever its text is.
    SamePlace(usize),
    /// New, with this level.
    New(u8),
    /// One of the sections that replace these old ones; alignment decides which is which.
    OneOf { old: (usize, usize), level: u8 },
}

impl EditableDocument<'_> {
    pub(super) fn plan(&self, edit: &Edit<'_>, spacing: Spacing) -> Result<Plan, EditError> {
        match *edit {
            Edit::Insert {
                place,
                level,
                heading,
                body,
                headings,
            } => {
                let spot = placement::find(&self.tops, place, level)?;
                let line = heading::write(spot.level, heading)?;
                let body = Payload::body(body, spot.level, headings, self.line_end, false)?;
                let mut text = line;
                if !body.text.is_empty() {
                    text += &self.line_end.repeat(2);
                    text += &body.text;
                }
                let levels: Vec<u8> = std::iter::once(spot.level).chain(body.levels).collect();
                Ok(self.insertion(spot, &text, &levels))
            }
            Edit::Graft {
                place,
                level,
                subtree,
            } => {
                let spot = placement::find(&self.tops, place, level)?;
                let payload = Payload::subtree(subtree, spot.level, self.line_end)?;
                Ok(self.insertion(spot, &payload.text, &payload.levels))
            }
            Edit::ReplaceBody {
                section,
                body,
                headings,
            } => {
                let top = *self.top(section)?;
                self.replacement(section, top.own_body, section + 1, body, headings, spacing)
            }
            Edit::ReplaceSubtree {
                section,
                body,
                headings,
            } => {
                let top = *self.top(section)?;
                let below = Span::new(top.heading.end, top.subtree.end);
                self.replacement(section, below, top.subtree_end, body, headings, spacing)
            }
            Edit::Delete { section } => self.deletion(section),
            Edit::Move {
                section,
                place,
                level,
            } => self.relocation(section, place, level),
            Edit::Rename { section, heading } => {
                let top = *self.top(section)?;
                let changes = heading::with_text(self.bytes, top.heading, top.level, heading)?;
                let mut expected = self.all_kept();
                expected[section] = ExpectedSection::Heading(section, top.level);
                Ok(Plan {
                    changes,
                    expected,
                    free: 0..0,
                    focus: Some(section),
                })
            }
            Edit::SetLevel { section, level } => self.level_change(section, level),
            Edit::ReplaceText {
                within,
                old,
                new,
                expected,
            } => self.text_change(within, old, new, expected),
            Edit::InsertText {
                place,
                text,
                headings,
            } => self.text_insertion(place, text, headings, spacing),
            Edit::FrontMatter(ref changes) => Ok(Plan {
                changes: changes.iter().cloned().collect(),
                expected: self.all_kept(),
                free: 0..0,
                focus: None,
            }),
            Edit::WithinLines(ref changes) => self.change_within_lines(changes),
        }
    }

    fn all_kept(&self) -> Vec<ExpectedSection> {
        (0..self.tops.len()).map(ExpectedSection::Kept).collect()
    }

    /// Returns the start of the section at `position`, or the end of the document.
    fn offset_of(&self, position: usize) -> usize {
        self.tops
            .get(position)
            .map_or(self.bytes.len(), |top| top.heading.start)
    }

    /// Adds the separators that `text`, a heading with its content, needs at `offset`.
    fn fitted(&self, text: &str, offset: usize, at_end: bool) -> String {
        let before = &self.bytes[self.bytes.len().min(self.bom_end())..offset];
        let mut fitted = lead(before, self.line_end);
        fitted += text;
        if !at_end {
            fitted += &self.line_end.repeat(2);
        } else if before.is_empty() || ends_with_line_end(self.bytes) {
            fitted += self.line_end;
        }
        fitted
    }

    pub(super) fn bom_end(&self) -> usize {
        if self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        }
    }

    fn insertion(&self, spot: ResolvedPlacement, text: &str, levels: &[u8]) -> Plan {
        let offset = self.offset_of(spot.position);
        let at_end = spot.position == self.tops.len();
        let mut expected = self.all_kept();
        let new = levels.iter().map(|level| ExpectedSection::New(*level));
        expected.splice(spot.position..spot.position, new);
        Plan {
            changes: vec![Change::new(
                Span::new(offset, offset),
                self.fitted(text, offset, at_end),
            )],
            expected,
            free: 0..0,
            focus: Some(spot.position),
        }
    }

    /// Plans new text for `region`, which starts after the heading of `section` and ends at the section at `next`.
    fn replacement(
        &self,
        section: usize,
        region: Span,
        next: usize,
        body: &str,
        headings: PayloadHeadings,
        spacing: Spacing,
    ) -> Result<Plan, EditError> {
        let level = self.top(section)?.level;
        let old = content_span(self.bytes, region);
        let old_text = &self.text[old.range()];
        let given = &body[content_span(body.as_bytes(), Span::new(0, body.len())).range()];
        let same_text = given == old_text
            || with_line_ends(given, self.line_end) == with_line_ends(old_text, self.line_end);
        if same_text {
            return Ok(Plan {
                changes: Vec::new(),
                expected: self.all_kept(),
                free: 0..0,
                focus: Some(section),
            });
        }
        // A construct that was already open at the end of the document may stay open.
        let may_stay_open = next == self.tops.len() && open_end(old_text).is_some();
        let payload = Payload::body(body, level, headings, self.line_end, may_stay_open)?;
        let change = self.fitted_body(region, old, &payload.text, next, spacing);
        let window = (section + 1, next);
        let mut expected: Vec<ExpectedSection> = (0..section).map(ExpectedSection::Kept).collect();
        expected.push(ExpectedSection::OwnBody(section));
        expected.extend(payload.levels.iter().map(|level| {
            if window.0 == window.1 {
                ExpectedSection::New(*level)
            } else {
                ExpectedSection::OneOf {
                    old: window,
                    level: *level,
                }
            }
        }));
        expected.extend((next..self.tops.len()).map(ExpectedSection::Kept));
        Ok(Plan {
            changes: vec![change],
            expected,
            free: section + 1..next,
            focus: Some(section),
        })
    }

    /// Returns the replacement of a body, with the separators it needs.
    fn fitted_body(
        &self,
        region: Span,
        old: Span,
        text: &str,
        next: usize,
        spacing: Spacing,
    ) -> Change {
        let at_end = next == self.tops.len();
        if !old.is_empty() && !text.is_empty() {
            let wide = spacing == Spacing::Wide
                && !at_end
                && !ends_with_blank_line(region.slice(self.bytes));
            let behind = if wide { self.line_end } else { "" };
            return Change::new(old, format!("{text}{behind}"));
        }
        let ended = ends_with_line_end(&self.bytes[..region.start]);
        let mut fitted = String::new();
        if !text.is_empty() {
            fitted += &self.line_end.repeat(if ended { 1 } else { 2 });
            fitted += text;
            if !at_end || ends_with_line_end(self.bytes) {
                fitted += self.line_end;
            }
        }
        if !at_end {
            fitted += self.line_end;
        }
        Change::new(region, fitted)
    }

    fn deletion(&self, section: usize) -> Result<Plan, EditError> {
        let top = *self.top(section)?;
        let mut expected: Vec<ExpectedSection> = (0..section).map(ExpectedSection::Kept).collect();
        expected.extend((top.subtree_end..self.tops.len()).map(ExpectedSection::Kept));
        Ok(Plan {
            changes: vec![Change::new(self.removed(&top), Vec::new())],
            expected,
            free: 0..0,
            focus: None,
        })
    }

    /// Returns the span to delete for a subtree; at the end of a document it includes the blank lines before it.
    fn removed(&self, top: &TopSection) -> Span {
        if top.subtree.end < self.bytes.len() {
            return top.subtree;
        }
        let kept = without_trailing_blank_lines(self.bytes, top.subtree.start);
        Span::new(
            kept.max(self.source.body_start).min(top.subtree.start),
            top.subtree.end,
        )
    }

    fn relocation(
        &self,
        section: usize,
        place: SectionPlacement,
        level: Option<u8>,
    ) -> Result<Plan, EditError> {
        let top = *self.top(section)?;
        let moved = section..top.subtree_end;
        let rest = self.without(&moved);
        let spot = placement::find(&rest, self.place_among_the_rest(place, &moved)?, level)?;
        if spot.position == section {
            // It is already there. A bare position then implies nothing about the level.
            let level = match place {
                SectionPlacement::Position(_) => level.unwrap_or(top.level),
                _ => spot.level,
            };
            return self.level_change(section, level);
        }
        let shift = i16::from(spot.level) - i16::from(top.level);
        let subtree = &self.tops[moved.clone()];
        let text = self.cut_out(&top, subtree, shift)?;
        // Position in the document before the move.
        let target = if spot.position < section {
            spot.position
        } else {
            spot.position + moved.len()
        };
        let offset = self.offset_of(target);
        let at_end = target == self.tops.len();
        let mut order: Vec<usize> = (0..self.tops.len())
            .filter(|position| !moved.contains(position))
            .collect();
        order.splice(spot.position..spot.position, moved.clone());
        let expected = order
            .into_iter()
            .map(|position| {
                if moved.contains(&position) && shift != 0 {
                    Ok(ExpectedSection::Heading(
                        position,
                        shifted_level(self.tops[position].level, shift)?,
                    ))
                } else {
                    Ok(ExpectedSection::Kept(position))
                }
            })
            .collect::<Result<Vec<_>, EditError>>()?;
        Ok(Plan {
            changes: vec![
                Change::new(self.removed(&top), Vec::new()),
                Change::new(
                    Span::new(offset, offset),
                    self.fitted_move(&text, offset, at_end),
                ),
            ],
            expected,
            free: section..section + 1,
            focus: Some(spot.position),
        })
    }

    /// Returns the sections other than those of `moved`, as if those did not exist.
    fn without(&self, moved: &Range<usize>) -> Vec<TopSection> {
        let renumbered = |position: usize| {
            if position >= moved.end {
                position - moved.len()
            } else {
                position
            }
        };
        let kept = self
            .tops
            .iter()
            .enumerate()
            .filter(|(position, _)| !moved.contains(position));
        kept.map(|(_, top)| TopSection {
            subtree_end: renumbered(top.subtree_end.min(self.tops.len())),
            parent: top.parent.map(renumbered),
            ..*top
        })
        .collect()
    }

    /// Translates a place that names sections into the list without the moved ones.
    fn place_among_the_rest(
        &self,
        place: SectionPlacement,
        moved: &Range<usize>,
    ) -> Result<SectionPlacement, EditError> {
        let rest = self.tops.len() - moved.len();
        let other = |anchor: usize| {
            self.top(anchor)?;
            if moved.contains(&anchor) {
                Err(EditError::IntoItself)
            } else if anchor >= moved.end {
                Ok(anchor - moved.len())
            } else {
                Ok(anchor)
            }
        };
        Ok(match place {
            SectionPlacement::Position(position) if position > rest => {
                return Err(EditError::PositionOutOfRange { max: rest });
            }
            SectionPlacement::Position(position) => SectionPlacement::Position(position),
            SectionPlacement::Before(anchor) => SectionPlacement::Before(other(anchor)?),
            SectionPlacement::After(anchor) => SectionPlacement::After(other(anchor)?),
            SectionPlacement::FirstChild(anchor) => SectionPlacement::FirstChild(other(anchor)?),
            SectionPlacement::LastChild(anchor) => SectionPlacement::LastChild(other(anchor)?),
        })
    }

    /// Returns the text of a subtree, with its levels shifted.
    fn cut_out(
        &self,
        top: &TopSection,
        subtree: &[TopSection],
        shift: i16,
    ) -> Result<String, EditError> {
        let mut changes = relevel(self.bytes, subtree, shift)?;
        for change in &mut changes {
            change.span = Span::new(
                change.span.start - top.subtree.start,
                change.span.end - top.subtree.start,
            );
        }
        let bytes = Changes::new(changes)
            .and_then(|changes| changes.apply(top.subtree.slice(self.bytes)))
            .ok_or(EditError::HeadingCannotBeWritten)?;
        String::from_utf8(bytes).map_err(|_| EditError::NotUtf8)
    }

    /// Adds the separators that a moved section needs. It keeps the blank lines after it, unless it is now at the end.
    fn fitted_move(&self, text: &str, offset: usize, at_end: bool) -> String {
        if !at_end && ends_with_blank_line(text.as_bytes()) {
            let before = &self.bytes[self.bom_end().min(offset)..offset];
            return lead(before, self.line_end) + text;
        }
        let content = content_span(text.as_bytes(), Span::new(0, text.len()));
        self.fitted(&text[..content.end], offset, at_end)
    }

    fn level_change(&self, section: usize, level: u8) -> Result<Plan, EditError> {
        let top = *self.top(section)?;
        let shift = i16::from(level) - i16::from(top.level);
        let subtree = section..top.subtree_end;
        let changes = relevel(self.bytes, &self.tops[subtree.clone()], shift)?;
        let mut expected = self.all_kept();
        if shift != 0 {
            for position in subtree {
                let level = shifted_level(self.tops[position].level, shift)?;
                expected[position] = ExpectedSection::Heading(position, level);
            }
        }
        Ok(Plan {
            changes,
            expected,
            free: section..section + 1,
            focus: Some(section),
        })
    }

    fn change_within_lines(&self, changes: &Changes) -> Result<Plan, EditError> {
        let stays = changes.iter().all(|change| {
            let mut bytes = change.span.slice(self.bytes).iter().chain(&change.text);
            change.span.start >= self.source.body_start
                && bytes.all(|byte| !matches!(byte, b'\n' | b'\r'))
        });
        if !stays {
            return Err(EditError::Escapes(Escape::Structure));
        }
        Ok(Plan {
            changes: changes.iter().cloned().collect(),
            expected: (0..self.tops.len())
                .map(ExpectedSection::SamePlace)
                .collect(),
            free: 0..0,
            focus: None,
        })
    }

    fn text_change(
        &self,
        within: EditScope,
        old: &str,
        new: &str,
        expected: usize,
    ) -> Result<Plan, EditError> {
        if old.is_empty() {
            return Err(EditError::EmptyOldText);
        }
        let (region, window, focus) = match within {
            EditScope::Document => (
                Span::new(self.source.body_start, self.bytes.len()),
                0..self.tops.len(),
                None,
            ),
            EditScope::Body(section) => (
                self.top(section)?.own_body,
                section + 1..section + 1,
                Some(section),
            ),
            EditScope::Subtree(section) => {
                let top = self.top(section)?;
                let below = Span::new(top.heading.end, top.subtree.end);
                (below, section + 1..top.subtree_end, Some(section))
            }
        };
        let haystack = &self.text[region.range()];
        let mut needle = old.to_owned();
        if !haystack.contains(old) {
            needle = with_line_ends(old, self.line_end);
        }
        let found: Vec<usize> = haystack.match_indices(&needle).map(|(at, _)| at).collect();
        if found.len() != expected || found.is_empty() {
            return Err(EditError::TextCount {
                found: found.len(),
                expected,
            });
        }
        let new = with_line_ends(new, self.line_end);
        let changes: Vec<Change> = found
            .iter()
            .map(|at| {
                let start = region.start + at;
                Change::new(Span::new(start, start + needle.len()), new.clone())
            })
            .filter(|change| change.span.slice(self.bytes) != change.text)
            .collect();
        self.text_change_plan(region, changes, window, focus)
    }

    /// Plans the tree after replacements inside `region`, whose sections are those of `window`.
    fn text_change_plan(
        &self,
        region: Span,
        changes: Vec<Change>,
        window: Range<usize>,
        focus: Option<usize>,
    ) -> Result<Plan, EditError> {
        let inside = changes.iter().map(|change| {
            let span = Span::new(
                change.span.start - region.start,
                change.span.end - region.start,
            );
            Change::new(span, change.text.clone())
        });
        let text = Changes::new(inside)
            .and_then(|inside| inside.apply(region.slice(self.bytes)))
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or(EditError::NotUtf8)?;
        let section_level = focus.map_or(0, |section| self.tops[section].level);
        let at_end = window.end == self.tops.len();
        let was_open = at_end && open_end(&self.text[region.range()]).is_some();
        let headings = match focus {
            Some(_) => PayloadHeadings::Inside,
            None => PayloadHeadings::AsWritten,
        };
        Payload::body(
            &text,
            section_level,
            headings,
            self.line_end,
            at_end && was_open,
        )?;
        let levels: Vec<u8> = super::tops(&Source::fragment(&text).parse())
            .iter()
            .map(|top| top.level)
            .collect();
        let mut expected: Vec<ExpectedSection> =
            (0..window.start).map(ExpectedSection::Kept).collect();
        if let Some(section) = focus {
            expected[section] = ExpectedSection::OwnBody(section);
        }
        let old = (window.start, window.end);
        expected.extend(
            levels
                .iter()
                .map(|level| ExpectedSection::OneOf { old, level: *level }),
        );
        expected.extend((window.end..self.tops.len()).map(ExpectedSection::Kept));
        Ok(Plan {
            changes,
            expected,
            free: window,
            focus,
        })
    }
}
