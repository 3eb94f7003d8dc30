//! Every tool in both eras and on both transports, and how long lists and answers may be.

use std::collections::BTreeSet;

use sectile_markdown::estimate_tokens;
use serde_json::{Value, json};

use super::{READ_NOTES, settled};
use crate::fixture::{Era, Http, TestDesk, initialize, tenants::asked_of_tenant, wait_for};

/// Calls every tool, with what the answers before it gave. Returns the tools and their results.
fn walk(ask: &mut dyn FnMut(&str, Value) -> Value) -> Vec<(String, Value)> {
    let mut seen = Vec::new();
    wait_for("the notes to be read", || {
        let result = ask("search", json!({ "query": "budget" }));
        let is_read = result["structuredContent"].get("index").is_none();
        is_read.then_some(())
    });
    let mut step = |tool: &str, arguments: Value| {
        let result = ask(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        seen.push((tool.to_owned(), result.clone()));
        result
    };
    let found = step("search", json!({ "query": "budget for ropes" }));
    let id = found["structuredContent"]["results"][0]["id"].clone();
    let text = step("fetch", json!({ "id": id }));
    let text = text["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("40 euros"), "{text}");
    step("outline", json!({}));
    step("links", json!({ "id": "projects/plan.md" }));
    let made =
        json!({ "path": "new.md", "text": "# New\n\nSee [[plan]].\n", "fields": { "a": 1 } });
    step("create", made);
    let base = text.split(" | base ").nth(1).unwrap();
    let base = base.split(' ').next().unwrap();
    step(
        "edit",
        json!({ "id": id, "old": "40 euros", "new": "45 euros", "base": base }),
    );
    step(
        "set_fields",
        json!({ "id": "projects/plan.md", "set": { "status": "done" } }),
    );
    step("rename", json!({ "id": id, "to": "Money" }));
    let inbox = step("fetch", json!({ "id": "inbox.md" }));
    let inbox = inbox["content"][0]["text"].as_str().unwrap().to_owned();
    let base = inbox.split(" | base ").nth(1).unwrap();
    let base = base.split(' ').next().unwrap();
    step("delete", json!({ "id": "inbox.md", "base": base }));
    step("undo", json!({}));
    let changes = step("changes", json!({ "diff": true }));
    let changes = changes["structuredContent"]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 6, "{changes:?}");
    step("search", json!({ "query": "loose thoughts" }));
    seen
}

/// Results without what depends on the folder, on the time and on how the client names itself.
fn settled_walk(seen: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let settle = |(tool, mut result): (String, Value)| {
        if let Some(changes) = result["structuredContent"]["changes"].as_array_mut() {
            for change in changes {
                assert!(change["by"].is_string(), "{change}");
                change["by"] = json!("[client]");
            }
            result["content"] = json!([]);
        }
        (tool, serde_json::from_str(&settled(&result)).unwrap())
    };
    seen.into_iter().map(settle).collect()
}

/// Asks a server over HTTP, in a session where the era has them.
pub(super) fn over_http<'h>(
    server: &'h Http<'_>,
    era: Era,
) -> impl FnMut(&str, Value) -> Value + 'h {
    let session = (era == Era::Handshake).then(|| {
        let opened = server.post(era, &initialize(0));
        opened.header("Mcp-Session-Id").map(str::to_owned)
    });
    let session = session.flatten();
    let mut id = 0;
    move |tool, arguments| {
        id += 1;
        let headers: Vec<(&str, &str)> = session
            .iter()
            .map(|session| ("Mcp-Session-Id", session.as_str()))
            .collect();
        let answer = server.post_with(era, &era.call(id, tool, arguments), &headers);
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut events = answer.events();
        let message = events.pop().unwrap_or_else(|| answer.json());
        message["result"].clone()
    }
}

