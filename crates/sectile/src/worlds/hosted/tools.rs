//! The tools of the `hosted` world: one file each, one table.

mod get_document_tree;
mod get_metadata_facets;
mod get_note_outline;
mod get_section_source;

use super::Hosted;
use crate::mcp::Tool;

/// All tools, in listing order.
pub(super) fn table() -> Vec<Tool<Hosted>> {
    vec![
        get_section_source::TOOL,
        get_note_outline::TOOL,
        get_document_tree::TOOL,
        get_metadata_facets::TOOL,
    ]
}
