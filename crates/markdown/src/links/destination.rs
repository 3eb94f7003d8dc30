//! The destination of a CommonMark link: finding, decoding and encoding it.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::Event;

use super::{LinkForm, LinkPart};
use crate::{Span, is_whitespace, options::ParserInput};

/// A destination as written, without its angle brackets or quotes, in offsets of the decoded text.
pub(super) struct Destination {
    pub(super) span: Range<usize>,
    pub(super) in_angle_brackets: bool,
    pub(super) escapes: Escapes,
}

/// How special characters are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// With a backslash, or as an entity.
    Markdown,
    /// As an entity only.
    Html,
    /// Not at all: the parser has decoded them.
    Decoded,
}

impl Escapes {
    pub(super) fn of(form: LinkForm) -> Self {
        match form {
            LinkForm::Html => Self::Html,
            _ => Self::Markdown,
        }
    }
}

/// Returns whether an unescaped destination leads out of the folder: it has a scheme or a host.
pub(crate) fn is_external(destination: &str) -> bool {
    has_scheme(destination) || destination.starts_with("//")
}

/// Splits a destination that the parser has decoded into the part that names a document and the part after `#`.
pub(crate) fn decoded_parts(destination: &str) -> (String, Option<String>) {
    let whole = Destination {
        span: 0..destination.len(),
        in_angle_brackets: false,
        escapes: Escapes::Decoded,
    };
    let (path, fragment) = whole.parts(destination);
    (path.text, fragment.map(|fragment| fragment.text))
}

/// Returns whether `destination` starts with a scheme, such as `mailto:`.
pub(super) fn has_scheme(destination: &str) -> bool {
    destination.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'))
    })
}

impl Destination {
    /// Finds the destination that starts in `within`, after white space, and decodes to what the parser reported.
    pub(super) fn locate(text: &str, within: Range<usize>, parsed: &str) -> Option<Self> {
        let inside = text.get(within.clone())?;
        // A line break may be followed by the markers of the quotes that contain the link.
        let starts = [&[' ', '\t', '\n', '\r'][..], &[' ', '\t', '\n', '\r', '>']];
        starts.iter().find_map(|skipped| {
            let start = within.end - inside.trim_start_matches(*skipped).len();
            let found = Self::at(text, start..within.end)?;
            (found.unescaped(text) == parsed).then_some(found)
        })
    }

    /// Reads the destination at the start of `within`.
    fn at(text: &str, within: Range<usize>) -> Option<Self> {
        let bytes = &text.as_bytes()[..within.end];
        let in_angle_brackets = bytes.get(within.start) == Some(&b'<');
        let start = within.start + usize::from(in_angle_brackets);
        let (mut end, mut parentheses) = (start, 0_usize);
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'>' if in_angle_brackets => break,
                b'\n' | b'\r' if in_angle_brackets => return None,
                0..=b' ' if !in_angle_brackets => break,
                b'(' => parentheses += 1,
                b')' if parentheses == 0 && !in_angle_brackets => break,
                b')' => parentheses = parentheses.saturating_sub(1),
                b'\\' if bytes.get(end + 1).is_some_and(u8::is_ascii_punctuation) => end += 1,
                _ => {}
            }
            end += 1;
        }
        Some(Self {
            span: start..end,
            in_angle_brackets,
            escapes: Escapes::Markdown,
        })
    }

    /// Returns the destination with backslash escapes and entities decoded.
    pub(super) fn unescaped<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let raw = &text[self.span.clone()];
        if raw.contains(['\\', '&']) {
            Cow::Owned(pieces(raw, self.escapes).map(|(_, piece)| piece).collect())
        } else {
            Cow::Borrowed(raw)
        }
    }

    /// Splits the destination into the part that names a document and the part after `#`. A query belongs to neither.
    pub(super) fn parts(&self, text: &str) -> (LinkPart, Option<LinkPart>) {
        let (mut path, mut fragment) = (String::new(), None::<String>);
        let (mut path_end, mut fragment_start) = (None, self.span.end);
        for (range, piece) in pieces(&text[self.span.clone()], self.escapes) {
            match (&mut fragment, piece.as_ref()) {
                (Some(fragment), piece) => fragment.push_str(piece),
                (None, "#") => {
                    path_end.get_or_insert(self.span.start + range.start);
                    fragment_start = self.span.start + range.end;
                    fragment = Some(String::new());
                }
                (None, "?") => {
                    path_end.get_or_insert(self.span.start + range.start);
                }
                (None, piece) if path_end.is_none() => path.push_str(piece),
                _ => {}
            }
        }
        let path_end = path_end.unwrap_or(self.span.end);
        (
            LinkPart {
                span: Span::new(self.span.start, path_end),
                text: percent_decoded(path),
            },
            fragment.map(|fragment| LinkPart {
                span: Span::new(fragment_start, self.span.end),
                text: percent_decoded(fragment),
            }),
        )
    }
}

