//! The editor: documents below a root, sections with lasting ids, and changes that are whole, durable and can be undone.
//!
//! Reading is [`Editor::view`]. Writing is [`Editor::write`]: operations are made on drafts in memory, then committed
//! together. Every process that works on the same root sees the same journal; locks keep two of them from changing one
//! document at a time, and the bytes on disk are compared before they are replaced.

mod apply;
mod characters;
mod commit;
mod compact;
mod conflict;
mod draft;
mod error;
mod foreign;
mod history;
mod links;
mod operation;
mod part;
mod recovery;
mod report;
mod section;
mod sighting;
mod store;
mod trust;
mod undo;
mod view;
mod watch;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use sectile_markdown::name_key;

pub use self::{
    draft::{DocumentReport, StepReport, WriteReport, WriteRequest},
    error::{Candidate, Conflict, EditorError},
    history::{HistoryEntry, HistoryFilter, JournalState, Remembered, Revision, examine},
    links::{BrokenLink, LinkCheck},
    operation::{
        At, CreateDocument, DeleteDocument, DeleteSection, EditText, InsertSection, MoveSection,
        Operation, Relative, RenameDocument, RenameSection, Scope, SetFrontMatter, UpdateSection,
    },
    part::{is_hash, page, part_hash, short_hash},
    section::{SectionInfo, SectionRef},
    trust::{ForeignHistory, Trusted, trust},
    undo::UndoRequest,
    view::View,
    watch::Watch,
};
use crate::{
    JournalKey, NotePath, ReadError, Root, RootError, Walk,
    fs::{Located, PrivateFolder, is_markdown_name},
};

/// Bounds on what the editor does.
#[derive(Clone, Copy, Debug)]
pub struct EditorLimits {
    /// Largest document, before and after an edit.
    pub max_document_bytes: u64,
    /// Longest text of one operation.
    pub max_payload_bytes: usize,
    /// Most operations of one request.
    pub max_operations: usize,
    /// The journal is shortened when it grows beyond this.
    pub max_journal_bytes: u64,
    /// Longest diff in an answer.
    pub max_diff_bytes: usize,
    /// How long to wait for a document that another process is changing.
    pub lock_timeout: Duration,
    /// Deleting more than this wants a confirmation; `None` when no deletion does.
    pub confirm_delete_bytes: Option<usize>,
    /// Longest text that callers are shown at once. A longer one is replaced only by those who read all of it.
    pub max_shown_bytes: usize,
    /// Whether every change of a section must say what it is based on.
    pub require_hash: bool,
}

impl EditorLimits {
    /// The largest file of the private folder that is read. A journal is shortened long before that, so one that is
    /// larger was not written by us.
    fn most_private_bytes(&self) -> u64 {
        const LEAST: u64 = 64 << 20;
        const FACTOR: u64 = 8;
        self.max_journal_bytes
            .max(LEAST)
            .max(self.max_document_bytes)
            .saturating_mul(FACTOR)
    }
}

impl Default for EditorLimits {
    fn default() -> Self {
        Self {
            max_document_bytes: 16 << 20,
            max_payload_bytes: 1 << 20,
            max_operations: 100,
            max_journal_bytes: 64 << 20,
            max_diff_bytes: 16 << 10,
            lock_timeout: Duration::from_secs(10),
            confirm_delete_bytes: None,
            max_shown_bytes: usize::MAX,
            require_hash: false,
        }
    }
}

/// Time in milliseconds since 1970.
pub type Clock = fn() -> i64;

/// How an editor works.
#[derive(Clone, Debug)]
pub struct EditorOptions {
    /// Its bounds.
    pub limits: EditorLimits,
    /// Where times come from.
    pub clock: Clock,
    /// The key that shows which history is this user's own.
    pub key: JournalKey,
    /// The documents that count: these are listed, can be changed, and have their links repaired and checked. Others can
    /// still be read.
    pub walk: Walk,
    /// Whether nothing is written at all, neither documents nor anything in `.sectile`.
    pub read_only: bool,
}

impl EditorOptions {
    /// Options with the usual bounds, for all documents of a folder.
    #[must_use]
    pub fn new(key: JournalKey, clock: Clock) -> Self {
        Self {
            limits: EditorLimits::default(),
            clock,
            key,
            walk: Walk::default(),
            read_only: false,
        }
    }
}

/// Documents that can be edited.
#[derive(Debug)]
pub struct Editor {
    root: Root,
    /// The one document, when it is not a whole folder that is edited.
    only: Option<NotePath>,
    walk: Walk,
    limits: EditorLimits,
    clock: Clock,
    read_only: bool,
    state: Mutex<store::State>,
    views: Mutex<view::Cache>,
    plans: Mutex<draft::Plans>,
    /// The last text that was made from the journal: of which document, and after which entry.
    made_text: Mutex<Option<(u64, u64, Vec<u8>)>>,
    /// Whether the root was flushed after its private folder was made.
    is_root_flushed: AtomicBool,
}

impl Editor {
    /// An editor of all documents below the folder `location`. What an earlier process of this user left half done is
    /// finished or dropped.
    ///
    /// # Errors
    /// [`RootError`] when it is not a folder that can be opened.
    pub fn folder(location: &Path, options: EditorOptions) -> Result<Self, RootError> {
        Ok(Self::new(Root::open(location)?, None, options))
    }

