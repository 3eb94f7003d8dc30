//! How much may be asked, and how slowly: every bound has its answer, and the server goes on.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::json;

use super::{bearer, good_call, post_as, token_of, with_tokens};
use crate::fixture::{Era, HttpAnswer, PATIENCE, initialize};
use crate::fixture::{Http, TestVault};

fn assert_too_many(answer: &HttpAnswer) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let body = answer.json();
    assert_eq!(body["error"]["code"], -32073, "{body}");
    assert_eq!(body["error"]["data"]["kind"], "rate_limited", "{body}");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
}

/// Sends calls until one is refused, and gives how many were not.
fn until_refused(mut ask: impl FnMut() -> HttpAnswer) -> (usize, HttpAnswer) {
    for count in 0..200 {
        let answer = ask();
        if answer.status == 429 {
            return (count, answer);
        }
    }
    panic!("nothing is ever refused");
}

#[test]
fn a_caller_may_send_only_so_much_and_the_others_go_on() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "[server.limits]\nrequests_per_minute = 20\n");
    let era = Era::Stateless;
    let (ada, eve) = (token_of("ada", "viewer"), token_of("eve", "viewer"));
    let (count, refusal) = until_refused(|| post_as(&server, era, &ada, &good_call(era)));
    assert!((1..=40).contains(&count), "{count}");
    assert_too_many(&refusal);
    // Another token of the same user is the same caller.
    let again = token_of("ada", "admin");
    assert_too_many(&post_as(&server, era, &again, &good_call(era)));
    assert_eq!(post_as(&server, era, &eve, &good_call(era)).status, 200);
}

#[test]
fn an_address_may_send_only_so_much_even_without_signing_in() {
    let vault = TestVault::sample();
    let server = with_tokens(
        &vault,
        "[server.limits]\naddress_requests_per_minute = 20\n",
    );
    let era = Era::Stateless;
    let (count, refusal) = until_refused(|| post_as(&server, era, "Bearer x", &good_call(era)));
    assert!((1..=40).contains(&count), "{count}");
    assert_too_many(&refusal);
    assert_too_many(&post_as(
        &server,
        era,
        &token_of("ada", "viewer"),
        &good_call(era),
    ));
}

#[test]
fn behind_a_trusted_proxy_the_address_is_that_of_its_client() {
    let vault = TestVault::sample();
    let limits = "[server.limits]\naddress_requests_per_minute = 20\n";
    let era = Era::Stateless;
    let post = |server: &Http<'_>, client: &str| {
        let token = token_of("ada", "viewer");
        let headers = [
            ("Authorization", token.as_str()),
            ("X-Forwarded-For", client),
        ];
        server.post_with(era, &good_call(era), &headers)
    };
    let trusting = format!("{limits}[server.http]\ntrusted_proxies = ['127.0.0.1']\n");
    let server = with_tokens(&vault, &trusting);
    until_refused(|| post(&server, "192.0.2.1"));
    assert_eq!(
        post(&server, "192.0.2.1, 192.0.2.2").status,
        200,
        "the last one counts"
    );
    assert_too_many(&post(&server, "192.0.2.9, 192.0.2.1"));
    drop(server);
    let server = with_tokens(&vault, limits);
    until_refused(|| post(&server, "192.0.2.1"));
    assert_too_many(&post(&server, "192.0.2.2"));
}

#[test]
fn without_signing_in_nothing_is_counted() {
    let vault = TestVault::sample();
    let config =
        vault.config("[server.limits]\nrequests_per_minute = 1\naddress_requests_per_minute = 1\n");
    let server = Http::start_with(&vault, Some(&config), &[]);
    for _ in 0..30 {
        assert_eq!(
            server
                .post(Era::Stateless, &good_call(Era::Stateless))
                .status,
            200
        );
    }
}

