//! Finds front matter. It is split off before the parser sees the text, so it can never become a heading.

mod edit;
mod emit;

use crate::{Span, lines::line_at};

pub use self::edit::{FrontMatterError, remove_key, set_key};

/// A front matter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// From the opening delimiter to the end of the closing line, including the line ending.
    pub block: Span,
    /// The YAML between the delimiter lines.
    pub yaml: Span,
}

/// Returns the length of the byte order mark at the start of `text`, or 0.
pub(crate) fn byte_order_mark_len(text: &str) -> usize {
    if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    }
}

/// Finds the block: `---` on the first line (after an optional byte order mark), closed by `---` or `...` on a line of
/// its own. Blanks may follow a delimiter, any line ending counts, and the closing line may be the last.
pub(crate) fn split(text: &str) -> Option<FrontMatter> {
    let bytes = text.as_bytes();
    let start = byte_order_mark_len(text);
    let opening = line_at(bytes, start);
    if delimiter(&text[start..opening.content_end]) != "---" {
        return None;
    }
    let mut at = opening.end;
    while at < bytes.len() {
        let line = line_at(bytes, at);
        if matches!(delimiter(&text[at..line.content_end]), "---" | "...") {
            return Some(FrontMatter {
                block: Span::new(start, line.end),
                yaml: Span::new(opening.end, at),
            });
        }
        at = line.end;
    }
    None
}

fn delimiter(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = split(text).map(|found| (&text[found.yaml.range()], &text[found.block.end..]));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn recognised() {
        check("---\na: 1\n---\nbody", Some(("a: 1\n", "body")));
        check(
            "\u{feff}---\r\na: 1\r\n---\r\nbody",
            Some(("a: 1\r\n", "body")),
        );
        check("---\ra: 1\r---\rbody", Some(("a: 1\r", "body")));
        check("--- \t\na: 1\n...  \nbody", Some(("a: 1\n", "body")));
        check("---\na: 1\n---", Some(("a: 1\n", "")));
        check("---\n---\nbody", Some(("", "body")));
        check("---\n\n---\n", Some(("\n", "")));
        check("---\na: |\n  x\n---\n---\n", Some(("a: |\n  x\n", "---\n")));
    }

    #[test]
    fn not_recognised() {
        check("\n---\na: 1\n---\n", None);
        check(" ---\na: 1\n---\n", None);
        check("----\na: 1\n---\n", None);
        check("---\na: 1\n ---\n", None);
        check("---", None);
        check("", None);
        check("--- x\n---\n", None);
    }
}
