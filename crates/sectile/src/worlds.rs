//! The worlds, and the one table of them, which the command line, the settings and the manual read.

mod buckets;
pub(crate) mod desk;
pub(crate) mod docs;
mod editing;
pub(crate) mod editor;
mod entry;
pub(crate) mod hosted;
pub(crate) mod note_structure;
pub(crate) mod notebook;
mod snippet;
mod url_template;
pub(crate) mod vault;

use schemars::JsonSchema;
use sectile_mcp::WorldCard;
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    editing::{
        arguments_digest, journal_key, json_value, key_of_this_process, timestamp, yaml_value,
    },
    entry::{OpenError, PathArgument, ServeContext, WorldEntry, how_to_give_a_folder},
};
use crate::settings::{ConfigErrors, SettingsReader, SettingsSection};

/// All worlds, in the order they are listed.
pub(crate) static WORLDS: &[&WorldEntry] = &[
    &desk::ENTRY,
    &vault::ENTRY,
    &hosted::ENTRY,
    &editor::ENTRY,
    &docs::ENTRY,
    &notebook::ENTRY,
];

/// The world that is served and connected if none is named.
pub(crate) static DEFAULT_WORLD: &WorldEntry = &desk::ENTRY;

/// Defines [`WorldSections`] and [`WorldSettings`] from one list.
macro_rules! settings_of_worlds {
    ($($(#[$description:meta])* $world:ident: $section:ty,)*) => {
        /// The sections of all worlds, as written.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub(crate) struct WorldSections {
            $($(#[$description])* pub(crate) $world: $section,)*
        }

        /// The checked settings of all worlds.
        pub(crate) struct WorldSettings {
            $(pub(crate) $world: <$section as SettingsSection>::Checked,)*
        }

        impl SettingsSection for WorldSections {
            type Checked = WorldSettings;

            fn check(&self, reader: SettingsReader<'_>) -> Result<WorldSettings, ConfigErrors> {
                let mut mistakes = ConfigErrors::default();
                $(let $world = mistakes.take(self.$world.check(reader));)*
                match ($($world,)*) {
                    ($(Some($world),)*) => Ok(WorldSettings { $($world,)* }),
                    _ => Err(mistakes),
                }
            }

            fn root_names(&self) -> Option<Vec<String>> {
                let of_worlds = [$(self.$world.root_names(),)*];
                of_worlds.into_iter().flatten().reduce(|all, more| [all, more].concat())
            }
        }
    };
}

// In the order of the settings file.
settings_of_worlds! {
    /// The desk: folders of notes to search, read and edit.
    desk: desk::DeskSection,
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

/// The contract of every world under these settings.
pub(crate) fn cards_with(sections: &WorldSections) -> Vec<WorldCard> {
    WORLDS.iter().map(|world| (world.card)(sections)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sectile_mcp::{names_tool, texts_without};

    /// Checks all text that any world shows its callers, for every tool that may be hidden.
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

    /// A name means the same world on the command line, in its contract and in the settings.
    #[test]
    fn every_world_has_one_name_and_a_section() {
        let sections = serde_json::to_value(WorldSections::default()).unwrap();
        assert_eq!(sections.as_object().unwrap().len(), WORLDS.len());
        for world in WORLDS {
            let card = (world.card)(&WorldSections::default());
            assert_eq!(card.name, world.name);
            let section = &sections[world.name];
            assert!(section.is_object(), "{}", world.name);
            for setting in world.path.setting().into_iter().chain(world.error_setting) {
                let name = setting.strip_prefix(world.name).unwrap();
                assert!(section[&name[1..]].is_string(), "{setting}");
            }
        }
    }
}
