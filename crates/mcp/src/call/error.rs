//! Errors of calls, and how they are reported.
//!
//! A [`Failure`] is an answer of the world: it passes through the world's [`Envelope`]. A [`Refusal`] comes from the
//! frame before or around the handler and is the same protocol error in every world and on every transport.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};

use crate::{
    Access, JsonObject,
    call::error_text::{NameOffer, told},
    world::naming::Naming,
};

/// A call that a tool could not fulfil. The message is for the caller: one sentence that names what it is about,
/// without an unsafe or absolute path. What to do next is in the detail, and [`Failure::told`] puts both together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class of the failure.
    pub kind: FailureKind,
    /// The message for the caller.
    pub message: Cow<'static, str>,
    /// The argument that caused it, if one did, by its name in the tool's schema.
    pub argument: Option<String>,
    /// The failure in a form that a program can act on, if the world has one.
    pub detail: Option<Box<Detail>>,
    /// The class of an upstream store's answer, for the log.
    pub upstream: Option<&'static str>,
}

/// A failure in a form that a program can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// A stable code, such as `section_not_found`. The audit line shows it.
    pub code: &'static str,
    /// The recovery for the caller: one sentence.
    pub recovery: Cow<'static, str>,
    /// Facts about it. They reach the caller only, never a log.
    pub data: JsonObject,
    /// Names that the caller may have meant.
    pub offer: NameOffer,
}

/// The class of a failure: what a world's envelope and the audit line branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments do not fit the tool.
    InvalidArguments,
    /// The path is not one the world may resolve.
    InvalidPath,
    /// The thing that was asked for does not exist.
    NotFound,
    /// The thing that was asked for is larger than allowed.
    TooLarge,
    /// It exists, but the system denies access.
    Unreadable,
    /// It has changed, or is in use, in a way that does not fit the call.
    Conflict,
    /// It is not available now, but may be later.
    Unavailable,
    /// The caller no longer waits for the answer.
    Cancelled,
    /// A defect in the server.
    Internal,
}

impl Failure {
    /// Makes a failure with its message.
    pub fn new(kind: FailureKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            argument: None,
            detail: None,
            upstream: None,
        }
    }

    /// Returns the failure with a detail that a program can act on.
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
            offer: NameOffer::default(),
        }));
        self
    }

    /// Rewords the failure for the caller that `naming` is for. Text that is the program's own is reworded, and so is a
    /// recovery that the message ends with; what the caller sent stays as it is.
    pub(crate) fn worded(mut self, naming: &Naming<'_>) -> Self {
        if naming.is_plain() {
            return self;
        }
        if let Some(detail) = &mut self.detail
            && let Cow::Borrowed(recovery) = detail.recovery
        {
            detail.recovery = naming.advice(recovery);
            if let Cow::Owned(message) = &mut self.message
                && let Some(before) = message.strip_suffix(recovery)
            {
                *message = format!("{before}{}", detail.recovery);
            }
        }
        if let Cow::Borrowed(message) = self.message {
            self.message = naming.advice(message);
        }
        self
    }

    /// Returns the failure with names that the caller may have meant. Only a failure with a detail can hold them.
    #[must_use]
    pub fn offering(mut self, lead: &'static str, names: Vec<String>) -> Self {
        if let Some(detail) = &mut self.detail {
            detail.offer = NameOffer { lead, names };
        }
        self
    }

    /// Returns everything useful in one string, for clients that show nothing else: what is wrong, the names that may
    /// have been meant, and what to do next.
    #[must_use]
    pub fn told(&self) -> String {
        match &self.detail {
            Some(detail) => told(&self.message, &detail.offer, &detail.recovery),
            None => told(&self.message, &NameOffer::default(), ""),
        }
    }

    /// Returns the word for the audit line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.detail {
            Some(detail) => detail.code,
            None => self.kind.name(),
        }
    }
}

impl FailureKind {
    /// Returns the word for the audit line.
    #[must_use]
    pub const fn name(self) -> &'static str {
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

/// Encodes a failed call for a world.
pub type Envelope = fn(&Failure) -> ErrorResponse;

/// A failure as the client gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorResponse {
    /// A tool result with `isError`, whose text is this JSON. Resources and prompts have no such result: for them the
    /// frame turns the failure's message into a protocol error.
    Result(Value),
    /// A tool result with `isError`, whose text is this, for a model to read. The same holds for resources and prompts.
    Text(String),
    /// A JSON-RPC error.
    Error {
        /// Its code, which is not one of the protocol's own: those mean something else to clients.
        code: i32,
        /// The message for people.
        message: String,
        /// The data for programs.
        data: Value,
    },
    /// A JSON-RPC error, or the same object as a result for a client that hides such errors from its model.
    Suited {
        /// The code, as in an error.
        code: i32,
        /// The message, as in an error.
        message: String,
        /// The data, as in an error.
        data: Value,
    },
}

