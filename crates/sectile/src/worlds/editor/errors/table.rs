//! The errors of this world as a table: answers are looked up here, and the manual lists the same rows.

use sectile_markdown::edit::{EditError, Escape};
use sectile_mcp::{
    ErrorRow,
    FailureKind::{
        self, Cancelled, Conflict, InvalidArguments, InvalidPath, NotFound, TooLarge, Unavailable,
        Unreadable,
    },
};
use sectile_vault::editor::EditorError;

pub(super) const INVALID_PARAMS: i32 = -32602;
const APPLICATION_ERROR: i32 = -32000;

/// The JSON-RPC code of a failure.
pub(super) const fn number(kind: FailureKind) -> i32 {
    match kind {
        InvalidArguments | InvalidPath => INVALID_PARAMS,
        _ => APPLICATION_ERROR,
    }
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
        number: Some(number(kind)),
        meaning,
        recovery,
    }
}

const SECTION: &str = "the section that is named";
const DOCUMENT: &str = "the document that is named";
const EDIT: &str = "edits that cannot be made";
const ARGUMENTS: &str = "arguments and cursors";
const TEXT: &str = "text that is not what the edit needs";
const OTHERS: &str = "other writers and missing promises";
const PAST: &str = "undo, history and plans";
const LIMITS: &str = "limits and waiting";
const SYSTEM: &str = "disk and system";

