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
        let is_top = offset == self.bom_end() && self.source.body_start <= self.bom_end();
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
        let start = self.bom_end().max(self.source.body_start);
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

    /// Puts `text` into `region`, which has only blank lines.
    fn in_empty(&self, region: Span, text: &str) -> Change {
        let before = &self.bytes[self.bom_end()..region.start];
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
                && lines.next().is_some_and(is_in_list);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Source, edit::Edit};

    fn placed(
        text: &str,
        place: TextPlacement,
        new: &str,
        headings: PayloadHeadings,
    ) -> Result<String, EditError> {
        let document = Source::new(text.as_bytes()).parse();
        let editable = EditableDocument::new(text.as_bytes(), &document)?;
        let edited = editable.edit(&Edit::InsertText {
            place,
            text: new,
            headings,
        })?;
        Ok(String::from_utf8(edited.bytes).unwrap())
    }

    fn inside(text: &str, place: TextPlacement, new: &str) -> String {
        placed(text, place, new, PayloadHeadings::Inside).unwrap()
    }

    const WHOLE: EditScope = EditScope::Document;
    const SAMPLE: &str = "# A\n\none\n\n## B\ntwo\n## C\n\n";

    #[test]
    fn text_goes_where_it_belongs_with_blank_lines_around_it() {
        use TextPlacement::{After, Before, End, Start};
        for (place, expected) in [
            (End(WHOLE), "# A\n\none\n\n## B\ntwo\n## C\n\nnew\n\n"),
            (Start(WHOLE), "new\n\n# A\n\none\n\n## B\ntwo\n## C\n\n"),
            (
                End(EditScope::Body(0)),
                "# A\n\none\n\nnew\n\n## B\ntwo\n## C\n\n",
            ),
            (
                Start(EditScope::Body(0)),
                "# A\n\nnew\n\none\n\n## B\ntwo\n## C\n\n",
            ),
            (
                End(EditScope::Subtree(0)),
                "# A\n\none\n\n## B\ntwo\n## C\n\nnew\n\n",
            ),
            (
                End(EditScope::Body(1)),
                "# A\n\none\n\n## B\ntwo\n\nnew\n## C\n\n",
            ),
            (
                End(EditScope::Body(2)),
                "# A\n\none\n\n## B\ntwo\n## C\n\nnew\n",
            ),
            (Before(0), "new\n\n# A\n\none\n\n## B\ntwo\n## C\n\n"),
            (Before(2), "# A\n\none\n\n## B\ntwo\n\nnew\n## C\n\n"),
            (After(1), "# A\n\none\n\n## B\ntwo\n\nnew\n## C\n\n"),
            (After(2), "# A\n\none\n\n## B\ntwo\n## C\n\nnew\n\n"),
        ] {
            assert_eq!(inside(SAMPLE, place, "\n\nnew\n\n"), expected, "{place:?}");
        }
    }

    #[test]
    fn ends_and_starts_of_documents_stay_as_they_are() {
        for (text, place, expected) in [
            ("", TextPlacement::End(WHOLE), "new\n"),
            ("one", TextPlacement::End(WHOLE), "one\n\nnew"),
            ("# A", TextPlacement::End(EditScope::Body(0)), "# A\n\nnew"),
            (
                "\u{feff}one\n",
                TextPlacement::Start(WHOLE),
                "\u{feff}new\n\none\n",
            ),
            (
                "---\na: 1\n---\none\n",
                TextPlacement::Start(WHOLE),
                "---\na: 1\n---\nnew\n\none\n",
            ),
            (
                "---\na: 1\n---\n",
                TextPlacement::End(WHOLE),
                "---\na: 1\n---\n\nnew\n",
            ),
            (
                "one\r\n\r\ntwo\r\n",
                TextPlacement::End(WHOLE),
                "one\r\n\r\ntwo\r\n\r\nnew\r\n",
            ),
            // The underline would take the text with it.
            (
                "one\nB\n===\n",
                TextPlacement::Before(0),
                "new\n\none\nB\n===\n",
            ),
            (
                "# A\none ^id\n",
                TextPlacement::End(WHOLE),
                "# A\none ^id\n\nnew\n",
            ),
        ] {
            assert_eq!(inside(text, place, "new"), expected, "{text:?}");
        }
        let crlf = inside("- a\r\n- b\r\n", TextPlacement::End(WHOLE), "- c\n- d\n");
        assert_eq!(crlf, "- a\r\n- b\r\n- c\r\n- d\r\n");
    }

    #[test]
    fn an_item_continues_a_tight_list_and_nothing_else() {
        for (text, new, expected) in [
            ("- a", "- b", "- a\n- b"),
            ("- [ ] a\n  more", "- [ ] b", "- [ ] a\n  more\n- [ ] b"),
            ("1. a", "2. b", "1. a\n2. b"),
            ("- a\n\n- b", "- c", "- a\n\n- b\n\n- c"),
            ("- a", "* b", "- a\n\n* b"),
            ("- a", "b", "- a\n\nb"),
            ("a", "- b", "a\n\n- b"),
            ("- - -", "- b", "- - -\n\n- b"),
            ("```\n- a\n```", "- b", "```\n- a\n```\n\n- b"),
            ("    - a", "- b", "    - a\n\n- b"),
        ] {
            assert_eq!(inside(text, TextPlacement::End(WHOLE), new), expected);
        }
        assert_eq!(
            inside("- b\n", TextPlacement::Start(WHOLE), "- a"),
            "- a\n- b\n"
        );
    }

    #[test]
    fn headings_in_the_text_are_judged_by_their_place() {
        use PayloadHeadings::{AsWritten, Inside, Rebase};
        let end = TextPlacement::End(EditScope::Body(1));
        let sibling = "## New\n\ntext";
        assert!(matches!(
            placed(SAMPLE, end, sibling, Inside),
            Err(EditError::Escapes(Escape::Heading {
                line: 1,
                level: 2,
                section_level: 2
            }))
        ));
        let expected = "# A\n\none\n\n## B\ntwo\n\n## New\n\ntext\n## C\n\n";
        assert_eq!(placed(SAMPLE, end, sibling, AsWritten).unwrap(), expected);
        assert_eq!(
            placed(SAMPLE, TextPlacement::After(1), sibling, Inside).unwrap(),
            expected
        );
        let below = "# A\n\none\n\n## B\ntwo\n\n### New\n\ntext\n## C\n\n";
        assert_eq!(placed(SAMPLE, end, sibling, Rebase).unwrap(), below);
        // Section C would become a child of the new one.
        let higher = placed(SAMPLE, TextPlacement::After(1), "# Top", AsWritten);
        assert!(matches!(higher, Err(EditError::Reparents { section: 2 })));
    }

    #[test]
    fn open_ends_and_front_matter_are_refused() {
        let end = TextPlacement::End(WHOLE);
        for (text, place, new) in [
            ("```\ncode\n", end, "new"),
            ("one\n", end, "```\nnew"),
            ("<!-- open\n", end, "new"),
            ("one\n", TextPlacement::Start(WHOLE), "---\na: 1\n---"),
        ] {
            let refused = placed(text, place, new, PayloadHeadings::Inside);
            assert!(
                matches!(refused, Err(EditError::Escapes(_))),
                "{text:?} {new:?}"
            );
        }
        assert_eq!(inside("one\n", end, " \n"), "one\n");
    }

    proptest! {
        #[test]
        fn nothing_is_replaced_and_nothing_else_moves(
            text in "(---\na: 1\n---\n)?([-#a*`>= \r\n]|# |\n\n|- ){0,40}",
            new in "([-#a*`> \r\n]|# |\n\n|- ){0,20}",
            at in 0_usize..6,
            section in 0_usize..3,
        ) {
            let place = match at {
                0 => TextPlacement::Start(WHOLE),
                1 => TextPlacement::End(WHOLE),
                2 => TextPlacement::Before(section),
                3 => TextPlacement::After(section),
                4 => TextPlacement::Start(EditScope::Body(section)),
                _ => TextPlacement::End(EditScope::Subtree(section)),
            };
            if let Ok(after) = placed(&text, place, &new, PayloadHeadings::AsWritten) {
                let lines = |text: &str| -> Vec<String> {
                    let lines = text.split(['\n', '\r']).map(str::to_owned);
                    lines.filter(|line| !is_blank(line.as_bytes())).collect()
                };
                let (old, added) = (lines(&text), lines(&new));
                let all = lines(&after);
                prop_assert_eq!(all.len(), old.len() + added.len());
                let start = (0..=old.len()).find(|start| {
                    all[..*start] == old[..*start]
                        && all[*start..start + added.len()] == added[..]
                        && all[start + added.len()..] == old[*start..]
                });
                prop_assert!(start.is_some(), "{:?}", after);
                let front = |text: &str| {
                    let source = Source::new(text.as_bytes());
                    source.front_matter().map(|found| found.block)
                };
                prop_assert_eq!(front(&after), front(&text));
            }
        }
    }
}
