//! Values as one line of YAML that reads back as the same value.

use crate::{Value, yaml};

/// How text is written that would read as a date without quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dates {
    /// Without quotes, as a date.
    Plain,
    /// In quotes, as text.
    Quoted,
}

/// What surrounds a scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A line of its own.
    Block,
    /// Brackets or braces, where more characters have a meaning.
    Flow,
}

/// `value` on one line; lists and mappings in flow style.
pub(super) fn value(value: &Value, dates: Dates) -> String {
    let mut text = String::new();
    push(&mut text, value, dates, Place::Block);
    text
}

/// `key` as it stands before a colon.
pub(super) fn key(key: &str) -> String {
    let mut text = String::new();
    push_text(&mut text, key, Dates::Quoted, Place::Block);
    text
}

/// Whether `read` is what comes of writing `asked`.
pub(super) fn reads_as(asked: &Value, read: &Value, dates: Dates) -> bool {
    match (asked, read) {
        (Value::Number(asked), Value::Number(read)) => {
            asked == read || (asked.is_nan() && read.is_nan())
        }
        (Value::String(asked), Value::Timestamp(read)) => {
            dates == Dates::Plain && asked == read.as_written()
        }
        (Value::List(asked), Value::List(read)) => {
            asked.len() == read.len()
                && asked
                    .iter()
                    .zip(read)
                    .all(|(asked, read)| reads_as(asked, read, dates))
        }
        (Value::Map(asked), Value::Map(read)) => {
            asked.iter().count() == read.iter().count()
                && asked
                    .iter()
                    .zip(read.iter())
                    .all(|((asked_key, asked), (read_key, read))| {
                        asked_key == read_key && reads_as(asked, read, dates)
                    })
        }
        (asked, read) => asked == read,
    }
}

/// Whether `text` would read as a date without quotes.
pub(super) fn looks_like_a_date(text: &str) -> bool {
    matches!(yaml::resolve(text), Value::Timestamp(_))
}

fn push(out: &mut String, value: &Value, dates: Dates, place: Place) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => out.push_str(&number(*value)),
        Value::Timestamp(value) => out.push_str(value.as_written()),
        Value::String(text) => push_text(out, text, dates, place),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index);
                push(out, item, dates, Place::Flow);
            }
            out.push(']');
        }
        Value::Map(pairs) => {
            out.push('{');
            for (index, (key, value)) in pairs.iter().enumerate() {
                separate(out, index);
                push_text(out, key, Dates::Quoted, Place::Flow);
                out.push_str(": ");
                push(out, value, dates, Place::Flow);
            }
            out.push('}');
        }
    }
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

fn number(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if (1e-7..1e21).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

fn push_text(out: &mut String, text: &str, dates: Dates, place: Place) {
    if is_plain(text, place) && keeps_its_type(text, dates) {
        out.push_str(text);
    } else {
        push_quoted(out, text);
    }
}

/// Whether `text` without quotes is one scalar with just these characters.
fn is_plain(text: &str, place: Place) -> bool {
    let mut chars = text.chars();
    let starts_well = match chars.next() {
        None | Some(',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>') => false,
        Some('\'' | '"' | '%' | '@' | '`') => false,
        Some('-' | '?' | ':') => chars.next().is_some_and(char::is_alphanumeric),
        Some(_) => true,
    };
    starts_well
        && text.trim() == text
        && !text.chars().any(needs_escape)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && (place == Place::Block || is_plain_in_brackets(text))
}

/// Older readers stumble over any colon in brackets, as in `[https://example.org]`, and ours over a dash before one.
fn is_plain_in_brackets(text: &str) -> bool {
    !text.contains([',', '[', ']', '{', '}', ':', '?']) && !text.ends_with('-')
}

/// Whether `text` without quotes is still text, here and for readers of YAML 1.1, who know more words and numbers.
fn keeps_its_type(text: &str, dates: Dates) -> bool {
    const WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_base_60 = text.contains(':')
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ':' | '.' | '_' | '+' | '-'));
    let is_loose_number = matches!(yaml::resolve(text.trim_end_matches('_')), Value::Number(_));
    let is_special = is_word || is_base_60 || is_loose_number || matches!(text, "<<" | "=");
    match yaml::resolve(text) {
        Value::String(_) => !is_special,
        Value::Timestamp(_) => dates == Dates::Plain,
        _ => false,
    }
}

fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                let code = u32::from(c);
                if code <= 0xff {
                    out.push_str(&format!("\\x{code:02X}"));
                } else {
                    out.push_str(&format!("\\u{code:04X}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Mapping, Timestamp};

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<f64>().prop_map(Value::Number),
            any::<i32>().prop_map(|number| Value::Number(f64::from(number))),
            "\\PC{0,12}".prop_map(Value::String),
            any::<String>().prop_map(Value::String),
            "[-?:,\\[\\]{}#&*!|>'\"%@` a0=<~\\\\\n\t]{0,6}".prop_map(Value::String),
            "[0-9:.T_+-]{1,10}".prop_map(Value::String),
            Just(Value::Timestamp(
                Timestamp::new("2025-3-1 10:20:30.5 +01:00").expect("a date")
            )),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
                proptest::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|pairs| Value::Map(pairs.into_iter().collect::<Mapping>())),
            ]
        })
    }

    #[test]
    fn scalars() {
        for (text, expected) in [
            ("plain words", "plain words"),
            ("", "\"\""),
            ("007", "\"007\""),
            ("true", "\"true\""),
            ("~", "\"~\""),
            ("yes", "\"yes\""),
            ("12:30", "\"12:30\""),
            ("1_", "\"1_\""),
            ("1.2.3", "1.2.3"),
            ("2026-01-02", "\"2026-01-02\""),
            ("- a", "\"- a\""),
            ("-a", "-a"),
            ("a: b", "\"a: b\""),
            ("a:b", "a:b"),
            ("a #b", "\"a #b\""),
            ("a#b", "a#b"),
            ("[[Link]]", "\"[[Link]]\""),
            ("it's", "it's"),
            ("say \"hi\"", "say \"hi\""),
            ("\"hi\"", "\"\\\"hi\\\"\""),
            ("a\nb", "\"a\\nb\""),
            ("\u{feff}\u{1}", "\"\\uFEFF\\x01\""),
            ("ünïcödé 🚀", "ünïcödé 🚀"),
        ] {
            let asked = Value::String(text.to_owned());
            assert_eq!(value(&asked, Dates::Quoted), expected, "{text:?}");
        }
        for (number, expected) in [
            (5.0, "5"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (1e300, "1e300"),
            (-2.5, "-2.5"),
            (f64::NEG_INFINITY, "-.inf"),
            (f64::NAN, ".nan"),
        ] {
            assert_eq!(value(&Value::Number(number), Dates::Quoted), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(asked in any_value(), name in "\\PC{1,8}|[-?:#&*!<>=~ ynab0-9]{1,4}") {
            for dates in [Dates::Plain, Dates::Quoted] {
                let yaml = format!("{}: {}\n", key(&name), value(&asked, dates));
                match yaml::parse(&yaml) {
                    Ok(Value::Map(map)) => {
                        let (read_name, read) = map.iter().next().expect("an entry");
                        prop_assert_eq!(read_name, &name);
                        prop_assert!(reads_as(&asked, read, dates), "{:?} {:?}", yaml, read);
                    }
                    other => prop_assert!(false, "{:?}: {:?}", yaml, other),
                }
            }
        }
    }
}
