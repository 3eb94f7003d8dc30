//! Front matter values: the YAML 1.2 core schema with timestamps and merge keys, within fixed bounds.
//!
//! The events come from a maintained parser; this module builds the value. It does so without recursion and counts
//! every node, including those that an alias repeats, so that neither depth nor alias bombs can cost more than
//! [`MAX_NODES`].

mod layout;
mod scalar;
mod texts;

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

pub use self::scalar::Timestamp;
pub(crate) use self::{
    layout::{Entry, Layout, Shape, layout, properties, skip_to_content},
    scalar::resolve,
    texts::{Node, Text, texts},
};

/// The deepest nesting of collections; front matter written by people is far below it.
pub(crate) const MAX_DEPTH: usize = 64;
/// The most values and keys in a block, including those that aliases repeat.
pub(crate) const MAX_NODES: usize = 100_000;

/// Number of bytes of a scalar that count as one more node, because an alias repeats its text.
const BYTES_OF_NODE: usize = 256;

/// A front matter value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number.
    Number(f64),
    /// An unquoted date, with or without a time.
    Timestamp(Timestamp),
    /// A string.
    String(String),
    /// A sequence.
    List(Vec<Self>),
    /// A mapping.
    Map(Mapping),
}

/// Key-value pairs in written order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping(Vec<(String, Value)>);

impl Mapping {
    /// Returns the value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Iterates over the pairs in written order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl FromIterator<(String, Value)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// The reason why a block has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum YamlError {
    /// Not YAML, or more than one document.
    Syntax,
    /// Collections nest too deeply.
    TooDeep,
    /// Too many values, perhaps through repeated aliases.
    TooLarge,
    /// A key occurs twice in one mapping.
    DuplicateKey,
    /// A key is itself a collection.
    ComplexKey,
    /// A tag outside the core schema.
    UnknownTag,
}

/// A [`YamlError`] and the line where it was noticed, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedYamlError {
    /// The reason.
    pub reason: YamlError,
    /// The line, which may come after the one with the mistake.
    pub line: usize,
}

/// Parses a block. An empty block is [`Value::Null`].
pub(crate) fn parse(yaml: &str) -> Result<Value, YamlError> {
    ValueBuilder::default().read(yaml)
}

/// Parses a block, with every number as the string that is written: `1.10` is not `1.1`.
pub(crate) fn parse_as_written(yaml: &str) -> Result<Value, YamlError> {
    let builder = ValueBuilder {
        keeps_numbers_as_written: true,
        ..ValueBuilder::default()
    };
    builder.read(yaml)
}

/// Parses a block of a program's settings. Tags outside the core schema, which would name parts of that program, have no
/// effect.
///
/// # Errors
/// [`LocatedYamlError`] for what is not YAML, and beyond fixed bounds.
pub fn parse_ignoring_tags(yaml: &str) -> Result<Value, LocatedYamlError> {
    let builder = ValueBuilder {
        ignores_tags: true,
        ..ValueBuilder::default()
    };
    builder.read_located(yaml)
}

#[derive(Default)]
struct ValueBuilder {
    open: Vec<OpenNode>,
    anchors: HashMap<usize, (Value, usize)>,
    nodes: usize,
    documents: usize,
    root: Option<Value>,
    keeps_numbers_as_written: bool,
    ignores_tags: bool,
}

/// A collection whose end has not been read yet.
struct OpenNode {
    anchor: usize,
    /// Node count before the collection, to know how many it contains.
    nodes_before: usize,
    collection: NodeCollection,
}

enum NodeCollection {
    List(Vec<Value>),
    Map {
        pairs: Vec<(String, Value)>,
        keys: HashSet<String>,
        merged: Vec<(String, Value)>,
        key: Option<Key>,
    },
}

enum Key {
    Merge,
    Text(String),
}

impl ValueBuilder {
    fn read(self, yaml: &str) -> Result<Value, YamlError> {
        self.read_located(yaml).map_err(|error| error.reason)
    }

