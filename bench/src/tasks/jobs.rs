//! The jobs, as each party does them.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::Party;

/// Whether a party can do a job at all.
pub(super) enum Outcome {
    Done,
    Impossible,
}

type Work = fn(&mut Party, &Path) -> Result<Outcome>;

/// A job and the ways it is done.
pub(super) struct Job {
    pub(super) name: &'static str,
    pub(super) desk: Work,
    pub(super) pair: Work,
    pub(super) files: Work,
}

const PLAN: &str = "projects/harbour/plan.md";

pub(super) const JOBS: [Job; 12] = [
    Job {
        name: "find a fact: what does the pilot cost?",
        desk: |party, _| {
            let found = party.ask(
                "search",
                &json!({ "query": "what does the pilot cost per day", "limit": 3 }),
            )?;
            ensure!(found.contains("350"), "{found}");
            Ok(Outcome::Done)
        },
        pair: |party, _| {
            party.ask("enter_collection", &json!({ "collection_id": "projects" }))?;
            let query = json!({ "query": "what does the pilot cost per day", "k": 3 });
            let found = party.ask_json("semantic_search", &query)?;
            let id = &found["results"][0]["reference_id"];
            let quote = party.ask("fetch_passage", &json!({ "source_id": id }))?;
            ensure!(quote.contains("350"), "{quote}");
            Ok(Outcome::Done)
        },
        files: |party, root| {
            let found = read_folder(party, root, "projects/harbour")?;
            ensure!(found.contains("350"), "{found}");
            Ok(Outcome::Done)
        },
    },
    Job {
        name: "fix a figure in a paragraph",
        desk: |party, _| {
            let edit = json!({ "id": "plan#Budget", "old": "costs 4,000", "new": "costs 4,500" });
            party.ask("edit", &edit).map(done)
        },
        pair: |party, _| {
            let edit =
                json!({ "path": PLAN, "old_text": "costs 4,000", "new_text": "costs 4,500" });
            party.ask("edit_text", &edit).map(done)
        },
        files: |party, root| {
            let edits = json!([{ "oldText": "costs 4,000", "newText": "costs 4,500" }]);
            let edit = json!({ "path": root.join(PLAN), "edits": edits });
            party.ask("edit_file", &edit).map(done)
        },
    },
    Job {
        name: "add a paragraph below a heading",
        desk: |party, _| {
            let edit =
                json!({ "id": "plan#Risks", "new": "The pilot may be ill.", "place": "append" });
            party.ask("edit", &edit).map(done)
        },
        pair: |party, _| {
            let section =
                party.ask_json("get_section", &json!({ "path": PLAN, "heading": "Risks" }))?;
            let content = format!(
                "{}\n\nThe pilot may be ill.",
                text(&section, "content").trim_end()
            );
            let update = json!({
                "section_id": section["section_id"],
                "content": content,
                "expected_hash": section["hash"],
            });
            party.ask("update_section", &update).map(done)
        },
        files: |party, root| {
            party.ask("read_text_file", &json!({ "path": root.join(PLAN) }))?;
            let old = "repaired in time.\n";
            let edits =
                json!([{ "oldText": old, "newText": format!("{old}\nThe pilot may be ill.\n") }]);
            party
                .ask(
                    "edit_file",
                    &json!({ "path": root.join(PLAN), "edits": edits }),
                )
                .map(done)
        },
    },
    Job {
        name: "rename a heading; links follow",
        desk: |party, _| {
            party
                .ask("rename", &json!({ "id": "plan#Budget", "to": "Costs" }))
                .map(done)
        },
        pair: |party, _| {
            let sections = party.ask_json("list_sections", &json!({ "path": PLAN }))?;
            let id = section_id(&sections, "Budget")?;
            party
                .ask(
                    "rename_section",
                    &json!({ "section_id": id, "heading": "Costs" }),
                )
                .map(done)
        },
        files: |party, root| {
            read_everything(party, root)?;
            for (path, old, new) in [
                (PLAN, "## Budget", "## Costs"),
                (
                    "projects/harbour/crew.md",
                    "plan.md#budget",
                    "plan.md#costs",
                ),
                (
                    "projects/harbour/suppliers.md",
                    "[[plan#Budget]]",
                    "[[plan#Costs]]",
                ),
                ("areas/insurance.md", "[[plan#Budget|", "[[plan#Costs|"),
            ] {
                let edits = json!([{ "oldText": old, "newText": new }]);
                party.ask(
                    "edit_file",
                    &json!({ "path": root.join(path), "edits": edits }),
                )?;
            }
            Ok(Outcome::Done)
        },
    },
    Job {
        name: "collect the open tasks of a project",
        desk: |party, _| {
            let found = party.ask(
                "search",
                &json!({ "query": "is:task path:projects/harbour/" }),
            )?;
            ensure!(
                found.contains("badges") && found.contains("insurer"),
                "{found}"
            );
            Ok(Outcome::Done)
        },
        pair: |party, _| {
            let listed =
                party.ask_json("list_documents", &json!({ "folder": "projects/harbour" }))?;
            let mut found = String::new();
            for path in paths(&listed)? {
                found += &party.ask("get_document", &json!({ "path": path }))?;
            }
            ensure!(
                found.contains("badges") && found.contains("insurer"),
                "{found}"
            );
            Ok(Outcome::Done)
        },
        files: |party, root| read_folder(party, root, "projects/harbour").map(done),
    },
    Job {
        name: "what links to this note?",
        desk: |party, _| {
            let found = party.ask("links", &json!({ "id": "plan", "direction": "in" }))?;
            ensure!(
                found.contains("insurance") && found.contains("ann"),
                "{found}"
            );
            Ok(Outcome::Done)
        },
        pair: |party, _| {
            // Neither lists links, but what a rename would change is the same.
            let call = json!({ "path": PLAN, "new_path": "plan-2.md", "dry_run": true });
            let found = party.ask("rename_document", &call)?;
            ensure!(
                found.contains("insurance") && found.contains("ann"),
                "{found}"
            );
            Ok(Outcome::Done)
        },
        files: |party, root| read_everything(party, root).map(done),
    },
    Job {
        name: "write a new note with fields",
        desk: |party, _| {
            let create = json!({
                "path": "projects/harbour/lights.md",
                "text": "# Lights\n\nLanterns, see [[ideas]].\n",
                "fields": { "status": "draft" },
            });
            party.ask("create", &create).map(done)
        },
        pair: |party, _| {
            let content = "---\nstatus: draft\n---\n\n# Lights\n\nLanterns, see [[ideas]].\n";
            let create = json!({ "path": "projects/harbour/lights.md", "content": content });
            party.ask("create_document", &create).map(done)
        },
        files: |party, root| {
            let content = "---\nstatus: draft\n---\n\n# Lights\n\nLanterns, see [[ideas]].\n";
            let path = root.join("projects/harbour/lights.md");
            party
                .ask("write_file", &json!({ "path": path, "content": content }))
                .map(done)
        },
    },
    Job {
        name: "set a field of a note",
        desk: |party, _| {
            party
                .ask(
                    "set_fields",
                    &json!({ "id": "plan", "set": { "status": "agreed" } }),
                )
                .map(done)
        },
        pair: |party, _| {
            let set = json!({ "path": PLAN, "key": "status", "value": "agreed" });
            party.ask("set_front_matter", &set).map(done)
        },
        files: |party, root| {
            party.ask(
                "read_text_file",
                &json!({ "path": root.join(PLAN), "head": 10 }),
            )?;
            let edits = json!([{ "oldText": "status: draft", "newText": "status: agreed" }]);
            party
                .ask(
                    "edit_file",
                    &json!({ "path": root.join(PLAN), "edits": edits }),
                )
                .map(done)
        },
    },
    Job {
        name: "move a section into another note",
        desk: |party, _| {
            party
                .ask(
                    "rename",
                    &json!({ "id": "ideas#Lanterns", "to": "projects/harbour/lights.md" }),
                )
                .map(done)
        },
        pair: |party, _| {
            let sections = party.ask_json("list_sections", &json!({ "path": "inbox/ideas.md" }))?;
            let id = section_id(&sections, "Lanterns")?;
            let to = "projects/harbour/lights.md";
            let there = party.ask_json("list_sections", &json!({ "path": to }))?;
            let anchor = section_id(&there, "Lights")?;
            let call =
                json!({ "section_id": id, "to_path": to, "place": "last_child", "anchor": anchor });
            party.ask("move_section", &call).map(done)
        },
        files: |party, root| {
            party.ask(
                "read_text_file",
                &json!({ "path": root.join("inbox/ideas.md") }),
            )?;
            let section = "## Lanterns\n\nPaper lanterns along the quay at night.\n";
            let edits = json!([{ "oldText": format!("{section}\n"), "newText": "" }]);
            party.ask(
                "edit_file",
                &json!({ "path": root.join("inbox/ideas.md"), "edits": edits }),
            )?;
            let path = root.join("projects/harbour/lights.md");
            party.ask("read_text_file", &json!({ "path": path }))?;
            let old = "Lanterns, see [[ideas]].\n";
            let edits = json!([{ "oldText": old, "newText": format!("{old}\n{section}") }]);
            party
                .ask("edit_file", &json!({ "path": path, "edits": edits }))
                .map(done)
        },
    },
    Job {
        name: "move a folder; links follow",
        desk: |party, _| {
            party
                .ask(
                    "rename",
                    &json!({ "id": "projects/harbour/", "to": "archive/harbour/" }),
                )
                .map(done)
        },
        pair: |party, _| {
            let listed =
                party.ask_json("list_documents", &json!({ "folder": "projects/harbour" }))?;
            let renames = paths(&listed)?.into_iter().map(|path| {
                let to = path.replace("projects/", "archive/");
                json!({ "operation": "rename_document", "path": path, "new_path": to })
            });
            let edits = json!({ "edits": renames.collect::<Vec<Value>>() });
            party.ask("apply_edits", &edits).map(done)
        },
        files: |party, root| {
            party.ask("create_directory", &json!({ "path": root.join("archive") }))?;
            let (source, destination) =
                (root.join("projects/harbour"), root.join("archive/harbour"));
            let call = json!({ "source": source, "destination": destination });
            party.ask("move_file", &call)?;
            // Links by path may lead there from anywhere.
            read_everything(party, root).map(done)
        },
    },
    Job {
        name: "which notes changed lately?",
        desk: |party, _| {
            party
                .ask("search", &json!({ "query": "sort:modified", "limit": 5 }))
                .map(done)
        },
        pair: |_, _| Ok(Outcome::Impossible),
        files: |party, root| {
            let call = json!({ "path": root, "pattern": "**/*.md" });
            let found = party.ask("search_files", &call)?;
            for file in found.lines().filter(|line| line.ends_with(".md")) {
                party.ask("get_file_info", &json!({ "path": file }))?;
            }
            Ok(Outcome::Done)
        },
    },
    Job {
        name: "undo an older change",
        desk: |party, _| {
            let changes = party.ask_json("changes", &json!({ "id": "plan", "since": "1d" }))?;
            let all = changes["changes"].as_array().context("no changes")?;
            let fix = all.last().context("no change")?;
            party
                .ask("undo", &json!({ "change": fix["change"] }))
                .map(done)
        },
        pair: |party, _| {
            let path = "archive/harbour/plan.md";
            let history = party.ask_json("history", &json!({ "path": path }))?;
            let all = history["history"].as_array().context("no history")?;
            let entry = &all.last().context("no entry")?["details"]["entry"];
            party
                .ask("undo", &json!({ "path": path, "entry": entry }))
                .map(done)
        },
        // Nothing was kept.
        files: |_, _| Ok(Outcome::Impossible),
    },
];

