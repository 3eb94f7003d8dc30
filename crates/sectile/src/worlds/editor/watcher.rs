//! Sees what other programs do to the documents, for those who subscribed. What it sees is only a hint: a document is
//! read, compared and entered into its history when somebody looks at it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use notify::{Event, EventKind, RecursiveMode, Watcher as _};
use sectile_vault::editor::Editor;
use tokio::sync::broadcast;

use super::resources;
use crate::mcp::ResourceNotice;

/// Looks out until it is dropped.
pub(super) struct Watcher {
    _watching: notify::RecommendedWatcher,
}

/// Programs write in several steps; one notice is enough.
const QUIET: Duration = Duration::from_millis(50);
const PRIVATE_FOLDER: &str = ".sectile";

impl Watcher {
    /// Starts to look out. `None` where the system does not tell; subscribers then hear of our own changes only.
    pub(super) fn start(
        editor: &Editor,
        notices: broadcast::Sender<ResourceNotice>,
    ) -> Option<Self> {
        let root = editor.root().location().to_path_buf();
        let only = editor.only().map(|path| path.as_str().to_owned());
        let (sender, events) = mpsc::channel::<Event>();
        let started = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // The other end goes with the process.
            if let Ok(event) = event
                && sender.send(event).is_err()
            {
                tracing::debug!("nobody looks at file events any more");
            }
        });
        let mode = if only.is_some() {
            RecursiveMode::NonRecursive
        } else {
            RecursiveMode::Recursive
        };
        let mut watching = started.ok()?;
        if let Err(error) = watching.watch(&root, mode) {
            tracing::warn!(kind = ?error.kind, "changes by other programs are not reported");
            return None;
        }
        std::thread::Builder::new()
            .name("watcher".to_owned())
            .spawn(move || tell(&events, &root, only.as_deref(), &notices))
            .ok()?;
        Some(Self {
            _watching: watching,
        })
    }
}

/// Turns events into notices until the watcher is dropped.
fn tell(
    events: &mpsc::Receiver<Event>,
    root: &Path,
    only: Option<&str>,
    notices: &broadcast::Sender<ResourceNotice>,
) {
    while let Ok(first) = events.recv() {
        let mut changed = BTreeSet::new();
        let mut listing = false;
        let mut next = Some(first);
        while let Some(event) = next {
            let comes_or_goes = matches!(
                event.kind,
                EventKind::Create(_)
                    | EventKind::Remove(_)
                    | EventKind::Modify(notify::event::ModifyKind::Name(_))
            );
            let is_listed =
                |path: &PathBuf| document(path, root).is_some() || may_be_folder(path, root);
            listing |= comes_or_goes && event.paths.iter().any(is_listed);
            if !matches!(event.kind, EventKind::Access(_)) {
                changed.extend(event.paths.iter().filter_map(|path| document(path, root)));
            }
            next = events.recv_timeout(QUIET).ok();
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
            // Without listeners there is nobody to tell.
            if notices.send(notice).is_err() {
                break;
            }
        }
    }
}

/// The parts of a path below the root that is not private.
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

/// Whether this may be a folder, by its name: documents come and go with it, and it may be gone itself.
fn may_be_folder(path: &Path, root: &Path) -> bool {
    path.extension().is_none() && parts(path, root).is_some()
}

/// The document that an event is about.
fn document(path: &Path, root: &Path) -> Option<String> {
    let parts = parts(path, root)?;
    let is_markdown = path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown")
    });
    is_markdown.then(|| parts.join("/"))
}
