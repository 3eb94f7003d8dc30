//! Reading a desk with several roots.

use serde_json::{Value, json};

use crate::fixture::{Era, TestDesk};

const ROOTS: &str = "[desk.roots]\nwork = \"vault/work\"\nhome = \"vault/home\"\n";

fn desk() -> TestDesk {
    TestDesk::new(&[
        (
            "work/plan.md",
            "# Plan\n\nRopes for the harbour.\n\n## Next\n\n[[list]] and [[gone]]\n",
        ),
        ("work/list.md", "# List\n\n- [ ] Buy ropes\n"),
        ("home/plan.md", "# Plan\n\nRopes for the tent.\n"),
    ])
}

fn column(rows: &Value, key: &str) -> Vec<String> {
    let text = |row: &Value| row[key].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn every_answer_names_the_root() {
    let desk = desk();
    for era in Era::BOTH {
        let mut client = desk.open_with(era, ROOTS);
        let found = client.json("search", json!({ "query": "ropes" }));
        let ids = column(&found["results"], "id");
        assert!(
            ids.iter().any(|id| id.starts_with("work:plan.md#plan-")),
            "{found}"
        );
        assert!(
            ids.iter().any(|id| id.starts_with("home:plan.md#plan-")),
            "{found}"
        );
        assert!(
            column(&found["results"], "url")
                .iter()
                .any(|url| url.starts_with("sectile:///home/plan.md#"))
        );
        let outline = client.json("outline", json!({}));
        assert_eq!(
            column(&outline["items"], "id"),
            [
                "home:",
                "home:plan.md",
                "work:",
                "work:list.md",
                "work:plan.md"
            ]
        );
        let work = client.json("outline", json!({ "id": "work:" }));
        assert_eq!(
            column(&work["items"], "id"),
            ["work:list.md", "work:plan.md"]
        );
        let text = client.text("fetch", json!({ "id": "home:plan.md\nwork:list.md" }));
        assert!(
            text.contains("Ropes for the tent.") && text.contains("[work:list.md | base "),
            "{text}"
        );
        let refused = client.refused("fetch", json!({ "id": "plan" }), "ambiguous");
        assert!(
            refused.contains("\n- work:plan.md (") && refused.contains("\n- home:plan.md ("),
            "{refused}"
        );
        let links = client.json("links", json!({ "id": "work:plan.md" }));
        assert_eq!(links["links"][0]["to"], "work:list.md");
        assert_eq!(links["links"][1]["to"], "gone");
        let broken = client.json("links", json!({ "id": ".", "broken": true }));
        assert_eq!(column(&broken["links"], "to"), ["gone"]);
    }
}

/// Paths in a diff are ids, as everywhere else.
#[test]
fn what_moved_is_named_with_its_root() {
    let desk = desk();
    let mut client = desk.open_with(Era::Handshake, ROOTS);
    let renamed = client.json(
        "rename",
        json!({ "id": "work:list.md", "to": "later/todo.md" }),
    );
    let listed = client.json("changes", json!({ "diff": true }));
    for diff in [&renamed["diff"], &listed["changes"][0]["diff"]] {
        let diff = diff.as_str().unwrap();
        let start = "work:list.md -> work:later/todo.md\nwork:plan.md:\n";
        assert!(diff.starts_with(start), "{diff}");
    }
}

#[test]
fn changes_of_all_roots_are_one_list() {
    let desk = desk();
    let mut client = desk.open_with(Era::Handshake, ROOTS);
    let mut made = Vec::new();
    for n in 0..9 {
        let id = if n % 3 == 0 {
            "home:plan.md"
        } else {
            "work:list.md"
        };
        let edit = json!({ "id": id, "place": "append", "new": format!("Line {n}.") });
        made.push(
            client.json("edit", edit)["change"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let mut seen = Vec::new();
    let mut arguments = json!({ "limit": 2 });
    loop {
        let answer = client.json("changes", arguments.clone());
        seen.extend(column(&answer["changes"], "change"));
        match answer.get("next") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    let mut all = made.clone();
    all.sort();
    let mut sorted = seen.clone();
    sorted.sort();
    assert_eq!(sorted, all);
    let of_work = |changes: &[String]| -> Vec<String> {
        changes
            .iter()
            .filter(|change| change.starts_with("work:"))
            .cloned()
            .collect()
    };
    made.reverse();
    assert_eq!(of_work(&seen), of_work(&made));
    let home = client.json("changes", json!({ "id": "home:" }));
    assert_eq!(column(&home["changes"], "change").len(), 3);
    let since = client.json("changes", json!({ "id": "work:", "since": made[2] }));
    assert!(column(&since["changes"], "change").len() <= 2, "{since}");
    client.refused("changes", json!({ "since": "3" }), "change_not_found");
}
