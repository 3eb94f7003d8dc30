//! The tool of the `docs` world. Its name comes from the settings.

mod docs_search;

use super::{Docs, DocsSection};
use crate::mcp::Tool;

/// All tools, in listing order.
pub(super) fn table(settings: &DocsSection) -> Vec<Tool<Docs>> {
    vec![docs_search::tool(settings)]
}