#[test]
fn every_tool_answers_the_same_in_both_eras_on_stdio_and_http() {
    let mut walks = Vec::new();
    for era in Era::BOTH {
        let desk = TestDesk::new(READ_NOTES);
        let mut client = desk.open_with(era, "");
        walks.push(walk(&mut |tool, arguments| client.call(tool, arguments)));
        let desk = TestDesk::new(READ_NOTES);
        let server = Http::spawn(&desk.vault, desk.command(""));
        let mut ask = over_http(&server, era);
        walks.push(walk(&mut |tool, arguments| match desk.is_tenant() {
            // Calls name no address of a skill, so only answers differ.
            true => asked_of_tenant(&arguments, |arguments| ask(tool, arguments.clone())),
            false => ask(tool, arguments),
        }));
    }
    let walks: Vec<_> = walks.into_iter().map(settled_walk).collect();
    for other in &walks[1..] {
        for ((tool, first), (_, second)) in walks[0].iter().zip(other) {
            let mut second = second.clone();
            // The stateless era says in each result what kind it is.
            for key in ["resultType", "_meta"] {
                if first.get(key).is_none() {
                    second.as_object_mut().unwrap().remove(key);
                }
            }
            assert_eq!(*first, second, "{tool}");
        }
    }
    let used: BTreeSet<&String> = walks[0].iter().map(|(tool, _)| tool).collect();
    assert_eq!(used.len(), 11, "{used:?}");
}

/// A name that costs as much as it can.
fn long(n: usize, length: usize) -> String {
    let part = [
        "\"quoted\" & back",
        "日本語の長い名前",
        "🚢⚓ ",
        "emphasis_",
        "Ünïcödé ",
    ][n % 5];
    let mut name = format!("{n} ");
    while name.len() < length {
        name += part;
    }
    while name.len() > length {
        name.pop();
    }
    name.trim().to_owned()
}

/// Notes with long names, titles, headings, tags, fields and lines, which link to each other.
fn hostile() -> TestDesk {
    let desk = TestDesk::new(&[]);
    for n in 0..40 {
        let (folder, name) = (long(n % 7, 120), long(n, 180));
        let target = long((n + 1) % 40, 180);
        let line = format!("lighthouse{}", "\\\"x".repeat(3_000));
        let text = format!(
            "---\ntitle: '{0}'\ntags: ['{1}']\n'{1}': '{0}'\n---\n# {0}\n\nThe lighthouse of [[{target}]] {2}\n\n## {0}\n\n{line}\n\n{3}\n",
            long(n, 400).replace('\'', ""),
            long(n, 90).replace([' ', '"', '&'], "-"),
            "灯塔看守人".repeat(200),
            "The lighthouse keeper \\\" counts. ".repeat(40),
        );
        desk.overwrite(&format!("{folder}/{name}.md"), text);
    }
    let hub: String = (0..40)
        .map(|n| format!("- [[{}]] and [[{} missing]]\n", long(n, 180), long(n, 180)))
        .collect();
    desk.overwrite("hub.md", hub);
    desk
}

/// The tokens of an answer as a model reads it.
fn cost(result: &Value) -> usize {
    let text = result["content"][0]["text"].as_str().unwrap();
    estimate_tokens(text)
}

