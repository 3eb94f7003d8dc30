//! The sentence around a link, to show what the link is about.

use crate::{
    Span, is_whitespace,
    lines::{before_line_end, line_at, line_start},
    whitespace::is_blank,
};

/// The most characters of a sentence. A longer one is cut on both sides.
pub const MAX_SENTENCE_CHARS: usize = 240;

/// Words that end with a full stop and rarely end a sentence. A single letter, as in `e.g.`, needs no entry.
const ABBREVIATIONS: [&str; 18] = [
    "abs", "bzw", "ca", "cf", "dr", "etc", "fig", "inkl", "mr", "mrs", "ms", "nr", "prof", "sog",
    "st", "usw", "vgl", "vs",
];

/// Returns the sentence of `text` around `span`, without the white space around it. It is part of the paragraph, list
/// item, table row, heading or line of front matter that contains the span, and has at most [`MAX_SENTENCE_CHARS`]
/// characters. Only text near the span is read.
#[must_use]
pub fn sentence_around(text: &str, span: Span) -> Span {
    let start = text.floor_char_boundary(span.start);
    let end = text.ceil_char_boundary(span.end.max(start));
    let longest = chars_after(text, start, MAX_SENTENCE_CHARS);
    if end > longest {
        return Span::new(start, longest);
    }
    // One character more than may be returned shows whether the sentence is longer.
    let from = chars_before(text, start, MAX_SENTENCE_CHARS + 1);
    let near = &text[from..chars_after(text, end, MAX_SENTENCE_CHARS + 1)];
    let inner = Span::new(start - from, end - from);
    let block = block_around(near, inner, text.starts_with("---"));
    let sentence = sentence_in(near, block, inner);
    let cut = cut(near, sentence, inner);
    Span::new(from + cut.start, from + cut.end)
}

/// Returns the block of lines that contains `span`.
fn block_around(text: &str, span: Span, has_front_matter: bool) -> Span {
    let bytes = text.as_bytes();
    let kind = |start: usize| LineKind::of(&text[start..], has_front_matter);
    let mut start = line_start(bytes, span.start);
    let mut first = kind(start);
    while matches!(first, LineKind::Text(_)) && start > 0 {
        let above = line_start(bytes, before_line_end(bytes, start));
        match kind(above) {
            LineKind::Blank | LineKind::Alone(_) => break,
            line => (start, first) = (above, line),
        }
    }
    let mut end = line_at(bytes, span.end).content_end;
    if !matches!(first, LineKind::Alone(_)) {
        let mut below = line_at(bytes, end).end;
        while below < bytes.len() && matches!(kind(below), LineKind::Text(_)) {
            let line = line_at(bytes, below);
            (end, below) = (line.content_end, line.end);
        }
    }
    let marker = match first {
        LineKind::Text(marker) | LineKind::Starts(marker) | LineKind::Alone(marker) => marker,
        LineKind::Blank => 0,
    };
    Span::new((start + marker).min(span.start), end)
}

/// The kind of a line, as far as it shows in the line itself, with the bytes of its indentation and marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Blank,
    /// The text of a paragraph.
    Text(usize),
    /// The first line of a list item or of a value in front matter.
    Starts(usize),
    /// A heading, a table row, a definition or a line of dashes.
    Alone(usize),
}

impl LineKind {
    /// Classifies the first line of `text`.
    fn of(text: &str, has_front_matter: bool) -> Self {
        let line = &text[..line_at(text.as_bytes(), 0).content_end];
        let content = line.trim_start_matches([' ', '\t', '>']);
        let indent = line.len() - content.len();
        if is_blank(content) {
            return Self::Blank;
        }
        let hashes = content.len() - content.trim_start_matches('#').len();
        if (1..=6).contains(&hashes) && content[hashes..].starts_with([' ', '\t']) {
            return Self::Alone(indent + hashes);
        }
        let is_ruler = content
            .chars()
            .all(|c| matches!(c, '-' | '=' | '*' | '_' | ' ' | '\t'));
        let is_fence = content.starts_with("```") || content.starts_with("~~~");
        let is_definition = content.starts_with('[')
            && content
                .find(']')
                .is_some_and(|at| content[at..].starts_with("]:"));
        if is_ruler || is_fence || is_definition || content.starts_with('|') {
            return Self::Alone(indent);
        }
        match item_marker(content) {
            Some(marker) => Self::Starts(indent + marker),
            None if has_front_matter && starts_with_key(content) => Self::Starts(indent),
            None => Self::Text(indent),
        }
    }
}

