//! The settings of the desk.

mod store;

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use sectile_library::live_folder::{CacheFolder, SharedVectors};
use sectile_vault::Walk;
use serde::{Deserialize, Serialize};

pub(crate) use self::store::{StoreLocation, StoreSection, StoreSettings};
use super::urls::is_template;
use crate::{
    files,
    settings::{ConfigError, ConfigErrors, SettingsReader, SettingsSection, cache_folder},
};

/// Maximum number of roots of a desk. Each keeps an index in memory.
const MAX_ROOTS: usize = 32;
/// Maximum length of the name of a root, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// The desk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DeskSection {
    /// Folder of notes to serve, relative to the settings file. Empty: the folders in `desk.roots`, if there are any.
    pub(crate) root: String,
    /// Folders of notes to serve together, each under a name of lower-case letters, digits, `-` and `_`. A value is the
    /// path of the folder, relative to the settings file, or a table with rules.
    pub(crate) roots: BTreeMap<String, NamedRoot>,
    /// Whether only the tools that read are offered.
    pub(crate) read_only: bool,
    /// Address of a note that results give people to open, with `{path}`, `{name}`, `{id}`, `{root}` and `{heading}` in it.
    /// Empty: chosen by the program.
    pub(crate) url_template: String,
    /// Folder for the indexes, relative to the settings file. Empty: sectile in your cache folder.
    pub(crate) cache: String,
    /// Size of the cache folder, in bytes, beyond which the indexes that were not used for the longest time are removed.
    /// A quarter of it is for the vectors that indexes share.
    #[schemars(range(min = 1_048_576, max = 1_099_511_627_776_u64))]
    pub(crate) cache_limit: u64,
    /// What decides the order of search results besides words: `static`, the instant model, with the same answers from the
    /// first call on and nothing computed in the background; or `meaning`, the better of the two models, once the notes are
    /// embedded with it in the background.
    pub(crate) ranking: DeskRanking,
    /// The set of tools: the eleven of the desk, or the six commands of a memory tool.
    pub(crate) preset: DeskPreset,
    /// Store of the folders of many tenants, instead of folders of this machine.
    pub(crate) store: StoreSection,
}

impl Default for DeskSection {
    fn default() -> Self {
        Self {
            root: String::new(),
            roots: BTreeMap::new(),
            read_only: false,
            url_template: String::new(),
            cache: String::new(),
            cache_limit: 2 << 30,
            ranking: DeskRanking::default(),
            preset: DeskPreset::default(),
            store: StoreSection::default(),
        }
    }
}

/// A root of the desk, as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum NamedRoot {
    /// Its path.
    Path(String),
    /// Its path and its rules.
    Rules(RootSection),
}

/// A root of the desk with its rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["path"]))]
pub(crate) struct RootSection {
    /// Path of the folder, relative to the settings file.
    pub(crate) path: String,
    /// Only notes that match one of these patterns, written as in .gitignore, exist for callers. Empty: all.
    pub(crate) read: Vec<String>,
    /// Only notes that match one of these patterns can be changed. Empty: all.
    pub(crate) write: Vec<String>,
    /// Notes that match one of these patterns do not exist for callers.
    pub(crate) hide: Vec<String>,
}

/// What decides the order of search results besides words.
// Doc comments on the variants would change the schema of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeskRanking {
    // The instant model.
    Static,
    // The better model, as soon as there are vectors of it.
    #[default]
    Meaning,
}

/// The set of tools.
// Doc comments on the variants would change the schema of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeskPreset {
    // The eleven tools of the desk.
    #[default]
    Desk,
    // The six commands of a memory tool.
    Memory,
}

/// The checked settings of the desk.
#[derive(Debug, Default)]
pub(crate) struct DeskSettings {
    /// The only root, if it needs no name.
    pub(crate) root: Option<PathBuf>,
    /// The roots with names, sorted by name.
    pub(crate) roots: Vec<RootSettings>,
    pub(crate) read_only: bool,
    /// The address of a note, if one is given.
    pub(crate) url_template: Option<String>,
    /// Folder for the indexes, if there is anywhere to keep them.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) cache_limit: u64,
    pub(crate) ranking: DeskRanking,
    pub(crate) preset: DeskPreset,
    /// The store of tenants, if folders of this machine are not served.
    pub(crate) store: Option<StoreSettings>,
}

/// A checked root with its rules.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RootSettings {
    /// Its name; empty if it is the only root and needs none.
    pub(crate) name: String,
    pub(crate) location: PathBuf,
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    pub(crate) hide: Vec<String>,
}

