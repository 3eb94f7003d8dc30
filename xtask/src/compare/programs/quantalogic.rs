//! quantalogic-markdown-mcp, the server that the editor world's contract comes from.

use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Client, Program, ProgramFacts, Reply, SectionAddress, SeenSection, Tools, Workspace, command,
};
use crate::install;

pub(super) struct Quantalogic;

/// Calls a tool, whose answers say inside whether it worked.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> Result<Reply> {
    Ok(match client.call(tool, arguments)? {
        Reply::Done(text) if parse(&text)["success"] == false => Reply::Refused(text),
        reply => reply,
    })
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Looks up the id of a section, which changes with the lines above it.
fn section_id(client: &mut Client, at: &SectionAddress<'_>) -> Result<Result<Value, Reply>> {
    let listed = call(
        client,
        "list_sections",
        &json!({ "document_path": at.path() }),
    )?;
    let found = parse(listed.text())["sections"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["title"] == at.heading).cloned());
    Ok(match found {
        Some(section) => Ok(section["id"].clone()),
        None => Err(Reply::Refused(listed.text().to_owned())),
    })
}

/// Reads a section, changes its text, and writes it back.
fn change(
    client: &mut Client,
    at: &SectionAddress<'_>,
    change: impl FnOnce(&str) -> String,
) -> Result<Reply> {
    let id = match section_id(client, at)? {
        Ok(id) => id,
        Err(refused) => return Ok(refused),
    };
    let seen = call(
        client,
        "get_section",
        &json!({ "document_path": at.path(), "section_id": id }),
    )?;
    let section = parse(seen.text());
    let Some(text) = section["section"]["content"].as_str() else {
        return Ok(Reply::Refused(seen.text().to_owned()));
    };
    let update = json!({ "document_path": at.path(), "section_id": id, "content": change(text) });
    call(client, "update_section", &update)
}

impl Program for Quantalogic {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "quantalogic",
            name: "quantalogic-markdown-mcp",
            version: "0.2.2",
            registry: "PyPI",
            purpose: "edits one Markdown document by sections",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        install::ORIGINAL.install(&tools.folder)
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let program = tools.folder.join("original/bin/quantalogic-markdown-mcp");
        Ok(command(&program, workspace))
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        match section_id(client, at)? {
            Ok(id) => call(
                client,
                "get_section",
                &json!({ "document_path": at.path(), "section_id": id }),
            ),
            Err(refused) => Ok(refused),
        }
    }

    fn replace(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        old: &str,
        new: &str,
    ) -> Result<Reply> {
        change(client, at, |text| text.replace(old, new))
    }

    fn append(&self, client: &mut Client, at: &SectionAddress<'_>, text: &str) -> Result<Reply> {
        change(client, at, |seen| {
            format!("{}\n\n{text}\n", seen.trim_end())
        })
    }

    fn set_section(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        body: &str,
    ) -> Result<Reply> {
        match section_id(client, at)? {
            Ok(id) => {
                let update =
                    json!({ "document_path": at.path(), "section_id": id, "content": body });
                call(client, "update_section", &update)
            }
            Err(refused) => Ok(refused),
        }
    }

    fn rewrite(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        seen: &SeenSection<'_>,
        body: &str,
    ) -> Result<Reply> {
        // The id that came with the text.
        let id = &parse(seen.answer)["section"]["id"];
        call(
            client,
            "update_section",
            &json!({ "document_path": at.path(), "section_id": id, "content": body }),
        )
    }
}
