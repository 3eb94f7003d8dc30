//! Arguments that clients of the stateless era repeat in headers of the HTTP request (SEP-2243).
//!
//! rmcp could check them, but it asks for the tool without saying for whom, and so would betray hidden ones.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, request::Parts};
use rmcp::model::ErrorData;
use serde_json::Value;

use super::McpServer;
use crate::{JsonObject, MirroredArgument, call::caller::Caller};

impl McpServer {
    /// Checks the headers of a call of the tool `name`. One that does not exist for the caller has none.
    pub(super) fn check_mirrored(
        &self,
        name: &str,
        arguments: &JsonObject,
        caller: &Caller,
    ) -> Result<(), ErrorData> {
        let mirrored = match self.surface.tool(name) {
            Some((_, tool)) if !tool.card.mirrored.is_empty() => &tool.card.mirrored,
            _ => return Ok(()),
        };
        match caller.request.extensions.get::<Parts>() {
            Some(parts)
                if caller.is_stateless() && self.surface.offers(name, caller.caller_role()) =>
            {
                check(mirrored, arguments, &parts.headers)
            }
            _ => Ok(()),
        }
    }
}

fn check(
    mirrored: &[MirroredArgument],
    arguments: &JsonObject,
    headers: &HeaderMap,
) -> Result<(), ErrorData> {
    for MirroredArgument { name, header } in mirrored {
        let header = format!("Mcp-Param-{header}");
        let argument = arguments.get(*name).and_then(plain);
        let is_repeated = match argument {
            Some(argument) => sole(headers, &header) == Some(argument),
            None => !headers.contains_key(&header),
        };
        if !is_repeated {
            let message = format!("The header {header} does not repeat the argument {name}.");
            return Err(ErrorData::header_mismatch(message, None));
        }
    }
    Ok(())
}

/// Returns a value as it is written in a header; `None` if it is not written in one.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the value of a header that is there once and can be decoded.
fn sole(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
