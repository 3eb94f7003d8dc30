//! The handshake and the stateless era: what is negotiated, declared, served and refused in each.

use serde_json::{Value, json};

use super::{Heard, Wire};
use crate::fixture::{Era, Http, Stdio, TestVault};

const SUPPORTED: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Runs `check` on every transport in every era.
fn on_every_wire(mut check: impl FnMut(&mut Wire<'_>, Era, &str)) {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        for mut wire in Wire::both(&vault, era) {
            let case = format!("{era:?}, {}", wire.name());
            check(&mut wire, era, &case);
        }
    }
}

fn assert_no_such_method(heard: &Heard, era: Era, case: &str) {
    assert_eq!(heard.code(), -32601, "{case}: {heard:?}");
    let status = match era {
        Era::Handshake => 200,
        Era::Stateless => 404,
    };
    assert!(
        heard.status.is_none_or(|found| found == status),
        "{case}: {heard:?}"
    );
}

fn initialize_as(version: &str) -> Value {
    let mut message = crate::fixture::initialize(1);
    message["params"]["protocolVersion"] = json!(version);
    message
}

fn assert_introduces_itself(capabilities: &Value, info: &Value, instructions: &Value, case: &str) {
    assert_eq!(info["name"], "sectile", "{case}");
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"), "{case}");
    assert_eq!(capabilities, &json!({ "tools": {} }), "{case}");
    let length = instructions.as_str().map_or(0, str::len);
    assert!((1..2048).contains(&length), "{case}: {length} bytes");
}

#[test]
fn a_handshake_settles_on_a_version_that_is_served() {
    let vault = TestVault::sample();
    let http = Http::start(&vault);
    for (asked, settled) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("soon", "2025-11-25"),
    ] {
        let message = initialize_as(asked);
        let mut stdio = Stdio::start(&vault);
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let body = message.to_string();
        let over_http = http.request("POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(over_http.status, 200, "{asked}");
        for answer in [stdio.exchange(&message), over_http.json()] {
            assert_eq!(answer["id"], 1, "{asked}");
            let result = &answer["result"];
            assert_eq!(result["protocolVersion"], settled, "{asked}");
            assert_introduces_itself(
                &result["capabilities"],
                &result["serverInfo"],
                &result["instructions"],
                asked,
            );
        }
        let listing = stdio.exchange(&Era::Handshake.request(2, "tools/list", json!({})));
        assert_eq!(
            listing["result"]["tools"][3]["title"],
            "Get metadata facets"
        );
    }
}

#[test]
fn discovery_tells_versions_capabilities_and_how_long_they_hold() {
    let vault = TestVault::sample();
    let era = Era::Stateless;
    for mut wire in Wire::both(&vault, era) {
        let case = wire.name();
        let heard = wire.ask(era, &era.request(1, "server/discover", json!({})));
        let result = &heard.message["result"];
        assert_eq!(result["supportedVersions"], json!(SUPPORTED), "{case}");
        assert_eq!(result["ttlMs"], 300_000, "{case}");
        assert_eq!(result["cacheScope"], "public", "{case}");
        assert_eq!(result["resultType"], "complete", "{case}");
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_introduces_itself(&result["capabilities"], info, &result["instructions"], case);
    }
}

#[test]
fn a_listing_says_how_long_it_holds_and_takes_no_cursor() {
    on_every_wire(|wire, era, case| {
        let heard = wire.ask(era, &era.request(1, "tools/list", json!({})));
        let result = &heard.message["result"];
        assert_eq!(result["tools"].as_array().map(Vec::len), Some(4), "{case}");
        assert_eq!(result["ttlMs"], 300_000, "{case}");
        assert_eq!(result["cacheScope"], "public", "{case}");
        assert_eq!(result.get("nextCursor"), None, "{case}");
        let result_type = result.get("resultType").and_then(Value::as_str);
        let expected = (era == Era::Stateless).then_some("complete");
        assert_eq!(result_type, expected, "{case}");
        for cursor in ["bogus", ""] {
            let params = json!({ "cursor": cursor });
            let heard = wire.ask(era, &era.request(2, "tools/list", params));
            assert_eq!(heard.code(), -32602, "{case}, {cursor}: {heard:?}");
        }
    });
}

#[test]
fn a_cursor_of_the_wrong_type_is_refused_too() {
    on_every_wire(|wire, era, case| {
        for cursor in [json!(5), json!({}), json!([])] {
            let params = json!({ "cursor": cursor });
            let heard = wire.ask(era, &era.request(1, "tools/list", params));
            assert_eq!(heard.code(), -32602, "{case}, {cursor}");
        }
    });
}

#[test]
fn methods_of_capabilities_that_are_not_declared_do_not_exist() {
    let completion = json!({
        "ref": { "type": "ref/prompt", "name": "x" },
        "argument": { "name": "a", "value": "b" },
    });
    let methods = [
        ("resources/list", json!({})),
        ("resources/list", json!({ "cursor": 5 })),
        ("resources/read", json!({ "uri": "note://one" })),
        ("resources/templates/list", json!({})),
        ("resources/subscribe", json!({ "uri": "note://one" })),
        ("resources/unsubscribe", json!({ "uri": "note://one" })),
        ("prompts/list", json!({})),
        ("prompts/list", json!({ "cursor": 5 })),
        ("prompts/get", json!({ "name": "summary" })),
        ("completion/complete", completion),
        ("completion/complete", json!({})),
        ("logging/setLevel", json!({ "level": "info" })),
        ("logging/setLevel", json!({ "level": "loud" })),
        ("tasks/list", json!({})),
    ];
    on_every_wire(|wire, era, case| {
        for (method, params) in &methods {
            let heard = wire.ask(era, &era.request(1, method, params.clone()));
            assert_no_such_method(&heard, era, &format!("{case}, {method} {params}"));
        }
    });
}

