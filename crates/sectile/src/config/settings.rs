//! Settings as the program uses them: typed, checked, and resolved against the worlds' tables.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sectile_vault::{Walk, editor::EditorLimits};

use super::{
    AccessSettings, ConfigError, DocsSettings, EditorErrors, FrontSettings, HostedSettings, Loaded,
    LogFormat, LogLevel, Mistakes, NotebookSettings, env::state_folder, error::nearest,
    front::Files, raw,
};
use crate::mcp::{
    Limits, Policy, WorldCard, fixed_part,
    policy::{Authorisation, Names, Visibility, qualified},
};

pub(crate) struct Settings {
    pub(crate) log: LogSettings,
    pub(crate) limits: Limits,
    pub(crate) max_message_bytes: usize,
    pub(crate) front: FrontSettings,
    pub(crate) access: AccessSettings,
    pub(crate) policy: Policy,
    /// Folder of the vault world, when it is configured.
    pub(crate) vault_root: Option<PathBuf>,
    pub(crate) max_note_bytes: u64,
    pub(crate) editor: EditorSettings,
    pub(crate) docs: DocsSettings,
    pub(crate) notebook: NotebookSettings,
    /// The hosted world, when it is configured.
    pub(crate) hosted: Option<HostedSettings>,
}

/// What the editor world works with.
#[derive(Debug)]
pub(crate) struct EditorSettings {
    /// Document or folder, when it is configured.
    pub(crate) root: Option<PathBuf>,
    pub(crate) errors: EditorErrors,
    pub(crate) limits: EditorLimits,
    pub(crate) max_answer_bytes: usize,
    pub(crate) walk: Walk,
    /// Where the key of the history is, when there is any place for it.
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSettings {
    pub(crate) level: LogLevel,
    pub(crate) format: LogFormat,
}

impl Settings {
    /// Checks what was loaded, and says all that is wrong with it at once. Paths from a file count from its folder, `base`.
    pub(crate) fn resolve(
        loaded: &Loaded,
        base: &Path,
        worlds: fn(&str) -> Vec<WorldCard>,
    ) -> Result<Self, Mistakes> {
        let raw = &loaded.raw;
        let worlds = || worlds(&raw.docs.namespace);
        let mut mistakes = Mistakes::default();
        let front = mistakes.take(FrontSettings::resolve(loaded, base));
        let access = mistakes.take(AccessSettings::resolve(loaded, base, &worlds));
        let hosted = mistakes.take(HostedSettings::resolve(loaded, base));
        let policy = mistakes.take(policy(loaded, &worlds));
        let editor = mistakes.take(EditorSettings::resolve(loaded, base));
        let docs = mistakes.take(DocsSettings::resolve(loaded, base));
        let notebook = mistakes.take(NotebookSettings::resolve(loaded, base));
        let mistakes = mistakes.after(&loaded.mistakes);
        let (Some(front), Some(access), Some(hosted), Some(policy)) =
            (front, access, hosted, policy)
        else {
            return Err(mistakes);
        };
        let (Some(editor), Some(docs), Some(notebook)) = (editor, docs, notebook) else {
            return Err(mistakes);
        };
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Self {
            log: LogSettings {
                level: raw.log.level,
                format: raw.log.format,
            },
            limits: Limits {
                max_in_flight: raw.server.limits.max_in_flight,
                max_in_flight_per_caller: share_of(&raw.server.limits),
                max_waiting: raw.server.limits.max_waiting,
                max_waiting_per_caller: raw.server.limits.max_waiting.div_ceil(8),
                call_timeout: Duration::from_millis(raw.server.limits.call_timeout_ms),
                inline_when_alone: false,
            },
            max_message_bytes: raw.server.limits.max_message_bytes,
            front,
            access,
            hosted,
            policy,
            vault_root: Files { loaded, base }.place("vault.root", &raw.vault.root),
            max_note_bytes: raw.vault.max_note_bytes,
            editor,
            docs,
            notebook,
        })
    }
}

impl EditorSettings {
    /// Checks what was loaded. Paths from a file count from its folder, `base`.
    fn resolve(loaded: &Loaded, base: &Path) -> Result<Self, Mistakes> {
        let raw = &loaded.raw.editor;
        let files = Files { loaded, base };
        Ok(Self {
            root: files.place("editor.root", &raw.root),
            errors: raw.errors,
            limits: editor_limits(raw),
            max_answer_bytes: raw.max_answer_bytes,
            walk: walk(loaded)?,
            key_file: files
                .place("editor.key_file", &raw.key_file)
                .or_else(|| Some(state_folder()?.join("sectile/journal.key"))),
        })
    }
}

