//! Blank lines between sections. They are managed by the engine, not by the caller.

use crate::{
    Span,
    lines::{line_at, line_start},
};

/// How much space to leave between a payload and the existing text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Keep the separators as they are.
    AsFound,
    /// Ensure a blank line after the payload, because without one it would run into the next section.
    Wide,
}

/// Returns the part of `span` from its first non-blank line to the end of the text of its last one, without the line
/// ending: the content of a section as callers see it. Empty, at the start of `span`, if every line is blank.
#[must_use]
pub fn content_span(bytes: &[u8], span: Span) -> Span {
    // From both ends, so that long text between them need not be scanned.
    let slice = span.slice(bytes);
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let (Some(first), Some(last)) = (
        slice.iter().position(is_text),
        slice.iter().rposition(is_text),
    ) else {
        return Span::new(span.start, span.start);
    };
    let start = line_start(slice, first);
    let end = line_at(slice, last).content_end;
    Span::new(span.start + start, span.start + end)
}

/// Returns whether a line contains only blanks.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Returns the end of the last non-blank line of `bytes[..end]`, including its line ending. The blank lines after it
/// are separators.
pub(super) fn without_trailing_blank_lines(bytes: &[u8], end: usize) -> usize {
    let content = content_span(bytes, Span::new(0, end));
    if content.is_empty() {
        return 0;
    }
    line_at(&bytes[..end], content.end).end
}

/// Returns the separator needed after `before` so that a heading starts on a new line after a blank one.
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

/// Returns whether the last complete line is blank.
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

/// Returns `text` with every line ending written as `line_end`.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line-by-line implementation, as the contract is worded.
    fn slow_content_span(bytes: &[u8], span: Span) -> Span {
        let slice = span.slice(bytes);
        let (mut start, mut end, mut at) = (None, 0, 0);
        while at < slice.len() {
            let line = line_at(slice, at);
            if !is_blank(&slice[at..line.content_end]) {
                start = start.or(Some(at));
                end = line.content_end;
            }
            at = line.end;
        }
        let start = start.unwrap_or(0);
        Span::new(span.start + start, span.start + end)
    }

    proptest! {
        #[test]
        fn content_is_found_from_both_ends(before in "[ a\r\n]{0,4}", text in "[ \t\r\nab\x0cé]{0,24}") {
            let whole = format!("{before}{text}");
            let span = Span::new(before.len(), whole.len());
            prop_assert_eq!(
                content_span(whole.as_bytes(), span),
                slow_content_span(whole.as_bytes(), span)
            );
        }
    }
}
