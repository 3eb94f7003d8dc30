//! Structured content of a tool's answer, which repeats the JSON of its text.
//!
//! rmcp wants it as a tree of values. Building, writing and dropping that tree takes a quarter of a call, so a
//! transport that has access to the bytes of an answer puts a placeholder there and replaces it with the text.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{CallToolResult, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use serde_json::Value;

/// The way structured content is inserted into an answer.
#[derive(Clone, Debug)]
pub(crate) enum StructuredPlacement {
    /// By the server, as a tree.
    Tree,
    /// By the transport, as text; see [`put_text_in_place`].
    Text,
    /// By the transport, as text that is passed separately from the answer; see [`put_in_place`].
    Slot(StructuredSlot),
}

/// The text of an answer, on its way to the code that has the bytes of the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct StructuredSlot(Arc<Mutex<Option<String>>>);

impl StructuredSlot {
    fn fill(&self, text: &str) {
        *self.0.lock() = Some(text.to_owned());
    }

    /// Takes the text, if there is one.
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().take()
    }
}

/// The placeholder on the wire. A quotation mark inside a string is escaped, so nothing else can look like it.
const MARK: &[u8] = b"\"structuredContent\":null";

impl StructuredPlacement {
    /// Returns the structured content of a result with this text as it leaves the server.
    pub(crate) fn content(&self, text: &str) -> Option<Value> {
        match self {
            Self::Tree => serde_json::from_str(text).ok(),
            Self::Text => Some(Value::Null),
            Self::Slot(slot) => {
                slot.fill(text);
                Some(Value::Null)
            }
        }
    }

    /// Returns the variant for an answer that may follow other messages, whose bytes are never available as a whole.
    pub(crate) fn for_streams(self) -> Self {
        match self {
            Self::Slot(_) => Self::Tree,
            other => other,
        }
    }
}

/// Replaces the placeholder in `line`, the bytes of `message`.
pub(crate) fn put_text_in_place(line: &mut Vec<u8>, message: &ServerJsonRpcMessage) {
    if let Some(text) = marked_text(message) {
        put_in_place(line, text);
    }
}

/// Replaces the placeholder in the bytes of an answer by `text`.
pub(crate) fn put_in_place(line: &mut Vec<u8>, text: &str) {
    if let Some(mark) = memchr::memmem::rfind(line, MARK) {
        let end = mark + MARK.len();
        let behind = line.split_off(end);
        line.truncate(end - b"null".len());
        line.reserve(text.len() + behind.len());
        line.extend_from_slice(text.as_bytes());
        line.extend_from_slice(&behind);
    }
}

fn marked_text(message: &ServerJsonRpcMessage) -> Option<&str> {
    let JsonRpcMessage::Response(response) = message else {
        return None;
    };
    let ServerResult::CallToolResult(CallToolResult {
        structured_content,
        content,
        ..
    }) = &response.result
    else {
        return None;
    };
    let text = &content.first()?.as_text()?.text;
    (structured_content == &Some(Value::Null)).then_some(text)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ContentBlock, RequestId};

    use super::*;

    fn line(structured: StructuredPlacement, text: &str) -> String {
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = structured.content(text);
        let message = ServerJsonRpcMessage::response(
            ServerResult::CallToolResult(result),
            RequestId::Number(1),
        );
        let mut line = serde_json::to_vec(&message).expect("a message is JSON");
        put_text_in_place(&mut line, &message);
        String::from_utf8(line).expect("JSON is UTF-8")
    }

    #[test]
    fn both_ways_give_the_same_bytes() {
        let hostile = r#"{"a":"\"structuredContent\":null","structuredContent":null,"b":["\\\"structuredContent\":null"]}"#;
        for text in [r#"{"path":"x","n":[1,null,"é"]}"#, "{}", hostile] {
            assert_eq!(
                line(StructuredPlacement::Text, text),
                line(StructuredPlacement::Tree, text)
            );
        }
    }

    #[test]
    fn errors_have_none() {
        let result = CallToolResult::error(vec![ContentBlock::text("{}")]);
        let message = ServerJsonRpcMessage::response(
            ServerResult::CallToolResult(result),
            RequestId::Number(1),
        );
        let before = serde_json::to_vec(&message).expect("a message is JSON");
        let mut after = before.clone();
        put_text_in_place(&mut after, &message);
        assert_eq!(after, before);
    }
}