#[test]
fn lists_keep_to_their_budgets_in_a_hostile_folder() {
    let desk = hostile();
    let mut client = desk.open().until_read();
    for n in 0..6 {
        let edit = json!({ "id": "hub.md", "place": "append", "new": long(n, 900) });
        client.json("edit", edit);
    }
    let first = desk.text("hub.md");
    assert!(first.len() > 5_000);
    for (tool, arguments, list) in [
        ("search", json!({ "query": "lighthouse" }), "results"),
        ("search", json!({ "query": "灯塔看守人" }), "results"),
        ("search", json!({ "query": "sort:modified" }), "results"),
        ("outline", json!({}), "items"),
        ("outline", json!({ "id": "hub.md" }), "items"),
        ("links", json!({ "id": "hub.md" }), "links"),
        ("links", json!({ "id": "." }), "links"),
        ("links", json!({ "id": ".", "broken": true }), "links"),
        ("changes", json!({}), "changes"),
        ("changes", json!({ "diff": true }), "changes"),
    ] {
        let mut arguments = arguments;
        let (mut seen, mut most) = (0, 0);
        for page in 0.. {
            let result = client.call(tool, arguments.clone());
            assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
            most = most.max(cost(&result));
            assert!(
                cost(&result) <= 1_500,
                "{tool} {arguments}: {}",
                cost(&result)
            );
            let answer = &result["structuredContent"];
            let count = answer[list].as_array().unwrap().len();
            seen += count;
            assert!(page < 200, "{tool} {arguments} does not end");
            match answer.get("next") {
                // Every page leads on.
                Some(next) => {
                    assert!(count > 0, "{tool} {arguments}: {answer}");
                    arguments["cursor"] = next.clone();
                }
                None => break,
            }
        }
        println!("{tool} {arguments}: {seen} in pages of at most {most} tokens");
        assert!(
            seen > 0 || arguments["id"] == "hub.md",
            "{tool} {arguments}"
        );
    }
}

#[test]
fn fetch_keeps_to_its_budget_in_a_hostile_folder() {
    let desk = hostile();
    let mut client = desk.open().until_read();
    let note = format!("{}/{}.md", long(4, 120), long(4, 180));
    for budget in [300, 1_000, 6_000] {
        let result = client.call("fetch", json!({ "id": note, "budget": budget }));
        assert!(
            cost(&result) <= budget,
            "{} > {budget}: {result}",
            cost(&result)
        );
    }
    let default = client.call("fetch", json!({ "id": note }));
    assert!(cost(&default) <= 6_000, "{}", cost(&default));
}

#[test]
fn answers_to_writes_are_short_whatever_is_written() {
    let desk = hostile();
    let mut client = desk.open().until_read();
    let huge = "The lighthouse \\\" keeper 灯塔.\n\n".repeat(400);
    let hub = desk.text("hub.md");
    let target = long(3, 180);
    let mut write = |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        println!("{tool}: {} tokens", cost(&result));
        assert!(
            cost(&result) <= 400,
            "{tool}: {} in {result}",
            cost(&result)
        );
        result["structuredContent"].clone()
    };
    write(
        "create",
        json!({ "path": "new.md", "text": huge, "fields": { "a": long(4, 2_000) } }),
    );
    write(
        "edit",
        json!({ "id": "hub.md", "place": "append", "new": huge }),
    );
    write(
        "set_fields",
        json!({ "id": "hub.md", "set": { "a": long(2, 3_000), "b": vec!["x"; 300] } }),
    );
    let paths = desk.all().into_keys();
    let file = { paths }
        .find(|path| path.ends_with(&format!("/{target}.md")))
        .unwrap();
    write(
        "rename",
        json!({ "id": file, "to": format!("{}.md", long(44, 200)) }),
    );
    let folder = file.split('/').next().unwrap();
    write(
        "rename",
        json!({ "id": format!("{folder}/"), "to": long(46, 200) }),
    );
    write("undo", json!({}));
    assert!(desk.text("hub.md").len() > hub.len());
    let fetched = client.text("fetch", json!({ "id": "hub.md", "budget": 20_000 }));
    let base = fetched
        .split(" | base ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    let result = client.call(
        "delete",
        json!({ "id": "hub.md", "base": base.trim_start_matches("part-") }),
    );
    assert_eq!(result["isError"], false, "{result}");
    assert!(cost(&result) <= 400, "{result}");
}

#[test]
fn instructions_are_short_in_a_hostile_folder() {
    let desk = hostile();
    // It stays, and caches what it read, so that the servers after it know the notes from the start.
    let _first = desk.open().until_read();
    let instructions = wait_for("the notes to be read", || {
        let client = desk.open();
        let text = client.instructions.clone();
        text.contains("41 notes.").then_some(text)
    });
    println!("{} bytes", instructions.len());
    assert!(
        instructions.len() < 2_000,
        "{}: {instructions}",
        instructions.len()
    );
}
