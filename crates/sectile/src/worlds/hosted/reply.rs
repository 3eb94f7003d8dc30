//! The store's answer for a note: JSON of which two fields count, and only if they have the right shape.

use std::fmt;

use sectile_markdown::{Mapping, Value};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Most values in an answer, the same as in front matter. The parser itself bounds how deep they nest.
const MAX_VALUES: usize = 100_000;

/// A note as the store returns it.
#[derive(Debug, PartialEq)]
pub(super) struct StoredNote {
    fields: Mapping,
    /// The front matter, if the store returns the field.
    pub(super) front_matter: Option<Mapping>,
}

/// The error for an answer that is not JSON, or holds too much. It reveals nothing of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MalformedReply;

impl StoredNote {
    /// Reads an answer. JSON that is not a note becomes an empty note.
    pub(super) fn from_json(json: &[u8]) -> Result<Self, MalformedReply> {
        let fields = match parse(json)? {
            Value::Map(fields) => fields,
            _ => Mapping::default(),
        };
        let front_matter = match fields.get("frontmatter") {
            None | Some(Value::Null) => None,
            Some(Value::Map(mapping)) => Some(mapping.clone()),
            Some(Value::String(text)) => Some(from_text(text)?),
            // The store keeps front matter, but has none for this note.
            Some(_) => Some(Mapping::default()),
        };
        Ok(Self {
            fields,
            front_matter,
        })
    }

    /// The Markdown.
    pub(super) fn body(&self) -> &str {
        match self.fields.get("body") {
            Some(Value::String(text)) => text,
            _ => "",
        }
    }
}

/// Reads front matter from a string: JSON, possibly encoded as a JSON string again, possibly with its quotes escaped.
/// Anything else counts as none, except a broken JSON string, on which the contract's original fails.
fn from_text(text: &str) -> Result<Mapping, MalformedReply> {
    let decoded;
    let mut text = text;
    if text.starts_with('"') && text.ends_with('"') {
        let Value::String(inner) = parse(text.as_bytes())? else {
            return Err(MalformedReply);
        };
        decoded = inner;
        text = &decoded;
    }
    if !text.starts_with('{') {
        return Ok(Mapping::default());
    }
    let value = parse(text.as_bytes()).or_else(|_| parse(text.replace("\\\"", "\"").as_bytes()));
    match value {
        Ok(Value::Map(mapping)) => Ok(mapping),
        _ => Ok(Mapping::default()),
    }
}

/// Reads JSON. Lone surrogates, which programs that use UTF-16 can write but a Rust string cannot hold, become U+FFFD.
fn parse(json: &[u8]) -> Result<Value, MalformedReply> {
    parse_strictly(json).or_else(|error| match repaired(json) {
        Some(json) => parse_strictly(&json),
        None => Err(error),
    })
}

fn parse_strictly(json: &[u8]) -> Result<Value, MalformedReply> {
    let mut left = MAX_VALUES;
    let mut parser = serde_json::Deserializer::from_slice(json);
    let value = BoundedSeed(&mut left).deserialize(&mut parser);
    let value = value.map_err(|_| MalformedReply)?;
    parser.end().map_err(|_| MalformedReply)?;
    Ok(value)
}

/// Returns the JSON without a byte order mark, invalid UTF-8 and escaped lone surrogates; `None` if it has none of them.
fn repaired(json: &[u8]) -> Option<Vec<u8>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let text = String::from_utf8_lossy(json.strip_prefix(MARK).unwrap_or(json));
    let mut bytes = text.into_owned().into_bytes();
    let mut at = 0;
    while let Some(found) = bytes.iter().skip(at).position(|&byte| byte == b'\\') {
        at += found;
        let next = bytes.get(at + 6..).unwrap_or_default();
        match (escaped_unit(&bytes[at..]), escaped_unit(next)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at += 12,
            (Some(0xd800..0xe000), _) => {
                bytes[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            // Another escape: the escaped character does not start one.
            _ => at += 2,
        }
    }
    (bytes != json).then_some(bytes)
}

/// The UTF-16 code unit that an escape at the start of `bytes` stands for.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

/// Builds a value of at most the given number of parts. If a key occurs twice, the last one counts.
struct BoundedSeed<'b>(&'b mut usize);

