//! Text that is added to a document without replacing any.

use super::{
    EditError, EditScope, EditableDocument, Escape, PayloadHeadings, content_span,
    payload::{Payload, open_end},
    plan::{ExpectedSection, Plan},
    spacing::{Spacing, ends_with_blank_line, ends_with_line_end, is_blank, lead},
};
use crate::{Change, Span};

/// A place for text in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPlacement {
    /// At the start of this part, below the heading or the front matter.
    Start(EditScope),
    /// At the end of this part.
    End(EditScope),
    /// Before the heading of the section at this position.
    Before(usize),
    /// After the section at this position and everything below it.
    After(usize),
}

/// A place for text, as bytes.
struct TextSpot {
    /// The part of the document at whose start or end the text goes.
    region: Span,
    is_start: bool,
    /// Headings in the text must be deeper than this.
    level: u8,
    focus: Option<usize>,
}

impl EditableDocument<'_> {
    /// Plans the insertion of `text`. Existing bytes stay as they are; blank lines are added as needed.
    pub(super) fn text_insertion(
        &self,
        place: TextPlacement,
        text: &str,
        headings: PayloadHeadings,
        spacing: Spacing,
    ) -> Result<Plan, EditError> {
        let TextSpot {
            region,
            is_start,
            level,
            focus,
        } = self.text_spot(place)?;
        let payload = Payload::body(text, level, headings, self.line_end, false)?;
        let content = content_span(self.bytes, region);
        let there = &self.text[content.range()];
        let (offset, changes) = if payload.text.is_empty() {
            (region.start, Vec::new())
        } else if content.is_empty() {
            (region.start, vec![self.in_empty(region, &payload.text)])
        } else if is_start {
            let behind = self.separator(&payload.text, there);
            let change = Change::new(
                Span::new(content.start, content.start),
                format!("{}{behind}", payload.text),
            );
            (content.start, vec![change])
        } else {
            let at_end = region.end == self.bytes.len();
            if at_end && let Some(escape) = open_end(there) {
                return Err(EditError::Escapes(escape));
            }
            let before = self.separator(there, &payload.text);
            let is_tight = !at_end && !ends_with_blank_line(region.slice(self.bytes));
            let behind = if is_tight && spacing == Spacing::Wide {
                self.line_end
            } else {
                ""
            };
            let change = Change::new(
                Span::new(content.end, content.end),
                format!("{before}{}{behind}", payload.text),
            );
            (content.end, vec![change])
        };
        let is_top = offset == self.text_start() && self.source.body_start <= self.text_start();
        if is_top && payload.text.starts_with("---") {
            // It could be read as front matter.
            return Err(EditError::Escapes(Escape::Structure));
        }
        let position = self.tops.partition_point(|top| top.heading.start < offset);
        let mut expected: Vec<ExpectedSection> =
            (0..self.tops.len()).map(ExpectedSection::Kept).collect();
        if let Some(above) = position.checked_sub(1) {
            expected[above] = ExpectedSection::OwnBody(above);
        }
        let new = payload.levels.iter().copied().map(ExpectedSection::New);
        expected.splice(position..position, new);
        Ok(Plan {
            changes,
            expected,
            free: 0..0,
            focus,
        })
    }

    fn text_spot(&self, place: TextPlacement) -> Result<TextSpot, EditError> {
        let start = self.text_start().max(self.source.body_start);
        let whole = Span::new(start, self.bytes.len());
        let (scope, is_start) = match place {
            TextPlacement::Start(scope) => (scope, true),
            TextPlacement::End(scope) => (scope, false),
            TextPlacement::Before(section) | TextPlacement::After(section) => {
                let top = self.top(section)?;
                let end = match place {
                    TextPlacement::Before(_) => top.heading.start,
                    _ => top.subtree.end,
                };
                return Ok(TextSpot {
                    region: Span::new(start, end),
                    is_start: false,
                    level: top.level - 1,
                    focus: Some(section),
                });
            }
        };
        let (region, section) = match scope {
            EditScope::Document => (whole, None),
            EditScope::Body(section) => (self.top(section)?.own_body, Some(section)),
            EditScope::Subtree(section) => {
                let top = self.top(section)?;
                let below = Span::new(top.heading.end, top.subtree.end);
                (below, Some(section))
            }
        };
        Ok(TextSpot {
            region,
            is_start,
            level: section.map_or(Ok(0), |section| Ok(self.top(section)?.level))?,
            focus: section,
        })
    }

    /// Returns the offset of the first byte that is text.
    fn text_start(&self) -> usize {
        if self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        }
    }

    /// Puts `text` into `region`, which has only blank lines.
    fn in_empty(&self, region: Span, text: &str) -> Change {
        let before = &self.bytes[self.text_start()..region.start];
        let at_end = region.end == self.bytes.len();
        let mut fitted = lead(before, self.line_end);
        fitted += text;
        if !at_end {
            fitted += &self.line_end.repeat(2);
        } else if before.is_empty() || ends_with_line_end(self.bytes) {
            fitted += self.line_end;
        }
        Change::new(region, fitted)
    }

    /// Returns what goes between two texts: a blank line, or only a line ending if the second continues a list of the
    /// first that has no blank lines between its items.
    fn separator(&self, above: &str, below: &str) -> String {
        let lines = if continues_list(above, below) { 1 } else { 2 };
        self.line_end.repeat(lines)
    }
}

/// Returns whether `below` starts with an item of the list that `above` ends with, and that list is tight.
fn continues_list(above: &str, below: &str) -> bool {
    let Some(wanted) = below.lines().next().and_then(list_marker) else {
        return false;
    };
    let mut lines = above.lines().rev();
    while let Some(line) = lines.next() {
        if is_blank(line.as_bytes()) {
            return false;
        }
        if let Some(marker) = list_marker(line) {
            // A blank line between two items makes all of the list loose.
            let is_loose = lines.next().is_some_and(|line| is_blank(line.as_bytes()))
                && lines.next().is_some_and(|line| is_in_list(line));
            return marker == wanted && !is_loose;
        }
        if !is_in_list(line) {
            return false;
        }
    }
    false
}

/// Returns whether a line is an item of a list, or indented enough to be inside one.
fn is_in_list(line: &str) -> bool {
    line.starts_with("  ") || line.starts_with('\t') || list_marker(line).is_some()
}

/// Returns the character by which the items of a list are recognized, if `line` is an item that is not indented.
fn list_marker(line: &str) -> Option<char> {
    let bare = line.trim_end();
    let is_break = bare.len() > 2 && bare.chars().all(|c| matches!(c, '-' | '*' | '_' | ' '));
    if is_break {
        return None;
    }
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = bare[digits..].chars();
    let marker = rest.next()?;
    let is_marker = match digits {
        0 => matches!(marker, '-' | '*' | '+'),
        1..=9 => matches!(marker, '.' | ')'),
        _ => false,
    };
    (is_marker && matches!(rest.next(), None | Some(' ' | '\t'))).then_some(marker)
}
