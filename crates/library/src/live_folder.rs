//! A folder of notes that people and programs edit while it is served: its notes, text, links and names, up to date
//! with every call.

mod facet_index;
mod folder_query;
mod link_graph;
mod name_index;
mod note_record;
mod note_table;
mod search;
mod state;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use sectile_markdown::NotePath;
use sectile_vault::{RootError, Walk};

pub use self::{
    facet_index::{FacetIndex, field_counts, tag_counts},
    folder_query::{FolderQuery, HitOrder, QueryMistake, TaskFilter},
    link_graph::{DiskLookup, LinkEdge, LinkGraph, LinkTarget},
    name_index::{NameIndex, NameMatch},
    note_record::{
        HeadingRecord, HeadingSpelling, LinkRecord, NoteRecord, decode_records, encode_records,
    },
    search::{FolderHit, FolderHits},
    state::{
        ChangeDetection, FolderChanges, FolderContents, FolderState, InMemoryReason, IndexProgress,
        NoteChange,
    },
};
use crate::{
    clock::Clock,
    error::{FailedPart, LibraryError},
    folder::FolderStorage,
    indexing::why_nowhere,
    library::Library,
    open_collection::snapshot::Snapshot,
    storage::{NotebookFile, NotebookStorage as _, TOP},
    tiers::Models,
};

/// How a folder is opened.
#[derive(Clone, Debug)]
pub struct LiveFolderOptions {
    /// The folder.
    pub location: PathBuf,
    /// Selects the files that count.
    pub walk: Walk,
    /// The largest note whose text is searched, in bytes.
    pub max_note_bytes: u64,
    /// The folder of this folder's cache; without one the index is only in memory.
    pub cache: Option<PathBuf>,
    /// The clock.
    pub clock: Clock,
    /// Whether the second tier may be filled in the background.
    pub background: bool,
}

/// A folder and its index, shared by all callers.
pub struct LiveFolder {
    storage: Arc<FolderStorage>,
    library: Arc<Library>,
    models: Models,
    options: LiveFolderOptions,
    state: Mutex<Option<Arc<FolderState>>>,
    /// Held during a comparison with the disk, so that an older state never replaces a newer one.
    comparing: Mutex<()>,
    /// What this process wrote or other programs changed since it was last asked for.
    external: Mutex<BTreeSet<NotePath>>,
}

