//! The protocol eras, and requests of each. The tests of the program use this file too.

use std::time::Duration;

use serde_json::{Value, json};

/// How long a test waits for something that should come at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The supported protocol eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`.
    Handshake,
    /// Every request carries its own metadata.
    Stateless,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Handshake, Self::Stateless];

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// Makes a request of this era, with the metadata it needs.
    pub(crate) fn request(self, id: u64, method: &str, params: Value) -> Value {
        let mut params = params;
        if self == Self::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version(),
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Makes a `tools/call` of this era.
    pub(crate) fn call(self, id: u64, tool: &str, arguments: Value) -> Value {
        self.request(
            id,
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }
}

pub(crate) fn initialize(id: u64) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "initialize",
        "params": {
            "protocolVersion": Era::Handshake.version(),
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
}
