//! Comments as Obsidian writes them: `%%like this%%` within a line of text, or over several lines.

use std::ops::Range;

/// Finds comments in the text of a document.
#[derive(Debug, Default)]
pub(super) struct CommentReader {
    marks: Vec<CommentMark>,
    block: usize,
}

/// A comment delimiter: two percent signs.
#[derive(Clone, Copy, Debug)]
struct CommentMark {
    at: usize,
    /// Number of the paragraph or other block that contains it.
    block: usize,
    /// Whether only white space and quote markers precede it on its line.
    starts_line: bool,
}

const MARK: &str = "%%";

impl CommentReader {
    /// Reads the text at `range`, which is neither code nor HTML.
    pub(super) fn text(&mut self, text: &str, range: Range<usize>) {
        for (offset, _) in text[range.clone()].match_indices(MARK) {
            let at = range.start + offset;
            // An event that starts with an escaped character starts after its backslash.
            if offset == 0 && text[..at].ends_with('\\') {
                continue;
            }
            let before = text[..at].trim_end_matches([' ', '\t', '>']);
            self.marks.push(CommentMark {
                at,
                block: self.block,
                starts_line: before.is_empty() || before.ends_with(['\n', '\r']),
            });
        }
    }

    /// Marks the start or end of a paragraph or other block.
    pub(super) fn border(&mut self) {
        self.block += 1;
    }

    /// Returns the comments, in order. A comment at the start of a line ends at the next delimiter, wherever that is;
    /// any other must end in its paragraph. A delimiter without a counterpart is text.
    pub(super) fn finish(mut self) -> Vec<Range<usize>> {
        self.marks.sort_by_key(|mark| mark.at);
        let mut comments = Vec::new();
        let mut marks = self.marks.into_iter().peekable();
        while let Some(start) = marks.next() {
            let ends = |end: &CommentMark| start.starts_line || end.block == start.block;
            if let Some(end) = marks.next_if(ends) {
                comments.push(start.at..end.at + MARK.len());
            }
        }
        comments
    }
}

/// Returns whether `offset` is in one of `comments`, which must be in order.
pub(super) fn is_inside(comments: &[Range<usize>], offset: usize) -> bool {
    let after = comments.partition_point(|comment| comment.start <= offset);
    after
        .checked_sub(1)
        .is_some_and(|last| offset < comments[last].end)
}
