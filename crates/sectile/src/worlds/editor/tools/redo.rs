//! `redo`: reapplies an undone change.

use sectile_mcp::Tool;

use super::{super::EditorWorld, taking_back::take_back};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "redo",
        "Redo",
        "Make again what `undo` took back last, or the undone entry that is named.",
    );
    take_back(tool, true, "Redo successful.")
}