/// Returns the length of the marker of a list item, with its box.
fn item_marker(line: &str) -> Option<usize> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        1..=9 => line[digits..].strip_prefix(['.', ')']),
        _ => None,
    }?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let mut chars = rest.chars();
    let is_box = chars.next() == Some('[') && chars.nth(1) == Some(']');
    let content = match chars.next() {
        Some(' ') if is_box => chars.as_str(),
        _ => rest,
    };
    Some(line.len() - content.len())
}

/// Returns whether the line starts with a word and a colon, as in `key: value`.
fn starts_with_key(line: &str) -> bool {
    let is_in_key = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '"' | '\'');
    let rest = line.trim_start_matches(is_in_key);
    rest.len() < line.len() && rest.starts_with(':')
}

/// Returns the sentence around `span` in the paragraph `block`, without surrounding white space.
fn sentence_in(text: &str, block: Span, span: Span) -> Span {
    let (mut start, mut end) = (block.start, block.end);
    for (at, c) in text[block.range()].char_indices() {
        let at = block.start + at;
        if at >= span.start && at < span.end
            || !matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？')
        {
            continue;
        }
        if let Some(after) = sentence_end(&text[block.start..block.end], at - block.start, c) {
            let after = block.start + after;
            if after <= span.start {
                start = after;
            } else if at >= span.end {
                end = after;
                break;
            }
        }
    }
    let inside = &text[start..end];
    let blank = inside.len() - inside.trim_start_matches(is_whitespace).len();
    let kept = inside.trim_end_matches(is_whitespace).len();
    Span::new(
        (start + blank).min(span.start),
        (start + kept).max(span.end),
    )
}

/// Returns the end of the sentence that the sign `c` at `at` ends, with the quotation marks and brackets after it.
fn sentence_end(text: &str, at: usize, c: char) -> Option<usize> {
    const CLOSING: &[char] = &[
        '.', '!', '?', '…', '。', '！', '？', '"', '\'', ')', ']', '}', '*', '_', '»', '”', '’',
        '」', '』', '）',
    ];
    let rest = text[at + c.len_utf8()..].trim_start_matches(CLOSING);
    let end = text.len() - rest.len();
    if matches!(c, '。' | '！' | '？') || rest.is_empty() {
        return Some(end);
    }
    if !rest.starts_with(is_whitespace) {
        return None;
    }
    let goes_on = rest
        .trim_start_matches(is_whitespace)
        .starts_with(char::is_lowercase);
    (c != '.' || !goes_on && !is_abbreviated(&text[..at])).then_some(end)
}

/// Returns whether the word at the end of `text` is shortened by the full stop after it: an initial, an ordinal number
/// or a known abbreviation.
fn is_abbreviated(text: &str) -> bool {
    let start = text.trim_end_matches(char::is_alphanumeric).len();
    let word = &text[start..];
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return (1..=2).contains(&word.len()) && !text[..start].ends_with('.');
    }
    word.chars().count() == 1 || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Cuts a sentence that is too long, so that `span` stays in its middle, at white space if there is some nearby.
fn cut(text: &str, sentence: Span, span: Span) -> Span {
    let count = |from: usize, to: usize| text[from..to].chars().count();
    let (left, right) = (
        count(sentence.start, span.start),
        count(span.end, sentence.end),
    );
    let inner = count(span.start, span.end);
    if left + inner + right <= MAX_SENTENCE_CHARS {
        return sentence;
    }
    let room = MAX_SENTENCE_CHARS.saturating_sub(inner);
    let before = left.min((room / 2).max(room.saturating_sub(right)));
    let (mut start, mut end) = (
        chars_before(text, span.start, before),
        chars_after(text, span.end, room - before),
    );
    if start > sentence.start
        && let Some(blank) = text[start..span.start].find(is_whitespace)
    {
        start += blank;
    }
    if end < sentence.end
        && let Some(blank) = text[span.end..end].rfind(is_whitespace)
    {
        end = span.end + blank;
    }
    let start =
        start + (text[start..].len() - text[start..].trim_start_matches(is_whitespace).len());
    Span::new(start.min(span.start), end.min(sentence.end))
}

/// Returns the offset `count` characters before `at`, or 0.
fn chars_before(text: &str, at: usize, count: usize) -> usize {
    let mut chars = text[..at].char_indices().rev();
    match count.checked_sub(1) {
        Some(last) => chars.nth(last).map_or(0, |(start, _)| start),
        None => at,
    }
}

