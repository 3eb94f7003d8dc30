//! Three-way merge of text, by lines.

use std::fmt;
use std::iter::Peekable;

use crate::{Change, Span, line_changes};

/// Both sides changed the same or adjacent lines, each in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// The bytes of the base that our side replaced. Empty for an insertion.
    pub ours: Span,
    /// The bytes of the base that their side replaced. Empty for an insertion.
    pub theirs: Span,
}

impl MergeConflict {
    /// Returns the bytes of the base that either side replaced.
    #[must_use]
    pub fn span(self) -> Span {
        Span::new(
            self.ours.start.min(self.theirs.start),
            self.ours.end.max(self.theirs.end),
        )
    }
}

impl fmt::Display for MergeConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { start, end } = self.span();
        write!(
            f,
            "both sides changed the lines at bytes {start} to {end} of the base"
        )
    }
}

impl std::error::Error for MergeConflict {}

/// Merges the changes of both sides into `base`, or returns the first conflict.
///
/// Lines changed by only one side become that side's version. A change that both sides made identically is made once.
/// Otherwise at least one unchanged line must separate the changes. The order of the two sides makes no difference.
///
/// # Errors
///
/// [`MergeConflict`] if both sides changed the same or adjacent lines differently.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, MergeConflict> {
    let (ours, theirs) = (line_changes(base, ours), line_changes(base, theirs));
    let mut sides = MergeSides {
        ours: ours.iter().peekable(),
        theirs: theirs.iter().peekable(),
    };
    let mut merged = Vec::with_capacity(base.len());
    let mut at = 0;
    while let Some(group) = sides.next_group() {
        merged.extend_from_slice(&base[at..group.span.start]);
        merged.extend_from_slice(&group.text(base)?);
        at = group.span.end;
    }
    merged.extend_from_slice(&base[at..]);
    Ok(merged)
}

/// The replacements of both sides that are still to be merged.
struct MergeSides<'a, I: Iterator<Item = &'a Change>> {
    ours: Peekable<I>,
    theirs: Peekable<I>,
}

impl<'a, I: Iterator<Item = &'a Change>> MergeSides<'a, I> {
    /// Takes the first replacement and all that meet it or one another.
    fn next_group(&mut self) -> Option<Group<'a>> {
        let start = |change: Option<&&Change>| change.map(|change| change.span.start);
        let first = [start(self.ours.peek()), start(self.theirs.peek())]
            .into_iter()
            .flatten()
            .min()?;
        let mut group = Group {
            span: Span::new(first, first),
            ours: Vec::new(),
            theirs: Vec::new(),
        };
        loop {
            let end = group.span.end;
            // Replacements of whole lines that only touch change adjacent lines: one may have been made in view of the
            // other.
            let meets = |change: &&Change| change.span.start <= end;
            if let Some(change) = self.ours.next_if(meets) {
                group.ours.push(change);
                group.span.end = end.max(change.span.end);
            } else if let Some(change) = self.theirs.next_if(meets) {
                group.theirs.push(change);
                group.span.end = end.max(change.span.end);
            } else {
                return Some(group);
            }
        }
    }
}

/// Replacements that meet, and the bytes of the base that they cover.
struct Group<'a> {
    span: Span,
    ours: Vec<&'a Change>,
    theirs: Vec<&'a Change>,
}

impl Group<'_> {
    fn text(&self, base: &[u8]) -> Result<Vec<u8>, MergeConflict> {
        let (Some(ours), Some(theirs)) = (reach(&self.ours), reach(&self.theirs)) else {
            let only = [self.ours.as_slice(), &self.theirs].concat();
            return Ok(applied(&only, self.span, base));
        };
        let text = applied(&self.ours, self.span, base);
        if text == applied(&self.theirs, self.span, base) {
            Ok(text)
        } else {
            Err(MergeConflict { ours, theirs })
        }
    }
}

/// Returns the span from the first replacement's start to the last one's end.
fn reach(changes: &[&Change]) -> Option<Span> {
    let (first, last) = (changes.first()?, changes.last()?);
    Some(Span::new(first.span.start, last.span.end))
}

