//! Listings and schemas of both modes, pinned in files, and answers that keep to them.
//!
//! After a wanted change: `INSTA_UPDATE=always cargo test -p sectile --test it editor::listings`, then read the difference.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::SAMPLE;
use crate::{
    contract::{
        pin,
        schema::{objects, schemas, violation},
    },
    fixture::{Editor, Era, TestDocuments, initialize},
};

/// A document, and a folder with two.
fn both_modes() -> [(&'static str, TestDocuments); 2] {
    let folder = [("a.md", SAMPLE), ("sub/b c.md", "# B\n")];
    [
        ("document", TestDocuments::single(SAMPLE)),
        ("folder", TestDocuments::folder(&folder)),
    ]
}

fn tools(editor: &mut Editor<'_>) -> Vec<Value> {
    let listing = editor.ask("tools/list", json!({}));
    listing["result"]["tools"].as_array().unwrap().clone()
}

fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

#[test]
fn the_listings_and_every_tool_are_as_pinned() {
    let [(_, document), (_, folder)] = both_modes();
    let (of_document, of_folder) = (tools(&mut document.open()), tools(&mut folder.open()));
    let names = |tools: &[Value]| -> Vec<String> {
        tools.iter().map(|tool| name(tool).to_owned()).collect()
    };
    pin("editor__tools_of_document", &json!(names(&of_document)));
    pin("editor__tools_of_folder", &json!(names(&of_folder)));
    let mut only_of_folder = names(&of_folder);
    only_of_folder.retain(|name| !names(&of_document).contains(name));
    for tool in &of_folder {
        pin(&format!("editor__{}", name(tool)), tool);
        let same = of_document.iter().find(|other| name(other) == name(tool));
        if let Some(same) = same {
            assert_same_but_for(&only_of_folder, tool, same);
        }
    }
}

/// Fails unless what a single document has is what a folder has, without what names tools that only a folder has.
fn assert_same_but_for(tools: &[String], folder: &Value, document: &Value) {
    let names = |value: &Value| {
        let text = value.to_string();
        tools.iter().any(|name| text.contains(name.as_str()))
    };
    match (folder, document) {
        (Value::Object(folder), Value::Object(document)) => {
            for (key, value) in folder {
                match document.get(key) {
                    Some(same) => assert_same_but_for(tools, value, same),
                    None => assert!(key == "description" && names(value), "{key}: {value}"),
                }
            }
            assert!(document.keys().all(|key| folder.contains_key(key)));
        }
        (Value::Array(folder), Value::Array(document)) => {
            let left = folder
                .iter()
                .filter(|value| document.len() == folder.len() || !names(value));
            let left: Vec<&Value> = left.collect();
            assert_eq!(left.len(), document.len(), "{document:?}");
            for (folder, document) in left.into_iter().zip(document) {
                assert_same_but_for(tools, folder, document);
            }
        }
        (Value::String(_), Value::String(_)) if names(folder) => assert!(!names(document)),
        _ => assert_eq!(folder, document, "the same in both modes"),
    }
}

#[test]
fn both_eras_list_the_same() {
    for (_, documents) in both_modes() {
        for (method, list) in [
            ("tools/list", "tools"),
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let [handshake, stateless] = Era::BOTH.map(|era| {
                let answer = documents.open_with(era, "").ask(method, json!({}));
                answer["result"][list].clone()
            });
            assert!(handshake.is_array(), "{method}");
            assert_eq!(handshake, stateless, "{method}");
        }
    }
}

#[test]
fn introductions_resources_templates_and_prompts_are_as_pinned() {
    for (mode, documents) in both_modes() {
        let mut editor = documents.open();
        for (method, name) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "templates"),
            ("prompts/list", "prompts"),
        ] {
            let answer = editor.ask(method, json!({}));
            pin(&format!("editor__{name}_of_{mode}"), &answer["result"]);
        }
        editor.leave();
        let command = || documents.command("");
        let mut server = crate::fixture::Stdio::spawn(documents.vault(), command());
        let mut answer = server.exchange(&initialize(1));
        answer["result"]["serverInfo"]["version"] = json!("[version]");
        pin(&format!("editor__initialize_{mode}"), &answer["result"]);
        let mut server = crate::fixture::Stdio::spawn(documents.vault(), command());
        let mut answer = server.exchange(&Era::Stateless.request(1, "server/discover", json!({})));
        answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] =
            json!("[version]");
        pin(&format!("editor__discover_{mode}"), &answer["result"]);
    }
}

