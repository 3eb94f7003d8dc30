//! Watches for changes that other programs make to the documents and notifies subscribers. An event is only a hint: the
//! document is read, compared and recorded in its history on the next access.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Weak, mpsc},
    time::Duration,
};

use notify::{Event, EventKind, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use sectile_mcp::ResourceNotice;
use sectile_vault::{Root, editor::Editor};
use tokio::sync::broadcast;

use super::resources;

/// Watches a folder until it is dropped.
pub(super) struct FolderWatcher {
    _watching: Arc<Mutex<notify::RecommendedWatcher>>,
}

/// Time over which events are collected: programs write in several steps, and one notice for all of them is enough.
const QUIET: Duration = Duration::from_millis(50);
const PRIVATE_FOLDER: &str = ".sectile";

impl FolderWatcher {
    /// Starts to watch. `None` if the system does not report changes; subscribers are then notified only of our own.
    pub(super) fn start(
        editor: &Editor,
        notices: broadcast::Sender<ResourceNotice>,
    ) -> Option<Self> {
        let root = editor.root().clone();
        let only = editor.only().map(|path| path.as_str().to_owned());
        let (sender, events) = mpsc::channel::<Event>();
        let started = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Merely reading a file is an event too. The receiver lives as long as the process.
            if let Ok(event) = event
                && !event.kind.is_access()
                && sender.send(event).is_err()
            {
                tracing::debug!("nobody looks at file events any more");
            }
        });
        let watching = Arc::new(Mutex::new(started.ok()?));
        let above = root.location().to_path_buf();
        if let Err(error) = watch(&watching, &above, RecursiveMode::NonRecursive) {
            tracing::warn!(kind = ?error.kind, "changes by other programs are not reported");
            return None;
        }
        if only.is_none() {
            // The private folder changes with every edit of every process, which concerns no subscriber.
            for folder in root.visible_folders().unwrap_or_default() {
                watch_folder(&watching, &root, &folder);
            }
        }
        let weak = Arc::downgrade(&watching);
        std::thread::Builder::new()
            .name("watcher".to_owned())
            .spawn(move || tell(&events, &root, &weak, only.as_deref(), &notices))
            .ok()?;
        Some(Self {
            _watching: watching,
        })
    }
}

fn watch(
    watching: &Mutex<notify::RecommendedWatcher>,
    path: &Path,
    mode: RecursiveMode,
) -> notify::Result<()> {
    let mut watching = watching.lock();
    watching.watch(path, mode)
}

/// Starts to watch a folder directly below the root.
fn watch_folder(watching: &Mutex<notify::RecommendedWatcher>, root: &Root, name: &str) {
    let path = root.location().join(name);
    if let Err(error) = watch(watching, &path, RecursiveMode::Recursive) {
        tracing::debug!(kind = ?error.kind, "changes in a folder are not reported");
    }
}

/// Returns whether the event is about something that was created, removed or renamed.
fn comes_or_goes(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(notify::event::ModifyKind::Name(_))
    )
}

/// Turns events into notices until the watcher is dropped.
fn tell(
    events: &mpsc::Receiver<Event>,
    root: &Root,
    watching: &Weak<Mutex<notify::RecommendedWatcher>>,
    only: Option<&str>,
    notices: &broadcast::Sender<ResourceNotice>,
) {
    let location = root.location();
    while let Ok(first) = events.recv() {
        let mut changed = BTreeSet::new();
        let mut listing = false;
        // A program that never stops writing must neither delay notices nor wake us with every byte.
        std::thread::sleep(QUIET);
        for event in std::iter::once(first).chain(events.try_iter()) {
            let is_listed = |path: &PathBuf| {
                document(path, location).is_some() || may_be_folder(path, location)
            };
            if comes_or_goes(&event) {
                listing |= event.paths.iter().any(is_listed);
                if let Some(watching) = watching.upgrade().filter(|_| only.is_none()) {
                    for name in event.paths.iter().filter_map(|path| new_folder(path, root)) {
                        watch_folder(&watching, root, name);
                    }
                }
            }
            changed.extend(
                event
                    .paths
                    .iter()
                    .filter_map(|path| document(path, location)),
            );
        }
        changed.retain(|path| only.is_none_or(|only| only == path));
        let mut all: Vec<ResourceNotice> = changed
            .iter()
            .flat_map(|path| resources::notices(only.is_some(), path))
            .collect();
        if listing && only.is_none() {
            all.push(ResourceNotice::ListChanged);
        }
        for notice in all {
            // There are no listeners.
            if notices.send(notice).is_err() {
                break;
            }
        }
    }
}

/// The name of a new folder directly below the root.
fn new_folder<'a>(path: &'a Path, root: &Root) -> Option<&'a str> {
    let name = path.strip_prefix(root.location()).ok()?.to_str()?;
    root.is_visible_folder(name).then_some(name)
}

/// The components of a path below the root; `None` if it is private.
fn parts<'a>(path: &'a Path, root: &Path) -> Option<Vec<&'a str>> {
    let below = path.strip_prefix(root).ok()?;
    let parts: Vec<&str> = below
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect::<Option<_>>()?;
    let is_private = parts
        .iter()
        .any(|part| part.eq_ignore_ascii_case(PRIVATE_FOLDER));
    (!is_private).then_some(parts)
}

/// Returns whether this may be a folder, judging by its name since it may no longer exist. Documents come and go with it.
fn may_be_folder(path: &Path, root: &Path) -> bool {
    path.extension().is_none() && parts(path, root).is_some()
}

/// The document at `path`, if it is one.
fn document(path: &Path, root: &Path) -> Option<String> {
    let parts = parts(path, root)?;
    let is_markdown = path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown")
    });
    is_markdown.then(|| parts.join("/"))
}
