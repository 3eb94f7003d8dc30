//! Text without markup: for search, never for quotes.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::{
    Document, Source, Span, document::DocumentBuilder, links::AnchorReader, options::ParserInput,
};

/// A document, its anchors and its words, read in one pass.
#[derive(Debug)]
pub struct Passages {
    /// The sections of the document.
    pub document: Document,
    /// The anchors of its headings, as [`Anchors::anchor`](crate::Anchors::anchor) returns them.
    pub anchors: Vec<String>,
    /// The text before the first heading that counts, and after each of them up to the next, without markup.
    pub texts: Vec<String>,
}

/// Reads the words of a document: text and code, without markup, link destinations, HTML tags and comments, with each
/// block on lines of its own. It is split at the top-level headings of level `deepest` and above.
#[must_use]
pub fn passages(source: &Source<'_>, deepest: u8) -> Passages {
    let mut builder = DocumentBuilder::default();
    let mut reader = AnchorReader::default();
    let mut texts = vec![PlainTextBuilder::default()];
    let mut is_in_border = false;
    let markdown = ParserInput::of(&source.text);
    for (event, range) in markdown.events(source.body_start..source.text.len()) {
        let is_at_top = builder.is_at_top();
        let base = source.body_start;
        builder.event(&event, Span::new(base + range.start, base + range.end));
        reader.event(&event, Span::new(range.start, range.end));
        match &event {
            Event::Start(Tag::Heading { level, .. }) if is_at_top && *level as u8 <= deepest => {
                texts.push(PlainTextBuilder::default());
                is_in_border = true;
            }
            Event::End(TagEnd::Heading(_)) if is_in_border => is_in_border = false,
            _ if is_in_border => {}
            _ => {
                if let Some(text) = texts.last_mut() {
                    text.event(&event);
                }
            }
        }
    }
    Passages {
        document: builder.finish(source),
        anchors: reader.finish(),
        texts: texts.into_iter().map(|plain| plain.text).collect(),
    }
}

/// Collects words from parser events.
#[derive(Default)]
pub(crate) struct PlainTextBuilder {
    pub(crate) text: String,
    html: String,
}

impl PlainTextBuilder {
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) | Event::Code(text) => self.text.push_str(text),
            Event::Html(text) => self.html.push_str(text),
            Event::End(TagEnd::HtmlBlock) => {
                push_html_text(&self.html, &mut self.text);
                self.html.clear();
                end_line(&mut self.text);
            }
            Event::InlineHtml(_) | Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. })
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link) => {}
            _ => end_line(&mut self.text),
        }
    }
}

fn end_line(plain: &mut String) {
    if !plain.is_empty() && !plain.ends_with('\n') {
        plain.push('\n');
    }
}

/// Appends the text of an HTML block, without comments and tags.
fn push_html_text(html: &str, plain: &mut String) {
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        plain.push_str(&rest[..start]);
        plain.push(' ');
        let tag = &rest[start..];
        let end = if tag.starts_with("<!--") {
            tag.find("-->").map(|at| at + 3)
        } else {
            tag.find('>').map(|at| at + 1)
        };
        rest = end.map_or("", |end| &tag[end..]);
    }
    plain.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_text(markdown: &str) -> String {
        passages(&Source::new(markdown.as_bytes()), 0)
            .texts
            .concat()
    }

    #[test]
    fn words_stay_and_markup_goes() {
        for (markdown, plain) in [
            (
                "Some *text* with [a link](https://x.y/z) and `code`.",
                "Some text with a link and code.\n",
            ),
            ("<!--\nhead: hidden\n-->\n\nSeen.", "Seen.\n"),
            (
                "- one\n- two\n\n```rust\nlet x = 1;\n```\n",
                "one\ntwo\nlet x = 1;\n",
            ),
            ("a\nb <br> c", "a b   c\n"),
            ("#### Deeper\n\ntext", "Deeper\ntext\n"),
            ("![Alt words](x.png)", "Alt words\n"),
        ] {
            assert_eq!(plain_text(markdown).trim_start(), plain, "{markdown}");
        }
        assert_eq!(
            plain_text("<p>In HTML</p>\n")
                .split_whitespace()
                .collect::<Vec<_>>(),
            ["In", "HTML"]
        );
        assert_eq!(plain_text("<!-- never closed").trim(), "");
    }
}
