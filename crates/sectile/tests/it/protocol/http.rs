//! HTTP around the messages: methods, paths, headers, bodies, hosts and origins.

use serde_json::{Value, json};

use super::post;
use crate::fixture::{Era, Http, HttpAnswer, TestVault, initialize};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const BOTH_TYPES: (&str, &str) = ("Accept", "application/json, text/event-stream");

pub(super) fn listing(era: Era) -> Value {
    era.request(1, "tools/list", json!({}))
}

fn post_with(server: &Http<'_>, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
    server.request("POST", "/mcp", headers, body.as_bytes())
}

/// A refusal is a JSON-RPC error, whatever is refused.
fn assert_refused(answer: &HttpAnswer, status: u16, code: i32, case: &str) {
    assert_eq!(answer.status, status, "{case}: {answer:?}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "{case}"
    );
    let body = answer.json();
    assert_eq!(body["jsonrpc"], "2.0", "{case}");
    assert_eq!(body["error"]["code"], code, "{case}: {body}");
    assert!(body["error"]["message"].is_string(), "{case}: {body}");
}

pub(super) fn assert_listed(answer: &HttpAnswer, case: &str) {
    assert_eq!(answer.status, 200, "{case}: {answer:?}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "{case}"
    );
    let tools = answer.json()["result"]["tools"].as_array().map(Vec::len);
    assert_eq!(tools, Some(4), "{case}");
}

#[test]
fn only_post_is_allowed() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    for path in ["/mcp", "/vault/mcp"] {
        for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
            let answer = server.request(method, path, &[JSON, BOTH_TYPES], b"");
            let case = format!("{method} {path}");
            assert_refused(&answer, 405, -32600, &case);
            assert_eq!(answer.header("allow"), Some("POST"), "{case}");
        }
    }
}

#[test]
fn a_world_is_served_at_two_paths_and_nothing_elsewhere() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let body = listing(Era::Handshake).to_string();
    for (path, served) in [
        ("/mcp", true),
        ("/vault/mcp", true),
        ("/mcp?x=1", true),
        ("/", false),
        ("/mcp/", false),
        ("/mcp/x", false),
        ("/editor/mcp", false),
        ("/vault", false),
        ("/MCP", false),
    ] {
        let answer = server.request("POST", path, &[JSON, BOTH_TYPES], body.as_bytes());
        if served {
            assert_listed(&answer, path);
        } else {
            assert_refused(&answer, 404, -32600, path);
        }
    }
}

#[test]
fn health_and_readiness_are_plain_text() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = server.request("GET", path, &[], b"");
        assert_eq!((answer.status, answer.body.as_str()), (200, text), "{path}");
    }
}

#[test]
fn content_type_and_accept_are_checked() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let body = listing(Era::Handshake).to_string();
    let content_types = [
        (Some("application/json"), 200),
        (Some("application/json; charset=utf-8"), 200),
        (Some("Application/JSON"), 200),
        (Some("text/plain"), 415),
        (Some("application/jsonp"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (None, 415),
    ];
    let accepts = [
        (Some("application/json, text/event-stream"), 200),
        (Some("text/event-stream;q=0.1,application/json"), 200),
        (Some("*/*"), 200),
        (Some("text/html, */*;q=0.8"), 200),
        (Some("application/json"), 406),
        (Some("text/event-stream"), 406),
        (Some("text/html"), 406),
        (None, 406),
    ];
    let content_types = content_types.map(|(value, status)| ("Content-Type", value, status));
    let accepts = accepts.map(|(value, status)| ("Accept", value, status));
    for (name, value, status) in content_types.into_iter().chain(accepts) {
        let mut headers = vec![JSON, BOTH_TYPES];
        headers.retain(|(other, _)| *other != name);
        headers.extend(value.map(|value| (name, value)));
        let answer = post_with(&server, &headers, &body);
        let case = format!("{name}: {value:?}");
        if status == 200 {
            assert_listed(&answer, &case);
        } else {
            assert_refused(&answer, status, -32600, &case);
        }
    }
}

#[test]
fn bodies_that_are_no_message_are_refused() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let deep = "[".repeat(100_000);
    for (body, code) in [
        ("{not json", -32700),
        ("", -32700),
        (&deep, -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("5", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
            -32600,
        ),
    ] {
        let shown: String = body.chars().take(80).collect();
        let answer = post_with(&server, &[JSON, BOTH_TYPES], body);
        assert_refused(&answer, 400, code, &shown);
    }
    let body = format!("\u{feff}{}\r\n", listing(Era::Handshake));
    assert_listed(
        &post_with(&server, &[JSON, BOTH_TYPES], &body),
        "BOM and line end",
    );
}

#[test]
fn a_version_header_that_is_not_served_is_refused() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let body = listing(Era::Handshake).to_string();
    for version in ["1999-01-01", "soon", ""] {
        let headers = [JSON, BOTH_TYPES, ("MCP-Protocol-Version", version)];
        let answer = post_with(&server, &headers, &body);
        assert_refused(&answer, 400, -32600, version);
    }
    assert_listed(
        &post_with(&server, &[JSON, BOTH_TYPES], &body),
        "no version header",
    );
}

