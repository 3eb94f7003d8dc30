//! What became different between two texts: as replacements of whole lines, and as a unified diff to read.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use similar::algorithms::{Capture, Replace, diff_slices};
use similar::{Algorithm, DiffTag};

use crate::lines::{before_line_end, count_line_ends, line_at, line_start};
use crate::{Change, Changes, Span, work};

/// Differing parts with more lines than this, on either side, are not compared line by line but taken as one replacement.
/// The worst inputs of this size that were tried took less than half a second.
const MAX_COMPARED_LINES: usize = 20_000;
/// This many lines, of both sides together, are compared in one diff, however many parts differ. Behind that, parts are
/// taken as replacements.
const MAX_COMPARED_IN_ALL: usize = 8 * MAX_COMPARED_LINES;

/// How [`unified_diff`] writes.
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions<'a> {
    /// What stands after `---`.
    pub old_name: &'a str,
    /// What stands after `+++`.
    pub new_name: &'a str,
    /// How many unchanged lines to show on each side of a change.
    pub context: usize,
    /// The most bytes of text to write.
    pub max_bytes: usize,
}

/// A diff in the unified format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// The diff, or nothing when nothing differs.
    pub text: String,
    /// Whether lines were left out at the end, for lack of room. The last hunk then has fewer lines than its head says.
    pub truncated: bool,
}

/// The replacements that make `new` of `old`, whole lines each. The bytes need not be text.
///
/// The same two texts give the same replacements every time. They are few, but not always the fewest: a part of more
/// than 20,000 lines that has nothing in common with the other text at its start and end is replaced as a whole.
#[must_use]
pub fn line_changes(old: &[u8], new: &[u8]) -> Changes {
    let old = LineTable::new(old);
    let new = LineTable::new(new);
    let mut room = MAX_COMPARED_IN_ALL;
    let edits = differing_lines(&old, 0..old.count(), &new, 0..new.count(), &mut room);
    in_order(
        edits
            .iter()
            .map(|edit| Change::new(old.span(&edit.old), new.bytes(&edit.new))),
    )
}

/// What `changes` do to the lines of `old`, in the unified format, with `context` unchanged lines around.
///
/// A line ends at LF, CRLF or a lone CR, and is shown without its end. Where the lines of a hunk do not all end the same
/// way, an end in CRLF shows as `␍␊` and one in CR as `␍`, so that a change of nothing but line ends can be seen. Bytes
/// that are not UTF-8 show as U+FFFD, as do control characters in the two names.
///
/// `changes` must have been made for `old`; those that reach beyond it give no text.
#[must_use]
pub fn unified_diff(old: &[u8], changes: &Changes, options: DiffOptions<'_>) -> UnifiedDiff {
    let Some(part) = Neighbourhood::of(old, changes, options.context) else {
        return UnifiedDiff::default();
    };
    let Some(new) = part.changes.apply(part.old).filter(|new| new != part.old) else {
        return UnifiedDiff::default();
    };
    let old = LineTable::new(part.old);
    let new = LineTable::new(&new);
    let mut writer = Writer {
        diff: UnifiedDiff::default(),
        max_bytes: options.max_bytes,
    };
    let mut heading = heading(options);
    let mut room = MAX_COMPARED_IN_ALL;
    // What stands in two regions is never shown in one hunk, and what is not shown need not be compared.
    for region in changed_regions(&old, &new, &part.changes, options.context) {
        let edits = differing_lines(&old, region.old, &new, region.new, &mut room);
        for edits in hunks(&edits, options.context) {
            let hunk = Hunk::new(&old, &new, edits, options.context);
            if !hunk.write(&heading, part.lines_before, &mut writer) {
                return writer.diff;
            }
            heading.clear();
        }
    }
    writer.diff
}

/// The lines of a text that matter for a diff, and the changes as they read there. The rest need not be split into lines.
struct Neighbourhood<'a> {
    old: &'a [u8],
    changes: Changes,
    /// The number of lines above.
    lines_before: usize,
}

impl<'a> Neighbourhood<'a> {
    /// `None` when nothing changes, or something beyond the end.
    fn of(old: &'a [u8], changes: &Changes, context: usize) -> Option<Self> {
        let (first, last) = (changes.iter().next()?, changes.iter().next_back()?);
        if last.span.end > old.len() {
            return None;
        }
        // More whole lines than two hunks can have between them and still be shown as one.
        let lines = context.saturating_mul(2).saturating_add(2);
        let mut start = line_start(old, first.span.start);
        let mut end = last.span.end;
        for _ in 0..lines {
            if start == 0 {
                break;
            }
            start = line_start(old, before_line_end(old, start));
        }
        for _ in 0..lines {
            if end == old.len() {
                break;
            }
            end = line_at(old, end).end;
        }
        let shifted = changes.iter().map(|change| Change {
            span: Span::new(change.span.start - start, change.span.end - start),
            text: change.text.clone(),
        });
        Some(Self {
            old: &old[start..end],
            changes: Changes::new(shifted)?,
            lines_before: count_line_ends(&old[..start]),
        })
    }
}