impl LiveFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder, or cannot be opened.
    pub fn open(options: LiveFolderOptions) -> Result<Arc<Self>, RootError> {
        let storage = Arc::new(FolderStorage::documents(
            &options.location,
            options.walk.clone(),
            options.max_note_bytes,
        )?);
        // The models are part of the program, so that only a broken build lacks them.
        let models =
            Models::built_in().map_err(|_| RootError::Unreadable(std::io::ErrorKind::Other))?;
        Ok(Arc::new(Self {
            library: Arc::new(Library::of(Arc::clone(&storage))),
            storage,
            models,
            options,
            state: Mutex::default(),
            comparing: Mutex::default(),
            external: Mutex::default(),
        }))
    }

    /// Returns the state of the folder as it is now. Of a folder that was never indexed, that is what is in so far.
    ///
    /// # Errors
    /// [`LibraryError`] when the folder cannot be read, or the caller no longer waits.
    pub fn current(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FolderState>, LibraryError> {
        self.refreshed(stop, &BTreeSet::new())
    }

    /// Returns the state of the folder as it is now, once everything is in.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub fn complete(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<FolderState>, LibraryError> {
        self.current(stop)
    }

    /// Brings the index up to date with notes that this process has just written.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub fn written(&self, paths: &[NotePath]) -> Result<(), LibraryError> {
        self.refreshed(&|| false, &paths.iter().cloned().collect())
            .map(drop)
    }

    /// Returns the notes that other programs changed since the last call of this, sorted.
    pub fn take_external_changes(&self) -> Vec<NotePath> {
        std::mem::take(&mut *self.external.lock())
            .into_iter()
            .collect()
    }

    fn refreshed(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
        own: &BTreeSet<NotePath>,
    ) -> Result<Arc<FolderState>, LibraryError> {
        let _alone = self.comparing.lock();
        let before = self.state.lock().clone();
        let (listed, inventory) = self.storage.inventory(stop, &mut |_| {}).map_err(|error| {
            LibraryError::of_storage(error, FailedPart::Notebooks(self.storage.kind()))
        })?;
        let snapshot = match &before {
            Some(before) => before
                .snapshot
                .refreshed(&self.library, TOP, &listed, stop)?,
            None => Snapshot::in_memory(&self.library, TOP, self.models, self.options.clock, stop)?
                .refreshed(&self.library, TOP, &listed, stop)?,
        };
        let known = before
            .as_deref()
            .map(FolderState::notes)
            .unwrap_or_default();
        let mut notes = Vec::with_capacity(listed.len());
        let mut changes = FolderChanges::default();
        for (one, indexed) in listed.iter().zip(snapshot.notebooks.iter()) {
            let at = known
                .binary_search_by(|note| note.path.cmp(&one.notebook))
                .ok();
            let before = at.map(|at| &known[at]);
            let same = before.filter(|note| {
                note.stamp == one.stamp
                    && (note.digest == indexed.digest || note.left_out.is_some())
            });
            if let Some(note) = same {
                notes.push(Arc::clone(note));
                continue;
            }
            let note = Arc::new(self.record(one, why_nowhere(indexed.place))?);
            changes.notes.push(NoteChange {
                before: before.cloned(),
                after: Some(Arc::clone(&note)),
            });
            notes.push(note);
        }
        let is_gone = |note: &&Arc<NoteRecord>| {
            let at = listed.binary_search_by(|one| one.notebook.cmp(&note.path));
            at.is_err()
        };
        changes
            .notes
            .extend(known.iter().filter(is_gone).map(|note| NoteChange {
                before: Some(Arc::clone(note)),
                after: None,
            }));
        let contents = FolderContents {
            notes,
            others: inventory.others,
            folders: inventory.folders,
        };
        let (links, names) = (OnceLock::new(), OnceLock::new());
        if let Some(before) = before {
            let paths = changes.notes.iter().filter_map(NoteChange::path);
            let changed = paths.filter(|path| !own.contains(path)).cloned();
            self.external.lock().extend(changed);
            changes.others = difference(&before.contents.others, &contents.others);
            if let Some(mut known) = before.links.get().cloned() {
                Arc::make_mut(&mut known).apply(&contents, &changes);
                links.get_or_init(|| known);
            }
            if let Some(mut known) = before.names.get().cloned() {
                Arc::make_mut(&mut known).apply(&contents, &changes);
                names.get_or_init(|| known);
            }
        }
        let state = Arc::new(FolderState {
            progress: IndexProgress {
                indexed: contents.notes.len(),
                total: contents.notes.len(),
                is_complete: true,
                left_out: snapshot.left_out.len(),
                tier: snapshot.state().tier,
                in_memory_reason: Some(InMemoryReason::NotWanted),
                detection: ChangeDetection::Listing,
            },
            contents,
            library: Arc::clone(&self.library),
            snapshot,
            links,
            names,
        });
        *self.state.lock() = Some(Arc::clone(&state));
        Ok(state)
    }

    fn record(
        &self,
        one: &NotebookFile,
        why: Option<crate::left_out::WhyLeftOut>,
    ) -> Result<NoteRecord, LibraryError> {
        let bytes = match why {
            Some(_) => None,
            None => self
                .library
                .ask(|storage| storage.read_listed(TOP, &one.notebook))?,
        };
        let (path, stamp) = (one.notebook.clone(), one.stamp);
        Ok(match bytes {
            Some(bytes) => NoteRecord::new(path, stamp, &bytes),
            None => NoteRecord::left_out(path, stamp, why),
        })
    }
}

/// Returns what only one of two sorted lists has.
fn difference(before: &[NotePath], after: &[NotePath]) -> Vec<NotePath> {
    let missing = |from: &'_ [NotePath], path: &NotePath| from.binary_search(path).is_err();
    let gone = before.iter().filter(|path| missing(after, path));
    let new = after.iter().filter(|path| missing(before, path));
    gone.chain(new).cloned().collect()
}
