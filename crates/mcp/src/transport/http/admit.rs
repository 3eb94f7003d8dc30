//! Decides which requests rmcp may see, by method, headers, size and shape of the message, and session, in this order.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, extract::Request, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcError, JsonRpcMessage,
    ProtocolVersion,
};
use tokio::time::timeout;

use super::{
    refusal::{
        JSON, busy, internal, missing_session, refuse, respond, too_large, try_later,
        unknown_session,
    },
    sessions::{Owner, SessionLease, SessionReservation, Sessions, StreamSlot},
};
use crate::{
    access::ListenPermit,
    call::{caller_slots::CallerSlots, error::Refusal, request_facts::MessageShare},
    transport::{
        message::{self, Rejection},
        server::VERSIONS,
    },
};

const EVENT_STREAM: &str = "text/event-stream";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION_ID: &str = "mcp-session-id";
/// Revisions that rmcp supports and we do not.
const UNSERVED: [&str; 2] = ["2024-11-05", "2025-03-26"];
/// A message of more bytes takes a slot for large messages before it is read.
const LARGE_BYTES: u64 = 64 << 10;

/// Decides which requests rmcp may see, once their sender is known.
pub(super) struct AdmissionStep {
    /// The sessions, if the world has any.
    pub(super) sessions: Option<Arc<Sessions>>,
    /// Slots for large messages.
    pub(super) large: Arc<CallerSlots>,
    pub(super) max_body_bytes: usize,
    pub(super) body_timeout: Duration,
}

/// A request that rmcp may see.
pub(super) struct AdmittedRequest {
    pub(super) request: Request,
    pub(super) session: SessionUse,
    /// The sender's permission, if callers sign in.
    pub(super) permit: Option<Arc<ListenPermit>>,
    /// The share of memory that its message occupies, if it is large.
    pub(super) memory: Option<MessageShare>,
}

/// The relation of a request to a session.
pub(super) enum SessionUse {
    /// Not at all.
    None,
    /// It opens one.
    Opens(SessionReservation),
    /// It belongs to one, which stays awake while this is held; with the slot of the stream that it asks for.
    Within(SessionLease, Option<StreamSlot>),
}

impl AdmissionStep {
    pub(super) fn has_sessions(&self) -> bool {
        self.sessions.is_some()
    }

    pub(super) async fn admit(
        &self,
        mut parts: Parts,
        body: Body,
        permit: Option<Arc<ListenPermit>>,
    ) -> Result<AdmittedRequest, Box<Response>> {
        let owner = Owner(permit.as_ref().map(|permit| permit.identity().key.clone()));
        if parts.method != Method::POST {
            let session = self.admit_without_message(&mut parts, &owner)?;
            return Ok(AdmittedRequest {
                request: Request::from_parts(parts, Body::empty()),
                session,
                permit,
                memory: None,
            });
        }
        check_headers(&parts.headers)?;
        if self.sessions.is_none()
            && parts.headers.contains_key(SESSION_ID)
            && !is_stateless(&parts.headers)
        {
            return Err(refuse(
                StatusCode::NOT_FOUND,
                "Invalid Request: unknown session. This server has no sessions; omit Mcp-Session-Id.",
            ));
        }
        // The check above accepted wildcards and any case; rmcp wants these by name.
        parts
            .headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        parts.headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let memory = self.make_room(&parts.headers, &owner).await?;
        let (body, message) = self.message(body).await?;
        let session = self.session_of(&parts.headers, &owner, &message)?;
        Ok(AdmittedRequest {
            request: Request::from_parts(parts, body),
            session,
            permit,
            memory,
        })
    }

    /// Waits until there is room for a message that may be large, before any of it is read.
    async fn make_room(
        &self,
        headers: &HeaderMap,
        owner: &Owner,
    ) -> Result<Option<MessageShare>, Box<Response>> {
        let length = text(headers, "content-length").map(str::parse::<u64>);
        let is_chunked = headers.contains_key(header::TRANSFER_ENCODING);
        let bytes = match length {
            // The length is unknown, whatever else the head says.
            _ if is_chunked => u64::MAX,
            Some(Ok(bytes)) => bytes,
            _ => 0,
        };
        if bytes > self.max_body_bytes as u64 && !is_chunked {
            return Err(too_large());
        }
        if bytes <= LARGE_BYTES {
            return Ok(None);
        }
        let room = self.large.take(owner.0.clone());
        match timeout(self.body_timeout, room).await {
            Ok(Ok(share)) => Ok(Some(MessageShare::new(share))),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    /// Reads and decodes the message, and returns the body for rmcp.
    async fn message(&self, body: Body) -> Result<(Body, ClientJsonRpcMessage), Box<Response>> {
        let body = Limited::new(body, self.max_body_bytes).collect();
        let bytes = match timeout(self.body_timeout, body).await {
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
                    "Invalid Request: the body was cut off.",
                ));
            }
        };
        let is_large = bytes.len() as u64 > LARGE_BYTES;
        let decode = move || {
            let decoded = message::decode(&bytes);
            (bytes, decoded)
        };
        let (bytes, decoded) = if is_large {
            // Decoding here would block everyone else who is served by this thread.
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
            Err(Rejection::Answer(error)) => Err(respond(StatusCode::BAD_REQUEST, &error)),
            Err(Rejection::Silence) => Err(refuse(
                StatusCode::BAD_REQUEST,
                "Invalid Request: the notification cannot be decoded.",
            )),
        }
    }

    /// Admits the notice stream and the end of a session, if there are sessions.
    fn admit_without_message(
        &self,
        parts: &mut Parts,
        owner: &Owner,
    ) -> Result<SessionUse, Box<Response>> {
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
        Ok(SessionUse::Within(using, place))
    }

    /// Returns the session that a message belongs to, or opens.
    fn session_of(
        &self,
        headers: &HeaderMap,
        owner: &Owner,
        message: &ClientJsonRpcMessage,
    ) -> Result<SessionUse, Box<Response>> {
        let Some(sessions) = &self.sessions else {
            return Ok(SessionUse::None);
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
            return Ok(SessionUse::None);
        }
        match text(headers, SESSION_ID) {
            Some(session) => match sessions.using(session, owner) {
                Some(using) => Ok(SessionUse::Within(using, None)),
                None => Err(unknown_session(id)),
            },
            None if is_initialize => match sessions.begin_opening(owner) {
                Some(opening) => Ok(SessionUse::Opens(opening)),
                None => Err(try_later(id, Refusal::TooManySessions)),
            },
            None => Err(missing_session(id)),
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Returns whether the headers belong to the era that has neither handshake nor sessions.
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
