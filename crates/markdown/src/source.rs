//! A note's bytes prepared for parsing: decoded, with front matter split off.

use std::borrow::Cow;

use crate::{Document, FrontMatter, Span, Value, YamlError, front_matter, trim_end, yaml};

/// Longer front matter is not read for links and properties. Far above what people write by hand.
pub(crate) const MAX_FRONT_MATTER_BYTES: usize = 1 << 20;

/// The decoded text of a note, and a map from its offsets back to the original bytes.
///
/// Bytes that are not UTF-8, and NUL, are read as U+FFFD. Public spans are always offsets into the original bytes, so
/// that a hash or an excerpt is made from what is on disk.
#[derive(Debug)]
pub struct Source<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) offsets: Offsets,
    /// The front matter, in offsets of `text`.
    front_matter: Option<FrontMatter>,
    /// Start of the Markdown in `text`: after front matter, or after a byte order mark.
    pub(crate) body_start: usize,
    valid_utf8: bool,
}

impl<'a> Source<'a> {
    /// Decodes `bytes` and looks for front matter. Never fails.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let (text, offsets, valid_utf8) = match simdutf8::basic::from_utf8(bytes) {
            Ok(text) if memchr::memchr(0, bytes).is_none() => {
                (Cow::Borrowed(text), Offsets::default(), true)
            }
            checked => {
                let (text, offsets) = decode_with_replacements(bytes);
                (Cow::Owned(text), offsets, checked.is_ok())
            }
        };
        let front_matter = front_matter::split(&text);
        let block_end = front_matter.map_or(0, |block| block.block.end);
        let body_start = block_end + front_matter::byte_order_mark_len(&text[block_end..]);
        Self {
            text,
            offsets,
            front_matter,
            body_start,
            valid_utf8,
        }
    }

    /// Takes text that is Markdown from its first byte on, whatever it looks like: a part of a document.
    pub(crate) fn fragment(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            offsets: Offsets::default(),
            front_matter: None,
            body_start: 0,
            valid_utf8: true,
        }
    }

    /// Parses the sections of the document.
    #[must_use]
    pub fn parse(&self) -> Document {
        Document::parse(self)
    }

    /// Returns whether every byte was UTF-8. Only such a note may be edited.
    #[must_use]
    pub fn is_valid_utf8(&self) -> bool {
        self.valid_utf8
    }

    /// Returns the front matter block, in bytes of the original.
    #[must_use]
    pub fn front_matter(&self) -> Option<FrontMatter> {
        self.front_matter.map(|found| FrontMatter {
            block: self.offsets.span_to_raw(found.block),
            yaml: self.offsets.span_to_raw(found.yaml),
        })
    }

    /// Returns the YAML of the front matter, in offsets of `text`.
    pub(crate) fn yaml(&self) -> Option<Span> {
        self.front_matter.map(|found| found.yaml)
    }

    /// Parses the front matter; returns `None` without a block.
    #[must_use]
    pub fn front_matter_value(&self) -> Option<Result<Value, YamlError>> {
        self.front_matter
            .map(|found| yaml::parse(&self.text[found.yaml.range()]))
    }

    /// Parses the front matter with every number as it is written, for comparing and not for counting. Returns `None`
    /// without a block, and for one that is broken or longer than [`MAX_FRONT_MATTER_BYTES`].
    pub(crate) fn front_matter_as_written(&self) -> Option<Value> {
        let yaml = &self.text[self.yaml()?.range()];
        let parsed = (yaml.len() <= MAX_FRONT_MATTER_BYTES).then(|| yaml::parse_as_written(yaml));
        parsed?.ok()
    }

    /// Returns whether the Markdown, without trailing white space, is longer than `limit` UTF-16 code units.
    #[must_use]
    pub fn body_exceeds_utf16_units(&self, limit: usize) -> bool {
        let body = &self.text[self.body_start..];
        // A code unit never takes less than one byte, so most notes need not be counted.
        body.len() > limit && {
            let body = trim_end(body);
            body.len() > limit && body.encode_utf16().count() > limit
        }
    }
}

/// Offsets just after each replaced character: in the decoded text, and in the original bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offsets(Vec<(usize, usize)>);

impl Offsets {
    /// Creates the map from these pairs, in order.
    pub(crate) fn new(pairs: Vec<(usize, usize)>) -> Self {
        Self(pairs)
    }

    /// Returns whether offsets in the text and in the bytes are the same.
    pub(crate) fn is_identity(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn to_raw(&self, offset: usize) -> usize {
        let after = self.0.partition_point(|(text, _)| *text <= offset);
        match after.checked_sub(1).map(|last| self.0[last]) {
            Some((text, raw)) => raw + (offset - text),
            None => offset,
        }
    }

    pub(crate) fn span_to_raw(&self, span: Span) -> Span {
        Span::new(self.to_raw(span.start), self.to_raw(span.end))
    }
}

fn decode_with_replacements(bytes: &[u8]) -> (String, Offsets) {
    let mut text = String::with_capacity(bytes.len());
    let mut offsets = Vec::new();
    let mut raw = 0;
    let mut replace = |text: &mut String, raw: usize| {
        text.push(char::REPLACEMENT_CHARACTER);
        offsets.push((text.len(), raw));
    };
    for chunk in bytes.utf8_chunks() {
        for piece in chunk.valid().split_inclusive('\0') {
            raw += piece.len();
            match piece.strip_suffix('\0') {
                Some(kept) => {
                    text.push_str(kept);
                    replace(&mut text, raw);
                }
                None => text.push_str(piece),
            }
        }
        if !chunk.invalid().is_empty() {
            raw += chunk.invalid().len();
            replace(&mut text, raw);
        }
    }
    (text, Offsets(offsets))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn replaced_bytes_keep_their_offsets() {
        let source = Source::new(b"a\xff\xfeb\0c");
        assert_eq!(source.text, "a\u{fffd}\u{fffd}b\u{fffd}c");
        assert!(!source.is_valid_utf8());
        let c = source.text.find('c').unwrap();
        assert_eq!(source.offsets.to_raw(c), 5);
        assert_eq!(source.offsets.to_raw(source.text.len()), 6);
        assert!(Source::new(b"a\0").is_valid_utf8());
    }

    #[test]
    fn the_length_limit_counts_utf16_units_of_the_trimmed_body() {
        let over = |text: &str, limit| Source::new(text.as_bytes()).body_exceeds_utf16_units(limit);
        assert!(!over("🚀🚀  \n\u{feff}", 4));
        assert!(over("🚀🚀x", 4));
        assert!(!over("---\ntitle: long front matter\n---\nabc", 3));
    }

    proptest! {
        #[test]
        fn decoding_agrees_with_the_standard_library(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let source = Source::new(&bytes);
            prop_assert_eq!(source.text.as_ref(), String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}"));
            prop_assert_eq!(source.offsets.to_raw(source.text.len()), bytes.len());
        }
    }
}
