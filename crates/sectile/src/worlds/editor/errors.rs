//! How this world says that a call failed: JSON-RPC errors with the contract's codes, or the same object as a result.

use sectile_markdown::edit::{EditError, Escape};
use sectile_vault::editor::{Candidate, EditorError};
use serde_json::{Value, json};

use crate::mcp::{Envelope, Failure, FailureKind, JsonObject, Said};

/// Where errors go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorStyle {
    /// JSON-RPC errors, as the contract has it.
    Protocol,
    /// Tool results with `isError`, for clients that hide protocol errors from the model.
    Result,
}

impl ErrorStyle {
    pub(super) fn envelope(self) -> Envelope {
        match self {
            Self::Protocol => protocol_error,
            Self::Result => error_result,
        }
    }
}

const INVALID_PARAMS: i32 = -32602;
const APPLICATION_ERROR: i32 = -32000;

fn parts(failure: &Failure) -> (i32, String, Value) {
    let code = match failure.kind {
        FailureKind::InvalidArguments | FailureKind::InvalidPath => INVALID_PARAMS,
        _ => APPLICATION_ERROR,
    };
    let mut data = JsonObject::new();
    data.insert("kind".to_owned(), json!(failure.name()));
    match &failure.detail {
        Some(detail) => {
            data.insert("recovery".to_owned(), json!(detail.recovery));
            data.extend(detail.data.clone());
        }
        None => {
            let recovery = "Compare the arguments with the tool's input schema.";
            data.insert("recovery".to_owned(), json!(recovery));
        }
    }
    (code, failure.message.to_string(), Value::Object(data))
}

fn protocol_error(failure: &Failure) -> Said {
    let (code, message, data) = parts(failure);
    Said::Error {
        code,
        message,
        data,
    }
}

fn error_result(failure: &Failure) -> Said {
    Said::Result(error_object(failure))
}

/// A failure as one JSON object.
pub(crate) fn error_object(failure: &Failure) -> Value {
    let (code, message, data) = parts(failure);
    json!({ "code": code, "message": message, "data": data })
}

/// A failure with its stable word and what to do next.
pub(super) fn refused(
    kind: FailureKind,
    code: &'static str,
    message: impl Into<std::borrow::Cow<'static, str>>,
    recovery: &'static str,
) -> Failure {
    Failure::new(kind, message).with_detail(code, recovery, JsonObject::new())
}

/// Arguments that do not go together.
pub(super) fn bad_arguments(message: &'static str) -> Failure {
    refused(
        FailureKind::InvalidArguments,
        "invalid_arguments",
        message,
        "Compare the arguments with the tool's input schema.",
    )
}

/// A failure of the editor, as callers get it.
pub(crate) fn failure(error: &EditorError) -> Failure {
    let (kind, code, recovery) = described(error);
    Failure::new(kind, error.to_string()).with_detail(code, recovery, facts(error))
}

/// Kind, stable word, and what to do next.
type Described = (FailureKind, &'static str, &'static str);

fn described(error: &EditorError) -> Described {
    target_described(error)
        .or_else(|| history_described(error))
        .unwrap_or_else(|| system_described(error))
}

