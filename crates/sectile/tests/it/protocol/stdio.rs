//! Lines on standard input and output: malformed ones, silent ones, ids, order and cancellation.

use serde_json::{Value, json};

use super::{ENDLESS, QUICK, SLOW, answers_to, ids, note};
use crate::fixture::{Era, Stdio, TestVault, initialize};

fn cancelled(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": id, "reason": "no longer needed" },
    })
    .to_string()
}

/// Lines that are no valid message, with the code they get and the id that can be read from them.
fn malformed_lines() -> Vec<(Vec<u8>, i32, Option<Value>)> {
    let seven = Some(json!(7));
    let text = |line: &str| line.as_bytes().to_vec();
    vec![
        (text("{not json"), -32700, None),
        (
            text(r#"{"jsonrpc":"2.0","id":7,"method":"ping""#),
            -32700,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":7,"method":"ping"} x"#),
            -32700,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#),
            -32700,
            None,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\xfe\"}".to_vec(),
            -32700,
            None,
        ),
        (b"\x00".to_vec(), -32700, None),
        (text(&"[".repeat(100_000)), -32700, None),
        (text(&r#"{"a":"#.repeat(100_000)), -32700, None),
        (text("[]"), -32600, None),
        (
            text(r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#),
            -32600,
            None,
        ),
        (text("7"), -32600, None),
        (text(r#""ping""#), -32600, None),
        (text("null"), -32600, None),
        (text("{}"), -32600, None),
        (text(r#"{"id":7,"method":"ping"}"#), -32600, seven.clone()),
        (
            text(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#),
            -32600,
            seven.clone(),
        ),
        (
            text(r#"{"jsonrpc":2.0,"id":"a","method":"ping"}"#),
            -32600,
            Some(json!("a")),
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
            -32600,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#),
            -32600,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":[7],"method":"ping"}"#),
            -32600,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#),
            -32600,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":7,"method":5}"#),
            -32600,
            seven.clone(),
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":7,"method":null}"#),
            -32600,
            seven.clone(),
        ),
        (text(r#"{"jsonrpc":"2.0","id":7}"#), -32600, seven.clone()),
        // An id that is too long is refused, and not sent back.
        (
            text(&format!(
                r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#,
                "x".repeat(257)
            )),
            -32600,
            None,
        ),
        (
            text(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":5}"#),
            -32602,
            seven,
        ),
    ]
}

#[test]
fn every_malformed_line_is_answered_and_the_connection_lives() {
    let vault = TestVault::sample();
    let mut fresh = Stdio::start(&vault);
    let mut ready = Stdio::ready(&vault, Era::Handshake);
    for (line, code, id) in malformed_lines() {
        let shown: String = String::from_utf8_lossy(&line).chars().take(80).collect();
        for server in [&mut ready, &mut fresh] {
            server.send_bytes(&[&line, &b"\n"[..]].concat());
            let answer = server.receive();
            assert_eq!(answer["jsonrpc"], "2.0", "{shown}");
            assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
            assert_eq!(answer.get("id"), id.as_ref(), "{shown}: {answer}");
        }
    }
    let answer = ready.call(Era::Handshake, QUICK, note());
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let answer = fresh.exchange(&initialize(1));
    assert_eq!(answer["result"]["serverInfo"]["name"], "sectile");
}

#[test]
fn what_is_no_request_gets_no_answer() {
    let silent = [
        "",
        "   \t ",
        "\r",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":5}"#,
        r#"{"jsonrpc":"2.0","id":12,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":12,"error":{"code":1,"message":"x"}}"#,
    ];
    let vault = TestVault::sample();
    for mut server in [
        Stdio::start(&vault),
        Stdio::ready(&vault, Era::Handshake),
        Stdio::ready(&vault, Era::Stateless),
    ] {
        for line in silent {
            server.send_line(line);
        }
        // The next line answers the next request, so nothing was written before it.
        let answer = server.exchange(&Era::Stateless.request(5, "tools/list", json!({})));
        assert_eq!(answer["id"], 5, "{answer}");
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[test]
fn a_bom_line_ends_and_blanks_around_a_message_do_not_matter() {
    let vault = TestVault::sample();
    let mut server = Stdio::start(&vault);
    let mut first = b"\xef\xbb\xbf".to_vec();
    first.extend(initialize(1).to_string().as_bytes());
    first.extend(b"\r\n");
    server.send_bytes(&first);
    assert_eq!(server.receive()["id"], 1);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    for line in [
        format!("{ping}\r\n"),
        format!("\n\r\n  \n{ping}\n"),
        format!("  {ping}\t \n"),
        format!("\u{feff}{ping}\n"),
        ping.replace(',', " ,\r ") + "\n",
    ] {
        server.send_bytes(line.as_bytes());
        let answer = server.receive();
        assert_eq!(
            answer,
            json!({ "jsonrpc": "2.0", "id": 2, "result": {} }),
            "{line:?}"
        );
    }
}

#[test]
fn an_id_comes_back_as_it_was_sent() {
    let vault = TestVault::sample();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for id in [
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!("a"),
        json!(""),
        json!("1"),
        json!("ö\n"),
    ] {
        let answer = server.exchange(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        assert_eq!(answer["id"], id);
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[test]
fn a_cancelled_call_is_not_answered_and_later_ones_are() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut lines = vec![
            era.call(1, SLOW, note()).to_string(),
            cancelled(1),
            era.call(2, QUICK, note()).to_string(),
        ];
        if era == Era::Handshake {
            lines.insert(0, initialize(0).to_string());
        }
        let answers = answers_to(&vault, &[ENDLESS], (lines.join("\n") + "\n").as_bytes());
        let mut ids = ids(&answers);
        ids.retain(|id| *id != 0);
        assert_eq!(ids, [json!(2)], "{era:?}: {answers:?}");
    }
}

#[test]
fn the_id_of_a_cancelled_call_is_free_again() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut server = Stdio::ready_with(&vault, era, None, &[ENDLESS]);
        for _ in 0..5 {
            server.send_line(&era.call(7, SLOW, note()).to_string());
            server.send_line(&cancelled(7));
            let answer = server.exchange(&era.call(7, QUICK, note()));
            let schema = &answer["result"]["structuredContent"]["schema"];
            assert_eq!(schema, "knowtation.section_source/v0", "{era:?}: {answer}");
        }
        assert!(server.finish().success(), "{era:?}");
    }
}

#[test]
fn an_id_that_is_in_use_is_refused_and_the_first_request_still_answered() {
    let vault = TestVault::sample();
    let sleep = ("SECTILE_FAULT", "sleep:get_note_outline:1500");
    let mut server = Stdio::ready_with(&vault, Era::Handshake, None, &[sleep]);
    let call = Era::Handshake.call(7, SLOW, note());
    let ping = Era::Handshake.request(7, "ping", json!({}));
    server.send_bytes(format!("{call}\n{ping}\n").as_bytes());
    let refusal = server.receive();
    assert_eq!(refusal["error"]["code"], -32600, "{refusal}");
    assert_eq!(refusal["id"], 7);
    let answer = server.receive();
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn an_id_is_free_again_as_soon_as_its_answer_is_read() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut server = Stdio::ready(&vault, era);
        for round in 0..300 {
            let answer = server.exchange(&era.call(7, QUICK, note()));
            assert_eq!(
                answer["result"]["isError"], false,
                "{era:?}, {round}: {answer}"
            );
        }
    }
}

#[test]
fn a_slow_call_does_not_hold_up_others() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut server = Stdio::ready_with(&vault, era, None, &[ENDLESS]);
        server.send_line(&era.call(1, SLOW, note()).to_string());
        for id in 2..20 {
            let answer = server.exchange(&era.call(id, QUICK, note()));
            assert_eq!(answer["id"], id, "{era:?}");
        }
    }
}