/// What exists and what may be called.
fn policy(loaded: &Loaded, worlds: &dyn Fn() -> Vec<WorldCard>) -> Result<Policy, Mistakes> {
    let raw = &loaded.raw.server;
    let mut mistakes = Mistakes::default();
    let mut names = |key: &str, list: &[String]| {
        let names = mistakes.take(known_names(key, list, loaded, worlds));
        names.unwrap_or_default()
    };
    let policy = Policy {
        visibility: Visibility {
            mode: raw.tools.mode,
            allow: names("server.tools.allowlist", &raw.tools.allowlist),
            deny: names("server.tools.denylist", &raw.tools.denylist),
        },
        authorisation: Authorisation {
            allowed: names("server.auth.allowed_tools", &raw.auth.allowed_tools),
        },
        roles: Arc::default(),
    };
    match mistakes.is_empty() {
        true => Ok(policy),
        false => Err(mistakes),
    }
}

/// Calls of one caller who signed in that may run at the same time.
fn share_of(raw: &raw::ServerLimits) -> usize {
    match raw.max_in_flight_per_caller {
        0 => raw.max_in_flight.div_ceil(4),
        given => given.min(raw.max_in_flight),
    }
}

fn editor_limits(raw: &raw::Editor) -> EditorLimits {
    EditorLimits {
        max_document_bytes: raw.max_document_bytes,
        max_payload_bytes: raw.max_payload_bytes,
        max_operations: raw.max_edits,
        max_journal_bytes: raw.max_journal_bytes,
        // A diff shares its answer with other fields.
        max_diff_bytes: raw.max_answer_bytes / 2,
        lock_timeout: Duration::from_millis(raw.lock_timeout_ms),
        confirm_delete_bytes: Some(raw.confirm_delete_bytes).filter(|bytes| *bytes > 0),
        max_shown_bytes: raw.max_answer_bytes,
        require_hash: raw.require_hash,
    }
}

/// Patterns are checked one at a time, so that each message names the right one.
fn walk(loaded: &Loaded) -> Result<Walk, Mistakes> {
    let raw = &loaded.raw.editor;
    let mut mistakes = Mistakes::default();
    for (key, patterns) in [
        ("editor.include", &raw.include),
        ("editor.exclude", &raw.exclude),
    ] {
        for (index, pattern) in patterns.iter().enumerate() {
            if let Err(error) = Walk::new(vec![pattern.clone()], Vec::new()) {
                mistakes.add(ConfigError::BadPattern {
                    origin: loaded.origin_of_entry(key, index),
                    key: key.to_owned(),
                    pattern: error.pattern,
                });
            }
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let walk = Walk::new(raw.include.clone(), raw.exclude.clone());
    walk.map_err(|error| {
        let key = "editor.exclude";
        Mistakes::from(ConfigError::BadPattern {
            origin: loaded.origin(key),
            key: key.to_owned(),
            pattern: error.pattern,
        })
    })
}

/// A misspelt name in a policy would silently protect nothing, so it is an error.
pub(super) fn known_names(
    key: &str,
    list: &[String],
    loaded: &Loaded,
    worlds: &dyn Fn() -> Vec<WorldCard>,
) -> Result<Names, Mistakes> {
    if list.is_empty() {
        return Ok(Names::default());
    }
    let worlds = worlds();
    let known: Vec<String> = worlds
        .iter()
        .flat_map(|world| {
            let tools = world.tools.iter().map(|tool| tool.name.as_str());
            tools
                .chain(world.prompts.iter().copied())
                .chain(world.templates.iter().map(String::as_str))
                .map(|name| (world.name, name))
                .collect::<Vec<_>>()
        })
        .flat_map(|(world, name)| [name.to_owned(), qualified(world, name)])
        .collect();
    // A resource goes by its URI, of which there is no list.
    let is_resource = |name: &String| {
        worlds.iter().any(|world| {
            let uri = name
                .strip_prefix(world.name)
                .and_then(|rest| rest.strip_prefix('/'));
            let uri = uri.unwrap_or(name);
            let mut families = world.templates.iter().map(|template| fixed_part(template));
            families.any(|family| uri.starts_with(family.trim_end_matches('/')))
        })
    };
    let mut mistakes = Mistakes::default();
    for (index, name) in list.iter().enumerate() {
        if !known.contains(name) && !is_resource(name) {
            mistakes.add(ConfigError::UnknownName {
                origin: loaded.origin_of_entry(key, index),
                key: key.to_owned(),
                nearest: nearest(name, known.iter().map(String::as_str)),
                name: name.clone(),
            });
        }
    }
    match mistakes.is_empty() {
        true => Ok(Names::new(list.iter().cloned())),
        false => Err(mistakes),
    }
}