impl ErrorResponse {
    /// Returns the JSON-RPC error, or the text of a result. `hides_errors` says that the client hides JSON-RPC errors
    /// from its model.
    pub(crate) fn into_result(self, hides_errors: bool) -> Result<String, ErrorData> {
        match self {
            Self::Result(value) => Ok(value.to_string()),
            Self::Text(text) => Ok(text),
            Self::Suited {
                code,
                message,
                data,
            } if hides_errors => {
                let object = json!({ "code": code, "message": message, "data": data });
                Ok(object.to_string())
            }
            Self::Error {
                code,
                message,
                data,
            }
            | Self::Suited {
                code,
                message,
                data,
            } => Err(ErrorData::new(ErrorCode(code), message, Some(data))),
        }
    }
}

/// The errors that a world, or the frame, can return instead of a result: for listings and documentation.
#[derive(Debug, Default)]
pub struct ErrorList {
    /// A few sentences about where in an answer the code is, and what else is there.
    pub form: &'static str,
    /// The codes. One that has several causes appears once for each.
    pub codes: Vec<&'static ErrorRow>,
}

/// One code and one of its causes: what callers are told about it, and what the manual lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// The group it belongs to, in a few words that fit into a heading.
    pub group: &'static str,
    /// The class of the failure.
    pub kind: FailureKind,
    /// The stable code.
    pub code: &'static str,
    /// The JSON-RPC code that goes with it, if there is one.
    pub number: Option<i32>,
    /// The description of what is wrong: one sentence.
    pub meaning: &'static str,
    /// The recovery for the caller: one sentence.
    pub recovery: &'static str,
}

impl ErrorRow {
    /// Makes the row of a world whose failures are told apart by their kind alone: the meaning of `kind` there, and the
    /// recovery.
    #[must_use]
    pub const fn of_kind(kind: FailureKind, meaning: &'static str, recovery: &'static str) -> Self {
        Self {
            group: "calls that fail",
            kind,
            code: kind.name(),
            number: None,
            meaning,
            recovery,
        }
    }

    /// Makes a failure with this cause and this message.
    pub fn failure(&self, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::new(self.kind, message).with_detail(self.code, self.recovery, JsonObject::new())
    }
}

/// Declares the refusals with their descriptions, so that none can exist without being listed. The doc comment of a
/// refusal is its meaning in the list.
macro_rules! refusals {
    ($(
        $(#[doc = $meaning:literal])+
        $name:ident $(($payload:ty = $any:expr))?:
            $kind:ident, $code:literal, $number:expr, $message:literal, $recovery:literal;
    )+) => {
        /// A call that never reached a tool, or whose tool broke.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Refusal {
            $($(#[doc = $meaning])+ $name $(($payload))?,)+
        }

        impl Refusal {
            /// One of each.
            const ALL: &[Self] = &[$(Self::$name $(($any))?),+];

            fn row(self) -> &'static ErrorRow {
                match self {
                    $(Self::$name { .. } => {
                        const ROW: ErrorRow = ErrorRow {
                            group: "calls that reach no tool",
                            kind: FailureKind::$kind,
                            code: $code,
                            number: $number,
                            meaning: concat!($($meaning),+).trim_ascii_start(),
                            recovery: $recovery,
                        };
                        &ROW
                    })+
                }
            }

            /// Returns what is wrong, in our own words.
            fn sentence(self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $message,)+
                }
            }
        }
    };
}

