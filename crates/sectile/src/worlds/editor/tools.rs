//! The tools of the `editor` world: one file each, one table.

mod apply_edits;
mod apply_plan;
mod check_links;
mod create_document;
mod delete_document;
mod delete_section;
mod edit_text;
mod get_document;
mod get_revision;
mod get_section;
mod history;
mod insert_section;
mod list_documents;
mod list_sections;
mod move_section;
mod open_document;
mod redo;
mod rename_document;
mod rename_section;
mod set_front_matter;
mod undo;
mod undo_redo;
mod update_section;

use std::borrow::Cow;

use sectile_mcp::Tool;

use super::{EditedTarget, EditorWorld};

/// All tools, in listing order: reading, the edits of the contract, more edits, history, links, whole documents.
pub(super) fn table(extent: EditedTarget) -> Vec<Tool<EditorWorld>> {
    let mut tools = vec![
        list_sections::tool(),
        get_section::tool(),
        get_document::tool(),
        insert_section::tool(),
        update_section::tool(),
        delete_section::tool(),
        move_section::tool(),
        rename_section::tool(),
        edit_text::tool(),
        set_front_matter::tool(),
        apply_edits::tool(),
        apply_plan::tool(),
        undo::tool(),
        redo::tool(),
        history::tool(),
        get_revision::tool(),
        check_links::tool(),
    ];
    if extent == EditedTarget::Folder {
        tools.extend([
            list_documents::tool(),
            open_document::tool(),
            create_document::tool(),
            rename_document::tool(),
            delete_document::tool(),
        ]);
    }
    tools
}

/// Names of the tools that a larger extent would have.
pub(super) fn absent(extent: EditedTarget) -> Vec<Cow<'static, str>> {
    let served = table(extent);
    let all = table(EditedTarget::Folder)
        .into_iter()
        .map(|tool| tool.name);
    all.filter(|name| served.iter().all(|tool| tool.name != *name))
        .collect()
}
