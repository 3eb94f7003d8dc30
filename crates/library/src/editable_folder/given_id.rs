//! Ids as callers write them, before anything is looked up.

use sectile_markdown::trim;

/// The longest id, in bytes: a path and a heading, both as long as they get.
const LONGEST_ID: usize = 1 << 13;

/// The reason why a text cannot be an id of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedId {
    /// It is too long.
    #[error("it is longer than {LONGEST_ID} bytes")]
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
        if id.len() > LONGEST_ID {
            return Err(MalformedId::TooLong);
        }
        if id.contains(char::is_control) {
            return Err(MalformedId::ControlCharacter);
        }
        let text = trim(id);
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

/// Returns `text` with `%20` and the like decoded, if that changes it and gives text.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    let decoded = String::from_utf8(decoded).ok()?;
    (decoded != text).then_some(decoded)
}
