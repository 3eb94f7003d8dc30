//! Every kind of bad input gets a typed answer, and the server goes on.

mod arguments;
mod faults;
#[cfg(unix)]
mod files;
mod messages;
mod notes;
mod paths;
#[cfg(unix)]
mod races;

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    fixture::{Era, Http, Stdio, TestVault, tool_text, wait_for},
    vectors::TOOLS,
};

/// The one answer to every unsafe path.
const INVALID_PATH: &str = "Invalid path: path must be vault-relative and cannot escape vault";

/// Sent in bad values. What is refused is not repeated, neither to the client nor in the log.
const MARKER: &str = "marker-5c1d";

/// The outline of `TestVault::sample`'s note.
const GOOD_OUTLINE: &str = concat!(
    r#"{"schema":"knowtation.note_outline/v1","path":"inbox/one.md","title":"One","headings":["#,
    r#"{"level":1,"text":"Inbox one","id":"h1-inbox-one-0001"},"#,
    r#"{"level":2,"text":"Child","id":"h2-child-0002"},"#,
    r#"{"level":2,"text":"Empty","id":"h2-empty-0003"}],"truncated":false}"#
);

/// A server with one way to talk to it.
struct Client<'a> {
    transport: Transport<'a>,
    era: Era,
    next_id: u64,
}

enum Transport<'a> {
    Stdio(Stdio<'a>),
    Http(Http<'a>),
}

impl<'a> Client<'a> {
    fn stdio(vault: &'a TestVault, environment: &[(&str, &str)]) -> Self {
        Self::stdio_in(vault, Era::Handshake, environment)
    }

    fn stdio_in(vault: &'a TestVault, era: Era, environment: &[(&str, &str)]) -> Self {
        let server = Stdio::ready_with(vault, era, None, environment);
        Self {
            transport: Transport::Stdio(server),
            era,
            next_id: 0,
        }
    }

    /// A server for each transport and era.
    fn everywhere(vault: &'a TestVault, environment: &[(&str, &str)]) -> Vec<Self> {
        let stdio = Era::BOTH.map(|era| Self::stdio_in(vault, era, environment));
        let http = Era::BOTH.map(|era| Self {
            transport: Transport::Http(Http::start_with(vault, None, environment)),
            era,
            next_id: 0,
        });
        stdio.into_iter().chain(http).collect()
    }

    fn name(&self) -> String {
        let transport = match self.transport {
            Transport::Stdio(_) => "stdio",
            Transport::Http(_) => "HTTP",
        };
        format!("{transport}, {:?}", self.era)
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let message = self.era.request(self.next_id, method, params);
        let answer = match &mut self.transport {
            Transport::Stdio(server) => server.exchange(&message),
            Transport::Http(server) => server.post(self.era, &message).json(),
        };
        assert_eq!(answer["id"], self.next_id, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    fn read(&mut self, tool: &str, path: &str) -> Value {
        self.call(tool, json!({ "path": path }))
    }

    /// The answer of a call that must succeed, decoded.
    fn view(&mut self, tool: &str, path: &str) -> Value {
        let answer = self.read(tool, path);
        assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
        self.still_answers(path);
        serde_json::from_str(tool_text(&answer)).unwrap()
    }

    /// The call fails with exactly this message, says no more than that, and the next good call works.
    fn fails(&mut self, tool: &str, arguments: Value, message: &str, case: &str) {
        let answer = self.call(tool, arguments);
        let case = format!("{case}, {tool}, {}", self.name());
        assert_failure(&answer, message, &case);
        self.still_answers(&case);
    }

    /// The same failure for `path` from every tool, and the next good call works.
    fn all_tools_fail(&mut self, path: &str, message: &str) {
        let case = format!("path {path:?}");
        for tool in TOOLS {
            let answer = self.read(tool, path);
            assert_failure(
                &answer,
                message,
                &format!("{case}, {tool}, {}", self.name()),
            );
        }
        self.still_answers(&case);
    }

    /// A good call still gets its answer.
    fn still_answers(&mut self, case: &str) {
        let answer = self.read("get_note_outline", "inbox/one.md");
        assert_eq!(
            answer["result"]["content"][0]["text"],
            GOOD_OUTLINE,
            "after {case}, {}",
            self.name()
        );
    }

    /// Ends the server and returns all that it has logged.
    fn whole_log(mut self) -> String {
        match &mut self.transport {
            Transport::Stdio(server) => server.end_input(),
            Transport::Http(server) => {
                let process = server.child().id();
                let mut stop = Command::new("sh");
                stop.args(["-c", &format!("kill -TERM {process}")]);
                assert!(stop.status().unwrap().success());
            }
        }
        wait_for("the last line of the log", || {
            let log = match &self.transport {
                Transport::Stdio(server) => server.log(),
                Transport::Http(server) => server.log(),
            };
            log.contains("stopped").then_some(log)
        })
    }

    /// Ends the server. Nothing of what was refused is in its log, which does tell of the calls.
    fn assert_log_keeps_out(self, words: &[&str]) {
        let log = self.whole_log();
        assert!(log.contains("get_note_outline"), "{log}");
        for word in words {
            assert!(!log.contains(word), "{word:?} is in the log: {log}");
        }
    }

    /// The stdio server behind this client.
    fn raw(&mut self) -> &mut Stdio<'a> {
        match &mut self.transport {
            Transport::Stdio(server) => server,
            Transport::Http(_) => panic!("only stdio has lines"),
        }
    }
}

/// An error result whose text has exactly two keys, in this order.
fn assert_failure(answer: &Value, message: &str, case: &str) {
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{case}: {answer}");
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{case}");
    assert_eq!(result["structuredContent"], Value::Null, "{case}: {answer}");
    assert_eq!(
        tool_text(answer),
        format!(
            r#"{{"error":{},"code":"RUNTIME_ERROR"}}"#,
            Value::from(message)
        ),
        "{case}"
    );
}