#[test]
fn sessions_are_unknown_in_the_handshake_era_and_ignored_in_the_stateless_one() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let mut headers = vec![JSON, BOTH_TYPES, ("Mcp-Session-Id", "4f1c")];
    let body = listing(Era::Handshake).to_string();
    assert_refused(
        &post_with(&server, &headers, &body),
        404,
        -32600,
        "no version",
    );
    headers.push(("MCP-Protocol-Version", Era::Handshake.version()));
    assert_refused(
        &post_with(&server, &headers, &body),
        404,
        -32600,
        "handshake",
    );
    headers[3].1 = Era::Stateless.version();
    headers.push(("Mcp-Method", "tools/list"));
    let body = listing(Era::Stateless).to_string();
    assert_listed(&post_with(&server, &headers, &body), "stateless");
    let answer = post_with(&server, &[JSON, BOTH_TYPES], &initialize(1).to_string());
    assert_eq!(
        answer.header("mcp-session-id"),
        None,
        "no session is opened"
    );
}

#[test]
fn foreign_hosts_and_origins_stay_out_unless_settings_let_them_in() {
    let vault = TestVault::sample();
    let config = vault.config(
        "[server.http]\nallowed_hosts = ['docs.example']\nallowed_origins = ['https://app.example']\n",
    );
    let servers = [
        ("defaults", Http::start(&vault)),
        ("configured", Http::start_with(&vault, Some(&config), &[])),
    ];
    // (header, value, let in by default, let in by the settings above)
    let cases = [
        ("Host", "localhost", true, true),
        ("Host", "LOCALHOST:80", true, true),
        ("Host", "[::1]:7420", true, true),
        ("Host", "evil.example", false, false),
        ("Host", "localhost.evil.example", false, false),
        ("Host", "127.0.0.1@evil.example", false, false),
        ("Host", "docs.example", false, true),
        ("Host", "docs.example:443", false, true),
        ("Host", "app.example", false, false),
        ("Origin", "http://localhost:3000", true, true),
        ("Origin", "http://127.0.0.1", true, true),
        ("Origin", "http://evil.example", false, false),
        ("Origin", "http://localhost.evil.example", false, false),
        ("Origin", "null", false, false),
        ("Origin", "", false, false),
        ("Origin", "https://app.example", false, true),
        ("Origin", "http://app.example", false, false),
        ("Origin", "https://app.example.evil.example", false, false),
        ("Origin", "https://docs.example", false, false),
    ];
    let body = listing(Era::Handshake).to_string();
    for (name, value, by_default, configured) in cases {
        for ((which, server), lets_in) in servers.iter().zip([by_default, configured]) {
            let answer = post_with(server, &[JSON, BOTH_TYPES, (name, value)], &body);
            let case = format!("{name}: {value}, {which}");
            if lets_in {
                assert_listed(&answer, &case);
            } else {
                assert_refused(&answer, 403, -32600, &case);
            }
        }
    }
}

#[test]
fn a_request_names_exactly_one_host() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    for hosts in ["", "Host: localhost\r\nHost: evil.example\r\n"] {
        let request = format!("POST /mcp HTTP/1.1\r\nConnection: close\r\n{hosts}\r\n");
        assert_refused(&server.raw(request.as_bytes()), 403, -32600, hosts);
    }
}

#[test]
fn a_notification_is_accepted_without_a_body() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    for era in Era::BOTH {
        for method in ["notifications/initialized", "notifications/unheard_of"] {
            let mut message = era.request(1, method, json!({}));
            message.as_object_mut().unwrap().remove("id");
            let answer = post(&server, era, &message);
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (202, ""),
                "{era:?}, {method}"
            );
        }
    }
}
