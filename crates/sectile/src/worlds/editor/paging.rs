//! Cutting long answers into pages. A cursor says where the next one starts and of which state it speaks.

use sectile_markdown::Digest;
use sectile_mcp::Failure;
use sectile_vault::editor::short_hash;

use super::errors::{CURSOR_STALE, INVALID_CURSOR};

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
            Some(_) => {
                Err(CURSOR_STALE.failure("The document has changed since the cursor was given."))
            }
            None => Err(INVALID_CURSOR.failure("Invalid arguments: this is not a cursor.")),
        }
    }

    /// The cursor for what follows `offset`.
    pub(super) fn at(&self, offset: usize) -> String {
        format!("{offset}.{}", self.state)
    }
}

/// The part of the text that an answer shows when the whole does not fit.
#[derive(Debug)]
pub(super) struct TextPart {
    /// Where it starts, in bytes.
    pub(super) offset: usize,
    /// How long the whole text is.
    pub(super) total: usize,
    end: usize,
}

impl TextPart {
    /// `None` when the page from `offset` on is all there is.
    pub(super) fn of(page: &str, offset: usize, total: usize) -> Option<Self> {
        let end = offset + page.len();
        (page.len() < total).then_some(Self { offset, total, end })
    }

    /// Whether nothing comes after it.
    pub(super) fn is_last(&self) -> bool {
        self.offset < self.total && self.end == self.total
    }

    /// What a caller has to know about it, in words. `what` is the text it is a part of, `advice` how not to lose the rest.
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
