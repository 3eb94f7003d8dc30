//! Helpers shared by the tests of this crate.

/// Returns the number of cases of a property: `default`, or the value of `SECTILE_CASES` when the tests are built.
pub(crate) fn cases(default: u32) -> u32 {
    option_env!("SECTILE_CASES")
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(default)
}
