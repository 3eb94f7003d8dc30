//! Times as people read them.

use std::time::{Duration, SystemTime};

use maud::{Markup, html};

use crate::worlds::timestamp;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Age from which a date says more than a number of days.
const LONG_AGO: i64 = 30 * DAY;

/// Returns a time in milliseconds since 1970 as an age, with the exact time to be looked up.
pub(super) fn ago(time: i64, now: i64) -> Markup {
    let exact = exact(time);
    html! { time datetime=(timestamp(time)) title=(exact) { (age(time, now)) } }
}

/// Returns the time to the second.
pub(super) fn exact(time: i64) -> String {
    let written = timestamp(time.div_euclid(SECOND) * SECOND);
    written.replace('T', " ").replace('Z', " UTC")
}

fn age(time: i64, now: i64) -> String {
    let age = now.saturating_sub(time).max(0);
    let counted = |unit: i64, one: &str, many: &str| {
        let count = age / unit;
        format!("{count} {} ago", if count == 1 { one } else { many })
    };
    match age {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => counted(MINUTE, "minute", "minutes"),
        HOUR..DAY => counted(HOUR, "hour", "hours"),
        DAY..LONG_AGO => counted(DAY, "day", "days"),
        _ => {
            let written = timestamp(time);
            written.split('T').next().unwrap_or_default().to_owned()
        }
    }
}

/// Returns a duration in the unit that suits it.
pub(super) fn duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        10_000..10_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

/// Returns a time in milliseconds since 1970.
pub(super) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_the_unit_that_suits_them() {
        let now = 1_800_000_000_000;
        for (before, expected) in [
            (0, "just now"),
            (-5 * DAY, "just now"),
            (MINUTE, "1 minute ago"),
            (90 * MINUTE, "1 hour ago"),
            (3 * DAY, "3 days ago"),
            (31 * DAY, "2026-12-15"),
        ] {
            assert_eq!(age(now - before, now), expected);
        }
        assert_eq!(exact(1_700), "1970-01-01 00:00:01 UTC");
    }

    #[test]
    fn durations_are_short() {
        for (micros, expected) in [
            (850, "850 µs"),
            (3_250, "3.2 ms"),
            (45_000, "45 ms"),
            (12_000_000, "12 s"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), expected);
        }
    }
}
