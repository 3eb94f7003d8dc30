//! Tests of the estimate of tokens.

use proptest::prelude::*;

use super::{samples::SAMPLES, *};

/// Reads the text from its first byte to its last.
fn in_one_lane(text: &str) -> usize {
    let mut reader = LaneReader::default();
    text.bytes().for_each(|byte| reader.read(byte));
    reader.cost
}

#[test]
fn the_estimate_is_near_what_a_tokenizer_counts() {
    for sample in SAMPLES {
        let estimate = estimate_tokens(sample.text);
        let difference = estimate.abs_diff(sample.tokens) * 100;
        assert!(
            difference <= 15 * sample.tokens,
            "{}: {estimate} instead of {}",
            sample.name,
            sample.tokens
        );
    }
}

#[test]
fn each_class_has_its_cost() {
    for (text, cost) in [
        ("", 0),
        ("a", 90),
        ("word", 90 + 3 * 3),
        ("Word", 90 + 36 + 3 * 3),
        ("READ", 90 + 36),
        ("abcdefghij", 90 + 7 * 3 + 2 * 60),
        ("camelCase", 90 + 4 * 3 + 75 + 3 * 3),
        ("snake_case", 2 * 90 + 7 * 3 + 47),
        ("\u{fc}ber", 90 + 75 + 3 * 3),
        ("2026", 105 * 2),
        (" 20", 105 + 90),
        ("::", 47 * 2),
        ("-----", 47 * 2 + 3 * 3),
        ("a (", 90 + 47 + 63),
        ("        x", 100 + 90),
        ("a\nb", 90 * 2 + 37),
        ("a.\n\r\n", 90 + 47),
        ("\u{434}\u{430}", 87 + 2 * 19),
        ("\u{6c34}\u{6cf5}\u{d55c}", 86 * 3),
        ("\u{306e}", 78),
        ("\u{2014}\u{20ac}", 120 * 2),
        ("\u{1f680}", 200),
    ] {
        assert_eq!(in_one_lane(text), cost, "{text:?}");
    }
    assert_eq!(estimate_tokens(" "), 1);
    assert_eq!(estimate_tokens("two words"), 2);
}

proptest! {
    #[test]
    fn lanes_do_not_change_the_estimate(
        text in "([a-zA-Z0-9 .,#\u{e9}\u{434}\u{6c34}\u{1f680}]{0,12}(\n|\r\n|\r|\n\n)?){0,24}",
    ) {
        let cost: usize = in_one_lane(&text);
        let expected = ((cost + WHOLE / 2) / WHOLE).max(usize::from(!text.is_empty()));
        prop_assert_eq!(estimate_tokens(&text), expected);
        prop_assert_eq!(lanes(text.as_bytes()).concat(), text.as_bytes());
    }
}
