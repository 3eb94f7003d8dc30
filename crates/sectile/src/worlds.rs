//! The worlds, and the one list of them.

pub(crate) mod docs;
pub(crate) mod editor;
pub(crate) mod hosted;
pub(crate) mod note_structure;
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
        hosted::spec().card(),
        editor.card(),
        docs.card(),
        notebook.card(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{names_tool, texts_without};

    /// Every text of every world that callers can get to read, for every tool that may be hidden.
    #[test]
    fn no_text_of_any_world_names_a_hidden_tool() {
        for card in cards() {
            for hidden in card.tools.iter().map(|tool| tool.name.as_str()) {
                for text in texts_without(&card, hidden) {
                    assert!(!names_tool(&text, hidden), "{hidden}: {text}");
                }
            }
        }
    }
}
