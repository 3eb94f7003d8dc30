//! Which addresses a link may lead to.

use std::borrow::Cow;

use crate::links::{is_external, push_percent_encoded};

/// The kind of a link's destination.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkAddress<'d> {
    /// A place on the web or a mailbox, as it is written in an attribute.
    Web(Cow<'d, str>),
    /// Something that the page has to find.
    Inside,
    /// Anything else: another scheme, a host without a scheme.
    Refused,
}

impl<'d> LinkAddress<'d> {
    /// Judges a destination that the parser has decoded. Browsers ignore blanks and control characters at its start, and
    /// tabs and line breaks anywhere; here, all control characters are ignored.
    pub(super) fn of(destination: &'d str) -> Self {
        let read: Cow<'_, str> = if destination.contains(char::is_control) {
            Cow::Owned(destination.chars().filter(|c| !c.is_control()).collect())
        } else {
            Cow::Borrowed(destination)
        };
        let read = match read {
            Cow::Borrowed(read) => Cow::Borrowed(read.trim()),
            Cow::Owned(read) => Cow::Owned(read.trim().to_owned()),
        };
        if is_web(&read) {
            Self::Web(encoded(read))
        } else if is_external(&read) {
            Self::Refused
        } else {
            Self::Inside
        }
    }
}

/// Returns whether an address is on the web, with a host, or a mailbox. Without a host it would be relative to the page.
fn is_web(address: &str) -> bool {
    let behind = |scheme: &str| {
        let start = address.get(..scheme.len())?;
        let rest = &address[scheme.len()..];
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let host = behind("https://").or_else(|| behind("http://"));
    match host {
        Some(host) => !host.is_empty() && !host.starts_with(['/', '\\', '?', '#']),
        None => behind("mailto:").is_some_and(|mailbox| !mailbox.is_empty()),
    }
}

/// Encodes what cannot be in an address.
fn encoded(address: Cow<'_, str>) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`');
    if !address.contains(is_odd) {
        return address;
    }
    let mut result = String::with_capacity(address.len() + 16);
    for c in address.chars() {
        if is_odd(c) {
            push_percent_encoded(&mut result, c);
        } else {
            result.push(c);
        }
    }
    Cow::Owned(result)
}

/// Returns whether `href` stays on the server of the page, whatever the address of the page is.
pub(super) fn is_on_page_server(href: &str) -> bool {
    let has_host = href.starts_with("//") || href.starts_with("/\\");
    href.starts_with(['/', '?', '#'])
        && !has_host
        && !href.contains(|c: char| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_and_mailboxes_are_led_to() {
        for (destination, expected) in [
            (
                "https://a.example/b?c=d&e#f",
                Some("https://a.example/b?c=d&e#f"),
            ),
            ("HTTP://a", Some("HTTP://a")),
            (" https://a b\t", Some("https://a%20b")),
            ("ht\ntps://a/\"<>`", Some("https://a/%22%3C%3E%60")),
            ("mailto:a@b.example", Some("mailto:a@b.example")),
            ("https://ä.example/ö", Some("https://ä.example/ö")),
        ] {
            let web = expected.map(|address| LinkAddress::Web(Cow::Borrowed(address)));
            assert_eq!(Some(LinkAddress::of(destination)), web, "{destination:?}");
        }
        for destination in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " \u{1}javascript:alert(1)",
            "\u{a0}javascript:alert(1)",
            "java\tscript:alert(1)",
            "java\r\nscript:alert(1)",
            "java\0script:alert(1)",
            "java\u{7f}script:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "blob:https://a",
            "view-source:https://a",
            "ftp://a",
            "http:",
            "http:a",
            "http:/a",
            "http:\\\\a",
            "https://",
            "https:///a",
            "https://\\a",
            "https://?a",
            "mailto:",
            "//a.example/b",
        ] {
            assert_eq!(
                LinkAddress::of(destination),
                LinkAddress::Refused,
                "{destination:?}"
            );
        }
        for destination in [
            "",
            "a.md",
            "/a",
            "../a",
            "#b",
            "10:30.md",
            "javascript%3Aalert(1)",
            "a b:c",
            "\\\\a",
        ] {
            assert_eq!(
                LinkAddress::of(destination),
                LinkAddress::Inside,
                "{destination:?}"
            );
        }
    }

    #[test]
    fn a_page_leads_to_its_own_server() {
        for (href, expected) in [
            ("/note/a#b", true),
            ("/", true),
            ("#section-a", true),
            ("?path=a", true),
            ("", false),
            ("a", false),
            ("//a.example", false),
            ("/\\a.example", false),
            ("/\ta", false),
            ("/ a", false),
            ("javascript:alert(1)", false),
            ("https://a.example", false),
        ] {
            assert_eq!(is_on_page_server(href), expected, "{href:?}");
        }
    }
}
