//! The errors of this world: their causes, and the table of messages for each.

use std::borrow::Cow;

use sectile_library::{FailedPart, GoneReason, LibraryError, ids::SourceId};
use sectile_mcp::{
    ErrorList, ErrorResponse, ErrorRow, Failure, FailureKind, JsonObject, RefusedCall, quoted, told,
};
use serde_json::{Value, json};

/// Returns what the caller can do about a part that failed.
fn recovery_of(part: FailedPart) -> String {
    let ask = |kind: &str, what: &str| {
        format!(
            "Call again; if it happens again, ask the operator to look at the {kind} of the {what}."
        )
    };
    match part {
        FailedPart::Notebooks(kind) => ask(kind, "notebooks"),
        FailedPart::Artifacts(kind) => ask(kind, "artifacts"),
        FailedPart::Index(kind) => ask(kind, "index"),
        FailedPart::Process => {
            "Call again; if it happens again, ask the operator to look at the server's log."
                .to_owned()
        }
    }
}

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotebookError {
    NoCollectionContext,
    /// There is no connection that could have entered a collection, and no handle was passed.
    HandleMissing,
    /// The handle is unknown, has expired, or belongs to another caller; the answer does not say which.
    HandleUnknown,
    /// The same, where replicas share a secret.
    SealedHandleUnknown,
    CollectionNotFound,
    /// `new_source_id` is set if the passage only moved.
    SourceNotFound {
        source_id: String,
        reason: GoneReason,
        new_source_id: Option<SourceId>,
    },
    /// The string is not a passage id.
    SourceIdMalformed {
        source_id: String,
    },
    SourceOutsideCollection {
        source_id: String,
    },
    ArtifactNotFound {
        artifact_id: String,
    },
    /// `reason`: one word, such as `unknown`, `collection_changed`, `finished`.
    StreamTokenInvalid {
        reason: &'static str,
    },
    StreamTokenExpired,
    OperationForbidden,
    /// `argument` names the argument that is wrong; `message` is one sentence that says what is wrong with it.
    AmbiguousRequest {
        argument: &'static str,
        message: String,
    },
    /// A storage or this process failed. `message` is one sentence, without a path of this machine.
    UpstreamFailure {
        message: String,
        at: FailedPart,
    },
    /// The files of an index changed after it was opened. It is reopened, or rebuilt in memory.
    IndexDamaged,
    /// Nobody waits for the answer.
    Cancelled,
}

impl NotebookError {
    /// Returns a failure of this process, or of the system that it runs on.
    pub(crate) fn of_server(message: impl Into<String>) -> Self {
        Self::UpstreamFailure {
            message: message.into(),
            at: FailedPart::Process,
        }
    }
}

impl From<LibraryError> for NotebookError {
    /// Matches every cause by name, so that a new one has to say what callers are told.
    fn from(error: LibraryError) -> Self {
        match error {
            // A notebook is not served from a live folder.
            LibraryError::CollectionNotFound | LibraryError::FolderNotFound => {
                Self::CollectionNotFound
            }
            LibraryError::SourceNotFound {
                source_id,
                reason,
                new_source_id,
            } => Self::SourceNotFound {
                source_id,
                reason,
                new_source_id,
            },
            LibraryError::ArtifactNotFound { artifact_id } => {
                Self::ArtifactNotFound { artifact_id }
            }
            LibraryError::AmbiguousArtifact { message } => Self::AmbiguousRequest {
                argument: "artifact_id",
                message,
            },
            LibraryError::Failed { message, at } => Self::UpstreamFailure { message, at },
            LibraryError::IndexDamaged => Self::IndexDamaged,
            LibraryError::Cancelled => Self::Cancelled,
        }
    }
}

const CONTEXT: &str = "the collection context";
const SOURCES: &str = "passages and artifacts";
const STREAMS: &str = "result streams";
const REQUESTS: &str = "requests";

