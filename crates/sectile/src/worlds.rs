//! The worlds, and the one list of them.

pub(crate) mod docs;
pub(crate) mod editor;
pub(crate) mod hosted;
pub(crate) mod notebook;
pub(crate) mod vault;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    mcp::WorldCard,
    settings::{Mistakes, SettingsReader, SettingsSection},
};

/// Makes [`WorldSections`] and [`WorldSettings`] of one list.
macro_rules! settings_of_worlds {
    ($($(#[$description:meta])* $world:ident: $section:ty,)*) => {
        /// The sections of all worlds, as they are written.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub(crate) struct WorldSections {
            $($(#[$description])* pub(crate) $world: $section,)*
        }

        /// What all worlds work with.
        pub(crate) struct WorldSettings {
            $(pub(crate) $world: <$section as SettingsSection>::Checked,)*
        }

        impl SettingsSection for WorldSections {
            type Checked = WorldSettings;

            fn check(&self, reader: SettingsReader<'_>) -> Result<WorldSettings, Mistakes> {
                let mut mistakes = Mistakes::default();
                $(let $world = mistakes.take(self.$world.check(reader));)*
                match ($($world,)*) {
                    ($(Some($world),)*) => Ok(WorldSettings { $($world,)* }),
                    _ => Err(mistakes),
                }
            }
        }
    };
}

// In the order of the settings file.
settings_of_worlds! {
    /// The vault world: structure of the notes in a folder.
    vault: vault::VaultSection,
    /// The editor world: section edits of a document or of a folder of documents.
    editor: editor::EditorSection,
    /// The docs world: documentation to search and to read.
    docs: docs::DocsSection,
    /// The notebook world: a read-only library with verifiable quotes.
    notebook: notebook::NotebookSection,
    /// The hosted world: structure of notes that an upstream store keeps for many users.
    hosted: hosted::HostedSection,
}

/// The contract of every world, in the order they are listed.
pub(crate) fn cards() -> Vec<WorldCard> {
    cards_with(&WorldSections::default())
}

/// The same, with these settings.
pub(crate) fn cards_with(sections: &WorldSections) -> Vec<WorldCard> {
    let editor = editor::spec(editor::Extent::Folder, editor::ErrorStyle::Protocol);
    let docs = docs::spec(&docs::DocsSettings {
        namespace: sections.docs.namespace.clone(),
        ..docs::DocsSettings::default()
    });
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
