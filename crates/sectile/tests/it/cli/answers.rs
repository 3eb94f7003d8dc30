//! The body-free answers and the tool tables from a shell: the same bytes that a client gets.

use std::process::Stdio as Pipe;

use serde_json::{Value, json};

use super::{Home, text};
use crate::fixture::{Era, SECRET, Stdio, TestVault, note_not_found, tool_text};

const COMMANDS: [(&str, &str); 3] = [
    ("sections", "get_section_source"),
    ("tree", "get_document_tree"),
    ("facets", "get_metadata_facets"),
];

#[test]
fn with_json_a_shell_gets_the_line_that_a_client_gets() {
    let home = Home::new();
    let vault = TestVault::sample();
    vault.note("ünï/zwei.md", "# Über\r\n\r\n## \u{202e}x\r\n");
    let root = vault.root();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for (command, tool) in COMMANDS {
        for path in ["inbox/one.md", "ünï/zwei.md", "inbox/../inbox/one.md"] {
            let answer = server.call(Era::Handshake, tool, json!({ "path": path }));
            let expected = format!("{}\n", tool_text(&answer));
            assert_eq!(expected.lines().count(), 1, "{command} {path}");
            let arguments = [command, path, "--root", text(&root), "--json"];
            let ran = home.run(&arguments);
            assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
            assert_eq!(ran.stdout, expected, "{arguments:?}");
            assert_eq!(ran.stderr, "", "{arguments:?}");
        }
    }
}

#[test]
fn without_a_root_the_current_folder_counts() {
    let home = Home::new();
    home.write("inbox/one.md", "# One\n");
    let ran = home.run(&["tree", "inbox/one.md", "--json"]);
    let tree: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(tree["root"]["children"][0]["text"], "One", "{tree}");
}

#[test]
fn errors_go_to_standard_error_and_repeat_no_unsafe_path() {
    let home = Home::new();
    let vault = TestVault::sample();
    vault.note("large.md", "x".repeat(2000));
    let root = vault.root();
    let invalid = "Invalid path: path must be vault-relative and cannot escape vault";
    let absolute = vault.outside().join("secret.md");
    for (path, message) in [
        ("missing.md", note_not_found("missing.md").as_str()),
        ("inbox", note_not_found("inbox").as_str()),
        (
            "large.md",
            "Note is larger than 1000 bytes; refusing to read unbounded Markdown.",
        ),
        ("../outside/secret.md", invalid),
        (text(&absolute), invalid),
        ("C:\\secret.md", invalid),
        ("", invalid),
    ] {
        for (command, _) in COMMANDS {
            let environment = [("SECTILE_VAULT__MAX_NOTE_BYTES", "1000")];
            let arguments = [command, path, "--root", text(&root)];
            let ran = home.run_with(&arguments, &environment);
            assert_eq!(ran.code, Some(1), "{arguments:?}");
            assert_eq!(ran.stdout, "", "{arguments:?}");
            let message = message.replacen(" Give", "\nhint: Give", 1);
            assert_eq!(ran.stderr, format!("error: {message}\n"), "{arguments:?}");
            assert!(!ran.stderr.contains(SECRET), "{arguments:?}");
        }
    }
}

#[test]
fn with_json_the_error_is_the_object_that_a_client_gets() {
    let home = Home::new();
    let vault = TestVault::sample();
    let root = vault.root();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    for (command, tool) in COMMANDS {
        for path in ["missing.md", "../outside/secret.md"] {
            let answer = server.call(Era::Handshake, tool, json!({ "path": path }));
            let ran = home.run(&[command, path, "--root", text(&root), "--json"]);
            assert_eq!(ran.code, Some(1), "{command} {path}");
            assert_eq!(ran.stdout, "", "{command} {path}");
            let expected = format!("{}\n", tool_text(&answer));
            assert_eq!(ran.stderr, expected, "{command} {path}");
        }
    }
}

