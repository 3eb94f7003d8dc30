//! The worlds, and the one list of them.

pub(crate) mod docs;
pub(crate) mod editor;
pub(crate) mod hosted;
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

    /// The two body-free worlds share no code of their own, so that neither can change the other; their contract is one.
    #[test]
    fn the_hosted_world_has_the_tools_of_the_vault_world() {
        let (vault, hosted) = (vault::spec().card(), hosted::spec().card());
        assert_eq!(vault.tools.len(), hosted.tools.len());
        for (vault, hosted) in vault.tools.iter().zip(&hosted.tools) {
            assert_eq!(vault.name, hosted.name);
            assert_eq!(vault.title, hosted.title);
            assert_eq!(vault.description, hosted.description);
            assert_eq!(vault.access, hosted.access);
            assert_eq!(vault.idempotent, hosted.idempotent);
            assert_eq!(vault.open_world, hosted.open_world);
            assert_eq!(*vault.input, *hosted.input);
            assert_eq!(*vault.output, *hosted.output);
        }
    }
}
