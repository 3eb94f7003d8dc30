//! Lines that are no proper JSON-RPC messages, and messages at the wrong time.

use serde_json::{Value, json};

use super::{Client, MARKER};
use crate::fixture::{Era, Stdio, TestVault, initialize, tool_text};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

/// An error with this code and no id, since none can be known.
fn assert_error_without_id(answer: &Value, code: i64, case: &str) {
    assert_eq!(answer["error"]["code"], code, "{case}: {answer}");
    assert_eq!(answer["id"], Value::Null, "{case}: {answer}");
    assert!(!answer.to_string().contains(MARKER), "{case}: {answer}");
}

#[test]
fn every_malformed_line_is_answered_and_the_next_one_read() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let call = Era::Handshake.call(1, "get_note_outline", json!({ "path": "inbox/one.md" }));
    let cut_off = call.to_string().split_at(60).0.to_owned();
    let cases: Vec<(&str, Vec<u8>, i64)> = vec![
        ("no JSON", b"{marker-5c1d".to_vec(), PARSE_ERROR),
        ("cut off", cut_off.into_bytes(), PARSE_ERROR),
        (
            "two in one line",
            format!("{call}{call}").into_bytes(),
            PARSE_ERROR,
        ),
        (
            "plain words",
            b"marker-5c1d GET / HTTP/1.1".to_vec(),
            PARSE_ERROR,
        ),
        (
            "not UTF-8",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".to_vec(),
            PARSE_ERROR,
        ),
        ("bytes", vec![0xff, 0xfe, 0x80], PARSE_ERROR),
        ("NUL bytes", vec![0; 100], PARSE_ERROR),
        (
            "half a surrogate",
            br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#.to_vec(),
            PARSE_ERROR,
        ),
        ("deep nesting", deep.into_bytes(), PARSE_ERROR),
        ("an empty batch", b"[]".to_vec(), INVALID_REQUEST),
        (
            "a batch",
            format!("[{call},{call}]").into_bytes(),
            INVALID_REQUEST,
        ),
        (
            "a batch of one",
            format!("[{call}]").into_bytes(),
            INVALID_REQUEST,
        ),
        ("a number", b"7".to_vec(), INVALID_REQUEST),
        ("a string", br#""marker-5c1d""#.to_vec(), INVALID_REQUEST),
        ("null", b"null".to_vec(), INVALID_REQUEST),
        ("an empty object", b"{}".to_vec(), INVALID_REQUEST),
        (
            "no version",
            br#"{"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
        (
            "a null id",
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
        (
            "a fractional id",
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
        (
            "an object id",
            br#"{"jsonrpc":"2.0","id":{"marker-5c1d":1},"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
        (
            "a list id",
            br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
        (
            "a boolean id",
            br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
        (
            "a huge id",
            br#"{"jsonrpc":"2.0","id":1e300,"method":"ping"}"#.to_vec(),
            INVALID_REQUEST,
        ),
    ];
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut client = Client::stdio_in(&vault, era, &[]);
        for (case, line, code) in &cases {
            let server = client.raw();
            server.send_bytes(&[line, b"\n".as_slice()].concat());
            assert_error_without_id(&server.receive(), *code, case);
            client.still_answers(case);
        }
        client.assert_log_keeps_out(&[MARKER]);
    }
}

#[test]
fn a_malformed_request_with_a_usable_id_is_answered_with_it() {
    let vault = TestVault::sample();
    let mut client = Client::stdio(&vault, &[]);
    for (line, code) in [
        (r#"{"id":"marker","method":"ping"}"#, INVALID_REQUEST),
        (
            r#"{"jsonrpc":"1.0","id":"marker","method":"ping"}"#,
            INVALID_REQUEST,
        ),
        (
            r#"{"jsonrpc":2.0,"id":"marker","method":"ping"}"#,
            INVALID_REQUEST,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"marker","method":5}"#,
            INVALID_REQUEST,
        ),
        (r#"{"jsonrpc":"2.0","id":"marker"}"#, INVALID_REQUEST),
        (
            r#"{"jsonrpc":"2.0","id":"marker","method":"no/such"}"#,
            -32601,
        ),
        (r#"{"jsonrpc":"2.0","id":"marker","method":""}"#, -32601),
        (
            r#"{"jsonrpc":"2.0","id":"marker","method":"tools/call"}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"marker","method":"tools/call","params":[]}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"marker","method":"tools/call","params":"x"}"#,
            -32602,
        ),
    ] {
        let server = client.raw();
        server.send_line(line);
        let answer = server.receive();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer["id"], "marker", "{line}: {answer}");
        client.still_answers(line);
    }
}

/// Blank lines, unknown notifications and answers to nothing get no answer; the next thing that comes is the good one.
#[test]
fn what_needs_no_answer_gets_none() {
    let vault = TestVault::sample();
    let mut client = Client::stdio(&vault, &[]);
    for line in [
        "",
        "   \t ",
        "\r",
        r#"{"jsonrpc":"2.0","method":"notifications/no-such"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        r#"{"jsonrpc":"2.0","id":424242,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":424242,"error":{"code":1,"message":"x"}}"#,
    ] {
        client.raw().send_line(line);
        client.still_answers(line);
    }
}

#[test]
fn lines_that_are_too_long_are_thrown_away_whole() {
    const SIZE: usize = 20_000_000;
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut client = Client::stdio_in(&vault, era, &[]);
        let call = era.call(1, "get_note_outline", json!({ "path": "x".repeat(SIZE) }));
        let padded = format!(
            "{}{}",
            " ".repeat(SIZE),
            era.request(1, "tools/list", json!({}))
        );
        for (case, line) in [
            ("valid JSON", call.to_string()),
            ("valid JSON after blanks", padded),
            ("no JSON", "x".repeat(SIZE)),
            ("an open string", format!("\"{}", "x".repeat(SIZE))),
        ] {
            let server = client.raw();
            server.send_line(&line);
            assert_error_without_id(&server.receive(), INVALID_REQUEST, case);
            client.still_answers(case);
        }
    }
}

#[test]
fn an_id_that_is_still_in_use_is_refused_and_the_first_request_answered() {
    let vault = TestVault::sample();
    let mut client = Client::stdio(&vault, &[("SECTILE_FAULT", "sleep:get_note_outline:500")]);
    let server = client.raw();
    let slow = Era::Handshake.call(7, "get_note_outline", json!({ "path": "inbox/one.md" }));
    let other = Era::Handshake.call(7, "get_metadata_facets", json!({ "path": "inbox/one.md" }));
    // In one piece, so that the second is read while the first sleeps.
    server.send_bytes(format!("{slow}\n{slow}\n{other}\n").as_bytes());
    for _ in 0..2 {
        let refusal = server.receive();
        assert_eq!(refusal["id"], 7, "{refusal}");
        assert_eq!(refusal["error"]["code"], INVALID_REQUEST, "{refusal}");
    }
    let answer = server.receive();
    assert_eq!(answer["id"], 7, "{answer}");
    assert!(tool_text(&answer).contains("note_outline/v1"), "{answer}");
    // Once answered, the id is free again.
    let again = server.exchange(&other);
    assert_eq!(again["id"], 7, "{again}");
    assert!(tool_text(&again).contains("metadata_facets/v0"), "{again}");
    client.still_answers("an id in use");
}

#[test]
fn requests_before_initialize_are_refused_and_the_connection_lives() {
    let vault = TestVault::sample();
    for (method, params) in [
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({ "name": "get_note_outline", "arguments": { "path": "inbox/one.md" } }),
        ),
        ("no/such", json!({})),
    ] {
        let mut server = Stdio::start(&vault);
        let early = Era::Handshake.request(41, method, params);
        let refusal = server.exchange(&early);
        assert_eq!(refusal["id"], 41, "{method}: {refusal}");
        assert!(refusal["error"]["code"].is_i64(), "{method}: {refusal}");
        assert_works_after_initialize(&mut server, method);
    }
}

#[test]
fn a_notification_may_come_first() {
    let vault = TestVault::sample();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/no-such"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        "",
    ] {
        let mut server = Stdio::start(&vault);
        server.send_line(line);
        assert_works_after_initialize(&mut server, line);
    }
}

#[test]
fn a_malformed_line_may_come_first() {
    let vault = TestVault::sample();
    for (line, code) in [("{oops", PARSE_ERROR), ("[]", INVALID_REQUEST)] {
        let mut server = Stdio::start(&vault);
        server.send_line(line);
        assert_error_without_id(&server.receive(), code, line);
        assert_works_after_initialize(&mut server, line);
    }
}

fn assert_works_after_initialize(server: &mut Stdio<'_>, case: &str) {
    let answer = server.exchange(&initialize(42));
    assert_eq!(answer["id"], 42, "{case}: {answer}");
    assert!(
        answer["result"]["serverInfo"].is_object(),
        "{case}: {answer}"
    );
    server.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answer = server.call(
        Era::Handshake,
        "get_note_outline",
        json!({ "path": "inbox/one.md" }),
    );
    assert_eq!(tool_text(&answer), super::GOOD_OUTLINE, "{case}");
}