    fn read_located(mut self, yaml: &str) -> Result<Value, LocatedYamlError> {
        for event in Parser::new_from_str(yaml) {
            let (event, span) = event.map_err(|error| LocatedYamlError {
                reason: YamlError::Syntax,
                // What is missing at the end is reported behind it.
                line: error.marker().line().min(yaml.lines().count().max(1)),
            })?;
            self.event(event).map_err(|reason| LocatedYamlError {
                reason,
                line: span.start.line(),
            })?;
        }
        Ok(self.root.unwrap_or(Value::Null))
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    Err(YamlError::Syntax)
                } else {
                    Ok(())
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let size = 1 + text.len() / BYTES_OF_NODE;
                self.count(size)?;
                let is_merge = style == ScalarStyle::Plain && text == "<<";
                let tag = self.known_tag(tag.as_deref());
                let value = match scalar(&text, style, tag)? {
                    Value::Number(_) if self.keeps_numbers_as_written => {
                        Value::String(text.into_owned())
                    }
                    value => value,
                };
                self.remember(anchor, &value, size);
                self.add(value, is_merge)
            }
            Event::Alias(anchor) => {
                let (value, size) = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or(YamlError::Syntax)?;
                self.count(size)?;
                self.add(value, false)
            }
            Event::SequenceStart(anchor, tag) => {
                collection_tag(self.known_tag(tag.as_deref()), "seq")?;
                self.open(anchor, NodeCollection::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                collection_tag(self.known_tag(tag.as_deref()), "map")?;
                let map = NodeCollection::Map {
                    pairs: Vec::new(),
                    keys: HashSet::new(),
                    merged: Vec::new(),
                    key: None,
                };
                self.open(anchor, map)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    /// Returns the tag, unless it is to be ignored.
    fn known_tag<'t>(&self, tag: Option<&'t Tag>) -> Option<&'t Tag> {
        const SCALARS: [&str; 6] = ["str", "null", "bool", "int", "float", "timestamp"];
        let is_known =
            |tag: &&Tag| tag.is_yaml_core_schema() && SCALARS.contains(&tag.suffix.as_str());
        tag.filter(|tag| !self.ignores_tags || is_known(tag))
    }

    fn count(&mut self, nodes: usize) -> Result<(), YamlError> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            Err(YamlError::TooLarge)
        } else {
            Ok(())
        }
    }

    fn remember(&mut self, anchor: usize, value: &Value, size: usize) {
        // The parser numbers anchors from 1; 0 means none.
        if anchor != 0 {
            self.anchors.insert(anchor, (value.clone(), size));
        }
    }

    fn open(&mut self, anchor: usize, collection: NodeCollection) -> Result<(), YamlError> {
        if self.open.len() == MAX_DEPTH {
            return Err(YamlError::TooDeep);
        }
        if let Some(OpenNode {
            collection: NodeCollection::Map { key: None, .. },
            ..
        }) = self.open.last()
        {
            return Err(YamlError::ComplexKey);
        }
        self.open.push(OpenNode {
            anchor,
            nodes_before: self.nodes,
            collection,
        });
        self.count(1)
    }

    fn close(&mut self) -> Result<(), YamlError> {
        let Some(OpenNode {
            anchor,
            nodes_before,
            collection,
        }) = self.open.pop()
        else {
            return Err(YamlError::Syntax);
        };
        let value = match collection {
            NodeCollection::List(items) => Value::List(items),
            NodeCollection::Map {
                mut pairs,
                keys,
                merged,
                ..
            } => {
                pairs.extend(first_of_each(merged, keys));
                Value::Map(Mapping(pairs))
            }
        };
        self.remember(anchor, &value, self.nodes - nodes_before);
        self.add(value, false)
    }

    /// Adds a finished value to the open collection, as its next key, or at the root.
    fn add(&mut self, value: Value, is_merge_key: bool) -> Result<(), YamlError> {
        match self.open.last_mut().map(|open| &mut open.collection) {
            None => self.root = Some(value),
            Some(NodeCollection::List(items)) => items.push(value),
            Some(NodeCollection::Map {
                key: key @ None, ..
            }) if is_merge_key => *key = Some(Key::Merge),
            Some(NodeCollection::Map {
                key: key @ None,
                keys,
                ..
            }) => {
                let text = key_text(value)?;
                if !keys.insert(text.clone()) {
                    return Err(YamlError::DuplicateKey);
                }
                *key = Some(Key::Text(text));
            }
            Some(NodeCollection::Map {
                key, pairs, merged, ..
            }) => match key.take() {
                Some(Key::Text(text)) => pairs.push((text, value)),
                _ => merged.extend(merge_source(value)?),
            },
        }
        Ok(())
    }
}

/// Returns the pairs that a merge key adds: those of a mapping, or of a list of mappings.
fn merge_source(value: Value) -> Result<Vec<(String, Value)>, YamlError> {
    match value {
        Value::Map(mapping) => Ok(mapping.0),
        Value::List(items) => Ok(items
            .into_iter()
            .map(merge_source)
            .collect::<Result<Vec<_>, _>>()?
            .concat()),
        _ => Err(YamlError::Syntax),
    }
}

fn first_of_each(
    merged: Vec<(String, Value)>,
    mut seen: HashSet<String>,
) -> impl Iterator<Item = (String, Value)> {
    merged
        .into_iter()
        .filter(move |(key, _)| seen.insert(key.clone()))
}