#[test]
fn a_missing_root_is_said_with_a_way_out() {
    let home = Home::new();
    for (command, _) in COMMANDS {
        let ran = home.run(&[command, "a.md", "--root", text(&home.path("missing"))]);
        assert_eq!(ran.code, Some(1), "{command}");
        assert_eq!(
            ran.stderr,
            "error: the root cannot be read: the folder does not exist.\n\
             hint: give the folder of your notes with --root DIR\n",
            "{command}"
        );
        assert_eq!(ran.stdout, "", "{command}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let home = Home::new();
    home.write("long.md", &"# A heading that is repeated\n".repeat(500));
    let mut child = home
        .command()
        .args(["sections", "long.md"])
        .stdout(Pipe::piped())
        .stderr(Pipe::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_tool_tables_are_those_of_the_server() {
    let home = Home::new();
    let vault = TestVault::sample();
    let mut server = Stdio::ready(&vault, Era::Handshake);
    let listing = server.exchange(&Era::Handshake.request(1, "tools/list", json!({})));
    let listed: Vec<Value> = listing["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let hints = &tool["annotations"];
            json!({
                "name": tool["name"],
                "title": tool["title"],
                "description": tool["description"],
                "access": if hints["readOnlyHint"] == true { "read" } else { "write" },
                "idempotent": hints["idempotentHint"],
                "open_world": hints["openWorldHint"],
                "input_schema": tool["inputSchema"],
                "output_schema": tool["outputSchema"],
            })
        })
        .collect();
    let expected = json!([{ "world": "vault", "tools": listed }]);
    let ran = home.run(&["tools", "vault", "--json"]);
    assert_eq!(ran.stdout, format!("{expected}\n"));
    let ran = home.run(&["tools", "--json"]);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap();
    let worlds: Vec<&Value> = all.as_array().unwrap().iter().collect();
    assert!(worlds.contains(&&expected[0]), "{worlds:?}");
    let names: Vec<&Value> = worlds.iter().map(|world| &world["world"]).collect();
    assert_eq!(
        names,
        ["desk", "vault", "hosted", "editor", "docs", "notebook"]
    );
}

/// Every command that has `--json`, with arguments that work in [`furnished`].
const WITH_JSON: [&[&str]; 26] = [
    &["sections", "notes/plan.md"],
    &["search", "one"],
    &["fetch", "plan"],
    &["outline"],
    &["outline", "notes/plan.md"],
    &["links", "plan"],
    &["changes"],
    &["edit", "plan#Plan", "--new", "Two."],
    &["set", "plan", "status=done"],
    &["cache"],
    &["tree", "notes/plan.md"],
    &["facets", "notes/plan.md"],
    &["edit", "list", "notes/plan.md"],
    &["edit", "get", "notes/plan.md", "Plan"],
    &["edit", "update", "notes/plan.md", "Plan", "--content", "x"],
    &["edit", "history", "notes/plan.md"],
    &["trust", "notes"],
    &["tools"],
    &["auth", "list", "--file", "keys.toml"],
    &["docs", "search", "undo"],
    &["docs", "check"],
    &["notebook", "index", "library"],
    &["notebook", "search", "library", "lab", "measured"],
    &["notebook", "verify", "library"],
    &["config", "show"],
    &["docs", "eval", "questions.toml"],
];

fn furnished() -> Home {
    let home = Home::new();
    home.write("notes/plan.md", "# Plan\n\nOne.\n");
    home.write("library/lab/week.md", "# Week\n\nWe measured.\n");
    home.write(
        "questions.toml",
        "[[question]]\nask = \"undo an edit\"\nexpect = [\"recipes\"]\n",
    );
    let key = ["auth", "add-key", "--user", "ann", "--file", "keys.toml"];
    assert_eq!(home.run(&key).code, Some(0));
    home
}

#[test]
fn text_in_pipes_unless_json() {
    for command in WITH_JSON {
        let home = furnished();
        let ran = home.run(command);
        assert_eq!(ran.code, Some(0), "{command:?}: {ran:?}");
        assert!(!ran.stdout.is_empty(), "{command:?}");
        assert!(
            serde_json::from_str::<Value>(&ran.stdout).is_err(),
            "{command:?}: {ran:?}"
        );
        let ran = home.run(&[command, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{command:?}: {ran:?}");
        serde_json::from_str::<Value>(&ran.stdout)
            .unwrap_or_else(|error| panic!("{command:?}: {error}: {ran:?}"));
    }
}