/// What is wrong with what the call is about, or with the edit.
fn target_described(error: &EditorError) -> Option<Described> {
    use FailureKind::{Conflict, InvalidArguments, InvalidPath, NotFound, TooLarge};
    Some(match error {
        EditorError::DocumentNotFound => (
            NotFound,
            "document_not_found",
            "Call list_documents to see which documents there are.",
        ),
        EditorError::DocumentExists => (
            Conflict,
            "document_exists",
            "Choose another path, or edit the document that is there.",
        ),
        EditorError::OutsideRoot => (
            InvalidPath,
            "outside_root",
            "Give a path relative to the folder that is edited.",
        ),
        EditorError::NotMarkdown => (
            InvalidPath,
            "not_markdown",
            "Give a path that ends in .md or .markdown.",
        ),
        EditorError::NoDocument => (
            InvalidArguments,
            "no_document",
            "Give path, or call open_document first.",
        ),
        EditorError::TooLarge { .. } => (
            TooLarge,
            "too_large",
            "Send less at once, or ask the operator to raise the limit in [editor].",
        ),
        EditorError::TooManyOperations { .. } => (
            TooLarge,
            "too_many_edits",
            "Split the edits into several calls.",
        ),
        EditorError::SectionNotFound { .. } => (
            NotFound,
            "section_not_found",
            "Call list_sections to see the sections and their ids.",
        ),
        EditorError::SectionDeleted { .. } => (
            NotFound,
            "section_deleted",
            "Call list_sections for what is there, or undo with that entry to bring it back.",
        ),
        EditorError::Ambiguous { .. } => (
            Conflict,
            "ambiguous",
            "Call again with the section_id of one of the candidates.",
        ),
        EditorError::BadReference(_) => (
            InvalidArguments,
            "bad_reference",
            "Give one section_id from list_sections and leave the heading out.",
        ),
        EditorError::Edit(error) => edit_described(error),
        EditorError::Reparents { .. } => (
            Conflict,
            "reparents",
            "Choose another level or place, so that the section named in data keeps its parent.",
        ),
        EditorError::FrontMatter(_) => (
            Conflict,
            "front_matter",
            "Correct the front matter by edit_text or by hand, then call again.",
        ),
        EditorError::Conflict(_) => (
            Conflict,
            "conflict",
            "Combine ours and theirs, then call again with data.hash as expected_hash.",
        ),
        EditorError::HashRequired => (
            InvalidArguments,
            "hash_required",
            "Read the section and pass its hash as expected_hash.",
        ),
        EditorError::NotConfirmed { .. } => (
            Conflict,
            "not_confirmed",
            "If it is really meant, call again with confirm: true.",
        ),
        _ => return None,
    })
}

/// What is wrong with undo, history, plans and retries.
fn history_described(error: &EditorError) -> Option<Described> {
    use FailureKind::{Conflict, InvalidArguments, NotFound};
    Some(match error {
        EditorError::NothingToUndo => (
            Conflict,
            "nothing_to_undo",
            "Call history to see what was done.",
        ),
        EditorError::NothingToRedo => (
            Conflict,
            "nothing_to_redo",
            "Only what was undone last can be redone; a new edit ends that.",
        ),
        EditorError::EntryNotFound => (
            NotFound,
            "entry_not_found",
            "Call history for the entries of this document.",
        ),
        EditorError::AlreadyUndone => (Conflict, "already_undone", "Call redo to make it again."),
        EditorError::UndoOverlaps { .. } => (
            Conflict,
            "undo_overlaps",
            "Undo the later entry first, or edit the section by hand.",
        ),
        EditorError::TextUnknown => (
            NotFound,
            "revision_unknown",
            "Choose a later entry; older ones are no longer kept.",
        ),
        EditorError::StillThere { .. } => (
            Conflict,
            "still_there",
            "Take the text out of the document first.",
        ),
        EditorError::PlanUnknown => (
            NotFound,
            "plan_unknown",
            "Make the call with dry_run again for a new plan.",
        ),
        EditorError::PlanStale | EditorError::DocumentChanged => (
            Conflict,
            "stale",
            "Read the document again, then make the call with what is there now.",
        ),
        EditorError::RequestReused => (
            InvalidArguments,
            "request_id_reused",
            "Use a new request_id for a new request.",
        ),
        _ => return None,
    })
}

/// What the system or other programs stand in the way with.
fn system_described(error: &EditorError) -> Described {
    use FailureKind::{Unavailable, Unreadable};
    match error {
        EditorError::Busy => (Unavailable, "busy", "Wait a moment, then call again."),
        EditorError::Cancelled => (
            FailureKind::Cancelled,
            "cancelled",
            "Call again if it is still wanted.",
        ),
        EditorError::KeepsChanging => (
            Unavailable,
            "keeps_changing",
            "Wait until the other program is done, then call again.",
        ),
        EditorError::Interrupted => (
            Unavailable,
            "interrupted",
            "Read the document to see which text is there, then go on from that.",
        ),
        EditorError::JournalTooNew => (
            Unavailable,
            "journal_version",
            "Use the newer version of Sectile for this folder.",
        ),
        EditorError::DiskFull => (
            Unavailable,
            "disk_full",
            "Make room on the disk, then call again.",
        ),
        EditorError::NotPermitted => (
            Unreadable,
            "not_permitted",
            "Ask the operator to allow writing to this folder and its .sectile folder.",
        ),
        EditorError::ReadOnlyFileSystem => (
            Unreadable,
            "read_only",
            "Ask the operator for a folder that can be written.",
        ),
        EditorError::RootGone => (
            Unavailable,
            "root_gone",
            "Ask the operator to bring the folder back.",
        ),
        _ => (
            Unreadable,
            "io",
            "Call again; if it happens again, ask the operator to look at the disk.",
        ),
    }
}

