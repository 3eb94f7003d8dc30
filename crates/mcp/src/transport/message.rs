//! One JSON-RPC message from a client: decoded, or rejected with an answer the client can read.
//!
//! Both transports use this before rmcp sees anything: on its own, rmcp drops what it cannot decode.

mod bounds;
mod tool_call;

use std::borrow::Cow;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta as _,
    JsonRpcError, JsonRpcMessage, JsonRpcRequest, PaginatedRequestParams, RequestId,
    ServerJsonRpcMessage,
};
use serde_json::Value;

use self::bounds::{MessageExtent, extent, is_short, keep_essentials, shortened};
use self::tool_call::plain_call;

/// The reason a message is rejected.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// The client must be told.
    Answer(Box<JsonRpcError>),
    /// An unknown notification; JSON-RPC allows no answer to those.
    Silence,
}

/// A message that rmcp may see.
#[derive(Debug)]
pub(crate) struct DecodedMessage {
    pub(crate) message: ClientJsonRpcMessage,
    /// Whether the message differs from its bytes.
    pub(crate) mended: bool,
}

/// Decodes one message.
pub(crate) fn decode(bytes: &[u8]) -> Result<DecodedMessage, Rejection> {
    let given = without_byte_order_mark(bytes);
    let bytes = shortened(given).map_or(Cow::Borrowed(given), Cow::Owned);
    match extent(&bytes) {
        MessageExtent::Bounded => {}
        MessageExtent::TooDeep => return Err(Rejection::Answer(Box::new(parse_error()))),
        MessageExtent::TooMany => {
            let message =
                "Invalid Request: the message holds too many values. Send 65,536 at most.";
            return Err(Rejection::Answer(Box::new(invalid_request(message, None))));
        }
    }
    if let Some(message) = plain_call(&bytes) {
        check_ids(&message)?;
        return Ok(DecodedMessage {
            message,
            mended: false,
        });
    }
    let mut message = serde_json::from_slice(&bytes).map_err(|_| explain(&bytes))?;
    check_ids(&message)?;
    let mended = mend_cursor(&mut message, &bytes) | mend_handshake(&mut message);
    Ok(DecodedMessage { message, mended })
}

