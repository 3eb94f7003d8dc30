//! Addresses in raw HTML: the values of `href` and `src`, where a browser would find them.

use std::ops::Range;

/// The value of an attribute, in offsets of the HTML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The value without its quotes and surrounding white space.
    pub(super) span: Range<usize>,
    /// The quote on both sides, if any.
    pub(super) quote: Option<char>,
}

/// Elements whose content is text to a browser, whatever it looks like.
const TEXT_ELEMENTS: [&str; 8] = [
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
];
/// The element whose address is the base of all others, and does not itself name a document.
const BASE: &str = "base";

/// Returns the addresses in `html`, in order. Comments, declarations, closing tags, the content of scripts and unclosed
/// tags have none. Reads every byte a fixed number of times.
pub(super) fn addresses(html: &str) -> Vec<Address> {
    let mut scanner = Scanner { html, at: 0 };
    let mut found = Vec::new();
    while let Some(start) = scanner.find("<") {
        let rest = &html[start..];
        let next = rest.as_bytes().get(1).copied().unwrap_or(b' ');
        scanner.at = start + 1;
        let is_over = if rest.starts_with("<!--") {
            // `<!-->` is a complete comment.
            scanner.at = start + 2;
            scanner.skip_behind("-->")
        } else if matches!(next, b'!' | b'?' | b'/') {
            scanner.skip_behind(">")
        } else if next.is_ascii_alphabetic() {
            scanner.tag(&mut found)
        } else {
            Some(())
        };
        if is_over.is_none() {
            break;
        }
    }
    found
}

struct Scanner<'h> {
    html: &'h str,
    at: usize,
}