const SECTION_NOT_FOUND: ErrorRow = row(
    SECTION,
    NotFound,
    "section_not_found",
    "There is no such section.",
    "Call list_sections to see the sections and their ids.",
);
const SECTION_DELETED: ErrorRow = row(
    SECTION,
    NotFound,
    "section_deleted",
    "The section was deleted; the message names the history entry that did it.",
    "Call undo with that entry to bring it back, or call list_sections to see what is there now.",
);
const AMBIGUOUS: ErrorRow = row(
    SECTION,
    Conflict,
    "ambiguous",
    "Several sections have this heading.",
    "Call again with the section_id of one of the candidates.",
);
const BAD_REFERENCE: ErrorRow = row(
    SECTION,
    InvalidArguments,
    "bad_reference",
    "The call does not name one section: it has neither an id nor a heading, or an id and a heading that disagree, or an id from another document.",
    "Give a section_id from list_sections, and leave heading out.",
);
const DOCUMENT_NOT_FOUND: ErrorRow = row(
    DOCUMENT,
    NotFound,
    "document_not_found",
    "There is no such document.",
    "Call list_documents to see which documents there are.",
);
const DOCUMENT_EXISTS: ErrorRow = row(
    DOCUMENT,
    Conflict,
    "document_exists",
    "There is already a document at this path.",
    "Choose another path, or edit the document that is there.",
);
const DOCUMENT_IS_LINK: ErrorRow = row(
    DOCUMENT,
    InvalidPath,
    "document_is_link",
    "The path is a link to another document; only a document itself can be renamed or deleted.",
    "Call again with the path that the link leads to, or change the link outside Sectile.",
);
const OUTSIDE_ROOT: ErrorRow = row(
    DOCUMENT,
    InvalidPath,
    "outside_root",
    "The path leads out of the folder that is edited.",
    "Give a path relative to the folder that is edited.",
);
const NOT_MARKDOWN: ErrorRow = row(
    DOCUMENT,
    InvalidPath,
    "not_markdown",
    "The path does not end in .md or .markdown.",
    "Give a path that ends in .md or .markdown.",
);
const NOT_A_DOCUMENT: ErrorRow = row(
    DOCUMENT,
    InvalidPath,
    "not_a_document",
    "The path is hidden, ignored or excluded, so it cannot be changed here.",
    "Give a path that list_documents shows, or a new path that no rule excludes.",
);
const NO_DOCUMENT: ErrorRow = row(
    DOCUMENT,
    InvalidArguments,
    "no_document",
    "No document is named.",
    "Give path, or call open_document first.",
);
const HEADING_ESCAPES: ErrorRow = row(
    EDIT,
    Conflict,
    "boundary_escape",
    "The content has a heading at or above the level of its section, which would end the section.",
    "Leave the section's own heading out of the content; use deeper headings, headings: \"rebase\", or insert_section.",
);
const STRUCTURE_CHANGES: ErrorRow = row(
    EDIT,
    Conflict,
    "boundary_escape",
    "The edit would change other sections.",
    "Close whatever the text before that position leaves open, such as a code fence, then call again.",
);
const CONTENT_OPEN: ErrorRow = row(
    EDIT,
    Conflict,
    "boundary_escape",
    "The content opens a code fence, an HTML comment or something similar and does not close it.",
    "Close whatever the content opens, then call again.",
);
const REPARENTS: ErrorRow = row(
    EDIT,
    Conflict,
    "reparents",
    "Another section would become a child of a different section.",
    "Choose another level or position, so that the section keeps its parent.",
);
const INVALID_HEADING: ErrorRow = row(
    EDIT,
    InvalidArguments,
    "invalid_heading",
    "The heading is empty or has a line break.",
    "Give the heading as one line of text, without its # marks.",
);
const UNWRITABLE_HEADING: ErrorRow = row(
    EDIT,
    Conflict,
    "invalid_heading",
    "The heading cannot be written at that level without changing its text.",
    "Rename the section to a heading of one line first.",
);
const LEVEL_OUT_OF_RANGE: ErrorRow = row(
    EDIT,
    InvalidArguments,
    "level_out_of_range",
    "A heading would be above level 1 or below level 6.",
    "Choose a level that keeps all headings between 1 and 6, and children below their parent.",
);
const INTO_ITSELF: ErrorRow = row(
    EDIT,
    InvalidArguments,
    "into_itself",
    "A section cannot be moved into itself.",
    "Choose an anchor outside the section.",
);
const OUT_OF_RANGE: ErrorRow = row(
    EDIT,
    Conflict,
    "out_of_range",
    "The position is beyond the last section.",
    "Call list_sections and choose a position from 0 to the number of sections.",
);
pub(in super::super) const INVALID_ARGUMENTS: ErrorRow = row(
    ARGUMENTS,
    InvalidArguments,
    "invalid_arguments",
    "The arguments do not match the tool's schema, or contradict each other.",
    "Compare the arguments with the tool's input schema.",
);
const EMPTY_OLD_TEXT: ErrorRow = row(
    ARGUMENTS,
    InvalidArguments,
    "invalid_arguments",
    "The old text is empty.",
    "Give the text to replace in old_text.",
);
pub(in super::super) const INVALID_CURSOR: ErrorRow = row(
    ARGUMENTS,
    InvalidArguments,
    "invalid_cursor",
    "The cursor was not issued by this tool.",
    "Pass next_cursor exactly as it was returned, or leave cursor out to start at the beginning.",
);
pub(in super::super) const CURSOR_STALE: ErrorRow = row(
    ARGUMENTS,
    Conflict,
    "cursor_stale",
    "The document has changed since the cursor was issued.",
    "Start again without a cursor.",
);
const TEXT_NOT_UNIQUE: ErrorRow = row(
    TEXT,
    Conflict,
    "text_not_unique",
    "The old text does not occur as often as expected.",
    "Read the section, then give an old_text that occurs exactly as often as expected_count says.",
);
const FRONT_MATTER: ErrorRow = row(
    TEXT,
    Conflict,
    "front_matter",
    "The front matter cannot be changed like this; the message says why.",
    "Choose another key or value. If the block itself is broken, fix it in a text editor: no tool can change it.",
);
const ENCODING: ErrorRow = row(
    TEXT,
    Unreadable,
    "encoding",
    "The document is not UTF-8, so it can be read but not edited.",
    "Convert the file to UTF-8 first; Sectile does not guess encodings.",
);
const DELETION_CONFLICT: ErrorRow = row(
    OTHERS,
    Conflict,
    "conflict",
    "The section to delete has changed since it was read. Nothing was deleted.",
    "Read data.theirs, or the section again; to delete it anyway, call again with the new hash (data.hash) as expected_hash.",
);
const CONFLICT: ErrorRow = row(
    OTHERS,
    Conflict,
    "conflict",
    "The section has changed since it was read, and the changes overlap. Nothing was written.",
    "Read the section again (data.theirs), combine it with your text (data.ours), then call again with the new hash (data.hash) as expected_hash.",
);
const STALE: ErrorRow = row(
    OTHERS,
    Conflict,
    "stale",
    "The document has changed since it was read, or since the plan was made. Nothing was written.",
    "Read the document again, then call again based on its current text.",
);
const HASH_REQUIRED: ErrorRow = row(
    OTHERS,
    InvalidArguments,
    "hash_required",
    "The settings require every change to name the hash it is based on.",
    "Read the section and pass its hash as expected_hash; for a whole document, pass its document_hash.",
);
const PART_OF_TEXT: ErrorRow = row(
    OTHERS,
    InvalidArguments,
    "part_of_text",
    "The section is longer than one answer, and the text that would replace it seems to be only a part of it. Nothing was written.",
    "Read all pages with next_cursor, put them together, and pass whole_hash of the last page as expected_hash; or change a passage with edit_text.",
);
const NOT_CONFIRMED: ErrorRow = row(
    OTHERS,
    Conflict,
    "not_confirmed",
    "A deletion this large needs confirmation.",
    "If you really mean it, call again with confirm: true.",
);
const REQUEST_ID_REUSED: ErrorRow = row(
    OTHERS,
    InvalidArguments,
    "request_id_reused",
    "The request_id was already used for a different request.",
    "Use a new request_id for a new request.",
);
const NOTHING_TO_UNDO: ErrorRow = row(
    PAST,
    Conflict,
    "nothing_to_undo",
    "There is nothing to undo.",
    "Call history to see what was done.",
);
const NOTHING_TO_REDO: ErrorRow = row(
    PAST,
    Conflict,
    "nothing_to_redo",
    "There is nothing to redo.",
    "Only the last undone change can be redone, and only until the next edit. Call history to see what was done.",
);
const ALREADY_UNDONE: ErrorRow = row(
    PAST,
    Conflict,
    "already_undone",
    "The entry is already undone.",
    "Call redo to reapply the change.",
);
const UNDO_OVERLAPS: ErrorRow = row(
    PAST,
    Conflict,
    "undo_overlaps",
    "Later changes touch the same text, so the entry cannot be undone by itself.",
    "Undo the later entry first, or edit the section by hand.",
);
const FOREIGN_HISTORY: ErrorRow = row(
    PAST,
    Conflict,
    "foreign_history",
    "The history came with the folder and was not written by this user, so it is shown but never acted on.",
    "Ask the operator to run `sectile trust DIR` if the folder comes from a source they trust.",
);
const ENTRY_NOT_FOUND: ErrorRow = row(
    PAST,
    NotFound,
    "entry_not_found",
    "There is no such entry in the history.",
    "Call history to see the entries of this document.",
);
const REVISION_UNKNOWN: ErrorRow = row(
    PAST,
    NotFound,
    "revision_unknown",
    "The history does not reach back that far.",
    "Choose a later entry; older ones are no longer kept.",
);
const PLAN_UNKNOWN: ErrorRow = row(
    PAST,
    NotFound,
    "plan_unknown",
    "There is no such plan; it may have been dropped.",
    "Make the call with dry_run again to get a new plan.",
);
const STILL_THERE: ErrorRow = row(
    PAST,
    Conflict,
    "still_there",
    "A document still contains the text to forget.",
    "Remove the text from the document first.",
);
const NOT_PURGED: ErrorRow = row(
    PAST,
    Conflict,
    "not_purged",
    "A file in .sectile still contains the text that was purged.",
    "Delete that file by hand, then purge again.",
);
const TOO_LARGE: ErrorRow = row(
    LIMITS,
    TooLarge,
    "too_large",
    "The document, or the text of an edit, is larger than allowed.",
    "Send less at once, or ask the operator to raise the limit in [editor].",
);
const TOO_MANY_EDITS: ErrorRow = row(
    LIMITS,
    TooLarge,
    "too_many_edits",
    "There are more edits in one request than allowed.",
    "Split the edits into several calls.",
);
const BUSY: ErrorRow = row(
    LIMITS,
    Unavailable,
    "busy",
    "Another process is changing the document.",
    "Wait a moment, then call again.",
);
const KEEPS_CHANGING: ErrorRow = row(
    LIMITS,
    Unavailable,
    "keeps_changing",
    "The document keeps changing on disk. Nothing was written.",
    "Wait until the other program is done, then call again.",
);
const CANCELLED: ErrorRow = row(
    LIMITS,
    Cancelled,
    "cancelled",
    "The call was cancelled. Nothing was written.",
    "Call again if you still want it.",
);
const DISK_FULL: ErrorRow = row(
    SYSTEM,
    Unavailable,
    "disk_full",
    "The disk is full. The document is unchanged.",
    "Ask the operator to free space on the disk, then call again.",
);
const NOT_PERMITTED: ErrorRow = row(
    SYSTEM,
    Unreadable,
    "not_permitted",
    "The system does not allow writing there. The document is unchanged.",
    "Ask the operator to allow writing to this folder and its .sectile folder.",
);
const READ_ONLY: ErrorRow = row(
    SYSTEM,
    Unreadable,
    "read_only",
    "The file system is read-only, or the server is. The document is unchanged.",
    "Ask the operator to make the folder writable.",
);
const READ_ONLY_DOCUMENT: ErrorRow = row(
    SYSTEM,
    Conflict,
    "read_only_document",
    "The document is read-only, for everybody or for the user that Sectile runs as. Nothing was written.",
    "Ask the owner of the document to make it writable, or edit another one.",
);
const ATTRIBUTES_LOST: ErrorRow = row(
    SYSTEM,
    Unreadable,
    "attributes_lost",
    "The file has an access control list, a group or an extended attribute that its new version could not keep; the message names it. Nothing was written.",
    "Ask the operator to run Sectile as the owner of the file, or to remove that attribute from the file.",
);
const TOO_MANY_OPEN_FILES: ErrorRow = row(
    SYSTEM,
    Unavailable,
    "too_many_open_files",
    "The process or the system has reached its limit on open files. Nothing was written.",
    "Wait a moment, then call again; if it happens again, ask the operator to raise the limit on open files.",
);
const STRANGE_PRIVATE_FILE: ErrorRow = row(
    SYSTEM,
    Unavailable,
    "strange_private_file",
    "A file in .sectile was not written by Sectile: it is not a regular file, or it is too large; the message names it. Nothing was written.",
    "Ask the operator to look at that file and move it away.",
);
const ROOT_GONE: ErrorRow = row(
    SYSTEM,
    Unavailable,
    "root_gone",
    "The folder no longer exists.",
    "Ask the operator to restore the folder.",
);
const JOURNAL_VERSION: ErrorRow = row(
    SYSTEM,
    Unavailable,
    "journal_version",
    "The journal in .sectile was written by a newer version of Sectile.",
    "Use the newer version of Sectile for this folder.",
);
const INTERRUPTED: ErrorRow = row(
    SYSTEM,
    Unavailable,
    "interrupted",
    "The system failed in the middle of the change, and again while the change was being reverted. The next call settles it.",
    "Read the document to see which text is there, then continue from there.",
);
const REFUSED: ErrorRow = row(
    EDIT,
    Conflict,
    "refused",
    "The edit is refused for another reason, which the message gives.",
    "Make the change in another way.",
);
const CONTROL_CHARACTER: ErrorRow = row(
    EDIT,
    InvalidArguments,
    "control_character",
    "The new text has a control character other than tab, line feed and carriage return. Nothing was written.",
    "Leave the character out and call again. Control characters that are already in a document stay.",
);
const IO: ErrorRow = row(
    SYSTEM,
    Unreadable,
    "io",
    "The system refused for another reason. The document is unchanged.",
    "Call again; if it happens again, ask the operator to look at the disk.",
);

