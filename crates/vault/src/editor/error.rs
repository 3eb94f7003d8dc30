//! Errors of the editor. Whichever it is, no document was changed.

use std::{fmt, io};

use sectile_markdown::edit::EditError;

use crate::{
    ReadError, WalkError,
    fs::{FileRefusal, is_out_of_descriptors},
    journal::JournalError,
};

/// The reason a request to the editor failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditorError {
    /// The document does not exist.
    #[error("Document not found.")]
    DocumentNotFound,
    /// A document with this path exists already.
    #[error("There is already a document at this path.")]
    DocumentExists,
    /// The path leads out of the root.
    #[error("The path leads out of the folder that is edited.")]
    OutsideRoot,
    /// The path is a link, which can be read and edited through, but not renamed or deleted.
    #[error("The path is a link to {target}.")]
    IsLink {
        /// The document that the link leads to.
        target: String,
    },
    /// The path does not end in `.md` or `.markdown`.
    #[error("This is not a Markdown document: its name does not end in .md or .markdown.")]
    NotMarkdown,
    /// The path is hidden, ignored or excluded.
    #[error("The path is hidden, ignored or excluded, so it cannot be changed here.")]
    NotADocument,
    /// The rules of the folder allow reading this, but not changing it.
    #[error("The rules of this folder do not allow changing {path}. Nothing was written.")]
    NotWritable {
        /// The document or folder.
        path: String,
    },
    /// The folder does not exist.
    #[error("Folder not found.")]
    FolderNotFound,
    /// The new path of a folder is taken.
    #[error("A file or folder already exists at this path.")]
    FolderExists,
    /// The folder is not empty.
    #[error("The folder is not empty. Nothing was deleted.")]
    FolderNotEmpty,
    /// The folder would move into itself.
    #[error("A folder cannot be moved into itself.")]
    FolderIntoItself,
    /// The folder cannot be renamed as a whole.
    #[error("The folder cannot be renamed: {0}. Nothing was written.")]
    FolderStays(&'static str),
    /// The folder has more documents than one request may move.
    #[error(
        "The folder has more than {limit} documents. Nothing was written. Rename its subfolders one at a time."
    )]
    TooManyDocuments {
        /// The limit.
        limit: usize,
    },
    /// The documents of the folder are larger together than one request may move.
    #[error(
        "The documents in the folder have more than {limit} bytes. Nothing was written. Rename its subfolders one at a time."
    )]
    FolderTooLarge {
        /// The limit.
        limit: usize,
    },
    /// Nothing may be written here.
    #[error("The folder was opened read-only. Nothing was written.")]
    ReadOnly,
    /// The history that would be undone or purged was not written by this user.
    #[error(
        "The history came with the folder and was not written by this user, so it is shown but never acted on."
    )]
    ForeignHistory,
    /// No document was named.
    #[error("No document is named.")]
    NoDocument,
    /// The document or the result is too large.
    #[error("The {what} is larger than {limit} bytes.")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// More operations than are allowed in one request.
    #[error("There are more than {limit} edits in one request.")]
    TooManyOperations {
        /// The limit.
        limit: usize,
    },
    /// The section does not exist.
    #[error("Section not found.")]
    SectionNotFound {
        /// The unknown id, if the section was named by id.
        section_id: Option<String>,
        /// Similar sections.
        near: Vec<Candidate>,
    },
    /// The section was deleted.
    #[error("Section not found: it was deleted by entry {entry}.")]
    SectionDeleted {
        /// Its id.
        section_id: String,
        /// The entry that deleted it.
        entry: u64,
    },
    /// Several sections have this heading.
    #[error("Several sections have this heading.")]
    Ambiguous {
        /// All of them.
        candidates: Vec<Candidate>,
    },
    /// The reference has neither an id nor a heading, or both and they disagree, or the section is in another document.
    #[error("{0}")]
    BadReference(&'static str),
    /// The edit itself was refused.
    #[error("{0}")]
    Edit(EditError),
    /// The edit would make another section a child of a different section.
    #[error("Another section would become a child of a different section.")]
    Reparents {
        /// The section that would get a new parent.
        section: Candidate,
    },
    /// The new text contains a control character.
    #[error("The {field} contains the control character U+{:04X}.", u32::from(*.character))]
    ControlCharacter {
        /// The field that contains it.
        field: &'static str,
        /// The character.
        character: char,
    },
    /// The front matter cannot be changed like this.
    #[error("{0}")]
    FrontMatter(String),
    /// The section is no longer the one that the change is based on.
    #[error("{0}")]
    Conflict(Box<Conflict>),
    /// The change does not say which hash it is based on.
    #[error("expected_hash is required here.")]
    HashRequired,
    /// Only part of the text was shown, and the change would replace all of it.
    #[error("{0}")]
    PartOfText(&'static str),
    /// A large deletion needs a confirmation.
    #[error("This deletes {bytes} bytes and needs a confirmation.")]
    NotConfirmed {
        /// Number of bytes that would be deleted.
        bytes: usize,
    },
    /// There is nothing to undo.
    #[error("There is nothing to undo.")]
    NothingToUndo,
    /// There is nothing to redo.
    #[error("There is nothing to redo.")]
    NothingToRedo,
    /// The entry does not exist.
    #[error("There is no such entry in the history.")]
    EntryNotFound,
    /// The entry has been undone already.
    #[error("The entry is already undone.")]
    AlreadyUndone,
    /// Later changes touch the same text.
    #[error("Later changes touch the same text, so the entry cannot be undone by itself.")]
    UndoOverlaps {
        /// The first of them.
        entry: u64,
    },
    /// The text at that time is not in the journal.
    #[error("The history does not reach back that far.")]
    TextUnknown,
    /// A document still holds the text to be forgotten.
    #[error("The text is still in {path}.")]
    StillThere {
        /// The document.
        path: String,
    },
    /// Something in the private folder still holds the text that was purged.
    #[error("The text is still in .sectile/{name}.")]
    NotPurged {
        /// The file, relative to the private folder.
        name: String,
    },
    /// The plan does not exist.
    #[error("There is no such plan; it may have been dropped.")]
    PlanUnknown,
    /// The documents have changed since the plan was made.
    #[error("A document has changed since the plan was made. Nothing was written.")]
    PlanStale,
    /// The documents are as they were when the plan was made, but the request would change them differently.
    #[error("The change is not the one that the plan was made for. Nothing was written.")]
    PlanDiffers,
    /// The document is no longer the one that the change is based on.
    #[error("The document has changed since it was read. Nothing was written.")]
    DocumentChanged,
    /// The request id was used for a different request.
    #[error("The request_id was already used for a different request.")]
    RequestReused,
    /// Another process holds the lock of the document.
    #[error("Another process is changing the document.")]
    Busy,
    /// The caller gave up.
    #[error("The call was cancelled. Nothing was written.")]
    Cancelled,
    /// The document kept changing while it was being replaced.
    #[error("The document keeps changing on disk. Nothing was written.")]
    KeepsChanging,
    /// The system failed in the middle, and again when the change was rolled back.
    #[error(
        "The system failed in the middle of the change, which will be finished or rolled back as soon as possible."
    )]
    Interrupted,
    /// The journal was written by a newer version.
    #[error("The journal in .sectile was written by a newer version of Sectile.")]
    JournalTooNew,
    /// The disk is full.
    #[error("The disk is full. The document is unchanged.")]
    DiskFull,
    /// The system does not allow it.
    #[error("The system does not allow writing there. The document is unchanged.")]
    NotPermitted,
    /// The file system is read-only.
    #[error("The file system is read-only. The document is unchanged.")]
    ReadOnlyFileSystem,
    /// The document itself is read-only.
    #[error("The document is read-only. Nothing was written.")]
    ReadOnlyDocument,
    /// The file that would replace the document cannot have everything that the present one has.
    #[error("The document cannot be replaced: {what} cannot be kept. Nothing was written.")]
    Unkept {
        /// The attribute that the system does not allow to be kept.
        what: String,
    },
    /// Something that Sectile did not write is where one of its files belongs.
    #[error("In .sectile, {name} {why}. Nothing was written.")]
    StrangePrivateFile {
        /// The name of the file.
        name: String,
        /// The kind of thing that is there.
        why: String,
    },
    /// The process or the system has reached its limit of open files.
    #[error("Too many files are open. Nothing was written.")]
    TooManyOpenFiles,
    /// The folder that is edited no longer exists.
    #[error("The folder no longer exists.")]
    RootGone,
    /// Any other error from the system.
    #[error("The system refused ({0}). The document is unchanged.")]
    Io(io::ErrorKind),
}