#[test]
fn one_caller_cannot_take_all_sessions() {
    let vault = TestVault::empty();
    vault.note("a.md", "# A\n");
    let settings = "[server.http]\nmax_sessions = 5\nmax_sessions_per_caller = 2\n";
    let server = super::world_with_tokens(&vault, "editor", settings);
    let open = |user: &str| {
        post_as(
            &server,
            Era::Handshake,
            &token_of(user, "editor"),
            &initialize(1),
        )
    };
    assert_eq!((open("ada").status, open("ada").status), (200, 200));
    let refusal = open("ada");
    assert_eq!(refusal.status, 503);
    assert_eq!(refusal.json()["error"]["data"]["kind"], "too_many_sessions");
    assert_eq!((open("eve").status, open("eve").status), (200, 200));
    assert_eq!(open("bob").status, 200);
    assert_eq!(open("cy").status, 503, "five are open");
}

/// A connection with a request under way, whose body never comes.
pub(super) fn asking(server: &Http<'_>, authorization: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 100", "the body is waited for");
    stream
}

/// What comes back on a connection until it ends.
fn rest(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = Vec::new();
    // A reset is an end too.
    drop(stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn slow_and_oversize_requests_end_and_the_server_goes_on() {
    let vault = TestVault::sample();
    let server = with_tokens(
        &vault,
        "[server.http]\nreceive_timeout_ms = 300\nmax_head_bytes = 8192\n[server.limits]\nmax_message_bytes = 4096\n",
    );
    let token = token_of("ada", "viewer");
    let connect = || TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n"
    );

    let mut slow_head = connect();
    slow_head
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")
        .unwrap();
    let answer = rest(&mut slow_head);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
        "{answer}"
    );

    let mut slow_body = connect();
    slow_body
        .write_all(format!("{head}Content-Length: 100\r\n\r\n{{").as_bytes())
        .unwrap();
    let answer = rest(&mut slow_body);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("\"jsonrpc\""), "{answer}");

    let mut long_head = connect();
    let filler = "x".repeat(20_000);
    drop(long_head.write_all(format!("{head}X-Filler: {filler}\r\n\r\n").as_bytes()));
    let answer = rest(&mut long_head);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );

    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": { "x": "y".repeat(5000) } });
    let answer = post_as(&server, Era::Stateless, &token, &body);
    assert_eq!(answer.status, 413);
    assert_eq!(answer.json()["error"]["code"], -32600);

    let answer = post_as(&server, Era::Stateless, &token, &good_call(Era::Stateless));
    assert_eq!(answer.status, 200);
}

#[test]
fn there_are_only_so_many_connections() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "[server.http]\nmax_connections = 3\n");
    let token = token_of("ada", "viewer");
    let asking: Vec<TcpStream> = (0..3).map(|_| asking(&server, &token)).collect();
    let health = || {
        let mut stream = TcpStream::connect(server.address()).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        drop(stream.write_all(request));
        Some(rest(&mut stream))
    };
    crate::fixture::wait_for("all of them to be in use", || {
        (!health()?.contains("200 OK")).then_some(())
    });
    drop(asking);
    crate::fixture::wait_for("a free place", || {
        health()?.contains("200 OK").then_some(())
    });
}

#[test]
fn a_call_that_runs_gets_its_answer_when_the_server_is_asked_to_stop() {
    let vault = TestVault::sample();
    let mut server = with_tokens(&vault, "");
    let token = bearer(&crate::fixture::token(&crate::fixture::claims(
        "ada", "viewer",
    )));
    let message = good_call(Era::Stateless).to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: get_note_outline\r\nContent-Length: {}\r\n\r\n",
        message.len()
    );
    let (first, last) = message.split_at(message.len() / 2);
    stream
        .write_all(format!("{head}{first}").as_bytes())
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    super::signal(&mut server, "-TERM");
    std::thread::sleep(Duration::from_millis(100));
    stream.write_all(last.as_bytes()).unwrap();
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(crate::fixture::wait_for_exit(server.child()).success());
}
