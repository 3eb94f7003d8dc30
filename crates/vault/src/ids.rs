//! Ids of sections: a slug to read, and a number that is never used twice below one root.

use sectile_markdown::slug;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const MAX_SLUG: usize = 40;

/// The id of section number `number`, whose heading is `heading` when it gets it.
pub(crate) fn id(heading: &str, number: u64) -> String {
    format!("{}-{}", short_slug(heading), base36(number))
}

/// An id that could not be written down. It lives as long as the process and is never taken for another.
pub(crate) fn unrecorded(heading: &str, number: u64) -> String {
    format!("{}-~{}", short_slug(heading), base36(number))
}

fn short_slug(heading: &str) -> String {
    let slug = slug(heading);
    let mut slug = slug.as_str();
    if slug.len() > MAX_SLUG {
        slug = slug[..MAX_SLUG].trim_end_matches('-');
    }
    if slug.is_empty() {
        slug = "section";
    }
    slug.to_owned()
}

/// The number in an id.
pub(crate) fn number(id: &str) -> Option<u64> {
    let (_, digits) = id.rsplit_once('-')?;
    u64::from_str_radix(digits, 36).ok()
}

/// The first number of a journal made at `time` milliseconds after 1970. A journal that was deleted and made again
/// counts from elsewhere, so that ids of the old one name nothing.
pub(crate) fn first_number(time: i64) -> u64 {
    const EPOCH_SECONDS: i64 = 1_700_000_000;
    u64::try_from(time / 1000 - EPOCH_SECONDS).unwrap_or_default()
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(DIGITS[usize::try_from(number % 36).unwrap_or_default()]);
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits
        .iter()
        .rev()
        .map(|digit| char::from(*digit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_readable_and_carry_their_number() {
        assert_eq!(id("Alpha child", 71), "alpha-child-1z");
        assert_eq!(id("日本語", 0), "section-0");
        assert_eq!(number("alpha-child-1z"), Some(71));
        assert_eq!(
            number(&id(&"long heading ".repeat(20), 123_456_789)),
            Some(123_456_789)
        );
        assert_eq!(number("nothing"), None);
        assert_eq!(number(&unrecorded("Alpha child", 71)), None);
    }
}
