//! What this world can answer instead of a result, as a table.

use crate::mcp::{ErrorCard, ErrorList, Failure, FailureKind, JsonObject};

/// What is said of one code.
pub(super) struct Row {
    code: &'static str,
    kind: FailureKind,
    meaning: &'static str,
    recovery: &'static str,
}

pub(super) const QUERY_TOO_LONG: Row = Row {
    code: "query_too_long",
    kind: FailureKind::InvalidArguments,
    meaning: "The query has too many bytes or words.",
    recovery: "Ask a shorter question: up to 2,048 bytes and 32 words.",
};

const TABLE: [Row; 4] = [
    QUERY_TOO_LONG,
    Row {
        code: FailureKind::InvalidArguments.name(),
        kind: FailureKind::InvalidArguments,
        meaning: "The arguments do not match the tool's input schema.",
        recovery: "Compare the arguments with the tool's input schema.",
    },
    Row {
        code: FailureKind::TooLarge.name(),
        kind: FailureKind::TooLarge,
        meaning: "The documents are too large to be indexed.",
        recovery: "Ask the operator to serve fewer or smaller documents.",
    },
    Row {
        code: FailureKind::Internal.name(),
        kind: FailureKind::Internal,
        meaning: "The answer could not be written because of a defect in the server.",
        recovery: "Call again; if it happens again, report it with the server's log line.",
    },
];

impl Row {
    /// A failure that tells its recovery.
    pub(super) fn failure(&self, message: String) -> Failure {
        Failure::new(self.kind, message).with_detail(self.code, self.recovery, JsonObject::new())
    }
}

pub(super) fn list() -> ErrorList {
    let card = |row: &Row| ErrorCard {
        group: "searches that fail",
        code: row.code,
        number: None,
        meaning: row.meaning,
        recovery: row.recovery,
    };
    ErrorList {
        form: "A tool result with `isError`, whose text is `{\"error\": MESSAGE, \"code\": CODE}`. `recovery` stands beside \
               them where the world has one for the failure.",
        codes: TABLE.iter().map(card).collect(),
    }
}
