//! The `hosted` world: the structure of any note that an upstream store keeps for the signed-in user, and nothing else.
//!
//! No bodies, no resources, no prompts, no search, no writes, nothing kept between calls: each call requests one note from
//! the store, on behalf of the caller and in the caller's vault. Neither can come from arguments.

mod breaker;
mod open;
mod reply;
mod request;
mod settings;

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use sectile_client::{BaseUrl, Client, ClientError, Reply};
use sectile_markdown::Note;
use sectile_mcp::{
    Answer, AnswerFuture, CallContext, ErrorList, ErrorResponse, ErrorRow, Failure, FailureKind,
    JsonObject, Tool, ToolBuilder, WorldSpec,
    access::{Identity, Secret},
    decode,
};
use sectile_vault::NotePath;
use serde::Serialize;
use serde_json::json;

use self::{
    breaker::{Breaker, Tenant},
    reply::StoredNote,
    request::NoteRequest,
};
pub(crate) use self::{
    open::ENTRY,
    settings::{HostedSection, HostedSettings},
};
use crate::worlds::note_structure::{self, NoteParams, NoteSource, NoteTooLong, View};

/// Answers of the store up to this length, in bytes, are processed inline; handing them to another thread would cost more.
const MAX_INLINE_BYTES: usize = 64 << 10;
/// Longest path of a note, in bytes. Percent-encoded to three times that, it still fits into the head of a request.
const MAX_PATH_BYTES: usize = 4096;

/// State of the world: the address of the store, and the means to reach it.
pub(crate) struct HostedWorld {
    store: BaseUrl,
    client: Client,
    gateway_secret: Option<Secret>,
    breaker: Breaker,
}

/// The contract of the world.
pub(crate) fn spec() -> WorldSpec<HostedWorld> {
    WorldSpec {
        tools: note_structure::tools(),
        tokens_only: true,
        ..WorldSpec::new(
            "hosted",
            include_str!("hosted/instructions.md"),
            |failure| {
                ErrorResponse::Result(json!({ "error": said(failure), "code": "UPSTREAM_ERROR" }))
            },
            errors,
        )
    }
}

/// The message for the caller. A `path` that is missing or not a string is as invalid as an unsafe one.
fn said(failure: &Failure) -> &str {
    match (failure.kind, failure.argument.as_deref()) {
        (FailureKind::InvalidArguments, Some("path")) => INVALID_PATH,
        _ => &failure.message,
    }
}

const INVALID_PATH: &str = "Invalid path";
/// The message for any other failure of the store or of this server.
const RUNTIME_FAILURE: &str = "Runtime failure";

/// The meaning of each kind of failure in this world, and what to do about it.
const ERRORS: [ErrorRow; 8] = [
    ErrorRow::of_kind(
        FailureKind::InvalidArguments,
        "The tool does not take this argument, or `path` is missing or not a string: then the message is `Invalid path`.",
        "Compare the arguments with the tool's input schema.",
    ),
    ErrorRow::of_kind(
        FailureKind::InvalidPath,
        "The path is empty, too long, not relative to the vault, or leads out of it: `Invalid path`. The store was not asked.",
        "Give a path relative to the vault, such as `inbox/foo.md`.",
    ),
    ErrorRow::of_kind(
        FailureKind::NotFound,
        "The store has no such note for this user in this vault: `Upstream 404`.",
        "Correct the path, or name another vault in X-Vault-Id.",
    ),
    ErrorRow::of_kind(
        FailureKind::Unreadable,
        "The store refused, or failed: `Upstream NNN`, with its status.",
        "Sign in again after 401 or 403; otherwise wait a moment, then call again.",
    ),
    ErrorRow::of_kind(
        FailureKind::TooLarge,
        "The note is larger than allowed: `Runtime failure`.",
        "Split the note, or ask the operator to raise hosted.max_response_bytes.",
    ),
    ErrorRow::of_kind(
        FailureKind::Unavailable,
        "The store did not answer, or what it answered is not a note: `Runtime failure`. If it has failed too often, \
         for this caller or for all, it is not asked for a while: `Upstream unavailable`.",
        "Wait a moment, then call again.",
    ),
    ErrorRow::of_kind(
        FailureKind::Cancelled,
        "The caller gave up.",
        "Call again if the answer is still wanted.",
    ),
    ErrorRow::of_kind(
        FailureKind::Internal,
        "The store could not be asked, or the answer could not be written, because of a defect in the server.",
        "Call again; if it happens again, report it with the server's log line.",
    ),
];

fn errors() -> ErrorList {
    ErrorList {
        form: "A tool result with `isError`, whose text is `{\"error\": MESSAGE, \"code\": \"UPSTREAM_ERROR\"}`. The code \
               is the same for all errors; the message tells most of them apart. The names below are those in the \
               server's log.",
        codes: ERRORS.iter().collect(),
    }
}

