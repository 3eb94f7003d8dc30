//! The listing, every schema, the introductions and a walk of sample answers, pinned.

use serde_json::{Value, json};

use super::{READ_NOTES, settled};
use crate::{
    contract::{
        pin,
        schema::{objects, schemas, violation},
    },
    fixture::{DeskClient, Era, Stdio, TestDesk, initialize, wait_for},
};

fn listed(desk: &TestDesk, era: Era) -> Vec<Value> {
    let answer = desk.open_with(era, "").ask("tools/list", json!({}));
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn the_listing_and_every_tool_are_as_pinned() {
    let desk = TestDesk::new(READ_NOTES);
    let tools = listed(&desk, Era::Stateless);
    assert_eq!(tools, listed(&desk, Era::Handshake));
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    pin("desk__tools", &json!(names));
    for tool in &tools {
        pin(&format!("desk__{}", tool["name"].as_str().unwrap()), tool);
    }
}

/// The answer of a server that has read all notes before.
fn introduction(desk: &TestDesk, message: &Value) -> Value {
    wait_for("the notes to be read", || {
        let mut server = Stdio::spawn(&desk.vault, desk.command(""));
        let answer = server.exchange(message);
        let is_early = answer.to_string().contains("still being read");
        (!is_early).then_some(answer)
    })
}

#[test]
fn the_introductions_are_as_pinned() {
    let desk = TestDesk::new(READ_NOTES);
    let mut answer = introduction(&desk, &initialize(1));
    answer["result"]["serverInfo"]["version"] = json!("[version]");
    pin("desk__initialize", &answer["result"]);
    let discover = Era::Stateless.request(1, "server/discover", json!({}));
    let mut answer = introduction(&desk, &discover);
    let info = &mut answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    info["version"] = json!("[version]");
    pin("desk__discover", &answer["result"]);
}

#[test]
fn schemas_are_closed_and_hold_nothing_that_clients_stumble_over() {
    for tool in listed(&TestDesk::new(READ_NOTES), Era::Stateless) {
        for side in ["inputSchema", "outputSchema"] {
            let Some(schema) = tool.get(side) else {
                continue;
            };
            let case = format!("{}, {side}", tool["name"]);
            assert_eq!(schema["type"], "object", "{case}");
            for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$schema"] {
                assert_eq!(schema.get(keyword), None, "{case}");
            }
            for part in schemas(schema) {
                let is_plain = part.get("type").is_none_or(Value::is_string);
                assert!(is_plain, "{case}: {part}");
            }
            for object in objects(schema) {
                // Fields of a note have any name.
                let is_closed = object["additionalProperties"] == false;
                assert!(
                    is_closed || object.get("properties").is_none(),
                    "{case}: {object}"
                );
            }
        }
    }
}

/// One call of a sample conversation, with the answer that it gets.
fn exchange(client: &mut DeskClient<'_>, tool: &str, arguments: Value) -> Value {
    let result = client.call(tool, arguments.clone());
    let mut answer = match result.get("structuredContent") {
        Some(structured) => structured.clone(),
        None => result["content"][0]["text"].clone(),
    };
    if let Some(plan) = answer.get_mut("plan") {
        // It is made with the key of the user.
        assert_eq!(plan.as_str().unwrap().len(), 32);
        *plan = json!("[plan]");
    }
    json!({ "tool": tool, "arguments": arguments, "failed": result["isError"], "answer": answer })
}

/// The calls of the README's first screen and their neighbours: ask, read, edit, conflict, undo.
fn conversation(client: &mut DeskClient<'_>) -> Vec<Value> {
    let mut said = Vec::new();
    let mut say = |tool: &str, arguments: Value| {
        let exchanged = exchange(client, tool, arguments);
        said.push(exchanged.clone());
        exchanged["answer"].clone()
    };
    let found = say("search", json!({ "query": "budget for ropes", "limit": 2 }));
    let id = found["results"][0]["id"].clone();
    let text = say("fetch", json!({ "id": id }));
    let base = text.as_str().unwrap().split(" | base ").nth(1).unwrap();
    let base = base.split(' ').next().unwrap().to_owned();
    say("fetch", json!({ "id": "inbox.md\nnowhere" }));
    say("outline", json!({}));
    say("outline", json!({ "id": "projects/plan.md" }));
    say("links", json!({ "id": "Harbour plan" }));
    say("links", json!({ "id": "projects/plan.md" }));
    say("search", json!({ "query": "is:task path:projects/" }));
    say("search", json!({ "query": "tag:nothing zeppelin" }));
    say(
        "edit",
        json!({ "id": id, "old": "40 euros", "new": "45 euros", "base": base }),
    );
    let new = "The budget is 50 euros for ropes and paint.";
    say("edit", json!({ "id": id, "new": new, "base": base }));
    say(
        "edit",
        json!({ "id": id, "place": "append", "new": "And for [[buoys]].", "preview": true }),
    );
    say(
        "create",
        json!({ "path": "ideas/pier.md", "text": "# Pier\n\nSee [[plan#Budget]].\n", "fields": { "tags": ["a", "b"] } }),
    );
    say(
        "set_fields",
        json!({ "id": "ideas/pier.md", "set": { "status": "open" }, "unset": ["tags"] }),
    );
    say("rename", json!({ "id": id, "to": "Money" }));
    say("rename", json!({ "id": "projects/", "to": "work" }));
    say(
        "delete",
        json!({ "id": "inbox.md", "base": "0123456789abcdef" }),
    );
    say("undo", json!({}));
    say("changes", json!({ "limit": 3 }));
    say("changes", json!({ "id": "ideas/", "diff": true }));
    say("fetch", json!({ "id": "projects/plann" }));
    say("fetch", json!({ "id": "plan.md#Nothing" }));
    said
}

#[test]
fn sample_answers_are_as_pinned_and_valid_under_their_schemas() {
    let desk = TestDesk::in_folder(READ_NOTES);
    let tools = listed(&desk, Era::Stateless);
    let said = conversation(&mut desk.open().until_read());
    for exchanged in &said {
        let tool = tools.iter().find(|tool| tool["name"] == exchanged["tool"]);
        let schema = tool.unwrap().get("outputSchema");
        if let Some(schema) = schema.filter(|_| exchanged["failed"] == false) {
            assert_eq!(violation(schema, &exchanged["answer"]), None, "{exchanged}");
        }
    }
    let said: Value = serde_json::from_str(&settled(&json!(said))).unwrap();
    pin("desk__answers", &said);
}
