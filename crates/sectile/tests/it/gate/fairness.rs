//! What one caller, or one address, can take from the others: places of calls, sessions, connections and memory.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    beside, good_call, limits::asking, post_as, token_of, tokens_settings, with_tokens,
    world_with_tokens,
};
use crate::fixture::{Era, Http, PATIENCE, TOKEN_SECRET, TestVault, initialize, wait_for};

/// A call that sleeps for longer than any test waits.
const ENDLESS: (&str, &str) = ("SECTILE_FAULT", "sleep:get_note_outline:600000");
const ERA: Era = Era::Stateless;

fn slow_call() -> Value {
    good_call(ERA)
}

fn quick_call() -> Value {
    ERA.call(8, "get_section_source", json!({ "path": "inbox/one.md" }))
}

/// Sends a request and leaves its answer to come.
fn begin(server: &Http<'_>, authorization: &str, message: &Value) -> TcpStream {
    let body = message.to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {}\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {}\r\nContent-Length: {}\r\n\r\n{body}",
        ERA.version(),
        message["params"]["name"].as_str().unwrap(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn a_caller_has_only_its_share_of_the_places_for_calls() {
    let vault = TestVault::sample();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let limits = "[server.limits]\nmax_in_flight = 8\nmax_waiting = 0\ncall_timeout_ms = 600000\n\
                  requests_per_minute = 1000000\n";
    let config = vault.config(&(tokens_settings() + limits));
    let server = Http::start_with(&vault, Some(&config), &[ENDLESS]);
    let (eve, ada) = (token_of("eve", "viewer"), token_of("ada", "viewer"));
    // A quarter of the places is hers. A call keeps its place until its handler ends, whether or not she waits for it.
    let held: Vec<TcpStream> = (0..2).map(|_| begin(&server, &eve, &slow_call())).collect();
    let refusal = wait_for("all that is hers to be taken", || {
        let mut stream = begin(&server, &eve, &slow_call());
        stream
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        text.contains("\"busy\"").then_some(text)
    });
    assert!(refusal.starts_with("HTTP/1.1 503"), "{refusal}");
    assert!(refusal.contains("-32072"), "{refusal}");
    for _ in 0..20 {
        let answer = post_as(&server, ERA, &ada, &quick_call());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    drop(held);
}

#[test]
fn silent_connections_give_way_to_those_who_ask() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "[server.http]\nmax_connections = 40\n");
    let ada = token_of("ada", "viewer");
    let mut silent = Vec::new();
    for _ in 0..60 {
        silent.push(TcpStream::connect(server.address()).unwrap());
    }
    for _ in 0..10 {
        let answer = post_as(&server, ERA, &ada, &good_call(ERA));
        assert_eq!(answer.status, 200, "{answer:?}");
        silent.push(TcpStream::connect(server.address()).unwrap());
    }
}

#[test]
fn handshakes_that_are_broken_off_leave_no_session() {
    let vault = TestVault::empty();
    vault.note("a.md", "# A\n");
    let settings = "[server.http]\nmax_sessions = 8\nmax_sessions_per_caller = 4\n\
                    [server.limits]\nrequests_per_minute = 1000000\n";
    let server = world_with_tokens(&vault, "editor", settings);
    let eve = token_of("eve", "editor");
    let mut hello = initialize(1);
    hello["params"]["capabilities"] = json!({ "experimental": { "x": { "a": vec![0; 60_000] } } });
    let body = hello.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {eve}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    for round in 0..40 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        std::thread::sleep(Duration::from_millis(round % 20));
        // Dropped with its answer unread, or not yet sent.
    }
    let open = || post_as(&server, Era::Handshake, &eve, &initialize(1)).status == 200;
    // Those whose answer had left count as hers, and as nobody else's, until it is clear that she will not come back.
    let own = (0..8).filter(|_| open()).count();
    assert!(own <= 4, "{own}");
    for user in ["ada", "bob"] {
        let authorization = token_of(user, "editor");
        let opened = (0..2).filter(|_| {
            let answer = post_as(&server, Era::Handshake, &authorization, &initialize(1));
            answer.status == 200
        });
        assert_eq!(opened.count(), 2, "{user}");
    }
}

#[test]
fn a_handshake_costs_no_more_than_what_is_asked_for_later() {
    let vault = TestVault::empty();
    vault.note("a.md", "# A\n");
    let settings = "[server.http]\nmax_sessions_per_caller = 60\n";
    let mut server = world_with_tokens(&vault, "editor", settings);
    let eve = token_of("eve", "editor");
    let mut hello = initialize(1);
    assert_eq!(post_as(&server, Era::Handshake, &eve, &hello).status, 200);
    let before = resident(&mut server);
    hello["params"]["capabilities"] = json!({ "experimental": { "x": { "a": vec![0; 400_000] } } });
    for _ in 0..20 {
        assert_eq!(post_as(&server, Era::Handshake, &eve, &hello).status, 200);
    }
    let grown = resident(&mut server).saturating_sub(before);
    // A tree of one of them takes more than 12 MB.
    assert!(grown < 60 << 20, "{grown} bytes for twenty sessions");
}

/// Resident memory of the server, in bytes.
fn resident(server: &mut Http<'_>) -> usize {
    let id = server.child().id();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

#[test]
fn a_caller_has_only_so_many_large_messages_and_the_others_go_on() {
    let vault = TestVault::sample();
    let server = with_tokens(&vault, "[server.http]\nreceive_timeout_ms = 60000\n");
    let (eve, ada) = (token_of("eve", "viewer"), token_of("ada", "viewer"));
    let large = |_| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {eve}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    // More than all places for large messages, of one caller, who never sends the rest.
    let mut held: Vec<TcpStream> = (0..50).map(large).collect();
    let padding = " ".repeat(100_000);
    let call = good_call(Era::Handshake).to_string();
    let body = format!("{}{padding}}}", &call[..call.len() - 1]);
    let headers = [
        ("Authorization", ada.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    for _ in 0..5 {
        let answer = server.request("POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // Only those are read that are within her share: the others have not been asked for their bodies.
    let mut is_read = || {
        let mut count = 0;
        for stream in &mut held {
            stream.set_nonblocking(true).unwrap();
            count += usize::from(stream.peek(&mut [0]).is_ok());
        }
        count
    };
    wait_for("her share to be in use", || (is_read() >= 4).then_some(()));
    assert_eq!(is_read(), 4);
}

#[test]
fn an_address_has_only_its_share_of_connections() {
    let vault = TestVault::sample();
    let settings = "[server.http]\nmax_connections = 100\nmax_connections_per_address = 3\n";
    let server = with_tokens(&vault, settings);
    let ada = token_of("ada", "viewer");
    let asking: Vec<TcpStream> = (0..3).map(|_| asking(&server, &ada)).collect();
    wait_for("all places of the address to be in use", || {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        drop(
            stream.write_all(
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            ),
        );
        let mut text = String::new();
        drop(stream.read_to_string(&mut text));
        text.is_empty().then_some(())
    });
    drop(asking);
    wait_for("a free place", || {
        let mut stream = TcpStream::connect(server.address()).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        text.contains("200 OK").then_some(())
    });
}
