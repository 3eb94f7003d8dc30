//! The configuration of the Markdown parser. No other module constructs one.

use std::{borrow::Cow, ops::Range};

use memchr::memchr_iter;
use pulldown_cmark::{OffsetIter, Options, Parser};

use crate::{lines::line_at, mdx};

/// Text as the parser reads it.
///
/// A lone CR ends a line in CommonMark, but the parser overlooks it in some blocks: after fences, in HTML, in indented
/// code. It is replaced with an LF. Both are one byte long, so offsets stay valid.
#[derive(Debug)]
pub(crate) struct ParserInput<'a>(Cow<'a, str>);

impl<'a> ParserInput<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut lone = memchr_iter(b'\r', bytes)
            .filter(|at| bytes.get(at + 1) != Some(&b'\n'))
            .peekable();
        if lone.peek().is_none() {
            return Self(Cow::Borrowed(text));
        }
        let mut read = String::with_capacity(text.len());
        let mut start = 0;
        for at in lone {
            read.push_str(&text[start..at]);
            read.push('\n');
            start = at + 1;
        }
        read.push_str(&text[start..]);
        Self(Cow::Owned(read))
    }

    /// Takes a page in MDX, whose body starts at `body_start`, without the programs in it.
    pub(crate) fn of_mdx(text: &'a str, body_start: usize) -> Self {
        match Self::of(text).0 {
            Cow::Borrowed(text) => Self(mdx::without_programs(text, body_start)),
            Cow::Owned(text) => Self(Cow::Owned(
                mdx::without_programs(&text, body_start).into_owned(),
            )),
        }
    }

    /// Iterates over plain CommonMark events of a part of the text, with byte ranges that count from the start of the
    /// part. Extensions stay off: tables, footnotes or wiki links would change what counts as text, and with it the
    /// contract's ids and flags.
    pub(crate) fn events(&self, part: Range<usize>) -> OffsetIter<'_> {
        Parser::new_ext(&self.0[part], Options::empty()).into_offset_iter()
    }

    /// Iterates over the events of a part of the text for display, with the extensions that readers expect: tables,
    /// strikethrough, tasks and footnotes. Ranges count from the start of the part.
    pub(crate) fn display_events(&self, part: Range<usize>) -> OffsetIter<'_> {
        let text = &self.0[part];
        let mut options =
            Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES;
        options.set(
            Options::ENABLE_TABLES,
            padding_of_tables(text) <= MAX_TABLE_PADDING,
        );
        Parser::new_ext(text, options).into_offset_iter()
    }

    /// Iterates over the events of the whole text.
    pub(crate) fn all_events(&self) -> OffsetIter<'_> {
        self.events(0..self.0.len())
    }
}

/// The most empty cells that tables are filled with. The parser makes every row of a table as wide as its head, and
/// limits that for one table only, to this number. With a few hundred such tables, a note of 1 MB would take gigabytes.
const MAX_TABLE_PADDING: usize = 1 << 18;

/// Returns how many empty cells the parser would add to the tables of `text`, or a little more. Bars that do not
/// separate cells hide at most one each.
fn padding_of_tables(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut padding, mut columns, mut at) = (0_usize, 0_usize, 0);
    while at < bytes.len() {
        let line = line_at(bytes, at);
        let content = &bytes[at..line.content_end];
        at = line.end;
        let bars = memchr_iter(b'|', content).count();
        if content.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            columns = 0;
            continue;
        }
        padding = padding.saturating_add(columns.saturating_sub(bars.saturating_sub(1)));
        // Only the markers of quotes can come before the second line of a table.
        let is_delimiter = |byte: &u8| {
            matches!(byte, b'|' | b'-' | b':' | b'>') || byte.is_ascii_whitespace() || *byte == 11
        };
        if content.iter().all(is_delimiter) {
            columns = columns.max(bars + 1);
        }
    }
    padding
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Tag};

    use super::*;

    #[test]
    fn only_a_lone_carriage_return_is_replaced() {
        for (text, read) in [
            ("", ""),
            ("a\nb\r\nc", "a\nb\r\nc"),
            ("a\rb\r", "a\nb\n"),
            ("\r\r\n\n\r", "\n\r\n\n\n"),
            ("é\ré", "é\né"),
        ] {
            assert_eq!(ParserInput::of(text).0, read, "{text:?}");
        }
        assert!(matches!(ParserInput::of("a\r\nb").0, Cow::Borrowed(_)));
    }

    /// Counts the empty cells that the parser added.
    fn padded(text: &str) -> usize {
        let input = ParserInput::of(text);
        let cells = input
            .display_events(0..text.len())
            .filter(|(event, _)| matches!(event, Event::Start(Tag::TableCell)));
        cells.filter(|(_, range)| range.is_empty()).count()
    }

    #[test]
    fn the_padding_of_tables_is_estimated() {
        for (text, expected) in [
            ("|a|b|c|\n|-|-|-|\n|x|\ny\n\nz\n", 4),
            ("> |a|b|c|\n> |-|-|-|\n> |x|\n> y\n", 4),
            ("- a | b | c\n  --|--|--\n  x\n  y\n", 4),
            ("|a|b|c|\r|-|-|-|\rx\ry\r", 4),
            ("|a|b|\n|-|-|\n|1|2|\n", 0),
        ] {
            assert_eq!(padded(text), expected, "{text:?}");
            let estimate = padding_of_tables(text);
            assert!(
                (expected..=2 * expected + 2).contains(&estimate),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_padding_of_tables_is_never_underestimated(
            text in "((> |- |  )?(\\||a\\||-\\||:-\\||a|-|>|[ \t\x0b\x0c]){0,9}(\n|\r|\r\n)){0,12}",
        ) {
            prop_assert!(padded(&text) <= padding_of_tables(&text));
        }

        #[test]
        fn the_padding_of_a_table_is_never_underestimated(
            rows in "((\\||a|-|>| ){0,5}\n){0,12}", prefix in "(> ){0,2}", columns in 1_usize..8,
        ) {
            let bars = |cell: &str| vec![cell; columns].join("|");
            let text = format!("|{}|\n|{}|\n{rows}", bars("a"), bars("-"));
            let text = format!("{prefix}{}", text.replace('\n', &format!("\n{prefix}")));
            prop_assert!(padded(&text) <= padding_of_tables(&text));
        }
    }
}
