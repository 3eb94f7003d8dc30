//! A server that is killed again and again, and one that is stopped in the middle of an edit.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::FaultTally;
use super::stage::{Answer, JOBS, Stage, answer};

const SECTIONS: usize = 16;
/// Answers between two kills, at most.
const BETWEEN: usize = 64;
const NOTE: &str = "many.md";
const PAUSES: u64 = 24;

/// A server on pipes.
struct PipedServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl PipedServer {
    fn start(stage: &Stage) -> Result<Self> {
        let mut child = stage
            .server()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Self {
            input: child.stdin.take().context("no input")?,
            output: BufReader::new(child.stdout.take().context("no output")?),
            child,
        };
        let client = json!({ "name": "faults", "version": "1" });
        server.send(
            &json!({ "jsonrpc": "2.0", "id": "start", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client } }),
        )?;
        server.receive()?.context("no greeting")?;
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.input, "{message}")?;
        Ok(())
    }

    /// Replaces the text of a section.
    fn edit(&mut self, section: usize, text: &str) -> Result<()> {
        let arguments = json!({ "id": format!("{NOTE}#Part {section}"), "new": text });
        self.send(
            &json!({ "jsonrpc": "2.0", "id": section, "method": "tools/call",
            "params": { "name": "edit", "arguments": arguments } }),
        )
    }

    /// Returns the next answer, or nothing once the server is gone.
    fn receive(&mut self) -> Result<Option<Value>> {
        loop {
            let mut line = String::new();
            // Half a line is not an answer.
            if self.output.read_line(&mut line)? == 0 || !line.ends_with('\n') {
                return Ok(None);
            }
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id").is_some() && message.get("method").is_none() {
                return Ok(Some(message));
            }
        }
    }

    fn signal(&self, name: &str) -> Result<()> {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status()?;
        ensure!(status.success(), "kill -s {name}");
        Ok(())
    }
}

impl Drop for PipedServer {
    fn drop(&mut self) {
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}

/// The document when its sections have these texts.
fn document(texts: &BTreeMap<usize, String>) -> String {
    let sections = texts
        .iter()
        .map(|(section, text)| format!("\n## Part {section}\n\n{text}\n"));
    "# Many\n".to_owned() + &sections.collect::<String>()
}

/// Kills a server until `wanted` edits were answered. None of them may be lost, and nothing may be half there.
pub(super) fn kill(program: &Path, place: &Path, wanted: usize) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "kills", &JOBS[0])?;
    let file = stage.notes().join(NOTE);
    let mut answered: BTreeMap<usize, String> = (0..SECTIONS)
        .map(|section| (section, format!("start {section}")))
        .collect();
    fs::write(&file, document(&answered))?;
    let mut tally = FaultTally::default();
    let mut edits = 0;
    while tally.done < wanted {
        let mut server = PipedServer::start(&stage)?;
        let mut sent = BTreeMap::new();
        // As many answers as fit, one more each time: so the kill meets every moment of an edit.
        let lives = 1 + tally.faults * 7 % BETWEEN;
        for section in 0..SECTIONS {
            edits += 1;
            sent.insert(section, format!("edit {edits}"));
            server.edit(section, &sent[&section])?;
        }
        let mut late = 0;
        for _ in 0..lives {
            let answer = server.receive()?.context("the server ended by itself")?;
            late += acknowledge(&answer, &mut sent, &mut answered, &mut tally)?;
            let section = answer["id"]
                .as_u64()
                .and_then(|id| usize::try_from(id).ok());
            let section = section.context("an answer without its section")?;
            edits += 1;
            sent.insert(section, format!("edit {edits}"));
            server.edit(section, &sent[&section])?;
        }
        // Not always just after an answer.
        thread::sleep(Duration::from_micros(211 * (tally.faults as u64 % 29)));
        server.signal("KILL")?;
        // What it said before it died counts.
        while let Some(answer) = server.receive()? {
            late += acknowledge(&answer, &mut sent, &mut answered, &mut tally)?;
        }
        tally.faults += 1;
        tally.done += late;
        tally.unanswered += sent.len();
        drop(server);
        let outline = stage.sectile(&[], &["outline"]).output()?;
        ensure!(answer(&outline) == Answer::Done, "the next command");
        let text = fs::read_to_string(&file)?;
        for (section, new) in sent {
            // An edit without an answer was made or not.
            if text.contains(&format!("\n\n{new}\n")) {
                answered.insert(section, new);
            }
        }
        if text != document(&answered) {
            tally
                .failures
                .push(format!("after kill {}: {text}", tally.faults));
            return Ok(tally);
        }
    }
    Ok(tally)
}

/// Takes an answer to an edit, and returns 1 if the edit was made.
fn acknowledge(
    answer: &Value,
    sent: &mut BTreeMap<usize, String>,
    answered: &mut BTreeMap<usize, String>,
    tally: &mut FaultTally,
) -> Result<usize> {
    let section = answer["id"]
        .as_u64()
        .and_then(|id| usize::try_from(id).ok());
    let section = section.context("an answer without its section")?;
    let text = sent.remove(&section).context("an answer to nothing")?;
    if answer["result"]["isError"] == false {
        answered.insert(section, text);
        return Ok(1);
    }
    let said = &answer["result"]["content"][0]["text"];
    // Clients of the same section may keep each other waiting.
    if !said.as_str().is_some_and(|said| said.starts_with("busy")) {
        tally.failures.push(format!("refused: {said}"));
    }
    tally.refused += 1;
    Ok(0)
}

/// Stops a server in the middle of an edit, and edits the same document with a command meanwhile.
pub(super) fn pause(program: &Path, place: &Path) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "pauses", &JOBS[0])?;
    let file = stage.notes().join(NOTE);
    let mut tally = FaultTally::default();
    let mut texts: BTreeMap<usize, String> = (0..2)
        .map(|section| (section, "start".to_owned()))
        .collect();
    fs::write(&file, document(&texts))?;
    for round in 0..PAUSES {
        let mut server = PipedServer::start(&stage)?;
        let (ours, theirs) = (format!("server {round}"), format!("command {round}"));
        server.edit(0, &ours)?;
        // An edit takes a few milliseconds: some of these moments are in the middle of one.
        thread::sleep(Duration::from_micros(400 * round));
        server.signal("STOP")?;
        tally.faults += 1;
        let meanwhile = stage
            .sectile(&[], &["edit", &format!("{NOTE}#Part 1"), "--new", &theirs])
            .output()?;
        server.signal("CONT")?;
        let said = server.receive()?.context("the server ended by itself")?;
        match said["result"]["isError"] == false {
            true => _ = texts.insert(0, ours),
            false => tally.failures.push(format!("the stopped edit: {said}")),
        }
        match answer(&meanwhile) {
            Answer::Done => {
                tally.done += 1;
                texts.insert(1, theirs);
            }
            Answer::Refused(code) if code == "busy" => tally.refused += 1,
            other => tally.failures.push(format!("the other edit: {other:?}")),
        }
        let text = fs::read_to_string(&file)?;
        if text != document(&texts) {
            tally.failures.push(format!("after pause {round}: {text}"));
            break;
        }
    }
    Ok(tally)
}
