//! Cuts long answers into pages. A cursor holds the start of the next page and the state it belongs to.

use sectile_markdown::Digest;
use sectile_mcp::Failure;
use sectile_vault::editor::short_hash;

use super::errors::{CURSOR_STALE, INVALID_CURSOR};

/// A position in a text or list, valid until the document changes.
pub(super) struct Cursor {
    pub(super) offset: usize,
    state: String,
}

impl Cursor {
    /// Reads a cursor for the document with this digest. Without one, the page starts at the beginning.
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
            Some(_) => {
                Err(CURSOR_STALE.failure("The document has changed since the cursor was issued."))
            }
            None => Err(INVALID_CURSOR.failure("Invalid arguments: this is not a cursor.")),
        }
    }

    /// The cursor for the page that starts at `offset`.
    pub(super) fn at(&self, offset: usize) -> String {
        format!("{offset}.{}", self.state)
    }
}

/// The part of the text that an answer shows when the whole does not fit.
#[derive(Debug)]
pub(super) struct TextPart {
    /// Start in the whole text, in bytes.
    pub(super) offset: usize,
    /// Length of the whole text, in bytes.
    pub(super) total: usize,
    end: usize,
}

impl TextPart {
    /// The part that `page`, which starts at `offset`, is; `None` if it is the whole text.
    pub(super) fn of(page: &str, offset: usize, total: usize) -> Option<Self> {
        let end = offset + page.len();
        (page.len() < total).then_some(Self { offset, total, end })
    }

    /// Returns whether this is the last part.
    pub(super) fn is_last(&self) -> bool {
        self.offset < self.total && self.end == self.total
    }

    /// The note for the caller. `what` is the text this is a part of, and `advice` says how not to lose the rest.
    pub(super) fn note(&self, what: &str, advice: &str) -> String {
        let Self { offset, total, end } = self;
        let more = match self.is_last() {
            true => "It is the last one.",
            false => "Call again with next_cursor for the next one.",
        };
        let part = format!("This is a part of the {what}: bytes {offset} to {end} of {total}.");
        format!("{part} {more} {advice}").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
