//! Helpers shared by the tests of this crate.

use proptest::prelude::*;

/// Returns the number of cases of a property: `default`, or the value of `SECTILE_CASES` when the tests are built.
pub(crate) fn cases(default: u32) -> u32 {
    option_env!("SECTILE_CASES")
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(default)
}

/// Generates documents of these pieces, and of a few arbitrary bytes.
pub(crate) fn documents_of(pieces: Vec<&'static str>) -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![
        20 => prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ];
    prop::collection::vec(bytes, 0..40).prop_map(|pieces| pieces.concat())
}