const NO_CONTEXT: ErrorRow = ErrorRow {
    group: CONTEXT,
    kind: FailureKind::Conflict,
    code: "no_collection_context",
    number: None,
    meaning: "No active collection. Invoke enter_collection first.",
    recovery: "Call list_collections, then enter_collection",
};
const HANDLE_MISSING: ErrorRow = ErrorRow {
    recovery: "Call list_collections, then enter_collection, and pass the context_handle that it returns: this client must pass context_handle with every call.",
    ..NO_CONTEXT
};
const HANDLE_UNKNOWN: ErrorRow = ErrorRow {
    meaning: "No active collection: the context_handle is unknown or has expired.",
    recovery: "Call enter_collection again, and pass the context_handle that it returns.",
    ..NO_CONTEXT
};
/// States [`SEALED_HANDLE_S`](super::seal::SEALED_HANDLE_S) in words.
const SEALED_HANDLE_UNKNOWN: ErrorRow = ErrorRow {
    recovery: "Call enter_collection again, and pass the context_handle that it returns: it is valid for 24 hours.",
    ..HANDLE_UNKNOWN
};
const NO_COLLECTION: ErrorRow = ErrorRow {
    group: CONTEXT,
    kind: FailureKind::NotFound,
    code: "collection_not_found",
    number: None,
    meaning: "There is no such collection.",
    recovery: "Call list_collections to see the ids of all collections.",
};
const CHANGED: ErrorRow = ErrorRow {
    group: SOURCES,
    kind: FailureKind::NotFound,
    code: "source_not_found",
    number: None,
    meaning: "The notebook has different text at that position now.",
    recovery: "Call semantic_search again to find what it says now.",
};
const MOVED: ErrorRow = ErrorRow {
    meaning: "The passage has moved.",
    recovery: "Call again with context.new_source_id.",
    ..CHANGED
};
const DELETED: ErrorRow = ErrorRow {
    meaning: "The notebook no longer exists, and neither do its passages.",
    recovery: "Call semantic_search again to find current passages.",
    ..CHANGED
};
const TOO_LARGE: ErrorRow = ErrorRow {
    meaning: "The notebook is now larger than the limit, so it is not read.",
    recovery: "Ask the operator to split the notebook, or to raise vault.max_note_bytes.",
    ..CHANGED
};
const MALFORMED: ErrorRow = ErrorRow {
    meaning: "This is not the id of a passage.",
    recovery: "Pass a reference_id exactly as semantic_search returned it.",
    ..CHANGED
};
const OUTSIDE: ErrorRow = ErrorRow {
    group: SOURCES,
    kind: FailureKind::Conflict,
    code: "source_outside_collection",
    number: None,
    meaning: "The passage is in another collection, not in the active one.",
    recovery: "Call enter_collection for that collection first, or search in this one.",
};
const NO_ARTIFACT: ErrorRow = ErrorRow {
    group: SOURCES,
    kind: FailureKind::NotFound,
    code: "artifact_not_found",
    number: None,
    meaning: "The active collection has no such artifact.",
    recovery: "Call list_artifact_sets to see the ids of all artifacts.",
};
const TOKEN: ErrorRow = ErrorRow {
    group: STREAMS,
    kind: FailureKind::NotFound,
    code: "stream_token_invalid",
    number: None,
    meaning: "The token does not belong to a running stream; context.reason says why.",
    recovery: "Call begin_result_stream to start a new stream.",
};
const EXPIRED: ErrorRow = ErrorRow {
    code: "stream_token_expired",
    meaning: "The stream has expired.",
    ..TOKEN
};
const FORBIDDEN: ErrorRow = ErrorRow {
    group: REQUESTS,
    kind: FailureKind::NotFound,
    code: "operation_forbidden",
    number: None,
    meaning: "This operation is forbidden in Open Notebook world.",
    recovery: "This world is read-only. Use external tools for mutation. tools/list shows everything it offers.",
};
const AMBIGUOUS: ErrorRow = ErrorRow {
    group: REQUESTS,
    kind: FailureKind::InvalidArguments,
    code: "ambiguous_request",
    number: None,
    meaning: "An argument is missing, unknown or invalid; context.argument names it.",
    recovery: "Compare the arguments with the tool's input schema.",
};
const UPSTREAM: ErrorRow = ErrorRow {
    group: REQUESTS,
    kind: FailureKind::Unavailable,
    code: "upstream_failure",
    number: None,
    meaning: "The storage of the notebooks failed, or the server did.",
    recovery: "Call again; if it happens again, ask the operator to look at what the recovery text names: the storage that failed, or the server's log.",
};