impl HostedWorld {
    /// Creates the world in front of a store. After too many failures in a row the store is not asked for a while: for the
    /// tenant whose requests failed, or for all if it is unreachable.
    pub(crate) fn new(settings: &HostedSettings) -> Self {
        Self {
            store: settings.store.clone(),
            client: settings.client.clone(),
            gateway_secret: settings.gateway_secret.clone(),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_pause),
        }
    }

    /// Requests the one note a call is about and answers with a view of it.
    fn answer<T: Serialize + 'static>(
        self: Arc<Self>,
        arguments: JsonObject,
        context: CallContext,
        view: View<T>,
    ) -> AnswerFuture {
        Box::pin(async move {
            let NoteParams { path } = decode(arguments)?;
            let path = note_path(&path)?;
            let json = self.fetch(&path, context.identity.as_deref()).await?.body;
            context.check()?;
            if json.len() <= MAX_INLINE_BYTES {
                return view_of(&path, &json, view);
            }
            let work = tokio::task::spawn_blocking(move || view_of(&path, &json, view));
            work.await
                .unwrap_or_else(|_| Err(failure(FailureKind::Internal, RUNTIME_FAILURE, "2xx")))
        })
    }

    /// Fetches the note at `path` with one request. Makes no request for a caller who has not signed in.
    async fn fetch(&self, path: &NotePath, identity: Option<&Identity>) -> Result<Reply, Failure> {
        let (request, tenant) = identity
            .and_then(|identity| {
                let secret = self.gateway_secret.as_ref();
                let request = NoteRequest::new(path, identity, secret)?;
                Some((request, Tenant::of(identity)))
            })
            .ok_or_else(|| Failure::new(FailureKind::Internal, RUNTIME_FAILURE))?;
        let pass = self
            .breaker
            .admit(tenant, Instant::now())
            .ok_or_else(|| failure(FailureKind::Unavailable, "Upstream unavailable", "breaker"))?;
        let NoteRequest { target, headers } = request;
        let reply = self.client.get(&self.store, &target, headers).await;
        let now = Instant::now();
        match &reply {
            Err(ClientError::Unreachable) => pass.unreachable(now),
            Err(ClientError::TimedOut | ClientError::Broken) => pass.unanswered(now),
            // Whatever is wrong with the answer, there was one.
            Ok(_) | Err(ClientError::TooLarge | ClientError::Encoded) => pass.answered(now),
        }
        match reply {
            Ok(reply) if reply.status.is_success() => Ok(reply),
            Ok(reply) => Err(refused(reply.status)),
            Err(ClientError::TooLarge) => {
                Err(failure(FailureKind::TooLarge, RUNTIME_FAILURE, "2xx"))
            }
            Err(ClientError::Encoded) => {
                Err(failure(FailureKind::Unavailable, RUNTIME_FAILURE, "2xx"))
            }
            Err(ClientError::Unreachable | ClientError::TimedOut | ClientError::Broken) => {
                Err(failure(FailureKind::Unavailable, RUNTIME_FAILURE, "none"))
            }
        }
    }
}

impl NoteSource for HostedWorld {
    fn show<T: Serialize + JsonSchema + Send + 'static>(
        tool: ToolBuilder<Self>,
        view: View<T>,
    ) -> Tool<Self> {
        tool.call_async::<NoteParams, T>(move |hosted, arguments, context| {
            hosted.answer(arguments, context, view)
        })
    }
}

/// Checks the path of a note before the store is asked for it.
fn note_path(given: &str) -> Result<NotePath, Failure> {
    let path = NotePath::parse_hosted(given).ok();
    path.filter(|path| path.as_str().len() <= MAX_PATH_BYTES)
        .ok_or_else(|| Failure::new(FailureKind::InvalidPath, INVALID_PATH))
}

/// Makes a view of the note that the store returned. The path in its answer is ignored.
fn view_of<T: Serialize>(path: &NotePath, json: &[u8], view: View<T>) -> Result<Answer, Failure> {
    let malformed = |_| failure(FailureKind::Unavailable, RUNTIME_FAILURE, "2xx");
    let stored = StoredNote::from_json(json).map_err(malformed)?;
    let (bytes, path) = (stored.body().as_bytes(), path.as_str());
    let note = match &stored.front_matter {
        Some(given) => Note::with_front_matter(path, bytes, given.clone()),
        None => Note::new(path, bytes),
    };
    let too_long = |NoteTooLong| failure(FailureKind::TooLarge, RUNTIME_FAILURE, "2xx");
    let (output, mut facts) = view(&note).map_err(too_long)?;
    facts.upstream = Some("2xx");
    Answer::new(&output, facts)
}

fn refused(status: http::StatusCode) -> Failure {
    let kind = match status {
        http::StatusCode::NOT_FOUND => FailureKind::NotFound,
        _ => FailureKind::Unreadable,
    };
    let class = match status.as_u16() {
        300..400 => "3xx",
        400..500 => "4xx",
        500..600 => "5xx",
        _ => "none",
    };
    failure(kind, format!("Upstream {}", status.as_u16()), class)
}

/// A failure after the store was asked; `upstream` is the class of its answer.
fn failure(
    kind: FailureKind,
    message: impl Into<std::borrow::Cow<'static, str>>,
    upstream: &'static str,
) -> Failure {
    let mut failure = Failure::new(kind, message);
    failure.upstream = Some(upstream);
    failure
}

#[cfg(test)]
mod tests;