    /// An editor of the one document at `location`. A link is followed: the document is the file it leads to.
    ///
    /// # Errors
    /// [`RootError`] when its folder cannot be opened, or it is not a file with the name of a Markdown document.
    pub fn document(location: &Path, options: EditorOptions) -> Result<Self, RootError> {
        let (root, only) = Root::of_document(location)?;
        if !is_markdown(&only) {
            return Err(RootError::NotMarkdown);
        }
        Ok(Self::new(root, Some(only), options))
    }

    fn new(root: Root, only: Option<NotePath>, options: EditorOptions) -> Self {
        let EditorOptions {
            limits,
            clock,
            key,
            walk,
            read_only,
        } = options;
        let editor = Self {
            root: root.with_private_limit(limits.most_private_bytes()),
            only,
            walk,
            limits,
            clock,
            read_only,
            state: Mutex::new(store::State::new(key)),
            views: Mutex::default(),
            plans: Mutex::default(),
            made_text: Mutex::default(),
            is_root_flushed: AtomicBool::new(false),
        };
        if read_only {
            return editor;
        }
        // Whatever stands in the way is met again, and reported, by the first call that needs it.
        match editor.recover() {
            Ok(()) | Err(_) => editor,
        }
    }

    /// The documents, sorted by path. `stop` says whether the caller has given up.
    ///
    /// # Errors
    /// [`EditorError`] when the folder cannot be read, or `stop` said so.
    pub fn documents(&self, stop: &dyn Fn() -> bool) -> Result<Vec<NotePath>, EditorError> {
        match &self.only {
            Some(only) => Ok(vec![only.clone()]),
            None => Ok(self.root.walk(&self.walk, stop)?),
        }
    }

    /// The one document that is edited, if it is not a folder.
    #[must_use]
    pub fn only(&self) -> Option<&NotePath> {
        self.only.as_ref()
    }

    /// The bounds it works in.
    #[must_use]
    pub fn limits(&self) -> &EditorLimits {
        &self.limits
    }

    /// The folder that the documents are in.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    fn state(&self) -> MutexGuard<'_, store::State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plans(&self) -> MutexGuard<'_, draft::Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn made_text(&self) -> MutexGuard<'_, Option<(u64, u64, Vec<u8>)>> {
        self.made_text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The private folder, for writing to it.
    fn private(&self) -> Result<PrivateFolder, EditorError> {
        if self.read_only {
            return Err(EditorError::ReadOnly);
        }
        self.root
            .make_private_folder()
            .map_err(|error| self.refusal(&error))
    }

    /// Where the file at `path` really is.
    fn locate(&self, path: &NotePath) -> Result<Located, EditorError> {
        self.root.locate(path).map_err(|error| self.missing(error))
    }

    /// Where the file at `path` really is or would be.
    fn real_path(&self, path: &NotePath) -> Result<NotePath, EditorError> {
        self.root.resolve(path).map_err(|error| self.missing(error))
    }

    /// Refuses a path whose last part is a link. What is asked for would happen to the document behind it, and leave the
    /// link leading nowhere.
    fn refuse_link(&self, path: &NotePath) -> Result<(), EditorError> {
        self.check_path(path)?;
        let real = self.real_path(path)?;
        let folder = path.folder().map(NotePath::parse_vault).transpose();
        let beside = match folder.map_err(|_| EditorError::OutsideRoot)? {
            Some(folder) => format!("{}/{}", self.real_path(&folder)?.as_str(), path.file_name()),
            None => path.file_name().to_owned(),
        };
        // A disk may spell a name in another case.
        if name_key(&beside) == name_key(real.as_str()) {
            return Ok(());
        }
        // What is not a document is not named.
        if real.segments().any(|segment| segment.starts_with('.')) {
            return Err(EditorError::DocumentNotFound);
        }
        self.check_path(&real)?;
        Err(EditorError::IsLink {
            target: real.as_str().to_owned(),
        })
    }

    fn missing(&self, error: ReadError) -> EditorError {
        match error {
            ReadError::NotFound if !self.root.is_there() => EditorError::RootGone,
            error => error.into(),
        }
    }

    /// What the system says about something in the root.
    fn refusal(&self, error: &std::io::Error) -> EditorError {
        if self.root.is_there() {
            EditorError::io(error)
        } else {
            EditorError::RootGone
        }
    }

    /// Refuses paths that are not documents of this editor.
    fn check_path(&self, path: &NotePath) -> Result<(), EditorError> {
        match &self.only {
            Some(only) if only != path => Err(EditorError::DocumentNotFound),
            Some(_) => Ok(()),
            None if is_markdown(path) => Ok(()),
            None => Err(EditorError::NotMarkdown),
        }
    }

    /// Refuses to write to `real`, a path without links, unless it is a document of this editor. Every change passes here,
    /// wherever it was asked for or written down.
    fn check_target(&self, real: &NotePath) -> Result<(), EditorError> {
        self.check_path(real)?;
        if self.is_document(real)? {
            Ok(())
        } else {
            Err(EditorError::NotADocument)
        }
    }

    /// Whether `real`, a path without links, is or would be a document of the folder. The one that a person named to be
    /// edited by itself is, whatever its name.
    fn is_document(&self, real: &NotePath) -> Result<bool, EditorError> {
        Ok(self.only.as_ref() == Some(real) || self.root.counts(real, &self.walk)?)
    }
}

/// Whether the name of a file says that it is Markdown.
#[must_use]
pub fn is_markdown(path: &NotePath) -> bool {
    is_markdown_name(path.file_name())
}

#[cfg(test)]
mod tests;
