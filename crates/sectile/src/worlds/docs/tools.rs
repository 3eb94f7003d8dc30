//! The tool of the `docs` world. Its name comes from the settings.

mod docs_search;

use sectile_mcp::Tool;

use super::{DocsSection, DocsWorld};

/// All tools, in listing order.
pub(super) fn table(settings: &DocsSection) -> Vec<Tool<DocsWorld>> {
    vec![docs_search::tool(settings)]
}
