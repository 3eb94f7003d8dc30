//! The scripts that the models can read.
//!
//! Both were trained on English text. Of other scripts they know single characters at most, and the vectors that these give
//! would put any text of the same script near to each other.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_script::{Script, UnicodeScript as _};

/// One, in millionths.
const WHOLE: u64 = 1_000_000;
/// The least share of readable letters, in millionths, that makes a passage or a query meaningful to the models.
const LEAST_SHARE: u64 = WHOLE / 2;
/// The most bytes of each part that are examined: more than the models read.
const MOST_EXAMINED: usize = 8 << 10;

/// Returns the share of the letters of a text, given in parts, that the models can read, in millionths.
pub(crate) fn readable_share(parts: &[&str]) -> u64 {
    let (mut readable, mut all) = (0_u64, 0_u64);
    for part in parts {
        for letter in part[..part.floor_char_boundary(MOST_EXAMINED)].chars() {
            if letter.is_ascii() {
                let is_letter = u64::from(letter.is_ascii_alphabetic());
                readable += is_letter;
                all += is_letter;
            } else if letter.general_category_group() == GeneralCategoryGroup::Letter {
                readable += u64::from(letter.script() == Script::Latin);
                all += 1;
            }
        }
    }
    match all {
        // Numbers and signs are the same in every script.
        0 => WHOLE,
        all => readable * WHOLE / all,
    }
}

/// Returns whether the models can make something of a text, given in parts.
pub(super) fn is_readable(parts: &[&str]) -> bool {
    readable_share(parts) >= LEAST_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_counts_letters() {
        for (text, share) in [
            ("", 1_000_000),
            ("42 !", 1_000_000),
            ("Größe déjà", 1_000_000),
            ("築地市場", 0),
            ("abc где", 500_000),
            ("RAID と LVM", 875_000),
        ] {
            assert_eq!(readable_share(&[text]), share, "{text}");
        }
        assert_eq!(readable_share(&["ab", "", "пункт"]), 285_714);
        assert!(is_readable(&["abc где"]) && !is_readable(&["ab где"]));
    }

    #[test]
    fn long_parts_are_examined_in_part() {
        let long = format!(
            "{}{}",
            "é".repeat(MOST_EXAMINED),
            "где".repeat(MOST_EXAMINED)
        );
        assert_eq!(readable_share(&[&long]), 1_000_000);
    }
}
