//! Locates the top-level entries of a block in its text, for edits that leave all other entries alone.
//!
//! The parser's marks count characters, and its ends are exact only for plain scalars and aliases. The rest is found in
//! the text.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span as Marks};

use super::{key_text, scalar};

/// The structure of a block.
pub(crate) enum Layout {
    /// Nothing but comments and blank lines.
    Empty,
    /// A list or a scalar.
    NotAMapping,
    /// A mapping in braces.
    FlowMapping,
    /// A mapping with its entries on lines of their own.
    BlockMapping {
        /// The entries, in written order.
        entries: Vec<Entry>,
        /// End of the mapping: the end of the text, or a document end marker.
        end: usize,
    },
}

/// A key and its value, in offsets of the block's text.
pub(crate) struct Entry {
    /// The key, or `None` for a merge key or an alias.
    pub(crate) key: Option<String>,
    pub(crate) key_start: usize,
    pub(crate) key_end: usize,
    pub(crate) shape: Shape,
    /// Offset after the last byte that is certainly part of the value; `key_end` if there is none. A block collection
    /// may continue after it with empty values.
    pub(crate) value_end: usize,
    /// The same for each item of a list.
    pub(crate) item_ends: Vec<usize>,
    /// Whether an anchor inside is referred to by another entry.
    pub(crate) is_used_elsewhere: bool,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not written at all.
    Nothing,
    /// A plain or quoted scalar, an alias or a flow collection, on one line or more.
    Inline,
    /// A literal or folded scalar.
    BlockScalar,
    /// Items after dashes.
    BlockList,
    /// Keys on lines of their own.
    BlockMap,
}

/// Returns the layout of a block that has a value, or `None` if it has none.
pub(crate) fn layout(yaml: &str) -> Option<Layout> {
    let mut finder = LayoutReader {
        text: yaml,
        offsets: yaml
            .char_indices()
            .map(|(offset, _)| offset)
            .chain([yaml.len()])
            .collect(),
        depth: 0,
        root: Layout::Empty,
        entries: Vec::new(),
        expects_value: false,
        anchors: HashMap::new(),
    };
    for event in Parser::new_from_str(yaml) {
        let (event, marks) = event.ok()?;
        finder.event(&event, marks)?;
    }
    Some(finder.root)
}

/// Returns the first byte at or after `at` that is neither white space nor in a comment.
pub(crate) fn skip_to_content(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = at;
    let mut in_comment = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' | b'\r' => in_comment = false,
            b' ' | b'\t' => {}
            b'#' => in_comment = true,
            _ if in_comment => {}
            _ => break,
        }
        at += 1;
    }
    at
}

/// Reads the tags and anchors at `at`: returns the end of the last one, if any, and the start of their node.
pub(crate) fn properties(text: &str, at: usize) -> (Option<usize>, usize) {
    let mut end = None;
    let mut at = at;
    while text[at..].starts_with(['&', '!']) {
        let after = text[at..]
            .find([' ', '\t', '\n', '\r'])
            .map_or(text.len(), |length| at + length);
        end = Some(after);
        at = skip_to_content(text, after);
    }
    (end, at)
}

/// Returns the range of a scalar's text: between its quotes if it has any, and after its header if it is a block
/// scalar. `offsets` holds the byte offset of each character, and the end.
pub(super) fn scalar_place(
    text: &str,
    offsets: &[usize],
    marks: Marks,
    style: ScalarStyle,
) -> (usize, usize) {
    let offset = |character: usize| offsets.get(character).copied().unwrap_or(text.len());
    let (_, start) = properties(text, offset(marks.start.index()));
    match style {
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
            let inside = (start + 1).min(text.len());
            (inside, (quoted_end(text, start) - 1).max(inside))
        }
        _ => (start, offset(marks.end.index()).max(start)),
    }
}

struct LayoutReader<'a> {
    text: &'a str,
    /// The byte offset of each character, and the end.
    offsets: Vec<usize>,
    depth: usize,
    root: Layout,
    entries: Vec<Entry>,
    expects_value: bool,
    /// The entry that defines each anchor.
    anchors: HashMap<usize, usize>,
}