/// Every row, in the order of the manual.
pub(super) const TABLE: [&ErrorRow; 62] = [
    &SECTION_NOT_FOUND,
    &SECTION_DELETED,
    &AMBIGUOUS,
    &BAD_REFERENCE,
    &DOCUMENT_NOT_FOUND,
    &DOCUMENT_EXISTS,
    &DOCUMENT_IS_LINK,
    &OUTSIDE_ROOT,
    &NOT_MARKDOWN,
    &NOT_A_DOCUMENT,
    &NO_DOCUMENT,
    &HEADING_ESCAPES,
    &STRUCTURE_CHANGES,
    &CONTENT_OPEN,
    &REPARENTS,
    &INVALID_HEADING,
    &UNWRITABLE_HEADING,
    &LEVEL_OUT_OF_RANGE,
    &INTO_ITSELF,
    &OUT_OF_RANGE,
    &INVALID_ARGUMENTS,
    &EMPTY_OLD_TEXT,
    &INVALID_CURSOR,
    &CURSOR_STALE,
    &TEXT_NOT_UNIQUE,
    &FRONT_MATTER,
    &ENCODING,
    &DELETION_CONFLICT,
    &CONFLICT,
    &STALE,
    &HASH_REQUIRED,
    &PART_OF_TEXT,
    &NOT_CONFIRMED,
    &REQUEST_ID_REUSED,
    &NOTHING_TO_UNDO,
    &NOTHING_TO_REDO,
    &ALREADY_UNDONE,
    &UNDO_OVERLAPS,
    &FOREIGN_HISTORY,
    &ENTRY_NOT_FOUND,
    &REVISION_UNKNOWN,
    &PLAN_UNKNOWN,
    &STILL_THERE,
    &NOT_PURGED,
    &TOO_LARGE,
    &TOO_MANY_EDITS,
    &BUSY,
    &KEEPS_CHANGING,
    &CANCELLED,
    &DISK_FULL,
    &NOT_PERMITTED,
    &READ_ONLY,
    &READ_ONLY_DOCUMENT,
    &ATTRIBUTES_LOST,
    &TOO_MANY_OPEN_FILES,
    &STRANGE_PRIVATE_FILE,
    &ROOT_GONE,
    &JOURNAL_VERSION,
    &INTERRUPTED,
    &REFUSED,
    &CONTROL_CHARACTER,
    &IO,
];

