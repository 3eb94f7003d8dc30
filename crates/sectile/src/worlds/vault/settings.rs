//! The settings of the vault world.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{ConfigErrors, SettingsReader, SettingsSection};

/// The vault world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VaultSection {
    /// Folder of the notes, relative to the settings file. Empty: the world is not served from this file.
    pub(crate) root: String,
    /// Largest note that is read, in bytes.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub(crate) max_note_bytes: u64,
}

impl Default for VaultSection {
    fn default() -> Self {
        Self {
            root: String::new(),
            max_note_bytes: 8 << 20,
        }
    }
}

/// The checked settings of the vault world.
#[derive(Debug)]
pub(crate) struct VaultSettings {
    /// Folder of the notes, if configured.
    pub(crate) root: Option<PathBuf>,
    pub(crate) max_note_bytes: u64,
}

impl SettingsSection for VaultSection {
    type Checked = VaultSettings;

    fn check(&self, reader: SettingsReader<'_>) -> Result<VaultSettings, ConfigErrors> {
        Ok(VaultSettings {
            root: reader.place("vault.root", &self.root),
            max_note_bytes: self.max_note_bytes,
        })
    }
}
