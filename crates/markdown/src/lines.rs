//! Line endings (LF, CRLF and lone CR), and conversion between byte offsets and line numbers.

use memchr::{memchr_iter, memchr2, memrchr2};

/// A line and column in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// 1-based line number.
    pub line: usize,
    /// 0-based byte column inside the line.
    pub column: usize,
}

/// The start of every line of a source.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
    len: usize,
}

impl LineIndex {
    /// Finds the lines of `source` in one pass.
    #[must_use]
    pub fn new(source: &[u8]) -> Self {
        let mut starts = vec![0];
        let mut at = 0;
        while at < source.len() {
            let line = line_at(source, at);
            if line.end > line.content_end {
                starts.push(line.end);
            }
            at = line.end;
        }
        Self {
            starts,
            len: source.len(),
        }
    }

    /// Returns the number of lines; a line ending at the very end opens one more, empty, line.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the line and column of byte `offset`, or of the end if it is beyond.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.len);
        let line = self.starts.partition_point(|start| *start <= offset);
        Position {
            line,
            column: offset - self.starts[line - 1],
        }
    }

    /// Returns the offset of the first byte of the 1-based `line`.
    #[must_use]
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.starts.get(line.checked_sub(1)?).copied()
    }
}

/// A line found by [`line_at`]: its text ends at `content_end`, the next line starts at `end`.
pub(crate) struct Line {
    pub(crate) content_end: usize,
    pub(crate) end: usize,
}

/// Returns the line that starts at `start`.
pub(crate) fn line_at(source: &[u8], start: usize) -> Line {
    let content_end = memchr2(b'\n', b'\r', &source[start..]).map_or(source.len(), |at| start + at);
    let end = match source.get(content_end..) {
        Some([b'\r', b'\n', ..]) => content_end + 2,
        Some([_, ..]) => content_end + 1,
        _ => content_end,
    };
    Line { content_end, end }
}

/// Returns the start of the line that contains byte `offset`.
pub(crate) fn line_start(source: &[u8], offset: usize) -> usize {
    memrchr2(b'\n', b'\r', &source[..offset]).map_or(0, |at| at + 1)
}

/// Returns the start of the line ending before `start`, which must be the start of a line.
pub(crate) fn before_line_end(source: &[u8], start: usize) -> usize {
    match &source[..start] {
        [.., b'\r', b'\n'] => start - 2,
        _ => start - 1,
    }
}

/// Counts the line endings in a source that does not end inside one.
pub(crate) fn count_line_ends(source: &[u8]) -> usize {
    let lone = |at: &usize| source.get(at + 1) != Some(&b'\n');
    memchr_iter(b'\n', source).count() + memchr_iter(b'\r', source).filter(lone).count()
}

/// Returns the most frequent line ending of `bytes`: `\n`, `\r\n` or `\r`. Without any, or in a tie, `\n`.
#[must_use]
pub fn dominant_line_end(bytes: &[u8]) -> &'static str {
    if memchr::memchr(b'\r', bytes).is_none() {
        return "\n";
    }
    let (mut line_feeds, mut pairs, mut returns) = (0_usize, 0_usize, 0_usize);
    let mut at = 0;
    while at < bytes.len() {
        let line = line_at(bytes, at);
        match &bytes[line.content_end..line.end] {
            b"\n" => line_feeds += 1,
            b"\r\n" => pairs += 1,
            b"\r" => returns += 1,
            _ => {}
        }
        at = line.end;
    }
    if pairs > line_feeds.max(returns) {
        "\r\n"
    } else if returns > line_feeds.max(pairs) {
        "\r"
    } else {
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_kinds_of_line_end() {
        let index = LineIndex::new(b"a\nb\r\nc\rd");
        assert_eq!(index.line_count(), 4);
        assert_eq!(
            (1..=4)
                .map(|line| index.line_start(line).unwrap())
                .collect::<Vec<_>>(),
            [0, 2, 5, 7]
        );
        assert_eq!(index.position(3), Position { line: 2, column: 1 });
        assert_eq!(index.position(99), Position { line: 4, column: 1 });
        assert_eq!(index.line_start(0), None);
        assert_eq!(index.line_start(5), None);
    }

    #[test]
    fn the_most_frequent_line_end() {
        for (text, expected) in [
            ("", "\n"),
            ("a", "\n"),
            ("a\nb\r\n", "\n"),
            ("a\r\nb\r\nc\n", "\r\n"),
            ("a\rb\rc\r\n", "\r"),
            ("a\rb\r\n", "\n"),
            ("\n\r\n\r", "\n"),
        ] {
            assert_eq!(dominant_line_end(text.as_bytes()), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn offsets_survive_the_round_trip(source in "[ab\r\n]{0,40}", offset in 0_usize..40) {
            let offset = offset.min(source.len());
            let index = LineIndex::new(source.as_bytes());
            let position = index.position(offset);
            prop_assert_eq!(index.line_start(position.line).unwrap() + position.column, offset);
        }
    }
}