const TABLE: [&ErrorRow; 17] = [
    &NO_CONTEXT,
    &HANDLE_MISSING,
    &HANDLE_UNKNOWN,
    &SEALED_HANDLE_UNKNOWN,
    &NO_COLLECTION,
    &CHANGED,
    &MOVED,
    &DELETED,
    &TOO_LARGE,
    &MALFORMED,
    &OUTSIDE,
    &NO_ARTIFACT,
    &TOKEN,
    &EXPIRED,
    &AMBIGUOUS,
    &UPSTREAM,
    &FORBIDDEN,
];

/// The longest id that an error repeats, in characters; a longer one is cut.
pub(super) const SHOWN_ID: usize = 1000;

impl NotebookError {
    fn row(&self) -> &'static ErrorRow {
        match self {
            Self::NoCollectionContext => &NO_CONTEXT,
            Self::HandleMissing => &HANDLE_MISSING,
            Self::HandleUnknown => &HANDLE_UNKNOWN,
            Self::SealedHandleUnknown => &SEALED_HANDLE_UNKNOWN,
            Self::CollectionNotFound => &NO_COLLECTION,
            Self::SourceNotFound { reason, .. } => match reason {
                GoneReason::Changed => &CHANGED,
                GoneReason::Moved => &MOVED,
                GoneReason::Deleted => &DELETED,
                GoneReason::TooLarge => &TOO_LARGE,
            },
            Self::SourceIdMalformed { .. } => &MALFORMED,
            Self::SourceOutsideCollection { .. } => &OUTSIDE,
            Self::ArtifactNotFound { .. } => &NO_ARTIFACT,
            Self::StreamTokenInvalid { .. } => &TOKEN,
            Self::StreamTokenExpired => &EXPIRED,
            Self::OperationForbidden => &FORBIDDEN,
            Self::AmbiguousRequest { .. } => &AMBIGUOUS,
            Self::UpstreamFailure { .. } | Self::IndexDamaged | Self::Cancelled => &UPSTREAM,
        }
    }

    /// Returns one sentence that says what is wrong.
    pub(super) fn message(&self) -> Cow<'static, str> {
        match self {
            Self::AmbiguousRequest { message, .. } | Self::UpstreamFailure { message, .. } => {
                message.clone().into()
            }
            Self::SourceNotFound {
                source_id, reason, ..
            } => gone(source_id, *reason).into(),
            Self::SourceIdMalformed { source_id } => {
                format!("{} is not the id of a passage.", quoted(source_id)).into()
            }
            Self::SourceOutsideCollection { source_id } => match SourceId::parse(source_id) {
                Some(id) => format!(
                    "The passage is in the collection {}, not in the active one.",
                    quoted(&id.collection)
                )
                .into(),
                None => self.row().meaning.into(),
            },
            Self::ArtifactNotFound { artifact_id } => format!(
                "The active collection has no artifact {}.",
                quoted(artifact_id)
            )
            .into(),
            Self::StreamTokenInvalid { reason } => why(reason).into(),
            Self::IndexDamaged => "The index changed during the search.".into(),
            Self::Cancelled => "The call was cancelled.".into(),
            _ => self.row().meaning.into(),
        }
    }

    /// Returns what the caller can do about it.
    fn recovery(&self) -> Cow<'static, str> {
        match self {
            Self::UpstreamFailure { at, .. } => recovery_of(*at).into(),
            Self::IndexDamaged => recovery_of(FailedPart::Index("folder")).into(),
            Self::Cancelled => "Call again if the answer is still wanted.".into(),
            _ => self.row().recovery.into(),
        }
    }

    /// Returns the details that a program can act on.
    fn facts(&self) -> Value {
        match self {
            Self::NoCollectionContext => json!({ "reason": "no_collection_entered" }),
            Self::HandleMissing => json!({ "reason": "context_handle_missing" }),
            Self::HandleUnknown | Self::SealedHandleUnknown => {
                json!({ "reason": "context_handle_unknown_or_expired" })
            }
            Self::SourceNotFound {
                source_id,
                reason,
                new_source_id,
            } => {
                let mut facts = json!({ "source_id": shown(source_id), "reason": reason.word() });
                if let Some(id) = new_source_id {
                    facts["new_source_id"] = id.to_string().into();
                }
                facts
            }
            Self::SourceIdMalformed { source_id } => {
                json!({ "source_id": shown(source_id), "reason": "malformed" })
            }
            Self::SourceOutsideCollection { source_id } => {
                json!({ "source_id": shown(source_id) })
            }
            Self::ArtifactNotFound { artifact_id } => {
                json!({ "artifact_id": shown(artifact_id) })
            }
            Self::StreamTokenInvalid { reason } => json!({ "reason": reason }),
            Self::AmbiguousRequest { argument, .. } => json!({ "argument": argument }),
            Self::CollectionNotFound
            | Self::StreamTokenExpired
            | Self::OperationForbidden
            | Self::UpstreamFailure { .. }
            | Self::IndexDamaged
            | Self::Cancelled => json!({}),
        }
    }
}

