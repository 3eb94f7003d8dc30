//! Writes values as one line of YAML that reads back as the same value.

use crate::{Value, yaml};

/// How an unquoted date compares with a requested string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DateStyle {
    /// As the string that is written there, which is all that callers are shown.
    AsText,
    /// As a date, which is not a string.
    AsDates,
}

/// The context of a scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarContext {
    /// On a line of its own.
    Block,
    /// Inside brackets or braces, where more characters are special.
    Flow,
}

/// Writes `value` on one line, with lists and mappings in flow style. A string stays a string for every parser.
pub(super) fn value(value: &Value) -> String {
    let mut text = String::new();
    push(&mut text, value, ScalarContext::Block);
    text
}

/// Writes `key` as it appears before a colon.
pub(super) fn key(key: &str) -> String {
    let mut text = String::new();
    push_text(&mut text, key, ScalarContext::Block);
    text
}

/// Returns whether `read` is the result of writing `asked` and reading it back.
pub(super) fn reads_as(asked: &Value, read: &Value, dates: DateStyle) -> bool {
    match (asked, read) {
        (Value::Number(asked), Value::Number(read)) => {
            asked == read || (asked.is_nan() && read.is_nan())
        }
        (Value::String(asked), Value::Timestamp(read)) => {
            dates == DateStyle::AsText && asked == read.as_written()
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

fn push(out: &mut String, value: &Value, place: ScalarContext) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => out.push_str(&number(*value)),
        Value::Timestamp(value) => out.push_str(value.as_written()),
        Value::String(text) => push_text(out, text, place),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index);
                push(out, item, ScalarContext::Flow);
            }
            out.push(']');
        }
        Value::Map(pairs) => {
            out.push('{');
            for (index, (key, value)) in pairs.iter().enumerate() {
                separate(out, index);
                push_text(out, key, ScalarContext::Flow);
                out.push_str(": ");
                push(out, value, ScalarContext::Flow);
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

fn push_text(out: &mut String, text: &str, place: ScalarContext) {
    if is_plain(text, place) && is_text_to_everybody(text) {
        out.push_str(text);
    } else {
        push_quoted(out, text);
    }
}

/// Returns whether `text`, unquoted, is one scalar with exactly these characters.
fn is_plain(text: &str, place: ScalarContext) -> bool {
    let mut chars = text.chars();
    let starts_well = match chars.next() {
        None | Some(',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>') => false,
        Some('\'' | '"' | '%' | '@' | '`') => false,
        Some('-' | '?') => chars.next().is_some_and(char::is_alphanumeric),
        // Ruby reads `:a` as a symbol.
        Some(':') => false,
        Some(_) => true,
    };
    starts_well
        && text.trim() == text
        && !text.chars().any(needs_escape)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && (place == ScalarContext::Block || is_plain_in_brackets(text))
}

/// Returns whether `text` can be unquoted in brackets. Old parsers fail on any colon there, as in
/// `[https://example.org]`, and ours on a trailing dash.
fn is_plain_in_brackets(text: &str) -> bool {
    !text.contains([',', '[', ']', '{', '}', ':', '?']) && !text.ends_with('-')
}

/// Returns whether `text`, unquoted, is a string to YAML 1.2 parsers as well as to YAML 1.1 parsers, which know more
/// words and numbers. Parsers disagree about details, so anything that comes close counts as something else.
fn is_text_to_everybody(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "<<", "=",
    ];
    matches!(yaml::resolve(text), Value::String(_))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        && !is_near_a_number(text)
        && !is_near_a_date(text)
}

/// Matches numbers of any base, with `_` or `,` anywhere, in base 60 (`12:30:00`), and non-finite ones.
fn is_near_a_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let digits: String = unsigned
        .chars()
        .filter(|c| !matches!(c, '_' | ','))
        .collect();
    let digits = digits.to_ascii_lowercase();
    if matches!(digits.as_str(), ".inf" | ".nan") {
        return true;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            return digits.chars().all(|c| c.is_digit(radix));
        }
    }
    let (mantissa, exponent) = match digits.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.trim_start_matches(['-', '+'])),
        None => (digits.as_str(), "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(exponent) && all_digits(fraction) && whole.split(':').all(all_digits)
}

/// Matches a year, a month and a day, with or without a time after them.
fn is_near_a_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_number = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let day = rest.bytes().take_while(u8::is_ascii_digit).count();
    let time = &rest[day..];
    is_number(year, 4..=4)
        && is_number(month, 1..=2)
        && (1..=2).contains(&day)
        && (time.is_empty() || time.starts_with(['T', 't', ' ', '\t']))
        && time.chars().all(|c| {
            c.is_ascii_digit()
                || matches!(
                    c,
                    'T' | 't' | 'Z' | 'z' | ' ' | '\t' | ':' | '.' | '+' | '-'
                )
        })
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
            (":a", "\":a\""),
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
            assert_eq!(value(&asked), expected, "{text:?}");
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
            assert_eq!(value(&Value::Number(number)), expected);
        }
    }

    /// Scalars that PyYAML (1.1), go-yaml, Psych or a YAML 1.2 parser reads as something other than a string, between
    /// bars.
    const NOT_TEXT: [&str; 4] = [
        "2024-01-01|2024-1-1|2024-01-01T10:20:30Z|2024-01-01t10:20:30.5+01:00|2024-01-01 10:20:30|2024-1-1 1:20:30 -5\
         |9999-12-31T23:59:59-23:59|0000-00-00|2024-13-45|2024-01-01\t10:20:30 Z|2024-01-01 10:20:30 +0100",
        "y|N|yes|Yes|YES|no|on|On|off|OFF|true|True|false|null|Null|~||=|<<|:a|!a|&a|*a|@a|`a|%a",
        "0|-1|+1|1.|.5|-.5|1.5e+3|1e3|1E3|1_000|1_|0_|1__0|1,000|1,000.5|0123|0o17|0x1F|0x_f|0b101|0b_|-0x1\
         |685.230_15e+03|._5|1._|.inf|-.INF|+.Inf|.nan|.NaN",
        "12:30|12:30:00|190:20:30|-190:20:30.15|1:2|+1_0:30|00:30",
    ];
    /// Scalars that all of them read as strings.
    const TEXT: &str = "1.2.3|v1.0|2024-01|2024-01-01x|2024-01-01 at noon|24-01-01|1-2|1 000|12:30 pm|a:b|0xyz|1ex|inf\
        |nan|yes please|nothing|+|..|x=1|-a|1/2|50%|12h|7th|e3|_1";

    #[test]
    fn what_some_reader_takes_for_something_else_is_quoted() {
        for text in NOT_TEXT.iter().flat_map(|texts| texts.split('|')) {
            let written = value(&Value::String(text.to_owned()));
            assert!(written.starts_with('"'), "{text:?}: {written}");
            assert!(key(text).starts_with('"'), "{text:?}");
        }
        for text in TEXT.split('|') {
            assert_eq!(value(&Value::String(text.to_owned())), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(asked in any_value(), name in "\\PC{1,8}|[-?:#&*!<>=~ ynab0-9]{1,4}") {
            let yaml = format!("{}: {}\n", key(&name), value(&asked));
            match yaml::parse(&yaml) {
                Ok(Value::Map(map)) => {
                    let (read_name, read) = map.iter().next().expect("an entry");
                    prop_assert_eq!(read_name, &name);
                    prop_assert!(reads_as(&asked, read, DateStyle::AsDates), "{:?} {:?}", yaml, read);
                }
                other => prop_assert!(false, "{:?}: {:?}", yaml, other),
            }
        }
    }
}
