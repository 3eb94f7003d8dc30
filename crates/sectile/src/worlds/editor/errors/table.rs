//! The errors of this world as a table: what callers are told is looked up here, and the manual lists the same rows.

use sectile_markdown::edit::{EditError, Escape};
use sectile_vault::editor::EditorError;

use crate::mcp::FailureKind;

/// What went wrong.
pub(in super::super) enum Cause<'a> {
    /// What the editor says.
    Editor(&'a EditorError),
    /// The arguments do not fit the tool, or do not go together.
    Arguments,
    /// A cursor that was never given out.
    StrangeCursor,
    /// A cursor of a document that is not what it was.
    StaleCursor,
}

/// What is said of some causes.
pub(super) struct Row {
    pub(super) group: &'static str,
    pub(super) kind: FailureKind,
    /// Stable word.
    pub(super) code: &'static str,
    /// What is wrong, whatever the details.
    pub(super) meaning: &'static str,
    /// What to do next.
    pub(super) recovery: &'static str,
    covers: fn(&Cause<'_>) -> bool,
}

/// The row for `cause`: the first that covers it.
pub(super) fn row(cause: &Cause<'_>) -> &'static Row {
    TABLE
        .iter()
        .find(|row| (row.covers)(cause))
        .unwrap_or(&TABLE[TABLE.len() - 1])
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

use Cause::{Arguments, Editor, StaleCursor, StrangeCursor};
use FailureKind::{
    Cancelled, Conflict, InvalidArguments, InvalidPath, NotFound, TooLarge, Unavailable, Unreadable,
};

/// Every row. The last two cover what no row before them does.
pub(super) static TABLE: &[Row] = &[
    Row {
        group: SECTION,
        kind: NotFound,
        code: "section_not_found",
        meaning: "There is no such section.",
        recovery: "Call list_sections to see the sections and their ids.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::SectionNotFound { .. })
                    | Editor(EditorError::Edit(EditError::NoSuchSection))
            )
        },
    },
    Row {
        group: SECTION,
        kind: NotFound,
        code: "section_deleted",
        meaning: "The section was deleted; the message names the entry of the history that did it.",
        recovery: "Call undo with that entry to bring it back, or call list_sections to see what is there now.",
        covers: |cause| matches!(cause, Editor(EditorError::SectionDeleted { .. })),
    },
    Row {
        group: SECTION,
        kind: Conflict,
        code: "ambiguous",
        meaning: "Several sections have this heading.",
        recovery: "Call again with the section_id of one of the candidates.",
        covers: |cause| matches!(cause, Editor(EditorError::Ambiguous { .. })),
    },
    Row {
        group: SECTION,
        kind: InvalidArguments,
        code: "bad_reference",
        meaning: "The call does not name one section: it has neither an id nor a heading, or an id and a heading that disagree, or an id from another document.",
        recovery: "Give a section_id from list_sections, and leave heading out.",
        covers: |cause| matches!(cause, Editor(EditorError::BadReference(_))),
    },
    Row {
        group: DOCUMENT,
        kind: NotFound,
        code: "document_not_found",
        meaning: "There is no such document.",
        recovery: "Call list_documents to see which documents there are.",
        covers: |cause| matches!(cause, Editor(EditorError::DocumentNotFound)),
    },
    Row {
        group: DOCUMENT,
        kind: Conflict,
        code: "document_exists",
        meaning: "There is already a document at this path.",
        recovery: "Choose another path, or edit the document that is there.",
        covers: |cause| matches!(cause, Editor(EditorError::DocumentExists)),
    },
    Row {
        group: DOCUMENT,
        kind: InvalidPath,
        code: "document_is_link",
        meaning: "The path is a link to another document; only a document itself can be renamed or deleted.",
        recovery: "Call again with the path that the link leads to, or change the link outside Sectile.",
        covers: |cause| matches!(cause, Editor(EditorError::IsLink { .. })),
    },
    Row {
        group: DOCUMENT,
        kind: InvalidPath,
        code: "outside_root",
        meaning: "The path leads out of the folder that is edited.",
        recovery: "Give a path relative to the folder that is edited.",
        covers: |cause| matches!(cause, Editor(EditorError::OutsideRoot)),
    },
    Row {
        group: DOCUMENT,
        kind: InvalidPath,
        code: "not_markdown",
        meaning: "The path does not end in .md or .markdown.",
        recovery: "Give a path that ends in .md or .markdown.",
        covers: |cause| matches!(cause, Editor(EditorError::NotMarkdown)),
    },
    Row {
        group: DOCUMENT,
        kind: InvalidPath,
        code: "not_a_document",
        meaning: "The path is hidden, ignored or excluded, so it cannot be changed here.",
        recovery: "Give a path that list_documents shows, or a new path that no rule leaves out.",
        covers: |cause| matches!(cause, Editor(EditorError::NotADocument)),
    },
    Row {
        group: DOCUMENT,
        kind: InvalidArguments,
        code: "no_document",
        meaning: "No document is named.",
        recovery: "Give path, or call open_document first.",
        covers: |cause| matches!(cause, Editor(EditorError::NoDocument)),
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "boundary_escape",
        meaning: "The content has a heading at or above the level of its section, which would end the section.",
        recovery: "Leave the section's own heading out of the content; use deeper headings, headings: \"rebase\", or insert_section.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::Edit(EditError::Escapes(
                    Escape::Heading { .. }
                )))
            )
        },
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "boundary_escape",
        meaning: "The edit would change other sections.",
        recovery: "Close what the text before that place leaves open, such as a code fence, then call again.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::Edit(EditError::Escapes(Escape::Structure)))
            )
        },
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "boundary_escape",
        meaning: "The content opens a code fence, an HTML comment or something like it and does not close it.",
        recovery: "Close what the content opens, then call again.",
        covers: |cause| matches!(cause, Editor(EditorError::Edit(EditError::Escapes(_)))),
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "reparents",
        meaning: "Another section would become a child of a different section.",
        recovery: "Choose another level or place, so that the section keeps its parent.",
        covers: |cause| matches!(cause, Editor(EditorError::Reparents { .. })),
    },
    Row {
        group: EDIT,
        kind: InvalidArguments,
        code: "invalid_heading",
        meaning: "The heading is empty or has a line break.",
        recovery: "Give the heading as one line of text, without its # marks.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::Edit(
                    EditError::EmptyHeading | EditError::HeadingHasLineBreak
                ))
            )
        },
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "invalid_heading",
        meaning: "The heading cannot be written at that level without changing its text.",
        recovery: "Rename the section to a heading of one line first.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::Edit(EditError::HeadingCannotBeWritten))
            )
        },
    },
    Row {
        group: EDIT,
        kind: InvalidArguments,
        code: "level_out_of_range",
        meaning: "A heading would be above level 1 or below level 6.",
        recovery: "Choose a level that keeps all headings between 1 and 6, and children below their parent.",
        covers: |cause| matches!(cause, Editor(EditorError::Edit(EditError::LevelOutOfRange))),
    },
    Row {
        group: EDIT,
        kind: InvalidArguments,
        code: "into_itself",
        meaning: "A section cannot be moved into itself.",
        recovery: "Choose an anchor outside the section.",
        covers: |cause| matches!(cause, Editor(EditorError::Edit(EditError::IntoItself))),
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "out_of_range",
        meaning: "The position is beyond the last section.",
        recovery: "Call list_sections and choose a position from 0 to the number of sections.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::Edit(EditError::PositionOutOfRange { .. }))
            )
        },
    },
    Row {
        group: ARGUMENTS,
        kind: InvalidArguments,
        code: "invalid_arguments",
        meaning: "The arguments do not match the tool's schema, or do not go together.",
        recovery: "Compare the arguments with the tool's input schema.",
        covers: |cause| matches!(cause, Arguments),
    },
    Row {
        group: ARGUMENTS,
        kind: InvalidArguments,
        code: "invalid_arguments",
        meaning: "The old text is empty.",
        recovery: "Give the text to replace in old_text.",
        covers: |cause| matches!(cause, Editor(EditorError::Edit(EditError::EmptyOldText))),
    },
    Row {
        group: ARGUMENTS,
        kind: InvalidArguments,
        code: "invalid_cursor",
        meaning: "The cursor is not one that this tool gave out.",
        recovery: "Pass next_cursor exactly as you got it, or leave cursor out to start at the beginning.",
        covers: |cause| matches!(cause, StrangeCursor),
    },
    Row {
        group: ARGUMENTS,
        kind: Conflict,
        code: "cursor_stale",
        meaning: "The document has changed since the cursor was given out.",
        recovery: "Start again without a cursor.",
        covers: |cause| matches!(cause, StaleCursor),
    },
    Row {
        group: TEXT,
        kind: Conflict,
        code: "text_not_unique",
        meaning: "The old text does not occur as often as expected.",
        recovery: "Read the section, then give an old_text that occurs exactly as often as expected_count says.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::Edit(EditError::TextCount { .. }))
            )
        },
    },
    Row {
        group: TEXT,
        kind: Conflict,
        code: "front_matter",
        meaning: "The front matter cannot be changed like this; the message says why.",
        recovery: "Choose another key or value. If the block itself is broken, fix it in a text editor: no tool reaches it.",
        covers: |cause| matches!(cause, Editor(EditorError::FrontMatter(_))),
    },
    Row {
        group: TEXT,
        kind: Unreadable,
        code: "encoding",
        meaning: "The document is not UTF-8, so it can be read but not edited.",
        recovery: "Convert the file to UTF-8 first; Sectile does not guess encodings.",
        covers: |cause| matches!(cause, Editor(EditorError::Edit(EditError::NotUtf8))),
    },
    Row {
        group: OTHERS,
        kind: Conflict,
        code: "conflict",
        meaning: "The section that was to be deleted has changed since it was read. Nothing was deleted.",
        recovery: "Read data.theirs, or the section again; to delete it anyway, call again with the new hash (data.hash) as expected_hash.",
        covers: |cause| matches!(cause, Editor(EditorError::Conflict(conflict)) if conflict.ours.is_none()),
    },
    Row {
        group: OTHERS,
        kind: Conflict,
        code: "conflict",
        meaning: "The section has changed since it was read, and the changes overlap. Nothing was written.",
        recovery: "Read the section again (data.theirs), combine it with your text (data.ours), then call again with the new hash (data.hash) as expected_hash.",
        covers: |cause| matches!(cause, Editor(EditorError::Conflict(_))),
    },
    Row {
        group: OTHERS,
        kind: Conflict,
        code: "stale",
        meaning: "The document has changed since it was read, or since the plan was made. Nothing was written.",
        recovery: "Read the document again, then call again with what is there now.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::PlanStale | EditorError::DocumentChanged)
            )
        },
    },
    Row {
        group: OTHERS,
        kind: InvalidArguments,
        code: "hash_required",
        meaning: "The settings require every change to say which hash it is based on.",
        recovery: "Read the section and pass its hash as expected_hash; for a whole document, pass its document_hash.",
        covers: |cause| matches!(cause, Editor(EditorError::HashRequired)),
    },
    Row {
        group: OTHERS,
        kind: InvalidArguments,
        code: "part_of_text",
        meaning: "The section is longer than one answer, and the text that would replace it seems to be only a part of it. Nothing was written.",
        recovery: "Read all pages with next_cursor, put them together, and pass whole_hash of the last page as expected_hash; or change a passage with edit_text.",
        covers: |cause| matches!(cause, Editor(EditorError::PartOfText(_))),
    },
    Row {
        group: OTHERS,
        kind: Conflict,
        code: "not_confirmed",
        meaning: "A deletion this large needs a confirmation.",
        recovery: "If you really mean it, call again with confirm: true.",
        covers: |cause| matches!(cause, Editor(EditorError::NotConfirmed { .. })),
    },
    Row {
        group: OTHERS,
        kind: InvalidArguments,
        code: "request_id_reused",
        meaning: "The request_id was already used for a different request.",
        recovery: "Use a new request_id for a new request.",
        covers: |cause| matches!(cause, Editor(EditorError::RequestReused)),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "nothing_to_undo",
        meaning: "There is nothing to undo.",
        recovery: "Call history to see what was done.",
        covers: |cause| matches!(cause, Editor(EditorError::NothingToUndo)),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "nothing_to_redo",
        meaning: "There is nothing to redo.",
        recovery: "Only what was undone last can be redone, and only until the next edit. Call history to see what was done.",
        covers: |cause| matches!(cause, Editor(EditorError::NothingToRedo)),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "already_undone",
        meaning: "The entry is already undone.",
        recovery: "Call redo to make the change again.",
        covers: |cause| matches!(cause, Editor(EditorError::AlreadyUndone)),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "undo_overlaps",
        meaning: "Later changes touch the same text, so the entry cannot be undone by itself.",
        recovery: "Undo the later entry first, or edit the section by hand.",
        covers: |cause| matches!(cause, Editor(EditorError::UndoOverlaps { .. })),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "foreign_history",
        meaning: "The history came with the folder and was not written by this user, so it is shown but never acted on.",
        recovery: "Ask the operator to run `sectile trust DIR` if the folder comes from a source they trust.",
        covers: |cause| matches!(cause, Editor(EditorError::ForeignHistory)),
    },
    Row {
        group: PAST,
        kind: NotFound,
        code: "entry_not_found",
        meaning: "There is no such entry in the history.",
        recovery: "Call history to see the entries of this document.",
        covers: |cause| matches!(cause, Editor(EditorError::EntryNotFound)),
    },
    Row {
        group: PAST,
        kind: NotFound,
        code: "revision_unknown",
        meaning: "The history does not reach back that far.",
        recovery: "Choose a later entry; older ones are no longer kept.",
        covers: |cause| matches!(cause, Editor(EditorError::TextUnknown)),
    },
    Row {
        group: PAST,
        kind: NotFound,
        code: "plan_unknown",
        meaning: "There is no such plan; it may have been dropped.",
        recovery: "Make the call with dry_run again to get a new plan.",
        covers: |cause| matches!(cause, Editor(EditorError::PlanUnknown)),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "still_there",
        meaning: "A document still contains the text that is to be forgotten.",
        recovery: "Remove the text from the document first.",
        covers: |cause| matches!(cause, Editor(EditorError::StillThere { .. })),
    },
    Row {
        group: PAST,
        kind: Conflict,
        code: "not_purged",
        meaning: "A file in .sectile still contains the text that was purged.",
        recovery: "Delete that file by hand, then purge again.",
        covers: |cause| matches!(cause, Editor(EditorError::NotPurged { .. })),
    },
    Row {
        group: LIMITS,
        kind: TooLarge,
        code: "too_large",
        meaning: "The document, or the text of an edit, is larger than allowed.",
        recovery: "Send less at once, or ask the operator to raise the limit in [editor].",
        covers: |cause| matches!(cause, Editor(EditorError::TooLarge { .. })),
    },
    Row {
        group: LIMITS,
        kind: TooLarge,
        code: "too_many_edits",
        meaning: "There are more edits in one request than allowed.",
        recovery: "Split the edits into several calls.",
        covers: |cause| matches!(cause, Editor(EditorError::TooManyOperations { .. })),
    },
    Row {
        group: LIMITS,
        kind: Unavailable,
        code: "busy",
        meaning: "Another process is changing the document.",
        recovery: "Wait a moment, then call again.",
        covers: |cause| matches!(cause, Editor(EditorError::Busy)),
    },
    Row {
        group: LIMITS,
        kind: Unavailable,
        code: "keeps_changing",
        meaning: "The document keeps changing on disk. Nothing was written.",
        recovery: "Wait until the other program is done, then call again.",
        covers: |cause| matches!(cause, Editor(EditorError::KeepsChanging)),
    },
    Row {
        group: LIMITS,
        kind: Cancelled,
        code: "cancelled",
        meaning: "The call was cancelled. Nothing was written.",
        recovery: "Call again if you still want it.",
        covers: |cause| matches!(cause, Editor(EditorError::Cancelled)),
    },
    Row {
        group: SYSTEM,
        kind: Unavailable,
        code: "disk_full",
        meaning: "The disk is full. The document is unchanged.",
        recovery: "Ask the operator to free space on the disk, then call again.",
        covers: |cause| matches!(cause, Editor(EditorError::DiskFull)),
    },
    Row {
        group: SYSTEM,
        kind: Unreadable,
        code: "not_permitted",
        meaning: "The system does not allow writing there. The document is unchanged.",
        recovery: "Ask the operator to allow writing to this folder and its .sectile folder.",
        covers: |cause| matches!(cause, Editor(EditorError::NotPermitted)),
    },
    Row {
        group: SYSTEM,
        kind: Unreadable,
        code: "read_only",
        meaning: "The file system is read-only, or the server is. The document is unchanged.",
        recovery: "Ask the operator to make the folder writable.",
        covers: |cause| {
            matches!(
                cause,
                Editor(EditorError::ReadOnlyFileSystem | EditorError::ReadOnly)
            )
        },
    },
    Row {
        group: SYSTEM,
        kind: Conflict,
        code: "read_only_document",
        meaning: "The document is read-only, for everybody or for the user that Sectile runs as. Nothing was written.",
        recovery: "Ask the owner of the document to make it writable, or edit another one.",
        covers: |cause| matches!(cause, Editor(EditorError::ReadOnlyDocument)),
    },
    Row {
        group: SYSTEM,
        kind: Unreadable,
        code: "attributes_lost",
        meaning: "The file has an access control list, a group or an extended attribute that its new version could not keep; the message names it. Nothing was written.",
        recovery: "Ask the operator to run Sectile as the owner of the file, or to remove that attribute from the file.",
        covers: |cause| matches!(cause, Editor(EditorError::Unkept { .. })),
    },
    Row {
        group: SYSTEM,
        kind: Unavailable,
        code: "too_many_open_files",
        meaning: "The process or the system has as many files open as it may. Nothing was written.",
        recovery: "Wait a moment, then call again; if it happens again, ask the operator to raise the limit on open files.",
        covers: |cause| matches!(cause, Editor(EditorError::TooManyOpenFiles)),
    },
    Row {
        group: SYSTEM,
        kind: Unavailable,
        code: "strange_private_file",
        meaning: "A file in .sectile was not written by Sectile: it is not a regular file, or it is too large; the message names it. Nothing was written.",
        recovery: "Ask the operator to look at that file and move it away.",
        covers: |cause| matches!(cause, Editor(EditorError::StrangePrivateFile { .. })),
    },
    Row {
        group: SYSTEM,
        kind: Unavailable,
        code: "root_gone",
        meaning: "The folder no longer exists.",
        recovery: "Ask the operator to bring the folder back.",
        covers: |cause| matches!(cause, Editor(EditorError::RootGone)),
    },
    Row {
        group: SYSTEM,
        kind: Unavailable,
        code: "journal_version",
        meaning: "The journal in .sectile was written by a newer version of Sectile.",
        recovery: "Use the newer version of Sectile for this folder.",
        covers: |cause| matches!(cause, Editor(EditorError::JournalTooNew)),
    },
    Row {
        group: SYSTEM,
        kind: Unavailable,
        code: "interrupted",
        meaning: "The system failed in the middle of the change, and again when the change was taken back. The next call settles it.",
        recovery: "Read the document to see which text is there, then go on from there.",
        covers: |cause| matches!(cause, Editor(EditorError::Interrupted)),
    },
    Row {
        group: EDIT,
        kind: Conflict,
        code: "refused",
        meaning: "The edit is refused for another reason, which the message gives.",
        recovery: "Make the change in another way.",
        covers: |cause| matches!(cause, Editor(EditorError::Edit(_))),
    },
    Row {
        group: EDIT,
        kind: InvalidArguments,
        code: "control_character",
        meaning: "The new text has a control character other than tab, line feed and carriage return. Nothing was written.",
        recovery: "Leave the character out and call again. Those that are in a document already stay.",
        covers: |cause| matches!(cause, Editor(EditorError::ControlCharacter { .. })),
    },
    Row {
        group: SYSTEM,
        kind: Unreadable,
        code: "io",
        meaning: "The system refused for another reason. The document is unchanged.",
        recovery: "Call again; if it happens again, ask the operator to look at the disk.",
        covers: |_| true,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_row_names_has_an_answer() {
        let other = EditorError::Io(std::io::ErrorKind::Other);
        assert_eq!(row(&Editor(&other)).code, "io");
        let other = EditorError::Edit(EditError::Reparents { section: 0 });
        assert_eq!(row(&Editor(&other)).code, "refused");
    }

    #[test]
    fn a_code_belongs_to_one_group() {
        for row in TABLE {
            let mut same = TABLE.iter().filter(|other| other.code == row.code);
            assert!(same.all(|other| other.group == row.group), "{}", row.code);
        }
    }
}
