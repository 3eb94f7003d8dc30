//! Shared by the tests of this crate.

/// Number of cases of a property: `default`, or what `SECTILE_CASES` says when the tests are built, for a longer run.
pub(crate) fn cases(default: u32) -> u32 {
    option_env!("SECTILE_CASES")
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(default)
}