/// Returns the offset `count` characters after `at`, or the end of the text.
fn chars_after(text: &str, at: usize, count: usize) -> usize {
    let mut chars = text[at..].char_indices();
    chars.nth(count).map_or(text.len(), |(end, _)| at + end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the sentence around the first `[[` to `]]`.
    fn around(text: &str) -> &str {
        let start = text.find("[[").expect("a link");
        let end = start + text[start..].find("]]").expect("its end") + 2;
        &text[sentence_around(text, Span::new(start, end)).range()]
    }

    #[test]
    fn a_sentence_ends_where_it_ends() {
        for (text, expected) in [
            ("One. Two [[x]] three. Four.", "Two [[x]] three."),
            ("One! Is it [[x]]? Yes.", "Is it [[x]]?"),
            ("He said \"no.\" Then [[x]]. End", "Then [[x]]."),
            ("(See [[x]].) Next.", "(See [[x]].)"),
            ("Since [[A. B. Cee]]. Next.", "Since [[A. B. Cee]]."),
            (
                "It costs 3.50 in [[x]] v1.2. Next",
                "It costs 3.50 in [[x]] v1.2.",
            ),
            (
                "See e.g. Dr. Who, am 3. Mai, z. B. [[x]] etc. Mehr.",
                "See e.g. Dr. Who, am 3. Mai, z. B. [[x]] etc. Mehr.",
            ),
            ("It was 2026. Then [[x]].", "Then [[x]]."),
            ("一。二[[x]]三。四。", "二[[x]]三。"),
            ("One. two [[x]]. three", "One. two [[x]]. three"),
            ("[[x]]", "[[x]]"),
            ("Wait… Now [[x]]", "Now [[x]]"),
        ] {
            assert_eq!(around(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sentence_stays_in_its_block() {
        for (text, expected) in [
            (
                "Above\n\nover\nlines [[x]] and\nmore\n\nbelow",
                "over\nlines [[x]] and\nmore",
            ),
            ("Above\r\n \r\na [[x]]\r\n\r\nbelow", "a [[x]]"),
            ("# Head [[x]]\ntext", "Head [[x]]"),
            ("# Head\ntext [[x]]\n## Next", "text [[x]]"),
            (
                "- one\n- [ ] two [[x]]\n  more\n- three",
                "two [[x]]\n  more",
            ),
            ("1. one [[x]]\n2. two", "one [[x]]"),
            (
                "> quote\n>\n> this [[x]]\n> too\n\nout",
                "this [[x]]\n> too",
            ),
            (
                "| a | b |\n|---|---|\n| c | [[x]] |\n| d | e |",
                "| c | [[x]] |",
            ),
            ("---\nup: \"[[x]]\"\ntags: a\n---\ntext", "up: \"[[x]]\""),
            ("---\nup:\n  - \"[[x]]\"\n---\ntext", "\"[[x]]\""),
            ("text\n[a]: [[x]]\nmore", "[a]: [[x]]"),
            ("Title [[x]]\n===\ntext", "Title [[x]]"),
            ("```\ncode\n```\nsee [[x]]", "see [[x]]"),
            ("#tag and\n[[x]]", "#tag and\n[[x]]"),
        ] {
            assert_eq!(around(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_sentence_is_cut_around_the_link() {
        let words = "wörd ".repeat(200);
        let text = format!("{words}[[x]] {words}");
        let found = around(&text);
        assert!(found.chars().count() <= MAX_SENTENCE_CHARS);
        assert!(found.chars().count() > MAX_SENTENCE_CHARS - 20);
        assert!(
            found.starts_with("wörd ") && found.ends_with(" wörd"),
            "{found}"
        );
        let text = format!("Short [[x]] {words}");
        assert!(around(&text).starts_with("Short [[x]] wörd"));
        let text = format!("[[{}]]", "é".repeat(1_000));
        assert_eq!(around(&text).chars().count(), MAX_SENTENCE_CHARS);
        let text = format!("{0}[[x]]{0}", "字".repeat(1_000));
        assert_eq!(around(&text).chars().count(), MAX_SENTENCE_CHARS);
    }

    proptest! {
        #[test]
        fn it_is_a_bounded_part_around_the_span(
            text in "([a-z.!? é。\n>|#-]{0,12}|\\[\\[|\\]\\]|---\n|\r\n){0,40}",
            at in 0..300_usize,
            length in 0..300_usize,
        ) {
            let span = Span::new(at, at + length);
            let found = sentence_around(&text, span);
            prop_assert!(text.get(found.range()).is_some());
            prop_assert!(text[found.range()].chars().count() <= MAX_SENTENCE_CHARS);
            let start = text.floor_char_boundary(at);
            let end = text.ceil_char_boundary(at + length);
            if text[start..end].chars().count() <= MAX_SENTENCE_CHARS {
                prop_assert!(found.start <= start && end <= found.end, "{:?} in {:?}", span, text);
            }
            // Nothing beyond a blank line.
            prop_assert!(!text[found.start..start.max(found.start)].contains("\n\n"));
            prop_assert!(!text[end.min(found.end)..found.end].contains("\n\n"));
        }
    }
}
