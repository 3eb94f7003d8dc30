//! iwe's MCP server.

use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Client, Program, ProgramFacts, Reply, SectionAddress, SeenSection, Tools, Workspace, command,
};
use crate::install;

const PACKAGE: (&str, &str) = ("iwec", "0.29.3");

pub(super) struct Iwe;

/// Runs one update operator on one document. A query is YAML, and so is JSON.
fn update(
    client: &mut Client,
    at: &SectionAddress<'_>,
    operator: &str,
    mut operand: Value,
) -> Result<Reply> {
    operand["expect"] = json!(1);
    let query = json!({
        "filter": { "$key": at.key() },
        "expect": 1,
        "update": { operator: operand },
    });
    client.call(
        "iwe_query",
        &json!({ "operation": "update", "document": query.to_string() }),
    )
}

impl Program for Iwe {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "iwe",
            name: "iwe (iwec)",
            version: PACKAGE.1,
            registry: "crates.io",
            purpose: "keeps a folder of Markdown as a graph, with a query language, renames of documents and restructuring",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        install::program(tools.repo, &tools.folder, PACKAGE, &[]).map(|()| None)
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        Ok(command(&tools.folder.join("iwec/bin/iwec"), workspace))
    }

    fn search(&self, client: &mut Client, words: &str) -> Result<Reply> {
        client.call(
            "iwe_retrieve",
            &json!({ "keys": [], "search": words, "limit": 5, "backlinks": false, "max_document_tokens": 300 }),
        )
    }

    fn find(&self, client: &mut Client, _: &Workspace, words: &str) -> Result<Reply> {
        // Names without text: less to read than the best passages of five documents.
        client.call("iwe_find", &json!({ "lexical": words, "limit": 5 }))
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        let query = json!({
            "filter": { "$key": at.key() },
            "project": { "content": { "$content": { "$section": at.heading } } },
        });
        client.call(
            "iwe_query",
            &json!({ "operation": "find", "document": query.to_string() }),
        )
    }

    fn replace(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        old: &str,
        new: &str,
    ) -> Result<Reply> {
        let operand = json!({ "$within": at.heading, "$text": old, "from": old, "to": new });
        update(client, at, "$replaceText", operand)
    }

    fn append(&self, client: &mut Client, at: &SectionAddress<'_>, text: &str) -> Result<Reply> {
        let operand = json!({ "$header": at.heading, "content": text });
        update(client, at, "$append", operand)
    }

    fn set_section(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        body: &str,
    ) -> Result<Reply> {
        let content = format!("## {}\n\n{body}\n", at.heading);
        update(
            client,
            at,
            "$replace",
            json!({ "$section": at.heading, "content": content }),
        )
    }

    fn rewrite(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        seen: &SeenSection<'_>,
        body: &str,
    ) -> Result<Reply> {
        // Only the section that still has all paragraphs that were read.
        let paragraphs = seen.body.split("\n\n");
        let guards: Vec<Value> = paragraphs
            .map(|text| json!({ "$contains": { "$text": text } }))
            .collect();
        let content = format!("## {}\n\n{body}\n", at.heading);
        let section = json!({ "$text": at.heading, "$and": guards });
        update(
            client,
            at,
            "$replace",
            json!({ "$section": section, "content": content }),
        )
    }

    fn rename(&self, client: &mut Client, at: &SectionAddress<'_>, to: &str) -> Result<Reply> {
        update(
            client,
            at,
            "$replaceText",
            json!({ "$header": at.heading, "to": to }),
        )
    }
}
