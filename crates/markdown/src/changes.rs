//! Edits as values: which bytes of a source are replaced, and with what.

use crate::Span;

/// One replacement: the bytes of `span` become `text`. An empty span is an insertion, an empty `text` a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The bytes of the source that are replaced.
    pub span: Span,
    /// The bytes that replace them.
    pub text: Vec<u8>,
}

/// Replacements in one source, in order. They never overlap, and none of them is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(Vec<Change>);

impl Change {
    /// Creates the replacement of `span` by `text`.
    pub fn new(span: Span, text: impl Into<Vec<u8>>) -> Self {
        Self {
            span,
            text: text.into(),
        }
    }
}

impl Changes {
    /// Sorts the replacements; returns `None` if two of them overlap. Two insertions at the same offset keep their
    /// order.
    #[must_use]
    pub fn new(changes: impl IntoIterator<Item = Change>) -> Option<Self> {
        let mut changes: Vec<Change> = changes
            .into_iter()
            .filter(|change| !(change.span.is_empty() && change.text.is_empty()))
            .collect();
        changes.sort_by_key(|change| change.span);
        let disjoint = changes
            .windows(2)
            .all(|pair| pair[0].span.end <= pair[1].span.start);
        disjoint.then(|| Self(joined(changes)))
    }

    /// Returns `true` if nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the replacements, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Change> + ExactSizeIterator {
        self.0.iter()
    }

    /// Returns `source` after the replacements, or `None` if they reach beyond it.
    #[must_use]
    pub fn apply(&self, source: &[u8]) -> Option<Vec<u8>> {
        if self
            .0
            .last()
            .is_some_and(|last| last.span.end > source.len())
        {
            return None;
        }
        let added: usize = self.0.iter().map(|change| change.text.len()).sum();
        let mut result = Vec::with_capacity(source.len() + added);
        let mut at = 0;
        for change in &self.0 {
            result.extend_from_slice(&source[at..change.span.start]);
            result.extend_from_slice(&change.text);
            at = change.span.end;
        }
        result.extend_from_slice(&source[at..]);
        Some(result)
    }

    /// Returns the replacements that restore `source`, for which these were made.
    #[must_use]
    pub fn inverse(&self, source: &[u8]) -> Self {
        let mut shift = Shift::default();
        let back = self.0.iter().map(|change| {
            let start = shift.apply(change.span.start);
            shift.pass(change);
            Change::new(
                Span::new(start, start + change.text.len()),
                change.span.slice(source),
            )
        });
        Self(back.collect())
    }

    /// Iterates over the spans that the replacement texts have afterwards.
    pub fn spans_after(&self) -> impl Iterator<Item = Span> {
        let mut shift = Shift::default();
        self.0.iter().map(move |change| {
            let start = shift.apply(change.span.start);
            shift.pass(change);
            Span::new(start, start + change.text.len())
        })
    }

    /// Composes these replacements with `later` ones, made to the result, into one set.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        let mut pieces = Vec::new();
        let mut before = Pieces::new(&self.0);
        let mut at = 0;
        for change in &later.0 {
            before.take(change.span.start - at, |piece| pieces.push(piece));
            pieces.push(Piece::New(&change.text));
            before.take(change.span.len(), |_| {});
            at = change.span.end;
        }
        before.rest(|piece| pieces.push(piece));
        Self(joined(as_changes(&pieces)))
    }

    /// Rebases these replacements onto the result of `other` ones made to the same source, or returns `None` where the
    /// two touch the same bytes. Where both insert at one offset, the text of `other` comes first.
    #[must_use]
    pub fn after(&self, other: &Self) -> Option<Self> {
        let mut result = Vec::with_capacity(self.0.len());
        let mut shift = Shift::default();
        let mut others = other.0.iter().peekable();
        for change in &self.0 {
            while let Some(earlier) =
                others.next_if(|earlier| earlier.span.end <= change.span.start)
            {
                shift.pass(earlier);
            }
            if others
                .peek()
                .is_some_and(|next| next.span.start < change.span.end)
            {
                return None;
            }
            result.push(Change {
                span: Span::new(shift.apply(change.span.start), shift.apply(change.span.end)),
                text: change.text.clone(),
            });
        }
        Some(Self(result))
    }

    /// Returns a map from old offsets to new ones.
    #[must_use]
    pub fn offset_map(&self) -> OffsetMap<'_> {
        let mut shift = Shift::default();
        let shifts = self.0.iter().map(|change| {
            shift.pass(change);
            shift
        });
        OffsetMap {
            shifts: std::iter::once(Shift::default()).chain(shifts).collect(),
            changes: &self.0,
        }
    }

    /// Returns whether the byte at `offset` is replaced.
    #[must_use]
    pub fn replaces(&self, offset: usize) -> bool {
        let passed = self.0.partition_point(|change| change.span.end <= offset);
        let next = self.0.get(passed);
        next.is_some_and(|next| next.span.start <= offset)
    }
}

