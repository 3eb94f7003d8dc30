//! Ids as callers write them, before anything is looked up.

use sectile_markdown::trim;

/// Maximum length of an id in bytes: enough for the longest path and the longest heading together.
const MAX_ID_BYTES: usize = 1 << 13;

/// The reason why a text cannot be an id of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedId {
    /// It is too long.
    #[error("it is longer than {MAX_ID_BYTES} bytes")]
    TooLong,
    /// It contains a control character.
    #[error("it contains a control character")]
    ControlCharacter,
    /// It is an absolute path, or one from a home folder.
    #[error("it is an absolute path, and ids are relative to the folder of the notes")]
    Absolute,
    /// It contains `..`.
    #[error("it contains `..`, and ids never lead upwards")]
    LeadsUp,
    /// It is an address such as `https://…`.
    #[error("it is an address, and not the id of a note")]
    Address,
    /// Double brackets are opened and not closed, or the other way round.
    #[error("its double brackets are not balanced")]
    Brackets,
    /// It is empty, or nothing precedes the `#`.
    #[error("it does not name a note")]
    NoName,
    /// Nothing follows the `#`.
    #[error("nothing follows the `#`")]
    NoSection,
    /// A part of a path of headings is empty.
    #[error("a part of its heading path is empty")]
    EmptyHeading,
    /// A slash, a backslash or a `#` is written as `%2F`, `%5C` or `%23`.
    #[error("it contains an encoded separator, and `/` and `#` are written as they are")]
    EncodedSeparator,
    /// It contains characters such as U+200B or U+202E, or nothing but white space other than spaces.
    #[error("it contains characters that cannot be seen")]
    Invisible,
}

/// An id that may name something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GivenId {
    /// The folder of all notes.
    Top,
    /// Something in it, without brackets and alias.
    Text(String),
}

impl GivenId {
    pub(super) fn parse(id: &str) -> Result<Self, MalformedId> {
        if id.len() > MAX_ID_BYTES {
            return Err(MalformedId::TooLong);
        }
        if id.contains(char::is_control) {
            return Err(MalformedId::ControlCharacter);
        }
        let text = trim(id);
        if text.contains(is_invisible) || (text.is_empty() && id.contains(|c| c != ' ')) {
            return Err(MalformedId::Invisible);
        }
        if matches!(text, "" | "/" | "." | "./") {
            return Ok(Self::Top);
        }
        let text = match text.strip_prefix('!').unwrap_or(text).strip_prefix("[[") {
            Some(inner) => {
                let inner = inner.strip_suffix("]]").ok_or(MalformedId::Brackets)?;
                let inner = inner.split_once('|').map_or(inner, |(target, _)| target);
                // From the top, a link may start with the slash that means it.
                trim(inner.strip_prefix('/').unwrap_or(inner))
            }
            None => text,
        };
        if text.contains("[[") || text.contains("]]") {
            return Err(MalformedId::Brackets);
        }
        let (document, section) = match text.split_once('#') {
            Some((document, section)) => (document, Some(section)),
            None => (text, None),
        };
        check_path(document)?;
        match section.map(trim) {
            Some("") => Err(if document.is_empty() {
                MalformedId::NoName
            } else {
                MalformedId::NoSection
            }),
            None if document.is_empty() => Err(MalformedId::NoName),
            _ => Ok(Self::Text(text.to_owned())),
        }
    }
}

/// Returns whether a character has no width, or overrides the direction of the text after it. Those that join letters or
/// mark their direction are part of words in some scripts.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2060}'
            ..='\u{206f}' | '\u{feff}'
    )
}

/// Refuses what cannot be the path of a note in the folder.
fn check_path(path: &str) -> Result<(), MalformedId> {
    if path.contains("://") {
        return Err(MalformedId::Address);
    }
    let path = path.replace('\\', "/");
    let has_drive =
        matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    if path.starts_with('/') || path.starts_with("~/") || has_drive {
        return Err(MalformedId::Absolute);
    }
    if path.split('/').any(|segment| trim(segment) == "..") {
        return Err(MalformedId::LeadsUp);
    }
    Ok(())
}

/// An id with `%20` and the like decoded, as they are written in the destinations of Markdown links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecodedId {
    pub(super) text: String,
    /// Whether there is a slash or a backslash that was encoded.
    pub(super) has_encoded_slash: bool,
    /// Whether there is a `#` that was encoded.
    pub(super) has_encoded_hash: bool,
}

impl DecodedId {
    /// Decodes `text`. Returns `None` if nothing in it is encoded, or if the result would not be text.
    pub(super) fn new(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut decoded = Vec::with_capacity(bytes.len());
        let (mut has_encoded_slash, mut has_encoded_hash) = (false, false);
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let value = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
            let value = value.and_then(hex_value);
            has_encoded_slash |= matches!(value, Some(b'/' | b'\\'));
            has_encoded_hash |= value == Some(b'#');
            decoded.push(value.unwrap_or(*byte));
            at += if value.is_some() { 3 } else { 1 };
        }
        let decoded = String::from_utf8(decoded).ok()?;
        (decoded != text).then_some(Self {
            text: decoded,
            has_encoded_slash,
            has_encoded_hash,
        })
    }
}

/// Returns the byte that two hexadecimal digits stand for.
fn hex_value(digits: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let [high, low] = digits else {
        return None;
    };
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}
