//! Times in filters: dates, and ages such as `7d`.

use jiff::{
    SignedDuration, Span, Timestamp,
    civil::{Date, date},
    tz::TimeZone,
};
use sectile_markdown::Timestamp as WrittenTime;

/// Parses a date (`2026`, `2026-01`, `2026-01-31`, or with a time), or an age before `now` (`3h`, `7d`, `2w`, `1m`,
/// `1y`). Returns milliseconds since 1970; a date means its first moment, in UTC.
pub(super) fn time(text: &str, now: i64) -> Option<i64> {
    age(text, now).or_else(|| moment(text))
}

fn age(text: &str, now: i64) -> Option<i64> {
    const MOST_DIGITS: usize = 5;
    let unit = text.chars().next_back()?;
    let digits = &text[..text.len() - unit.len_utf8()];
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || digits.len() > MOST_DIGITS {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    let now = Timestamp::from_millisecond(now).ok()?;
    let span = match unit.to_ascii_lowercase() {
        'h' => return Some((now - SignedDuration::from_hours(number)).as_millisecond()),
        'd' => Span::new().try_days(number),
        'w' => Span::new().try_weeks(number),
        'm' => Span::new().try_months(number),
        'y' => Span::new().try_years(number),
        _ => return None,
    };
    let then = now.to_zoned(TimeZone::UTC).checked_sub(span.ok()?).ok()?;
    Some(then.timestamp().as_millisecond())
}

fn moment(text: &str) -> Option<i64> {
    let is_part = |length: usize| {
        let bytes = text.bytes().enumerate();
        text.len() == length
            && bytes.into_iter().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    let day: Date = if is_part(4) {
        let year = text.parse().ok()?;
        Date::new(year, 1, 1).ok()?
    } else if is_part(7) {
        let (year, month) = text.split_once('-')?;
        Date::new(year.parse().ok()?, month.parse().ok()?, 1).ok()?
    } else if is_part(10) {
        // A day that does not exist is a mistake, and not a day of the next month.
        text.parse().ok()?
    } else {
        let instant: Timestamp = WrittenTime::new(text)?.to_iso().parse().ok()?;
        return Some(instant.as_millisecond());
    };
    let start = day.to_zoned(TimeZone::UTC).ok()?;
    (day >= date(1, 1, 1)).then(|| start.timestamp().as_millisecond())
}