/// Returns the text of `span` after `changes`.
fn applied(changes: &[&Change], span: Span, base: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut at = span.start;
    for change in changes {
        text.extend_from_slice(&base[at..change.span.start]);
        text.extend_from_slice(&change.text);
        at = change.span.end;
    }
    text.extend_from_slice(&base[at..span.end]);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let result = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).ok()?;
        Some(String::from_utf8(result).expect("made of texts"))
    }

    #[test]
    fn what_is_apart_is_combined() {
        let cases = [
            ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
            ("a\nb\nc\n", "b\nc\n", "a\nb\n", "b\n"),
            ("a\nb\nc", "x\na\nb\nc", "a\nb\nc\nd", "x\na\nb\nc\nd"),
            ("a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nC", "A\r\nb\r\nC"),
            ("a\rb\rc\r", "a\rb\r", "A\rb\rc\r", "A\rb\r"),
            // The same change on both sides, and another one elsewhere.
            ("a\nb\nc\n", "A\nb\nc\n", "A\nb\nC\n", "A\nb\nC\n"),
            ("a\n", "a\nb\n", "a\nb\n", "a\nb\n"),
        ];
        for (base, ours, theirs, expected) in cases {
            assert_eq!(merged(base, ours, theirs).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_meets_is_a_conflict() {
        let cases = [
            ("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", (2, 4), (2, 4)),
            ("a\nb\nc\n", "a\nX\nc\n", "a\nb\nY\n", (2, 4), (4, 6)),
            ("a\nb\nc\n", "a\nc\n", "a\nX\nb\nc\n", (2, 4), (2, 2)),
            ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", (2, 2), (2, 2)),
            ("a\nb", "a\nb\nx", "a\nb\ny", (2, 3), (2, 3)),
            ("a\nb", "a\nb\n", "a\nb\ny", (2, 3), (2, 3)),
            ("a\nb\n", "a\nb", "a\nb\ny\n", (2, 4), (4, 4)),
            ("", "x", "y", (0, 0), (0, 0)),
        ];
        for (base, ours, theirs, in_ours, in_theirs) in cases {
            assert_eq!(
                merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()),
                Err(MergeConflict {
                    ours: Span::new(in_ours.0, in_ours.1),
                    theirs: Span::new(in_theirs.0, in_theirs.1),
                })
            );
        }
    }

    #[test]
    fn the_first_conflict_is_told() {
        let conflict = merge(
            b"a\nb\nc\nd\ne\nf\ng\n",
            b"X\nb\nx\nd\ne\nx\ng\n",
            b"a\nb\nc\ny\ne\ny\ng\n",
        )
        .expect_err("lines 3 and 4, and 6");
        assert_eq!(conflict.span(), Span::new(4, 8));
        assert_eq!(
            conflict.to_string(),
            "both sides changed the lines at bytes 4 to 8 of the base"
        );
    }

    /// One side's edit of a line: the number of lines it inserted before, and whether it kept the line.
    type LineEdit = (usize, bool);

    fn line_edits() -> impl Strategy<Value = Vec<LineEdit>> {
        let edit = prop_oneof![
            6 => Just((0, true)),
            1 => (0_usize..3, any::<bool>()),
        ];
        proptest::collection::vec(edit, 12)
    }

    fn edited(base: &[&str], edits: &[LineEdit], added: &str) -> String {
        let lines = base
            .iter()
            .zip(edits)
            .flat_map(|(line, (before, is_kept))| {
                std::iter::repeat_n(added, *before).chain(is_kept.then_some(*line))
            });
        lines.collect()
    }

    fn only<'a>(text: &'a str, wanted: &[&str]) -> Vec<&'a str> {
        text.split_inclusive('\n')
            .map(|line| line.trim_end_matches('\n'))
            .filter(|line| wanted.contains(line))
            .collect()
    }

    fn is_subsequence(inner: &[&str], outer: &[&str]) -> bool {
        let mut outer = outer.iter();
        inner.iter().all(|line| outer.any(|other| other == line))
    }

    /// One side's version of a block.
    type BlockEdit = Option<Vec<String>>;

    /// Number of lines in a block, and the new version by the first side (`true`) or the second.
    type Block = (usize, Option<(bool, Vec<String>)>);

    fn blocks() -> impl Strategy<Value = Vec<Block>> {
        let text = proptest::collection::vec("[xyz]{0,2}", 0..4);
        let edit = proptest::option::of((any::<bool>(), text));
        proptest::collection::vec((0_usize..4, edit), 1..8)
    }

    fn assembled(blocks: &[Vec<String>], line_end: &str, ends: bool) -> String {
        let mut lines = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            // An untouched line comes before, between and after the blocks.
            lines.push(format!("# {number}"));
            lines.extend_from_slice(block);
        }
        lines.push("# end".into());
        let text = lines.join(line_end);
        if ends { text + line_end } else { text }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn what_one_side_or_both_did_alike_is_the_result(base in "[ab\r\n]{0,30}", changed in "[ab\r\n]{0,30}") {
            for (ours, theirs) in [(&changed, &base), (&base, &changed), (&changed, &changed)] {
                prop_assert_eq!(merged(&base, ours, theirs), Some(changed.clone()));
            }
        }

        #[test]
        fn the_order_of_the_sides_makes_no_difference(
            base in "[ab\r\n]{0,30}",
            ours in "[ab\r\n]{0,30}",
            theirs in "[ab\r\n]{0,30}",
        ) {
            prop_assert_eq!(merged(&base, &ours, &theirs), merged(&base, &theirs, &ours));
        }

        #[test]
        fn edits_of_separate_blocks_are_all_made(
            blocks in blocks(),
            line_end in proptest::sample::select(vec!["\n", "\r\n", "\r"]),
            ends in any::<bool>(),
        ) {
            let original = |number: usize, lines: usize| -> Vec<String> {
                (0..lines).map(|line| format!("{number}.{line}")).collect()
            };
            let [mut base, mut ours, mut theirs, mut expected] = [const { Vec::new() }; 4];
            for (number, (lines, edit)) in blocks.into_iter().enumerate() {
                let before = original(number, lines);
                let (in_ours, in_theirs): (BlockEdit, BlockEdit) = match edit.clone() {
                    Some((true, text)) => (Some(text), None),
                    Some((false, text)) => (None, Some(text)),
                    None => (None, None),
                };
                ours.push(in_ours.unwrap_or_else(|| before.clone()));
                theirs.push(in_theirs.unwrap_or_else(|| before.clone()));
                expected.push(edit.map_or_else(|| before.clone(), |(_, text)| text));
                base.push(before);
            }
            let text = |blocks: &[Vec<String>]| assembled(blocks, line_end, ends);
            prop_assert_eq!(
                merged(&text(&base), &text(&ours), &text(&theirs)),
                Some(text(&expected))
            );
        }

        #[test]
        fn nothing_added_is_lost_and_nothing_removed_comes_back(
            base in proptest::collection::vec(proptest::sample::select(vec!["a\n", "b\n", "\n"]), 12),
            our_edits in line_edits(),
            their_edits in line_edits(),
            cut in 0_usize..3,
        ) {
            let base_text = base.concat();
            let mut ours = edited(&base, &our_edits, "ours\n");
            let mut theirs = edited(&base, &their_edits, "theirs\n");
            // One side may lack the final line ending.
            if cut == 1 { ours.pop(); }
            if cut == 2 { theirs.pop(); }
            if let Some(merged) = merged(&base_text, &ours, &theirs) {
                let of_base = ["a", "b", ""];
                prop_assert_eq!(only(&merged, &["ours"]), only(&ours, &["ours"]));
                prop_assert_eq!(only(&merged, &["theirs"]), only(&theirs, &["theirs"]));
                let kept = only(&merged, &of_base);
                prop_assert!(is_subsequence(&kept, &only(&ours, &of_base)));
                prop_assert!(is_subsequence(&kept, &only(&theirs, &of_base)));
                let known = kept.len() + only(&merged, &["ours", "theirs"]).len();
                prop_assert_eq!(merged.split_inclusive('\n').count(), known, "no line is glued to another");
            }
        }
    }
}
