//! Shared by the tests of this crate.

/// Number of cases of a property: `default`, or what `SECTILE_CASES` says for a longer run.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told how long to run by their environment"
)]
pub(crate) fn cases(default: u32) -> u32 {
    std::env::var("SECTILE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(default)
}
