//! `outline` and `changes`: lists with ids, in pages.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::READ_NOTES;
use crate::fixture::{Era, TestDesk};

fn items(answer: &Value) -> Vec<Value> {
    answer["items"].as_array().unwrap().clone()
}

fn column(rows: &[Value], key: &str) -> Vec<String> {
    let text = |row: &Value| match &row[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    rows.iter().map(text).collect()
}

#[test]
fn the_desk_is_outlined_by_folders_and_documents() {
    let desk = TestDesk::new(READ_NOTES);
    desk.overwrite("deep/er/est/x.md", "# X\n\ntext\n");
    for era in Era::BOTH {
        let mut client = desk.open_with(era, "");
        let answer = client.json("outline", json!({}));
        let rows = items(&answer);
        assert_eq!(
            column(&rows, "id"),
            [
                "AGENTS.md",
                "deep/",
                "deep/er/",
                "inbox.md",
                "projects/",
                "projects/Winter feed.md",
                "projects/plan.md"
            ]
        );
        assert_eq!(answer["total"], 7);
        let folder = &rows[4];
        assert_eq!(folder["children"], 2);
        assert!(folder.get("base").is_none(), "{folder}");
        assert_eq!(rows[6]["title"], "Harbour plan");
        assert_eq!(rows[6]["children"], 1);
        assert!(rows[6]["base"].as_str().unwrap().starts_with("part-"));
        let sum = rows[5]["tokens"].as_u64().unwrap() + rows[6]["tokens"].as_u64().unwrap();
        assert_eq!(folder["tokens"], sum);
        let one = client.json("outline", json!({ "depth": 1 }));
        assert_eq!(
            column(&items(&one), "id"),
            ["AGENTS.md", "deep/", "inbox.md", "projects/"]
        );
        let below = client.json("outline", json!({ "id": "deep/", "depth": 1 }));
        assert_eq!(column(&items(&below), "id"), ["deep/er/"]);
    }
}

#[test]
fn a_document_is_outlined_by_its_headings() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let answer = client.json("outline", json!({ "id": "projects/plan.md" }));
    let rows = items(&answer);
    assert_eq!(column(&rows, "title"), ["Harbour plan", "Budget", "Tasks"]);
    assert_eq!(column(&rows, "children"), ["2", "1", "0"]);
    let all = client.json("outline", json!({ "path": "projects/plan.md", "depth": 3 }));
    assert_eq!(
        column(&items(&all), "title"),
        ["Harbour plan", "Budget", "Catering", "Tasks"]
    );
    let section = client.json("outline", json!({ "id": rows[1]["id"] }));
    let rows = items(&section);
    assert_eq!(column(&rows, "title"), ["Catering"]);
    let text = client.text("fetch", json!({ "id": rows[0]["id"] }));
    let base = rows[0]["base"]
        .as_str()
        .unwrap()
        .strip_prefix("part-")
        .unwrap();
    assert!(text.contains(base), "{text}");
    assert!(
        text.contains(&format!(" | {} tokens | ", rows[0]["tokens"])),
        "{text}"
    );
}

#[test]
fn outlines_come_in_pages() {
    let desk = TestDesk::new(&[]);
    for n in 0..150 {
        desk.overwrite(
            &format!("folder {}/note {n}.md", n % 3),
            format!("# Note {n}\n\n## Part\n"),
        );
    }
    let headings: String = (0..300)
        .map(|n| format!("## Heading {n}\n\ntext\n\n"))
        .collect();
    desk.overwrite("big.md", headings);
    let mut client = desk.open();
    for (id, total) in [("", 154), ("big.md", 300), ("folder 1", 50)] {
        let mut seen = HashSet::new();
        let mut arguments = json!({ "id": id });
        loop {
            let answer = client.json("outline", arguments.clone());
            let tokens = sectile_markdown::estimate_tokens(&answer.to_string());
            assert!(tokens <= 1_500, "{tokens}");
            assert_eq!(answer["total"], total);
            for id in column(&items(&answer), "id") {
                assert!(seen.insert(id), "{answer}");
            }
            match answer.get("next") {
                Some(next) => arguments["cursor"] = next.clone(),
                None => break,
            }
        }
        assert_eq!(seen.len(), total);
    }
    let next = client.json("outline", json!({}))["next"].clone();
    client.refused(
        "outline",
        json!({ "depth": 1, "cursor": next }),
        "cursor_stale",
    );
    client.refused("outline", json!({ "cursor": "soon" }), "invalid_cursor");
    desk.overwrite("another.md", "x");
    client.refused("outline", json!({ "cursor": next }), "cursor_stale");
    client.refused("outline", json!({ "depth": 0 }), "invalid_arguments");
    client.refused("outline", json!({ "id": "nowhere/" }), "not_found");
}

fn changes(answer: &Value) -> Vec<Value> {
    answer["changes"].as_array().unwrap().clone()
}

