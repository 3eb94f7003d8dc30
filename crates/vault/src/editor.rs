//! The editor: documents below a root, sections with lasting ids, and changes that are atomic, durable and undoable.
//!
//! Reading is [`Editor::view`]. Writing is [`Editor::write`]: operations are applied to drafts in memory, then
//! committed together. Every process that works on the same root sees the same journal; locks keep two of them from
//! changing one document at the same time, and the bytes on disk are compared before they are replaced.
//!
//! The editor is a facade over parts with fields of their own, each built on those before it: `folder` (which paths are
//! documents, and their bytes), `store` (the journal, the ids, locks and recovery), `read` (views of documents),
//! `history` and `write`. `links` sees only the folder and drafts.

mod draft;
mod error;
mod folder;
mod history;
mod links;
mod read;
mod store;
mod watch;
mod write;

use std::{ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use sectile_markdown::{Changes, LetterCase};

pub use self::{
    error::{Candidate, Conflict, EditorError},
    history::{
        HistoryDocument, HistoryEntry, HistoryFilter, JournalState, Revision,
        changes::{ChangeFilter, EntryDocument, EntryPaths},
        examine,
        past_texts::{PastText, PastTextsEnd},
        trust::{ForeignHistory, TrustOutcome, trust},
    },
    links::{BrokenLink, LinkCheck, reason as link_reason},
    read::{
        View, ViewBatch,
        part::{is_hash, is_part, page, part_hash, short_hash},
        section::{SectionInfo, SectionRef},
    },
    watch::{CallHooks, NameSource},
    write::{
        WriteRequest,
        operation::{
            CreateDocument, DeleteDocument, DeleteSection, EditText, InsertSection, MoveSection,
            Operation, PlaceText, Placement, RelativePlacement, RenameDocument, RenameFolder,
            RenameSection, Scope, SetFrontMatter, TextPlace, UpdateSection,
        },
        plan::is_plan,
        report::{DocumentReport, StepReport, WriteReport},
        undo::UndoRequest,
    },
};
use self::{
    folder::DocumentFolder, history::DocumentHistory, read::DocumentReader, store::JournalStore,
    write::DocumentWriter,
};
use crate::{
    JournalKey, NotePath, PathRules, Root, RootError, Walk, fs::is_markdown_name, journal::Damage,
};

/// Bounds on the editor's work.
#[derive(Clone, Copy, Debug)]
pub struct EditorLimits {
    /// Largest document, before and after an edit, in bytes.
    pub max_document_bytes: u64,
    /// Longest text of one operation, in bytes.
    pub max_payload_bytes: usize,
    /// Most operations in one request.
    pub max_operations: usize,
    /// Length in bytes beyond which the journal is shortened.
    pub max_journal_bytes: u64,
    /// Longest diff in an answer, in bytes.
    pub max_diff_bytes: usize,
    /// Longest wait for a document that another process is changing.
    pub lock_timeout: Duration,
    /// Deletions of more bytes than this need a confirmation; `None` if no deletion does.
    pub confirm_delete_bytes: Option<usize>,
    /// Longest text in bytes that callers are shown at once. A longer one can be replaced only by a caller that has
    /// read all of it.
    pub max_shown_bytes: usize,
    /// Whether every change of a section must say which hash it is based on.
    pub require_hash: bool,
}

impl EditorLimits {
    /// Returns the size of the largest private file that is read. The journal is shortened long before it gets there,
    /// so a larger file was not written by us.
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

/// A function that returns the time in milliseconds since 1970.
pub type Clock = fn() -> i64;

/// Options of an editor.
#[derive(Clone, Debug)]
pub struct EditorOptions {
    /// The bounds on its work.
    pub limits: EditorLimits,
    /// The source of times.
    pub clock: Clock,
    /// The key that tells this user's own history from a foreign one.
    pub key: JournalKey,
    /// Selects the documents that are listed, can be changed, and have their links repaired and checked. Others can
    /// still be read.
    pub walk: Walk,
    /// Paths that do not exist for callers. Everything in a hidden folder is hidden too.
    pub hide: PathRules,
    /// Paths that callers can see; all others are hidden. Without patterns, every path is visible.
    pub read: PathRules,
    /// Paths that callers may change. Without patterns, every path.
    pub write: PathRules,
    /// Whether nothing at all may be written, neither documents nor anything in `.sectile`.
    pub read_only: bool,
}

impl EditorOptions {
    /// Returns options with the default bounds, for all documents of a folder.
    #[must_use]
    pub fn new(key: JournalKey, clock: Clock) -> Self {
        Self {
            limits: EditorLimits::default(),
            clock,
            key,
            walk: Walk::default(),
            hide: PathRules::default(),
            read: PathRules::default(),
            write: PathRules::default(),
            read_only: false,
        }
    }
}

impl EditorOptions {
    /// Returns the walk that finds only the documents that callers can see.
    #[must_use]
    pub fn visible_walk(&self) -> Walk {
        let mut walk = self.walk.clone();
        if !self.hide.is_empty() {
            walk = walk.hiding(self.hide.clone());
        }
        if !self.read.is_empty() {
            walk = walk.reading(self.read.clone());
        }
        walk
    }
}

/// An editor for the documents of a folder, or for a single one.
#[derive(Debug)]
pub struct Editor {
    folder: Arc<DocumentFolder>,
    store: Arc<JournalStore>,
    reader: Arc<DocumentReader>,
    history: Arc<DocumentHistory>,
    writer: DocumentWriter,
}

impl Editor {
    /// Opens an editor for all documents below the folder `location`. Changes that an earlier process of this user left
    /// half done are finished or dropped.
    ///
    /// # Errors
    /// [`RootError`] when `location` is not a folder that can be opened.
    pub fn folder(location: &Path, options: EditorOptions) -> Result<Self, RootError> {
        Ok(Self::new(Root::open(location)?, None, options))
    }

    /// Opens an editor for the one document at `location`. A link is followed: the document is the file it leads to.
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
        let folder = Arc::new(DocumentFolder::new(root, only, &options));
        let store = Arc::new(JournalStore::new(Arc::clone(&folder), &options));
        let reader = Arc::new(DocumentReader::new(&folder, &store));
        let history = DocumentHistory::new(&folder, &store, &reader, &options.limits);
        let history = Arc::new(history);
        let writer = DocumentWriter::new(&folder, &store, &reader, &history, options.limits);
        let editor = Self {
            folder,
            store,
            reader,
            history,
            writer,
        };
        if options.read_only {
            return editor;
        }
        // Whatever prevents recovery is met again, and reported, by the first call that needs it.
        match editor.store.recover() {
            Ok(()) | Err(_) => editor,
        }
    }

    /// Returns the documents, sorted by path. `stop` says whether the caller has given up.
    ///
    /// # Errors
    /// [`EditorError`] when the folder cannot be read, or `stop` returned `true`.
    pub fn documents(&self, stop: &dyn Fn() -> bool) -> Result<Vec<NotePath>, EditorError> {
        self.folder.documents(stop)
    }

    /// Returns the one document that is edited, unless the editor has a whole folder.
    #[must_use]
    pub fn only(&self) -> Option<&NotePath> {
        self.folder.only.as_ref()
    }

    /// Returns the bounds on its work.
    #[must_use]
    pub fn limits(&self) -> &EditorLimits {
        &self.writer.limits
    }

    /// Returns the folder that the documents are in.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.folder.root
    }

    /// Returns the document at `path` as it is on disk now. Sections without an id get one; changes that other programs
    /// made to a document with a history are entered there.
    ///
    /// # Errors
    /// [`EditorError`] when it cannot be read.
    pub fn view(&self, path: &NotePath) -> Result<Arc<View>, EditorError> {
        self.reader.view(path)
    }

    /// Starts to read several documents for one call. That is quicker than viewing each.
    #[must_use]
    pub fn view_batch(&self) -> ViewBatch<'_> {
        ViewBatch::new(&self.reader)
    }

    /// Finds a section by id or by heading, in the document as it is now. `case` says whether a heading may be given in
    /// another case, which is allowed for reading only.
    ///
    /// # Errors
    /// [`EditorError`] gives the reason, with similar sections.
    pub fn find_section(
        &self,
        path: Option<&NotePath>,
        section: &SectionRef,
        case: LetterCase,
    ) -> Result<(Arc<View>, usize), EditorError> {
        self.reader.find_section(path, section, case)
    }

    /// Returns when the file of a document was created, in milliseconds since 1970, if that is known.
    #[must_use]
    pub fn created(&self, path: &NotePath) -> Option<i64> {
        self.reader.created(path)
    }

    /// Returns when the text in `view` was written, in milliseconds since 1970: by the editor's own clock if this
    /// user's last edit wrote it, otherwise by the file's time.
    #[must_use]
    pub fn modified(&self, view: &View) -> Option<i64> {
        self.reader.modified(view)
    }

    /// Returns whether `id` names a section, or did once.
    #[must_use]
    pub fn knows(&self, id: &str) -> bool {
        self.reader.knows(id)
    }

    /// Returns the document that holds the section with this id, as far as is known without reading documents.
    #[must_use]
    pub fn document_of(&self, id: &str) -> Option<NotePath> {
        self.store.document_of(id)
    }

    /// Returns the entries of a document's history, newest first, and whether there are more.
    ///
    /// # Errors
    /// [`EditorError`] when the document or its journal cannot be read.
    pub fn history(
        &self,
        path: &NotePath,
        filter: &HistoryFilter,
    ) -> Result<(Vec<HistoryEntry>, bool), EditorError> {
        self.history
            .history_of(&self.history.remembered(path)?, filter)
    }

    /// Like [`Self::history`], for a document that may have been deleted.
    ///
    /// # Errors
    /// [`EditorError::DocumentNotFound`] when the history no longer knows the document.
    pub fn history_of(
        &self,
        document: &HistoryDocument,
        filter: &HistoryFilter,
    ) -> Result<(Vec<HistoryEntry>, bool), EditorError> {
        self.history.history_of(document, filter)
    }

    /// Returns the changes of the whole folder that `filter` selects, newest first, and whether there are more. Changes
    /// that other programs made to documents with a history are entered first.
    ///
    /// # Errors
    /// [`EditorError`] when the journal cannot be read, or the caller has given up.
    pub fn changes(
        &self,
        filter: &ChangeFilter,
        watch: CallHooks<'_>,
    ) -> Result<(Vec<HistoryEntry>, bool), EditorError> {
        self.history.changes(filter, watch)
    }

    /// Returns the entry with this number.
    ///
    /// # Errors
    /// [`EditorError::EntryNotFound`] when there is none.
    pub fn entry(&self, number: u64) -> Result<HistoryEntry, EditorError> {
        self.history.entry(number)
    }

    /// Returns the paths that the entry with this number is about, as far as callers see them.
    ///
    /// # Errors
    /// [`EditorError::EntryNotFound`] when there is none.
    pub fn entry_paths(&self, number: u64) -> Result<EntryPaths, EditorError> {
        self.history.entry_paths(number)
    }

    /// Returns the newest entry of this caller that is not undone.
    ///
    /// # Errors
    /// [`EditorError`] when the journal cannot be read.
    pub fn newest_change_of(&self, actor: &str) -> Result<Option<u64>, EditorError> {
        self.history.newest_change_of(actor)
    }

    /// Removes a folder that has nothing in it.
    ///
    /// # Errors
    /// [`EditorError::FolderNotFound`] when there is none, [`EditorError::FolderNotEmpty`] when it holds something;
    /// then it stays.
    pub fn remove_empty_folder(&self, path: &NotePath) -> Result<(), EditorError> {
        self.folder.remove_empty_folder(path)
    }

    /// Returns the document at `path`, or the last one that was deleted there if there is no file.
    ///
    /// # Errors
    /// [`EditorError`] when the document cannot be read, or there was none.
    pub fn remembered(&self, path: &NotePath) -> Result<HistoryDocument, EditorError> {
        self.history.remembered(path)
    }

    /// Returns the document that holds the section with this id, or held it when it was deleted; `None` if the id is
    /// unknown.
    ///
    /// # Errors
    /// [`EditorError`] when the document cannot be read.
    pub fn remembered_by_section(&self, id: &str) -> Result<Option<HistoryDocument>, EditorError> {
        self.history.remembered_by_section(id)
    }

    /// Returns whether undo and redo would do something.
    #[must_use]
    pub fn can_undo_redo(&self, document: &HistoryDocument) -> (bool, bool) {
        self.history.can_undo_redo(document)
    }

    /// Returns the document as it was after entry `number`, or before its first entry for 0.
    ///
    /// # Errors
    /// [`EditorError::EntryNotFound`] when the entry does not concern the document, [`EditorError::TextUnknown`] when
    /// its text at that time is no longer stored.
    pub fn revision(&self, path: &NotePath, number: u64) -> Result<Revision, EditorError> {
        self.history
            .revision_of(&self.history.remembered(path)?, number)
    }

    /// Returns the replacements that an entry made in a document, with the bytes before them.
    ///
    /// # Errors
    /// [`EditorError`] when the entry does not exist or its bytes are no longer stored.
    pub fn entry_changes(
        &self,
        document: &HistoryDocument,
        number: u64,
    ) -> Result<(Vec<u8>, Changes), EditorError> {
        self.history.entry_changes(document, number)
    }

    /// Shows `visit` the texts that documents had until a change replaced them, those of one document newest first, until
    /// it breaks off. Documents that were deleted count, and what is hidden from callers does not. Reads at most
    /// `max_bytes` of such texts.
    ///
    /// # Errors
    /// [`EditorError`] when the journal cannot be read, or the caller has given up.
    pub fn past_texts(
        &self,
        max_bytes: u64,
        watch: CallHooks<'_>,
        visit: &mut dyn FnMut(PastText<'_>) -> ControlFlow<()>,
    ) -> Result<PastTextsEnd, EditorError> {
        self.history.past_texts(max_bytes, watch, visit)
    }

    /// Returns the parts of the journal that cannot be read.
    #[must_use]
    pub fn damage(&self) -> Vec<Damage> {
        self.history.damage()
    }

    /// Forgets the history up to the last entry that holds `text` or leads away from a document that did, or that
    /// concerns `path`, or all of it. Returns the number of entries removed. Rescued files that belong to these entries
    /// or hold the text are removed too, and so are the words of the text in ids. Afterwards it verifies that the text
    /// is gone.
    ///
    /// # Errors
    /// [`EditorError::StillThere`] when a document holds the text now, [`EditorError::NotPurged`] when something in the
    /// private folder does afterwards, [`EditorError::ForeignHistory`] when part of the history is not this user's;
    /// other errors when the journal cannot be written.
    pub fn purge(&self, path: Option<&NotePath>, text: Option<&str>) -> Result<usize, EditorError> {
        self.history.purge(path, text)
    }

    /// Applies all operations of a request, or none.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn write(
        &self,
        request: &WriteRequest,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        self.writer.write(request, watch)
    }

    /// Applies exactly the changes that a dry run showed.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn apply_plan(
        &self,
        token: &str,
        confirmed: bool,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        self.writer.apply_plan(token, confirmed, watch)
    }

    /// Undoes an entry, or redoes one.
    ///
    /// # Errors
    /// [`EditorError`]; then nothing was written.
    pub fn undo(
        &self,
        request: &UndoRequest,
        watch: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        self.writer.undo(request, watch)
    }

    /// Looks for broken links in the document at `path`, or in all documents. Links to the web are not followed.
    ///
    /// # Errors
    /// [`EditorError`] when the document or the folder cannot be read, or the caller gave up.
    pub fn check_links(
        &self,
        path: Option<&NotePath>,
        watch: CallHooks<'_>,
    ) -> Result<LinkCheck, EditorError> {
        links::check(&self.folder, path, watch)
    }
}

/// Returns whether the name of a file says that it is Markdown.
#[must_use]
pub fn is_markdown(path: &NotePath) -> bool {
    is_markdown_name(path.file_name())
}

#[cfg(test)]
mod tests;