/// Returns why a passage cannot be quoted, with its notebook.
fn gone(source_id: &str, reason: GoneReason) -> String {
    let Some(id) = SourceId::parse(source_id) else {
        return format!("{} is not the id of a passage.", quoted(source_id));
    };
    let notebook = quoted(id.notebook.as_str());
    match reason {
        GoneReason::Changed => {
            format!("The notebook {notebook} has different text at that position now.")
        }
        GoneReason::Moved => format!("The passage of the notebook {notebook} has moved."),
        GoneReason::Deleted => {
            format!("The notebook {notebook} no longer exists, and neither do its passages.")
        }
        GoneReason::TooLarge => {
            format!("The notebook {notebook} is now larger than the limit, so it is not read.")
        }
    }
}

/// Returns why a token does not belong to a running stream.
fn why(reason: &str) -> &'static str {
    match reason {
        "finished" => "The stream was read to its end.",
        "collection_changed" => "The stream was dropped when a collection was entered.",
        "collection_left" => "The stream was dropped when the collection was left.",
        "displaced" => {
            "The stream was dropped because too many newer ones were started in this context."
        }
        _ => "There is no such stream in this context.",
    }
}

/// Returns an id as errors repeat it.
pub(super) fn shown(id: &str) -> String {
    id.chars().take(SHOWN_ID).collect()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

impl From<NotebookError> for Failure {
    fn from(error: NotebookError) -> Self {
        let row = error.row();
        let kind = match error {
            NotebookError::Cancelled => FailureKind::Cancelled,
            _ => row.kind,
        };
        let (message, recovery, facts) = (error.message(), error.recovery(), error.facts());
        Self::new(kind, message).with_detail(row.code, recovery, object(facts))
    }
}

/// Returns the failure of a call about the passage `source_id`, which it names.
pub(super) fn about_source(error: NotebookError, source_id: &str) -> Failure {
    let mut failure = Failure::from(error);
    if let Some(detail) = &mut failure.detail {
        let named = detail.data.entry("source_id");
        named.or_insert_with(|| shown(source_id).into());
    }
    failure
}

/// Returns the answer to a call of a tool that this world does not have.
pub(super) fn forbidden() -> Failure {
    NotebookError::OperationForbidden.into()
}

/// Returns the error object for a call that the framework refused: it timed out, the server was busy, it was cancelled, the
/// caller may not make it, or the server failed.
pub(super) fn refused(refused: &RefusedCall) -> JsonObject {
    let row = match refused.code {
        "forbidden" | "unknown_tool" => &FORBIDDEN,
        _ => &UPSTREAM,
    };
    object(json!({
        "error": {
            "type": row.code,
            "message": refused.message,
            "recovery": refused.recovery,
            "context": { "reason": refused.code },
        }
    }))
}

/// Returns this world's response to a failed call.
pub(super) fn envelope(failure: &Failure) -> ErrorResponse {
    ErrorResponse::Result(error_object(failure))
}

/// Returns a failure as one JSON object.
pub(crate) fn error_object(failure: &Failure) -> Value {
    let (code, recovery, context) = match &failure.detail {
        Some(detail) => (detail.code, detail.recovery.as_ref(), detail.data.clone()),
        // The framework's errors about arguments. Names that the schema does not know are not repeated.
        None if failure.kind == FailureKind::InvalidArguments => {
            let argument = failure.argument.as_deref().unwrap_or("arguments");
            let context = object(json!({ "argument": argument }));
            (AMBIGUOUS.code, AMBIGUOUS.recovery, context)
        }
        None => (UPSTREAM.code, UPSTREAM.recovery, JsonObject::new()),
    };
    let offer = failure.detail.as_ref().map(|detail| detail.offer.clone());
    let message = told(&failure.message, &offer.unwrap_or_default(), "");
    let mut error = json!({
        "type": code,
        "message": message,
        "recovery": recovery,
        "context": context,
    });
    if let Some(id) = context.get("source_id") {
        error["source_id"] = id.clone();
    }
    json!({ "error": error })
}

/// Returns all errors of this world.
pub(super) fn list() -> ErrorList {
    ErrorList {
        form: "A tool result with `isError`, whose text is `{\"error\": {\"type\": CODE, \"message\": ..., \"recovery\": ..., \
               \"context\": {...}}}`. `context` holds what a program can act on, such as `reason` or `argument`; errors about \
               a passage also have its `source_id`. A call that the server refuses, such as one that takes too long, is the \
               JSON-RPC error of every world; its `data` also has the same object, with the code in `context.reason`.",
        codes: TABLE.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use sectile_library::StorageError;

    use super::*;

    /// One of each cause.
    fn all() -> Vec<NotebookError> {
        let source_id = "a/b.md@0-1:0123456789abcdef".to_owned();
        let gone = |reason| NotebookError::SourceNotFound {
            source_id: source_id.clone(),
            reason,
            new_source_id: SourceId::parse("a/b.md@4-5:0123456789abcdef"),
        };
        vec![
            NotebookError::NoCollectionContext,
            NotebookError::HandleMissing,
            NotebookError::HandleUnknown,
            NotebookError::SealedHandleUnknown,
            NotebookError::CollectionNotFound,
            gone(GoneReason::Changed),
            gone(GoneReason::Moved),
            gone(GoneReason::Deleted),
            gone(GoneReason::TooLarge),
            NotebookError::SourceIdMalformed {
                source_id: source_id.clone(),
            },
            NotebookError::SourceOutsideCollection {
                source_id: source_id.clone(),
            },
            NotebookError::ArtifactNotFound {
                artifact_id: "x".to_owned(),
            },
            NotebookError::StreamTokenInvalid { reason: "finished" },
            NotebookError::StreamTokenExpired,
            NotebookError::OperationForbidden,
            NotebookError::AmbiguousRequest {
                argument: "k",
                message: "k is odd.".to_owned(),
            },
            NotebookError::of_server("The disk is gone."),
            NotebookError::IndexDamaged,
            NotebookError::Cancelled,
        ]
    }

    #[test]
    fn every_error_has_a_type_of_the_contract_a_message_a_recovery_and_a_context() {
        const TYPES: [&str; 10] = [
            "no_collection_context",
            "collection_not_found",
            "source_not_found",
            "source_outside_collection",
            "artifact_not_found",
            "stream_token_invalid",
            "stream_token_expired",
            "operation_forbidden",
            "ambiguous_request",
            "upstream_failure",
        ];
        let listed = list();
        for code in TYPES {
            assert!(
                listed.codes.iter().any(|card| card.code == code),
                "{code} is not listed"
            );
        }
        for error in all() {
            let object = error_object(&Failure::from(error.clone()));
            let said = &object["error"];
            let code = said["type"].as_str().expect("a type");
            assert!(TYPES.contains(&code), "{said}");
            assert!(
                said["message"]
                    .as_str()
                    .is_some_and(|text| text.ends_with('.'))
            );
            assert!(
                said["recovery"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            );
            assert!(said["context"].is_object(), "{said}");
            let of_source = code.starts_with("source_");
            assert_eq!(said["source_id"].is_string(), of_source, "{said}");
        }
    }

    #[test]
    fn every_row_is_listed_and_is_that_of_a_cause() {
        let mut listed = list().codes;
        for error in all() {
            assert!(TABLE.contains(&error.row()), "{error:?}");
            listed.retain(|row| *row != error.row());
        }
        assert_eq!(listed, Vec::<&ErrorRow>::new());
    }

    #[test]
    fn what_the_frame_says_of_arguments_names_the_argument() {
        let mut failure = Failure::new(FailureKind::InvalidArguments, "Invalid arguments: no.");
        failure.argument = Some("k".to_owned());
        let said = error_object(&failure);
        assert_eq!(said["error"]["type"], "ambiguous_request");
        assert_eq!(said["error"]["context"]["argument"], "k");
        failure.argument = None;
        assert_eq!(
            error_object(&failure)["error"]["context"]["argument"],
            "arguments"
        );
    }

    #[test]
    fn an_id_is_not_repeated_without_end() {
        let error = NotebookError::SourceIdMalformed {
            source_id: "é".repeat(5000),
        };
        let object = error_object(&Failure::from(error));
        let shown = object["error"]["source_id"].as_str().expect("an id");
        assert_eq!(shown.chars().count(), SHOWN_ID);
    }

    #[test]
    fn recovery_texts_name_the_storage_that_is_really_used() {
        let recovery = |at: FailedPart| {
            let error = LibraryError::of_storage(StorageError::failed("It failed."), at);
            let error = NotebookError::from(error);
            let object = error_object(&Failure::from(error));
            object["error"]["recovery"]
                .as_str()
                .expect("a text")
                .to_owned()
        };
        for (at, named) in [
            (
                FailedPart::Notebooks("folder"),
                "the folder of the notebooks",
            ),
            (
                FailedPart::Notebooks("bucket"),
                "the bucket of the notebooks",
            ),
            (
                FailedPart::Artifacts("bucket"),
                "the bucket of the artifacts",
            ),
            (FailedPart::Index("database"), "the database of the index"),
            (FailedPart::Process, "the server's log"),
        ] {
            let said = recovery(at);
            assert!(said.ends_with(&format!("look at {named}.")), "{said}");
        }
    }

    #[test]
    fn what_the_frame_refuses_has_the_error_object_of_this_world() {
        for (code, kind) in [
            ("timed_out", "upstream_failure"),
            ("busy", "upstream_failure"),
            ("cancelled", "upstream_failure"),
            ("internal", "upstream_failure"),
            ("forbidden", "operation_forbidden"),
        ] {
            let said = refused(&RefusedCall {
                code,
                message: "No.",
                recovery: "Wait.",
            });
            assert_eq!(
                Value::Object(said),
                json!({ "error": {
                    "type": kind,
                    "message": "No.",
                    "recovery": "Wait.",
                    "context": { "reason": code },
                }})
            );
        }
    }
}
