//! What stands before rmcp on HTTP: host and origin, method, headers, size and shape of the message, in this order.
//!
//! Every refusal is a JSON-RPC error with the fitting status, and so is whatever rmcp itself turns down in plain text.

use axum::{body::Body, extract::Request, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::{
    model::{ErrorCode, ErrorData, JsonRpcError, ProtocolVersion},
    transport::{
        StreamableHttpService, streamable_http_server::session::never::NeverSessionManager,
    },
};

use super::HttpSettings;
use crate::mcp::{
    message::{self, Rejected},
    server::{Server, VERSIONS},
};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const SESSION_ID: &str = "mcp-session-id";
/// Revisions that rmcp would serve and we do not.
const UNSERVED: [&str; 2] = ["2024-11-05", "2025-03-26"];

pub(super) struct Gate {
    service: StreamableHttpService<Server, NeverSessionManager>,
    settings: HttpSettings,
}

impl Gate {
    pub(super) fn new(
        service: StreamableHttpService<Server, NeverSessionManager>,
        settings: HttpSettings,
    ) -> Self {
        Self { service, settings }
    }

    pub(super) async fn handle(&self, request: Request) -> Response {
        match self.admit(request).await {
            Ok(request) => as_json_rpc(self.service.handle(request).await.map(Body::new)),
            Err(refusal) => {
                tracing::info!(target: "sectile::call", outcome = "rejected", status = refusal.status().as_u16());
                *refusal
            }
        }
    }

    async fn admit(&self, request: Request) -> Result<Request, Box<Response>> {
        let (mut parts, body) = request.into_parts();
        if !self.settings.origins.admit(&parts.headers, &parts.uri) {
            return Err(refuse(
                StatusCode::FORBIDDEN,
                "Forbidden: this Host or Origin is not allowed.",
            ));
        }
        if parts.method != Method::POST {
            let mut refusal = refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "Method not allowed: send POST.",
            );
            refusal
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static("POST"));
            return Err(refusal);
        }
        check_headers(&parts.headers)?;
        // The check above took wildcards and any case; rmcp wants these by name.
        parts
            .headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        parts.headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let bytes = match Limited::new(body, self.settings.max_body_bytes)
            .collect()
            .await
        {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(refuse(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "Invalid request: the message is too large.",
                ));
            }
            Err(_) => {
                return Err(refuse(
                    StatusCode::BAD_REQUEST,
                    "Invalid request: the body broke off.",
                ));
            }
        };
        let body = match message::decode(&bytes) {
            Ok(decoded) if decoded.mended => serde_json::to_vec(&decoded.message)
                .unwrap_or_default()
                .into(),
            Ok(_) => bytes.slice_ref(message::without_byte_order_mark(&bytes)),
            Err(Rejected::Answer(error)) => return Err(respond(StatusCode::BAD_REQUEST, &error)),
            Err(Rejected::Silence) => {
                return Err(refuse(
                    StatusCode::BAD_REQUEST,
                    "Invalid request: the notification cannot be decoded.",
                ));
            }
        };
        Ok(Request::from_parts(parts, Body::from(body)))
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let text = |name: header::HeaderName| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("")
    };
    let content_type = text(header::CONTENT_TYPE);
    let media_type = content_type.split(';').next().unwrap_or("").trim();
    if !media_type.eq_ignore_ascii_case(JSON) {
        return Err(refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Invalid request: Content-Type must be application/json.",
        ));
    }
    let accept = text(header::ACCEPT);
    let accepts_any = accept
        .split(',')
        .any(|part| part.split(';').next().unwrap_or("").trim() == "*/*");
    let accepts_both = accept.contains(JSON) && accept.contains(EVENT_STREAM);
    if !accepts_any && !accepts_both {
        return Err(refuse(
            StatusCode::NOT_ACCEPTABLE,
            "Invalid request: Accept must name application/json and text/event-stream.",
        ));
    }
    let version = headers
        .get(PROTOCOL_VERSION)
        .and_then(|version| version.to_str().ok());
    if let Some(version) = version.filter(|version| UNSERVED.contains(version)) {
        let requested = ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .find(|known| known.as_str() == version);
        let requested = requested.cloned().unwrap_or_default();
        let error = ErrorData::unsupported_protocol_version(requested, &VERSIONS);
        return Err(respond(
            StatusCode::BAD_REQUEST,
            &JsonRpcError::new(None, error),
        ));
    }
    let stateless_era = headers.get(PROTOCOL_VERSION).is_some_and(|version| {
        version.as_bytes() >= ProtocolVersion::V_2026_07_28.as_str().as_bytes()
    });
    if headers.contains_key(SESSION_ID) && !stateless_era {
        return Err(refuse(
            StatusCode::NOT_FOUND,
            "Invalid request: unknown session. This server keeps none; leave Mcp-Session-Id out.",
        ));
    }
    Ok(())
}

/// The answer for a path that serves nothing.
pub(super) fn not_found() -> Response {
    *refuse(StatusCode::NOT_FOUND, "Not found: no world is served here.")
}

fn refuse(status: StatusCode, message: &'static str) -> Box<Response> {
    respond(status, &message::invalid_request(message, None))
}

fn respond(status: StatusCode, error: &JsonRpcError) -> Box<Response> {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    Box::new(response)
}

/// Replaces a plain-text refusal of rmcp by a JSON-RPC error with the same status.
fn as_json_rpc(response: Response) -> Response {
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(JSON.as_bytes()));
    match response.status() {
        status if !is_json && status.is_server_error() => {
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "Internal error.", None);
            *respond(status, &JsonRpcError::new(None, error))
        }
        status if !is_json && status.is_client_error() => *refuse(
            status,
            "Invalid request: a protocol header is missing, wrong or not supported.",
        ),
        _ => response,
    }
}