/// Rejects ids that are too long to be kept while a request runs. A message rejected for its id is answered without
/// one.
fn check_ids(message: &ClientJsonRpcMessage) -> Result<(), Rejection> {
    match message {
        JsonRpcMessage::Request(request) => check_request(request),
        JsonRpcMessage::Notification(notification) => match &notification.notification {
            ClientNotification::CancelledNotification(cancelled) => {
                let id = cancelled.params.request_id.as_ref();
                id.is_none_or(is_short)
                    .then_some(())
                    .ok_or(Rejection::Silence)
            }
            _ => Ok(()),
        },
        // This server gives its own requests short ids.
        JsonRpcMessage::Response(response) if !is_short(&response.id) => Err(Rejection::Silence),
        JsonRpcMessage::Error(error) if !error.id.as_ref().is_none_or(is_short) => {
            Err(Rejection::Silence)
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(()),
    }
}

fn check_request(request: &JsonRpcRequest<ClientRequest>) -> Result<(), Rejection> {
    let (message, id) = if !is_short(&request.id) {
        (ID_TOO_LONG, None)
    } else if let Some(token) = request.request.get_meta().get_progress_token()
        && !is_short(&token.0)
    {
        let message = "Invalid Request: progressToken is too long. Send a number or a string of 256 bytes at most.";
        (message, Some(request.id.clone()))
    } else {
        return Ok(());
    };
    Err(Rejection::Answer(Box::new(invalid_request(message, id))))
}

/// Reduces a handshake to the parts that are needed later, and returns whether the message is one.
fn mend_handshake(message: &mut ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    let ClientRequest::InitializeRequest(initialize) = &mut request.request else {
        return false;
    };
    keep_essentials(&mut initialize.params);
    true
}

pub(crate) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// rmcp drops the parameters of a listing if its cursor is not a string, and would answer with the first page. An empty
/// cursor in its place gets the answer to an invalid cursor.
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

const ID_TOO_LONG: &str =
    "Invalid Request: id is too long. Send a number or a string of 256 bytes at most.";

/// Returns the error object for a request that is not a valid JSON-RPC message.
pub(crate) fn invalid_request(message: &'static str, id: Option<RequestId>) -> JsonRpcError {
    JsonRpcError::new(
        id,
        ErrorData::new(ErrorCode::INVALID_REQUEST, message, None),
    )
}

/// Returns the error object for a second request with an id that is in use.
pub(crate) fn still_running(id: RequestId) -> JsonRpcError {
    let message = "Invalid Request: a request with this id is still running.";
    invalid_request(message, Some(id))
}

/// Returns the id of the request that a message answers.
pub(crate) fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

/// Returns the id of the request that a message answers, mutably.
pub(crate) fn answered_mut(message: &mut ServerJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&mut response.id),
        JsonRpcMessage::Error(error) => error.id.as_mut(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

fn parse_error() -> JsonRpcError {
    let message = "Parse error: the message is not JSON, is cut off, or nests too deeply.";
    JsonRpcError::new(None, ErrorData::new(ErrorCode::PARSE_ERROR, message, None))
}

fn explain(bytes: &[u8]) -> Rejection {
    let invalid = |message, id| Rejection::Answer(Box::new(invalid_request(message, id)));
    let object = match serde_json::from_slice::<Value>(bytes) {
        Err(_) => return Rejection::Answer(Box::new(parse_error())),
        Ok(Value::Array(_)) => {
            return invalid(
                "Invalid Request: batches are not supported; send one message at a time.",
                None,
            );
        }
        Ok(Value::Object(object)) => object,
        Ok(_) => return invalid("Invalid Request: a message is a JSON object.", None),
    };
    let id = object
        .get("id")
        .and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    if id.as_ref().is_some_and(|id| !is_short(id)) {
        return invalid(ID_TOO_LONG, None);
    }
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("Invalid Request: jsonrpc must be \"2.0\".", id);
    }
    if object.contains_key("id") && id.is_none() {
        return invalid("Invalid Request: id must be a string or an integer.", None);
    }
    match (object.get("method").map(Value::is_string), id) {
        (Some(true), None) => Rejection::Silence,
        (Some(true), id) => {
            let error = ErrorData::new(ErrorCode::INVALID_PARAMS, "Invalid params", None);
            Rejection::Answer(Box::new(JsonRpcError::new(id, error)))
        }
        (Some(false), id) => invalid("Invalid Request: method must be a string.", id),
        (None, id) => invalid(
            "Invalid Request: the message is neither a request, a notification nor a response.",
            id,
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        bounds::{MAX_ID_BYTES, MAX_VALUES},
        *,
    };
    use crate::world::app::{extension, shows_apps};

    fn check(message: &str, expected: Option<(i32, Option<i64>)>) {
        let answer = match decode(message.as_bytes()) {
            Ok(decoded) => panic!("{message} decodes to {decoded:?}"),
            Err(Rejection::Silence) => None,
            Err(Rejection::Answer(error)) => {
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

    #[test]
    fn ids_that_are_too_long_are_refused_and_never_echoed() {
        let fits = "x".repeat(MAX_ID_BYTES);
        let long = "x".repeat(MAX_ID_BYTES + 1);
        let ping = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
        assert!(decode(ping(&fits).as_bytes()).is_ok());
        check(&ping(&long), Some((-32600, None)));
        check(
            &json!({ "jsonrpc": "1.0", "id": long, "method": "ping" }).to_string(),
            Some((-32600, None)),
        );
        let call = |token: &str| {
            let params = json!({ "name": "x", "_meta": { "progressToken": token } });
            json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })
                .to_string()
        };
        assert!(decode(call(&fits).as_bytes()).is_ok());
        check(&call(&long), Some((-32600, Some(7))));
        let cancel = |id: &str| {
            let params = json!({ "requestId": id });
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
                .to_string()
        };
        assert!(decode(cancel(&fits).as_bytes()).is_ok());
        check(&cancel(&long), None);
        check(
            &json!({ "jsonrpc": "2.0", "id": long, "result": {} }).to_string(),
            None,
        );
    }

    #[test]
    fn a_message_holds_only_so_many_values() {
        let call = |values: usize| {
            let arguments = json!({ "list": vec![0; values], "text": "[,".repeat(MAX_VALUES) });
            let params = json!({ "name": "x", "arguments": arguments });
            json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })
                .to_string()
        };
        assert!(decode(call(MAX_VALUES - 40).as_bytes()).is_ok());
        check(&call(MAX_VALUES), Some((-32600, None)));
        // A string may contain anything, and a message that nests too deeply is not even JSON.
        let text = json!({ "jsonrpc": "2.0", "id": 7, "method": "x", "params": { "x": "[{\\\"".repeat(MAX_VALUES) } });
        assert!(decode(text.to_string().as_bytes()).is_ok());
        check(&"[{\"a\":".repeat(MAX_VALUES), Some((-32700, None)));
    }

    #[test]
    fn of_a_handshake_only_the_essentials_go_on_however_long_it_is() {
        for bulk in [1, 4_000, 400_000] {
            let capabilities = json!({
                "experimental": { "x": { "list": vec![0; bulk] } },
                "elicitation": { "form": {} },
                "roots": { "listChanged": true },
                "extensions": {
                    "x": { "list": vec![0; bulk] },
                    "io.modelcontextprotocol/ui": {
                        "mimeTypes": ["text/html;profile=mcp-app"],
                        "list": vec![0; bulk],
                    },
                },
            });
            let client = json!({ "name": "é".repeat(bulk), "version": "1", "title": "T" });
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client,
            });
            let message =
                json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params });
            let decoded = decode(message.to_string().as_bytes()).expect("a handshake");
            assert!(decoded.mended);
            let JsonRpcMessage::Request(request) = decoded.message else {
                panic!("no request");
            };
            assert_eq!(request.id, RequestId::Number(7));
            let ClientRequest::InitializeRequest(initialize) = request.request else {
                panic!("no handshake");
            };
            let params = initialize.params;
            assert_eq!(params.protocol_version.as_str(), "2025-11-25");
            assert!(params.capabilities.experimental.is_none());
            assert!(shows_apps(&params.capabilities));
            let extensions = params.capabilities.extensions;
            assert_eq!(extensions, Some(extension()));
            let elicitation = params.capabilities.elicitation.expect("forms");
            assert!(elicitation.form.is_some());
            assert_eq!(params.client_info.name, "é".repeat(bulk.min(64)));
            assert!(params.client_info.title.is_none());
        }
    }
}