fn done<T>(_: T) -> Outcome {
    Outcome::Done
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns the id of a section in the editor's list.
fn section_id(listed: &Value, heading: &str) -> Result<Value> {
    let sections = listed["sections"].as_array().context("no sections")?;
    let section = sections.iter().find(|one| one["heading"] == heading);
    Ok(section.context("no such section")?["section_id"].clone())
}

/// Returns the paths in the editor's list of documents.
fn paths(listed: &Value) -> Result<Vec<String>> {
    let documents = listed["documents"].as_array().context("no documents")?;
    let paths = documents.iter().filter_map(Value::as_str);
    Ok(paths.map(str::to_owned).collect())
}

/// Reads all files of a folder with the file system server.
fn read_folder(party: &mut Party, root: &Path, folder: &str) -> Result<String> {
    let call = json!({ "path": root, "pattern": format!("{folder}/**/*.md") });
    let found = party.ask("search_files", &call)?;
    let files: Vec<&str> = found.lines().filter(|line| line.ends_with(".md")).collect();
    ensure!(!files.is_empty(), "{found}");
    party.ask("read_multiple_files", &json!({ "paths": files }))
}

/// Reads all files with the file system server.
fn read_everything(party: &mut Party, root: &Path) -> Result<String> {
    let found = party.ask(
        "search_files",
        &json!({ "path": root, "pattern": "**/*.md" }),
    )?;
    let files: Vec<&str> = found.lines().filter(|line| line.ends_with(".md")).collect();
    ensure!(!files.is_empty(), "{found}");
    party.ask("read_multiple_files", &json!({ "paths": files }))
}