impl Scanner<'_> {
    /// Finds the next occurrence of `text`.
    fn find(&self, text: &str) -> Option<usize> {
        self.html[self.at..].find(text).map(|found| self.at + found)
    }

    fn skip_behind(&mut self, text: &str) -> Option<()> {
        self.at = self.find(text)? + text.len();
        Some(())
    }

    fn peek(&self) -> Option<u8> {
        self.html.as_bytes().get(self.at).copied()
    }

    /// Advances to the first byte that matches `ends`.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> Range<usize> {
        let rest = &self.html.as_bytes()[self.at..];
        let length = rest.iter().position(|byte| ends(*byte));
        let start = self.at;
        self.at += length.unwrap_or(rest.len());
        start..self.at
    }

    /// Reads a tag from its name on, with its content where that is text. `None` at the end of the text.
    fn tag(&mut self, found: &mut Vec<Address>) -> Option<()> {
        let name = self.take_until(|byte| is_space(byte) || matches!(byte, b'/' | b'>'));
        let name = self.html[name].to_ascii_lowercase();
        let (mut href, mut src) = (None, None);
        loop {
            self.take_until(|byte| !is_space(byte) && byte != b'/');
            if self.peek()? == b'>' {
                self.at += 1;
                break;
            }
            let (attribute, address) = self.attribute()?;
            let known = match &self.html[attribute] {
                name if name.eq_ignore_ascii_case("href") => &mut href,
                name if name.eq_ignore_ascii_case("src") => &mut src,
                _ => continue,
            };
            // Of two attributes with the same name, the first counts.
            if known.is_none() {
                *known = Some(address);
            }
        }
        if name != BASE {
            let mut both: Vec<Address> = [href, src].into_iter().flatten().flatten().collect();
            both.sort_by_key(|address| address.span.start);
            found.extend(both);
        }
        if TEXT_ELEMENTS.contains(&name.as_str()) {
            self.skip_text(&name)?;
        }
        Some(())
    }

    /// Reads the name of an attribute, and its value if it has one.
    fn attribute(&mut self) -> Option<(Range<usize>, Option<Address>)> {
        let start = self.at;
        // An equals sign at the start is part of the name.
        self.at += 1;
        self.take_until(|byte| is_space(byte) || matches!(byte, b'/' | b'>' | b'='));
        let name = start..self.at;
        self.take_until(|byte| !is_space(byte));
        if self.peek()? != b'=' {
            return Some((name, None));
        }
        self.at += 1;
        self.take_until(|byte| !is_space(byte));
        let first = self.peek()?;
        let (value, quote) = if matches!(first, b'"' | b'\'') {
            self.at += 1;
            let value = self.take_until(|byte| byte == first);
            self.peek()?;
            self.at += 1;
            (value, Some(char::from(first)))
        } else {
            let value = self.take_until(|byte| is_space(byte) || byte == b'>');
            (value, None)
        };
        let text = &self.html[value.clone()];
        let kept = text.trim_matches([' ', '\t', '\n', '\r', '\x0c']);
        let before = text.len()
            - text
                .trim_start_matches([' ', '\t', '\n', '\r', '\x0c'])
                .len();
        let start = (value.start + before).min(value.end);
        let address = Address {
            span: start..start + kept.len(),
            quote,
        };
        Some((name, Some(address)))
    }

    /// Skips the text of the element `name`.
    fn skip_text(&mut self, name: &str) -> Option<()> {
        loop {
            self.skip_behind("</")?;
            let behind = self.html.as_bytes().get(self.at..self.at + name.len());
            if behind.is_some_and(|behind| behind.eq_ignore_ascii_case(name.as_bytes())) {
                return Some(());
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(html: &str) -> Vec<&str> {
        let addresses = addresses(html);
        addresses.into_iter().map(|one| &html[one.span]).collect()
    }

    #[test]
    fn addresses_are_found_where_a_browser_finds_them() {
        for (html, expected) in [
            ("<a href=\"a.md\">", &["a.md"][..]),
            ("<A HREF='a b.md' class=x>", &["a b.md"]),
            ("<a href=a.md>", &["a.md"]),
            ("<a href=a/b.md/>", &["a/b.md/"]),
            ("<img alt=\"<a href=x>\" src = \" i.png \"/>", &["i.png"]),
            ("<a\n  title='>'\n  href=\"a.md\"\n>", &["a.md"]),
            ("<a href=\"a\" href=\"b\">", &["a"]),
            ("<video src=v href=h>", &["v", "h"]),
            ("<a data-href=\"no\" xhref=no =href=no>", &[]),
            ("<a href>", &[]),
            ("<a href=>", &[""]),
            ("<base href=\"/x/\"><a href=y>", &["y"]),
            ("<!-- <a href=no> --><a href=yes>", &["yes"]),
            ("<!--> <a href=yes>", &["yes"]),
            ("<!DOCTYPE a><?x <a href=no?><a href=yes>", &["yes"]),
            ("</a href=no><a href=yes>", &["yes"]),
            (
                "<script>\"<a href=no>\"</scripts</SCRIPT><a href=yes>",
                &["yes"],
            ),
            ("<script src=yes><a href=no>", &["yes"]),
            ("a < b <1 href=no> <a href=yes", &[]),
            ("<a href=\"never closed>", &[]),
            ("<pre><a href=yes></pre>", &["yes"]),
            ("<ä href=no>", &[]),
            ("<a é=\"ü\" href='ö'>", &["ö"]),
        ] {
            assert_eq!(found(html), expected, "{html}");
        }
    }

    proptest! {
        #[test]
        fn an_address_has_neither_its_quote_nor_white_space_around_it(
            html in "(<a |<img/|</a>|<!--|-->|<script>|</script>|href=|src = |HREF|\"|'|>|[ x\né/]){0,24}",
        ) {
            let mut last = 0;
            for address in addresses(&html) {
                prop_assert!(address.span.start >= last);
                last = address.span.end;
                let text = &html[address.span.clone()];
                prop_assert_eq!(text.trim_matches([' ', '\t', '\n', '\r', '\x0c']), text);
                match address.quote {
                    Some(quote) => prop_assert!(!text.contains(quote)),
                    None => prop_assert!(!text.contains(['>', ' ', '\n'])),
                }
            }
        }
    }
}