/// Lines of the old text that became other lines in the new one. Numbers count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

/// A text and the offsets between its lines, including its start and its end.
struct LineTable<'a> {
    source: &'a [u8],
    borders: Vec<usize>,
}

impl<'a> LineTable<'a> {
    fn new(source: &'a [u8]) -> Self {
        let mut borders = vec![0];
        let mut at = 0;
        while at < source.len() {
            at = line_at(source, at).end;
            borders.push(at);
        }
        Self { source, borders }
    }

    fn count(&self) -> usize {
        self.borders.len() - 1
    }

    fn line(&self, number: usize) -> &'a [u8] {
        self.bytes(&(number..number + 1))
    }

    fn span(&self, lines: &Range<usize>) -> Span {
        Span::new(self.borders[lines.start], self.borders[lines.end])
    }

    fn bytes(&self, lines: &Range<usize>) -> &'a [u8] {
        self.span(lines).slice(self.source)
    }

    /// The first line that starts at `offset` or later; the number of lines when there is none.
    fn line_from(&self, offset: usize) -> usize {
        self.borders.partition_point(|border| *border < offset)
    }

    fn border_from(&self, offset: usize) -> usize {
        self.borders[self.line_from(offset)]
    }

    fn border_until(&self, offset: usize) -> usize {
        let passed = self.borders.partition_point(|border| *border <= offset);
        self.borders[passed - 1]
    }
}

/// Compares some lines of two texts. `room` is for how many lines may still be compared.
fn differing_lines(
    old: &LineTable<'_>,
    old_lines: Range<usize>,
    new: &LineTable<'_>,
    new_lines: Range<usize>,
    room: &mut usize,
) -> Vec<Edit> {
    let prefix = old_lines
        .clone()
        .zip(new_lines.clone())
        .take_while(|(old_line, new_line)| old.line(*old_line) == new.line(*new_line))
        .count();
    let old_lines = old_lines.start + prefix..old_lines.end;
    let new_lines = new_lines.start + prefix..new_lines.end;
    let suffix = old_lines
        .clone()
        .rev()
        .zip(new_lines.clone().rev())
        .take_while(|(old_line, new_line)| old.line(*old_line) == new.line(*new_line))
        .count();
    let middle = Edit {
        old: old_lines.start..old_lines.end - suffix,
        new: new_lines.start..new_lines.end - suffix,
    };
    let (old_count, new_count) = (middle.old.len(), middle.new.len());
    if old_count == 0 && new_count == 0 {
        Vec::new()
    } else if old_count == 0
        || new_count == 0
        || old_count.max(new_count) > MAX_COMPARED_LINES
        || old_count + new_count > *room
    {
        vec![middle]
    } else {
        *room -= old_count + new_count;
        work::count(old_count + new_count);
        compared(old, new, &middle)
    }
}

fn compared(old: &LineTable<'_>, new: &LineTable<'_>, middle: &Edit) -> Vec<Edit> {
    // Comparing numbers takes the same time however long the lines are.
    let mut numbers: BTreeMap<&[u8], u32> = BTreeMap::new();
    let mut number = |line| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(line).or_insert(next)
    };
    let old_numbers: Vec<u32> = middle
        .old
        .clone()
        .map(|line| number(old.line(line)))
        .collect();
    let new_numbers: Vec<u32> = middle
        .new
        .clone()
        .map(|line| number(new.line(line)))
        .collect();
    let mut hook = Replace::new(Capture::new());
    let Ok(()) = diff_slices(Algorithm::Myers, &mut hook, &old_numbers, &new_numbers);
    let operations = hook.into_inner().into_ops();
    let edits = operations
        .iter()
        .filter(|operation| operation.tag() != DiffTag::Equal)
        .map(|operation| Edit {
            old: operation.old_range(),
            new: operation.new_range(),
        })
        .collect();
    settle(edits, &old_numbers, &new_numbers)
        .iter()
        .map(|edit| edit.down(middle.old.start, middle.new.start))
        .collect()
}

