//! The errors that this world can answer with, as a table.

use sectile_mcp::{ErrorList, ErrorRow, FailureKind};

pub(super) const QUERY_TOO_LONG: ErrorRow = ErrorRow {
    code: "query_too_long",
    ..search_error(
        FailureKind::InvalidArguments,
        "The query has too many bytes or words.",
        "Ask a shorter question: up to 2,048 bytes and 32 words.",
    )
};

const TABLE: [ErrorRow; 4] = [
    QUERY_TOO_LONG,
    search_error(
        FailureKind::InvalidArguments,
        "The arguments do not match the tool's input schema.",
        "Compare the arguments with the tool's input schema.",
    ),
    search_error(
        FailureKind::TooLarge,
        "The documents are too large to be indexed.",
        "Ask the operator to serve fewer or smaller documents.",
    ),
    search_error(
        FailureKind::Internal,
        "The answer could not be written because of a defect in the server.",
        "Call again; if it happens again, report it with the server's log line.",
    ),
];

const fn search_error(
    kind: FailureKind,
    meaning: &'static str,
    recovery: &'static str,
) -> ErrorRow {
    ErrorRow {
        group: "searches that fail",
        ..ErrorRow::of_kind(kind, meaning, recovery)
    }
}

pub(super) fn list() -> ErrorList {
    ErrorList {
        form: "A tool result with `isError`, whose text is `{\"error\": MESSAGE, \"code\": CODE}`. `recovery` is \
               added where the world has one for the failure.",
        codes: TABLE.iter().collect(),
    }
}
