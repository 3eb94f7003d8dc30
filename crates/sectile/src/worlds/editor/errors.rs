//! How this world says that a call failed: JSON-RPC errors with the contract's codes, or the same object as a result.

mod table;

use sectile_markdown::edit::{EditError, Escape};
use sectile_vault::editor::{Candidate, EditorError};
use serde_json::{Value, json};

use self::table::{Row, TABLE, row};
use crate::mcp::{Envelope, ErrorCard, ErrorList, Failure, FailureKind, JsonObject, Said};

pub(super) use self::table::Cause;

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

fn number(kind: FailureKind) -> i32 {
    match kind {
        FailureKind::InvalidArguments | FailureKind::InvalidPath => INVALID_PARAMS,
        _ => APPLICATION_ERROR,
    }
}

fn parts(failure: &Failure) -> (i32, String, Value) {
    let mut data = JsonObject::new();
    data.insert("kind".to_owned(), json!(failure.name()));
    match &failure.detail {
        Some(detail) => {
            data.insert("recovery".to_owned(), json!(detail.recovery));
            data.extend(detail.data.clone());
        }
        None => {
            let recovery = row(&Cause::Arguments).recovery;
            data.insert("recovery".to_owned(), json!(recovery));
        }
    }
    (
        number(failure.kind),
        failure.message.to_string(),
        Value::Object(data),
    )
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

/// What a caller did that the editor itself never saw, with its stable word and what to do next.
pub(super) fn refused(cause: &Cause<'_>, message: &'static str) -> Failure {
    let row = row(cause);
    Failure::new(row.kind, message).with_detail(row.code, row.recovery, JsonObject::new())
}

/// Arguments that do not go together.
pub(super) fn bad_arguments(message: &'static str) -> Failure {
    refused(&Cause::Arguments, message)
}

/// A failure of the editor, as callers get it.
pub(crate) fn failure(error: &EditorError) -> Failure {
    let row = row(&Cause::Editor(error));
    Failure::new(row.kind, error.to_string()).with_detail(row.code, row.recovery, facts(error))
}

/// What this world can answer instead of a result.
pub(super) fn list() -> ErrorList {
    let card = |row: &Row| ErrorCard {
        group: row.group,
        code: row.code,
        number: Some(number(row.kind)),
        meaning: row.meaning,
        recovery: row.recovery,
    };
    ErrorList {
        form: "JSON-RPC errors: `data.kind` is the code, and `data.recovery` says what to do. There may be candidates, texts \
               or limits beside them. The setting `editor.errors = \"result\"` answers the same object, with `code`, \
               `message` and `data`, as the text of a tool result with `isError`.",
        codes: TABLE.iter().map(card).collect(),
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
        EditorError::ControlCharacter { field, character } => json!({
            "field": field,
            "character": format!("U+{:04X}", u32::from(*character)),
        }),
        EditorError::NotConfirmed { bytes } => json!({ "bytes": bytes }),
        EditorError::TooLarge { limit, .. } => json!({ "limit": limit }),
        EditorError::TooManyOperations { limit } => json!({ "limit": limit }),
        EditorError::StillThere { path } | EditorError::IsLink { target: path } => {
            json!({ "path": path })
        }
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
