//! `redo`: reapplies an undone change.

use sectile_mcp::Tool;

use super::{super::EditorWorld, undo_redo::take_back};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "redo",
        "Redo",
        "Reapply the change that `undo` reverted last, or the given undone entry.",
    );
    take_back(tool, true, "Redo successful.")
}
