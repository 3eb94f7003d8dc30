//! Sets or removes one top-level key of a front matter block. Everything else keeps its bytes: other keys, comments,
//! order, quotes, dates and blank lines.
//!
//! An edit starts from the position at which the parser saw the entry, and is then proved: the changed note is parsed
//! again, and unless exactly what was requested is different, the edit is refused.

mod block;
mod proof;
#[cfg(test)]
mod tests;

use std::fmt;

use self::{block::YamlBlock, proof::Proof};
use super::{
    byte_order_mark_len,
    emit::{self, DateStyle, reads_as},
    split,
};
use crate::{
    Change, Changes, Mapping, Source, Span, Value, YamlError,
    lines::{dominant_line_end, line_at},
    yaml::{self, MAX_DEPTH, MAX_NODES},
};

/// Longer keys need the `? key` notation, which few YAML parsers support.
const MAX_KEY_CHARS: usize = 1000;

/// The reason why front matter cannot be changed as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// The note contains bytes that are not UTF-8.
    NotUtf8,
    /// The block is a list or a scalar.
    NotAMapping,
    /// The whole block is one mapping in braces.
    FlowRoot,
    /// The block is not YAML that Sectile can parse.
    Broken,
    /// The key to remove does not exist.
    KeyNotFound,
    /// Other keys refer to an anchor in the entry, or the key comes from a merge or an alias.
    UsesAnchors,
    /// The key is empty, too long, or contains a line break.
    InvalidKey,
    /// The block or the value has too many nodes or nests too deeply.
    TooLarge,
    /// The change would affect other keys or the text of the note.
    Unsafe,
}

impl fmt::Display for FrontMatterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "the note is not UTF-8 text",
            Self::NotAMapping => {
                "the front matter is a list or a single value instead of keys with values"
            }
            Self::FlowRoot => {
                "the front matter is one mapping in braces instead of one key per line"
            }
            Self::Broken => "the front matter is not valid YAML",
            Self::KeyNotFound => "the front matter has no such key",
            Self::UsesAnchors => "the key shares its value with others through a YAML anchor",
            Self::InvalidKey => {
                "the key is empty, longer than 1000 characters, or contains a line break"
            }
            Self::TooLarge => "the front matter or the value is too large or nests too deeply",
            Self::Unsafe => "the key cannot be changed without affecting other keys",
        })
    }
}

impl std::error::Error for FrontMatterError {}

impl From<YamlError> for FrontMatterError {
    fn from(error: YamlError) -> Self {
        match error {
            YamlError::TooDeep | YamlError::TooLarge => Self::TooLarge,
            _ => Self::Broken,
        }
    }
}

/// Returns the changes that set `key` to `value` in the front matter of the note `bytes`. A missing key is added at the
/// end, a missing block is created. If nothing differs, there are no changes.
///
/// A string stays a string when it is parsed again, also by YAML 1.1 parsers: anything that looks like a date, a number
/// or a reserved word is quoted. A string that is already there as an unquoted date stays as it is.
///
/// # Errors
///
/// [`FrontMatterError`] if the change cannot be made without affecting anything else.
pub fn set_key(bytes: &[u8], key: &str, value: &Value) -> Result<Changes, FrontMatterError> {
    check_key(key)?;
    check_size(value)?;
    let source = utf8_source(bytes)?;
    let before = mapping(&source)?;
    let old = before.get(key);
    if old.is_some_and(|old| reads_as(value, old, DateStyle::AsText)) {
        return Ok(Changes::default());
    }
    let new = NewValue { value };
    let changes = match split(&source.text) {
        None => vec![new_block(&source.text, key, new)],
        Some(found) => in_note(
            YamlBlock::new(&source.text, found).set(key, old, new)?,
            found.yaml.start,
        ),
    };
    Proof {
        source: &source,
        before: &before,
        key,
        asked: Some(new),
    }
    .of(bytes, changes)
}

/// Returns the changes that remove `key` from the front matter of the note `bytes`. Comments around it stay.
///
/// # Errors
///
/// [`FrontMatterError`] if the key does not exist, or cannot be removed without affecting anything else.
pub fn remove_key(bytes: &[u8], key: &str) -> Result<Changes, FrontMatterError> {
    check_key(key)?;
    let source = utf8_source(bytes)?;
    let before = mapping(&source)?;
    let (Some(found), Some(_)) = (split(&source.text), before.get(key)) else {
        return Err(FrontMatterError::KeyNotFound);
    };
    let removal = YamlBlock::new(&source.text, found).remove(key)?;
    let changes = in_note(vec![removal], found.yaml.start);
    Proof {
        source: &source,
        before: &before,
        key,
        asked: None,
    }
    .of(bytes, changes)
}

fn check_key(key: &str) -> Result<(), FrontMatterError> {
    if key.is_empty() || key.contains(['\n', '\r']) || key.chars().nth(MAX_KEY_CHARS).is_some() {
        Err(FrontMatterError::InvalidKey)
    } else {
        Ok(())
    }
}

fn check_size(value: &Value) -> Result<(), FrontMatterError> {
    let mut waiting = vec![(value, 1)];
    let mut nodes = 0;
    while let Some((value, depth)) = waiting.pop() {
        nodes += 1;
        let is_collection = matches!(value, Value::List(_) | Value::Map(_));
        if nodes > MAX_NODES || (is_collection && depth >= MAX_DEPTH) {
            return Err(FrontMatterError::TooLarge);
        }
        match value {
            Value::List(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Map(pairs) => waiting.extend(pairs.iter().map(|(_, value)| (value, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// A value to be written.
#[derive(Clone, Copy)]
struct NewValue<'a> {
    value: &'a Value,
}

impl NewValue<'_> {
    fn text(self) -> String {
        emit::value(self.value)
    }
}

fn utf8_source(bytes: &[u8]) -> Result<Source<'_>, FrontMatterError> {
    let source = Source::new(bytes);
    if source.is_valid_utf8() {
        Ok(source)
    } else {
        Err(FrontMatterError::NotUtf8)
    }
}

/// Returns the keys and values of a note; empty without a block or with an empty one.
fn mapping(source: &Source<'_>) -> Result<Mapping, FrontMatterError> {
    match source.front_matter_value().transpose()? {
        Some(Value::Map(mapping)) => Ok(mapping),
        None | Some(Value::Null) => Ok(Mapping::default()),
        Some(_) => Err(FrontMatterError::NotAMapping),
    }
}

/// Converts changes inside a block that starts at `start` into changes of the whole note.
fn in_note(changes: Vec<Change>, start: usize) -> Vec<Change> {
    let moved = changes.into_iter().map(|change| Change {
        span: Span::new(change.span.start + start, change.span.end + start),
        ..change
    });
    moved.collect()
}

/// Creates a block at the top of `text`, which has none.
fn new_block(text: &str, key: &str, new: NewValue<'_>) -> Change {
    let start = byte_order_mark_len(text);
    let line_end = dominant_line_end(text.as_bytes());
    let first = line_at(text.as_bytes(), start);
    let is_blank = text[start..first.content_end]
        .trim_matches([' ', '\t'])
        .is_empty();
    let gap = if is_blank { "" } else { line_end };
    let entry = entry_line(key, new);
    Change::new(
        Span::new(start, start),
        format!("---{line_end}{entry}{line_end}---{line_end}{gap}"),
    )
}

fn entry_line(key: &str, new: NewValue<'_>) -> String {
    format!("{}: {}", emit::key(key), new.text())
}
