//! The configuration of the Markdown parser. No other module constructs one.

use std::{borrow::Cow, ops::Range};

use memchr::memchr_iter;
use pulldown_cmark::{OffsetIter, Options, Parser};

use crate::mdx;

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

    /// Iterates over the events of the whole text.
    pub(crate) fn all_events(&self) -> OffsetIter<'_> {
        self.events(0..self.0.len())
    }
}

#[cfg(test)]
mod tests {
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
}