/// The row for `error`.
pub(super) fn row_of(error: &EditorError) -> &'static ErrorRow {
    use EditorError as E;
    match error {
        E::DocumentNotFound | E::FolderNotFound => &DOCUMENT_NOT_FOUND,
        E::DocumentExists | E::FolderExists => &DOCUMENT_EXISTS,
        E::OutsideRoot => &OUTSIDE_ROOT,
        E::IsLink { .. } => &DOCUMENT_IS_LINK,
        E::NotMarkdown => &NOT_MARKDOWN,
        E::NotADocument => &NOT_A_DOCUMENT,
        E::ReadOnly | E::ReadOnlyFileSystem => &READ_ONLY,
        E::ForeignHistory => &FOREIGN_HISTORY,
        E::NoDocument => &NO_DOCUMENT,
        E::TooLarge { .. } => &TOO_LARGE,
        E::TooManyOperations { .. } => &TOO_MANY_EDITS,
        E::SectionNotFound { .. } => &SECTION_NOT_FOUND,
        E::SectionDeleted { .. } => &SECTION_DELETED,
        E::Ambiguous { .. } => &AMBIGUOUS,
        E::BadReference(_) => &BAD_REFERENCE,
        E::Edit(error) => row_of_edit(error),
        E::Reparents { .. } => &REPARENTS,
        E::ControlCharacter { .. } => &CONTROL_CHARACTER,
        E::FrontMatter(_) => &FRONT_MATTER,
        E::Conflict(conflict) => match conflict.ours {
            None => &DELETION_CONFLICT,
            Some(_) => &CONFLICT,
        },
        E::HashRequired => &HASH_REQUIRED,
        E::PartOfText(_) => &PART_OF_TEXT,
        E::NotConfirmed { .. } => &NOT_CONFIRMED,
        E::NothingToUndo => &NOTHING_TO_UNDO,
        E::NothingToRedo => &NOTHING_TO_REDO,
        E::EntryNotFound => &ENTRY_NOT_FOUND,
        E::AlreadyUndone => &ALREADY_UNDONE,
        E::UndoOverlaps { .. } => &UNDO_OVERLAPS,
        E::TextUnknown => &REVISION_UNKNOWN,
        E::StillThere { .. } => &STILL_THERE,
        E::NotPurged { .. } => &NOT_PURGED,
        E::PlanUnknown => &PLAN_UNKNOWN,
        E::PlanStale | E::PlanDiffers | E::DocumentChanged => &STALE,
        E::RequestReused => &REQUEST_ID_REUSED,
        E::Busy => &BUSY,
        E::Cancelled => &CANCELLED,
        E::KeepsChanging => &KEEPS_CHANGING,
        E::Interrupted => &INTERRUPTED,
        E::JournalTooNew => &JOURNAL_VERSION,
        E::DiskFull => &DISK_FULL,
        E::NotPermitted => &NOT_PERMITTED,
        E::ReadOnlyDocument | E::NotWritable { .. } => &READ_ONLY_DOCUMENT,
        // This world has no tools for folders.
        E::FolderNotEmpty
        | E::FolderIntoItself
        | E::FolderStays(_)
        | E::TooManyDocuments { .. }
        | E::FolderTooLarge { .. } => &REFUSED,
        E::Unkept { .. } => &ATTRIBUTES_LOST,
        E::StrangePrivateFile { .. } => &STRANGE_PRIVATE_FILE,
        E::TooManyOpenFiles => &TOO_MANY_OPEN_FILES,
        E::RootGone => &ROOT_GONE,
        E::Io(_) => &IO,
    }
}

