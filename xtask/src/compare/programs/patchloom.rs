//! patchloom's MCP server.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::{Client, Program, ProgramFacts, Reply, SectionAddress, Tools, Workspace, command};
use crate::install;

const PACKAGE: (&str, &str) = ("patchloom", "0.37.6");

pub(super) struct Patchloom;

fn heading(at: &SectionAddress<'_>) -> String {
    format!("## {}", at.heading)
}

impl Program for Patchloom {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "patchloom",
            name: PACKAGE.0,
            version: PACKAGE.1,
            registry: "crates.io",
            purpose: "edits structured files (JSON, YAML, TOML, source code, Markdown) in a working folder, with batches and backups",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        // Without the grammars of programming languages.
        let features = ["--no-default-features", "--features=cli,mcp"];
        install::program(tools.repo, &tools.folder, PACKAGE, &features).map(|()| None)
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let program = tools.folder.join("patchloom/bin/patchloom");
        let mut command = command(&program, workspace);
        command.arg("mcp-server");
        Ok(command)
    }

    fn search(&self, client: &mut Client, words: &str) -> Result<Reply> {
        // It searches for text. The words in this order, on one line, is what comes near a question.
        let pattern = words.split(' ').collect::<Vec<_>>().join(".*");
        client.call(
            "search_files",
            &json!({ "pattern": pattern, "case_insensitive": true, "max_results": 5 }),
        )
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        client.call("read_file", &json!({ "path": at.note }))
    }

    fn replace(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        old: &str,
        new: &str,
    ) -> Result<Reply> {
        client.call(
            "replace_text",
            &json!({ "path": at.note, "old": old, "new": new, "unique": true, "require_change": true }),
        )
    }

    fn append(&self, client: &mut Client, at: &SectionAddress<'_>, text: &str) -> Result<Reply> {
        client.call(
            "md_insert_after_heading",
            &json!({ "path": at.note, "heading": heading(at), "content": text }),
        )
    }

    fn set_section(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        body: &str,
    ) -> Result<Reply> {
        client.call(
            "md_replace_section",
            &json!({ "path": at.note, "heading": heading(at), "content": body }),
        )
    }

    fn undo(&self, client: &mut Client) -> Result<Reply> {
        client.call("undo_restore", &json!({ "apply": true }))
    }
}
