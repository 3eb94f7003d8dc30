//! The settings of the editor world.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use sectile_vault::{Walk, editor::EditorLimits};
use serde::{Deserialize, Serialize};

use super::ErrorStyle;
use crate::settings::{ConfigError, ConfigErrors, SettingsReader, SettingsSection, state_folder};

/// The editor world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EditorSection {
    /// Document or folder of documents to edit, relative to the settings file. Empty: the world is not served from this
    /// file.
    pub(crate) root: String,
    /// `protocol` returns JSON-RPC errors; `result` returns the same object as a tool result with isError, for clients that
    /// hide protocol errors from the model; `auto` returns results to clients that are known to do so, and JSON-RPC errors
    /// to all others.
    pub(crate) errors: ErrorStyle,
    /// Whether every change of a section must name the hash that it is based on.
    pub(crate) require_hash: bool,
    /// Only documents that match one of these patterns, written as in .gitignore, are listed and searched for links.
    pub(crate) include: Vec<String>,
    /// Documents that match one of these patterns are not listed and not searched for links.
    pub(crate) exclude: Vec<String>,
    /// Largest document, in bytes, before and after an edit.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub(crate) max_document_bytes: u64,
    /// Longest text of one edit, in bytes.
    #[schemars(range(min = 1, max = 67_108_864))]
    pub(crate) max_payload_bytes: usize,
    /// Most edits in one call of apply_edits.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) max_edits: usize,
    /// Length of the journal, in bytes, at which the oldest half of the history is dropped.
    #[schemars(range(min = 65_536, max = 4_294_967_296_u64))]
    pub(crate) max_journal_bytes: u64,
    /// Approximate length of an answer's text, in bytes, above which it is split into pages.
    #[schemars(range(min = 1024, max = 16_777_216))]
    pub(crate) max_answer_bytes: usize,
    /// Deleting more bytes than this needs confirmation. 0: no deletion does.
    #[schemars(range(min = 0, max = 1_073_741_824))]
    pub(crate) confirm_delete_bytes: usize,
    /// How long to wait for a document that another process is changing, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) lock_timeout_ms: u64,
    /// File with the key that seals your history, relative to the settings file; it is created when first needed. Empty:
    /// sectile/journal.key in your state folder.
    pub(crate) key_file: String,
}

impl Default for EditorSection {
    fn default() -> Self {
        Self {
            root: String::new(),
            errors: ErrorStyle::default(),
            require_hash: false,
            include: Vec::new(),
            exclude: Vec::new(),
            max_document_bytes: 16 << 20,
            max_payload_bytes: 1 << 20,
            max_edits: 100,
            max_journal_bytes: 64 << 20,
            max_answer_bytes: 32 << 10,
            confirm_delete_bytes: 0,
            lock_timeout_ms: 10_000,
            key_file: String::new(),
        }
    }
}

/// The checked settings of the editor world.
#[derive(Debug)]
pub(crate) struct EditorSettings {
    /// Document or folder, if configured.
    pub(crate) root: Option<PathBuf>,
    pub(crate) errors: ErrorStyle,
    pub(crate) limits: EditorLimits,
    pub(crate) max_answer_bytes: usize,
    pub(crate) walk: Walk,
    /// File with the key of the history, if there is anywhere to keep it.
    pub(crate) key_file: Option<PathBuf>,
}

impl SettingsSection for EditorSection {
    type Checked = EditorSettings;

    fn check(&self, reader: SettingsReader<'_>) -> Result<EditorSettings, ConfigErrors> {
        Ok(EditorSettings {
            root: reader.place("editor.root", &self.root),
            errors: self.errors,
            limits: self.limits(),
            max_answer_bytes: self.max_answer_bytes,
            walk: self.walk(reader)?,
            key_file: reader
                .place("editor.key_file", &self.key_file)
                .or_else(|| Some(state_folder()?.join("sectile/journal.key"))),
        })
    }
}

impl EditorSection {
    fn limits(&self) -> EditorLimits {
        EditorLimits {
            max_document_bytes: self.max_document_bytes,
            max_payload_bytes: self.max_payload_bytes,
            max_operations: self.max_edits,
            max_journal_bytes: self.max_journal_bytes,
            // A diff shares its answer with other fields.
            max_diff_bytes: self.max_answer_bytes / 2,
            lock_timeout: Duration::from_millis(self.lock_timeout_ms),
            confirm_delete_bytes: Some(self.confirm_delete_bytes).filter(|bytes| *bytes > 0),
            max_shown_bytes: self.max_answer_bytes,
            require_hash: self.require_hash,
        }
    }

    /// Patterns are checked one at a time, so that each message names the right one.
    fn walk(&self, reader: SettingsReader<'_>) -> Result<Walk, ConfigErrors> {
        let mut mistakes = ConfigErrors::default();
        for (key, patterns) in [
            ("editor.include", &self.include),
            ("editor.exclude", &self.exclude),
        ] {
            for (index, pattern) in patterns.iter().enumerate() {
                if let Err(error) = Walk::new(vec![pattern.clone()], Vec::new()) {
                    mistakes.add(ConfigError::BadPattern {
                        origin: reader.origins.of_entry(key, index),
                        key: key.to_owned(),
                        pattern: error.pattern,
                    });
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let walk = Walk::new(self.include.clone(), self.exclude.clone());
        walk.map_err(|error| {
            let key = "editor.exclude";
            ConfigErrors::from(ConfigError::BadPattern {
                origin: reader.origins.of(key),
                key: key.to_owned(),
                pattern: error.pattern,
            })
        })
    }
}
