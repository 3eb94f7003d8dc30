//! Refusals over HTTP: a JSON-RPC error with a matching status.

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId};

use crate::{call::error::Refusal, transport::message};

pub(super) const JSON: &str = "application/json";
/// Default `Retry-After`, in seconds.
pub(super) const SOON: HeaderValue = HeaderValue::from_static("1");

/// Returns the word for the log line of a request that was turned away with this status.
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

pub(super) fn respond(status: StatusCode, error: &JsonRpcError) -> Box<Response> {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    Box::new(response)
}

pub(super) fn refuse(status: StatusCode, message: &'static str) -> Box<Response> {
    respond(status, &message::invalid_request(message, None))
}

/// Returns the answer for a path that serves nothing.
pub(super) fn not_found() -> Response {
    *refuse(StatusCode::NOT_FOUND, "Not found: no world is served here.")
}

pub(super) fn foreign_origin() -> Box<Response> {
    refuse(
        StatusCode::FORBIDDEN,
        "Forbidden: this Host or Origin is not allowed.",
    )
}

pub(super) fn internal() -> Box<Response> {
    let error = JsonRpcError::new(None, Refusal::Internal.into());
    respond(StatusCode::INTERNAL_SERVER_ERROR, &error)
}

pub(super) fn too_large() -> Box<Response> {
    refuse(
        StatusCode::PAYLOAD_TOO_LARGE,
        "Invalid Request: the message is too large.",
    )
}

pub(super) fn busy() -> Box<Response> {
    try_later(None, Refusal::Busy)
}

pub(super) fn try_later(id: Option<RequestId>, refusal: Refusal) -> Box<Response> {
    let error = JsonRpcError::new(id, refusal.into());
    let mut response = respond(StatusCode::SERVICE_UNAVAILABLE, &error);
    response.headers_mut().insert(header::RETRY_AFTER, SOON);
    response
}

pub(super) fn unknown_session(id: Option<RequestId>) -> Box<Response> {
    let message = "Invalid Request: unknown session. Send initialize to open one.";
    respond(
        StatusCode::NOT_FOUND,
        &message::invalid_request(message, id),
    )
}

pub(super) fn missing_session(id: Option<RequestId>) -> Box<Response> {
    let message = "Invalid Request: Mcp-Session-Id is missing. Send initialize to get one.";
    respond(
        StatusCode::BAD_REQUEST,
        &message::invalid_request(message, id),
    )
}

/// Replaces a plain-text refusal of rmcp by a JSON-RPC error with the same status.
pub(super) fn as_json_rpc(response: Response) -> Response {
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

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(JSON.as_bytes()))
}
