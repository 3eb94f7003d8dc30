//! A change as people read it: the sections it touched, with the lines before and after. It looks as on the card for
//! hosts (`card/diff_view.js`), with the same styles, but is rendered here, so that it is there without a script.

use maud::{Markup, html};
use sectile_markdown::{Changes, DiffOptions, Source, line_changes, unified_diff};

use super::layout::id_link;

/// Longest diff of one document that is shown, in bytes.
const MAX_DIFF_BYTES: usize = 24 << 10;
/// Number of unchanged lines around a change.
const CONTEXT: usize = 2;
/// Longest line in which the words that differ are marked, in bytes.
const MAX_MARKED_BYTES: usize = 4 << 10;

/// The changed lines of one document.
pub(super) struct DocumentChange {
    /// Id of the document.
    pub(super) id: String,
    hunks: Vec<Hunk>,
    is_cut: bool,
}

/// Lines that are near each other, and the heading of the section they are in.
struct Hunk {
    heading: String,
    lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DiffLine {
    kind: LineKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Same,
    Removed,
    Added,
}

impl DocumentChange {
    /// Describes what `changes` do to `old`, the bytes of the document with this id.
    pub(super) fn new(id: String, old: &[u8], changes: &Changes) -> Self {
        let options = DiffOptions {
            old_name: "before",
            new_name: "after",
            context: CONTEXT,
            max_bytes: MAX_DIFF_BYTES,
        };
        let diff = unified_diff(old, changes, options);
        let new = changes.apply(old).unwrap_or_default();
        Self {
            id,
            hunks: hunks(&diff.text, old, &new),
            is_cut: diff.truncated,
        }
    }

    /// Describes the difference between two states of the document with this id.
    pub(super) fn between(id: String, old: &[u8], new: &[u8]) -> Self {
        Self::new(id, old, &line_changes(old, new))
    }

