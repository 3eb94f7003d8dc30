//! What stands before rmcp on HTTP: host and origin, method, headers, size and shape of the message, session, in this
//! order.
//!
//! Every refusal is a JSON-RPC error with the fitting status, and so is whatever rmcp itself turns down in plain text.

use std::{future, sync::Arc, time::Instant};

use axum::{body::Body, extract::Request, response::Response};
use futures::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta as _, JsonRpcError,
        JsonRpcMessage, ProtocolVersion, RequestId,
    },
    transport::StreamableHttpService,
};
use tokio::time::timeout;

use super::{
    HttpSettings, Leave, Luggage, Overload,
    sessions::{Opening, Owner, Sessions, StreamPlace, Using},
};
use crate::{
    error::Refusal,
    message::{self, Rejected},
    server::{Server, VERSIONS},
    shares::Shares,
    structured::{Beside, put_in_place},
};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const SESSION_ID: &str = "mcp-session-id";
/// When to try again, in seconds, where nothing better is known.
const SOON: HeaderValue = HeaderValue::from_static("1");
/// Revisions that rmcp would serve and we do not.
const UNSERVED: [&str; 2] = ["2024-11-05", "2025-03-26"];

pub(super) struct Gate {
    service: StreamableHttpService<Server, Sessions>,
    /// The sessions, where the world has any.
    sessions: Option<Arc<Sessions>>,
    tokens_only: bool,
    /// Places for large messages.
    large: Arc<Shares>,
    settings: HttpSettings,
}

/// A message of more bytes takes a place among the large ones before it is read.
const LARGE_BYTES: u64 = 64 << 10;

/// A request that rmcp may see.
struct Admitted {
    request: Request,
    session: Belonging,
}

/// The session that a request belongs to.
enum Belonging {
    /// None.
    Nowhere,
    /// One that it opens.
    Opens(Opening),
    /// One that is open, and stays awake for as long as this is here; with the place of the stream that it asks for.
    To(Using, Option<StreamPlace>),
}

impl Gate {
    pub(super) fn new(
        service: StreamableHttpService<Server, Sessions>,
        sessions: Option<Arc<Sessions>>,
        tokens_only: bool,
        large: Arc<Shares>,
        settings: HttpSettings,
    ) -> Self {
        Self {
            service,
            sessions,
            tokens_only,
            large,
            settings,
        }
    }

    pub(super) async fn handle(&self, request: Request) -> Response {
        let started = Instant::now();
        match self.admit(request).await {
            Ok(admitted) => self.serve(admitted).await,
            Err(refusal) => {
                let status = refusal.status();
                tracing::info!(
                    target: "sectile::call",
                    outcome = outcome(status),
                    elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
                );
                self.settings.door.refused(status);
                *refusal
            }
        }
    }

    async fn serve(&self, admitted: Admitted) -> Response {
        let Admitted {
            mut request,
            session,
        } = admitted;
        let overload = Overload::default();
        request.extensions_mut().insert(overload.clone());
        let beside = Beside::default();
        if self.sessions.is_none() {
            request.extensions_mut().insert(beside.clone());
        }
        let leave = request.extensions().get::<Arc<Leave>>().cloned();
        let connection = match &session {
            Belonging::Nowhere => None,
            Belonging::Opens(opening) => Some(opening.connection()),
            Belonging::To(using, _) => {
                using.awake().await;
                Some(using.connection())
            }
        };
        if let Some(connection) = connection {
            if let Some(leave) = &leave {
                connection.leave().set(leave);
            }
            request.extensions_mut().insert(Arc::clone(connection));
        }
        let ends_session = request.method() == Method::DELETE;
        let handled = async {
            let response = self.service.handle(request).await.map(Body::new);
            match ends_session {
                true => ended(as_json_rpc(response)),
                false => as_json_rpc(response),
            }
        };
        let mut response = match session {
            Belonging::Nowhere => handled.await,
            Belonging::Opens(opening) => {
                let response = opening.during(handled).await;
                completing(response, opening)
            }
            Belonging::To(_using, None) => handled.await,
            Belonging::To(_using, Some(place)) => ending(handled.await, place, leave),
        };
        if overload.has_happened() && is_json(response.headers()) {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(header::RETRY_AFTER, SOON);
            self.settings.door.refused(response.status());
        }
        match beside.take() {
            Some(text) => completed(response, &text).await,
            None => response,
        }
    }