fn edit_described(error: &EditError) -> Described {
    use FailureKind::{Conflict, InvalidArguments, NotFound, Unreadable};
    match error {
        EditError::NotUtf8 => (
            Unreadable,
            "encoding",
            "Convert the file to UTF-8 first; Sectile does not guess its encoding.",
        ),
        EditError::NoSuchSection => (
            NotFound,
            "section_not_found",
            "Call list_sections to see the sections and their ids.",
        ),
        EditError::PositionOutOfRange { .. } => (
            Conflict,
            "out_of_range",
            "Call list_sections and choose a position from 0 to the number of sections.",
        ),
        EditError::LevelOutOfRange => (
            InvalidArguments,
            "level_out_of_range",
            "Choose a level so that all headings stay between 1 and 6, and children below their parent.",
        ),
        EditError::IntoItself => (
            InvalidArguments,
            "into_itself",
            "Choose an anchor outside the section.",
        ),
        EditError::EmptyHeading | EditError::HeadingHasLineBreak => (
            InvalidArguments,
            "invalid_heading",
            "Give the heading as one line of text, without its # marks.",
        ),
        EditError::HeadingCannotBeWritten => (
            Conflict,
            "invalid_heading",
            "Rename the section to a heading of one line first.",
        ),
        EditError::Escapes(Escape::Heading { .. }) => (
            Conflict,
            "boundary_escape",
            "Leave the section's own heading out of the content; use deeper headings, headings: \"rebase\", or insert_section.",
        ),
        EditError::Escapes(Escape::Structure) => (
            Conflict,
            "boundary_escape",
            "Close what the text before that place leaves open, such as a code fence, then call again.",
        ),
        EditError::Escapes(_) => (
            Conflict,
            "boundary_escape",
            "Close what the content opens, then call again.",
        ),
        EditError::EmptyOldText => (
            InvalidArguments,
            "invalid_arguments",
            "Give the text to replace in old_text.",
        ),
        EditError::TextCount { .. } => (
            Conflict,
            "text_not_unique",
            "Read the section, then give an old_text that occurs exactly as often as expected_count says.",
        ),
        _ => (Conflict, "refused", "Choose another edit."),
    }
}

/// An id is repeated up to this length.
const SHOWN_ID: usize = 100;

/// What a program can use of an error.
fn facts(error: &EditorError) -> JsonObject {
    let value = match error {
        EditorError::SectionNotFound { section_id, near } => {
            let mut data = JsonObject::new();
            if let Some(id) = section_id {
                let shown: String = id.chars().take(SHOWN_ID).collect();
                data.insert("section_id".to_owned(), json!(shown));
            }
            if !near.is_empty() {
                data.insert("candidates".to_owned(), json!(candidates(near)));
            }
            Value::Object(data)
        }
        EditorError::SectionDeleted { section_id, entry } => {
            json!({ "section_id": section_id, "entry": entry })
        }
        EditorError::UndoOverlaps { entry } => json!({ "entry": entry }),
        EditorError::Ambiguous { candidates: all } => json!({ "candidates": candidates(all) }),
        EditorError::Reparents { section } => json!({ "section": candidate(section) }),
        EditorError::Conflict(conflict) => json!({
            "section_id": conflict.section_id,
            "hash": conflict.hash,
            "base": conflict.base,
            "ours": conflict.ours,
            "theirs": conflict.theirs,
        }),
        EditorError::NotConfirmed { bytes } => json!({ "bytes": bytes }),
        EditorError::TooLarge { limit, .. } => json!({ "limit": limit }),
        EditorError::TooManyOperations { limit } => json!({ "limit": limit }),
        EditorError::StillThere { path } => json!({ "path": path }),
        EditorError::Edit(EditError::PositionOutOfRange { max }) => json!({ "max": max }),
        EditorError::Edit(EditError::TextCount { found, expected }) => {
            json!({ "found": found, "expected": expected })
        }
        EditorError::Edit(EditError::Escapes(Escape::Heading { line, level, .. })) => {
            json!({ "line": line, "level": level })
        }
        _ => json!({}),
    };
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn candidates(all: &[Candidate]) -> Vec<Value> {
    const SHOWN: usize = 20;
    all.iter().take(SHOWN).map(candidate).collect()
}

fn candidate(one: &Candidate) -> Value {
    json!({
        "section_id": one.id,
        "heading": one.heading,
        "path": one.path,
        "position": one.position,
        "level": one.level,
        "first_line": one.first_line,
    })
}
