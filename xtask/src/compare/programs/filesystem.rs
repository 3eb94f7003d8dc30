//! The file system server of the protocol's own project.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::{Client, Program, ProgramFacts, Reply, SectionAddress, Tools, Workspace};

pub(super) const PACKAGE: (&str, &str) = ("@modelcontextprotocol/server-filesystem", "2026.8.31");

pub(super) struct Filesystem;

/// Reads all notes below a folder, which is how this server finds anything.
fn read_all(client: &mut Client, workspace: &Workspace, folder: &str) -> Result<Reply> {
    let pattern = format!("{folder}**/*.md");
    let listed = client.call(
        "search_files",
        &json!({ "path": workspace.root, "pattern": pattern }),
    )?;
    let files: Vec<&str> = listed
        .text()
        .lines()
        .filter(|line| line.ends_with(".md"))
        .collect();
    client.call("read_multiple_files", &json!({ "paths": files }))
}

impl Program for Filesystem {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "filesystem",
            name: "server-filesystem",
            version: PACKAGE.1,
            registry: "npm",
            purpose: "reads and writes whole files of any type, and replaces exact text in them; it has no search by content",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        tools.node()
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let script = format!("{}/dist/index.js", PACKAGE.0);
        let mut command = tools.node_command(&script, workspace);
        command.arg(&workspace.root);
        Ok(command)
    }

    fn find(&self, client: &mut Client, workspace: &Workspace, _: &str) -> Result<Reply> {
        read_all(client, workspace, "projects/")
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        client.call("read_text_file", &json!({ "path": at.path() }))
    }

    fn replace(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        old: &str,
        new: &str,
    ) -> Result<Reply> {
        let edits = json!([{ "oldText": old, "newText": new }]);
        client.call("edit_file", &json!({ "path": at.path(), "edits": edits }))
    }

    fn append(&self, client: &mut Client, at: &SectionAddress<'_>, text: &str) -> Result<Reply> {
        let note = self.read(client, at)?;
        match at.last_line(note.text()) {
            Some(last) => self.replace(client, at, last, &format!("{last}\n\n{text}")),
            None => Ok(note),
        }
    }

    fn rename(&self, client: &mut Client, at: &SectionAddress<'_>, to: &str) -> Result<Reply> {
        let all = read_all(client, at.workspace, "")?;
        let (old, new) = (format!("## {}", at.heading), format!("## {to}"));
        let mut last = self.replace(client, at, &old, &new)?;
        // The answer has each file after a line with its path.
        for file in all.text().split("\n---\n") {
            let (path, text) = file.trim_start().split_once(":\n").unwrap_or_default();
            for form in ["plan#", "plan.md#"] {
                for target in [at.heading.to_owned(), at.heading.to_lowercase()] {
                    let link = format!("{form}{target}");
                    if text.contains(&link) {
                        let is_lower = target == at.heading.to_lowercase();
                        let name = if is_lower {
                            to.to_lowercase()
                        } else {
                            to.to_owned()
                        };
                        let linking = SectionAddress { note: path, ..*at };
                        last = self.replace(client, &linking, &link, &format!("{form}{name}"))?;
                    }
                }
            }
        }
        Ok(last)
    }
}
