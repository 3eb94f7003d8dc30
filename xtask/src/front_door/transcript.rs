//! The calls that the README shows, made with the real server.
//!
//! A line `-> tool {arguments}` is a call, and the line `<- answer` after it is the answer, with `...` for what is left out. The
//! random part of an id is that of the first answer.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::fences::{matches_line, transcripts};
use super::{LIMIT, PLAN, PLAN_PATH};
use crate::process::{self, Repo};

/// The random part of the ids that the page shows.
const SHOWN_SUFFIX: &str = "-1kebc1";
/// What comes before it in an id of the sample.
const BEFORE_SUFFIX: &str = "projects/plan.md#budget";

/// Makes the calls in a page, in a folder with the sample. Returns their number.
pub(super) fn check(repo: &Repo, folder: &Path, page: &str) -> Result<usize> {
    let notes = folder.join("work");
    let plan = notes.join(PLAN_PATH);
    fs::create_dir_all(plan.parent().unwrap_or(&notes))?;
    fs::write(plan, PLAN)?;
    let mut server = StdioServer::start(repo, folder, &notes)?;
    let mut suffix: Option<String> = None;
    let mut calls = 0;
    for text in transcripts(page) {
        for (call, answer) in pairs(&text)? {
            let real = |text: &str| match &suffix {
                Some(suffix) => text.replace(SHOWN_SUFFIX, suffix),
                None => text.to_owned(),
            };
            let (tool, arguments) = call.split_once(' ').context("a call without arguments")?;
            let arguments = serde_json::from_str(&real(arguments))
                .with_context(|| format!("the arguments of `{call}`"))?;
            let said = server.call(tool, arguments)?;
            suffix = suffix.or_else(|| suffix_in(&said));
            let shown = match &suffix {
                Some(suffix) => answer.replace(SHOWN_SUFFIX, suffix),
                None => answer.to_owned(),
            };
            // What the page has in one line may be several.
            let said = said.replace('\n', " ");
            ensure!(
                matches_line(&compact(&shown), &compact(&said)),
                "the README shows:\n{shown}\nthe server answers:\n{said}"
            );
            calls += 1;
        }
    }
    ensure!(calls > 0, "the README shows no calls");
    Ok(calls)
}

/// Returns the calls of a transcript with their answers, without comments.
fn pairs(text: &str) -> Result<Vec<(&str, &str)>> {
    let mut pairs = Vec::new();
    let mut lines = text.lines();
    while let Some(call) = lines.next() {
        let answer = lines.next().unwrap_or_default();
        let pair = call.strip_prefix("-> ").zip(answer.strip_prefix("<- "));
        let (call, answer) = pair.with_context(|| format!("not a call and its answer: {call}"))?;
        pairs.push((without_comment(call), without_comment(answer)));
    }
    Ok(pairs)
}

fn without_comment(line: &str) -> &str {
    line.split("  #").next().unwrap_or(line).trim_end()
}

/// Returns JSON without the spaces that a page has for its readers.
fn compact(text: &str) -> String {
    text.replace("\": ", "\":")
        .replace(", \"", ",\"")
        .replace(", ...", "...")
        .replace("... \"", "...\"")
}

/// Returns the random part of the id of the sample, with the hyphen before it.
fn suffix_in(answer: &str) -> Option<String> {
    let (_, rest) = answer.split_once(BEFORE_SUFFIX)?;
    let end = rest.find('"')?;
    Some(rest[..end].to_owned())
}

/// A server of the desk on stdio, and a client that knows just enough to call its tools.
struct StdioServer {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    next_id: u64,
}

impl StdioServer {
    fn start(repo: &Repo, folder: &Path, notes: &Path) -> Result<Self> {
        let mut command: Command = process::isolated(&repo.binary(), folder);
        command
            .env("XDG_CACHE_HOME", folder.join("home/.cache"))
            .args(["serve", "desk"])
            .arg(notes)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the server")?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let (send, lines) = mpsc::channel();
        // Ends with the output, when the server does.
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Self {
            child,
            input,
            lines,
            next_id: 0,
        };
        let client = json!({ "name": "front-door", "version": "0" });
        server.request(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        )?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    /// Calls a tool, and returns the text of its answer.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        Ok(text
            .with_context(|| format!("`{tool}` answers {answer}"))?
            .to_owned())
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let message: Value =
                serde_json::from_str(&line.context("the server does not answer")?)?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        // Both fail only if the server has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_without_what_is_left_out() {
        let said = r##"{"results":[{"id":"a#b-1","title":"T","snippet":"S."}],"total":1}"##;
        for (shown, same) in [
            (
                r##"{"results": [{"id": "a#b-1", ... "snippet": "S."}], ...}"##,
                true,
            ),
            (r#"{... "total": 1}"#, true),
            (r#"{... "total": 2}"#, false),
            (r##"{"results": [{"id": "a#b-2", ...}]}"##, false),
        ] {
            assert_eq!(matches_line(&compact(shown), said), same, "{shown}");
        }
    }

    #[test]
    fn calls_come_with_answers_and_without_comments() {
        let text = "-> undo {\"id\": \"a#b\"}   # later\n<- {...}  # too\n";
        assert_eq!(pairs(text).unwrap(), [("undo {\"id\": \"a#b\"}", "{...}")]);
        assert!(pairs("-> undo {}\n-> undo {}\n").is_err());
    }

    #[test]
    fn the_random_part_of_an_id_is_found() {
        let answer = r##"{"id":"projects/plan.md#budget-q8kqu3","base":"x"}"##;
        assert_eq!(suffix_in(answer).as_deref(), Some("-q8kqu3"));
        assert_eq!(suffix_in("{}"), None);
    }
}
