//! Lines from a stream, of bounded length.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of a line ending, which do not count towards the length of a line.
const LINE_END: usize = 2;

pub(super) struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that are known to contain no line ending.
    scanned: usize,
    max_bytes: usize,
    /// Whether the input is inside a line that is too long, the rest of which is discarded.
    skipping: bool,
}

/// One line.
pub(super) enum InputLine {
    /// A line without its ending.
    Complete(Vec<u8>),
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R, max_bytes: usize) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            scanned: 0,
            max_bytes,
            skipping: false,
        }
    }

    /// Returns the next line, or `None` at the end of input. May be dropped at any await and called again.
    pub(super) async fn next(&mut self) -> Option<InputLine> {
        loop {
            let unseen = &self.buffer[self.scanned..];
            if let Some(end) = unseen.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=self.scanned + end).collect();
                self.scanned = 0;
                if std::mem::take(&mut self.skipping) {
                    continue;
                }
                return Some(self.finish(line));
            }
            self.scanned = self.buffer.len();
            if self.skipping {
                self.buffer.clear();
                self.scanned = 0;
            } else if self.buffer.len() > self.max_bytes + LINE_END {
                self.skipping = true;
                return Some(InputLine::TooLong);
            }
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(1..) => {}
                // A broken stream counts as ended.
                Ok(0) | Err(_) if self.buffer.is_empty() || self.skipping => return None,
                Ok(0) | Err(_) => {
                    self.scanned = 0;
                    let line = std::mem::take(&mut self.buffer);
                    return Some(self.finish(line));
                }
            }
        }
    }

    fn finish(&self, mut line: Vec<u8>) -> InputLine {
        for end in [b'\n', b'\r'] {
            line.pop_if(|last| *last == end);
        }
        if line.len() > self.max_bytes {
            InputLine::TooLong
        } else {
            InputLine::Complete(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], max_bytes: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, max_bytes);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await {
            lines.push(match line {
                InputLine::Complete(bytes) => {
                    String::from_utf8(bytes).expect("test input is UTF-8")
                }
                InputLine::TooLong => "TOO LONG".to_owned(),
            });
        }
        lines
    }

    #[tokio::test]
    async fn the_end_of_a_line_does_not_count_towards_its_length() {
        assert_eq!(
            lines(b"abc\nabc\r\nabcd\nabcd\r\nab", 3).await,
            ["abc", "abc", "TOO LONG", "TOO LONG", "ab"]
        );
    }

    #[tokio::test]
    async fn a_long_line_is_reported_once_and_skipped() {
        let input = [
            b"x".repeat(100_000),
            b"\nok\n".to_vec(),
            b"y".repeat(100_000),
        ]
        .concat();
        assert_eq!(lines(&input, 10).await, ["TOO LONG", "ok", "TOO LONG"]);
    }
}
