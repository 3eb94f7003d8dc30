//! Tags and tasks in the text of a note.

use std::ops::Range;

use memchr::{memchr, memchr2};
use pulldown_cmark::{Event, Tag};
use unicode_normalization::char::is_combining_mark;

use super::{MAX_NAME_CHARS, MAX_TASKS, Task};
use crate::{Span, is_whitespace};

/// The longest tag in bytes: every character may take four.
const MAX_TAG_BYTES: usize = 4 * MAX_NAME_CHARS;

/// The tags and tasks of a text, in order, in offsets of the decoded text.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The tags, without `#`.
    pub(crate) tags: Vec<Span>,
    pub(crate) tasks: Vec<Task>,
}

/// Finds tags and tasks while the parser events are read for another purpose.
#[derive(Debug, Default)]
pub(crate) struct MarkReader {
    /// What follows each `#` that may start a tag.
    tags: Vec<Span>,
    tasks: Vec<Task>,
    /// Start of the list item whose content comes next.
    item: Option<usize>,
}

impl MarkReader {
    /// Reads an event for the tasks. Its range counts from the start of `text`.
    pub(crate) fn event(&mut self, text: &str, event: &Event<'_>, range: &Range<usize>) {
        if let Event::Start(Tag::Item) = event {
            self.item = Some(range.start);
            return;
        }
        let Some(start) = self.item.take() else {
            return;
        };
        // Where its label is defined, a box looks like a link.
        let is_text = matches!(
            event,
            Event::Text(_) | Event::Start(Tag::Paragraph | Tag::Link { .. })
        );
        // The event of an escaped bracket starts after its backslash.
        let is_escaped = text[..range.start].ends_with('\\');
        if is_text
            && !is_escaped
            && let Some(is_done) = box_at_start(&text[range.start..])
        {
            let end = memchr2(b'\n', b'\r', &text.as_bytes()[range.start..]);
            let end = end.map_or(text.len(), |end| range.start + end);
            // The range of an indented item without text starts before its indentation.
            let indentation = text[start..end].len() - text[start..end].trim_start().len();
            let span = Span::new(start + indentation, end);
            self.tasks.push(Task { span, is_done });
        }
    }

    /// Reads the text at `range`, which is neither code nor a link.
    pub(crate) fn text(&mut self, text: &str, range: &Range<usize>) {
        let mut at = range.start;
        // The parser splits words at `_`.
        if let Some(tag) = self.tags.last_mut()
            && tag.end == range.start
        {
            tag.end += length_in_tag(&text[range.clone()]);
            at = tag.end;
        }
        while let Some(hash) = memchr(b'#', &text.as_bytes()[at..range.end]) {
            let start = at + hash + 1;
            at = start;
            if may_precede_tag(&text[..start - 1]) {
                at += length_in_tag(&text[start..range.end]);
                self.tags.push(Span::new(start, at));
            }
        }
    }

    /// Returns what was found outside the places that `is_hidden` returns `true` for.
    pub(crate) fn finish(mut self, text: &str, is_hidden: impl Fn(usize) -> bool) -> Marks {
        self.tags.sort_unstable();
        self.tasks.sort_unstable_by_key(|task| task.span);
        let tags = self
            .tags
            .into_iter()
            .filter_map(|tag| tag_name(text, tag))
            .filter(|tag| !is_hidden(tag.start));
        let tasks = self.tasks.into_iter();
        let tasks = tasks.filter(|task| !is_hidden(task.span.start));
        Marks {
            tags: tags.collect(),
            tasks: tasks.take(MAX_TASKS).collect(),
        }
    }
}

/// Returns whether a list item that starts with this text has a box that is ticked; `None` without a box. Letters other
/// than `x`, and digits, are labels.
fn box_at_start(text: &str) -> Option<bool> {
    let &[b'[', sign, b']', ref behind @ ..] = text.as_bytes() else {
        return None;
    };
    let is_sign = match sign {
        b' ' | b'\t' | b'x' | b'X' => true,
        b'[' | b']' | b'\\' | b'^' | b'`' => false,
        sign => sign.is_ascii_punctuation(),
    };
    let is_alone = matches!(behind, [] | [b' ' | b'\t' | b'\n' | b'\r', ..]);
    (is_sign && is_alone).then_some(matches!(sign, b'x' | b'X' | b'-'))
}

/// Returns whether a tag may follow this text.
fn may_precede_tag(text: &str) -> bool {
    const EMPHASIS: [char; 4] = ['*', '_', '~', '='];
    let mut chars = text.chars().rev();
    // Marks of emphasis may be between a space and the tag. There are rarely more than three.
    let before = match chars.next() {
        Some(mark) if EMPHASIS.contains(&mark) => {
            chars.take(2).find(|c| !EMPHASIS.contains(c)).or(Some(mark))
        }
        before => before,
    };
    before.is_none_or(|c| match c {
        '(' | '{' | '"' | '\'' | '|' | '>' => true,
        c if c.is_ascii() => is_whitespace(c),
        // Outside ASCII, words need no space between them and punctuation.
        c => !is_in_tag(c),
    })
}

fn length_in_tag(text: &str) -> usize {
    text.find(|c| !is_in_tag(c)).unwrap_or(text.len())
}

/// Returns whether a tag can contain `c`: letters, digits, `_`, `-`, `/`, and pictures such as emoji.
fn is_in_tag(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
    }
    c.is_alphanumeric()
        || is_combining_mark(c)
        || matches!(c, '\u{200d}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns the name in `span`, unless it is too long or does not name anything.
fn tag_name(text: &str, span: Span) -> Option<Span> {
    let name = text[span.range()].trim_end_matches('/');
    let is_name = name.len() <= MAX_TAG_BYTES
        && !name.starts_with('/')
        && name.contains(|c: char| !matches!(c, '/' | '-' | '_'))
        && name.contains(|c: char| !c.is_ascii_digit());
    is_name.then(|| Span::new(span.start, span.start + name.len()))
}
