//! What a passage says, without its markup: for search, never for quotes.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::options;

/// The words of a passage of Markdown: text and code, without markup, addresses of links, HTML tags and comments. Blocks
/// stand on lines of their own.
#[must_use]
pub fn plain_text(markdown: &str) -> String {
    let mut plain = String::with_capacity(markdown.len());
    let mut html = String::new();
    for (event, _) in options::events(markdown) {
        match event {
            Event::Text(text) | Event::Code(text) => plain.push_str(&text),
            Event::Html(text) => html.push_str(&text),
            Event::End(TagEnd::HtmlBlock) => {
                push_html_text(&html, &mut plain);
                html.clear();
                end_line(&mut plain);
            }
            Event::InlineHtml(_) | Event::SoftBreak | Event::HardBreak => plain.push(' '),
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. })
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link) => {}
            _ => end_line(&mut plain),
        }
    }
    plain
}

fn end_line(plain: &mut String) {
    if !plain.is_empty() && !plain.ends_with('\n') {
        plain.push('\n');
    }
}

/// What stands in a block of HTML besides comments and tags.
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
