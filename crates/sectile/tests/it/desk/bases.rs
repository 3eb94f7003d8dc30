//! Every base that the desk answers for an id is taken by every tool that takes a base for that id.

use serde_json::{Value, json};

use crate::fixture::{DeskClient, TestDesk};

const TEXT: &str = "# Plan\n\nIntro.\n\n## Budget\n\nForty euros.\n\n### Catering\n\nSoup.\n\n## Dates\n\nIn spring.\n";

/// A note of a case, with ids in it.
struct CaseNote {
    path: String,
    section: String,
}

/// Calls that end in one whose answer has an id and a base.
type Steps = fn(&CaseNote) -> Vec<(&'static str, Value)>;

/// Writes of every kind.
const WRITES: &[(&str, Steps)] = &[
    ("create", |_| vec![]),
    ("passage of the section", |note| {
        let edit = json!({ "id": note.section, "old": "Forty", "new": "Fifty" });
        vec![("edit", edit)]
    }),
    ("passage of a subsection", |note| {
        let edit = json!({ "id": note.section, "old": "Soup", "new": "Bread" });
        vec![("edit", edit)]
    }),
    ("passage of the document", |note| {
        let edit = json!({ "id": note.path, "old": "Forty", "new": "Fifty" });
        vec![("edit", edit)]
    }),
    ("own text", |note| {
        let edit = json!({ "id": note.section, "new": "Sixty euros." });
        vec![("edit", edit)]
    }),
    ("own text twice", |note| {
        let first = json!({ "id": note.section, "new": "Sixty euros." });
        let second = json!({ "id": note.section, "new": "Seventy euros." });
        vec![("edit", first), ("edit", second)]
    }),
    ("text with subsections", |note| {
        let new = "Sixty euros.\n\n### Food\n\nRice.";
        let edit = json!({ "id": note.section, "new": new, "scope": "subtree" });
        vec![("edit", edit)]
    }),
    ("text added to the section", |note| {
        let edit = json!({ "id": note.section, "new": "More.", "place": "append" });
        vec![("edit", edit)]
    }),
    ("text added to the section with subsections", |note| {
        let edit =
            json!({ "id": note.section, "new": "More.", "place": "append", "scope": "subtree" });
        vec![("edit", edit)]
    }),
    ("text before the section", |note| {
        let edit = json!({ "id": note.section, "new": "Before.", "place": "before" });
        vec![("edit", edit)]
    }),
    ("text after the section", |note| {
        let edit = json!({ "id": note.section, "new": "## Late\n\nAfter.", "place": "after" });
        vec![("edit", edit)]
    }),
    ("text added to the document", |note| {
        let edit = json!({ "id": note.path, "new": "Last.", "place": "append" });
        vec![("edit", edit)]
    }),
    ("the whole document", |note| {
        let new = "# New\n\nForty euros.\n";
        let edit = json!({ "id": note.path, "new": new, "scope": "subtree" });
        vec![("edit", edit)]
    }),
    ("nothing", |note| {
        let edit = json!({ "id": note.section, "old": "Forty", "new": "Forty" });
        vec![("edit", edit)]
    }),
    ("fields", |note| {
        let set = json!({ "id": note.path, "set": { "status": "open" } });
        vec![("set_fields", set)]
    }),
    ("fields of the document of a section", |note| {
        let set = json!({ "id": note.section, "set": { "status": "open" } });
        vec![("set_fields", set)]
    }),
    ("heading", |note| {
        vec![("rename", json!({ "id": note.section, "to": "Money" }))]
    }),
    ("path", |note| {
        let to = format!("moved/{}", note.path);
        vec![("rename", json!({ "id": note.path, "to": to }))]
    }),
    ("section into another document", |note| {
        let other = format!("other-{}", note.path);
        let create = json!({ "path": other, "text": "# Other\n\nText.\n" });
        let rename = json!({ "id": note.section, "to": other });
        vec![("create", create), ("rename", rename)]
    }),
    ("undo of an edit", |note| {
        let edit = json!({ "id": note.section, "new": "Sixty." });
        vec![("edit", edit), ("undo", json!({}))]
    }),
    ("undo of a new heading", |note| {
        let rename = json!({ "id": note.section, "to": "Money" });
        vec![("rename", rename), ("undo", json!({}))]
    }),
    ("undo of a new path", |note| {
        let rename = json!({ "id": note.path, "to": format!("moved/{}", note.path) });
        vec![("rename", rename), ("undo", json!({}))]
    }),
];

/// What a caller may do next with an id and a base.
fn next_calls(id: &Value, base: &Value) -> Vec<(&'static str, Value)> {
    let edit = |more: Value| {
        let mut call = json!({ "id": id, "base": base });
        let more = more.as_object().unwrap().clone();
        call.as_object_mut().unwrap().extend(more);
        ("edit", call)
    };
    let is_section = id.as_str().unwrap().contains('#');
    let mut calls = vec![
        edit(json!({ "old": "euros", "new": "pounds" })),
        edit(json!({ "place": "append", "new": "Added." })),
        edit(json!({ "place": "prepend", "new": "Added.", "scope": "subtree" })),
        edit(json!({ "new": "All new.", "scope": "subtree" })),
        (
            "set_fields",
            json!({ "id": id, "base": base, "set": { "a": 1 } }),
        ),
        ("delete", json!({ "id": id, "base": base })),
    ];
    if is_section {
        calls.push(edit(json!({ "new": "New text." })));
        calls.push(edit(json!({ "place": "after", "new": "## New\n\nText." })));
    }
    calls
}

/// Makes a note of its own for a case. Returns it, and the answer that made it.
fn made(client: &mut DeskClient<'_>, number: usize) -> (CaseNote, Value) {
    let path = format!("n{number}.md");
    let answer = client.json("create", json!({ "path": path, "text": TEXT }));
    let section = client.text("fetch", json!({ "id": format!("{path}#Budget") }));
    let section = section[1..].split(" | ").next().unwrap().to_owned();
    (CaseNote { path, section }, answer)
}

#[test]
fn a_base_from_any_write_is_taken_by_every_tool() {
    let desk = TestDesk::new(&[]);
    let mut client = desk.open();
    let mut number = 0;
    for (name, steps) in WRITES {
        let mut follow = 0;
        loop {
            number += 1;
            let (note, mut answer) = made(&mut client, number);
            for (tool, arguments) in steps(&note) {
                answer = client.json(tool, arguments);
            }
            assert!(answer["base"].is_string(), "{name}: {answer}");
            let mut calls = next_calls(&answer["id"], &answer["base"]);
            if follow == calls.len() {
                break;
            }
            let (tool, arguments) = calls.swap_remove(follow);
            let result = client.call(tool, arguments.clone());
            let case = format!("after {name}, {tool} {arguments}");
            assert_eq!(result["isError"], false, "{case}: {result}");
            // A merge would mean that the base was not the current one.
            let is_merged = result["structuredContent"]["merged"] == true;
            assert!(!is_merged, "{case}: {result}");
            follow += 1;
        }
    }
    assert!(number > 150, "{number}");
}

/// What was only listed is not known, so it cannot be replaced as a whole; everything else can be done.
#[test]
fn a_base_from_any_list_is_taken_by_every_tool_that_does_not_replace_all() {
    let desk = TestDesk::new(&[]);
    let mut client = desk.open();
    let mut number = 0;
    for list in [
        "search",
        "outline of all",
        "outline of a document",
        "fetch",
        "fetch of a section",
    ] {
        for follow in 0..6 {
            number += 1;
            let (note, _) = made(&mut client, number);
            let (id, base) = match list {
                "search" => {
                    let query = format!("euros path:{}", note.path);
                    let answer = client.json("search", json!({ "query": query }));
                    let result = &answer["results"][0];
                    (result["id"].clone(), result["base"].clone())
                }
                "outline of all" | "outline of a document" => {
                    let arguments = match list {
                        "outline of all" => json!({}),
                        _ => json!({ "id": note.path }),
                    };
                    let wanted = match list {
                        "outline of all" => &note.path,
                        _ => &note.section,
                    };
                    let answer = client.json("outline", arguments);
                    let items = answer["items"].as_array().unwrap();
                    let item = items.iter().find(|item| item["id"] == **wanted).unwrap();
                    (item["id"].clone(), item["base"].clone())
                }
                _ => {
                    let wanted = match list {
                        "fetch" => &note.path,
                        _ => &note.section,
                    };
                    let text = client.text("fetch", json!({ "id": wanted }));
                    let head = text.lines().next().unwrap();
                    let base = head.split("base ").nth(1).unwrap();
                    let base = base.split([' ', ']']).next().unwrap();
                    (json!(wanted), json!(base))
                }
            };
            let (tool, arguments) = next_calls(&id, &base).swap_remove(follow);
            let replaces = arguments["new"] == "All new.";
            let is_part = base.as_str().unwrap().starts_with("part-");
            let result = client.call(tool, arguments.clone());
            let is_refused = replaces && is_part;
            assert_eq!(
                result["isError"], is_refused,
                "after {list}, {tool} {arguments}: {result}"
            );
        }
    }
}

/// A caller that has read part of a long text and adds to it still does not know all of it.
#[test]
fn a_write_does_not_make_a_long_text_known() {
    let long = format!("# Long\n\n{}", "A line of a long text.\n".repeat(3_000));
    let desk = TestDesk::new(&[("long.md", &long)]);
    let mut client = desk.open();
    let replace = |id: &Value, base: &Value| json!({ "id": id, "base": base, "new": "Short.", "scope": "subtree" });
    for id in ["long.md", "long.md#Long"] {
        let text = client.text("fetch", json!({ "id": id }));
        let head = text.lines().next().unwrap();
        let part = head.split("base ").nth(1).unwrap();
        let part = part.split([' ', ']']).next().unwrap();
        assert!(part.starts_with("part-"), "{head}");
        let add = json!({ "id": id, "base": part, "place": "append", "new": "More." });
        let added = client.json("edit", add);
        let again =
            json!({ "id": added["id"], "base": added["base"], "place": "append", "new": "More." });
        let added = client.json("edit", again);
        client.refused(
            "edit",
            replace(&added["id"], &added["base"]),
            "part_of_text",
        );
    }
    assert!(desk.text("long.md").len() > long.len());
    // A caller that wrote all of it knows it.
    let made = client.json("create", json!({ "path": "new.md", "text": long }));
    client.json("edit", replace(&made["id"], &made["base"]));
}