impl DeskSettings {
    /// Returns where its roots are, as far as they exist.
    pub(crate) fn locations(&self) -> Vec<PathBuf> {
        let named = self.roots.iter().map(|root| &root.location);
        let all = self.root.iter().chain(named);
        all.filter_map(|location| files::absolute(location).ok())
            .collect()
    }

    /// Returns the vectors that the indexes of this user share, if there is anywhere to keep them.
    pub(crate) fn shared_vectors(&self) -> Option<SharedVectors> {
        let cache = CacheFolder::new(self.cache.as_deref()?);
        Some(cache.shared_vectors(self.cache_limit))
    }
}

impl SettingsSection for DeskSection {
    type Checked = DeskSettings;

    fn check(&self, reader: SettingsReader<'_>) -> Result<DeskSettings, ConfigErrors> {
        let mut mistakes = ConfigErrors::default();
        if !self.root.is_empty() && !self.roots.is_empty() {
            mistakes.add(reader.refuse("desk.root", "empty when desk.roots names folders"));
        }
        if self.roots.len() > MAX_ROOTS {
            let expected = format!("at most {MAX_ROOTS} folders");
            mistakes.add(reader.refuse("desk.roots", expected));
        }
        if !self.url_template.is_empty() && !is_template(&self.url_template) {
            let expected = "an address such as https://example.org/{path}, with {path}, {name}, {id}, {root} and {heading} in it";
            mistakes.add(reader.refuse("desk.url_template", expected));
        }
        let mut roots = Vec::new();
        for (name, root) in &self.roots {
            roots.extend(mistakes.take(root.check(name, reader)));
        }
        let store = mistakes.take(self.store.check(reader).map_err(ConfigErrors::from));
        let store = store.flatten();
        if store.is_some() && !(self.root.is_empty() && self.roots.is_empty()) {
            let key = if self.root.is_empty() {
                "desk.roots"
            } else {
                "desk.root"
            };
            mistakes.add(reader.refuse(key, "empty when desk.store names a store of tenants"));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(DeskSettings {
            store,
            root: reader.place("desk.root", &self.root),
            roots,
            read_only: self.read_only,
            url_template: Some(self.url_template.clone()).filter(|text| !text.is_empty()),
            cache: reader
                .place("desk.cache", &self.cache)
                .or_else(|| Some(cache_folder()?.join("sectile"))),
            cache_limit: self.cache_limit,
            ranking: self.ranking,
            preset: self.preset,
        })
    }

    fn root_names(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self.roots.keys().cloned().collect();
        (!names.is_empty()).then_some(names)
    }
}

impl NamedRoot {
    /// Returns the path and the rules.
    fn rules(&self) -> RootSection {
        match self {
            Self::Path(path) => RootSection {
                path: path.clone(),
                ..RootSection::default()
            },
            Self::Rules(rules) => rules.clone(),
        }
    }

    fn check(&self, name: &str, reader: SettingsReader<'_>) -> Result<RootSettings, ConfigErrors> {
        let mut mistakes = ConfigErrors::default();
        let key = format!("desk.roots.{name}");
        let mut refuse = |part: &str, expected: &str| {
            mistakes.add(ConfigError::WrongValue {
                origin: reader.origins.of_entry("desk.roots", part),
                key: format!("desk.roots.{part}"),
                expected: expected.to_owned(),
            });
        };
        if !is_root_name(name) {
            refuse(
                name,
                "named with 1 to 32 lower-case letters, digits, - and _",
            );
        }
        let rules = self.rules();
        match self {
            Self::Path(path) if path.is_empty() => refuse(name, "the path of a folder"),
            Self::Rules(rules) if rules.path.is_empty() => {
                refuse(name, "a table with the path of a folder in `path`")
            }
            _ => {}
        }
        for (list, patterns) in [
            ("read", &rules.read),
            ("write", &rules.write),
            ("hide", &rules.hide),
        ] {
            for (index, pattern) in patterns.iter().enumerate() {
                if let Err(error) = Walk::new(vec![pattern.clone()], Vec::new()) {
                    let part = format!("{name}.{list}.{index}");
                    mistakes.add(ConfigError::BadPattern {
                        origin: reader.origins.of_entry("desk.roots", part),
                        key: format!("{key}.{list}"),
                        pattern: error.pattern,
                    });
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(RootSettings {
            name: name.to_owned(),
            location: reader.place_from(reader.base, "desk.roots", &rules.path),
            read: rules.read,
            write: rules.write,
            hide: rules.hide,
        })
    }
}

/// Returns whether `name` can be the name of a root: the part of an id before the colon.
pub(crate) fn is_root_name(name: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}