#[test]
fn unknown_methods_do_not_exist() {
    on_every_wire(|wire, era, case| {
        for method in [
            "foo/bar",
            "tools/Call",
            "tools",
            "notifications/initialized",
        ] {
            let heard = wire.ask(era, &era.request(1, method, json!({})));
            assert_no_such_method(&heard, era, &format!("{case}, {method:?}"));
            assert_eq!(heard.message["id"], 1, "{case}, {method:?}");
        }
    });
}

#[test]
fn ping_belongs_to_the_handshake_era() {
    on_every_wire(|wire, era, case| {
        wire.ask(era, &era.request(1, "tools/list", json!({})));
        let heard = wire.ask(era, &era.request(2, "ping", json!({})));
        match era {
            Era::Handshake => assert_eq!(heard.message["result"], json!({}), "{case}"),
            Era::Stateless => assert_no_such_method(&heard, era, case),
        }
    });
}

#[test]
fn a_stateless_ping_does_not_exist_even_as_the_first_message() {
    let vault = TestVault::sample();
    for mut wire in Wire::both(&vault, Era::Stateless) {
        let ping = Era::Stateless.request(1, "ping", json!({}));
        let heard = wire.ask(Era::Stateless, &ping);
        assert_no_such_method(&heard, Era::Stateless, wire.name());
    }
}

#[test]
fn a_call_whose_parameters_cannot_be_decoded_is_refused() {
    on_every_wire(|wire, era, case| {
        for params in [
            json!({}),
            json!({ "name": null }),
            json!({ "name": 5 }),
            json!({ "name": ["get_note_outline"] }),
            json!({ "name": "get_note_outline", "arguments": [1] }),
            json!({ "name": "get_note_outline", "arguments": "inbox/one.md" }),
        ] {
            let heard = wire.ask(era, &era.request(1, "tools/call", params.clone()));
            assert_eq!(heard.code(), -32602, "{case}, {params}: {heard:?}");
        }
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call" }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1] }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": "x" }),
        ] {
            let heard = wire.ask(era, &message);
            assert_eq!(heard.code(), -32602, "{case}, {message}: {heard:?}");
            assert_eq!(heard.message["id"], 1, "{case}, {message}");
        }
    });
}

#[test]
fn a_stateless_request_needs_its_metadata() {
    let vault = TestVault::sample();
    let era = Era::Stateless;
    for mut wire in Wire::both(&vault, era) {
        for missing in ["_meta", VERSION_KEY, CAPABILITIES_KEY] {
            let mut message = era.request(1, "tools/list", json!({}));
            let params = message["params"].as_object_mut().unwrap();
            if missing == "_meta" {
                params.remove("_meta");
            } else {
                let meta = params["_meta"].as_object_mut().unwrap();
                assert!(meta.remove(missing).is_some());
            }
            let heard = wire.ask(era, &message);
            let case = format!("{}, without {missing}: {heard:?}", wire.name());
            assert_eq!(heard.code(), -32602, "{case}");
            assert!(heard.status.is_none_or(|status| status == 400), "{case}");
        }
        let heard = wire.ask(era, &era.request(1, "tools/list", json!({})));
        assert!(heard.message["result"].is_object(), "{heard:?}");
    }
}

#[test]
fn a_version_that_is_not_served_is_refused_with_those_that_are() {
    let vault = TestVault::sample();
    let http = Http::start(&vault);
    for version in ["2027-01-01", "2024-11-05", "soon"] {
        let mut message = Era::Stateless.request(1, "tools/list", json!({}));
        message["params"]["_meta"][VERSION_KEY] = json!(version);
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", version),
            ("Mcp-Method", "tools/list"),
        ];
        let body = message.to_string();
        let over_http = http.request("POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(over_http.status, 400, "{version}");
        let over_stdio = Stdio::start(&vault).exchange(&message);
        for answer in [over_stdio, over_http.json()] {
            let error = &answer["error"];
            assert_eq!(error["code"], -32022, "{version}: {answer}");
            assert_eq!(error["data"]["supported"], json!(SUPPORTED), "{version}");
        }
    }
}

#[test]
fn stateless_headers_must_fit_the_body() {
    let vault = TestVault::sample();
    let http = Http::start(&vault);
    let call = Era::Stateless.call(1, "get_note_outline", json!({ "path": "inbox/one.md" }));
    let fitting = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "get_note_outline"),
    ];
    let send = |own: &[(&str, &str)]| {
        let mut headers = vec![("Content-Type", "application/json"), ("Accept", "*/*")];
        headers.extend(own);
        http.request("POST", "/mcp", &headers, call.to_string().as_bytes())
    };
    assert_eq!(send(&fitting).status, 200);
    for (place, wrong) in [
        (0, "2025-11-25"),
        (1, "tools/list"),
        (1, "TOOLS/CALL"),
        (2, "get_document_tree"),
        (2, "GET_NOTE_OUTLINE"),
    ] {
        let mut headers = fitting;
        headers[place].1 = wrong;
        let answer = send(&headers);
        assert_eq!(answer.status, 400, "{headers:?}");
        assert_eq!(answer.json()["error"]["code"], -32020, "{headers:?}");
    }
    for missing in 1..fitting.len() {
        let mut headers = fitting.to_vec();
        headers.remove(missing);
        let answer = send(&headers);
        assert_eq!(answer.status, 400, "{headers:?}");
        assert_eq!(answer.json()["error"]["code"], -32020, "{headers:?}");
    }
}
