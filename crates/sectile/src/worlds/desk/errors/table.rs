//! The errors of the desk as a table: answers are made from these rows, and the manual lists the same.

use sectile_markdown::edit::{EditError, Escape};
use sectile_mcp::{
    ErrorRow,
    FailureKind::{
        self, Cancelled, Conflict, InvalidArguments, InvalidPath, NotFound, TooLarge, Unavailable,
        Unreadable,
    },
};
use sectile_vault::editor::EditorError;

/// Declares the rows, and the table of all of them.
macro_rules! rows {
    ($($group:literal {
        $($name:ident: $kind:ident, $code:literal, $meaning:literal, $recovery:literal;)+
    })+) => {
        $($(
            pub(in super::super) const $name: ErrorRow = row($group, $kind, $code, $meaning, $recovery);
        )+)+

        /// All errors of the desk, in the order of the manual.
        pub(super) const TABLE: &[&ErrorRow] = &[$($(&$name),+),+];
    };
}

const fn row(
    group: &'static str,
    kind: FailureKind,
    code: &'static str,
    meaning: &'static str,
    recovery: &'static str,
) -> ErrorRow {
    ErrorRow {
        group,
        kind,
        code,
        number: None,
        meaning,
        recovery,
    }
}

rows! {
    "names" {
        NOT_FOUND: NotFound, "not_found",
            "There is no such document, section or folder.",
            "Use one of the nearest ids if there are any, or find the right one with `search` or `outline`.";
        DELETED: NotFound, "deleted",
            "It was deleted; the message names the change that did it.",
            "Bring it back with `undo` and that change, or see with `search` what is there now.";
        AMBIGUOUS: Conflict, "ambiguous",
            "Several things have this name.",
            "Call again with the id of one of the candidates.";
        MALFORMED_ID: InvalidArguments, "malformed_id",
            "The id cannot name anything; the message says why.",
            "Give an id exactly as it was returned, a path relative to the folder such as notes/plan.md, or path#heading.";
        WRONG_KIND: InvalidArguments, "wrong_kind",
            "The id names a folder, a document or a section, and the call needs a different one of these.",
            "Give an id of the right kind; `outline` lists what is in a folder or document.";
    }
    "paths that are written" {
        EXISTS: Conflict, "exists",
            "There is already something at the new path.",
            "Choose another path, or edit what is there.";
        INVALID_PATH: InvalidPath, "invalid_path",
            "The path leads out of the folder, or is not one that a note can have.",
            "Give a path relative to the folder, without .., such as notes/plan.md.";
        NOT_MARKDOWN: InvalidPath, "not_markdown",
            "The path does not end in .md or .markdown.",
            "Give a path that ends in .md.";
        IS_LINK: InvalidPath, "is_link",
            "The path is a link to another document; only a document itself can be renamed or deleted.",
            "Call again with the path that the link leads to.";
        NOT_WRITABLE: Unreadable, "not_writable",
            "The rules of this root do not allow the change.",
            "Write elsewhere, or ask the operator to change `write` in [desk.roots].";
        NOT_EMPTY: Conflict, "not_empty",
            "The folder is not empty, so it is not deleted.",
            "Delete or rename the notes in it first.";
        FOLDER_STAYS: Conflict, "folder_stays",
            "The folder cannot be renamed as a whole; the message says why.",
            "Rename what is in it one by one.";
    }
    "edits that cannot be made" {
        HEADING_ESCAPES: Conflict, "boundary_escape",
            "The new text has a heading at or above the level of its section, which would end the section.",
            "Leave the section's own heading out of the text and use deeper headings, or place the text with before or after.";
        STRUCTURE_CHANGES: Conflict, "boundary_escape",
            "The edit would change other sections.",
            "Close whatever the text before that place leaves open, such as a code fence, then call again.";
        TEXT_OPEN: Conflict, "boundary_escape",
            "The new text opens a code fence, an HTML comment or something similar and does not close it.",
            "Close whatever the text opens, then call again.";
        REPARENTS: Conflict, "reparents",
            "Another section would become a child of a different section.",
            "Choose another place, so that the section keeps its parent.";
        INVALID_HEADING: InvalidArguments, "invalid_heading",
            "The heading is empty, has a line break, or cannot be written at that level.",
            "Give the heading as one line of text.";
        LEVEL_OUT_OF_RANGE: InvalidArguments, "level_out_of_range",
            "A heading would be above level 1 or below level 6.",
            "Choose a place that keeps all headings between level 1 and 6.";
        INTO_ITSELF: InvalidArguments, "into_itself",
            "A section or folder cannot be moved into itself.",
            "Choose a place outside it.";
        TEXT_NOT_FOUND: Conflict, "text_not_found",
            "The old text does not occur in that section or document.",
            "Copy `old` exactly from the text as it is now, white space included.";
        TEXT_NOT_UNIQUE: Conflict, "text_not_unique",
            "The old text occurs more than once.",
            "Give a longer `old` that occurs once, or the id of a smaller section.";
        FRONT_MATTER: Conflict, "front_matter",
            "The front matter cannot be changed like this; the message says why.",
            "Choose another field or value. If the block itself is broken, correct it in a text editor.";
        ENCODING: Unreadable, "encoding",
            "The document is not UTF-8, so it can be read but not edited.",
            "Convert the file to UTF-8 first; encodings are not guessed.";
        CONTROL_CHARACTER: InvalidArguments, "control_character",
            "The new text contains a control character.",
            "Remove the character, then call again.";
    }
    "arguments" {
        INVALID_ARGUMENTS: InvalidArguments, "invalid_arguments",
            "The arguments do not match the tool's schema, or contradict each other.",
            "Compare the arguments with the tool's input schema.";
        INVALID_BASE: InvalidArguments, "invalid_base",
            "The base is not one that an answer returned.",
            "Pass base exactly as it was returned.";
        INVALID_PLAN: InvalidArguments, "invalid_plan",
            "The plan is not one that a preview returned.",
            "Pass plan exactly as it was returned, with the arguments of the preview.";
        INVALID_QUERY: InvalidArguments, "invalid_query",
            "A filter of the query cannot be understood; the message names it.",
            "Correct the filter, or put quotes around words that are not meant as one.";
        INVALID_CURSOR: InvalidArguments, "invalid_cursor",
            "The cursor is not one that an answer returned.",
            "Pass the cursor exactly as it was returned, or leave it out to start again.";
        CURSOR_STALE: Conflict, "cursor_stale",
            "The cursor belongs to other arguments, or to a state that has changed since.",
            "Leave the cursor out to start again.";
        REQUEST_ID_REUSED: InvalidArguments, "request_id_reused",
            "The request_id was already used for a different request.",
            "Use a new request_id for a new request.";
    }
    "other writers" {
        CONFLICT: Conflict, "conflict",
            "The text has changed since base, and the changes overlap. Nothing was written.",
            "Combine the two texts below, then call again with the new base.";
        CHANGED: Conflict, "changed",
            "It has changed since base. Nothing was written.",
            "Read it again with `fetch`, then call again with the new base.";
        PLAN_OUTDATED: Conflict, "plan_outdated",
            "The change is no longer the one that the preview showed. Nothing was written.",
            "Preview the change again, and apply the plan of that preview.";
        PART_OF_TEXT: InvalidArguments, "part_of_text",
            "Only part of the text that would be replaced was read. Nothing was written.",
            "Change only a passage of it with `old`, or read all of it with `fetch` first.";
        BUSY: Unavailable, "busy",
            "Another process is changing the document.",
            "Wait a moment, then call again.";
        KEEPS_CHANGING: Unavailable, "keeps_changing",
            "The document keeps changing on disk. Nothing was written.",
            "Wait until the other program is done, then call again.";
    }
    "undo" {
        NOTHING_TO_UNDO: Conflict, "nothing_to_undo",
            "There is nothing to undo.",
            "See with `changes` what was done, and name the change to undo.";
        UNDO_OVERLAPS: Conflict, "undo_overlaps",
            "Later changes touch the same text, so the change cannot be undone by itself.",
            "Undo the later change first, or edit the text.";
        CHANGE_NOT_FOUND: NotFound, "change_not_found",
            "There is no such change.",
            "Take the change from the answer of a write, or from `changes`.";
        HISTORY_TOO_SHORT: NotFound, "history_too_short",
            "The history does not reach back that far.",
            "Choose a later change; older ones are no longer kept.";
        FOREIGN_HISTORY: Conflict, "foreign_history",
            "The history came with the folder and was not written by this user, so it is shown but never acted on.",
            "Ask the operator to run `sectile trust DIR` if the folder comes from a source they trust.";
    }
    "limits and waiting" {
        TOO_LARGE: TooLarge, "too_large",
            "The document, or the text of an edit, is larger than allowed.",
            "Send less at once, or split the document.";
        TOO_MANY: TooLarge, "too_many",
            "The call would change more at once than is allowed.",
            "Split it into several calls.";
        CANCELLED: Cancelled, "cancelled",
            "The call was cancelled. Nothing was written.",
            "Call again if you still want it.";
    }
    "disk and system" {
        READ_ONLY: Unreadable, "read_only",
            "The file system is read-only, or the server is. Nothing was written.",
            "Ask the operator to make the folder writable.";
        READ_ONLY_DOCUMENT: Unreadable, "read_only_document",
            "The document is read-only for the user that the server runs as. Nothing was written.",
            "Ask the owner of the document to make it writable, or edit another one.";
        NOT_PERMITTED: Unreadable, "not_permitted",
            "The system does not allow it. Nothing was written.",
            "Ask the operator to allow access to this folder and its .sectile folder.";
        ATTRIBUTES_LOST: Conflict, "attributes_lost",
            "The file has attributes that would be lost if it were replaced. Nothing was written.",
            "Ask the owner of the document to remove them, or edit another one.";
        STRANGE_PRIVATE_FILE: Unavailable, "strange_private_file",
            "In .sectile there is something that Sectile did not write. Nothing was written.",
            "Ask the operator to look at the .sectile folder and to move that file away.";
        JOURNAL_TOO_NEW: Unavailable, "journal_too_new",
            "The history was written by a newer version of Sectile.",
            "Ask the operator to update Sectile.";
        DISK_FULL: Unavailable, "disk_full",
            "The disk is full. Nothing was written.",
            "Ask the operator to free space on the disk, then call again.";
        TOO_MANY_OPEN_FILES: Unavailable, "too_many_open_files",
            "Too many files are open. Nothing was written.",
            "Wait a moment, then call again.";
        ROOT_GONE: Unavailable, "root_gone",
            "The folder no longer exists.",
            "Ask the operator to restore the folder.";
        INTERRUPTED: Unavailable, "interrupted",
            "The system failed in the middle of the change, which will be finished or rolled back.",
            "Read the document again before the next edit.";
        STORE_UNAVAILABLE: Unavailable, "store_unavailable",
            "The store of the documents cannot be used now. Nothing was written.",
            "Call again in a moment; if it fails again, ask the operator to check the store.";
        OUTCOME_UNKNOWN: Unavailable, "outcome_unknown",
            "The store did not say whether it has the change.",
            "Look with `changes` whether it was made, or repeat the call with the same request_id, which does not make it twice.";
        OVER_QUOTA: TooLarge, "over_quota",
            "The change would make the folder larger than it may be. Nothing was written.",
            "Delete what is no longer needed, or ask the operator for more room.";
        COPY_UNUSABLE: Unavailable, "copy_unusable",
            "The server cannot keep its working copy of the documents. Nothing was written.",
            "Call again; if it fails again, ask the operator to check the disk of the server.";
        IO: Unavailable, "io",
            "The system refused. Nothing was written.",
            "Call again; if it fails again, ask the operator to check the disk.";
    }
}