refusals! {
    /// The tool does not exist, or must look as if it did not.
    UnknownTool(ErrorCode = ErrorCode::METHOD_NOT_FOUND):
        // Each world has its own number.
        NotFound, "unknown_tool", None,
        "Unknown tool.",
        "Call tools/list to see which tools are available.";
    /// The prompt does not exist, or must look as if it did not.
    UnknownPrompt:
        NotFound, "unknown_prompt", Some(ErrorCode::INVALID_PARAMS.0),
        "Unknown prompt.",
        "Call prompts/list to see which prompts are available.";
    /// The resource does not exist, or must look as if it did not.
    UnknownResource:
        NotFound, "unknown_resource", Some(ErrorCode::RESOURCE_NOT_FOUND.0),
        "Unknown resource.",
        "Call resources/list to see which resources are available.";
    /// The resource template does not exist, or must look as if it did not.
    UnknownTemplate:
        NotFound, "unknown_template", Some(ErrorCode::INVALID_PARAMS.0),
        "Unknown resource template.",
        "Call resources/templates/list to see which templates are available.";
    /// The skill does not exist, or must look as if it did not.
    UnknownSkill:
        NotFound, "unknown_skill", Some(ErrorCode::INVALID_PARAMS.0),
        "Unknown skill.",
        "Call skills/list to see which skills are available.";
    /// The folder of a skill does not exist, or must look as if it did not, or it is a file.
    UnknownDirectory:
        NotFound, "unknown_directory", Some(ErrorCode::INVALID_PARAMS.0),
        "Unknown directory.",
        "Call skills/list to see which skills and files are available.";
    /// The request state was not made for this call, or is too old.
    StrangeState:
        InvalidArguments, "strange_state", Some(ErrorCode::INVALID_PARAMS.0),
        "The request state was not made for this call, or is too old.",
        "Call again without requestState.";
    /// It exists, but this caller may not use it.
    Forbidden:
        Unreadable, "forbidden", Some(-32003),
        "You are not allowed to use this.",
        "Ask the operator to allow it in [server.auth] allowed_tools.";
    /// Too many calls are running, overall or for this caller.
    Busy:
        Unavailable, "busy", Some(-32072),
        "Too many calls are running.",
        "Wait a moment, then call again.";
    /// The request carries no credentials, or none that are valid here.
    Unauthenticated:
        Unreadable, "unauthenticated", Some(-32001),
        "Valid credentials are required.",
        "Send a valid bearer token or API key; the WWW-Authenticate header says where to get a token.";
    /// The credentials are valid, but not for what the request is about.
    NoAccess:
        Unreadable, "no_access", Some(-32003),
        "These credentials do not give access here.",
        "Name one of your vaults in X-Vault-Id, or ask the operator for access.";
    /// The request carries more than one set of credentials, or repeats a header that may appear only once.
    AmbiguousCredentials:
        InvalidArguments, "ambiguous_credentials", Some(ErrorCode::INVALID_REQUEST.0),
        "The request carries more than one set of credentials.",
        "Send one Authorization or X-Api-Key header, and at most one X-Vault-Id.";
    /// The credentials cannot be checked right now.
    AuthUnavailable:
        Unavailable, "auth_unavailable", Some(-32076),
        "The credentials cannot be checked right now.",
        "Wait a moment, then send the request again.";
    /// The caller or the address sent more requests than allowed.
    RateLimited:
        Unavailable, "rate_limited", Some(-32073),
        "Too many requests.",
        "Wait as many seconds as the Retry-After header says, then send the request again.";
    /// Too many sessions are open.
    TooManySessions:
        Unavailable, "too_many_sessions", Some(-32072),
        "Too many sessions are open.",
        "End one with DELETE, wait until one is idle, or raise server.http.max_sessions.";
    /// The call took longer than allowed. Its change may have been made anyway.
    TimedOut(Access = Access::Read):
        Unavailable, "timed_out", Some(-32074),
        "The call took too long.",
        "Ask for less, or raise server.limits.call_timeout_ms.";
    /// The caller gave up. The call's change may have been made anyway.
    Cancelled(Access = Access::Read):
        Cancelled, "cancelled", Some(-32075),
        "The call was cancelled.",
        "Call again if the answer is still wanted.";
    /// The tool failed because of a defect in the server.
    Internal:
        Internal, "internal", Some(ErrorCode::INTERNAL_ERROR.0),
        "Internal error: the tool failed because of a defect in the server.",
        "Call again; if it happens again, report it with the server's log line.";
}

/// A call that the frame refuses, as it is described to a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// The stable code, such as `busy`.
    pub code: &'static str,
    /// The description of what is wrong: one sentence.
    pub message: &'static str,
    /// The recovery for the caller: one sentence.
    pub recovery: &'static str,
}

impl From<Refusal> for RefusedCall {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.name(),
            message: refusal.sentence(),
            recovery: refusal.recovery(),
        }
    }
}

