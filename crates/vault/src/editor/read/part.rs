//! Texts that are longer than one answer: split into pages, and protected from being replaced by one of them.
//!
//! A caller that was shown only part of a section and writes it back would drop the rest. So the hash of content that
//! does not fit into one answer is shown with a mark, and a marked hash is accepted for every change except one that
//! replaces the whole text.

use sectile_markdown::Digest;

use super::section::SectionInfo;
use crate::editor::EditorError;

/// Prefix of a hash whose text was not shown as a whole.
const MARK: &str = "part-";

/// Number of digits of a hash that callers are shown.
const SHOWN_DIGITS: usize = 16;
/// Fewest digits that a caller may give.
const LEAST_DIGITS: usize = 12;
/// Number of digits of a whole digest.
const MOST_DIGITS: usize = 64;

/// Returns a digest as callers see it.
#[must_use]
pub fn short_hash(digest: &Digest) -> String {
    let mut digits = digest.to_string();
    digits.truncate(SHOWN_DIGITS);
    digits
}

/// Returns the hash of content that the caller is shown only in part, or not at all.
#[must_use]
pub fn part_hash(hash: &str) -> String {
    format!("{MARK}{hash}")
}

/// Returns whether `text` has the form of a hash, in full or shortened, with or without a mark.
#[must_use]
pub fn is_hash(text: &str) -> bool {
    let digits = digits(text);
    (LEAST_DIGITS..=MOST_DIGITS).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether `hash` was shown next to less than its text.
#[must_use]
pub fn is_part(hash: &str) -> bool {
    hash.trim().starts_with(MARK)
}

/// Returns whether `expected`, in full or shortened, is `digest`.
pub(crate) fn hash_matches(expected: &str, digest: &Digest) -> bool {
    let expected = digits(expected).to_ascii_lowercase();
    expected.len() >= LEAST_DIGITS && digest.to_string().starts_with(&expected)
}

fn digits(hash: &str) -> &str {
    let hash = hash.trim();
    hash.strip_prefix(MARK).unwrap_or(hash)
}

impl SectionInfo {
    /// Returns `hash` and `subtree_hash` as they are shown next to less than their texts: with a mark if a text is
    /// longer than one answer of `limit` bytes.
    #[must_use]
    pub fn shown_hashes(&self, limit: usize) -> (String, String) {
        let shown = |hash: &str, bytes| match bytes > limit {
            true => part_hash(hash),
            false => hash.to_owned(),
        };
        (
            shown(&self.hash, self.bytes),
            shown(&self.subtree_hash, self.bytes_below),
        )
    }
}

/// Returns the page of `text` that starts at `offset`, of at most `limit` bytes and cut at a line end if there is one,
/// and the offset of the next page.
#[must_use]
pub fn page(text: &str, offset: usize, limit: usize) -> (&str, Option<usize>) {
    let Some(rest) = text.get(offset..) else {
        return ("", None);
    };
    if rest.len() <= limit {
        return (rest, None);
    }
    let mut end = limit;
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(line_end) = rest[..end].rfind('\n') {
        end = line_end + 1;
    }
    // Even with a limit smaller than one character, paging must advance.
    let end = if end == 0 {
        rest.chars().next().map_or(0, char::len_utf8)
    } else {
        end
    };
    (&rest[..end], Some(offset + end))
}

/// Refuses to replace `present`, a text longer than one answer of `limit` bytes, by `ours` unless `expected` shows that
/// the caller has read all of it, and `ours` is not just one of its pages.
pub(crate) fn check_whole(
    present: &str,
    ours: &str,
    expected: Option<&str>,
    limit: usize,
) -> Result<(), EditorError> {
    let message = match expected {
        Some(expected) if is_part(expected) => {
            "expected_hash belongs to only part of the text, which would replace all of it. Nothing was written."
        }
        None if present.len() > limit => {
            "The text is longer than one answer, and no expected_hash shows that all of it was read. Nothing was \
             written."
        }
        _ if is_page(present, ours, limit) => {
            "content is one page of a longer text, which it would replace. Nothing was written."
        }
        _ => return Ok(()),
    };
    Err(EditorError::PartOfText(message))
}

/// Returns whether `ours` is one of several pages of `text`. White space at its ends does not count.
fn is_page(text: &str, ours: &str, limit: usize) -> bool {
    if text.len() <= limit || ours.len() > limit {
        return false;
    }
    let ours = ours.trim();
    let mut next = Some(0);
    while let Some(offset) = next {
        let (part, after) = page(text, offset, limit);
        if part.trim() == ours {
            return true;
        }
        next = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_put_together_are_the_text() {
        let text = "eins\nzwei é\n日本語日本語\nende";
        for limit in 1..30 {
            let mut whole = String::new();
            let mut at = Some(0);
            while let Some(offset) = at {
                let (part, next) = page(text, offset, limit);
                whole += part;
                at = next;
            }
            assert_eq!(whole, text, "{limit}");
        }
    }

    #[test]
    fn a_marked_hash_is_a_hash_that_does_not_replace() {
        let digest = Digest::of(b"text");
        let hash = short_hash(&digest);
        let marked = part_hash(&hash);
        assert!(is_hash(&hash) && is_hash(&marked) && is_hash(&format!(" {marked}\n")));
        assert!(hash_matches(&hash, &digest) && hash_matches(&marked, &digest));
        for text in [
            "part-",
            "part-0123",
            "part-part-0123456789ab",
            "whole-0123456789ab",
        ] {
            assert!(!is_hash(text), "{text}");
        }
        assert!(check_whole("text", "other", Some(&hash), 9).is_ok());
        assert!(check_whole("text", "other", Some(&marked), 9).is_err());
        assert!(check_whole("text", "other", None, 4).is_ok());
        assert!(check_whole("text", "other", None, 3).is_err());
    }

    #[test]
    fn a_page_is_known_with_and_without_white_space_around_it() {
        let text = "one\r\ntwo\r\nthree";
        for page in ["one\r\n", "one", "two", "\ntwo\n", "three"] {
            assert!(is_page(text, page, 7), "{page:?}");
        }
        for other in ["", "on", "one\r\ntwo", "two!", text] {
            assert!(!is_page(text, other, 7), "{other:?}");
        }
        assert!(!is_page(text, text, 100));
        assert!(!is_page("one", "one", 3));
    }
}
