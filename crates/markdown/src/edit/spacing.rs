//! Blank lines between sections. They are the engine's business, not the caller's.

use crate::{Span, lines::line_at};

/// How much room to leave where a payload meets what was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Keep the separators as they are.
    AsFound,
    /// Make sure of a blank line behind the payload, because without one it would run into the next section.
    Wide,
}

/// The part of `span` from its first line that is not blank to the end of the text of its last such line: what a caller
/// gets as the content of a section. Empty, at the start of `span`, when all of it is blank.
#[must_use]
pub fn content_span(bytes: &[u8], span: Span) -> Span {
    let slice = span.slice(bytes);
    let mut start = None;
    let mut end = 0;
    let mut at = 0;
    while at < slice.len() {
        let line = line_at(slice, at);
        if !is_blank(&slice[at..line.content_end]) {
            start = start.or(Some(at));
            end = line.content_end;
        }
        at = line.end;
    }
    match start {
        Some(start) => Span::new(span.start + start, span.start + end),
        None => Span::new(span.start, span.start),
    }
}

/// Whether a line holds nothing but blanks.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// The end of the last line of `bytes[..end]` that is not blank, its line end included. Blank lines behind it are
/// separators.
pub(super) fn without_trailing_blank_lines(bytes: &[u8], end: usize) -> usize {
    let content = content_span(bytes, Span::new(0, end));
    if content.is_empty() {
        return 0;
    }
    line_at(&bytes[..end], content.end).end
}

/// What must stand before a heading that follows `before`, so that it starts a line behind a blank one.
pub(super) fn lead(before: &[u8], line_end: &str) -> String {
    if before.is_empty() {
        return String::new();
    }
    if !ends_with_line_end(before) {
        return line_end.repeat(2);
    }
    if ends_with_blank_line(before) {
        String::new()
    } else {
        line_end.to_owned()
    }
}

pub(super) fn ends_with_line_end(bytes: &[u8]) -> bool {
    matches!(bytes.last(), Some(b'\n' | b'\r'))
}

/// Whether the last complete line is blank.
pub(super) fn ends_with_blank_line(bytes: &[u8]) -> bool {
    let without_end = match bytes {
        [rest @ .., b'\r', b'\n'] => rest,
        [rest @ .., b'\n' | b'\r'] => rest,
        _ => return false,
    };
    let start = without_end
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(0, |at| at + 1);
    is_blank(&without_end[start..])
}

/// `text` with every line end written as `line_end`.
pub(super) fn with_line_ends(text: &str, line_end: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let line = line_at(bytes, at);
        result.push_str(&text[at..line.content_end]);
        if line.end > line.content_end {
            result.push_str(line_end);
        }
        at = line.end;
    }
    result
}
