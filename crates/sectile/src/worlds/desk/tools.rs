//! The tools of the desk: one file each, one table.

mod create;
mod delete;
mod edit;
mod rename;
mod set_fields;
mod undo;

use sectile_mcp::Tool;

use super::{DeskWorld, short_schema::with_short_schema};

/// All tools, in listing order: those that read, then those that write.
pub(super) fn table() -> Vec<Tool<DeskWorld>> {
    let tools = vec![
        create::tool(),
        edit::tool(),
        set_fields::tool(),
        rename::tool(),
        delete::tool(),
        undo::tool(),
    ];
    tools.into_iter().map(with_short_schema).collect()
}
