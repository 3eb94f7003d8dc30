//! The bytes sent for a request, proper or faulty.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::{Fault, notes::Answer};

/// One step of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes this many times.
    Repeat(Vec<u8>, usize),
    /// Sends these bytes one by one, with this pause between them.
    Drip(Vec<u8>, Duration),
    /// Does nothing for this long.
    Wait(Duration),
    /// Does nothing until the client disconnects.
    Hang,
    /// Closes the connection. Without it, the next request is awaited.
    Close,
}

/// A gzip file of a mebibyte of zeros; several concatenated ones are a gzip file as well.
const MEBIBYTE: &[u8] = include_bytes!("mebibyte.gz");
/// The number of mebibytes in the bomb.
const BOMB: usize = 256;

/// Returns the steps that answer a request with this proper answer.
pub(crate) fn steps(answer: Answer, fault: Option<Fault>) -> Vec<Step> {
    use Step::{Close, Drip, Hang, Repeat, Send, Wait};
    let proper = || response(answer.0, &[], answer.1.to_string().as_bytes());
    let Some(fault) = fault else {
        return vec![Send(proper())];
    };
    match fault {
        Fault::Slow(time) => vec![Wait(time), Send(proper())],
        Fault::Drip(time) => {
            let body = answer.1.to_string().into_bytes();
            let mut head = proper();
            head.truncate(head.len() - body.len());
            vec![Send(head), Drip(body, time)]
        }
        Fault::Huge(bytes) => {
            let (before, after) = (b"{\"body\":\"".as_slice(), b"\"}".as_slice());
            let length = before.len() + bytes / 8 * 8 + after.len();
            let mut head = head(200, &[("Content-Length", &length.to_string())]);
            head.extend_from_slice(before);
            vec![
                Send(head),
                Repeat(b"# Huge\\n".to_vec(), bytes / 8),
                Send(after.to_vec()),
            ]
        }
        Fault::Truncated => {
            let mut bytes = proper();
            bytes.truncate(bytes.len() - 1 - answer.1.to_string().len() / 2);
            vec![Send(bytes), Close]
        }
        Fault::Redirect(place) => vec![Send(response(302, &[("Location", &place)], b""))],
        Fault::Status(status) => {
            let page = secrets().to_string();
            vec![Send(response(status, &hostile_headers(), page.as_bytes()))]
        }
        Fault::Malformed => vec![Send(response(200, &[], page().as_bytes()))],
        Fault::GzipBomb => {
            let length = (MEBIBYTE.len() * BOMB).to_string();
            let headers = [("Content-Encoding", "gzip"), ("Content-Length", &length)];
            vec![Send(head(200, &headers)), Repeat(MEBIBYTE.to_vec(), BOMB)]
        }
        Fault::CloseMidBody => {
            let mut bytes = head(200, &[("Transfer-Encoding", "chunked")]);
            bytes.extend_from_slice(b"10\r\n{\"body\":\"# Half\\n\r\nff\r\nmore");
            vec![Send(bytes), Close]
        }
        Fault::CloseBeforeHead => vec![Close],
        Fault::Silence => vec![Hang],
        Fault::NotHttp => vec![Send(b"SSH-2.0-OpenSSH_9.9\r\n\r\n".to_vec()), Close],
        Fault::EndlessHead => vec![
            Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
            Repeat(
                format!("X-More: {}\r\n", "x".repeat(1000)).into_bytes(),
                100_000,
            ),
            Hang,
        ],
        Fault::HangUp => vec![Send(proper()), Close],
        Fault::Hostile => {
            let note = secrets().to_string();
            vec![Send(response(200, &hostile_headers(), note.as_bytes()))]
        }
        Fault::Canned(status, body) => vec![Send(response(status, &[], &body))],
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Status\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    (text + "\r\n").into_bytes()
}

fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let own = [
        ("Content-Type", "application/json"),
        ("Content-Length", &length),
    ];
    let mut bytes = head(status, &[own.as_slice(), headers].concat());
    bytes.extend_from_slice(body);
    bytes
}

/// A word that tests search for wherever nothing from the store may appear.
pub const SENTINEL: &str = "STORE-SENTINEL-41d7";

fn page() -> String {
    format!("<html><body>/srv/store/{SENTINEL} Bearer {SENTINEL}</body></html>")
}

fn hostile_headers() -> [(&'static str, &'static str); 3] {
    [
        ("Set-Cookie", "session=STORE-SENTINEL-41d7"),
        ("X-Storage-Path", "/srv/store/STORE-SENTINEL-41d7.md"),
        ("WWW-Authenticate", "Bearer realm=\"STORE-SENTINEL-41d7\""),
    ]
}

/// A note and an error that disclose everything.
fn secrets() -> Json {
    let everything = json!({
        "path": format!("/srv/store/{SENTINEL}.md"),
        "token": format!("Bearer {SENTINEL}"),
        "api_key": format!("sk-{SENTINEL}"),
    });
    json!({
        "path": format!("/srv/store/{SENTINEL}/private.md"),
        "id": format!("vault:{SENTINEL}"),
        "error": format!("ENOENT /srv/store/{SENTINEL}"),
        "message": page(),
        "token": format!("Bearer {SENTINEL}"),
        "gateway_secret": SENTINEL,
        "provider": everything,
        "resource": format!("note:///{SENTINEL}"),
        "frontmatter": {
            "title": "Hostile",
            "api_key": SENTINEL,
            "secret": everything,
            "body": format!("# {SENTINEL}"),
            SENTINEL: SENTINEL,
        },
        "body": format!(
            "---\nkey: {SENTINEL}\ntitle: {SENTINEL}\n---\n{SENTINEL} before\n\n# Heading\n\nBearer {SENTINEL}\n\n\
             <!-- {SENTINEL} -->\n\n```\n# {SENTINEL}\n```\n\n[a]: /srv/{SENTINEL}\n"
        ),
        "snippet": SENTINEL,
        "headings": [SENTINEL],
    })
}
