//! The tools of the desk: one file each, one table.

pub(super) mod changes;
mod create;
mod delete;
mod edit;
pub(super) mod fetch;
pub(super) mod links;
mod outline;
mod rename;
mod search;
mod set_fields;
pub(super) mod undo;

use sectile_mcp::Tool;

use super::DeskWorld;

/// All tools, in listing order: those that read, then those that write.
pub(super) fn table() -> Vec<Tool<DeskWorld>> {
    vec![
        search::tool(),
        fetch::tool(),
        outline::tool(),
        links::tool(),
        changes::tool(),
        create::tool(),
        edit::tool(),
        set_fields::tool(),
        rename::tool(),
        delete::tool(),
        undo::tool(),
    ]
}