/// The row for an edit that the Markdown crate refuses.
fn row_of_edit(error: &EditError) -> &'static ErrorRow {
    match error {
        EditError::NotUtf8 => &ENCODING,
        EditError::NoSuchSection => &SECTION_NOT_FOUND,
        EditError::PositionOutOfRange { .. } => &OUT_OF_RANGE,
        EditError::LevelOutOfRange => &LEVEL_OUT_OF_RANGE,
        EditError::IntoItself => &INTO_ITSELF,
        EditError::EmptyHeading | EditError::HeadingHasLineBreak => &INVALID_HEADING,
        EditError::HeadingCannotBeWritten => &UNWRITABLE_HEADING,
        // The editor reports which section it is (`EditorError::Reparents`), so callers never get this one.
        EditError::Reparents { .. } => &REFUSED,
        EditError::Escapes(escape) => match escape {
            Escape::Heading { .. } => &HEADING_ESCAPES,
            Escape::Structure => &STRUCTURE_CHANGES,
            Escape::OpenFence | Escape::OpenHtml | Escape::Open => &CONTENT_OPEN,
        },
        EditError::EmptyOldText => &EMPTY_OLD_TEXT,
        EditError::TextCount { .. } => &TEXT_NOT_UNIQUE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_row_names_has_an_answer() {
        let other = EditorError::Io(std::io::ErrorKind::Other);
        assert_eq!(row_of(&other).code, "io");
        let other = EditorError::Edit(EditError::Reparents { section: 0 });
        assert_eq!(row_of(&other).code, "refused");
    }

    #[test]
    fn a_code_belongs_to_one_group() {
        for row in TABLE {
            let mut same = TABLE.iter().filter(|other| other.code == row.code);
            assert!(same.all(|other| other.group == row.group), "{}", row.code);
        }
    }
}
