//! The short way to decode a plain `tools/call`, the message that servers spend their time on.
//!
//! rmcp decodes a message by trying one kind after the other on a buffered copy of it, which takes several times as long as
//! the JSON itself. Anything unusual is left to rmcp, so that there is one opinion about what is valid.

use std::fmt;
use std::marker::PhantomData;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonObject,
    JsonRpcMessage, JsonRpcRequest, NumberOrString, RequestMetaObject,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainCall<'a> {
    jsonrpc: &'a str,
    id: NumberOrString,
    method: &'a str,
    #[serde(deserialize_with = "object")]
    params: PlainParams,
}

/// The parameters of a call, without those of an answered question.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainParams {
    name: String,
    arguments: Option<JsonObject>,
    _meta: Option<JsonObject>,
}

/// Returns the same message as rmcp would, or `None` if the bytes are not a plain call.
pub(super) fn plain_call(bytes: &[u8]) -> Option<ClientJsonRpcMessage> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let call: PlainCall<'_> = object(&mut json).ok()?;
    json.end().ok()?;
    if call.jsonrpc != "2.0" || call.method != "tools/call" {
        return None;
    }
    let mut params = CallToolRequestParams::new(call.params.name);
    params.arguments = call.params.arguments;
    let mut request = CallToolRequest::new(params);
    if let Some(meta) = call.params._meta {
        request.extensions.insert(RequestMetaObject::from(meta));
    }
    Some(JsonRpcMessage::Request(JsonRpcRequest::new(
        call.id,
        ClientRequest::CallToolRequest(request),
    )))
}

/// Reads an object. By itself, serde would read the fields of a struct from an array, too.
fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn assert_same(message: &str) -> bool {
        let Some(short) = plain_call(message.as_bytes()) else {
            return false;
        };
        let long: ClientJsonRpcMessage = serde_json::from_str(message).unwrap();
        assert_eq!(format!("{short:?}"), format!("{long:?}"), "{message}");
        assert_eq!(
            serde_json::to_value(&short).unwrap(),
            serde_json::to_value(&long).unwrap()
        );
        true
    }

    #[test]
    fn plain_calls_take_the_short_way() {
        for params in [
            json!({"name": "read"}),
            json!({"name": "read", "arguments": null}),
            json!({"name": "read", "arguments": {"path": "a.md", "n": [1, -2, 1.5, u64::MAX]}}),
            json!({"name": "read", "arguments": {}, "_meta": {"progressToken": 7}}),
            json!({"name": "r\u{e9}\n", "_meta": {}}),
            json!({"name": "read", "_meta": null}),
        ] {
            for id in [json!(1), json!("one"), json!(i64::MIN)] {
                let message =
                    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
                assert!(assert_same(&message.to_string()), "{message}");
            }
        }
    }

    #[test]
    fn whatever_is_unusual_is_left_to_rmcp() {
        for message in [
            r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#,
            r#"{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": null, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1.5, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "tools/call", "params": {"name": "a"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}, "more": 1}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "requestState": "s"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": []}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["a"]}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}"#,
            r#"["2.0", 1, "tools/call", {"name": "a"}]"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["a", null, null]}"#,
        ] {
            assert!(plain_call(message.as_bytes()).is_none(), "{message}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[ -~\u{e4}\u{1f600}\"\\\\]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(key(), inner, 0..4).prop_map(Value::from_iter),
            ]
        })
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            "name|arguments|_meta|id|jsonrpc|method|params|progressToken",
            "[a-z$]{0,3}"
        ]
    }

    proptest! {
        #[test]
        fn both_ways_decode_to_the_same(
            id in prop_oneof![any::<i64>().prop_map(Value::from), "[a-z0-9]{0,4}".prop_map(Value::from), json_value()],
            method in prop_oneof![4 => Just("tools/call"), 1 => Just("tools/list")],
            name in prop_oneof![4 => "[a-z_]{0,6}".prop_map(Value::from), 1 => json_value()],
            arguments in prop::option::of(json_value()),
            meta in prop::option::of(json_value()),
        ) {
            let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": name}});
            if let Some(arguments) = arguments {
                message["params"]["arguments"] = arguments;
            }
            if let Some(meta) = meta {
                message["params"]["_meta"] = meta;
            }
            assert_same(&message.to_string());
        }
    }
}