impl<'de> DeserializeSeed<'de> for BoundedSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        let left = self.0.checked_sub(1);
        *self.0 = left.ok_or_else(|| D::Error::custom("too many values"))?;
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedSeed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(BoundedSeed(&mut *self.0))? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        while let Some(key) = fields.next_key()? {
            pairs.push((key, fields.next_value_seed(BoundedSeed(&mut *self.0))?));
        }
        // A mapping returns the first of two equal keys, but the last one must count.
        Ok(Value::Map(pairs.into_iter().rev().collect()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &str) -> Result<StoredNote, MalformedReply> {
        StoredNote::from_json(json.as_bytes())
    }

    fn title(json: &str) -> Option<Value> {
        read(json).unwrap().front_matter?.get("title").cloned()
    }

    /// The contract's table of front matter.
    #[test]
    fn front_matter_vectors() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../test_data/section_source.json")).unwrap();
        let rows = vectors["canister_frontmatter"].as_array().unwrap();
        assert_eq!(rows.len(), 10);
        for row in rows {
            let json = serde_json::json!({ "frontmatter": row["input"] }).to_string();
            let expected = match parse(row["result"]["ok"].to_string().as_bytes()) {
                Ok(Value::Map(mapping)) => mapping,
                _ => Mapping::default(),
            };
            let found = read(&json).unwrap().front_matter;
            assert_eq!(found.is_none(), row["input"].is_null(), "{row}");
            assert_eq!(found.unwrap_or_default(), expected, "{row}");
        }
    }

    #[test]
    fn front_matter_comes_in_four_shapes() {
        for field in [
            r#"{"title":"A"}"#,
            r#""{\"title\":\"A\"}""#,
            r#""\"{\\\"title\\\":\\\"A\\\"}\"""#,
            r#""{\\\"title\\\":\\\"A\\\"}""#,
        ] {
            let json = format!(r#"{{"frontmatter":{field}}}"#);
            assert_eq!(title(&json), Some(Value::String("A".to_owned())), "{json}");
        }
        for field in [
            "5",
            "true",
            "[]",
            r#""[1]""#,
            r#""---\ntitle: A\n---""#,
            r#""5""#,
        ] {
            let json = format!(r#"{{"frontmatter":{field}}}"#);
            assert_eq!(
                read(&json).unwrap().front_matter,
                Some(Mapping::default()),
                "{json}"
            );
        }
    }

    #[test]
    fn a_quoted_text_that_is_broken_is_malformed() {
        for text in ["\"", "\"a\"b\"", "\"\\\""] {
            let json = serde_json::json!({ "frontmatter": text, "body": "# A" }).to_string();
            assert_eq!(read(&json), Err(MalformedReply), "{text}");
        }
    }

    #[test]
    fn whatever_is_json_is_a_note() {
        for json in [
            "null",
            "5",
            "1.5e3",
            "true",
            "\"x\"",
            "[]",
            "[\"f\", \"# A\"]",
            "{}",
            "{\"body\":5}",
            " {} \n",
        ] {
            let note = read(json).unwrap();
            assert_eq!((note.body(), &note.front_matter), ("", &None), "{json}");
        }
        for json in [
            "",
            "<html>",
            "{",
            "{}}",
            "{\"body\":\"",
            "nul",
            "{} x",
            "{\"body\":\"\\ud8\"}",
            "{\"body\":\"\\",
        ] {
            assert_eq!(read(json), Err(MalformedReply), "{json}");
        }
    }

    /// Escapes that may occur in JSON, and the characters they are read as.
    #[test]
    fn what_only_utf_16_can_hold_is_replaced() {
        for (written, read_as) in [
            (r"\ud800", "\u{fffd}"),
            (r"\uD83D\uDE80", "🚀"),
            (r"\ud83d\ud83d\ude80", "\u{fffd}🚀"),
            (r"\udc00\ud800", "\u{fffd}\u{fffd}"),
            (r"\ud800\u0041", "\u{fffd}A"),
            (r"\\ud800\udfff", "\\ud800\u{fffd}"),
            (r"\\\ud800 \n", "\\\u{fffd} \n"),
            (r#"\ud800x\""#, "\u{fffd}x\""),
        ] {
            let note = read(&format!(r#"{{"body":"{written}"}}"#)).unwrap();
            assert_eq!(note.body(), read_as, "{written}");
            let json = format!(r#"{{"frontmatter":{{"title":"{written}"}}}}"#);
            assert_eq!(
                title(&json),
                Some(Value::String(read_as.to_owned())),
                "{json}"
            );
        }
        let note = StoredNote::from_json(b"\xef\xbb\xbf{\"body\":\"a\xff\\udfff\"}").unwrap();
        assert_eq!(note.body(), "a\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_note_or_malformed(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            drop(StoredNote::from_json(&bytes));
        }

        #[test]
        fn any_text_of_escapes_is_read(text in r#"(\\u(d8|D9|dC|df|00)[0-9a-f]{2}|\\\\|\\"|[a-z"\\]){0,12}"#) {
            let json = format!(r#"{{"body":"{text}"}}"#);
            // Anything that the strict parser accepts is left as it is.
            let strict = serde_json::from_str::<serde_json::Value>(&json).ok();
            let found = read(&json).ok().map(|note| note.body().to_owned());
            if let Some(strict) = strict {
                prop_assert_eq!(found.as_deref(), strict["body"].as_str());
            }
        }

        #[test]
        fn front_matter_means_the_same_in_all_shapes(title in "[a-zA-Z0-9 äß日🚀:,.#-]{0,20}", number in any::<i32>()) {
            let object = serde_json::json!({ "title": title, "number": number, "list": [title, null, true] });
            let text = object.to_string();
            let fields = [
                object,
                serde_json::json!(text),
                serde_json::json!(serde_json::json!(text).to_string()),
                serde_json::json!(text.replace('"', "\\\"")),
            ];
            let read_field = |field: &serde_json::Value| {
                let json = serde_json::json!({ "frontmatter": field }).to_string();
                read(&json).unwrap().front_matter.unwrap()
            };
            let first = read_field(&fields[0]);
            prop_assert_eq!(first.get("title"), Some(&Value::String(title)));
            for field in &fields[1..] {
                prop_assert_eq!(&read_field(field), &first);
            }
        }
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let json = r#"{"body":"a","frontmatter":{"title":1,"title":"A"},"body":"b","x":1,"x":[2]}"#;
        assert_eq!(title(json), Some(Value::String("A".to_owned())));
        assert_eq!(read(json).unwrap().body(), "b");
    }

    #[test]
    fn values_and_their_depth_are_bounded() {
        let deep = |depth: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(read(&deep(100)).is_ok());
        assert_eq!(read(&deep(100_000)), Err(MalformedReply));
        let many = |count: usize| format!(r#"{{"x":[{}0],"body":"b"}}"#, "0,".repeat(count));
        assert!(read(&many(1_000)).is_ok());
        assert_eq!(read(&many(MAX_VALUES)), Err(MalformedReply));
    }
}