    /// Returns whether no line changed.
    pub(super) fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// Renders the change, under the id of its document if that is asked for.
    pub(super) fn render(&self, is_named: bool) -> Markup {
        html! {
            section.diff-document aria-label=(self.id) {
                @if is_named { div.diff-head { p.diff-name { (id_link(&self.id)) } } }
                @for hunk in &self.hunks {
                    @if !hunk.heading.is_empty() { p.diff-hunk { bdi { (hunk.heading) } } }
                    @for line in rendered_lines(&hunk.lines) { (line) }
                }
                @if self.is_cut { p.diff-more { "The rest of this change is too long to be shown." } }
            }
        }
    }
}

/// Reads the hunks of a unified diff.
fn hunks(text: &str, old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let (old_headings, new_headings) = (Headings::of(old), Headings::of(new));
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in text.lines() {
        let kind = match line.as_bytes().first() {
            Some(b'@') => {
                let heading = match hunk_start(line) {
                    // Nothing is left on the new side.
                    Some((old_line, (_, 0))) => old_headings.at(old_line),
                    Some((_, (new_line, _))) => new_headings.at(new_line),
                    None => String::new(),
                };
                let lines = Vec::new();
                hunks.push(Hunk { heading, lines });
                continue;
            }
            Some(b'-') => LineKind::Removed,
            Some(b'+') => LineKind::Added,
            Some(b' ') => LineKind::Same,
            _ => continue,
        };
        // The names of the two sides come before the first hunk.
        if let Some(hunk) = hunks.last_mut() {
            let text = line[1..].to_owned();
            hunk.lines.push(DiffLine { kind, text });
        }
    }
    hunks
}

/// Reads the head of a hunk: its first old line, and its first new line with the number of new lines.
fn hunk_start(head: &str) -> Option<(usize, (usize, usize))> {
    let mut words = head.split(' ').skip(1);
    let mut range = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (old, _) = range('-')?;
    Some((old, range('+')?))
}

/// The headings of a document by the lines that they begin on.
struct Headings(Vec<(usize, String)>);

impl Headings {
    fn of(bytes: &[u8]) -> Self {
        let document = Source::new(bytes).parse();
        let mut line = 1;
        let mut from = 0;
        let headings = document.top_level().map(|(index, section, _)| {
            let start = section.heading.start;
            line += bytes[from..start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            from = start;
            (line, document.heading_path(index).join(" › "))
        });
        Self(headings.collect())
    }

    /// Returns the heading of the section that the first changed lines of a hunk are in.
    fn at(&self, line: usize) -> String {
        let line = line + CONTEXT;
        let after = self.0.partition_point(|(start, _)| *start <= line);
        let heading = after.checked_sub(1).and_then(|at| self.0.get(at));
        heading.map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

/// Renders lines. Where one line replaces another, what differs between them is marked.
fn rendered_lines(lines: &[DiffLine]) -> Vec<Markup> {
    let mut rendered = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.first() {
        if first.kind == LineKind::Same {
            rendered.push(plain_line(first));
            rest = &rest[1..];
            continue;
        }
        let count =
            |lines: &[DiffLine], kind| lines.iter().take_while(|line| line.kind == kind).count();
        let removed = count(rest, LineKind::Removed);
        let added = count(&rest[removed..], LineKind::Added);
        let (old, new) = (&rest[..removed], &rest[removed..removed + added]);
        if removed == added {
            let marked: Vec<(Markup, Markup)> = old
                .iter()
                .zip(new)
                .map(|(old, new)| marked_pair(old, new))
                .collect();
            let (old, new): (Vec<Markup>, Vec<Markup>) = marked.into_iter().unzip();
            rendered.extend(old.into_iter().chain(new));
        } else {
            rendered.extend(old.iter().chain(new).map(plain_line));
        }
        rest = &rest[removed + added..];
    }
    rendered
}

fn plain_line(line: &DiffLine) -> Markup {
    line_with(line.kind, &shown_text(&line.text))
}

/// Renders two lines with the part that differs marked in each.
fn marked_pair(old: &DiffLine, new: &DiffLine) -> (Markup, Markup) {
    let is_long = old.text.len().max(new.text.len()) > MAX_MARKED_BYTES;
    if is_long {
        return (plain_line(old), plain_line(new));
    }
    let (start, end) = common_ends(&old.text, &new.text);
    let parts = |text: &str| {
        let middle = text.len() - end;
        let (before, rest) = text.split_at(start);
        let (changed, after) = rest.split_at(middle - start);
        (before.to_owned(), changed.to_owned(), after.to_owned())
    };
    let (before, changed, after) = parts(&old.text);
    let old = html! { (shown_text(&before)) @if !changed.is_empty() { del { (shown_text(&changed)) } } (shown_text(&after)) };
    let (before, changed, after) = parts(&new.text);
    let new = html! { (shown_text(&before)) @if !changed.is_empty() { ins { (shown_text(&changed)) } } (shown_text(&after)) };
    (
        line_with(LineKind::Removed, &old),
        line_with(LineKind::Added, &new),
    )
}

/// Returns the lengths of the common start and the common end of two lines, in bytes, at the ends of words.
fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let pairs = old.char_indices().zip(new.chars());
    let same = pairs.take_while(|((_, one), other)| one == other);
    let start = same.last().map_or(0, |((at, c), _)| at + c.len_utf8());
    let start = word_start(old, start).min(word_start(new, start));
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.chars().rev().zip(new.chars().rev());
    let same = pairs.take_while(|(one, other)| one == other);
    let end: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let word_end = |text: &str| {
        let tail = &text[text.len() - end..];
        let inside = tail.find(|c: char| !c.is_alphanumeric());
        match text[..text.len() - end].ends_with(char::is_alphanumeric) {
            true => end - inside.unwrap_or(end),
            false => end,
        }
    };
    (start, word_end(old).min(word_end(new)))
}

/// Returns the start of the word that contains the byte at `at`, or `at` itself between words.
fn word_start(text: &str, at: usize) -> usize {
    let is_inside = text[at..].starts_with(char::is_alphanumeric);
    let before = text[..at].trim_end_matches(char::is_alphanumeric).len();
    if is_inside { before } else { at }
}

fn line_with(kind: LineKind, text: &Markup) -> Markup {
    let (class, sign, word) = match kind {
        LineKind::Same => ("", "", ""),
        LineKind::Removed => (" diff-removed", "−", "Removed: "),
        LineKind::Added => (" diff-added", "+", "Added: "),
    };
    html! {
        div class={ "diff-line" (class) } {
            span.diff-sign aria-hidden="true" { (sign) }
            @if !word.is_empty() { span.diff-words { (word) } }
            span.diff-text { (text) }
        }
    }
}

/// Renders text. Characters that change how text looks, or that cannot be seen at all, are named: someone who reviews a
/// change has to know.
fn shown_text(text: &str) -> Markup {
    html! {
        @for part in text.split_inclusive(is_hidden) {
            @match part.chars().next_back().filter(|last| is_hidden(*last)) {
                Some(last) => {
                    (part[..part.len() - last.len_utf8()])
                    span.diff-hidden-character { "U+" (format!("{:04X}", u32::from(last))) }
                }
                None => { (part) }
            }
        }
    }
}

fn is_hidden(c: char) -> bool {
    match c {
        '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{3164}' => {
            true
        }
        '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(old: &str, new: &str) -> String {
        let change = DocumentChange::between("a.md".to_owned(), old.as_bytes(), new.as_bytes());
        change.render(false).into_string()
    }

    #[test]
    fn a_change_is_shown_under_the_heading_of_its_section() {
        let old = "# Plan\n\nText.\n\n## Budget\n\nThe pilot costs 350 a day.\n";
        let page = rendered(old, &old.replace("350", "400"));
        assert!(
            page.contains("<p class=\"diff-hunk\"><bdi>Plan › Budget</bdi>"),
            "{page}"
        );
        assert!(page.contains("costs <del>350</del> a day."), "{page}");
        assert!(page.contains("costs <ins>400</ins> a day."), "{page}");
    }

    #[test]
    fn removed_sections_have_their_old_heading() {
        let page = rendered("# A\n\nOne.\n\n# B\n\nTwo.\n", "");
        assert!(
            page.contains("<p class=\"diff-hunk\"><bdi>A</bdi>"),
            "{page}"
        );
        assert!(
            page.contains("Removed: </span><span class=\"diff-text\">Two."),
            "{page}"
        );
    }

    #[test]
    fn words_are_marked_as_a_whole() {
        for (old, new, expected) in [
            ("one two three", "one too three", (4, 6)),
            ("a", "a b", (1, 0)),
            ("same", "same", (4, 0)),
            ("preset", "reset", (0, 0)),
            ("für 10 €", "für 20 €", (5, 4)),
        ] {
            assert_eq!(common_ends(old, new), expected, "{old} {new}");
        }
    }

    #[test]
    fn characters_that_cannot_be_seen_are_named() {
        let page = rendered("# A\n", "# A\n\nPay \u{202e}001\u{200b} now\tor never.\n");
        let mark = |code: &str| format!("<span class=\"diff-hidden-character\">U+{code}</span>");
        let expected = format!("Pay {}001{} now\tor never.", mark("202E"), mark("200B"));
        assert!(page.contains(&expected), "{page}");
    }

    #[test]
    fn text_of_notes_is_escaped() {
        let page = rendered("# <b>\n\nx\n", "# <b>\n\n<script>alert(1)</script>\n");
        assert!(
            !page.contains("<script>") && !page.contains("<b>"),
            "{page}"
        );
    }
}
