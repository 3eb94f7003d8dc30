//! Side by side with the server that the editor's contract comes from: quantalogic-markdown-mcp, on the same document.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::NOTE;
use crate::{Bench, corpus, measure::middle, report::Report, server::Server};

const DOCUMENT_BYTES: usize = 1_000_000;
const PROGRAM: &str = "outside/original/bin/quantalogic-markdown-mcp";

pub(crate) fn run(report: &mut Report, bench: &Bench) -> Result<()> {
    let program = bench.target.join(PROGRAM);
    if !program.is_file() {
        report.seen("against the original", "not measured: it is not installed");
        return Ok(());
    }
    let folder = tempfile::tempdir_in(&bench.target)?;
    let note = corpus::ordinary_notes(1, DOCUMENT_BYTES).remove(0);
    for which in ["ours", "theirs"] {
        std::fs::create_dir(folder.path().join(which))?;
        std::fs::write(folder.path().join(which).join(NOTE), &note)?;
    }
    let mut ours = Command::new(bench.binaries.join("sectile"));
    ours.args(["serve", "editor"])
        .arg(folder.path().join("ours"));
    let mut ours = ServerUnderTest::start(&mut ours, json!({ "path": NOTE }))?;
    let path = folder.path().join("theirs").join(NOTE);
    let mut theirs = ServerUnderTest::start(
        &mut Command::new(program),
        json!({ "document_path": path.to_string_lossy() }),
    )?;
    for round in 0..bench.size(5, 2) {
        for party in [&mut ours, &mut theirs] {
            party.list()?;
            party.edit(round)?;
        }
    }
    let lists = [&ours, &theirs].map(|party| middle(party.lists.clone()));
    let edits = [&ours, &theirs].map(|party| middle(party.edits.clone()));
    let what = format!(
        "list of all {} sections, 1 MB note, all pages, against the original's",
        ours.sections
    );
    report.faster(&what, lists[0], lists[1], 10.0);
    let what = "edit of one section, 1 MB note, ours durable, against the original's";
    report.faster(what, edits[0], edits[1], 10.0);
    ours.server.stop()?;
    theirs.server.stop()
}

/// One of the two servers.
struct ServerUnderTest {
    server: Server,
    /// The argument that names the document to this server.
    document: Value,
    sections: usize,
    /// The section to edit.
    section: Option<String>,
    lists: Vec<Duration>,
    edits: Vec<Duration>,
}

impl ServerUnderTest {
    fn start(command: &mut Command, document: Value) -> Result<Self> {
        let mut server = Server::start(command)?;
        server.initialize()?;
        Ok(Self {
            server,
            document,
            sections: 0,
            section: None,
            lists: Vec::new(),
            edits: Vec::new(),
        })
    }

    fn arguments(&self, more: Value) -> Value {
        let mut all = self.document.clone();
        if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    }

    /// Lists all sections, page by page if the server has pages.
    fn list(&mut self) -> Result<()> {
        let mut total = Duration::ZERO;
        let mut ids = Vec::new();
        let mut arguments = self.arguments(json!({}));
        loop {
            let (elapsed, said) = self.server.call("list_sections", &arguments)?;
            total += elapsed;
            let sections = said["sections"].as_array().context("no sections")?;
            ids.extend(sections.iter().filter_map(|section| {
                let id = section.get("section_id").or_else(|| section.get("id"));
                id.and_then(Value::as_str).map(str::to_owned)
            }));
            match &said["next_cursor"] {
                Value::Null => break,
                cursor => arguments = self.arguments(json!({ "cursor": cursor })),
            }
        }
        self.lists.push(total);
        self.sections = ids.len();
        // The last one: the original's ids depend on line numbers, which an edit above would change.
        self.section = ids.pop();
        Ok(())
    }

    fn edit(&mut self, round: usize) -> Result<()> {
        let content = format!("Edit number {round} of this section.\n").repeat(15);
        let arguments = self.arguments(json!({ "section_id": self.section, "content": content }));
        let (elapsed, said) = self.server.call("update_section", &arguments)?;
        ensure!(
            said["success"] == true || said["entry"].is_u64(),
            "the edit failed: {said}"
        );
        self.edits.push(elapsed);
        Ok(())
    }
}