impl LayoutReader<'_> {
    fn event(&mut self, event: &Event<'_>, marks: Marks) -> Option<()> {
        let start = self.offset(marks.start.index());
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let end = self.scalar_end(start, marks, *style, text);
                if self.depth == 1 && !self.expects_value {
                    let is_merge = *style == ScalarStyle::Plain && text == "<<";
                    let value = scalar(text, *style, tag.as_deref()).ok()?;
                    let key = (!is_merge).then(|| key_text(value)).transpose().ok()?;
                    self.key(key, start, end.unwrap_or(start));
                } else {
                    let shape = match style {
                        ScalarStyle::Literal | ScalarStyle::Folded => Shape::BlockScalar,
                        ScalarStyle::Plain if end.is_none() => Shape::Nothing,
                        _ => Shape::Inline,
                    };
                    self.node(shape, end);
                }
                self.define(*anchor);
            }
            Event::Alias(anchor) => {
                let end = self.offset(marks.end.index());
                if self.depth == 1 && !self.expects_value {
                    self.key(None, start, end);
                } else {
                    self.node(Shape::Inline, Some(end));
                }
                self.alias(*anchor);
            }
            Event::SequenceStart(anchor, _) => self.open(Shape::BlockList, *anchor),
            Event::MappingStart(anchor, _) => self.open(Shape::BlockMap, *anchor),
            Event::SequenceEnd => self.close(start, ']', false),
            Event::MappingEnd => self.close(start, '}', true),
            _ => {}
        }
        Some(())
    }

    fn offset(&self, character: usize) -> usize {
        self.offsets
            .get(character)
            .copied()
            .unwrap_or(self.text.len())
    }

    /// Returns the end of a scalar, or `None` if it is not written, or written only as lines without text.
    fn scalar_end(
        &self,
        start: usize,
        marks: Marks,
        style: ScalarStyle,
        text: &str,
    ) -> Option<usize> {
        let end = self.offset(marks.end.index());
        match style {
            ScalarStyle::Plain => (end > start).then_some(end),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                let (_, quote) = properties(self.text, start);
                Some(quoted_end(self.text, quote))
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let blank = [' ', '\t', '\n', '\r'];
                (!text.trim_matches(blank).is_empty())
                    .then(|| self.text[..end].trim_end_matches(blank).len())
            }
        }
    }

    fn key(&mut self, key: Option<String>, key_start: usize, key_end: usize) {
        self.expects_value = true;
        self.entries.push(Entry {
            key,
            key_start,
            key_end,
            shape: Shape::Nothing,
            value_end: key_end,
            item_ends: Vec::new(),
            is_used_elsewhere: false,
        });
    }

    /// Handles a scalar or an alias that is not a top-level key.
    fn node(&mut self, shape: Shape, end: Option<usize>) {
        if self.depth == 0 {
            self.root = Layout::NotAMapping;
            return;
        }
        let depth = self.depth;
        if let Some(entry) = self.entries.last_mut() {
            match depth {
                1 => {
                    entry.shape = shape;
                    self.expects_value = false;
                }
                2 => entry.item_ends.push(entry.key_end),
                _ => {}
            }
        }
        self.reach(end);
    }

    /// Extends the value of the last entry to `end`.
    fn reach(&mut self, end: Option<usize>) {
        if let (Some(entry), Some(end)) = (self.entries.last_mut(), end) {
            entry.value_end = entry.value_end.max(end);
            if let Some(item_end) = entry.item_ends.last_mut() {
                *item_end = (*item_end).max(end);
            }
        }
    }

    fn open(&mut self, shape: Shape, anchor: usize) {
        match (self.depth, self.entries.last_mut()) {
            (1, Some(entry)) => {
                entry.shape = shape;
                self.expects_value = false;
            }
            (2, Some(entry)) => entry.item_ends.push(entry.key_end),
            _ => {}
        }
        self.depth += 1;
        self.define(anchor);
    }

    fn close(&mut self, start: usize, bracket: char, is_mapping: bool) {
        self.depth = self.depth.saturating_sub(1);
        // The parser ends a block collection at the next token, which is never a closing bracket.
        let is_flow = self.text[start..].starts_with(bracket);
        if self.depth == 0 {
            self.root = match (is_mapping, is_flow) {
                (true, false) => Layout::BlockMapping {
                    entries: std::mem::take(&mut self.entries),
                    end: start,
                },
                (true, true) => Layout::FlowMapping,
                (false, _) => Layout::NotAMapping,
            };
        } else if is_flow {
            self.reach(Some(start + bracket.len_utf8()));
            if let (1, Some(entry)) = (self.depth, self.entries.last_mut()) {
                entry.shape = Shape::Inline;
            }
        }
    }

    fn define(&mut self, anchor: usize) {
        // The parser numbers anchors from 1; 0 means none.
        if let (1.., Some(entry)) = (anchor, self.entries.len().checked_sub(1)) {
            self.anchors.insert(anchor, entry);
        }
    }

    fn alias(&mut self, anchor: usize) {
        if let Some(entry) = self.anchors.get(&anchor)
            && entry + 1 != self.entries.len()
        {
            self.entries[*entry].is_used_elsewhere = true;
        }
    }
}

/// Returns the end of the quoted scalar that starts at `start`, including the closing quote.
fn quoted_end(text: &str, start: usize) -> usize {
    let mut bytes = text.bytes().enumerate().skip(start);
    let quote = bytes.next().map(|(_, quote)| quote);
    while let Some((at, byte)) = bytes.next() {
        let next = text.as_bytes().get(at + 1).copied();
        if byte == b'\\' && quote == Some(b'"') {
            bytes.next();
        } else if Some(byte) == quote {
            if byte == b'\'' && next == quote {
                bytes.next();
            } else {
                return at + 1;
            }
        }
    }
    text.len()
}