/// Maps offsets in a source to offsets after some replacements. Built once, so that each lookup is a binary search.
#[derive(Debug)]
pub struct OffsetMap<'c> {
    changes: &'c [Change],
    /// How far the text moves after each number of replacements.
    shifts: Vec<Shift>,
}

impl OffsetMap<'_> {
    /// Returns the new offset of the byte at `offset`, or `None` if it was replaced.
    #[must_use]
    pub fn get(&self, offset: usize) -> Option<usize> {
        let passed = self
            .changes
            .partition_point(|change| change.span.end <= offset);
        let is_replaced = self
            .changes
            .get(passed)
            .is_some_and(|next| next.span.start <= offset && !next.span.is_empty());
        (!is_replaced).then(|| self.shifts[passed].apply(offset))
    }
}

/// How far the text after some replacements has moved.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    added: usize,
    removed: usize,
}

impl Shift {
    fn pass(&mut self, change: &Change) {
        self.added += change.text.len();
        self.removed += change.span.len();
    }

    fn apply(&self, offset: usize) -> usize {
        offset + self.added - self.removed
    }
}

/// Merges adjacent replacements.
fn joined(changes: Vec<Change>) -> Vec<Change> {
    let mut result: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        match result.last_mut() {
            Some(last) if last.span.end == change.span.start => {
                last.span.end = change.span.end;
                last.text.extend_from_slice(&change.text);
            }
            _ => result.push(change),
        }
    }
    result
}

/// A piece of the edited text: kept from the source, or new.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Kept(Span),
    New(&'a [u8]),
}

/// The text after some replacements, piece by piece.
struct Pieces<'a> {
    changes: std::slice::Iter<'a, Change>,
    /// Offset in the source up to which it has been consumed.
    at: usize,
    /// The rest of the text of the current replacement.
    text: &'a [u8],
    next: Option<&'a Change>,
}

impl<'a> Pieces<'a> {
    fn new(changes: &'a [Change]) -> Self {
        let mut changes = changes.iter();
        let next = changes.next();
        Self {
            changes,
            at: 0,
            text: &[],
            next,
        }
    }

