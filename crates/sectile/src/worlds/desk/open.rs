//! Opens the desk.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sectile_library::{
    clock,
    editable_folder::EditableFolder,
    live_folder::{CacheFolder, LiveFolderOptions, SecondTierUse},
    manual_page::NoteCut,
};
use sectile_markdown::Digest;
use sectile_mcp::{Surface, WorldSpec};
use sectile_vault::{
    JournalKey, PathRules, RootError, Walk,
    editor::{EditorLimits, EditorOptions},
};

use super::{
    DeskSettings, DeskWorld, SHOWN_BYTES,
    card::MAX_DOCUMENT_DIFF_BYTES,
    memory, resources,
    roots::DeskRoot,
    settings::{DeskPreset, DeskRanking, RootSettings},
    spec, tenants,
    urls::UrlStyle,
};
use crate::{
    files,
    worlds::{OpenError, PathArgument, ServeContext, WorldEntry, WorldSettings, journal_key},
};

pub(crate) static ENTRY: WorldEntry = WorldEntry {
    name: "desk",
    about: "Folders of notes to search, read and edit, with links, history and undo",
    path: PathArgument::NearestRoot("desk.root", |settings| &mut settings.desk.root),
    is_http_only: false,
    error_setting: None,
    card: |_| spec().card(),
    open,
};

/// Number of digits in the name of a root's folder in the cache.
const CACHE_DIGITS: usize = 32;

fn open(context: ServeContext<'_>) -> Result<Option<Surface>, OpenError> {
    if let Some(store) = &context.settings.desk.store {
        // A folder on the command line takes precedence over the store.
        if !context.has_path {
            return tenants::open(context, store).map(Some);
        }
    }
    let read_only = context.read_only || context.settings.desk.read_only;
    let Some(state) = open_roots(context.settings, read_only, true)? else {
        return context.without_folder(ENTRY.name);
    };
    let preset = context.settings.desk.preset;
    if preset == DeskPreset::Memory && state.roots.len() > 1 {
        return Err(
            OpenError::usage("a memory has one root, and the settings name several.")
                .next("give a folder: sectile serve desk DIR --preset memory"),
        );
    }
    let context = ServeContext {
        read_only,
        ..context
    };
    Ok(Some(context.surface(preset_spec(preset, read_only), state)))
}

/// Returns the contract of a preset.
pub(super) fn preset_spec(preset: DeskPreset, read_only: bool) -> WorldSpec<DeskWorld> {
    match preset {
        DeskPreset::Desk => WorldSpec {
            resources: resources::of(read_only),
            ..spec()
        },
        DeskPreset::Memory => memory::spec(),
    }
}

/// Opens the desk for one command, which does nothing in the background.
pub(crate) fn open_for_shell(settings: &WorldSettings) -> Result<DeskWorld, OpenError> {
    let opened = open_roots(settings, settings.desk.read_only, false)?;
    opened.ok_or_else(|| OpenError::no_folder(ENTRY.name))
}

/// Opens the desk of one folder without any settings: nothing is kept outside it.
pub(crate) fn open_without_settings(
    location: &Path,
    key: JournalKey,
) -> Result<DeskWorld, OpenError> {
    let root = RootSettings {
        location: location.to_path_buf(),
        ..RootSettings::default()
    };
    let options = RootOptions {
        settings: &DeskSettings::default(),
        key: &key,
        read_only: false,
        background: false,
    };
    let location = files::absolute(location)?;
    let root = open_root(&root, location, &options)?;
    Ok(DeskWorld { roots: vec![root] })
}

/// Opens the roots that the settings name; `None` if there are none.
fn open_roots(
    worlds: &WorldSettings,
    read_only: bool,
    background: bool,
) -> Result<Option<DeskWorld>, OpenError> {
    let settings = &worlds.desk;
    let alone = settings.root.iter().map(|location| RootSettings {
        location: location.clone(),
        ..RootSettings::default()
    });
    let alone: Vec<RootSettings> = alone.collect();
    let roots = match alone.as_slice() {
        [] => &settings.roots[..],
        alone => alone,
    };
    if roots.is_empty() {
        return Ok(None);
    }
    let locations = located(roots)?;
    refuse_nested(roots, &locations)?;
    let key = journal_key(worlds.editor.key_file.as_deref(), read_only)?;
    let mut opened = Vec::new();
    for (root, location) in roots.iter().zip(locations) {
        let options = RootOptions {
            settings,
            key: &key,
            read_only,
            background,
        };
        opened.push(open_root(root, location, &options)?);
    }
    if background {
        limit_cache(settings);
    }
    Ok(Some(DeskWorld { roots: opened }))
}

