//! How this world reports failures: JSON-RPC errors with the contract's codes, or the same object as a result.

mod table;
mod words;

use schemars::JsonSchema;
use sectile_markdown::edit::{EditError, Escape};
use sectile_mcp::{Envelope, ErrorList, ErrorResponse, Failure, JsonObject};
use sectile_vault::editor::{Candidate, EditorError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(super) use self::{
    table::{CURSOR_STALE, INVALID_CURSOR},
    words::CallSubject,
};
use self::{
    table::{INVALID_ARGUMENTS, INVALID_PARAMS, TABLE, number, row_of},
    words::{offered, what},
};

/// How the editor world reports errors.
// Doc comments on the variants would change the schema of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorStyle {
    // Results for clients that are known to hide protocol errors, and JSON-RPC errors for all others.
    #[default]
    Auto,
    // JSON-RPC errors, as the contract has it.
    Protocol,
    // Tool results with `isError`, for clients that hide protocol errors from the model.
    Result,
}

impl ErrorStyle {
    pub(super) fn envelope(self) -> Envelope {
        match self {
            Self::Protocol => protocol_error,
            Self::Result => error_result,
            Self::Auto => suited_error,
        }
    }
}

fn parts(failure: &Failure) -> (i32, String, Value) {
    let code = number(failure.kind);
    let mut failure = failure.clone();
    if code == INVALID_PARAMS {
        failure.message = invalid_params(&failure.message).into();
    }
    if failure.detail.is_none() {
        let name = failure.name();
        failure = failure.with_detail(name, INVALID_ARGUMENTS.recovery, JsonObject::new());
    }
    let message = failure.told();
    let mut data = JsonObject::new();
    data.insert("kind".to_owned(), json!(failure.name()));
    if let Some(detail) = failure.detail {
        data.insert("recovery".to_owned(), json!(detail.recovery));
        data.extend(detail.data);
    }
    (code, message, Value::Object(data))
}

/// The contract's message for this code, followed by the particular problem.
fn invalid_params(what: &str) -> String {
    let what = what.strip_prefix("Invalid arguments: ").unwrap_or(what);
    let mut letters = what.chars();
    match letters.next() {
        // A word at the start of a sentence, not an abbreviation.
        Some(first) if letters.next().is_some_and(|c| !c.is_uppercase()) => {
            let rest = &what[first.len_utf8()..];
            format!("Invalid params: {}{rest}", first.to_lowercase())
        }
        _ => format!("Invalid params: {what}"),
    }
}

fn protocol_error(failure: &Failure) -> ErrorResponse {
    let (code, message, data) = parts(failure);
    ErrorResponse::Error {
        code,
        message,
        data,
    }
}

fn suited_error(failure: &Failure) -> ErrorResponse {
    let (code, message, data) = parts(failure);
    ErrorResponse::Suited {
        code,
        message,
        data,
    }
}

fn error_result(failure: &Failure) -> ErrorResponse {
    ErrorResponse::Result(error_object(failure))
}

/// A failure as one JSON object.
pub(crate) fn error_object(failure: &Failure) -> Value {
    let (code, message, data) = parts(failure);
    json!({ "code": code, "message": message, "data": data })
}

/// The failure for arguments that contradict each other.
pub(super) fn bad_arguments(message: &'static str) -> Failure {
    INVALID_ARGUMENTS.failure(message)
}

/// A failure of the editor, as callers get it.
pub(crate) fn failure(error: &EditorError) -> Failure {
    failure_about(error, &CallSubject::default())
}

/// The same, naming the documents and sections that the call is about.
pub(super) fn failure_about(error: &EditorError, about: &CallSubject<'_>) -> Failure {
    let row = row_of(error);
    let (lead, names) = offered(error);
    Failure::new(row.kind, what(error, about))
        .with_detail(row.code, row.recovery, facts(error))
        .offering(lead, names)
}

/// The errors that this world can answer with.
pub(super) fn list() -> ErrorList {
    ErrorList {
        form: "JSON-RPC errors: `data.kind` is the code, and `data.recovery` says what to do. Candidates, texts or \
               limits may come with them. `message` has the essentials in at most 400 characters: what is wrong and with \
               which document or section, the nearest names or the candidates, and what to do next. With the number \
               -32602 it starts with `Invalid params`. A client that is known to show its model only `message`, or nothing, \
               gets the same object, with `code`, `message` and `data`, as the text of a tool result with `isError`; the \
               setting `editor.errors` selects `result` or `protocol` for all clients.",
        codes: TABLE.to_vec(),
    }
}

/// Longest part of an id that an error repeats, in characters.
const SHOWN_ID: usize = 100;

/// The machine-readable details of an error.
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

#[cfg(test)]
mod tests;
