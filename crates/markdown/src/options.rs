//! How the Markdown parser is configured. Nobody else constructs one.

use pulldown_cmark::{OffsetIter, Options, Parser};

/// Plain CommonMark events with byte ranges. Extensions stay off: tables, footnotes or wiki links would change what
/// counts as text, and with it the contract's ids and flags.
pub(crate) fn events(markdown: &str) -> OffsetIter<'_> {
    Parser::new_ext(markdown, Options::empty()).into_offset_iter()
}
