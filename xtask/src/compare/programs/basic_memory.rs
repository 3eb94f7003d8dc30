//! basic-memory.

use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Client, Program, ProgramFacts, Reply, SectionAddress, Tools, Workspace, command};
use crate::install::PythonEnvironment;

const PACKAGE: PythonEnvironment = PythonEnvironment {
    name: "basic-memory",
    // The newest version whose dependencies could all be fetched.
    packages: &[("basic-memory", "0.23.2")],
    options: &[],
};

pub(super) struct BasicMemory;

/// Edits a note. A failure is an answer with a title that says so.
fn edit(
    client: &mut Client,
    at: &SectionAddress<'_>,
    operation: &str,
    mut more: Value,
) -> Result<Reply> {
    more["identifier"] = json!(at.key());
    more["project"] = json!("main");
    more["operation"] = json!(operation);
    Ok(match client.call("edit_note", &more)? {
        Reply::Done(text) if text.starts_with("# Edit Failed") || text.starts_with("# Error") => {
            Reply::Refused(text)
        }
        reply => reply,
    })
}

impl Program for BasicMemory {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "basic-memory",
            name: "basic-memory",
            version: PACKAGE.packages[0].1,
            registry: "PyPI",
            purpose: "keeps an assistant's memory as Markdown notes with a graph of their relations",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        PACKAGE.install_with(&tools.python, &tools.folder)
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let mut command = command(
            &tools.folder.join("basic-memory/bin/basic-memory"),
            workspace,
        );
        command
            .arg("mcp")
            .env("BASIC_MEMORY_HOME", &workspace.root)
            .env(
                "BASIC_MEMORY_CONFIG_DIR",
                workspace.home.join("basic-memory"),
            )
            // Search by meaning would download a model.
            .env("BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED", "false");
        Ok(command)
    }

    fn search(&self, client: &mut Client, words: &str) -> Result<Reply> {
        client.call(
            "search_notes",
            &json!({ "query": words, "project": "main", "search_type": "text", "page_size": 5 }),
        )
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        client.call(
            "read_note",
            &json!({ "identifier": at.key(), "project": "main" }),
        )
    }

    fn replace(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        old: &str,
        new: &str,
    ) -> Result<Reply> {
        edit(
            client,
            at,
            "find_replace",
            json!({ "find_text": old, "content": new }),
        )
    }

    fn append(&self, client: &mut Client, at: &SectionAddress<'_>, text: &str) -> Result<Reply> {
        let section = format!("## {}", at.heading);
        edit(
            client,
            at,
            "insert_after_section",
            json!({ "section": section, "content": text }),
        )
    }

    fn set_section(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        body: &str,
    ) -> Result<Reply> {
        let section = format!("## {}", at.heading);
        edit(
            client,
            at,
            "replace_section",
            json!({ "section": section, "content": body }),
        )
    }
}
