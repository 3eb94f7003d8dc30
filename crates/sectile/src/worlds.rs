//! The worlds, and the one list of them.

pub(crate) mod docs;
pub(crate) mod editor;
pub(crate) mod vault;

use crate::mcp::WorldCard;

/// The contract of every world, in the order they are listed.
pub(crate) fn cards() -> Vec<WorldCard> {
    let editor = editor::spec(editor::Extent::Folder, editor::ErrorStyle::Protocol);
    vec![vault::spec().card(), editor.card()]
}
