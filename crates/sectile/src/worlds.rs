//! The worlds, and the one list of them.

pub(crate) mod docs;
pub(crate) mod editor;
pub(crate) mod notebook;
pub(crate) mod vault;

use crate::mcp::WorldCard;

/// The contract of every world, in the order they are listed.
pub(crate) fn cards() -> Vec<WorldCard> {
    cards_in(docs::NAMESPACE)
}

/// The same, when the docs world has this namespace.
pub(crate) fn cards_in(namespace: &str) -> Vec<WorldCard> {
    let editor = editor::spec(editor::Extent::Folder, editor::ErrorStyle::Protocol);
    let docs = docs::spec(namespace, docs::Offer::ALL);
    let notebook = notebook::spec(&notebook::Constraints::default());
    vec![
        vault::spec().card(),
        editor.card(),
        docs.card(),
        notebook.card(),
    ]
}