#[test]
fn changes_of_the_whole_desk_have_what_another_program_just_did() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open_as(Era::Handshake, "tester");
    let edit = json!({ "id": "inbox.md", "old": "boats", "new": "ships" });
    client.json("edit", edit);
    for text in ["Loose thoughts about sails.\n", "Loose thoughts.\n"] {
        let before = changes(&client.json("changes", json!({}))).len();
        desk.overwrite("inbox.md", text);
        let answer = client.json("changes", json!({}));
        assert_eq!(changes(&answer).len(), before + 1, "{answer}");
        assert_eq!(changes(&answer)[0]["external"], true, "{answer}");
    }
}

#[test]
fn changes_say_who_did_what_with_which_tool() {
    let desk = TestDesk::new(READ_NOTES);
    for era in Era::BOTH {
        let mut client = desk.open_as(era, "tester");
        let old = json!({ "id": "inbox.md", "old": "boats", "new": "ships" });
        let first = client.json("edit", old)["change"].clone();
        desk.overwrite("inbox.md", "Loose thoughts about ships and sails.\n");
        let answer = client.json("changes", json!({ "id": "inbox.md", "diff": true }));
        let rows = changes(&answer);
        assert_eq!(rows[0]["external"], true, "{answer}");
        assert_eq!(rows[0]["ids"], json!(["inbox.md"]));
        assert!(
            rows[0]["diff"]
                .as_str()
                .unwrap()
                .contains("+Loose thoughts about ships and sails."),
            "{answer}"
        );
        assert_eq!(rows[1]["change"], first);
        assert_eq!(rows[1]["tool"], "edit");
        assert!(
            rows[1]["by"].as_str().unwrap().starts_with("tester"),
            "{answer}"
        );
        let time = rows[1]["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && !time.contains('.'), "{answer}");
        assert!(rows[1].get("external").is_none(), "{answer}");
        let whole = client.json("changes", json!({}));
        assert_eq!(changes(&whole).len(), rows.len());
        assert!(changes(&whole)[0].get("diff").is_none());
        let none = client.json("changes", json!({ "id": "projects/" }));
        assert_eq!(changes(&none), Vec::<Value>::new());
        desk.overwrite("inbox.md", "Loose thoughts about boats.\n");
    }
}

#[test]
fn changes_can_start_anywhere() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let mut made = Vec::new();
    for n in 0..30 {
        let edit = json!({ "id": "inbox.md", "place": "append", "new": format!("Line {n}.") });
        made.push(
            client.json("edit", edit)["change"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let mut seen = Vec::new();
    let mut arguments = json!({ "limit": 7 });
    loop {
        let answer = client.json("changes", arguments.clone());
        seen.extend(column(&changes(&answer), "change"));
        match answer.get("next") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    seen.reverse();
    assert_eq!(seen, made);
    let since = client.json("changes", json!({ "since": made[26] }));
    assert_eq!(
        column(&changes(&since), "change"),
        [29, 28, 27].map(|at| made[at].clone())
    );
    for since in ["1h", "7d", "2020-01-01", "2020-01-01T00:00:00Z"] {
        let answer = client.json("changes", json!({ "since": since, "limit": 1 }));
        assert_eq!(
            column(&changes(&answer), "change"),
            [made[29].as_str()],
            "{since}"
        );
    }
    let later = client.json("changes", json!({ "since": "2999-01-01" }));
    assert_eq!(changes(&later), Vec::<Value>::new());
    client.refused(
        "changes",
        json!({ "since": "yesterday" }),
        "invalid_arguments",
    );
    client.refused("changes", json!({ "since": "99999" }), "change_not_found");
    client.refused("changes", json!({ "cursor": "x" }), "invalid_cursor");
    client.refused(
        "changes",
        json!({ "id": "inbox.md", "cursor": arguments["cursor"] }),
        "cursor_stale",
    );
    client.refused("changes", json!({ "id": "nowhere.md" }), "not_found");
    // The answer is bounded even with diffs.
    let answer = client.json("changes", json!({ "diff": true, "limit": 100 }));
    assert!(sectile_markdown::estimate_tokens(&answer.to_string()) <= 1_500);
}

#[test]
fn a_deleted_document_still_has_changes() {
    let desk = TestDesk::new(READ_NOTES);
    let mut client = desk.open();
    let text = client.text("fetch", json!({ "id": "inbox.md" }));
    let base = text
        .split("base ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let change = client.json("delete", json!({ "id": "inbox.md", "base": base }))["change"].clone();
    let answer = client.json("changes", json!({ "id": "inbox.md" }));
    assert_eq!(changes(&answer)[0]["change"], change);
    assert_eq!(changes(&answer)[0]["tool"], "delete");
    client.refused("fetch", json!({ "id": "inbox.md" }), "not_found");
}