/// Moves removals and additions that could stand at several places, because lines are repeated there.
///
/// One that can reach another edit becomes one with it: a changed line must not look like a line removed here and one
/// added there, or a merge would take it for two changes. The others go down as far as they can.
fn settle(mut edits: Vec<Edit>, old: &[u32], new: &[u32]) -> Vec<Edit> {
    let mut from_the_end: Vec<Edit> = Vec::with_capacity(edits.len());
    while let Some(edit) = edits.pop() {
        let limit = from_the_end.last().map_or(old.len(), |next| next.old.start);
        let steps = edit.free_steps_down(limit - edit.old.end, old, new);
        let edit = edit.down(steps, steps);
        match from_the_end.last_mut() {
            Some(next) if edit.old.end == next.old.start => *next = edit.joined(next),
            _ => from_the_end.push(edit),
        }
    }
    while let Some(edit) = from_the_end.pop() {
        match edits.last_mut() {
            Some(previous) if edit.is_free_up_to(previous, old, new) => {
                let edit = edit.up(edit.old.start - previous.old.end);
                *previous = previous.joined(&edit);
            }
            _ => edits.push(edit),
        }
    }
    edits
}

impl Edit {
    fn down(&self, old_by: usize, new_by: usize) -> Self {
        Self {
            old: self.old.start + old_by..self.old.end + old_by,
            new: self.new.start + new_by..self.new.end + new_by,
        }
    }

    fn up(&self, by: usize) -> Self {
        Self {
            old: self.old.start - by..self.old.end - by,
            new: self.new.start - by..self.new.end - by,
        }
    }

    fn joined(&self, next: &Self) -> Self {
        Self {
            old: self.old.start..next.old.end,
            new: self.new.start..next.new.end,
        }
    }

    /// The lines that are only removed, or only added.
    fn one_sided<'a>(&self, old: &'a [u32], new: &'a [u32]) -> Option<(&'a [u32], Range<usize>)> {
        match (self.old.is_empty(), self.new.is_empty()) {
            (false, true) => Some((old, self.old.clone())),
            (true, false) => Some((new, self.new.clone())),
            _ => None,
        }
    }

    /// How many of the `room` lines below can stand above instead.
    fn free_steps_down(&self, room: usize, old: &[u32], new: &[u32]) -> usize {
        self.one_sided(old, new).map_or(0, |(lines, range)| {
            (0..room)
                .take_while(|step| lines[range.start + step] == lines[range.end + step])
                .count()
        })
    }

    /// Whether all lines between `previous` and this can stand below instead.
    fn is_free_up_to(&self, previous: &Self, old: &[u32], new: &[u32]) -> bool {
        self.one_sided(old, new).is_some_and(|(lines, range)| {
            (1..=self.old.start - previous.old.end)
                .all(|step| lines[range.start - step] == lines[range.end - step])
        })
    }
}

fn in_order(changes: impl Iterator<Item = Change>) -> Changes {
    let made = Changes::new(changes);
    debug_assert!(made.is_some(), "line edits come in order");
    made.unwrap_or_default()
}

/// Bytes that stand in both texts.
struct Kept {
    old: usize,
    new: usize,
    len: usize,
}

impl Kept {
    /// The lines of both texts that lie wholly inside.
    fn lines(&self, old: &LineTable<'_>, new: &LineTable<'_>) -> Option<Edit> {
        // Only at the ends can a line start in one text but not in the other: a border inside is one in both.
        let first = Ord::max(
            old.border_from(self.old) - self.old,
            new.border_from(self.new) - self.new,
        );
        if first >= self.len {
            return None;
        }
        let last = Ord::min(
            old.border_until(self.old + self.len) - self.old,
            new.border_until(self.new + self.len) - self.new,
        );
        (first < last).then(|| Edit {
            old: old.line_from(self.old + first)..old.line_from(self.old + last),
            new: new.line_from(self.new + first)..new.line_from(self.new + last),
        })
    }
}

/// The lines that `changes` can have touched, whole in both texts. What is close enough to be shown together is together.
fn changed_regions(
    old: &LineTable<'_>,
    new: &LineTable<'_>,
    changes: &Changes,
    context: usize,
) -> Vec<Edit> {
    let mut regions = Vec::new();
    let mut region_start = (0, 0);
    let mut kept_from = (0, 0);
    let ends = (
        Span::new(old.source.len(), old.source.len()),
        Span::new(new.source.len(), new.source.len()),
    );
    let spans = changes.iter().map(|change| change.span);
    for (old_span, new_span) in spans.zip(changes.spans_after()).chain([ends]) {
        let kept = Kept {
            old: kept_from.0,
            new: kept_from.1,
            len: old_span.start - kept_from.0,
        };
        kept_from = (old_span.end, new_span.end);
        let lines = kept.lines(old, new);
        if let Some(lines) = lines.filter(|lines| !is_one_hunk(lines.old.len(), context)) {
            regions.push(Edit {
                old: region_start.0..lines.old.start,
                new: region_start.1..lines.new.start,
            });
            region_start = (lines.old.end, lines.new.end);
        }
    }
    regions.push(Edit {
        old: region_start.0..old.count(),
        new: region_start.1..new.count(),
    });
    regions
}

