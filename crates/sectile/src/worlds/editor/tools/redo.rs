//! `redo`: makes an undone change again.

use super::{super::EditorWorld, taking_back::take_back};
use crate::mcp::Tool;

pub(super) fn tool() -> Tool<EditorWorld> {
    let tool = Tool::write(
        "redo",
        "Redo",
        "Make again what `undo` took back last, or the undone entry that is named.",
    );
    take_back(tool, true, "Redo successful.")
}