fn key_text(value: Value) -> Result<String, YamlError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok("null".to_owned()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(value) => Ok(value.to_string()),
        Value::Timestamp(value) => Ok(value.as_written().to_owned()),
        Value::List(_) | Value::Map(_) => Err(YamlError::ComplexKey),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, YamlError> {
    match tag.map(|tag| (tag.is_yaml_core_schema(), tag.suffix.as_str())) {
        None if style == ScalarStyle::Plain => Ok(scalar::resolve(text)),
        None | Some((true, "str")) => Ok(Value::String(text.to_owned())),
        Some((true, "null" | "bool" | "int" | "float" | "timestamp")) => Ok(scalar::resolve(text)),
        Some(_) => Err(YamlError::UnknownTag),
    }
}

fn collection_tag(tag: Option<&Tag>, expected: &str) -> Result<(), YamlError> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == expected) => {
            Err(YamlError::UnknownTag)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(yaml: &str, key: &str) -> Value {
        match parse(yaml) {
            Ok(Value::Map(map)) => map.get(key).cloned().expect("key is there"),
            other => panic!("no mapping: {other:?}"),
        }
    }

    #[test]
    fn scalars_resolve_by_the_core_schema() {
        let yaml = "a: 007\nb: 1e3\nc: \"7\"\nd: ~\ne: True\nf: 0x1F\ng: 2025-03-01\nh: !!str 5\ni: -.inf\nj:";
        assert_eq!(get(yaml, "a"), Value::Number(7.0));
        assert_eq!(get(yaml, "b"), Value::Number(1000.0));
        assert_eq!(get(yaml, "c"), Value::String("7".to_owned()));
        assert_eq!(get(yaml, "d"), Value::Null);
        assert_eq!(get(yaml, "e"), Value::Bool(true));
        assert_eq!(get(yaml, "f"), Value::Number(31.0));
        assert!(matches!(get(yaml, "g"), Value::Timestamp(_)));
        assert_eq!(get(yaml, "h"), Value::String("5".to_owned()));
        assert_eq!(get(yaml, "i"), Value::Number(f64::NEG_INFINITY));
        assert_eq!(get(yaml, "j"), Value::Null);
    }

    #[test]
    fn merge_keys_fill_in_what_is_missing() {
        let yaml = "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n";
        let Value::Map(used) = get(yaml, "use") else {
            panic!("no mapping")
        };
        assert_eq!(used.get("x"), Some(&Value::Number(1.0)));
        assert_eq!(used.get("y"), Some(&Value::Number(3.0)));
    }

    #[test]
    fn broken_blocks_have_no_value() {
        assert_eq!(parse("a: [unclosed"), Err(YamlError::Syntax));
        assert_eq!(parse("a: 1\na: 2"), Err(YamlError::DuplicateKey));
        assert_eq!(parse("[1]: 2"), Err(YamlError::ComplexKey));
        assert_eq!(parse("a: !ruby/object {}"), Err(YamlError::UnknownTag));
        assert_eq!(parse("a: 1\n--- x\n"), Err(YamlError::Syntax));
        assert_eq!(parse("a: *nowhere"), Err(YamlError::Syntax));
        assert_eq!(parse(""), Ok(Value::Null));
    }

    #[test]
    fn tags_of_a_program_can_be_ignored() {
        let yaml = "a: !!python/name:material.x.y\nb: !ENV [HOME, x]\nc: !!python/object/apply:f {k: 1}\nd: !!str 5\ne: !x\n";
        let Ok(Value::Map(map)) = parse_ignoring_tags(yaml) else {
            panic!("no mapping")
        };
        assert_eq!(map.get("a"), Some(&Value::Null));
        assert!(matches!(map.get("b"), Some(Value::List(items)) if items.len() == 2));
        assert!(matches!(map.get("c"), Some(Value::Map(_))));
        assert_eq!(map.get("d"), Some(&Value::String("5".to_owned())));
        for (yaml, reason, line) in [
            ("a: [unclosed", YamlError::Syntax, 1),
            ("a: 1\n\na: 2\n", YamlError::DuplicateKey, 3),
        ] {
            let error = LocatedYamlError { reason, line };
            assert_eq!(parse_ignoring_tags(yaml), Err(error));
        }
    }

    #[test]
    fn bombs_are_bounded() {
        let deep = format!("a: {}", "[".repeat(10_000));
        assert!(matches!(
            parse(&deep),
            Err(YamlError::TooDeep | YamlError::Syntax)
        ));
        let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            laughs += &format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(","));
        }
        assert_eq!(parse(&laughs), Err(YamlError::TooLarge));
        assert_eq!(parse(&"- x\n".repeat(200_000)), Err(YamlError::TooLarge));
    }
}
