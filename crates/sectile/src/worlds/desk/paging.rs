//! Cursors. Each holds where the next page starts, and a digest of what it is a page of: a page of something else is never
//! given in its place.

use sectile_markdown::Digest;
use sectile_mcp::Failure;

use super::errors::{CURSOR_STALE, INVALID_CURSOR};

/// Number of digits of the digest in a cursor. It tells states apart; it does not keep anything secret.
const STATE_DIGITS: usize = 10;
/// Maximum length of a cursor, in bytes.
const MAX_CURSOR_BYTES: usize = 400;

/// The start of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageCursor {
    /// Positions of the next page, whose meaning is the tool's own; empty for the first page.
    pub(super) positions: Vec<u64>,
    state: String,
}

impl PageCursor {
    /// Returns the start of the first page.
    pub(super) fn first() -> Self {
        Self {
            positions: Vec::new(),
            state: String::new(),
        }
    }

    /// Parses a cursor with `count` positions. Without one, it is that of the first page.
    pub(super) fn parse(given: Option<&str>, count: usize) -> Result<Self, Failure> {
        let Some(given) = given else {
            return Ok(Self::first());
        };
        let malformed = || INVALID_CURSOR.failure("`cursor` is not one that an answer returned.");
        if given.len() > MAX_CURSOR_BYTES {
            return Err(malformed());
        }
        let (positions, state) = given.trim().split_once('.').ok_or_else(malformed)?;
        let is_state = state.len() == STATE_DIGITS
            && state
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let positions: Option<Vec<u64>> = positions
            .split('-')
            .map(|position| position.parse().ok())
            .collect();
        match positions {
            Some(positions) if is_state && positions.len() == count => Ok(Self {
                positions,
                state: state.to_owned(),
            }),
            _ => Err(malformed()),
        }
    }

    /// Returns whether this is the first page.
    pub(super) fn is_first(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the position at `index`; 0 on the first page.
    pub(super) fn position(&self, index: usize) -> usize {
        let position = self.positions.get(index).copied().unwrap_or(0);
        usize::try_from(position).unwrap_or(usize::MAX)
    }

    /// Refuses a cursor that was issued for something other than what `state` describes.
    pub(super) fn check(&self, state: &Digest) -> Result<(), Failure> {
        match self.is_first() || self.state == digits(state) {
            true => Ok(()),
            false => Err(CURSOR_STALE
                .failure("The notes have changed since the answer that returned the cursor, or the other arguments are different.")),
        }
    }
}

/// Returns the cursor for the page that starts at `positions` of what `state` describes.
pub(super) fn cursor(positions: &[u64], state: &Digest) -> String {
    let positions: Vec<String> = positions.iter().map(u64::to_string).collect();
    format!("{}.{}", positions.join("-"), digits(state))
}

fn digits(state: &Digest) -> String {
    let mut digits = state.to_string();
    digits.truncate(STATE_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_for_one_state() {
        let (one, other) = (Digest::of(b"1"), Digest::of(b"2"));
        let next = cursor(&[7, 12], &one);
        let parsed = PageCursor::parse(Some(&next), 2).unwrap();
        assert_eq!((parsed.position(0), parsed.position(1)), (7, 12));
        assert!(parsed.check(&one).is_ok());
        assert_eq!(parsed.check(&other).unwrap_err().name(), "cursor_stale");
        assert!(PageCursor::first().check(&other).is_ok());
    }

    #[test]
    fn anything_else_is_malformed() {
        let state = "0123456789";
        for given in [
            "".to_owned(),
            "7".to_owned(),
            format!("x.{state}"),
            format!("-7.{state}"),
            format!("7-8.{state}"),
            format!("99999999999999999999999.{state}"),
            "7.0123".to_owned(),
            "7.zzzzzzzzzz".to_owned(),
            format!("{}.{state}", "0".repeat(1000)),
        ] {
            let refused = PageCursor::parse(Some(&given), 1).unwrap_err();
            assert_eq!(refused.name(), "invalid_cursor", "{given}");
        }
    }
}