    async fn admit(&self, request: Request) -> Result<Admitted, Box<Response>> {
        let (mut parts, body) = request.into_parts();
        self.settings.door.admit_address(&parts)?;
        if !self.settings.origins.admit(&parts.headers, &parts.uri) {
            return Err(refuse(
                StatusCode::FORBIDDEN,
                "Forbidden: this Host or Origin is not allowed.",
            ));
        }
        let owner = Owner(
            self.settings
                .door
                .sign_in(&mut parts, self.tokens_only)
                .await?,
        );
        if parts.method != Method::POST {
            let session = self.admit_without_message(&mut parts, &owner)?;
            return Ok(Admitted {
                request: Request::from_parts(parts, Body::empty()),
                session,
            });
        }
        check_headers(&parts.headers)?;
        if self.sessions.is_none()
            && parts.headers.contains_key(SESSION_ID)
            && !is_stateless(&parts.headers)
        {
            return Err(refuse(
                StatusCode::NOT_FOUND,
                "Invalid Request: unknown session. This server keeps none; leave Mcp-Session-Id out.",
            ));
        }
        // The check above took wildcards and any case; rmcp wants these by name.
        parts
            .headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        parts.headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        self.make_room(&mut parts, &owner).await?;
        let (body, message) = self.message(body).await?;
        let session = self.session_of(&parts.headers, &owner, &message)?;
        Ok(Admitted {
            request: Request::from_parts(parts, body),
            session,
        })
    }

