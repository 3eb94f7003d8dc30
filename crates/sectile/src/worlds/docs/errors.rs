//! The errors that this world can answer with, as a table.

use sectile_mcp::{ErrorList, ErrorRow, FailureKind};

pub(super) const DOCUMENTS_UNREADABLE: ErrorRow = ErrorRow {
    code: "documents_unreadable",
    ..search_error(
        FailureKind::Unavailable,
        "The documents cannot be read, or their folder does not exist any more.",
        "Call again later; if it happens again, ask the operator to run `sectile docs check`.",
    )
};

pub(super) const PAGES_CHANGE: ErrorRow = ErrorRow {
    code: "pages_change",
    ..search_error(
        FailureKind::Conflict,
        "The pages change faster than they can be read.",
        "Call again in a moment.",
    )
};

const TABLE: [ErrorRow; 4] = [
    DOCUMENTS_UNREADABLE,
    PAGES_CHANGE,
    search_error(
        FailureKind::InvalidArguments,
        "The arguments do not match the tool's input schema.",
        "Compare the arguments with the tool's input schema.",
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
