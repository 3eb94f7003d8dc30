//! The opening paragraph of a document.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{Source, heading_text::collapse_whitespace, options::ParserInput};

impl Source<'_> {
    /// Returns the text of the first top-level paragraph that has any, without markup, images and HTML: one line, and
    /// one more for each hard break. A table does not count, because to a reader it is not a paragraph, although plain
    /// CommonMark parses it as one.
    #[must_use]
    pub fn first_paragraph(&self) -> Option<String> {
        let (mut depth, mut images) = (0_usize, 0_usize);
        let mut paragraph: Option<String> = None;
        for (event, _) in ParserInput::of(&self.text).events(self.body_start..self.text.len()) {
            match &event {
                Event::Start(Tag::Paragraph) if depth == 0 => paragraph = Some(String::new()),
                Event::Start(Tag::Image { .. }) => images += 1,
                Event::End(TagEnd::Image) => images -= 1,
                Event::Text(text) | Event::Code(text) if images == 0 => {
                    if let Some(paragraph) = &mut paragraph {
                        paragraph.push_str(text);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    let is_hard = matches!(event, Event::HardBreak);
                    if let Some(paragraph) = &mut paragraph {
                        paragraph.push(if is_hard { '\n' } else { ' ' });
                    }
                }
                _ => {}
            }
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            if depth == 0
                && let Some(text) = paragraph.take()
            {
                let lines = text.split('\n');
                let lines = lines.map(|line| collapse_whitespace(line.chars(), line.len()));
                let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
                let text = lines.join("\n");
                if !text.is_empty() && !text.starts_with('|') {
                    return Some(text);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_paragraph_is_found_behind_everything_else() {
        for (markdown, expected) in [
            ("", None),
            ("# Only\n\n- a list\n\n> a quote\n", None),
            ("One *and* `two`.\n", Some("One and two.")),
            ("# Title\n\nFirst\nline.\n\nSecond.\n", Some("First line.")),
            (
                "---\ntitle: x\n---\n<!-- head\n\nof file -->\n\n# T\n\nText.\n",
                Some("Text."),
            ),
            (
                "[![badge](b.svg)](x)\n\nAfter <b>badges</b>.\n",
                Some("After badges."),
            ),
            ("| a | b |\n|---|---|\n| 1 | 2 |\n\nText.\n", Some("Text.")),
            (
                "```\ncode\n```\n\n    more\n\n- item\n\nA &amp; b\\*\n",
                Some("A & b*"),
            ),
            ("\u{feff}\r\nFirst\r\nline\r\n", Some("First line")),
            (
                "What: *a*  \nWhy: b\\\nc\nd\n",
                Some("What: a\nWhy: b\nc d"),
            ),
            ("a\0b\n", Some("a\u{fffd}b")),
        ] {
            let found = Source::new(markdown.as_bytes()).first_paragraph();
            assert_eq!(found.as_deref(), expected, "{markdown:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_lines_of_text(markdown in "[-# a!\\[\\]()<>`*|\n]{0,60}") {
            if let Some(text) = Source::new(markdown.as_bytes()).first_paragraph() {
                prop_assert!(text.split('\n').all(|line| !line.is_empty() && line.trim() == line));
            }
        }
    }
}
