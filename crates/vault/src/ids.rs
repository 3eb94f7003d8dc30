//! Section ids: a readable slug, and a number that is never used twice.
//!
//! The number is a random batch and a count within it. A batch is drawn for every group of ids that is handed out, so
//! an id names what it was given for or nothing, even after every record of it is gone.

use std::io;

use sectile_markdown::{Digest, align::Fingerprint, slug};

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const MAX_SLUG: usize = 40;
/// Bits of a number that count within a batch. The other fifty are random: for two folders with a hundred thousand
/// batches each, the probability that any two are equal is one in a hundred thousand.
const COUNT_BITS: u32 = 14;
/// Separates slug and digits in an id that is not recorded.
const UNRECORDED: char = '~';
/// Marks an id that has not been given out yet; no real id can look like it.
const FRESH: char = '\u{1}';

/// A source of new ids.
pub(crate) struct IdSource<'a> {
    /// Returns whether ids of a batch are in use.
    is_taken: &'a dyn Fn(u64) -> bool,
    next: u64,
    left: u64,
}

impl<'a> IdSource<'a> {
    pub(crate) fn new(is_taken: &'a dyn Fn(u64) -> bool) -> Self {
        Self {
            is_taken,
            next: 0,
            left: 0,
        }
    }

    /// Returns a new id for a section with this heading.
    pub(crate) fn id(&mut self, heading: &str) -> io::Result<String> {
        while self.left == 0 {
            let batch = getrandom::u64().map_err(io::Error::other)? >> COUNT_BITS;
            // Small numbers belong to earlier versions, which counted.
            if batch.leading_zeros() < 32 && !(self.is_taken)(batch) {
                self.next = batch << COUNT_BITS;
                self.left = 1 << COUNT_BITS;
            }
        }
        self.left -= 1;
        self.next += 1;
        Ok(id(heading, self.next - 1))
    }
}

/// Returns the id with this number, for a section with this heading.
pub(crate) fn id(heading: &str, number: u64) -> String {
    format!("{}-{}", short_slug(heading), base36(number))
}

/// Returns an id that is not recorded. It is derived from the section and its location, so that it stays the same as
/// long as they do. `occurrence` tells otherwise equal sections apart.
pub(crate) fn unrecorded(
    heading: &str,
    path: &str,
    print: &Fingerprint,
    occurrence: usize,
) -> String {
    let known_by = format!("{path}\0{}\0{}\0{occurrence}", print.path, print.body);
    let digest = Digest::of(known_by.as_bytes());
    let number = digest.as_bytes().first_chunk().copied().unwrap_or_default();
    let digits = base36(u64::from_le_bytes(number));
    format!("{}-{UNRECORDED}{digits}", short_slug(heading))
}

/// Returns the same id with a slug that says nothing.
pub(crate) fn without_words(id: &str) -> String {
    let digits = id.rsplit_once('-').map_or("", |(_, digits)| digits);
    format!("section-{digits}")
}

/// Returns the readable part of an id.
pub(crate) fn words(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(slug, _)| slug)
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

/// Returns the number in an id.
pub(crate) fn number(id: &str) -> Option<u64> {
    let (_, digits) = id.rsplit_once('-')?;
    u64::from_str_radix(digits, 36).ok()
}

/// Returns the batch of an id.
pub(crate) fn batch(id: &str) -> Option<u64> {
    number(id).map(|number| number >> COUNT_BITS)
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

/// Returns a placeholder for an id that is still to be given out, identified by its index.
pub(crate) fn fresh(index: usize) -> String {
    format!("{FRESH}{index}")
}

/// Returns the index of a placeholder id; `None` for a real id.
pub(crate) fn fresh_index(id: &str) -> Option<usize> {
    id.strip_prefix(FRESH)?.parse().ok()
}

/// Returns an id as callers see it: empty while it is still to be given out.
pub(crate) fn shown(id: &str) -> String {
    match fresh_index(id) {
        Some(_) => String::new(),
        None => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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
        assert_eq!(words("alpha-child-1z"), "alpha-child");
        assert_eq!(without_words("alpha-child-1z"), "section-1z");
    }

    #[test]
    fn new_ids_are_unique_and_keep_clear_of_what_is_taken() {
        let never = |_| false;
        let mut source = IdSource::new(&never);
        let count = (3 << COUNT_BITS) + 1;
        let ids: HashSet<String> = (0..count).map(|_| source.id("A").unwrap()).collect();
        assert_eq!(ids.len(), count);
        let batches: HashSet<u64> = ids.iter().filter_map(|id| batch(id)).collect();
        assert_eq!(batches.len(), 4);
        let asked = std::cell::Cell::new(0);
        let first_three = |_| {
            asked.set(asked.get() + 1);
            asked.get() <= 3
        };
        assert!(IdSource::new(&first_three).id("A").is_ok());
        assert_eq!(asked.get(), 4);
    }

    #[test]
    fn an_id_that_is_not_written_down_follows_from_the_section() {
        let print = Fingerprint {
            heading: 1,
            path: 2,
            body: 3,
            lines: Vec::new(),
            is_empty: false,
        };
        let id = unrecorded("Alpha child", "a.md", &print, 0);
        assert_eq!(id, unrecorded("Alpha child", "a.md", &print, 0));
        assert_ne!(id, unrecorded("Alpha child", "a.md", &print, 1));
        assert_ne!(id, unrecorded("Alpha child", "b.md", &print, 0));
        assert!(id.starts_with("alpha-child-~"), "{id}");
        assert_eq!(number(&id), None);
    }
}
