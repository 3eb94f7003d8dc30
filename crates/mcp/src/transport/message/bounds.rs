//! Limits on a message before it is parsed into a tree of values, and on the parts of a handshake that are kept.
//!
//! A client picks ids, names and the depth of its parameters. A tree of values takes up to thirty times the bytes that
//! it was written with, and some of it outlives the message: ids as long as a request runs, a handshake as long as a
//! session.

use std::borrow::Cow;

use rmcp::model::{
    ClientCapabilities, ElicitationCapability, Implementation, InitializeRequestParams,
    ProtocolVersion, RequestId,
};
use serde::{Deserialize, Serialize};

use crate::{
    call::caller::cut,
    world::app::{extension, shows_apps},
};

/// Longest id of a request, and longest progress token, in bytes.
pub(crate) const MAX_ID_BYTES: usize = 256;
/// Number of values that a message may hold: objects, lists, members and what is in them.
pub(super) const MAX_VALUES: usize = 1 << 16;
/// How deep a message may nest. The decoder goes no deeper.
const MAX_DEPTH: usize = 128;
/// Length in bytes below which a message cannot exceed [`MAX_VALUES`], since each value takes a byte and a separator.
const FEW_BYTES: usize = 2 * MAX_VALUES;
/// Longest protocol version that is looked at. All that exist have ten bytes.
const MAX_VERSION_BYTES: usize = 32;

/// Returns whether an id, or a progress token, is short enough to be kept.
pub(crate) fn is_short(id: &RequestId) -> bool {
    match id {
        RequestId::Number(_) => true,
        RequestId::String(text) => text.len() <= MAX_ID_BYTES,
    }
}

/// The size class of a message before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageExtent {
    /// Within the limits, if it is JSON.
    Bounded,
    /// It may hold more values than are allowed.
    TooMany,
    /// It nests deeper than any parser goes.
    TooDeep,
}

/// Measures a message, whether or not it is JSON.
pub(super) fn extent(bytes: &[u8]) -> MessageExtent {
    if bytes.len() <= FEW_BYTES {
        return MessageExtent::Bounded;
    }
    let (mut values, mut depth, mut in_text, mut escaped) = (1, 0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => (values, depth) = (values + 1, depth + 1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' | b':' => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return MessageExtent::TooDeep;
        }
        if values > MAX_VALUES {
            return MessageExtent::TooMany;
        }
    }
    MessageExtent::Bounded
}

/// Returns a long handshake as a short one with the same meaning for this server, made without parsing the rest into a
/// tree; `None` if the message is short, or is not a handshake.
pub(super) fn shortened(bytes: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct MethodPeek<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    if bytes.len() <= FEW_BYTES {
        return None;
    }
    let peek: MethodPeek<'_> = serde_json::from_slice(bytes).ok()?;
    if peek.method != "initialize" {
        return None;
    }
    let handshake: Handshake = serde_json::from_slice(bytes).ok()?;
    serde_json::to_vec(&handshake).ok()
}

/// The parts of an `initialize` request that are read.
#[derive(Deserialize, Serialize)]
struct Handshake {
    jsonrpc: String,
    id: RequestId,
    method: String,
    params: HandshakeParams,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct HandshakeParams {
    protocol_version: String,
    capabilities: HandshakeCapabilities,
    client_info: HandshakeClient,
}

#[derive(Deserialize, Serialize)]
struct HandshakeCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation: Option<ElicitationCapability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<HandshakeExtensions>,
}

#[derive(Deserialize, Serialize)]
struct HandshakeExtensions {
    #[serde(rename = "io.modelcontextprotocol/ui")]
    #[serde(skip_serializing_if = "Option::is_none")]
    apps: Option<HandshakeApps>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct HandshakeApps {
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_types: Option<Vec<String>>,
}

#[derive(Deserialize, Serialize)]
struct HandshakeClient {
    name: String,
    version: String,
}

/// Reduces a handshake to the parts this server needs later: the version, the client's name and version, and whether it
/// can show forms and apps. A session keeps it as long as it is open.
pub(crate) fn keep_essentials(params: &mut InitializeRequestParams) {
    let given = std::mem::take(&mut params.capabilities);
    params.capabilities = essential(given);
    let client = &params.client_info;
    params.client_info = Implementation::new(cut(&client.name), cut(&client.version));
    params.meta = None;
    let version = params.protocol_version.as_str();
    if version.len() > MAX_VERSION_BYTES {
        // No server supports such a version, and the answer is the same for all of them.
        params.protocol_version = ProtocolVersion::V_2025_11_25;
    }
}

fn essential(given: ClientCapabilities) -> ClientCapabilities {
    let mut kept = ClientCapabilities::default();
    kept.extensions = shows_apps(&given).then(extension);
    kept.elicitation = given.elicitation;
    kept
}
