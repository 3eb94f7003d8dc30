//! The state of a folder at one moment.

use std::sync::{Arc, OnceLock};

use sectile_markdown::NotePath;

use crate::{
    library::Library,
    live_folder::{FacetIndex, LinkGraph, NameIndex, NoteRecord},
    open_collection::snapshot::Snapshot,
    tiers::Tier,
};

/// The files of a folder, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct FolderContents {
    /// The notes.
    pub notes: Vec<Arc<NoteRecord>>,
    /// The files that are not notes, such as pictures.
    pub others: Vec<NotePath>,
    /// The folders, without the top.
    pub folders: Vec<NotePath>,
}

/// The difference between two states of a folder.
#[derive(Clone, Debug, Default)]
pub struct FolderChanges {
    /// The notes that changed, by path.
    pub notes: Vec<NoteChange>,
    /// Other files that appeared or disappeared.
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
pub struct FolderState {
    pub(super) contents: FolderContents,
    pub(super) library: Arc<Library>,
    pub(super) snapshot: Snapshot,
    pub(super) progress: IndexProgress,
    pub(super) links: OnceLock<Arc<LinkGraph>>,
    pub(super) names: OnceLock<Arc<NameIndex>>,
    pub(super) facets: OnceLock<Arc<FacetIndex>>,
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

    /// Returns how far the index has come.
    pub fn progress(&self) -> IndexProgress {
        self.progress.clone()
    }

    /// Returns the links between the notes.
    pub fn links(&self) -> &LinkGraph {
        self.links
            .get_or_init(|| Arc::new(LinkGraph::new(&self.contents)))
    }

    /// Returns the names of the notes.
    pub fn names(&self) -> &NameIndex {
        self.names
            .get_or_init(|| Arc::new(NameIndex::new(&self.contents)))
    }

    /// Returns the notes by tags, fields, folders and tasks.
    pub fn facets(&self) -> &FacetIndex {
        self.facets
            .get_or_init(|| Arc::new(FacetIndex::new(&self.contents)))
    }
}
