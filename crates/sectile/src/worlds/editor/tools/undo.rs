//! `undo`: reverts a change.

use sectile_mcp::Tool;

use super::{super::EditorWorld, undo_redo::take_back};

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "undo",
        "Undo",
        "Revert the last change of a document, or any entry of its history that later changes do not overlap. Works across restarts; edits by other programs are never overwritten.",
    );
    take_back(tool, false, "Undo successful.")
}
