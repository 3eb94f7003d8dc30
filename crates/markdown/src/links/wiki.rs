//! Wiki links as Obsidian writes them: `[[Note#Heading|alias]]`.

use std::ops::Range;

use super::{Enclosure, Link, LinkForm, LinkPart};
use crate::{Span, trim};

/// A part of the text without a line break, in offsets of the decoded text.
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Code spans and HTML tags in it, in order.
    pub(super) literals: Vec<Range<usize>>,
}

/// Adds the wiki links of a run to `links`. Reads every byte once.
pub(super) fn scan(text: &str, run: &Run, links: &mut Vec<Link>) {
    let bytes = &text.as_bytes()[..run.end];
    let mut literals = run.literals.iter().peekable();
    let mut open: Option<OpenWikiLink> = None;
    let mut after_bang = false;
    let mut at = run.start;
    while at < bytes.len() {
        if let Some(literal) = literals.next_if(|literal| literal.start <= at) {
            at = at.max(literal.end);
            after_bang = false;
            continue;
        }
        let byte = bytes[at];
        let length = match byte {
            b'[' | b']' => repeated(bytes, at, byte),
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => 2,
            _ => 1,
        };
        match byte {
            b'[' if length >= 2 => {
                open = Some(OpenWikiLink {
                    start: at + length - 2,
                    is_embed: length == 2 && after_bang,
                    target_end: None,
                    brackets: 0,
                });
            }
            b'[' | b']' | b'|' | b'\\' => open = open.and_then(|open| open.meet(bytes, at, length)),
            _ => {}
        }
        if byte == b']'
            && let Some(link) = open
                .as_ref()
                .and_then(|open| open.closed_by(text, at, length))
        {
            links.extend(link);
            open = None;
        }
        after_bang = byte == b'!';
        at += length;
    }
}

/// Returns the alias of a wiki link in `text`, unless it has none or an empty one.
pub(crate) fn alias<'t>(text: &'t str, link: &Link) -> Option<&'t str> {
    let target = link.fragment.as_ref().unwrap_or(&link.path);
    let behind = text.get(target.span.end..link.span.end.checked_sub(2)?)?;
    let (_, alias) = behind.split_once('|')?;
    Some(trim(alias)).filter(|alias| !alias.is_empty())
}

fn repeated(bytes: &[u8], at: usize, byte: u8) -> usize {
    bytes[at..]
        .iter()
        .take_while(|found| **found == byte)
        .count()
}

/// A wiki link of which only the start has been read.
struct OpenWikiLink {
    /// Offset of the two opening brackets.
    start: usize,
    is_embed: bool,
    /// Start of the alias, which ends the target.
    target_end: Option<usize>,
    /// Number of single brackets open in the alias.
    brackets: usize,
}

impl OpenWikiLink {
    /// Returns the state of the link after `length` bytes of a bracket, a bar or a backslash; `None` if it cannot be a
    /// link.
    fn meet(mut self, bytes: &[u8], at: usize, length: usize) -> Option<Self> {
        match (bytes[at], self.target_end) {
            (b'|', None) => self.target_end = Some(at),
            // In a table the bar is escaped, or it would end the cell.
            (b'\\', None) if length == 2 && bytes[at + 1] == b'|' => self.target_end = Some(at),
            (b'[', None) => return None,
            (b'[', Some(_)) => self.brackets += 1,
            (b']', None) if length == 1 => return None,
            (b']', Some(_)) if length == 1 => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        Some(self)
    }

    /// Returns the link if the `length` brackets at `at` close it; the inner value is `None` if it names nothing.
    fn closed_by(&self, text: &str, at: usize, length: usize) -> Option<Option<Link>> {
        let of_alias = self.brackets.min(length.checked_sub(2)?);
        let target = trimmed(text, self.start + 2..self.target_end.unwrap_or(at));
        let hash = text[target.clone()]
            .find('#')
            .map(|hash| target.start + hash);
        let path = trimmed(text, target.start..hash.unwrap_or(target.end));
        let fragment = hash.map(|hash| trimmed(text, hash + 1..target.end));
        let part = |range: Range<usize>| LinkPart {
            text: text[range.clone()].to_owned(),
            span: Span::new(range.start, range.end),
        };
        let names_something = fragment.is_some() || !path.is_empty();
        let is_external = text[path.clone()].contains("://");
        Some((names_something && !is_external).then(|| Link {
            form: if self.is_embed {
                LinkForm::WikiEmbed
            } else {
                LinkForm::Wiki
            },
            span: Span::new(self.start - usize::from(self.is_embed), at + of_alias + 2),
            path: part(path),
            fragment: fragment.map(part),
            in_angle_brackets: false,
            enclosure: Enclosure::Text,
            uses: Vec::new(),
        }))
    }
}

/// Trims white space from `range`.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let whole = &text[range.clone()];
    let kept = trim(whole);
    let start = range.start + (whole.len() - whole.trim_start_matches(crate::is_whitespace).len());
    start.min(range.end)..(start + kept.len()).min(range.end)
}