/// Iterates over the characters of a raw destination, each with the bytes that encode it.
pub(super) fn pieces(
    raw: &str,
    escapes: Escapes,
) -> impl Iterator<Item = (Range<usize>, Cow<'_, str>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &raw[at..];
        let first = rest.chars().next()?;
        let start = at;
        let escaped = rest[first.len_utf8()..]
            .chars()
            .next()
            .filter(|_| escapes == Escapes::Markdown)
            .filter(|next| first == '\\' && next.is_ascii_punctuation());
        let (length, piece) = match (first, escaped) {
            ('\\', Some(_)) => (2, Cow::Borrowed(&rest[1..2])),
            ('&', _) if escapes != Escapes::Decoded => {
                entity(rest).unwrap_or((1, Cow::Borrowed(&rest[..1])))
            }
            _ => (first.len_utf8(), Cow::Borrowed(&rest[..first.len_utf8()])),
        };
        at += length;
        Some((start..at, piece))
    })
}

/// Returns the entity at the start of `text`, decoded, with its length. The parser, which has the table, decodes it.
fn entity(text: &str) -> Option<(usize, Cow<'static, str>)> {
    const LONGEST: usize = 40;
    let end = text
        .bytes()
        .take(LONGEST)
        .skip(1)
        .position(|byte| byte != b'#' && !byte.is_ascii_alphanumeric())?
        + 2;
    let entity = &text.get(..end).filter(|entity| entity.ends_with(';'))?;
    let decoded: String = ParserInput::of(entity)
        .all_events()
        .filter_map(|(event, _)| match event {
            Event::Text(text) => Some(text.to_string()),
            _ => None,
        })
        .collect();
    (decoded != **entity).then_some((end, Cow::Owned(decoded)))
}

/// Decodes percent signs in `text`. A sequence that would not be UTF-8 stays as it is.
fn percent_decoded(text: String) -> String {
    if !text.contains('%') {
        return text;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let decoded = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match decoded {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or(text)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Encodes `text` for a destination. If `like`, the text it replaces, percent-encodes non-ASCII letters, so does the
/// result.
pub(super) fn encoded(text: &str, in_angle_brackets: bool, like: &[u8]) -> String {
    let only_ascii = like
        .windows(2)
        .any(|pair| pair[0] == b'%' && matches!(pair[1], b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'));
    let last_semicolon = text.rfind(';').unwrap_or(0);
    let mut result = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let keeps = match c {
            ' ' | '(' | ')' => in_angle_brackets,
            // It could start an entity.
            '&' => at >= last_semicolon,
            '-' | '.' | '_' | '~' | '!' | '$' | '\'' | '*' | '+' | ',' | ';' | '=' | ':' | '@'
            | '/' => true,
            _ if c.is_ascii() => c.is_ascii_alphanumeric(),
            _ => !only_ascii && !is_whitespace(c) && !c.is_control(),
        };
        if keeps {
            result.push(c);
        } else {
            push_percent_encoded(&mut result, c);
        }
    }
    result
}

/// Escapes an encoded destination for an attribute between `quote`s.
pub(super) fn for_attribute(encoded: &str, quote: Option<char>) -> String {
    let mut result = String::with_capacity(encoded.len());
    for c in encoded.chars() {
        let keeps = match c {
            // It could start an entity, even without a semicolon.
            '&' => false,
            '\'' => quote == Some('"'),
            '=' => quote.is_some(),
            _ => true,
        };
        if keeps {
            result.push(c);
        } else {
            push_percent_encoded(&mut result, c);
        }
    }
    result
}

/// Appends the percent-encoded bytes of `c`.
pub(crate) fn push_percent_encoded(result: &mut String, c: char) {
    let mut buffer = [0; 4];
    for byte in c.encode_utf8(&mut buffer).bytes() {
        result.push('%');
        for digit in [byte >> 4, byte & 15] {
            result.extend(char::from_digit(digit.into(), 16).map(|c| c.to_ascii_uppercase()));
        }
    }
}
