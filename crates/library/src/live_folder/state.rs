//! The state of a folder at one moment.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use sectile_markdown::NotePath;
use sectile_retrieval::{Corpus, DocumentLocation};

use crate::{
    folder::{FolderStorage, SettledNote},
    indexing::why_nowhere,
    live_folder::{
        DiskLookup, FacetIndex, LinkGraph, NameIndex, NoteRecord, link_graph::LinkMentions,
    },
    open_collection::{
        readers::ReaderPool,
        snapshot::{NamedSegment, Snapshot, SnapshotNotebook, merge_sorted},
    },
    tiers::Tier,
};

/// The files of a folder, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct FolderContents {
    /// The notes.
    pub notes: Vec<Arc<NoteRecord>>,
    /// The files that are not notes, such as pictures.
    pub others: Vec<NotePath>,
    /// The folders that callers see, without the top.
    pub folders: Vec<NotePath>,
}

/// The difference between two states of a folder.
#[derive(Clone, Debug, Default)]
pub struct FolderChanges {
    /// The notes that changed, by path.
    pub notes: Vec<NoteChange>,
    /// Other files and folders that appeared or disappeared.
    pub others: Vec<NotePath>,
}

/// A change of one note.
#[derive(Clone, Debug)]
pub struct NoteChange {
    /// The note before; `None` if it is new.
    pub before: Option<Arc<NoteRecord>>,
    /// The note now; `None` if it is gone.
    pub after: Option<Arc<NoteRecord>>,
}

impl NoteChange {
    /// Returns the path of the note.
    pub fn path(&self) -> Option<&NotePath> {
        let note = self.after.as_ref().or(self.before.as_ref())?;
        Some(&note.path)
    }
}

/// How far an index has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexProgress {
    /// Number of notes that are in it.
    pub indexed: usize,
    /// Number of notes in the folder.
    pub total: usize,
    /// Whether everything is in.
    pub is_complete: bool,
    /// Number of notes whose text is not searched, because they are too large or cannot be read.
    pub left_out: usize,
    /// The tier that answers.
    pub tier: Tier,
    /// The reason why nothing is kept on disk, if nothing is.
    pub in_memory_reason: Option<InMemoryReason>,
    /// How changes by other programs are found.
    pub detection: ChangeDetection,
}

/// The reason why an index is only in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemoryReason {
    /// No folder for it was given.
    NotWanted,
    /// The folder for it cannot be written.
    Unwritable,
}

/// How changes by other programs are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDetection {
    /// The system reports them.
    Events,
    /// The folder is listed and compared with every call.
    Listing,
}

/// The state of a folder at one moment: its notes, their text for searching, links and names. It never changes.
#[derive(Clone)]
pub struct FolderState {
    pub(super) contents: FolderContents,
    /// All folders that are listed. Where only some paths may be read, callers see only those with something to see.
    pub(super) listed_folders: Vec<NotePath>,
    pub(super) storage: Arc<FolderStorage>,
    pub(super) readers: Arc<ReaderPool>,
    /// Its notebooks are the notes, in the same order.
    pub(super) snapshot: Snapshot,
    pub(super) progress: IndexProgress,
    pub(super) mentions: OnceLock<Arc<LinkMentions>>,
    pub(super) names: OnceLock<Arc<NameIndex>>,
    pub(super) facets: OnceLock<Arc<FacetIndex>>,
}

/// A note as it is now.
pub(super) struct NoteUpdate {
    pub(super) path: NotePath,
    /// `None` if it is gone.
    pub(super) now: Option<(Arc<NoteRecord>, NotePlace)>,
}

/// The place of a note in the index.
#[derive(Clone, Copy)]
pub(super) enum NotePlace {
    /// Where it was: its text is the same.
    Same,
    /// In a new segment, counted after the present ones, or nowhere.
    At(DocumentLocation),
}

