//! Parsing and writing headings.

use super::EditError;
use crate::{Change, Source, Span, lines::line_at};

/// The parts of a top-level heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadingParts {
    /// A heading written as `## Text ##`.
    Atx {
        marks: Span,
        content: Span,
        closing: Option<Span>,
    },
    /// A heading written as text above an underline.
    Setext { content: Span, underline: Span },
}

/// Returns the span of the heading's text as written: without opening marks, closing marks and underline.
pub(crate) fn written_text(bytes: &[u8], heading: Span) -> Span {
    match parts(bytes, heading) {
        HeadingParts::Atx { content, .. } | HeadingParts::Setext { content, .. } => content,
    }
}

const LEVELS: std::ops::RangeInclusive<u8> = 1..=6;

/// Splits the heading at `heading`, which covers whole lines, into its parts.
pub(super) fn parts(bytes: &[u8], heading: Span) -> HeadingParts {
    let indent = count(bytes, heading.start, heading.end, |byte| byte == b' ');
    let marks_start = heading.start + indent;
    let marks_len = count(bytes, marks_start, heading.end, |byte| byte == b'#');
    let after = bytes[..heading.end].get(marks_start + marks_len);
    let is_atx = LEVELS.contains(&u8::try_from(marks_len).unwrap_or(0))
        && after.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    if is_atx {
        return atx(
            bytes,
            heading,
            Span::new(marks_start, marks_start + marks_len),
        );
    }
    let mut at = heading.start;
    let mut underline_start = heading.start;
    while at < heading.end {
        underline_start = at;
        at = line_at(&bytes[..heading.end], at).end;
    }
    let underline_end = line_at(&bytes[..heading.end], underline_start).content_end;
    HeadingParts::Setext {
        content: trimmed(bytes, Span::new(heading.start, underline_start)),
        underline: trimmed(bytes, Span::new(underline_start, underline_end)),
    }
}

fn atx(bytes: &[u8], heading: Span, marks: Span) -> HeadingParts {
    let line = Span::new(
        marks.end,
        line_at(&bytes[..heading.end], heading.start).content_end,
    );
    let text = trimmed(bytes, line);
    let closing_len = bytes[text.range()]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'#')
        .count();
    let closing_start = text.end - closing_len;
    let stands_alone =
        closing_start == text.start || matches!(bytes[closing_start - 1], b' ' | b'\t');
    if closing_len > 0 && stands_alone {
        HeadingParts::Atx {
            marks,
            content: trimmed(bytes, Span::new(text.start, closing_start)),
            closing: Some(Span::new(closing_start, text.end)),
        }
    } else {
        HeadingParts::Atx {
            marks,
            content: text,
            closing: None,
        }
    }
}

/// Writes a heading on one line, without a line ending.
pub(super) fn write(level: u8, heading: &str) -> Result<String, EditError> {
    if !LEVELS.contains(&level) {
        return Err(EditError::LevelOutOfRange);
    }
    let text = checked(heading)?;
    Ok(format!("{} {text}", "#".repeat(usize::from(level))))
}

/// Trims the heading, and escapes a trailing `#` that would be read as a closing mark.
fn checked(heading: &str) -> Result<String, EditError> {
    if heading.contains(['\n', '\r']) {
        return Err(EditError::HeadingHasLineBreak);
    }
    let text = heading.trim_matches([' ', '\t']);
    if crate::trim(text).is_empty() || text.contains('\0') {
        return Err(EditError::EmptyHeading);
    }
    let open = text.trim_end_matches('#');
    let closes = open.len() < text.len() && (open.is_empty() || open.ends_with([' ', '\t']));
    Ok(if closes {
        format!("{open}\\{}", &text[open.len()..])
    } else {
        text.to_owned()
    })
}

/// Returns the changes that give the heading at `span` another level.
pub(super) fn with_level(bytes: &[u8], span: Span, level: u8) -> Result<Vec<Change>, EditError> {
    if !LEVELS.contains(&level) {
        return Err(EditError::LevelOutOfRange);
    }
    let mark = "#".repeat(usize::from(level));
    match parts(bytes, span) {
        HeadingParts::Atx { marks, closing, .. } => {
            let mut changes = vec![Change::new(marks, mark.clone())];
            // A closing mark as long as the opening one stays that way.
            changes.extend(
                closing
                    .filter(|closing| closing.len() == marks.len())
                    .map(|closing| Change::new(closing, mark)),
            );
            Ok(changes)
        }
        HeadingParts::Setext { underline, .. } if level <= 2 => {
            let sign = if level == 1 { "=" } else { "-" };
            Ok(vec![Change::new(underline, sign.repeat(underline.len()))])
        }
        HeadingParts::Setext { content, underline } => {
            let line = one_line(bytes, content);
            let written = write(level, &line)?;
            if text_of(&written) != text_of_setext(bytes, span) {
                return Err(EditError::HeadingCannotBeWritten);
            }
            Ok(vec![Change::new(
                Span::new(content.start, underline.end),
                written,
            )])
        }
    }
}

/// Returns the changes that give the heading at `span` another text.
pub(super) fn with_text(
    bytes: &[u8],
    span: Span,
    level: u8,
    heading: &str,
) -> Result<Vec<Change>, EditError> {
    let text = checked(heading)?;
    match parts(bytes, span) {
        HeadingParts::Atx { content, .. } if !content.is_empty() => {
            Ok(vec![Change::new(content, text)])
        }
        HeadingParts::Atx { marks, closing, .. } => {
            let end = closing.map_or(marks.end, |closing| closing.end);
            let changed = Span::new(marks.start, end);
            Ok(vec![Change::new(changed, write(level, heading)?)])
        }
        HeadingParts::Setext { content, underline } => {
            let plain = heading.trim_matches([' ', '\t']);
            let sign = if level == 1 { "=" } else { "-" };
            let alone = format!("{plain}\n{}", sign.repeat(3));
            if text_of(&alone).is_some() && text_of(&alone) == text_of(&write(level, heading)?) {
                Ok(vec![Change::new(content, plain)])
            } else {
                let changed = Span::new(content.start, underline.end);
                Ok(vec![Change::new(changed, write(level, heading)?)])
            }
        }
    }
}

/// Returns the heading's text if `markdown` is exactly one heading.
fn text_of(markdown: &str) -> Option<String> {
    let document = Source::fragment(markdown).parse();
    match document.sections() {
        [only] if only.heading == Span::new(0, markdown.len()) => Some(only.text.clone()),
        _ => None,
    }
}

fn text_of_setext(bytes: &[u8], span: Span) -> Option<String> {
    let text = std::str::from_utf8(span.slice(bytes)).ok()?;
    text_of(text.trim_end_matches(['\n', '\r']))
}

fn one_line(bytes: &[u8], content: Span) -> String {
    let text = String::from_utf8_lossy(content.slice(bytes));
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

fn count(bytes: &[u8], start: usize, end: usize, matches: impl Fn(u8) -> bool) -> usize {
    bytes[start..end]
        .iter()
        .take_while(|byte| matches(**byte))
        .count()
}

/// Trims blanks and line endings from `span`.
fn trimmed(bytes: &[u8], span: Span) -> Span {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let slice = span.slice(bytes);
    let Some(first) = slice.iter().position(|byte| !is_space(byte)) else {
        return Span::new(span.start, span.start);
    };
    let last = slice
        .iter()
        .rposition(|byte| !is_space(byte))
        .unwrap_or(first);
    Span::new(span.start + first, span.start + last + 1)
}
