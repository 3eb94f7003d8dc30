//! HTTP connections: several at a time, several requests on one, half a request, and where a server may listen.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Stdio as Pipe,
    thread,
};

use serde_json::Value;

use super::{
    QUICK, SLOW,
    http::{assert_listed, listing},
    note, post,
};
use crate::fixture::{Era, Http, HttpAnswer, PATIENCE, Recording, TestVault, sectile};

#[test]
fn the_same_id_on_requests_at_the_same_time_is_no_conflict() {
    let vault = TestVault::sample();
    let sleep = ("SECTILE_FAULT", "sleep:get_note_outline:100");
    let server = Http::start_with(&vault, None, &[sleep]);
    for era in Era::BOTH {
        let call = era.call(7, SLOW, note());
        let answers: Vec<HttpAnswer> = thread::scope(|scope| {
            let calls: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| post(&server, era, &call)))
                .collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        assert_eq!(answers[0].json()["result"]["isError"], false, "{era:?}");
        for answer in &answers {
            assert_eq!(answer, &answers[0], "{era:?}");
        }
    }
}

/// A connection that stays open between requests.
pub(super) struct KeptAlive(TcpStream, Recording);

impl KeptAlive {
    pub(super) fn open(server: &Http<'_>) -> Self {
        let connection = TcpStream::connect(server.address()).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(connection, server.answers())
    }

    pub(super) fn exchange(&mut self, message: &Value) -> Value {
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: */*\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let (_, rest) = head.split_once("content-length: ").unwrap();
        let length: usize = rest.lines().next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        self.1.add(&body);
        serde_json::from_slice(&body).unwrap()
    }
}

#[test]
fn one_connection_serves_many_requests() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let mut connection = KeptAlive::open(&server);
    for id in 1..=3 {
        let answer = connection.exchange(&Era::Handshake.call(id, QUICK, note()));
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[test]
fn half_a_request_holds_up_nobody() {
    let vault = TestVault::sample();
    let server = Http::start(&vault);
    let halves = [
        "",
        "POST /mcp HT",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: appli",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n\
         Content-Length: 1000\r\n\r\n{\"jsonrpc\":",
    ];
    let held: Vec<TcpStream> = halves
        .iter()
        .cycle()
        .take(40)
        .map(|half| {
            let mut connection = TcpStream::connect(server.address()).unwrap();
            connection.write_all(half.as_bytes()).unwrap();
            connection
        })
        .collect();
    for era in Era::BOTH {
        assert_listed(&post(&server, era, &listing(era)), "beside half requests");
    }
    drop(held);
    assert_listed(
        &post(&server, Era::Handshake, &listing(Era::Handshake)),
        "after them",
    );
}

#[test]
fn addresses_that_cannot_be_served_are_refused() {
    let vault = TestVault::sample();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, sentence) in [
        ("0.0.0.0:0", "must be a loopback address with a port"),
        ("[::]:0", "must be a loopback address with a port"),
        ("192.0.2.1:7420", "must be a loopback address with a port"),
        ("127.0.0.1", "must be a loopback address with a port"),
        ("notes", "must be a loopback address with a port"),
        (&taken, "cannot listen on"),
    ] {
        let output = sectile()
            .args(["serve", "vault"])
            .arg(vault.root())
            .args(["--http", address])
            .stdin(Pipe::null())
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{address}: {message}");
        assert!(message.contains(sentence), "{address}: {message}");
        assert_eq!(output.stdout, b"", "{address}");
    }
}