impl FolderState {
    /// Returns the notes, sorted by path.
    pub fn notes(&self) -> &[Arc<NoteRecord>] {
        &self.contents.notes
    }

    /// Returns the note at `path`.
    pub fn note(&self, path: &NotePath) -> Option<&Arc<NoteRecord>> {
        let notes = self.notes();
        let at = notes.binary_search_by(|note| note.path.cmp(path));
        at.ok().map(|at| &notes[at])
    }

    /// Returns the files that are not notes, sorted by path.
    pub fn other_files(&self) -> &[NotePath] {
        &self.contents.others
    }

    /// Returns the folders, sorted by path.
    pub fn folders(&self) -> &[NotePath] {
        &self.contents.folders
    }

    /// Returns the bytes of a note as they are on disk now, if it can be read.
    pub fn read(&self, path: &NotePath) -> Option<Vec<u8>> {
        match self.storage.read_settled(path) {
            SettledNote::Read(bytes, _) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the searchable text of the notes with the vectors of a tier. The second tier may be incomplete; then it is
    /// the first.
    pub(crate) fn corpus(&self, tier: Tier) -> &Arc<Corpus> {
        let first = &self.snapshot.corpus;
        match tier {
            Tier::Static => first,
            Tier::Transformer => self.snapshot.second_corpus.as_ref().unwrap_or(first),
        }
    }

    /// Returns the place of a note in [`Self::corpus`], by its number.
    pub(crate) fn place(&self, note: usize) -> Option<DocumentLocation> {
        self.snapshot.notebooks.get(note).map(|known| known.place)
    }

    /// Returns how far the index has come.
    pub fn progress(&self) -> IndexProgress {
        self.progress.clone()
    }

    /// Returns the links between the notes.
    pub fn links(&self) -> LinkGraph {
        let storage = Arc::clone(&self.storage);
        let disk = DiskLookup::new(move |path| storage.find(path));
        let mentions = self
            .mentions
            .get_or_init(|| Arc::new(LinkMentions::new(&self.contents)));
        LinkGraph::new(Arc::clone(self.shared_names()), Arc::clone(mentions)).with_disk(disk)
    }

    /// Returns the names of the notes.
    pub fn names(&self) -> &NameIndex {
        self.shared_names()
    }

    fn shared_names(&self) -> &Arc<NameIndex> {
        self.names
            .get_or_init(|| Arc::new(NameIndex::new(&self.contents)))
    }

    /// Returns the notes by their tags, fields, folders and tasks.
    pub fn facets(&self) -> &FacetIndex {
        self.facets
            .get_or_init(|| Arc::new(FacetIndex::new(&self.contents)))
    }

    /// Puts notes in the place of others; `updates` are sorted by path. Returns what changed.
    pub(super) fn apply(
        &mut self,
        updates: Vec<NoteUpdate>,
        added: Vec<NamedSegment>,
    ) -> FolderChanges {
        let first = self.snapshot.segments.len();
        let mut notes = Vec::with_capacity(updates.len());
        let mut indexed = Vec::with_capacity(updates.len());
        let mut changes = FolderChanges::default();
        for NoteUpdate { path, now } in updates {
            let before = self.note(&path).cloned();
            let place = match &now {
                Some((_, NotePlace::At(place))) if why_nowhere(*place).is_some() => Some(*place),
                Some((_, NotePlace::At(place))) => Some(DocumentLocation {
                    segment: first + place.segment,
                    ..*place
                }),
                Some((_, NotePlace::Same)) => self
                    .snapshot
                    .position(&path)
                    .map(|at| self.snapshot.notebooks[at].place),
                None => None,
            };
            let now = now.zip(place).map(|((note, _), place)| (note, place));
            let left_out = |note: &Arc<NoteRecord>| usize::from(note.left_out.is_some());
            self.progress.left_out -= before.as_ref().map_or(0, left_out);
            self.progress.left_out += now.as_ref().map_or(0, |(note, _)| left_out(note));
            indexed.push((
                path.clone(),
                now.as_ref().map(|(note, place)| indexed_note(note, *place)),
            ));
            let after = now.map(|(note, _)| note);
            notes.push((path, after.clone()));
            let is_same = match (&before, &after) {
                (Some(before), Some(after)) => Arc::ptr_eq(before, after),
                (before, after) => before.is_none() && after.is_none(),
            };
            if !is_same {
                changes.notes.push(NoteChange { before, after });
            }
        }
        merge_sorted(&mut self.contents.notes, notes, |note| &note.path);
        if added.iter().all(|(_, name)| name.is_none()) {
            let added = added.into_iter().map(|(segment, _)| segment);
            self.snapshot.apply(indexed, added.collect());
        } else {
            let mut segments = self.snapshot.named_segments();
            segments.extend(added);
            let mut notebooks = self.snapshot.notebooks.to_vec();
            merge_sorted(&mut notebooks, indexed, |known| &known.notebook);
            self.snapshot = self.snapshot.assembled(notebooks, segments);
        }
        if !self.storage.shows_all_folders() {
            self.show_folders(&mut changes);
        }
        changes
    }

    /// Replaces the lists of other files and folders, and adds the difference to `changes`.
    pub(super) fn replace_files(
        &mut self,
        others: Vec<NotePath>,
        folders: Vec<NotePath>,
        changes: &mut FolderChanges,
    ) {
        changes
            .others
            .extend(difference(&self.contents.others, &others));
        self.contents.others = others;
        self.listed_folders = folders;
        self.show_folders(changes);
    }

    /// Brings the folders that callers see up to date, and adds the difference to `changes`.
    fn show_folders(&mut self, changes: &mut FolderChanges) {
        let mut folders = self.listed_folders.clone();
        if !self.storage.shows_all_folders() {
            let notes = self.contents.notes.iter().map(|note| &note.path);
            let files = notes.chain(&self.contents.others).map(NotePath::as_str);
            let above = |path| str::match_indices(path, '/').map(|(end, _)| &path[..end]);
            let seen: HashSet<&str> = files.flat_map(above).collect();
            folders.retain(|folder| {
                seen.contains(folder.as_str()) || self.storage.shows_folder(folder)
            });
        }
        let folder_changes = difference(&self.contents.folders, &folders);
        changes.others.extend(folder_changes);
        self.contents.folders = folders;
    }

    /// Brings links and names up to date, if anyone asked for them.
    pub(super) fn follow(&mut self, changes: &FolderChanges) {
        let count = changes.notes.len() + changes.others.len();
        if count == 0 {
            return;
        }
        // Beyond this, computing everything when it is asked for costs less.
        if count * 4 > self.contents.notes.len() + 64 {
            (self.mentions, self.names, self.facets) = Default::default();
            return;
        }
        if let Some(mentions) = self.mentions.get_mut() {
            Arc::make_mut(mentions).apply(changes);
        }
        if let Some(names) = self.names.get_mut() {
            Arc::make_mut(names).apply(&self.contents, changes);
        }
        if let Some(facets) = self.facets.get_mut() {
            Arc::make_mut(facets).apply(changes);
        }
    }
}

/// Returns a note as the index lists it.
pub(super) fn indexed_note(note: &NoteRecord, place: DocumentLocation) -> SnapshotNotebook {
    SnapshotNotebook {
        notebook: note.path.clone(),
        digest: note.digest,
        stamp: note.stamp.state,
        place,
    }
}

/// Returns what only one of two sorted lists has.
pub(super) fn difference(before: &[NotePath], after: &[NotePath]) -> Vec<NotePath> {
    let missing = |from: &'_ [NotePath], path: &NotePath| from.binary_search(path).is_err();
    let gone = before.iter().filter(|path| missing(after, path));
    let new = after.iter().filter(|path| missing(before, path));
    gone.chain(new).cloned().collect()
}
