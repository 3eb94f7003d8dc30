//! The MCP protocol itself: eras, malformed messages, limits, shutdown.

mod connections;
mod endings;
mod eras;
mod http;
mod limits;
mod stdio;

use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio as Pipe},
};

use serde_json::{Value, json};

use crate::fixture::{
    Era, Http, HttpAnswer, Stdio, TestVault, assert_nothing_leaks, sectile, wait_for_exit,
};

/// A call that sleeps for longer than any test waits.
const ENDLESS: (&str, &str) = ("SECTILE_FAULT", "sleep:get_note_outline:600000");

/// The tool that sleeps.
const SLOW: &str = "get_note_outline";

/// A tool that does not.
const QUICK: &str = "get_section_source";

fn note() -> Value {
    json!({ "path": "inbox/one.md" })
}

/// A server on one of the two transports, for what must hold on both.
enum Wire<'a> {
    Stdio(Stdio<'a>),
    Http(Http<'a>),
}

/// What a client hears: the status where there is one, and the message.
#[derive(Debug)]
struct Heard {
    status: Option<u16>,
    message: Value,
}

impl Heard {
    fn code(&self) -> &Value {
        &self.message["error"]["code"]
    }
}

impl<'a> Wire<'a> {
    fn both(vault: &'a TestVault, era: Era) -> [Self; 2] {
        [
            Self::Stdio(Stdio::ready(vault, era)),
            Self::Http(Http::start(vault)),
        ]
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "HTTP",
        }
    }

    fn ask(&mut self, era: Era, message: &Value) -> Heard {
        match self {
            Self::Stdio(server) => Heard {
                status: None,
                message: server.exchange(message),
            },
            Self::Http(server) => {
                let answer = post(server, era, message);
                Heard {
                    status: Some(answer.status),
                    message: answer.json(),
                }
            }
        }
    }
}

/// Posts a message with all the headers of its era, also for methods that are about a URI.
fn post(server: &Http<'_>, era: Era, message: &Value) -> HttpAnswer {
    let params = &message["params"];
    let name = params["name"].as_str().or(params["uri"].as_str());
    let mut headers = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", era.version()),
    ];
    if era == Era::Stateless {
        headers.push(("Mcp-Method", message["method"].as_str().unwrap_or_default()));
        headers.extend(name.map(|name| ("Mcp-Name", name)));
    }
    server.request("POST", "/mcp", &headers, message.to_string().as_bytes())
}

/// Asks a process to stop, as a supervisor does.
pub(crate) fn terminate(process_id: u32) {
    let status = Command::new("kill")
        .args(["-TERM", &process_id.to_string()])
        .status()
        .unwrap();
    assert!(status.success(), "the signal was sent");
}

/// The binary with pipes that the test holds itself.
fn spawn(vault: &TestVault, environment: &[(&str, &str)]) -> Child {
    sectile()
        .args(["serve", "vault"])
        .arg(vault.root())
        .envs(environment.iter().copied())
        .stdin(Pipe::piped())
        .stdout(Pipe::piped())
        .stderr(Pipe::piped())
        .spawn()
        .unwrap()
}

/// Every message that the server writes when `input` is all it ever reads.
fn answers_to(vault: &TestVault, environment: &[(&str, &str)], input: &[u8]) -> Vec<Value> {
    let mut child = spawn(vault, environment);
    child.stdin.take().unwrap().write_all(input).unwrap();
    let status = wait_for_exit(&mut child);
    let (mut text, mut log) = (String::new(), String::new());
    child.stdout.unwrap().read_to_string(&mut text).unwrap();
    child.stderr.unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(status.code(), Some(0), "{log}");
    assert_nothing_leaks(&text, vault, "stdout");
    assert_nothing_leaks(&log, vault, "stderr");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The ids of `answers`, sorted: calls may be answered in any order.
fn ids(answers: &[Value]) -> Vec<Value> {
    let mut ids: Vec<Value> = answers.iter().map(|answer| answer["id"].clone()).collect();
    ids.sort_by_key(Value::to_string);
    ids
}
