//! One JSON-RPC message from a client: decoded, or turned down with an answer the client can read.
//!
//! Both transports use this before rmcp sees anything: left to itself, rmcp drops what it cannot decode.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcError, RequestId};
use serde_json::Value;

/// Why a message goes no further.
#[derive(Debug)]
pub(super) enum Rejected {
    /// The client must hear of it.
    Answer(Box<JsonRpcError>),
    /// A notification that says nothing we know; JSON-RPC wants no answer to those.
    Silence,
}

/// Decodes one message.
pub(super) fn decode(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Rejected> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|_| explain(bytes))
}

/// The error object for a request that is no valid JSON-RPC message.
pub(super) fn invalid_request(message: &'static str, id: Option<RequestId>) -> JsonRpcError {
    JsonRpcError::new(
        id,
        ErrorData::new(ErrorCode::INVALID_REQUEST, message, None),
    )
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