/// Puts edits together whose context meets.
fn hunks(edits: &[Edit], context: usize) -> impl Iterator<Item = &[Edit]> {
    edits.chunk_by(move |one, next| is_one_hunk(next.old.start - one.old.end, context))
}

/// Whether two edits with this many lines between them are shown together.
fn is_one_hunk(between: usize, context: usize) -> bool {
    between <= context.saturating_mul(2)
}

/// Edits that are shown together, and the lines around them.
struct Hunk<'a> {
    old: &'a LineTable<'a>,
    new: &'a LineTable<'a>,
    edits: &'a [Edit],
    /// All lines that are shown.
    shown: Edit,
}

impl<'a> Hunk<'a> {
    fn new(
        old: &'a LineTable<'a>,
        new: &'a LineTable<'a>,
        edits: &'a [Edit],
        context: usize,
    ) -> Self {
        let (first, last) = (&edits[0], &edits[edits.len() - 1]);
        let before = first.old.start.min(context);
        let after = (old.count() - last.old.end).min(context);
        let shown = Edit {
            old: first.old.start - before..last.old.end + after,
            new: first.new.start - before..last.new.end + after,
        };
        Self {
            old,
            new,
            edits,
            shown,
        }
    }

    /// The shown lines with their signs.
    fn lines(&self) -> impl Iterator<Item = (char, &'a [u8])> {
        let (old, new) = (self.old, self.new);
        let end = Edit {
            old: self.shown.old.end..self.shown.old.end,
            new: self.shown.new.end..self.shown.new.end,
        };
        let mut at = self.shown.old.start;
        self.edits
            .iter()
            .cloned()
            .chain([end])
            .flat_map(move |edit| {
                let kept = at..edit.old.start;
                at = edit.old.end;
                let kept = kept.map(|line| (' ', old.line(line)));
                let removed = edit.old.map(|line| ('-', old.line(line)));
                let added = edit.new.map(|line| ('+', new.line(line)));
                kept.chain(removed).chain(added)
            })
    }

    fn has_different_line_ends(&self) -> bool {
        let mut ends = self
            .lines()
            .map(|(_, line)| LineEnd::split(line).1)
            .filter(|end| *end != LineEnd::Missing);
        ends.next()
            .is_some_and(|first| ends.any(|end| end != first))
    }

    /// Writes the hunk below `heading`. Says whether there was room for all of it.
    fn write(&self, heading: &str, lines_before: usize, writer: &mut Writer) -> bool {
        let shown = self.shown.down(lines_before, lines_before);
        let (old, new) = (HunkRange(&shown.old), HunkRange(&shown.new));
        let show_ends = self.has_different_line_ends();
        writer.push(&format!("{heading}@@ -{old} +{new} @@\n"))
            && self
                .lines()
                .all(|(sign, line)| writer.push(&diff_line(sign, line, show_ends)))
    }
}

/// Lines as the head of a hunk counts them: from 1, and before the first of none.
struct HunkRange<'a>(&'a Range<usize>);

impl fmt::Display for HunkRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.0.start + usize::from(!self.0.is_empty());
        write!(f, "{first},{}", self.0.len())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
    Cr,
    Missing,
}

impl LineEnd {
    /// The text of a line, and how the line ends.
    fn split(line: &[u8]) -> (&[u8], Self) {
        match line {
            [text @ .., b'\r', b'\n'] => (text, Self::CrLf),
            [text @ .., b'\n'] => (text, Self::Lf),
            [text @ .., b'\r'] => (text, Self::Cr),
            text => (text, Self::Missing),
        }
    }
}

fn diff_line(sign: char, line: &[u8], show_end: bool) -> String {
    let (text, end) = LineEnd::split(line);
    let text = String::from_utf8_lossy(text);
    let shown_end = match end {
        LineEnd::CrLf if show_end => "␍␊\n",
        LineEnd::Cr if show_end => "␍\n",
        LineEnd::CrLf | LineEnd::Cr | LineEnd::Lf => "\n",
        LineEnd::Missing => "\n\\ No newline at end of file\n",
    };
    format!("{sign}{text}{shown_end}")
}

fn heading(options: DiffOptions<'_>) -> String {
    let printable = |name: &str| name.replace(char::is_control, "\u{fffd}");
    format!(
        "--- {}\n+++ {}\n",
        printable(options.old_name),
        printable(options.new_name)
    )
}

/// A diff with a limit to its size.
struct Writer {
    diff: UnifiedDiff,
    max_bytes: usize,
}

impl Writer {
    /// Says whether there was room.
    fn push(&mut self, piece: &str) -> bool {
        if self.diff.text.len() + piece.len() > self.max_bytes {
            self.diff.truncated = true;
            return false;
        }
        self.diff.text.push_str(piece);
        true
    }
}

#[cfg(test)]
mod tests;