#[test]
fn hints_say_what_a_tool_does() {
    for (_, documents) in both_modes() {
        for tool in tools(&mut documents.open()) {
            let hints = &tool["annotations"];
            let reads = ["list_", "get_", "open_", "history", "check_"];
            let only_reads = reads.iter().any(|start| name(&tool).starts_with(start));
            assert_eq!(hints["readOnlyHint"], only_reads, "{tool}");
            assert_eq!(hints["openWorldHint"], false, "{tool}");
            let destroys = [
                "delete_section",
                "delete_document",
                "apply_edits",
                "apply_plan",
            ];
            let is_destructive = destroys.contains(&name(&tool));
            assert_eq!(hints["destructiveHint"], is_destructive, "{tool}");
            let description = tool["description"].as_str().unwrap();
            assert!((1..300).contains(&description.chars().count()), "{tool}");
        }
    }
}

#[test]
fn schemas_hold_nothing_that_clients_stumble_over_and_are_closed() {
    for (_, documents) in both_modes() {
        for tool in tools(&mut documents.open()) {
            for side in ["inputSchema", "outputSchema"] {
                let (schema, case) = (&tool[side], format!("{}, {side}", name(&tool)));
                assert_eq!(schema["type"], "object", "{case}");
                for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$schema"] {
                    assert_eq!(schema.get(keyword), None, "{case}");
                }
                for part in schemas(schema) {
                    let format = part.get("format").and_then(Value::as_str).unwrap_or("");
                    assert!(!format.contains("int"), "{case}: {part}");
                }
                for object in objects(schema) {
                    assert_eq!(object["additionalProperties"], false, "{case}: {object}");
                }
            }
        }
    }
}

/// Calls of every tool, in an order in which all of them succeed.
fn calls(a: &str, b: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("list_documents", json!({})),
        ("open_document", json!({ "path": "a.md" })),
        ("list_sections", json!({})),
        ("get_section", json!({ "section_id": a })),
        ("get_document", json!({})),
        (
            "insert_section",
            json!({ "heading": "N", "content": "n", "position": 5, "dry_run": true }),
        ),
        (
            "insert_section",
            json!({ "heading": "N", "content": "n", "position": 5, "request_id": "r" }),
        ),
        ("update_section", json!({ "section_id": a, "content": "u" })),
        ("update_section", json!({ "section_id": a, "content": "u" })),
        (
            "move_section",
            json!({ "section_id": a, "new_position": 3 }),
        ),
        (
            "rename_section",
            json!({ "section_id": a, "heading": "Alef" }),
        ),
        (
            "edit_text",
            json!({ "section_id": a, "old_text": "u", "new_text": "v" }),
        ),
        ("set_front_matter", json!({ "key": "tags", "value": ["x"] })),
        (
            "apply_edits",
            json!({ "edits": [
                { "operation": "edit_text", "section_id": a, "old_text": "v", "new_text": "w" },
                { "operation": "update_section", "section_id": b, "content": "in b" },
            ] }),
        ),
        ("undo", json!({})),
        ("redo", json!({})),
        ("history", json!({ "diff": true })),
        ("get_revision", json!({ "entry": 1 })),
        ("delete_section", json!({ "section_id": a })),
        (
            "create_document",
            json!({ "path": "c.md", "content": "# C\n" }),
        ),
        (
            "rename_document",
            json!({ "path": "c.md", "new_path": "d.md" }),
        ),
        ("delete_document", json!({ "path": "d.md" })),
    ]
}

#[test]
fn answers_are_valid_under_their_output_schemas() {
    let mut called = BTreeSet::from(["apply_plan"]);
    let documents = TestDocuments::folder(&[("a.md", SAMPLE), ("b.md", "# B\n\nb\n")]);
    let mut editor = documents.open();
    let tools = tools(&mut editor);
    let valid = |tool: &str, answer: &Value| {
        let known = tools.iter().find(|one| name(one) == tool).unwrap();
        assert_eq!(violation(&known["outputSchema"], answer), None, "{tool}");
    };
    let (a, b) = (editor.id_in("a.md", "Alpha"), editor.id_in("b.md", "B"));
    for (tool, arguments) in calls(&a, &b) {
        let answer = editor.ok(tool, arguments);
        valid(tool, &answer);
        called.insert(tool);
    }
    let dry_run = json!({ "heading": "P", "content": "p", "position": 0, "dry_run": true });
    let plan = editor.ok("insert_section", dry_run)["plan"].clone();
    valid(
        "apply_plan",
        &editor.ok("apply_plan", json!({ "plan": plan })),
    );
    let all: BTreeSet<&str> = tools.iter().map(name).collect();
    // It comes with the repair of links, and is tested there.
    called.extend(all.get("check_links"));
    assert_eq!(called, all, "every tool was called");
}
