//! Differences between two texts: as replacements of whole lines, and as a unified diff.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use similar::algorithms::{Capture, Replace, diff_slices};
use similar::{Algorithm, DiffTag};

use crate::lines::{before_line_end, count_line_ends, line_at, line_start};
use crate::{Change, Changes, Span, work};

/// Differing regions with more lines than this, on either side, are not compared line by line but replaced as a whole.
/// The worst inputs of this size that were tried took less than half a second.
const MAX_COMPARED_LINES: usize = 20_000;
/// At most this many lines, of both sides together, are compared in one diff, however many regions differ. The regions
/// after that are replaced as a whole.
const MAX_COMPARED_IN_ALL: usize = 8 * MAX_COMPARED_LINES;

/// Options of [`unified_diff`].
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions<'a> {
    /// The name after `---`.
    pub old_name: &'a str,
    /// The name after `+++`.
    pub new_name: &'a str,
    /// Number of unchanged lines to show on each side of a change.
    pub context: usize,
    /// The most bytes of output.
    pub max_bytes: usize,
}

/// A diff in the unified format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// The diff; empty if there is no difference.
    pub text: String,
    /// Whether lines were cut off at the end by `max_bytes`. The last hunk then has fewer lines than its header says.
    pub truncated: bool,
    /// The number of added and removed lines that were cut off. There are never more; there are fewer if a region beyond
    /// the cut, which is not compared, has lines in common.
    pub left_out: usize,
}

/// Returns the replacements that turn `old` into `new`, each of whole lines. The bytes need not be text.
///
/// The result is deterministic. It is small, but not always minimal: a region of more than 20,000 lines with no common
/// lines at its start and end is replaced as a whole.
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

/// Renders `changes` of `old` in the unified format, with `context` unchanged lines around them.
///
/// A line ends with LF, CRLF or a lone CR, and is shown without its line ending. If the lines of a hunk do not all end
/// the same way, CRLF is shown as `␍␊` and CR as `␍`, so that a change of line endings alone is visible. Bytes that are
/// not UTF-8 are shown as U+FFFD, as are control characters in the two names.
///
/// `changes` must have been made for `old`; if they reach beyond it, the result is empty.
#[must_use]
pub fn unified_diff(old: &[u8], changes: &Changes, options: DiffOptions<'_>) -> UnifiedDiff {
    let Some(part) = DiffWindow::of(old, changes, options.context) else {
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
    // Two regions never share a hunk, and a region that is not shown need not be compared.
    for region in changed_regions(&old, &new, &part.changes, options.context) {
        if writer.diff.truncated {
            writer.diff.left_out += region.lines();
            continue;
        }
        let edits = differing_lines(&old, region.old, &new, region.new, &mut room);
        for edits in hunks(&edits, options.context) {
            Hunk::new(&old, &new, edits, options.context).write(
                &heading,
                part.lines_before,
                &mut writer,
            );
            heading.clear();
        }
    }
    writer.diff
}

/// The lines that matter for a diff, and the changes relative to them. The rest need not be split into lines.
struct DiffWindow<'a> {
    old: &'a [u8],
    changes: Changes,
    /// Number of lines above.
    lines_before: usize,
}

impl<'a> DiffWindow<'a> {
    /// Returns `None` if nothing changes, or if a change reaches beyond the end.
    fn of(old: &'a [u8], changes: &Changes, context: usize) -> Option<Self> {
        let (first, last) = (changes.iter().next()?, changes.iter().next_back()?);
        if last.span.end > old.len() {
            return None;
        }
        // More whole lines than two edits can have between them and still be in one hunk.
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

/// Lines of the old text and the lines of the new text that replace them. Numbers count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineReplacement {
    old: Range<usize>,
    new: Range<usize>,
}

/// A text and its line boundaries, including its start and its end.
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

