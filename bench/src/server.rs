//! A server process on stdio, and the small client that drives every such server in the same way.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// A server process and the pipes to it.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    calls: usize,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self {
            child,
            input,
            output,
            line: String::new(),
            calls: 0,
        })
    }

    /// Sends a message and waits for the answer, which is kept in `line`.
    pub(crate) fn exchange(&mut self, message: &str) -> Result<Duration> {
        let started = Instant::now();
        self.input.write_all(message.as_bytes())?;
        let elapsed = loop {
            self.line.clear();
            let length = self.output.read_line(&mut self.line)?;
            let elapsed = started.elapsed();
            ensure!(length > 0, "the server has ended");
            // Notifications may come in between, and not every server prints only JSON.
            if self.line.starts_with('{') && !self.line.contains("\"method\":\"") {
                break elapsed;
            }
        };
        ensure!(
            self.line.contains("\"result\""),
            "the server answered {}",
            self.line
        );
        Ok(elapsed)
    }

    pub(crate) fn initialize(&mut self) -> Result<Duration> {
        let client = json!({ "name": "bench", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let elapsed = self.exchange(&message(0, "initialize", &params))?;
        self.input
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(elapsed)
    }

    /// Sends a request. Returns its result.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.calls += 1;
        self.exchange(&message(self.calls, method, params))?;
        let mut answer: Value = serde_json::from_str(&self.line)?;
        Ok(answer["result"].take())
    }

    /// Calls a tool. Returns the time that took, and the JSON in the text of its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        let (elapsed, text) = self.call_text(tool, arguments)?;
        let said: Value =
            serde_json::from_str(&text).with_context(|| format!("{tool} answered {text}"))?;
        Ok((elapsed, said))
    }

    /// Calls a tool. Returns the time that took, and the text of its result.
    pub(crate) fn call_text(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<(Duration, String)> {
        self.calls += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let elapsed = self.exchange(&message(self.calls, "tools/call", &params))?;
        let answer: Value = serde_json::from_str(&self.line)?;
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .context("an answer without text")?;
        Ok((elapsed, text.to_owned()))
    }

    /// Calls a tool once for each of `arguments`, with up to `at_once` calls in flight. Returns the results in the order of
    /// the arguments.
    pub(crate) fn call_all(
        &mut self,
        tool: &str,
        arguments: &[Value],
        at_once: usize,
    ) -> Result<Vec<Value>> {
        let first = self.calls + 1;
        let mut said = vec![Value::Null; arguments.len()];
        let (mut sent, mut answered) = (0, 0);
        while answered < arguments.len() {
            while sent < arguments.len() && sent - answered < at_once {
                let params = json!({ "name": tool, "arguments": arguments[sent] });
                self.input
                    .write_all(message(first + sent, "tools/call", &params).as_bytes())?;
                sent += 1;
            }
            self.line.clear();
            ensure!(
                self.output.read_line(&mut self.line)? > 0,
                "the server has ended"
            );
            let answer: Value = serde_json::from_str(&self.line)?;
            let Some(id) = answer["id"].as_u64() else {
                continue;
            };
            let text = answer["result"]["content"][0]["text"]
                .as_str()
                .with_context(|| format!("{tool} answered {}", self.line))?;
            let place = usize::try_from(id)?
                .checked_sub(first)
                .and_then(|at| said.get_mut(at));
            *place.context("an answer to nothing")? = serde_json::from_str(text)?;
            answered += 1;
        }
        self.calls += sent;
        Ok(said)
    }

    /// Returns the process id.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stop(self) -> Result<()> {
        let Self {
            mut child,
            input,
            output,
            ..
        } = self;
        drop((input, output));
        child.wait()?;
        Ok(())
    }
}

pub(crate) fn message(id: usize, method: &str, params: &Value) -> String {
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    )
}
