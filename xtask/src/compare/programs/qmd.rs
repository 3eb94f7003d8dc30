//! qmd, by keywords alone: its other searches download models.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use super::{Client, Program, ProgramFacts, Reply, SectionAddress, Tools, Workspace};
use crate::process::bounded;

pub(super) const PACKAGE: (&str, &str) = ("@tobilu/qmd", "2.8.3");
const LIMIT: Duration = Duration::from_secs(600);

pub(super) struct Qmd;

fn command(tools: &Tools<'_>, workspace: &Workspace) -> Command {
    tools.node_command(&format!("{}/dist/cli/qmd.js", PACKAGE.0), workspace)
}

impl Program for Qmd {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "qmd",
            name: "qmd (keywords)",
            version: PACKAGE.1,
            registry: "npm",
            purpose: "searches folders of Markdown by keywords and, with models that it downloads, by meaning; it does not write",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        tools.node()
    }

    fn index(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<()> {
        let mut add = command(tools, workspace);
        add.args(["collection", "add"])
            .arg(&workspace.root)
            .args(["--name", "notes"]);
        let added = bounded(&mut add, &workspace.home.join("collection"), LIMIT)?;
        if !added.status.success() {
            bail!("qmd could not index: {}", added.tail());
        }
        Ok(())
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let mut command = command(tools, workspace);
        command.arg("mcp");
        Ok(command)
    }

    fn search(&self, client: &mut Client, words: &str) -> Result<Reply> {
        let searches = json!([{ "type": "lex", "query": words }]);
        client.call(
            "query",
            &json!({ "searches": searches, "rerank": false, "limit": 5 }),
        )
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        client.call("get", &json!({ "file": format!("notes/{}", at.note) }))
    }
}
