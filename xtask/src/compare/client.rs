//! A small MCP client on stdio that counts what a model would write and read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// Time limit for one answer. The slowest program reads its folder before its first answer.
const LIMIT: Duration = Duration::from_secs(150);

/// The answer of a program to something that it was asked to do.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Done(String),
    /// The program said no, in its own words.
    Refused(String),
    /// The program has no tool for this.
    Cannot,
}

impl Reply {
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Done(text) | Self::Refused(text) => text,
            Self::Cannot => "",
        }
    }
}

/// Calls made, and the bytes of their arguments and of the text of their answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallCost {
    pub(super) calls: usize,
    pub(super) written: usize,
    pub(super) read: usize,
}

impl CallCost {
    pub(super) fn to_json(self) -> Value {
        json!({ "calls": self.calls, "written": self.written, "read": self.read })
    }
}

/// A running server, killed with its children when it goes out of scope.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    /// The root that the program is told about if it asks.
    root: String,
    pub(super) cost: CallCost,
    /// The last answer as it came, with what the text does not show.
    pub(super) last: Value,
}

impl Client {
    /// Starts a server and initializes the session. Standard error is dropped.
    pub(super) fn start(mut command: Command, root: &str) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start `{}`", command.get_program().display()))?;
        let stdout = child.stdout.take().context("no standard output")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut client = Self {
            stdin: child.stdin.take(),
            child,
            lines,
            last_id: 0,
            root: root.to_owned(),
            cost: CallCost::default(),
            last: Value::Null,
        };
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "compare", "version": "1" },
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Calls a tool. A protocol error counts as a refusal.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Reply> {
        let answer = self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )?;
        let blocks = answer["result"]["content"].as_array();
        let mut text: String = blocks
            .into_iter()
            .flatten()
            .filter_map(|one| one["text"].as_str().or(one["resource"]["text"].as_str()))
            .collect();
        let refused = answer["result"]["isError"] == true || !answer["error"].is_null();
        if let Some(message) = answer["error"]["message"].as_str() {
            message.clone_into(&mut text);
        }
        self.cost.calls += 1;
        self.cost.written += tool.len() + arguments.to_string().len();
        self.cost.read += text.len();
        self.last = answer;
        Ok(if refused {
            Reply::Refused(text)
        } else {
            Reply::Done(text)
        })
    }

    /// Returns the bytes of all tool definitions as a model sees them: names, descriptions and input schemas.
    pub(super) fn definitions(&mut self) -> Result<usize> {
        let listed = self.request("tools/list", &json!({}))?;
        let tools = listed["result"]["tools"].as_array().context("no tools")?;
        let sizes = tools.iter().map(|tool| {
            let seen = json!({
                "name": tool["name"],
                "description": tool["description"],
                "inputSchema": tool["inputSchema"],
            });
            seen.to_string().len()
        });
        Ok(sizes.sum())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the peak memory of the server and of its children, in MiB.
    pub(super) fn peak_memory(&self) -> usize {
        let peaks = process_tree(self.child.id()).into_iter().map(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            kib.unwrap_or(0_usize)
        });
        peaks.sum::<usize>() / 1024
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let start = Instant::now();
        loop {
            let left = LIMIT.saturating_sub(start.elapsed());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(_) => bail!("no answer to `{method}`: the program ended or took too long"),
            };
            // A program that prints a banner to standard output is forgiven.
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            match (message.get("method"), message.get("id")) {
                (None, Some(answered)) if *answered == id => return Ok(message),
                (Some(asked), Some(theirs)) => self.answer(asked, theirs)?,
                _ => {}
            }
        }
    }

    /// Answers a request of the program.
    fn answer(&mut self, asked: &Value, id: &Value) -> Result<()> {
        let result = if asked == "roots/list" {
            json!({ "roots": [{ "uri": format!("file://{}", self.root) }] })
        } else {
            json!({})
        };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the server is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes())?;
        stdin.flush()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Most servers end by themselves when their input ends; the others get no more than this.
        drop(self.stdin.take());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        kill_tree(self.child.id());
        // It fails only if there is nothing to wait for, which is the goal.
        drop(self.child.wait());
    }
}

/// Kills a process and its descendants at once, as a crash would.
pub(super) fn kill_tree(root: u32) {
    let pids: Vec<String> = process_tree(root).iter().map(u32::to_string).collect();
    // It fails only for a process that has already ended, which is the goal.
    drop(Command::new("kill").arg("-9").args(pids).output());
}

/// Returns a process and its descendants, itself first.
fn process_tree(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name of the program is in parentheses and may contain anything.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            Some((pid, parent.parse().ok()?))
        })
        .collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(&pid) = tree.get(next) {
        let children = parents.iter().filter(|(_, parent)| *parent == pid);
        tree.extend(children.map(|(child, _)| *child));
        next += 1;
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_tree_contains_the_children() {
        let mut child = Command::new("sleep").arg("20").spawn().unwrap();
        assert!(process_tree(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
