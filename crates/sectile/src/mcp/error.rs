//! What can go wrong with a call, and how it is said.
//!
//! A [`Failure`] is an answer of the world: it goes through the world's [`Envelope`]. A [`Refusal`] comes from the frame
//! before or around the handler and is the same protocol error in every world and on every transport.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};

use super::JsonObject;

/// A call that a tool could not meet. The message is for the caller: one sentence, no unsafe or absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// What the caller reads.
    pub message: Cow<'static, str>,
    /// What a program can act on, where the world has such.
    pub detail: Option<Box<Detail>>,
}

/// A failure in a form that a program can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// A word that stays the same, such as `section_not_found`. The audit line shows it.
    pub code: &'static str,
    /// What the caller can do about it: one sentence.
    pub recovery: Cow<'static, str>,
    /// Facts about it. They reach the caller only, never a log.
    pub data: JsonObject,
}

/// The class of a failure: what a world's envelope and the audit line branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments do not fit the tool.
    InvalidArguments,
    /// The path is not one the world may resolve.
    InvalidPath,
    /// What was asked for is not there.
    NotFound,
    /// What was asked for is larger than allowed.
    TooLarge,
    /// It is there but the system refuses it.
    Unreadable,
    /// It has changed, or is in use, in a way that does not fit the call.
    Conflict,
    /// It cannot be had now, but perhaps later.
    Unavailable,
    /// Nobody waits for the answer.
    Cancelled,
    /// A defect.
    Internal,
}

impl Failure {
    /// A failure with its message.
    pub fn new(kind: FailureKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
        }
    }

    /// The same failure in a form that a program can act on as well.
    #[must_use]
    pub fn with_detail(
        mut self,
        code: &'static str,
        recovery: impl Into<Cow<'static, str>>,
        data: JsonObject,
    ) -> Self {
        self.detail = Some(Box::new(Detail {
            code,
            recovery: recovery.into(),
            data,
        }));
        self
    }

    /// Word for the audit line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.detail {
            Some(detail) => detail.code,
            None => self.kind.name(),
        }
    }
}

impl FailureKind {
    /// Word for the audit line.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::InvalidPath => "invalid_path",
            Self::NotFound => "not_found",
            Self::TooLarge => "too_large",
            Self::Unreadable => "unreadable",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }
}

/// How a world says that a call failed.
pub type Envelope = fn(&Failure) -> Said;

/// A failure as the client gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// A tool result with `isError`, whose text is this JSON. Resources and prompts have no such result: there the frame
    /// makes a protocol error of the failure's message.
    Result(Value),
    /// A JSON-RPC error.
    Error {
        /// Its code; none of the protocol's own, which mean something else to clients.
        code: i32,
        /// What people read.
        message: String,
        /// What programs read.
        data: Value,
    },
}

impl Said {
    /// The JSON-RPC error, or the JSON of a result.
    pub(super) fn into_result(self) -> Result<Value, ErrorData> {
        match self {
            Self::Result(value) => Ok(value),
            Self::Error {
                code,
                message,
                data,
            } => Err(ErrorData::new(ErrorCode(code), message, Some(data))),
        }
    }
}

/// A call that never reached a tool, or whose tool broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The tool does not exist, or must look as if it did not.
    UnknownTool(ErrorCode),
    /// The prompt does not exist, or must look as if it did not.
    UnknownPrompt,
    /// The resource does not exist, or must look as if it did not.
    UnknownResource,
    /// The resource template does not exist, or must look as if it did not.
    UnknownTemplate,
    /// The request state was not made for this call.
    StrangeState,
    /// It exists, but this caller may not use it.
    Forbidden,
    /// Too many calls are running.
    Busy,
    /// Too many sessions are open.
    TooManySessions,
    /// The call took longer than allowed.
    TimedOut,
    /// The caller gave up.
    Cancelled,
    /// The handler panicked.
    Internal,
}

impl Refusal {
    fn code(self) -> ErrorCode {
        match self {
            Self::UnknownTool(code) => code,
            Self::UnknownPrompt | Self::UnknownTemplate | Self::StrangeState => {
                ErrorCode::INVALID_PARAMS
            }
            Self::UnknownResource => ErrorCode::RESOURCE_NOT_FOUND,
            Self::Forbidden => ErrorCode(-32003),
            Self::Busy | Self::TooManySessions => ErrorCode(-32072),
            Self::TimedOut => ErrorCode(-32074),
            Self::Cancelled => ErrorCode(-32075),
            Self::Internal => ErrorCode::INTERNAL_ERROR,
        }
    }

    /// Word for the error's `data.kind` and the audit line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UnknownTool(_) => "unknown_tool",
            Self::UnknownPrompt => "unknown_prompt",
            Self::UnknownResource => "unknown_resource",
            Self::UnknownTemplate => "unknown_template",
            Self::StrangeState => "strange_state",
            Self::Forbidden => "forbidden",
            Self::Busy => "busy",
            Self::TooManySessions => "too_many_sessions",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::UnknownTool(_) => "Unknown tool.",
            Self::UnknownPrompt => "Unknown prompt.",
            Self::UnknownResource => "Unknown resource.",
            Self::UnknownTemplate => "Unknown resource template.",
            Self::StrangeState => "The request state was not made for this call, or is too old.",
            Self::Forbidden => "This caller may not use it.",
            Self::Busy => "Too many calls are running.",
            Self::TooManySessions => "Too many sessions are open.",
            Self::TimedOut => "The call took too long.",
            Self::Cancelled => "The call was cancelled.",
            Self::Internal => "Internal error.",
        }
    }

    fn recovery(self) -> &'static str {
        match self {
            Self::UnknownTool(_) => "Call tools/list to see what there is.",
            Self::UnknownPrompt => "Call prompts/list to see what there is.",
            Self::UnknownResource => "Call resources/list to see what there is.",
            Self::UnknownTemplate => "Call resources/templates/list to see what there is.",
            Self::StrangeState => "Call again without requestState.",
            Self::Forbidden => "Ask the operator to allow it in [server.auth] allowed_tools.",
            Self::Busy => "Wait a moment, then call again.",
            Self::TooManySessions => {
                "End one with DELETE, wait until one is idle, or raise server.http.max_sessions."
            }
            Self::TimedOut => "Ask for less, or raise server.limits.call_timeout_ms.",
            Self::Cancelled => "Call again if the answer is still wanted.",
            Self::Internal => {
                "Call again; if it happens again, report it with the server's log line."
            }
        }
    }
}

impl From<Refusal> for ErrorData {
    fn from(refusal: Refusal) -> Self {
        let data = json!({ "kind": refusal.name(), "recovery": refusal.recovery() });
        Self::new(refusal.code(), refusal.message(), Some(data))
    }
}

/// A method whose capability this server does not declare.
pub(super) fn method_not_found() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None)
}

/// A known method whose parameters cannot be decoded.
pub(super) fn invalid_params() -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_PARAMS, "Invalid params", None)
}