    /// Passes the next `length` bytes to `hand`.
    fn take(&mut self, mut length: usize, mut hand: impl FnMut(Piece<'a>)) {
        while length > 0 {
            if !self.text.is_empty() {
                let cut = self.text.len().min(length);
                let (taken, left) = self.text.split_at(cut);
                hand(Piece::New(taken));
                self.text = left;
                length -= cut;
                continue;
            }
            let kept = self
                .next
                .map_or(length, |next| (next.span.start - self.at).min(length));
            if kept > 0 {
                hand(Piece::Kept(Span::new(self.at, self.at + kept)));
                self.at += kept;
                length -= kept;
            } else {
                self.enter();
            }
        }
    }

    fn enter(&mut self) {
        if let Some(next) = self.next {
            self.text = &next.text;
            self.at = next.span.end;
            self.next = self.changes.next();
        }
    }

    /// Passes everything that is left to `hand`, except the unchanged text after the last replacement, which is
    /// implied.
    fn rest(mut self, mut hand: impl FnMut(Piece<'a>)) {
        loop {
            if !self.text.is_empty() {
                hand(Piece::New(self.text));
                self.text = &[];
            }
            let Some(next) = self.next else { break };
            hand(Piece::Kept(Span::new(self.at, next.span.start)));
            self.enter();
        }
        hand(Piece::Kept(Span::new(self.at, usize::MAX)));
    }
}

fn as_changes(pieces: &[Piece<'_>]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut at = 0;
    let mut text: Vec<u8> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::New(new) => text.extend_from_slice(new),
            Piece::Kept(span) if span.is_empty() && span.start == at => {}
            Piece::Kept(span) => {
                if span.start > at || !text.is_empty() {
                    changes.push(Change::new(
                        Span::new(at, span.start),
                        std::mem::take(&mut text),
                    ));
                }
                at = span.end;
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(list: &[(usize, usize, &str)]) -> Changes {
        Changes::new(
            list.iter()
                .map(|(start, end, text)| Change::new(Span::new(*start, *end), *text)),
        )
        .expect("disjoint")
    }

    /// Generates any replacements of a source of `len` bytes.
    fn any_changes(len: usize) -> impl Strategy<Value = Changes> {
        proptest::collection::vec((0..=len, 0_usize..4, "[xyz]{0,3}"), 0..5).prop_map(move |list| {
            let mut at = 0;
            let mut sorted = list;
            sorted.sort();
            let kept = sorted.into_iter().filter_map(|(start, length, text)| {
                let span = Span::new(start, (start + length).min(len));
                (span.start >= at).then(|| {
                    at = span.end.max(span.start + 1);
                    Change::new(span, text)
                })
            });
            Changes::new(kept).expect("disjoint")
        })
    }

    #[test]
    fn overlapping_replacements_are_no_value() {
        let overlap = [
            Change::new(Span::new(0, 3), "a"),
            Change::new(Span::new(2, 4), "b"),
        ];
        assert_eq!(Changes::new(overlap), None);
        assert_eq!(changes(&[(5, 9, "")]).apply(b"abc"), None);
    }

    #[test]
    fn a_place_that_both_touch_is_a_conflict() {
        let ours = changes(&[(2, 4, "X")]);
        assert_eq!(ours.after(&changes(&[(3, 3, "y")])), None);
        assert_eq!(ours.after(&changes(&[(3, 6, "")])), None);
        assert_eq!(
            ours.after(&changes(&[(2, 2, "yy")])),
            Some(changes(&[(4, 6, "X")]))
        );
        assert_eq!(
            ours.after(&changes(&[(4, 6, "")])),
            Some(changes(&[(2, 4, "X")]))
        );
    }

    proptest! {
        #[test]
        fn the_inverse_leads_back(source in "[abc]{12}", forth in any_changes(12)) {
            let changed = forth.apply(source.as_bytes()).unwrap();
            let back = forth.inverse(source.as_bytes());
            prop_assert_eq!(back.apply(&changed).unwrap(), source.as_bytes());
        }

        #[test]
        fn one_after_the_other_is_the_same_as_both_at_once(
            source in "[abc]{12}",
            first in any_changes(12),
            second in any_changes(8),
        ) {
            let middle = first.apply(source.as_bytes()).unwrap();
            if let Some(last) = second.apply(&middle) {
                prop_assert_eq!(first.then(&second).apply(source.as_bytes()).unwrap(), last);
            }
        }

        #[test]
        fn changes_that_do_not_meet_can_be_made_in_either_order(
            source in "[abc]{12}",
            ours in any_changes(12),
            theirs in any_changes(12),
        ) {
            if let (Some(ours_after), Some(theirs_after)) = (ours.after(&theirs), theirs.after(&ours)) {
                let one = ours_after.apply(&theirs.apply(source.as_bytes()).unwrap()).unwrap();
                let other = theirs_after.apply(&ours.apply(source.as_bytes()).unwrap()).unwrap();
                prop_assert_eq!(one.len(), other.len());
            }
        }

        #[test]
        fn a_byte_outside_is_found_again(source in "[abc]{12}", changes in any_changes(12), offset in 0_usize..12) {
            let changed = changes.apply(source.as_bytes()).unwrap();
            let replaced = changes.iter().any(|change| change.span.start <= offset && offset < change.span.end);
            prop_assert_eq!(changes.replaces(offset), replaced);
            match changes.offset_map().get(offset) {
                Some(now) => prop_assert_eq!(changed[now], source.as_bytes()[offset]),
                None => prop_assert!(replaced),
            }
        }
    }
}