/// A section that an error refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// The path of its document.
    pub path: String,
    /// Its position in the document.
    pub position: usize,
    /// Its level.
    pub level: u8,
    /// The start of its first line of text.
    pub first_line: String,
}

/// Two changes of one section that cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The section.
    pub section_id: String,
    /// The hash to expect now: of the section's own text or of its subtree, whichever the change is compared with.
    pub hash: String,
    /// The text that the change was based on, if it is known.
    pub base: Option<String>,
    /// The text that the caller wants; `None` for a deletion.
    pub ours: Option<String>,
    /// The text that is there now.
    pub theirs: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.ours {
            Some(_) => {
                "The section has changed since it was read, and the changes overlap. Nothing was written."
            }
            None => "The section has changed since it was read. Nothing was deleted.",
        })
    }
}

impl From<io::Error> for EditorError {
    fn from(error: io::Error) -> Self {
        match FileRefusal::of(&error) {
            Some(FileRefusal::ReadOnly) => return Self::ReadOnlyDocument,
            Some(FileRefusal::Unkept { what }) => return Self::Unkept { what: what.clone() },
            Some(FileRefusal::NotRegular { name }) => {
                return Self::StrangePrivateFile {
                    name: name.clone(),
                    why: "is not a regular file".to_owned(),
                };
            }
            Some(FileRefusal::TooLarge { name, limit }) => {
                return Self::StrangePrivateFile {
                    name: name.clone(),
                    why: format!("is larger than {limit} bytes"),
                };
            }
            None if is_out_of_descriptors(&error) => return Self::TooManyOpenFiles,
            None => {}
        }
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::PermissionDenied => Self::NotPermitted,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnlyFileSystem,
            kind => Self::Io(kind),
        }
    }
}

impl From<JournalError> for EditorError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::UnknownVersion => Self::JournalTooNew,
            JournalError::Io(error) => error.into(),
        }
    }
}

impl From<ReadError> for EditorError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound => Self::DocumentNotFound,
            ReadError::OutsideRoot => Self::OutsideRoot,
            ReadError::TooLarge { limit } => Self::TooLarge {
                what: "document",
                limit,
            },
            ReadError::TooManyOpenFiles => Self::TooManyOpenFiles,
            ReadError::Unreadable(io::ErrorKind::PermissionDenied) => Self::NotPermitted,
            ReadError::Unreadable(kind) => Self::Io(kind),
        }
    }
}

impl From<WalkError> for EditorError {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::Stopped => Self::Cancelled,
            WalkError::TooManyOpenFiles => Self::TooManyOpenFiles,
            WalkError::Unreadable(io::ErrorKind::NotFound) => Self::RootGone,
            WalkError::Unreadable(io::ErrorKind::PermissionDenied) => Self::NotPermitted,
            WalkError::Unreadable(kind) => Self::Io(kind),
        }
    }
}

impl From<EditError> for EditorError {
    fn from(error: EditError) -> Self {
        Self::Edit(error)
    }
}
