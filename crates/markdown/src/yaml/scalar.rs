//! The meaning of unquoted scalars: the YAML 1.2 core schema, and dates.

use jiff::{
    SignedDuration,
    civil::{Date, DateTime},
};

use super::Value;

/// An unquoted date or date-time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp {
    written: String,
    instant: DateTime,
}

impl Timestamp {
    /// Parses `written` as an unquoted date or date-time.
    #[must_use]
    pub fn new(written: &str) -> Option<Self> {
        match resolve(written) {
            Value::Timestamp(timestamp) => Some(timestamp),
            _ => None,
        }
    }

    /// Returns the text as written in the front matter.
    #[must_use]
    pub fn as_written(&self) -> &str {
        &self.written
    }

    /// Formats the time in UTC, with milliseconds: `2025-03-01T00:00:00.000Z`.
    #[must_use]
    pub fn to_iso(&self) -> String {
        let at = self.instant;
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.millisecond()
        )
    }
}

/// Returns the value of an unquoted scalar.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text)
            .map(Value::Number)
            .or_else(|| timestamp(text).map(Value::Timestamp))
            .unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn number(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let magnitude = match unsigned {
        ".inf" | ".Inf" | ".INF" => f64::INFINITY,
        ".nan" | ".NaN" | ".NAN" if unsigned == text => f64::NAN,
        _ => match unsigned.as_bytes() {
            [b'0', b'x', ..] => radix(&unsigned[2..], 16)?,
            [b'0', b'o', ..] => radix(&unsigned[2..], 8)?,
            [b'0', b'b', ..] => radix(&unsigned[2..], 2)?,
            _ => decimal(unsigned)?,
        },
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn radix(digits: &str, radix: u32) -> Option<f64> {
    if digits.is_empty() || digits.ends_with('_') {
        return None;
    }
    digits
        .chars()
        .filter(|c| *c != '_')
        .try_fold(0.0, |value, c| {
            Some(value * f64::from(radix) + f64::from(c.to_digit(radix)?))
        })
}

/// Parses digits with an optional fraction and exponent; Rust's own parser also accepts words such as `infinity`.
fn decimal(text: &str) -> Option<f64> {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | 'e' | 'E' | '+' | '-');
    let starts_well = text.starts_with(|c: char| c.is_ascii_digit())
        || (text.starts_with('.') && text[1..].starts_with(|c: char| c.is_ascii_digit()));
    if !starts_well || !text.chars().all(plain) || text.ends_with('_') {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Parses `2025-03-01`, or a date and time as in `2025-3-1 10:20:30.5 +01:00`. A day or month past its end overflows
/// into the next, as in the contract's original.
fn timestamp(text: &str) -> Option<Timestamp> {
    let (year, rest) = digits(text, 4..=4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 1..=2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 1..=2)?;
    let midnight = day_of(year, month, day)?;
    let instant = if rest.is_empty() {
        // Without a time, both parts need two digits.
        (text.len() == 10).then_some(midnight)?
    } else {
        midnight.checked_add(time_of_day(rest)?).ok()?
    };
    Some(Timestamp {
        written: text.to_owned(),
        instant,
    })
}

fn day_of(year: i64, month: i64, day: i64) -> Option<DateTime> {
    let months = month - 1;
    let year = i16::try_from(year + months.div_euclid(12)).ok()?;
    let month = i8::try_from(months.rem_euclid(12) + 1).ok()?;
    let first = Date::new(year, month, 1).ok()?;
    let date = first
        .checked_add(SignedDuration::from_hours((day - 1) * 24))
        .ok()?;
    Some(date.to_datetime(jiff::civil::Time::midnight()))
}

fn time_of_day(text: &str) -> Option<SignedDuration> {
    let blanks_trimmed = text.trim_start_matches([' ', '\t']);
    let rest = match text.strip_prefix(['T', 't']) {
        Some(rest) => rest,
        None if blanks_trimmed.len() < text.len() => blanks_trimmed,
        None => return None,
    };
    let (hour, rest) = digits(rest, 1..=2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2..=2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 2..=2)?;
    let (millis, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction(rest),
        None => (0, rest),
    };
    let zone = zone_minutes(rest.trim_start_matches([' ', '\t']))?;
    let seconds = (hour * 60 + minute - zone) * 60 + second;
    Some(SignedDuration::from_millis(seconds * 1000 + millis))
}

/// Parses milliseconds from the digits after the point; returns them and the rest.
fn fraction(text: &str) -> (i64, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let millis = text[..end]
        .bytes()
        .chain(*b"000")
        .take(3)
        .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (millis, &text[end..])
}

fn zone_minutes(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, rest) = digits(text.strip_prefix(['+', '-'])?, 1..=2)?;
    let minutes = match rest.strip_prefix(':') {
        Some(rest) => digits(rest, 2..=2).filter(|(_, rest)| rest.is_empty())?.0,
        None => rest.is_empty().then_some(0)?,
    };
    Some(sign * (hours * 60 + minutes))
}

/// Parses as many leading digits as `count` allows; returns them and the rest.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<(i64, &str)> {
    let found = text
        .bytes()
        .take(*count.end())
        .take_while(u8::is_ascii_digit)
        .count();
    let number = count
        .contains(&found)
        .then(|| text[..found].parse().ok())??;
    Some((number, &text[found..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(text: &str) -> Option<String> {
        match resolve(text) {
            Value::Timestamp(timestamp) => Some(timestamp.to_iso()),
            _ => None,
        }
    }

    #[test]
    fn dates() {
        assert_eq!(
            iso("2025-03-01").as_deref(),
            Some("2025-03-01T00:00:00.000Z")
        );
        assert_eq!(
            iso("2025-13-45").as_deref(),
            Some("2026-02-14T00:00:00.000Z")
        );
        assert_eq!(
            iso("2025-03-01T10:20:30Z").as_deref(),
            Some("2025-03-01T10:20:30.000Z")
        );
        assert_eq!(
            iso("2025-3-1 1:20:30.5 +01:00").as_deref(),
            Some("2025-03-01T00:20:30.500Z")
        );
        assert_eq!(
            iso("2025-03-01T23:00:00-2").as_deref(),
            Some("2025-03-02T01:00:00.000Z")
        );
        for not_a_date in [
            "2025-3-1",
            "2025-03-01x",
            "25-03-01",
            "2025-03-01T10:20",
            "2025-03-01 ",
            "٢٠٢٥-03-01",
        ] {
            assert_eq!(iso(not_a_date), None, "{not_a_date}");
        }
        assert_eq!(
            iso("9999-12-31T23:59:59-23:59"),
            None,
            "past the last year there is no date"
        );
    }

    #[test]
    fn numbers() {
        for (text, expected) in [
            ("1_000", 1000.0),
            ("-5", -5.0),
            (".5", 0.5),
            ("1.", 1.0),
            ("0b101", 5.0),
            ("+1e-2", 0.01),
        ] {
            assert_eq!(resolve(text), Value::Number(expected), "{text}");
        }
        for text in [
            "infinity", "1e", "0x", "1-2", "1_", "--1", "e3", ".", "1.2.3",
        ] {
            assert_eq!(resolve(text), Value::String(text.to_owned()), "{text}");
        }
    }
}
