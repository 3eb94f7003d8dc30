//! The start of a period, as callers write it.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// The start of a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeriodStart {
    /// A time in milliseconds since 1970.
    Time(i64),
    /// Everything after a change: the name of its root, empty if none was given, and its number.
    Change(String, u64),
}

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

impl PeriodStart {
    /// Parses a date, a time, an age such as `7d`, or the number of a change. `now` is in milliseconds since 1970; days
    /// start at midnight UTC, as in filters.
    pub(super) fn parse(text: &str, now: i64) -> Option<Self> {
        let text = text.trim();
        if let Some(change) = change_number(text) {
            return Some(change);
        }
        if let Some(age) = age(text) {
            return Some(Self::Time(now.saturating_sub(age)));
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            return Some(Self::Time(time.as_millisecond()));
        }
        let date: Date = text.parse().ok()?;
        let start = date.to_zoned(TimeZone::UTC).ok()?;
        Some(Self::Time(start.timestamp().as_millisecond()))
    }
}

/// Reads the number of a change, with or without the name of its root.
fn change_number(text: &str) -> Option<PeriodStart> {
    let (root, number) = text.rsplit_once(':').unwrap_or(("", text));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_root = !root.contains([':', 'T', ' ']);
    let number = number.parse().ok().filter(|_| is_number && is_root)?;
    Some(PeriodStart::Change(root.to_owned(), number))
}

/// Reads an age, such as `90m`, `24h`, `7d` or `2w`.
fn age(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let number = text.strip_suffix(unit)?;
    let milliseconds = match unit {
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        'w' => WEEK,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = number.parse().ok().filter(|_| is_number)?;
    Some(number.saturating_mul(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_times_ages_and_changes_are_told_apart() {
        let now = 1_800_000_000_000;
        let time = |milliseconds| Some(PeriodStart::Time(milliseconds));
        for (text, expected) in [
            ("7d", time(now - 7 * DAY)),
            ("90m", time(now - 90 * MINUTE)),
            (" 2w ", time(now - 2 * WEEK)),
            ("1970-01-02", time(DAY)),
            ("1970-01-01T01:00:00Z", time(HOUR)),
            ("1970-01-01T01:00:00+01:00", time(0)),
            ("12", Some(PeriodStart::Change(String::new(), 12))),
            ("work:12", Some(PeriodStart::Change("work".to_owned(), 12))),
            ("99999999999999d", time(now - i64::MAX)),
            ("", None),
            ("d", None),
            ("-7d", None),
            ("yesterday", None),
            ("2026-13-01", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(PeriodStart::parse(text, now), expected, "{text}");
        }
    }
}