/// The row for an error of the editor.
pub(super) fn row_of(error: &EditorError) -> &'static ErrorRow {
    use EditorError as E;
    match error {
        E::DocumentNotFound | E::FolderNotFound | E::SectionNotFound { .. } => &NOT_FOUND,
        E::SectionDeleted { .. } => &DELETED,
        E::Ambiguous { .. } => &AMBIGUOUS,
        E::BadReference(_) | E::NoDocument => &MALFORMED_ID,
        E::DocumentExists | E::FolderExists => &EXISTS,
        E::FolderNotEmpty => &NOT_EMPTY,
        E::FolderIntoItself => &INTO_ITSELF,
        E::FolderStays(_) => &FOLDER_STAYS,
        E::NotWritable { .. } => &NOT_WRITABLE,
        E::OutsideRoot | E::NotADocument => &INVALID_PATH,
        E::NotMarkdown => &NOT_MARKDOWN,
        E::IsLink { .. } => &IS_LINK,
        E::Edit(error) => row_of_edit(error),
        E::Reparents { .. } => &REPARENTS,
        E::ControlCharacter { .. } => &CONTROL_CHARACTER,
        E::FrontMatter(_) => &FRONT_MATTER,
        E::Conflict(_) => &CONFLICT,
        E::DocumentChanged | E::HashRequired => &CHANGED,
        E::PlanStale | E::PlanDiffers | E::PlanUnknown => &PLAN_OUTDATED,
        E::PartOfText(_) => &PART_OF_TEXT,
        E::RequestReused => &REQUEST_ID_REUSED,
        E::NothingToUndo | E::NothingToRedo | E::AlreadyUndone => &NOTHING_TO_UNDO,
        E::EntryNotFound => &CHANGE_NOT_FOUND,
        E::UndoOverlaps { .. } => &UNDO_OVERLAPS,
        E::TextUnknown => &HISTORY_TOO_SHORT,
        E::ForeignHistory => &FOREIGN_HISTORY,
        E::TooLarge { .. } | E::NotConfirmed { .. } => &TOO_LARGE,
        E::TooManyOperations { .. } | E::TooManyDocuments { .. } | E::FolderTooLarge { .. } => {
            &TOO_MANY
        }
        E::Busy => &BUSY,
        E::KeepsChanging => &KEEPS_CHANGING,
        E::Cancelled => &CANCELLED,
        E::Interrupted => &INTERRUPTED,
        E::JournalTooNew => &JOURNAL_TOO_NEW,
        E::DiskFull => &DISK_FULL,
        E::NotPermitted => &NOT_PERMITTED,
        E::ReadOnly | E::ReadOnlyFileSystem => &READ_ONLY,
        E::ReadOnlyDocument => &READ_ONLY_DOCUMENT,
        E::Unkept { .. } => &ATTRIBUTES_LOST,
        E::StrangePrivateFile { .. } => &STRANGE_PRIVATE_FILE,
        E::TooManyOpenFiles => &TOO_MANY_OPEN_FILES,
        E::RootGone => &ROOT_GONE,
        // Only a purge answers with the first two, and there is none here.
        E::StillThere { .. } | E::NotPurged { .. } | E::Io(_) => &IO,
    }
}

/// The row for an edit that the Markdown crate refuses.
fn row_of_edit(error: &EditError) -> &'static ErrorRow {
    match error {
        EditError::NotUtf8 => &ENCODING,
        EditError::NoSuchSection => &NOT_FOUND,
        EditError::PositionOutOfRange { .. } => &CHANGED,
        EditError::LevelOutOfRange => &LEVEL_OUT_OF_RANGE,
        EditError::IntoItself => &INTO_ITSELF,
        EditError::EmptyHeading
        | EditError::HeadingHasLineBreak
        | EditError::HeadingCannotBeWritten => &INVALID_HEADING,
        EditError::Reparents { .. } => &REPARENTS,
        EditError::Escapes(escape) => match escape {
            Escape::Heading { .. } => &HEADING_ESCAPES,
            Escape::Structure => &STRUCTURE_CHANGES,
            Escape::OpenFence | Escape::OpenHtml | Escape::Open => &TEXT_OPEN,
        },
        EditError::EmptyOldText => &INVALID_ARGUMENTS,
        EditError::TextCount { found: 0, .. } => &TEXT_NOT_FOUND,
        EditError::TextCount { .. } => &TEXT_NOT_UNIQUE,
    }
}
