//! Apps: pages that a host shows to people beside the calls of a tool (MCP Apps, SEP-1865).
//!
//! An app is a resource whose URI starts with `ui://`, and tools name it. It belongs to its tools: for a caller that has
//! none of them it does not exist. Clients that do not show apps are not told about them.

use rmcp::model::{ClientCapabilities, ExtensionCapabilities};
use serde_json::{Value, json};

use crate::{
    Access, CallContext, JsonObject, Resource, Surface, ToolCard,
    call::policy::{Absence, CallerRole},
    world::surface::BoundTool,
};

/// The name of the extension, in the capabilities of clients and servers.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The start of the URI of every app, and of nothing else.
const SCHEME: &str = "ui://";
/// Key of the fields for hosts, in `_meta`.
const UI: &str = "ui";

/// Media type of an app: one HTML page that loads nothing.
pub const APP_TYPE: &str = "text/html;profile=mcp-app";

/// Returns whether a client with these capabilities shows apps of this type. One that does not say which types it shows
/// shows all: there is only one.
pub(crate) fn shows_apps(capabilities: &ClientCapabilities) -> bool {
    let extensions = capabilities.extensions.as_ref();
    let Some(extension) = extensions.and_then(|extensions| extensions.get(EXTENSION)) else {
        return false;
    };
    match extension.get("mimeTypes") {
        Some(Value::Array(types)) => types.iter().any(|shown| shown == APP_TYPE),
        Some(_) => false,
        None => true,
    }
}

/// Returns what a server with apps declares.
pub(crate) fn extension() -> ExtensionCapabilities {
    let types = object(json!({ "mimeTypes": [APP_TYPE] }));
    ExtensionCapabilities::from([(EXTENSION.to_owned(), types)])
}

/// Returns the fields of a tool in a listing that name its app.
pub(crate) fn tool_fields(uri: &str) -> JsonObject {
    object(json!({ UI: { "resourceUri": uri } }))
}

/// Returns the fields of a resource that tell a host how to show it: an app of ours may load nothing from anywhere.
pub(crate) fn resource_fields(mime_type: &str) -> Option<JsonObject> {
    let nowhere = json!({
        "connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": [],
    });
    let fields = json!({ UI: { "csp": nowhere, "prefersBorder": true } });
    (mime_type == APP_TYPE).then(|| object(fields))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

impl Surface {
    /// Returns the app of a tool, if a listing for a caller with this role shows it.
    pub(crate) fn listed_app(
        &self,
        card: &ToolCard,
        caller_role: CallerRole,
    ) -> Option<&'static str> {
        let uri = card.app.filter(|_| self.resources.is_some())?;
        self.lists(uri, Access::Read, caller_role).then_some(uri)
    }

    /// Returns whether there is an app in a listing for a caller with this role.
    pub(crate) fn lists_apps(&self, caller_role: CallerRole) -> bool {
        let mut listed = self.listed_tools(caller_role);
        listed.any(|card| self.listed_app(card, caller_role).is_some())
    }

    /// Returns whether a resource may be in a listing for this call by a caller with this role: it is not an app, or the
    /// client shows apps and the tool that it belongs to is in such a listing.
    pub(crate) fn lists_app_to(
        &self,
        resource: &Resource,
        caller_role: CallerRole,
        context: &CallContext,
    ) -> bool {
        let mut listed = self.listed_tools(caller_role);
        !resource.uri.starts_with(SCHEME)
            || (context.shows_apps && listed.any(|card| card.app == Some(&*resource.uri)))
    }

    /// Checks whether a caller with this role has one of the tools that the app at `uri` belongs to; `None` if there are
    /// none. What is not an app belongs to nothing.
    pub(crate) fn app_presence(
        &self,
        uri: &str,
        caller_role: CallerRole,
    ) -> Option<Result<(), Absence>> {
        if !uri.starts_with(SCHEME) {
            return Some(Ok(()));
        }
        let tools = self.tools.iter().filter(|tool| tool.card.app == Some(uri));
        let presence = |tool: &BoundTool| {
            let thing = self.thing(&tool.card.name, tool.card.access);
            self.policy.presence(caller_role, thing)
        };
        tools.map(presence).reduce(Result::or)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_whether_it_shows_apps() {
        let shows = |extensions: Value| {
            let capabilities = json!({ "extensions": extensions });
            shows_apps(&serde_json::from_value(capabilities).expect("capabilities"))
        };
        assert!(!shows_apps(&ClientCapabilities::default()));
        assert!(!shows(json!({})));
        assert!(!shows(json!({ "io.example/ui": {} })));
        assert!(shows(json!({ EXTENSION: {} })));
        assert!(shows(
            json!({ EXTENSION: { "mimeTypes": ["text/plain", APP_TYPE] } })
        ));
        for types in [
            json!([]),
            json!(["text/html"]),
            json!(APP_TYPE),
            json!(null),
        ] {
            assert!(
                !shows(json!({ EXTENSION: { "mimeTypes": types } })),
                "{types}"
            );
        }
    }
}