impl Refusal {
    fn code(self) -> ErrorCode {
        match self {
            Self::UnknownTool(code) => code,
            _ => self
                .row()
                .number
                .map_or(ErrorCode::INTERNAL_ERROR, ErrorCode),
        }
    }

    /// Returns the word for the error's `data.kind` and the audit line.
    pub(crate) fn name(self) -> &'static str {
        self.row().code
    }

    /// Returns what is wrong. One of the protocol's own codes comes with the protocol's own words.
    fn message(self) -> &'static str {
        match self {
            Self::UnknownTool(ErrorCode::METHOD_NOT_FOUND) => {
                "Method not found: there is no such tool."
            }
            _ => self.sentence(),
        }
    }

    /// Returns how the caller can recover.
    fn recovery(self) -> &'static str {
        match self {
            Self::TimedOut(access) | Self::Cancelled(access) if access != Access::Read => {
                "The change may have been made anyway. Check the history, or repeat the call with the same request_id if it had one."
            }
            _ => self.row().recovery,
        }
    }
}

/// Errors that have a number in the protocol itself; they have no word.
const PROTOCOL_ERRORS: [ErrorRow; 4] = [
    protocol_error(
        "-32700",
        "The message is not JSON, is cut off, or nests too deeply.",
        "Send one JSON object per message.",
    ),
    protocol_error(
        "-32600",
        "The message is JSON, but not a JSON-RPC request; its id or the number of its values exceeds the limit; or a request with the same id is still running.",
        "Read the error message, then correct the request.",
    ),
    protocol_error(
        "-32601",
        "The method does not exist here: this world offers nothing that it applies to.",
        "Use only the capabilities that the server declared.",
    ),
    protocol_error(
        "-32602",
        "The parameters of a known method cannot be decoded.",
        "Compare them with the method's schema in the protocol.",
    ),
];

const fn protocol_error(
    code: &'static str,
    meaning: &'static str,
    recovery: &'static str,
) -> ErrorRow {
    ErrorRow {
        group: "messages that are not calls",
        kind: FailureKind::InvalidArguments,
        code,
        number: None,
        meaning,
        recovery,
    }
}

/// Returns the errors that the frame itself returns, in every world.
#[must_use]
pub fn frame_errors() -> ErrorList {
    ErrorList {
        form: "These are JSON-RPC errors, the same in every world and on every transport. `data.kind` is the code, and \
               `data.recovery` says what to do; `message` says both what is wrong and what to do. Errors of messages that are not calls have only their number.",
        codes: Refusal::ALL
            .iter()
            .map(|refusal| refusal.row())
            .chain(&PROTOCOL_ERRORS)
            .collect(),
    }
}

impl From<Refusal> for ErrorData {
    fn from(refusal: Refusal) -> Self {
        let (word, recovery) = (refusal.name(), refusal.recovery());
        let message = told(refusal.message(), &NameOffer::default(), recovery);
        let data = json!({ "kind": word, "recovery": recovery });
        Self::new(refusal.code(), message, Some(data))
    }
}

/// Makes the error for a method whose capability this server does not declare.
pub(crate) fn method_not_found() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None)
}

/// Makes the error for a known method whose parameters cannot be decoded.
pub(crate) fn invalid_params() -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_PARAMS, "Invalid params", None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_MESSAGE_CHARS;

    #[test]
    fn message_of_every_refusal_says_what_to_do_next() {
        let changing = [
            Refusal::TimedOut(Access::Write),
            Refusal::Cancelled(Access::Destructive),
        ];
        for &refusal in Refusal::ALL.iter().chain(&changing) {
            let error = ErrorData::from(refusal);
            let message = error.message.as_ref();
            assert!(message.chars().count() <= MAX_MESSAGE_CHARS, "{message}");
            assert!(message.ends_with(refusal.recovery()), "{message}");
            assert!(message.len() > refusal.recovery().len() + 5, "{message}");
        }
    }

    #[test]
    fn messages_of_the_protocols_own_codes_begin_with_its_words() {
        let unknown = |code| ErrorData::from(Refusal::UnknownTool(ErrorCode(code))).message;
        assert!(unknown(-32601).starts_with("Method not found: "));
        assert!(unknown(-32602).starts_with("Unknown tool. "));
        assert_eq!(method_not_found().message, "Method not found");
        assert_eq!(invalid_params().message, "Invalid params");
    }
}