    /// Returns the first line that starts at `offset` or later, or the number of lines if there is none.
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

/// Compares some lines of two texts. `room` is the number of lines that may still be compared.
fn differing_lines(
    old: &LineTable<'_>,
    old_lines: Range<usize>,
    new: &LineTable<'_>,
    new_lines: Range<usize>,
    room: &mut usize,
) -> Vec<LineReplacement> {
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
    let middle = LineReplacement {
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

fn compared(
    old: &LineTable<'_>,
    new: &LineTable<'_>,
    middle: &LineReplacement,
) -> Vec<LineReplacement> {
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
        .map(|operation| LineReplacement {
            old: operation.old_range(),
            new: operation.new_range(),
        })
        .collect();
    settle(edits, &old_numbers, &new_numbers)
        .iter()
        .map(|edit| edit.down(middle.old.start, middle.new.start))
        .collect()
}

/// Moves insertions and deletions that could be at several positions because lines repeat.
///
/// One that can reach another edit is merged with it: a changed line must not look like one line removed here and
/// another added there, or a merge would take it for two changes. The others slide down as far as they can.
fn settle(mut edits: Vec<LineReplacement>, old: &[u32], new: &[u32]) -> Vec<LineReplacement> {
    let mut from_the_end: Vec<LineReplacement> = Vec::with_capacity(edits.len());
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

impl LineReplacement {
    /// Returns the number of lines, removed and added.
    fn lines(&self) -> usize {
        self.old.len() + self.new.len()
    }

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

    /// Returns the lines of an edit that only removes or only adds.
    fn one_sided<'a>(&self, old: &'a [u32], new: &'a [u32]) -> Option<(&'a [u32], Range<usize>)> {
        match (self.old.is_empty(), self.new.is_empty()) {
            (false, true) => Some((old, self.old.clone())),
            (true, false) => Some((new, self.new.clone())),
            _ => None,
        }
    }

    /// Returns how many of the `room` lines below could be above instead.
    fn free_steps_down(&self, room: usize, old: &[u32], new: &[u32]) -> usize {
        self.one_sided(old, new).map_or(0, |(lines, range)| {
            (0..room)
                .take_while(|step| lines[range.start + step] == lines[range.end + step])
                .count()
        })
    }

    /// Returns whether all lines between `previous` and this edit could be below it instead.
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

/// A run of bytes present in both texts.
struct CommonRun {
    old: usize,
    new: usize,
    len: usize,
}

impl CommonRun {
    /// Returns the lines that are wholly inside, in both texts.
    fn lines(&self, old: &LineTable<'_>, new: &LineTable<'_>) -> Option<LineReplacement> {
        // Only at the ends can a line start in one text but not in the other: a boundary inside is one in both.
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
        (first < last).then(|| LineReplacement {
            old: old.line_from(self.old + first)..old.line_from(self.old + last),
            new: new.line_from(self.new + first)..new.line_from(self.new + last),
        })
    }
}

/// Returns the regions that `changes` may have touched, as whole lines of both texts. Regions close enough to share a
/// hunk are merged.
fn changed_regions(
    old: &LineTable<'_>,
    new: &LineTable<'_>,
    changes: &Changes,
    context: usize,
) -> Vec<LineReplacement> {
    let mut regions = Vec::new();
    let mut region_start = (0, 0);
    let mut kept_from = (0, 0);
    let ends = (
        Span::new(old.source.len(), old.source.len()),
        Span::new(new.source.len(), new.source.len()),
    );
    let spans = changes.iter().map(|change| change.span);
    for (old_span, new_span) in spans.zip(changes.spans_after()).chain([ends]) {
        let kept = CommonRun {
            old: kept_from.0,
            new: kept_from.1,
            len: old_span.start - kept_from.0,
        };
        kept_from = (old_span.end, new_span.end);
        let lines = kept.lines(old, new);
        if let Some(lines) = lines.filter(|lines| !is_one_hunk(lines.old.len(), context)) {
            regions.push(LineReplacement {
                old: region_start.0..lines.old.start,
                new: region_start.1..lines.new.start,
            });
            region_start = (lines.old.end, lines.new.end);
        }
    }
    regions.push(LineReplacement {
        old: region_start.0..old.count(),
        new: region_start.1..new.count(),
    });
    regions
}

/// Groups edits whose context overlaps.
fn hunks(edits: &[LineReplacement], context: usize) -> impl Iterator<Item = &[LineReplacement]> {
    edits.chunk_by(move |one, next| is_one_hunk(next.old.start - one.old.end, context))
}

/// Returns whether two edits with this many lines between them belong to one hunk.
fn is_one_hunk(between: usize, context: usize) -> bool {
    between <= context.saturating_mul(2)
}

/// The edits of one hunk, and the lines around them.
struct Hunk<'a> {
    old: &'a LineTable<'a>,
    new: &'a LineTable<'a>,
    edits: &'a [LineReplacement],
    /// All lines shown.
    shown: LineReplacement,
}

impl<'a> Hunk<'a> {
    fn new(
        old: &'a LineTable<'a>,
        new: &'a LineTable<'a>,
        edits: &'a [LineReplacement],
        context: usize,
    ) -> Self {
        let (first, last) = (&edits[0], &edits[edits.len() - 1]);
        let before = first.old.start.min(context);
        let after = (old.count() - last.old.end).min(context);
        let shown = LineReplacement {
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

    /// Iterates over the lines shown, with their signs.
    fn lines(&self) -> impl Iterator<Item = (char, &'a [u8])> {
        let (old, new) = (self.old, self.new);
        let end = LineReplacement {
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

    /// Writes the hunk below `heading`, and counts the changed lines for which there is no room.
    fn write(&self, heading: &str, lines_before: usize, writer: &mut Writer) {
        let changed: usize = self.edits.iter().map(LineReplacement::lines).sum();
        if writer.diff.truncated {
            writer.diff.left_out += changed;
            return;
        }
        let shown = self.shown.down(lines_before, lines_before);
        let (old, new) = (HunkRange(&shown.old), HunkRange(&shown.new));
        let show_ends = self.has_different_line_ends();
        let mut written = 0;
        let is_whole = writer.push(&format!("{heading}@@ -{old} +{new} @@\n"))
            && self.lines().all(|(sign, line)| {
                let has_room = writer.push(&diff_line(sign, line, show_ends));
                written += usize::from(has_room && sign != ' ');
                has_room
            });
        if !is_whole {
            writer.diff.left_out += changed - written;
        }
    }
}

/// A line range in a hunk header: counted from 1, or from the preceding line if it is empty.
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
    /// Splits a line into its text and its line ending.
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

/// Output of limited size.
struct Writer {
    diff: UnifiedDiff,
    max_bytes: usize,
}

impl Writer {
    /// Appends `piece`; returns whether there was room for it.
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
