//! The strings of a block: their values and where they are written.

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::source::Offsets;

use super::{MAX_DEPTH, MAX_NODES, Value, layout::scalar_place, scalar};

/// A string value, in offsets of the block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The decoded string.
    pub(crate) value: String,
    /// Start of the written text, after the opening quote if there is one.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quote: Option<char>,
}

impl Text {
    /// Returns a map from offsets in the value to offsets in the text between its quotes; `None` if it spans several
    /// lines.
    pub(crate) fn offsets(&self, yaml: &str) -> Option<Offsets> {
        let mut written = yaml[self.start..self.end].char_indices();
        let mut pairs = Vec::new();
        for (at, expected) in self.value.char_indices() {
            let (start, c) = written.next()?;
            let hidden = match (c, self.quote) {
                ('\'', Some('\'')) => 1,
                ('\\', Some('"')) => match written.next()?.1 {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    '\n' | '\r' => return None,
                    _ => 0,
                },
                _ if c == expected => continue,
                _ => return None,
            };
            for _ in 0..hidden {
                written.next()?;
            }
            let length = match c {
                '\'' => 2,
                _ => 2 + hidden,
            };
            pairs.push((at + expected.len_utf8(), start + length));
        }
        written.next().is_none().then(|| Offsets::new(pairs))
    }
}

/// The nodes of a block, in order, without comments and layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A string value.
    Text(String),
    /// A key or another scalar, with its tag.
    Scalar(String),
    Alias(usize),
    Open {
        is_map: bool,
        anchor: usize,
    },
    Close,
}

/// Whether the next scalar of an open collection is a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextScalar {
    Item,
    Key,
    Value,
}

/// Returns the strings of a block and all its nodes, or `None` if it is not YAML, or too large.
pub(crate) fn texts(yaml: &str) -> Option<(Vec<Text>, Vec<Node>)> {
    let offsets: Vec<usize> = yaml
        .char_indices()
        .map(|(offset, _)| offset)
        .chain([yaml.len()])
        .collect();
    let (mut texts, mut nodes) = (Vec::new(), Vec::new());
    let mut open: Vec<NextScalar> = Vec::new();
    for event in Parser::new_from_str(yaml) {
        let (event, marks) = event.ok()?;
        if nodes.len() > MAX_NODES || open.len() > MAX_DEPTH {
            return None;
        }
        let is_key = open.last() == Some(&NextScalar::Key);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref()).ok()?;
                match value {
                    Value::String(value) if !is_key => {
                        let (start, end) = scalar_place(yaml, &offsets, marks, style);
                        let quote = match style {
                            ScalarStyle::SingleQuoted => Some('\''),
                            ScalarStyle::DoubleQuoted => Some('"'),
                            _ => None,
                        };
                        nodes.push(Node::Text(value.clone()));
                        texts.push(Text {
                            value,
                            start,
                            end,
                            quote,
                        });
                    }
                    value => nodes.push(Node::Scalar(format!("{is_key} {anchor} {value:?}"))),
                }
                finish(&mut open);
            }
            Event::Alias(anchor) => {
                nodes.push(Node::Alias(anchor));
                finish(&mut open);
            }
            Event::SequenceStart(anchor, _) => {
                nodes.push(Node::Open {
                    is_map: false,
                    anchor,
                });
                open.push(NextScalar::Item);
            }
            Event::MappingStart(anchor, _) => {
                nodes.push(Node::Open {
                    is_map: true,
                    anchor,
                });
                open.push(NextScalar::Key);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                nodes.push(Node::Close);
                open.pop();
                finish(&mut open);
            }
            _ => {}
        }
    }
    Some((texts, nodes))
}

/// Notes that a node of the innermost collection has ended.
fn finish(open: &mut [NextScalar]) {
    if let Some(next) = open.last_mut() {
        *next = match next {
            NextScalar::Item => NextScalar::Item,
            NextScalar::Key => NextScalar::Value,
            NextScalar::Value => NextScalar::Key,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_with_their_places() {
        let yaml = "a: plain é text # no\n'k': 'it''s'\nlist:\n  - \"q \\\" r\"\n  - 5\n  - !!str 7\nblock: |\n  one\n  two\nflow: [[x]]\n";
        let (found, _) = texts(yaml).expect("YAML");
        let shown: Vec<(&str, &str)> = found
            .iter()
            .map(|text| (text.value.as_str(), yaml[text.start..text.end].trim_end()))
            .collect();
        assert_eq!(
            shown,
            [
                ("plain é text", "plain é text"),
                ("it's", "it''s"),
                ("q \" r", "q \\\" r"),
                ("7", "7"),
                ("one\ntwo\n", "one\n  two"),
                ("x", "x"),
            ]
        );
        let offsets: Vec<Option<usize>> = found
            .iter()
            .map(|text| Some(text.offsets(yaml)?.to_raw(text.value.len())))
            .collect();
        assert_eq!(
            offsets,
            [Some(13), Some(5), Some(6), Some(1), None, Some(1)]
        );
        assert!(texts("a: [").is_none());
        assert!(texts(&"[".repeat(200)).is_none());
    }

    #[test]
    fn escapes_are_as_long_as_they_are() {
        let yaml = r#"a: "\x41\u00e9\U0001F600\"\\\/\tz""#;
        let (found, _) = texts(yaml).expect("YAML");
        let [text] = found.as_slice() else {
            panic!("one text: {found:?}");
        };
        assert_eq!(text.value, "A\u{e9}\u{1f600}\"\\/\tz");
        let offsets = text.offsets(yaml).expect("one line");
        let z = offsets.to_raw(text.value.len() - 1);
        assert_eq!(&yaml[text.start + z..], "z\"");
    }
}
