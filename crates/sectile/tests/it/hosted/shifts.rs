//! A store, or a proxy before it, that sends more than it was asked for: no user is given what another asked for, and none
//! gets one note for another.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::json;

use crate::{
    fixture::{Caller, Era, Gateway, More, TestHosted, tool_text},
    vectors::TOOLS,
};

const ROUNDS: usize = 20;
const USERS: [&str; 2] = ["ada", "eve"];
const PATHS: [&str; 2] = ["a.md", "b.md"];

/// What is sent at once, and what a few milliseconds later, given a good answer.
type Trouble = fn(&str) -> (String, String);

const TROUBLES: [(&str, Trouble); 7] = [
    ("one answer too many", |good| {
        (good.repeat(2), String::new())
    }),
    ("one answer too many, later", |good| {
        (good.to_owned(), good.to_owned())
    }),
    ("two answers too many", |good| {
        (good.repeat(2), good.to_owned())
    }),
    ("a 204 with a body", |good| {
        (
            "HTTP/1.1 204 No Content\r\n\r\n".to_owned() + good,
            String::new(),
        )
    }),
    ("a 304 with a body, later", |good| {
        let head = format!(
            "HTTP/1.1 304 Not Modified\r\ncontent-length: {}\r\n\r\n",
            good.len()
        );
        (head, good.to_owned())
    }),
    ("a 404 without a length that has one", |good| {
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            good.to_owned(),
        )
    }),
    ("two lengths", |good| {
        let both = good.replacen("\r\n", "\r\ntransfer-encoding: chunked\r\n", 1);
        (both + "0\r\n\r\n", good.to_owned())
    }),
];

/// What the store has for a user at a path.
fn heading(user: &str, path: &str) -> String {
    format!("Of {user} at {path}")
}

/// A store that answers with its trouble. Gives its address.
fn store(trouble: Trouble, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || converse(stream.unwrap(), trouble, pause));
        }
    });
    url
}

fn converse(mut stream: TcpStream, trouble: Trouble, pause: Duration) {
    let mut head = Vec::new();
    let mut byte = [0];
    while let Ok(1) = stream.read(&mut byte) {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let path = text.split(' ').nth(1).unwrap().rsplit('/').next().unwrap();
        let user = text.split("x-user-id: ").nth(1).unwrap();
        let user = user.split("\r\n").next().unwrap();
        let body = json!({ "body": format!("# {}\n", heading(user, path)) }).to_string();
        let good = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let (now, later) = trouble(&good);
        if stream.write_all(now.as_bytes()).is_err() {
            return;
        }
        thread::sleep(pause);
        if stream.write_all(later.as_bytes()).is_err() {
            return;
        }
    }
}

/// Calls as each user, one note after the other, and looks for what belongs to somebody or something else.
fn call_around(gateway: &Gateway<'_>, name: &str) {
    for round in 0..ROUNDS {
        for user in USERS {
            let path = PATHS[round % 2];
            let caller = Caller::named(user);
            let arguments = json!({ "path": path });
            let answer = gateway.call(Era::BOTH[round % 2], &caller, TOOLS[round % 3], arguments);
            let shown = tool_text(&answer);
            for other_user in USERS {
                for other_path in PATHS {
                    let other = heading(other_user, other_path);
                    let is_own = (other_user, other_path) == (user, path);
                    assert!(
                        is_own || !shown.contains(&other),
                        "{name}: {user} at {path} gets {shown}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_answer_goes_to_another_user_or_note() {
    let hosted = TestHosted::empty();
    for (name, trouble) in TROUBLES {
        for pause in [0, 1, 3] {
            let url = store(trouble, Duration::from_millis(pause));
            let gateway = hosted.serve_with(More {
                hosted: "timeout_ms = 5000\nbreaker_failures = 10000\n",
                environment: &[("SECTILE_HOSTED__STORE_URL", &url)],
                ..More::default()
            });
            // Alone, then both users at once.
            call_around(&gateway, name);
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| call_around(&gateway, name));
                }
            });
        }
    }
}
