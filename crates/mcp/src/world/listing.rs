//! The common parts of all listings: pages, and how long a client may cache one.

use rmcp::model::{CacheScope, ErrorData, PaginatedRequestParams};

use crate::call::error::invalid_params;

/// Number of entries on a page.
const PAGE_SIZE: usize = 200;

/// How long a client may cache an answer, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheHint {
    /// Milliseconds for which the answer stays fresh. Zero: ask again each time.
    pub ttl_ms: u64,
    /// Whether it may be cached for others than the caller.
    pub shared: bool,
}

impl CacheHint {
    /// For data that can change at any time, such as a document that is being edited.
    pub const LIVE: Self = Self {
        ttl_ms: 0,
        shared: false,
    };
    /// For data that does not change while the server runs. It bounds how long a client can miss a restart with another
    /// configuration.
    pub const TABLE: Self = Self {
        ttl_ms: 300_000,
        shared: true,
    };

    pub(crate) fn scope(self) -> CacheScope {
        if self.shared {
            CacheScope::Public
        } else {
            CacheScope::Private
        }
    }
}

/// One page of a listing, and the cursor of the next.
pub(crate) struct ListingPage<T> {
    pub(crate) entries: Vec<T>,
    pub(crate) next_cursor: Option<String>,
}

impl<T> ListingPage<T> {
    /// Returns the page of `all` that starts at `start`.
    pub(crate) fn of(all: Vec<T>, start: usize) -> Self {
        let end = start.saturating_add(PAGE_SIZE);
        let next_cursor = (end < all.len()).then(|| cursor(end));
        Self {
            entries: all.into_iter().skip(start).take(PAGE_SIZE).collect(),
            next_cursor,
        }
    }
}

/// Returns where the page that a request asks for starts.
pub(crate) fn page_start(request: Option<&PaginatedRequestParams>) -> Result<usize, ErrorData> {
    let start = free_page_start(request)?;
    match start.is_multiple_of(PAGE_SIZE) {
        true => Ok(start),
        false => Err(invalid_params()),
    }
}

/// Returns where the page starts that a request asks for, in a listing whose pages differ in length.
pub(crate) fn free_page_start(
    request: Option<&PaginatedRequestParams>,
) -> Result<usize, ErrorData> {
    let Some(given) = request.and_then(|request| request.cursor.as_deref()) else {
        return Ok(0);
    };
    let start = usize::from_str_radix(given, 16).unwrap_or(0);
    // A cursor that was not issued here is wrong, even if it is another way to write the same number.
    match start > 0 && cursor(start) == given {
        true => Ok(start),
        false => Err(invalid_params()),
    }
}

/// Checks the cursor for a listing that fits on one page, which never issues one.
pub(crate) fn only_page(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor.as_ref()) {
        Some(_) => Err(invalid_params()),
        None => Ok(()),
    }
}

pub(crate) fn cursor(start: usize) -> String {
    format!("{start:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(cursor: &str) -> Option<usize> {
        let request = PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned()));
        page_start(Some(&request)).ok()
    }

    #[test]
    fn pages_cover_everything_once() {
        for length in [0, 1, 199, 200, 201, 400, 401] {
            let all: Vec<usize> = (0..length).collect();
            let (mut seen, mut at) = (Vec::new(), 0);
            loop {
                let page = ListingPage::of(all.clone(), at);
                assert!(page.entries.len() <= PAGE_SIZE);
                seen.extend(page.entries);
                match page.next_cursor {
                    Some(cursor) => at = start(&cursor).expect("a cursor that was handed out"),
                    None => break,
                }
            }
            assert_eq!(seen, all, "{length}");
        }
    }

    #[test]
    fn only_cursors_that_were_handed_out_are_taken() {
        assert_eq!(start(&cursor(400)), Some(400));
        for wrong in [
            "", "0", "00000000", "c8", "000000C8", "000000c9", "+00000c8", "x",
        ] {
            assert_eq!(start(wrong), None, "{wrong:?}");
        }
    }
}
