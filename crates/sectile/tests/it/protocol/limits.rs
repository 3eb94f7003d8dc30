//! The limits of `[server.limits]`, each at its edge and with its typed answer.

use serde_json::{Value, json};

use super::{ENDLESS, QUICK, SLOW, note, post};
use crate::fixture::{Era, Http, Stdio, TestVault, wait_for};

const MAX_MESSAGE_BYTES: usize = 2048;

/// A request that is `length` bytes long.
fn padded(era: Era, length: usize) -> String {
    let message = era.request(1, "tools/list", json!({})).to_string();
    let padding = " ".repeat(length - message.len());
    format!("{}{padding}}}", &message[..message.len() - 1])
}

fn assert_too_large(answer: &Value, case: &str) {
    assert_eq!(answer["error"]["code"], -32600, "{case}: {answer}");
    assert_eq!(
        answer["error"]["message"], "Invalid Request: the message is too large.",
        "{case}"
    );
    assert_eq!(answer.get("id"), None, "{case}");
}

#[test]
fn the_longest_message_on_stdio_is_answered_and_a_longer_one_refused() {
    let vault = TestVault::sample();
    let config = vault.config(&format!(
        "[server.limits]\nmax_message_bytes = {MAX_MESSAGE_BYTES}\n"
    ));
    for era in Era::BOTH {
        let mut server = Stdio::ready_with(&vault, era, Some(&config), &[]);
        for (over, fits) in [
            (-1, true),
            (0, true),
            (1, false),
            (2, false),
            (100_000, false),
        ] {
            let length = MAX_MESSAGE_BYTES.checked_add_signed(over).unwrap();
            server.send_line(&padded(era, length));
            let answer = server.receive();
            let case = format!("{over} over the limit, {era:?}");
            if fits {
                assert!(answer["result"].is_object(), "{case}: {answer}");
            } else {
                assert_too_large(&answer, &case);
            }
        }
        server.send_line(&padded(era, MAX_MESSAGE_BYTES / 2));
        assert!(server.receive()["result"].is_object());
    }
}

#[test]
fn an_overlong_line_in_pieces_is_refused_once() {
    let vault = TestVault::sample();
    let config = vault.config(&format!(
        "[server.limits]\nmax_message_bytes = {MAX_MESSAGE_BYTES}\n"
    ));
    let era = Era::Handshake;
    let mut server = Stdio::ready_with(&vault, era, Some(&config), &[]);
    for _ in 0..50 {
        server.send_bytes(&[b'x'; MAX_MESSAGE_BYTES]);
    }
    assert_too_large(&server.receive(), "before the line has ended");
    server.send_bytes(b"x\n");
    let answer = server.call(era, QUICK, note());
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    server.send_bytes(&[b'x'; MAX_MESSAGE_BYTES + 1]);
    server.end_input();
    assert_too_large(&server.receive(), "a line that never ends");
    assert!(server.finish().success());
}

#[test]
fn the_longest_body_on_http_is_answered_and_a_longer_one_refused() {
    let vault = TestVault::sample();
    let config = vault.config(&format!(
        "[server.limits]\nmax_message_bytes = {MAX_MESSAGE_BYTES}\n"
    ));
    let server = Http::start_with(&vault, Some(&config), &[]);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: */*\r\n",
        server.address()
    );
    for (over, status) in [(-1, 200), (0, 200), (1, 413), (100_000, 413)] {
        let length = MAX_MESSAGE_BYTES.checked_add_signed(over).unwrap();
        let body = padded(Era::Handshake, length);
        let counted = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        let (first, rest) = body.split_at(100);
        let chunked = format!(
            "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n",
            first.len(),
            rest.len()
        );
        for (form, request) in [("counted", counted), ("chunked", chunked)] {
            let answer = server.raw(request.as_bytes());
            let case = format!("{over} over the limit, {form}");
            assert_eq!(answer.status, status, "{case}");
            if status == 200 {
                assert!(answer.json()["result"].is_object(), "{case}");
            } else {
                assert_too_large(&answer.json(), &case);
            }
        }
    }
}

#[test]
fn a_call_that_takes_too_long_is_given_up() {
    let vault = TestVault::sample();
    let config = vault.config("[server.limits]\ncall_timeout_ms = 50\nmax_in_flight = 1\n");
    for era in Era::BOTH {
        let mut stdio = Stdio::ready_with(&vault, era, Some(&config), &[ENDLESS]);
        let http = Http::start_with(&vault, Some(&config), &[ENDLESS]);
        let over_http = post(&http, era, &era.call(1, SLOW, note()));
        assert_eq!(over_http.status, 200, "{era:?}");
        for answer in [stdio.call(era, SLOW, note()), over_http.json()] {
            assert_eq!(answer["error"]["code"], -32074, "{era:?}: {answer}");
            assert_eq!(answer["error"]["data"]["kind"], "timed_out", "{era:?}");
        }
    }
}

#[test]
fn a_call_that_was_given_up_keeps_its_place_until_its_handler_ends() {
    let vault = TestVault::sample();
    let config =
        vault.config("[server.limits]\ncall_timeout_ms = 50\nmax_in_flight = 1\nmax_waiting = 0\n");
    let era = Era::Handshake;
    let sleep = ("SECTILE_FAULT", "sleep:get_note_outline:1500");
    let mut server = Stdio::ready_with(&vault, era, Some(&config), &[sleep]);
    let answer = server.call(era, SLOW, note());
    assert_eq!(answer["error"]["data"]["kind"], "timed_out", "{answer}");
    let answer = server.call(era, QUICK, note());
    assert_eq!(answer["error"]["data"]["kind"], "busy", "{answer}");
    wait_for("the place to be free", || {
        let answer = server.call(era, QUICK, note());
        (answer["result"]["isError"] == false).then_some(())
    });
}

#[test]
fn calls_beyond_the_places_are_refused_as_busy() {
    let vault = TestVault::sample();
    let config = vault.config("[server.limits]\nmax_in_flight = 1\nmax_waiting = 0\n");
    for era in Era::BOTH {
        // Both sleep for longer than the test waits, so the answer that comes is that of the one without a place.
        let mut server = Stdio::ready_with(&vault, era, Some(&config), &[ENDLESS]);
        server.send_line(&era.call(1, SLOW, note()).to_string());
        server.send_line(&era.call(2, SLOW, note()).to_string());
        let answer = server.receive();
        assert_eq!(answer["error"]["code"], -32072, "{era:?}: {answer}");
        assert_eq!(answer["error"]["data"]["kind"], "busy", "{era:?}");
        // What needs no place is still served.
        let listing = server.exchange(&era.request(3, "tools/list", json!({})));
        assert_eq!(listing["id"], 3, "{era:?}");
    }
}

#[test]
fn calls_that_may_wait_are_all_answered() {
    let vault = TestVault::sample();
    let config = vault.config("[server.limits]\nmax_in_flight = 1\nmax_waiting = 10\n");
    let sleep = ("SECTILE_FAULT", "sleep:get_note_outline:20");
    for era in Era::BOTH {
        let mut server = Stdio::ready_with(&vault, era, Some(&config), &[sleep]);
        for id in 1..=8 {
            server.send_line(&era.call(id, SLOW, note()).to_string());
        }
        let mut answered: Vec<u64> = (1..=8)
            .map(|_| {
                let answer = server.receive();
                assert_eq!(answer["result"]["isError"], false, "{era:?}: {answer}");
                answer["id"].as_u64().unwrap()
            })
            .collect();
        answered.sort_unstable();
        assert_eq!(answered, Vec::from_iter(1..=8), "{era:?}");
    }
}