    /// Waits until there is room for a message that may be large, before any of it is read.
    async fn make_room(&self, parts: &mut Parts, owner: &Owner) -> Result<(), Box<Response>> {
        let length = text(&parts.headers, "content-length").map(str::parse::<u64>);
        let is_chunked = parts.headers.contains_key(header::TRANSFER_ENCODING);
        let bytes = match length {
            // Nobody knows, whatever else the head says.
            _ if is_chunked => u64::MAX,
            Some(Ok(bytes)) => bytes,
            _ => 0,
        };
        if bytes > self.settings.max_body_bytes as u64 && !is_chunked {
            return Err(too_large());
        }
        if bytes <= LARGE_BYTES {
            return Ok(());
        }
        let room = self.large.take(owner.0.clone());
        match timeout(self.settings.body_timeout, room).await {
            Ok(Ok(share)) => {
                parts.extensions.insert(Arc::new(Luggage::new(share)));
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    /// Reads and decodes the message, and gives the body that rmcp shall read.
    async fn message(&self, body: Body) -> Result<(Body, ClientJsonRpcMessage), Box<Response>> {
        let body = Limited::new(body, self.settings.max_body_bytes).collect();
        let bytes = match timeout(self.settings.body_timeout, body).await {
            Err(_) => {
                return Err(refuse(
                    StatusCode::REQUEST_TIMEOUT,
                    "Invalid Request: the body did not arrive in time.",
                ));
            }
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return Err(too_large());
            }
            Ok(Err(_)) => {
                return Err(refuse(
                    StatusCode::BAD_REQUEST,
                    "Invalid Request: the body broke off.",
                ));
            }
        };
        let is_large = bytes.len() as u64 > LARGE_BYTES;
        let decode = move || {
            let decoded = message::decode(&bytes);
            (bytes, decoded)
        };
        let (bytes, decoded) = if is_large {
            // It would hold up everybody else who is served by this thread.
            let decoding = tokio::task::spawn_blocking(decode).await;
            decoding.map_err(|_| internal())?
        } else {
            decode()
        };
        match decoded {
            Ok(decoded) if decoded.mended => {
                let body = serde_json::to_vec(&decoded.message).unwrap_or_default();
                Ok((Body::from(body), decoded.message))
            }
            Ok(decoded) => {
                let body = bytes.slice_ref(message::without_byte_order_mark(&bytes));
                Ok((Body::from(body), decoded.message))
            }
            Err(Rejected::Answer(error)) => Err(respond(StatusCode::BAD_REQUEST, &error)),
            Err(Rejected::Silence) => Err(refuse(
                StatusCode::BAD_REQUEST,
                "Invalid Request: the notification cannot be decoded.",
            )),
        }
    }

    /// The notice stream and the end of a session, where there are such.
    fn admit_without_message(
        &self,
        parts: &mut Parts,
        owner: &Owner,
    ) -> Result<Belonging, Box<Response>> {
        let sessions = self.sessions.as_ref();
        let has_method = parts.method == Method::GET || parts.method == Method::DELETE;
        let Some(sessions) = sessions.filter(|_| has_method && !is_stateless(&parts.headers))
        else {
            let (message, allowed) = match sessions {
                Some(_) => (
                    "Method not allowed: send POST, or GET or DELETE with a session.",
                    "GET, POST, DELETE",
                ),
                None => ("Method not allowed: send POST.", "POST"),
            };
            let mut refusal = refuse(StatusCode::METHOD_NOT_ALLOWED, message);
            refusal
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static(allowed));
            return Err(refusal);
        };
        check_version(&parts.headers)?;
        if parts.method == Method::GET && !accepts(&parts.headers, &[EVENT_STREAM]) {
            return Err(refuse(
                StatusCode::NOT_ACCEPTABLE,
                "Invalid Request: Accept must name text/event-stream.",
            ));
        }
        parts
            .headers
            .insert(header::ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        let id = text(&parts.headers, SESSION_ID).ok_or_else(|| missing_session(None))?;
        let using = sessions.using(id, owner);
        let using = using.ok_or_else(|| unknown_session(None))?;
        let place = match parts.method == Method::GET {
            true => Some(using.stream().ok_or_else(busy)?),
            false => None,
        };
        Ok(Belonging::To(using, place))
    }

    /// The session that a message belongs to, or opens.
    fn session_of(
        &self,
        headers: &HeaderMap,
        owner: &Owner,
        message: &ClientJsonRpcMessage,
    ) -> Result<Belonging, Box<Response>> {
        let Some(sessions) = &self.sessions else {
            return Ok(Belonging::Nowhere);
        };
        let request = match message {
            JsonRpcMessage::Request(request) => Some(request),
            _ => None,
        };
        let id = request.map(|request| request.id.clone());
        let request = request.map(|request| &request.request);
        let is_initialize = matches!(request, Some(ClientRequest::InitializeRequest(_)));
        let negotiates = request.is_some_and(|request| {
            let is_discover = matches!(request, ClientRequest::DiscoverRequest(_));
            is_discover || request.get_meta().protocol_version().is_some()
        });
        if !is_initialize && (negotiates || is_stateless(headers)) {
            return Ok(Belonging::Nowhere);
        }
        match text(headers, SESSION_ID) {
            Some(session) => match sessions.using(session, owner) {
                Some(using) => Ok(Belonging::To(using, None)),
                None => Err(unknown_session(id)),
            },
            None if is_initialize => match sessions.begin_opening(owner) {
                Some(opening) => Ok(Belonging::Opens(opening)),
                None => Err(try_later(id, Refusal::TooManySessions)),
            },
            None => Err(missing_session(id)),
        }
    }
}

/// Word for the log line of a request that was turned away with this status.
pub(super) fn outcome(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthenticated",
        StatusCode::TOO_MANY_REQUESTS => "rate_limited",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        StatusCode::REQUEST_TIMEOUT => "too_slow",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        _ => "invalid",
    }
}

/// The answer to the end of a session. rmcp says "accepted", which some clients take for a failure: it has ended, and
/// there is nothing to say about it.
fn ended(mut response: Response) -> Response {
    if response.status().is_success() {
        *response.status_mut() = StatusCode::NO_CONTENT;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    response
}

/// The answer to a handshake. Its session is there for good once all of it was sent.
fn completing(response: Response, opening: Opening) -> Response {
    if text(response.headers(), SESSION_ID).is_none() {
        return response;
    }
    let complete = stream::once(async { opening.complete() });
    let complete = complete.filter_map(|()| future::ready(None));
    response.map(|body| Body::from_stream(body.into_data_stream().chain(complete)))
}

/// A stream of notices, which ends with the leave of the caller who asked for it.
fn ending(response: Response, place: StreamPlace, leave: Option<Arc<Leave>>) -> Response {
    let over = async move {
        match leave {
            Some(leave) => leave.ended().await,
            None => future::pending().await,
        }
    };
    response.map(|body| {
        let notices = body.into_data_stream().take_until(Box::pin(over));
        Body::from_stream(notices.inspect(move |_| {
            let _taken = &place;
        }))
    })
}

fn internal() -> Box<Response> {
    let error = JsonRpcError::new(None, Refusal::Internal.into());
    respond(StatusCode::INTERNAL_SERVER_ERROR, &error)
}

fn too_large() -> Box<Response> {
    refuse(
        StatusCode::PAYLOAD_TOO_LARGE,
        "Invalid Request: the message is too large.",
    )
}

fn busy() -> Box<Response> {
    try_later(None, Refusal::Busy)
}

fn try_later(id: Option<RequestId>, refusal: Refusal) -> Box<Response> {
    let error = JsonRpcError::new(id, refusal.into());
    let mut response = respond(StatusCode::SERVICE_UNAVAILABLE, &error);
    response.headers_mut().insert(header::RETRY_AFTER, SOON);
    response
}

fn unknown_session(id: Option<RequestId>) -> Box<Response> {
    let message = "Invalid Request: unknown session. Send initialize to open one.";
    respond(
        StatusCode::NOT_FOUND,
        &message::invalid_request(message, id),
    )
}

fn missing_session(id: Option<RequestId>) -> Box<Response> {
    let message = "Invalid Request: Mcp-Session-Id is missing. Send initialize to get one.";
    respond(
        StatusCode::BAD_REQUEST,
        &message::invalid_request(message, id),
    )
}

pub(super) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether the headers are of the era that has neither handshake nor sessions.
fn is_stateless(headers: &HeaderMap) -> bool {
    headers.get(PROTOCOL_VERSION).is_some_and(|version| {
        version.as_bytes() >= ProtocolVersion::V_2026_07_28.as_str().as_bytes()
    })
}

fn accepts(headers: &HeaderMap, media_types: &[&str]) -> bool {
    let accept = text(headers, "accept").unwrap_or("");
    let takes_any = accept
        .split(',')
        .any(|part| part.split(';').next().unwrap_or("").trim() == "*/*");
    takes_any || media_types.iter().all(|name| accept.contains(name))
}

fn check_headers(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let content_type = text(headers, "content-type").unwrap_or("");
    let media_type = content_type.split(';').next().unwrap_or("").trim();
    if !media_type.eq_ignore_ascii_case(JSON) {
        return Err(refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Invalid Request: Content-Type must be application/json.",
        ));
    }
    if !accepts(headers, &[JSON, EVENT_STREAM]) {
        return Err(refuse(
            StatusCode::NOT_ACCEPTABLE,
            "Invalid Request: Accept must name application/json and text/event-stream.",
        ));
    }
    check_version(headers)
}

fn check_version(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let version = text(headers, PROTOCOL_VERSION);
    let Some(version) = version.filter(|version| UNSERVED.contains(version)) else {
        return Ok(());
    };
    let requested = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .find(|known| known.as_str() == version);
    let requested = requested.cloned().unwrap_or_default();
    let error = ErrorData::unsupported_protocol_version(requested, &VERSIONS);
    Err(respond(
        StatusCode::BAD_REQUEST,
        &JsonRpcError::new(None, error),
    ))
}

/// The answer for a path that serves nothing.
pub(super) fn not_found() -> Response {
    *refuse(StatusCode::NOT_FOUND, "Not found: no world is served here.")
}

pub(super) fn refuse(status: StatusCode, message: &'static str) -> Box<Response> {
    respond(status, &message::invalid_request(message, None))
}

pub(super) fn respond(status: StatusCode, error: &JsonRpcError) -> Box<Response> {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    Box::new(response)
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(JSON.as_bytes()))
}

/// The answer with `text` as its structured content.
async fn completed(response: Response, text: &str) -> Response {
    let (parts, body) = response.into_parts();
    let Ok(bytes) = body.collect().await else {
        return *internal();
    };
    let mut bytes = Vec::from(bytes.to_bytes());
    put_in_place(&mut bytes, text);
    Response::from_parts(parts, Body::from(bytes))
}

/// Replaces a plain-text refusal of rmcp by a JSON-RPC error with the same status.
fn as_json_rpc(response: Response) -> Response {
    let is_json = is_json(response.headers());
    match response.status() {
        status if !is_json && status.is_server_error() => {
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "Internal error.", None);
            *respond(status, &JsonRpcError::new(None, error))
        }
        status if !is_json && status.is_client_error() => *refuse(
            status,
            "Invalid Request: a protocol header is missing, wrong or not supported.",
        ),
        _ => response,
    }
}
