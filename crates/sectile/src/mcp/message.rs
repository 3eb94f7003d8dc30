//! One JSON-RPC message from a client: decoded, or turned down with an answer the client can read.
//!
//! Both transports use this before rmcp sees anything: left to itself, rmcp drops what it cannot decode.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage,
    PaginatedRequestParams, RequestId, ServerJsonRpcMessage,
};
use serde_json::Value;

/// Why a message goes no further.
#[derive(Debug)]
pub(super) enum Rejected {
    /// The client must hear of it.
    Answer(Box<JsonRpcError>),
    /// A notification that says nothing we know; JSON-RPC wants no answer to those.
    Silence,
}

/// A message that rmcp may see.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) message: ClientJsonRpcMessage,
    /// Whether the message says something that the bytes do not.
    pub(super) mended: bool,
}

/// Decodes one message.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, Rejected> {
    let bytes = without_byte_order_mark(bytes);
    let mut message = serde_json::from_slice(bytes).map_err(|_| explain(bytes))?;
    let mended = mend_cursor(&mut message, bytes);
    Ok(Decoded { message, mended })
}

pub(super) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// rmcp drops the parameters of a listing when its cursor is not text, and would answer with the first page. An empty
/// cursor in its place gets what every cursor gets here.
fn mend_cursor(message: &mut ClientJsonRpcMessage, bytes: &[u8]) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    let params = match &mut request.request {
        ClientRequest::ListToolsRequest(list) => &mut list.params,
        ClientRequest::ListResourcesRequest(list) => &mut list.params,
        ClientRequest::ListResourceTemplatesRequest(list) => &mut list.params,
        ClientRequest::ListPromptsRequest(list) => &mut list.params,
        _ => return false,
    };
    let has_cursor = || {
        let raw: Value = serde_json::from_slice(bytes).unwrap_or_default();
        !raw["params"]["cursor"].is_null()
    };
    let broken = params.as_ref().is_none_or(|params| params.cursor.is_none()) && has_cursor();
    if broken {
        *params = Some(PaginatedRequestParams::default().with_cursor(Some(String::new())));
    }
    broken
}

/// The error object for a request that is no valid JSON-RPC message.
pub(super) fn invalid_request(message: &'static str, id: Option<RequestId>) -> JsonRpcError {
    JsonRpcError::new(
        id,
        ErrorData::new(ErrorCode::INVALID_REQUEST, message, None),
    )
}

/// The error object for a second request with an id that is in use.
pub(super) fn still_running(id: RequestId) -> JsonRpcError {
    let message = "Invalid request: a request with this id is still running.";
    invalid_request(message, Some(id))
}

/// The id of the request that a message answers.
pub(super) fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

/// The id of the request that a message answers, to be changed.
pub(super) fn answered_mut(message: &mut ServerJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&mut response.id),
        JsonRpcMessage::Error(error) => error.id.as_mut(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

fn explain(bytes: &[u8]) -> Rejected {
    let invalid = |message, id| Rejected::Answer(Box::new(invalid_request(message, id)));
    let object = match serde_json::from_slice::<Value>(bytes) {
        Err(_) => {
            let message = "Parse error: the message is not JSON, is cut off, or nests too deeply.";
            let error = ErrorData::new(ErrorCode::PARSE_ERROR, message, None);
            return Rejected::Answer(Box::new(JsonRpcError::new(None, error)));
        }
        Ok(Value::Array(_)) => {
            return invalid(
                "Invalid request: batches are not supported; send one message at a time.",
                None,
            );
        }
        Ok(Value::Object(object)) => object,
        Ok(_) => return invalid("Invalid request: a message is a JSON object.", None),
    };
    let id = object
        .get("id")
        .and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("Invalid request: jsonrpc must be \"2.0\".", id);
    }
    if object.contains_key("id") && id.is_none() {
        return invalid("Invalid request: id must be a string or an integer.", None);
    }
    match (object.get("method").map(Value::is_string), id) {
        (Some(true), None) => Rejected::Silence,
        (Some(true), id) => {
            let error = ErrorData::new(ErrorCode::INVALID_PARAMS, "Invalid params", None);
            Rejected::Answer(Box::new(JsonRpcError::new(id, error)))
        }
        (Some(false), id) => invalid("Invalid request: method must be a string.", id),
        (None, id) => invalid(
            "Invalid request: neither a request, a notification nor a response.",
            id,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expected: Option<(i32, Option<i64>)>) {
        let answer = match decode(message.as_bytes()) {
            Ok(decoded) => panic!("{message} decodes to {decoded:?}"),
            Err(Rejected::Silence) => None,
            Err(Rejected::Answer(error)) => {
                let id = error.id.map(|id| match id {
                    RequestId::Number(id) => id,
                    RequestId::String(_) => panic!("tests use numbers"),
                });
                Some((error.error.code.0, id))
            }
        };
        assert_eq!(answer, expected, "{message}");
    }

    #[test]
    fn every_malformed_message_has_an_answer() {
        let deep = "[".repeat(100_000);
        check("{not json", Some((-32700, None)));
        check("", Some((-32700, None)));
        check(&deep, Some((-32700, None)));
        check("[]", Some((-32600, None)));
        check(
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            Some((-32600, None)),
        );
        check("3", Some((-32600, None)));
        check(r#"{"id":7,"method":"ping"}"#, Some((-32600, Some(7))));
        check(
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            Some((-32600, Some(7))),
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            Some((-32600, None)),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            Some((-32600, None)),
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            Some((-32600, Some(7))),
        );
        check(r#"{"jsonrpc":"2.0","id":7}"#, Some((-32600, Some(7))));
    }
}
