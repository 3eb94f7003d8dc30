//! The memory preset: six commands, word for word as models know them, over the editor.

use serde_json::{Value, json};

use crate::fixture::{DeskClient, Era, TestDesk};

fn open(desk: &TestDesk, era: Era) -> DeskClient<'_> {
    let mut command = desk.command("");
    command.args(["--preset", "memory"]);
    DeskClient::connect(desk, era, command, "test")
}

/// The text of a call that fails.
#[track_caller]
fn failed(client: &mut DeskClient<'_>, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_six_commands_answer_as_models_expect() {
    for era in Era::BOTH {
        let desk = TestDesk::new(&[]);
        let mut client = open(&desk, era);
        let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
        let names: Vec<&str> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "view",
                "create",
                "str_replace",
                "insert",
                "delete",
                "rename"
            ]
        );
        let create = json!({ "path": "/memories/notes.md", "file_text": "# Notes\n\none\ntwo\n" });
        assert_eq!(
            client.text("create", create.clone()),
            "File created successfully at: /memories/notes.md"
        );
        assert_eq!(
            failed(&mut client, "create", create),
            "Error: File /memories/notes.md already exists"
        );
        assert_eq!(
            client.text("view", json!({ "path": "/memories/notes.md" })),
            "Here's the content of /memories/notes.md with line numbers:\n     1\t# Notes\n     2\t\n     3\tone\n     4\ttwo"
        );
        let part = client.text(
            "view",
            json!({ "path": "/memories/notes.md", "view_range": [3, -1] }),
        );
        assert!(part.ends_with(":\n     3\tone\n     4\ttwo"), "{part}");
        let replace = json!({ "path": "/memories/notes.md", "old_str": "two", "new_str": "2" });
        assert_eq!(
            client.text("str_replace", replace),
            "The memory file has been edited.\n     1\t# Notes\n     2\t\n     3\tone\n     4\t2"
        );
        let insert = json!({ "path": "/memories/notes.md", "insert_line": 3, "insert_text": "and a half\n" });
        assert_eq!(
            client.text("insert", insert),
            "The file /memories/notes.md has been edited."
        );
        assert_eq!(desk.text("notes.md"), "# Notes\n\none\nand a half\n2\n");
        client.text(
            "create",
            json!({ "path": "/memories/plans/a/deep.md", "file_text": "x" }),
        );
        let view = client.text("view", json!({ "path": "/memories" }));
        assert_eq!(
            view,
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n\
             0.1K\t/memories\n0.1K\t/memories/notes.md\n0.1K\t/memories/plans\n0.1K\t/memories/plans/a"
        );
        let rename =
            json!({ "old_path": "/memories/notes.md", "new_path": "/memories/kept/notes.md" });
        assert_eq!(
            client.text("rename", rename.clone()),
            "Successfully renamed /memories/notes.md to /memories/kept/notes.md"
        );
        assert_eq!(
            failed(&mut client, "rename", rename),
            "Error: The path /memories/notes.md does not exist"
        );
        assert_eq!(
            client.text("delete", json!({ "path": "/memories/plans" })),
            "Successfully deleted /memories/plans"
        );
        assert!(!desk.location("plans").exists());
        assert!(!desk.all().keys().any(|path| path.starts_with("plans/")));
        let gone = json!({ "path": "/memories/plans" });
        assert_eq!(
            failed(&mut client, "view", gone.clone()),
            "The path /memories/plans does not exist. Please provide a valid path."
        );
        assert_eq!(
            failed(&mut client, "delete", gone),
            "Error: The path /memories/plans does not exist"
        );
    }
}

#[test]
fn mistakes_are_told_as_models_expect() {
    let desk = TestDesk::new(&[
        ("a.md", "one\none\ntwo\n"),
        ("b.md", "b\n"),
        ("folder/c.md", "c\n"),
    ]);
    let mut client = open(&desk, Era::Handshake);
    let replace = |old: &str| json!({ "path": "/memories/a.md", "old_str": old, "new_str": "x" });
    assert_eq!(
        failed(&mut client, "str_replace", replace("three")),
        "No replacement was performed, old_str `three` did not appear verbatim in /memories/a.md."
    );
    assert_eq!(
        failed(&mut client, "str_replace", replace("one")),
        "No replacement was performed. Multiple occurrences of old_str `one` in lines: 1, 2. Please ensure it is unique"
    );
    for path in ["/memories/none.md", "/memories/folder", "/memories"] {
        let text = failed(
            &mut client,
            "str_replace",
            json!({ "path": path, "old_str": "a", "new_str": "b" }),
        );
        assert_eq!(
            text,
            format!("Error: The path {path} does not exist. Please provide a valid path.")
        );
    }
    for line in [-1, 4] {
        let insert = json!({ "path": "/memories/a.md", "insert_line": line, "insert_text": "x" });
        assert_eq!(
            failed(&mut client, "insert", insert),
            format!(
                "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 3]"
            )
        );
    }
    let rename = json!({ "old_path": "/memories/a.md", "new_path": "/memories/b.md" });
    assert_eq!(
        failed(&mut client, "rename", rename),
        "Error: The destination /memories/b.md already exists"
    );
    for range in [json!([0, 1]), json!([3, 2]), json!([9, 10])] {
        let text = failed(
            &mut client,
            "view",
            json!({ "path": "/memories/a.md", "view_range": range }),
        );
        assert!(
            text.starts_with("Error: Invalid `view_range` parameter"),
            "{text}"
        );
    }
    for path in ["/memories", "/memories/"] {
        failed(&mut client, "delete", json!({ "path": path }));
    }
    assert_eq!(desk.text("a.md"), "one\none\ntwo\n");
}

