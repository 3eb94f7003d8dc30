//! The clock that the library is given, so that tests can inject their own.

/// Milliseconds since 1970, UTC.
pub type Clock = fn() -> i64;

/// Returns the system time.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
