//! Text without markup: for search, never for quotes.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

use crate::{
    AnchorStyle, Document, Source, Span,
    document::DocumentBuilder,
    links::{AnchorReader, heading_attributes},
    mdx::FILLER,
    options::ParserInput,
};

/// How a page is written, and how its headings are addressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageFormat {
    /// The language of the page.
    pub syntax: PageSyntax,
    /// The program whose rules make the anchors.
    pub anchors: AnchorStyle,
}

/// The language of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PageSyntax {
    /// CommonMark.
    #[default]
    Markdown,
    /// Markdown with parts of a program: statements, tags and expressions, which are not searched. What is between the tags
    /// of a component is prose.
    Mdx,
}

impl PageSyntax {
    /// Returns the language of the file with this name.
    #[must_use]
    pub fn of_file(name: &str) -> Self {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("mdx")) {
            true => Self::Mdx,
            false => Self::Markdown,
        }
    }
}

/// A document, its anchors and its words, read in one pass.
#[derive(Debug)]
pub struct Passages {
    /// The sections of the document.
    pub document: Document,
    /// The anchors of its headings, in the style of the format. No two are equal.
    pub anchors: Vec<String>,
    /// The text before the first heading that counts, and after each of them up to the next, without markup.
    pub texts: Vec<String>,
}

/// Reads the words of a document: text and code, without markup, link destinations, HTML tags and comments, with each
/// block on lines of its own. It is split at the top-level headings of level `deepest` and above.
///
/// Where the format lets authors give ids to headings, the id is the anchor of its heading, and neither the braces around
/// it nor HTML tags are part of the heading's text.
#[must_use]
pub fn passages(source: &Source<'_>, deepest: u8, format: PageFormat) -> Passages {
    let base = source.body_start;
    let mut builder = DocumentBuilder::default();
    let mut reader = AnchorReader::new(format.anchors);
    let mut texts = vec![PlainTextBuilder::default()];
    let mut is_in_border = false;
    let markdown = match format.syntax {
        PageSyntax::Markdown => ParserInput::of(&source.text),
        PageSyntax::Mdx => ParserInput::of_mdx(&source.text, base),
    };
    let mut attributes = AttributeReader::new(&source.text[base..], format);
    for (event, range) in markdown.events(base..source.text.len()) {
        let is_at_top = builder.is_at_top();
        let id = attributes.read(&event, &range);
        let span = Span::new(base + range.start, base + range.end);
        let Some(event) = attributes.without_attributes(event, &range) else {
            continue;
        };
        let named = attributes.as_named(&event, &range);
        let range = Span::new(range.start, range.end);
        reader.event(named.as_ref().unwrap_or(&event), range);
        if let Some(id) = id {
            reader.set_id(id);
        }
        let Some(event) = attributes.as_shown(event) else {
            continue;
        };
        builder.event(&event, span);
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

/// Keeps what is not text out of the events of a heading.
struct AttributeReader<'t> {
    body: &'t str,
    style: AnchorStyle,
    has_fillers: bool,
    is_in_heading: bool,
    /// The offset at which the text of the heading ends and its attributes begin.
    text_end: usize,
    id: Option<String>,
}

impl<'t> AttributeReader<'t> {
    fn new(body: &'t str, format: PageFormat) -> Self {
        Self {
            body,
            style: format.anchors,
            has_fillers: format.syntax == PageSyntax::Mdx,
            is_in_heading: false,
            text_end: usize::MAX,
            id: None,
        }
    }

    /// Looks at the attributes of a heading that starts. Returns the id of one that ends.
    fn read(&mut self, event: &Event<'_>, range: &Range<usize>) -> Option<String> {
        match event {
            Event::Start(Tag::Heading { .. }) if self.style.has_heading_ids() => {
                let found = heading_attributes(&self.body[range.clone()], self.style);
                self.is_in_heading = true;
                self.text_end = found
                    .as_ref()
                    .map_or(usize::MAX, |found| range.start + found.text_end);
                self.id = found.and_then(|found| found.id);
                None
            }
            Event::End(TagEnd::Heading(_)) => {
                self.is_in_heading = false;
                self.text_end = usize::MAX;
                self.id.take()
            }
            _ => None,
        }
    }

    /// Returns the event without what belongs to the attributes.
    fn without_attributes<'e>(&self, event: Event<'e>, range: &Range<usize>) -> Option<Event<'e>> {
        let end = self.text_end;
        match event {
            event if range.end <= end => Some(event),
            Event::Text(text) if range.start < end && text.len() == range.len() => {
                let kept = text.get(..end - range.start).unwrap_or_default();
                Some(Event::Text(CowStr::from(kept.to_owned())))
            }
            Event::Text(_) | Event::Code(_) | Event::InlineHtml(_) => None,
            event => Some(event),
        }
    }

    /// Returns the event as anchors are made of it, if that is another: without fillers, and with character references
    /// as they are written, where a site makes its anchors of those.
    fn as_named(&self, event: &Event<'_>, range: &Range<usize>) -> Option<Event<'t>> {
        let Event::Text(text) = event else {
            return None;
        };
        if self.has_fillers && text.contains(FILLER) {
            return Some(Event::Text(text.replace(FILLER, "").into()));
        }
        let is_at_stake = self.is_in_heading && self.style == AnchorStyle::VitePress;
        let written = is_at_stake.then(|| &self.body[range.clone()])?;
        let is_reference = written.starts_with('&') && written.ends_with(';');
        is_reference.then_some(Event::Text(CowStr::Borrowed(written)))
    }

    /// Returns the event with blanks for fillers, unless it is an HTML tag in a heading.
    fn as_shown<'e>(&self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::InlineHtml(tag) if self.is_in_heading => {
                let start = tag.get(..3).unwrap_or_default();
                start
                    .eq_ignore_ascii_case("<br")
                    .then_some(Event::SoftBreak)
            }
            Event::Text(text) if self.has_fillers && text.contains(FILLER) => {
                Some(Event::Text(text.replace(FILLER, " ").into()))
            }
            event => Some(event),
        }
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
        passages(&Source::new(markdown.as_bytes()), 0, PageFormat::default())
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