#[test]
fn no_path_leads_out_of_the_memory() {
    let desk = TestDesk::new(&[("a.md", "a\n")]);
    let mut client = open(&desk, Era::Handshake);
    for path in [
        "/memories/../outside/secret.md",
        "/memories/a/../../outside/secret.md",
        "/memories/..\\outside\\secret.md",
        "/memories/%2e%2e/outside/secret.md",
        "/memories/.sectile/journal",
        "/etc/passwd",
        "a.md",
        "",
    ] {
        for (tool, arguments) in [
            ("view", json!({ "path": path })),
            ("create", json!({ "path": path, "file_text": "x" })),
            (
                "str_replace",
                json!({ "path": path, "old_str": "a", "new_str": "b" }),
            ),
            (
                "insert",
                json!({ "path": path, "insert_line": 0, "insert_text": "x" }),
            ),
            ("delete", json!({ "path": path })),
            (
                "rename",
                json!({ "old_path": path, "new_path": "/memories/x.md" }),
            ),
            (
                "rename",
                json!({ "old_path": "/memories/a.md", "new_path": path }),
            ),
        ] {
            if path.contains('%') && tool != "view" {
                continue;
            }
            failed(&mut client, tool, arguments);
        }
    }
    assert_eq!(desk.text("a.md"), "a\n");
}

/// A memory may have any name; on disk it is Markdown.
#[test]
fn names_that_are_not_markdown_work() {
    let desk = TestDesk::new(&[]);
    let mut client = open(&desk, Era::Handshake);
    for (name, file) in [
        ("notes.txt", "notes.txt.md"),
        ("preferences.xml", "preferences.xml.md"),
        ("todo", "todo.md"),
    ] {
        let path = format!("/memories/{name}");
        let text = "<guidelines>\n<tone>kind</tone>\n</guidelines>\n";
        client.text("create", json!({ "path": path, "file_text": text }));
        assert_eq!(desk.text(file), text);
        client.text(
            "insert",
            json!({ "path": path, "insert_line": 0, "insert_text": "first" }),
        );
        client.text(
            "str_replace",
            json!({ "path": path, "old_str": "kind", "new_str": "calm" }),
        );
        let view = client.text("view", json!({ "path": path }));
        assert!(
            view.contains("     1\tfirst\n") && view.contains("calm"),
            "{view}"
        );
    }
    let view = client.text("view", json!({ "path": "/memories" }));
    assert!(view.contains("\t/memories/notes.txt\n"), "{view}");
    assert!(view.contains("\t/memories/preferences.xml\n"), "{view}");
}

/// Whatever the memory tool did is in the history of the desk, and can be undone there.
#[test]
fn a_memory_has_history_and_undo() {
    let desk = TestDesk::new(&[("a.md", "one\n"), ("b.md", "See [[a]].\n")]);
    let mut client = open(&desk, Era::Handshake);
    client.text(
        "str_replace",
        json!({ "path": "/memories/a.md", "old_str": "one", "new_str": "two" }),
    );
    client.text(
        "rename",
        json!({ "old_path": "/memories/a.md", "new_path": "/memories/c.md" }),
    );
    assert_eq!(desk.text("b.md"), "See [[c]].\n");
    client.text("delete", json!({ "path": "/memories/c.md" }));
    drop(client);
    let mut client = desk.open();
    let answer = client.json("changes", json!({}));
    let tools: Vec<&str> = answer["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["delete", "rename", "str_replace"]);
    for change in answer["changes"].as_array().unwrap() {
        client.json("undo", json!({ "change": change["change"] }));
    }
    assert_eq!(desk.text("a.md"), "one\n");
    assert_eq!(desk.text("b.md"), "See [[a]].\n");
}
