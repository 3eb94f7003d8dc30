//! Sectile's desk world.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::{
    Client, Program, ProgramFacts, Reply, SectionAddress, SeenSection, Tools, Workspace, command,
};

pub(super) struct Sectile;

fn id(at: &SectionAddress<'_>) -> String {
    format!("{}#{}", at.note, at.heading)
}

impl Program for Sectile {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "sectile",
            name: "Sectile",
            version: "",
            registry: "this repository",
            purpose: "searches, reads and edits a folder of Markdown one section at a time (`sectile serve`)",
        }
    }

    fn install(&self, _: &Tools<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let mut command = command(&tools.sectile, workspace);
        command.args(["serve", "desk"]).arg(&workspace.root);
        Ok(command)
    }

    fn search(&self, client: &mut Client, words: &str) -> Result<Reply> {
        client.call("search", &json!({ "query": words, "limit": 5 }))
    }

    fn read(&self, client: &mut Client, at: &SectionAddress<'_>) -> Result<Reply> {
        client.call("fetch", &json!({ "id": id(at) }))
    }

    fn replace(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        old: &str,
        new: &str,
    ) -> Result<Reply> {
        client.call("edit", &json!({ "id": id(at), "old": old, "new": new }))
    }

    fn append(&self, client: &mut Client, at: &SectionAddress<'_>, text: &str) -> Result<Reply> {
        client.call(
            "edit",
            &json!({ "id": id(at), "new": text, "place": "append" }),
        )
    }

    fn set_section(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        body: &str,
    ) -> Result<Reply> {
        let base = Client::call(client, "fetch", &json!({ "id": id(at) }))?;
        let seen = SeenSection {
            answer: base.text(),
            body: "",
        };
        self.rewrite(client, at, &seen, body)
    }

    fn rewrite(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        seen: &SeenSection<'_>,
        body: &str,
    ) -> Result<Reply> {
        let base = seen
            .answer
            .split("| base ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        client.call("edit", &json!({ "id": id(at), "new": body, "base": base }))
    }

    fn rename(&self, client: &mut Client, at: &SectionAddress<'_>, to: &str) -> Result<Reply> {
        client.call("rename", &json!({ "id": id(at), "to": to }))
    }

    fn undo(&self, client: &mut Client) -> Result<Reply> {
        client.call("undo", &json!({}))
    }
}
