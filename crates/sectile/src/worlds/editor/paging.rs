//! Cutting long answers into pages. A cursor says where the next one starts and of which state it speaks.

use sectile_markdown::Digest;
use sectile_vault::editor::short_hash;

use super::errors::{Cause, refused};
use crate::mcp::Failure;

/// A place in a text or list, valid while the document is what it was.
pub(super) struct Cursor {
    pub(super) offset: usize,
    state: String,
}

impl Cursor {
    /// Reads a cursor for the document with this digest; without one, the start.
    pub(super) fn read(given: Option<&str>, digest: &Digest) -> Result<Self, Failure> {
        let state = short_hash(digest);
        let Some(given) = given else {
            return Ok(Self { offset: 0, state });
        };
        let parsed = given
            .split_once('.')
            .and_then(|(offset, of)| Some((offset.parse().ok()?, of)));
        match parsed {
            Some((offset, of)) if of == state => Ok(Self { offset, state }),
            Some(_) => Err(refused(
                &Cause::StaleCursor,
                "The document has changed since the cursor was given.",
            )),
            None => Err(refused(
                &Cause::StrangeCursor,
                "Invalid arguments: this is not a cursor.",
            )),
        }
    }

    /// The cursor for what follows `offset`.
    pub(super) fn at(&self, offset: usize) -> String {
        format!("{offset}.{}", self.state)
    }
}

/// The page of `text` that starts at `offset`: at most `limit` bytes, cut at a line end where there is one, and where
/// the next page starts.
pub(super) fn page(text: &str, offset: usize, limit: usize) -> (&str, Option<usize>) {
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
    // A limit smaller than one character must not stand still.
    let end = if end == 0 {
        rest.chars().next().map_or(0, char::len_utf8)
    } else {
        end
    };
    (&rest[..end], Some(offset + end))
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
    fn a_cursor_speaks_of_one_state() {
        let (one, other) = (Digest::of(b"1"), Digest::of(b"2"));
        let start = Cursor::read(None, &one).unwrap_or_else(|_| panic!("no cursor is the start"));
        let next = start.at(7);
        assert_eq!(
            Cursor::read(Some(&next), &one)
                .map(|cursor| cursor.offset)
                .ok(),
            Some(7)
        );
        assert!(Cursor::read(Some(&next), &other).is_err());
        assert!(Cursor::read(Some("seven"), &one).is_err());
    }
}