/// Removes indexes that were not used for the longest time, and the oldest shared vectors, if all together are too large.
/// Indexes in use stay.
fn limit_cache(settings: &DeskSettings) {
    let Some(cache) = &settings.cache else {
        return;
    };
    if let Err(error) = CacheFolder::new(cache).shrink(settings.cache_limit, None) {
        tracing::debug!(kind = ?error.kind(), "the cache folder cannot be made smaller");
    }
}

/// What the roots of a desk have in common.
struct RootOptions<'a> {
    settings: &'a DeskSettings,
    key: &'a JournalKey,
    read_only: bool,
    /// Whether work may be done that no call waits for.
    background: bool,
}

/// Returns where the roots are, without links.
fn located(roots: &[RootSettings]) -> Result<Vec<PathBuf>, OpenError> {
    let locate = |root: &RootSettings| {
        files::absolute(&root.location).map_err(|error| {
            let reason = files::reason(error.kind());
            unusable(root, &reason)
        })
    };
    roots.iter().map(locate).collect()
}

/// Refuses a root inside another one: a note would have two histories and two ids. The same folder under two names is
/// allowed, with different rules for different callers.
fn refuse_nested(roots: &[RootSettings], locations: &[PathBuf]) -> Result<(), OpenError> {
    for (inner, below) in roots.iter().zip(locations) {
        for (outer, above) in roots.iter().zip(locations) {
            if below != above && below.starts_with(above) {
                return Err(OpenError::usage(format_args!(
                    "the root `{}` is inside the root `{}`.",
                    inner.name, outer.name
                ))
                .next("remove one of them from [desk.roots]"));
            }
        }
    }
    Ok(())
}

/// The error for a root that cannot be served.
fn unusable(root: &RootSettings, why: &str) -> OpenError {
    let folder = root.location.file_name().unwrap_or_default();
    match root.name.as_str() {
        "" => OpenError::failed(format_args!(
            "the folder `{}` cannot be used: {why}.",
            folder.to_string_lossy()
        ))
        .next("give a folder: sectile serve desk DIR"),
        name => OpenError::usage(format_args!("the root `{name}` cannot be served: {why}.")).next(
            format_args!("correct desk.roots.{name} in the settings file"),
        ),
    }
}

fn open_root(
    root: &RootSettings,
    location: PathBuf,
    options: &RootOptions<'_>,
) -> Result<DeskRoot, OpenError> {
    let RootOptions {
        settings,
        key,
        read_only,
        background,
    } = *options;
    let rules = |patterns: &[String]| {
        PathRules::new(patterns.to_vec()).map_err(|error| unusable(root, &error.to_string()))
    };
    let (hide, read, write) = (rules(&root.hide)?, rules(&root.read)?, rules(&root.write)?);
    let limits = EditorLimits {
        max_shown_bytes: SHOWN_BYTES,
        max_diff_bytes: MAX_DOCUMENT_DIFF_BYTES,
        ..EditorLimits::default()
    };
    let editor = EditorOptions {
        limits,
        hide,
        read,
        write,
        read_only,
        ..EditorOptions::new(key.clone(), clock::now)
    };
    let index = LiveFolderOptions {
        location: location.clone(),
        walk: Walk::default(),
        cut: NoteCut::Notes,
        max_note_bytes: limits.max_document_bytes,
        cache: settings
            .cache
            .as_deref()
            .map(|cache| cache_of(cache, &location, root)),
        shared_vectors: settings.shared_vectors(),
        clock: clock::now,
        second_tier: match settings.ranking {
            DeskRanking::Static => SecondTierUse::Unused,
            DeskRanking::Meaning if background => SecondTierUse::Filled,
            DeskRanking::Meaning => SecondTierUse::Read,
        },
    };
    let folder = EditableFolder::open(&location, editor, index)
        .map_err(|error: RootError| unusable(root, &error.to_string()))?;
    if let Some(levels) = folder.editor.root().nearest_history_above() {
        tracing::warn!(
            above = files::levels_up(levels),
            "a folder above has a history of its own: a note that is edited in both has two; see `sectile doctor`"
        );
    }
    Ok(DeskRoot {
        urls: UrlStyle::of_folder(
            options.settings.url_template.as_deref(),
            folder.editor.root(),
            &location.file_name().unwrap_or_default().to_string_lossy(),
        ),
        name: root.name.clone(),
        location,
        folder: Arc::new(folder),
    })
}

/// Returns the folder in `cache` for the root at `location`. Rules that hide something make an index of their own.
pub(super) fn cache_of(cache: &Path, location: &Path, root: &RootSettings) -> PathBuf {
    let mut key = location.as_os_str().as_encoded_bytes().to_vec();
    for (rule, patterns) in [("hide", &root.hide), ("read", &root.read)] {
        for pattern in patterns {
            key.extend(format!("\0{rule} {pattern}").into_bytes());
        }
    }
    let mut name = Digest::of(&key).to_string();
    name.truncate(CACHE_DIGITS);
    cache.join(name)
}
