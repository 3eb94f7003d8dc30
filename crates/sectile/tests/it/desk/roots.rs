//! Several roots, their rules, and settings that are refused.

use serde_json::{Value, json};

use crate::fixture::{Editor, Era, TestDocuments, TestVault, run_with_input};

/// Two roots beside each other, below the folder that is the vault of the test.
fn two_roots() -> TestDocuments {
    TestDocuments::desk(&[
        ("work/plan.md", "# Plan\n\nWork.\n"),
        ("home/plan.md", "# Plan\n\nHome.\n"),
        ("home/garden.md", "# Garden\n\nRoses.\n"),
    ])
}

const TWO_ROOTS: &str = "[desk.roots]\nwork = \"vault/work\"\nhome = \"vault/home\"\n";

fn open<'a>(desk: &'a TestDocuments, settings: &str) -> Editor<'a> {
    desk.open_with(Era::Handshake, settings)
}

#[test]
fn ids_say_in_which_root_they_are_where_there_are_several() {
    let desk = two_roots();
    let mut client = open(&desk, TWO_ROOTS);
    let call = json!({ "id": "work:plan.md", "old": "Work.", "new": "Done." });
    let answer = client.ok("edit", call);
    assert_eq!(answer["id"], "work:plan.md");
    assert_eq!(answer["change"], "work:1");
    assert_eq!(desk.text("work/plan.md"), "# Plan\n\nDone.\n");
    // A name that only one root has needs no prefix.
    let call = json!({ "id": "garden.md#Garden", "old": "Roses.", "new": "Tulips." });
    let answer = client.ok("edit", call);
    let id = answer["id"].as_str().unwrap();
    assert!(id.starts_with("home:garden.md#garden-"), "{id}");
    let call = json!({ "id": "plan.md", "old": "Home.", "new": "x" });
    let text = client.assert_error("edit", call, "ambiguous");
    for candidate in ["\n- home:plan.md", "\n- work:plan.md"] {
        assert!(text.contains(candidate), "{text}");
    }
    // A new note has to say where it goes.
    let text = client.assert_error("create", json!({ "path": "a.md", "text": "" }), "ambiguous");
    assert!(text.contains("\n- work:a.md"), "{text}");
    client.ok("create", json!({ "path": "work:a.md", "text": "# A\n" }));
    assert_eq!(desk.text("work/a.md"), "# A\n");
    let answer = client.ok("rename", json!({ "id": "work:a.md", "to": "b.md" }));
    assert_eq!(answer["id"], "work:b.md");
    let call = json!({ "id": "work:b.md", "to": "home:b.md" });
    client.assert_error("rename", call, "invalid_path");
    // Numbers are counted by each root.
    client.assert_error("undo", json!({ "change": "1" }), "change_not_found");
    client.ok("undo", json!({ "change": "work:1" }));
    assert_eq!(desk.text("work/plan.md"), "# Plan\n\nWork.\n");
    client.ok(
        "edit",
        json!({ "id": "home:plan.md", "old": "Home.", "new": "Here." }),
    );
    let answer = client.ok("undo", json!({}));
    assert_eq!(answer["id"], "home:plan.md", "{answer}");
    assert_eq!(desk.text("home/plan.md"), "# Plan\n\nHome.\n");
}

#[test]
fn hidden_notes_answer_like_nonexistent_ones() {
    let desk = TestDocuments::desk(&[
        ("notes/open.md", "# Open\n\nSee [[secret]].\n"),
        ("notes/private/secret.md", "# Secret\n\nText.\n"),
    ]);
    let settings = "[desk.roots.notes]\npath = \"vault/notes\"\nhide = [\"private/\"]\n";
    let mut client = open(&desk, settings);
    for (tool, call) in [
        ("edit", json!({ "id": "private/secret.md", "new": "x" })),
        ("edit", json!({ "id": "private/nothing.md", "new": "x" })),
        ("edit", json!({ "id": "secret", "new": "x" })),
        ("rename", json!({ "id": "private/", "to": "public" })),
        (
            "delete",
            json!({ "id": "private/secret.md", "base": "0123456789abcdef" }),
        ),
        (
            "set_fields",
            json!({ "id": "private/secret.md", "set": { "a": 1 } }),
        ),
    ] {
        let text = client.assert_error(tool, call.clone(), "not_found");
        assert!(
            !text.contains("Secret") && !text.contains("- private"),
            "{call}: {text}"
        );
    }
    // What is hidden cannot be overwritten either, and nothing new can be hidden.
    let there = client.error_text(
        "create",
        json!({ "path": "private/secret.md", "text": "x" }),
    );
    let new = client.error_text("create", json!({ "path": "private/other.md", "text": "x" }));
    assert_eq!(there.replace("secret", "other"), new);
    assert_eq!(desk.text("notes/private/secret.md"), "# Secret\n\nText.\n");
}

#[test]
fn only_what_may_be_read_exists_and_only_what_may_be_written_changes() {
    let desk = TestDocuments::desk(&[
        ("notes/inbox/a.md", "# A\n\nText.\n"),
        ("notes/wiki/b.md", "# B\n\nText.\n"),
        ("notes/other/c.md", "# C\n\nText.\n"),
    ]);
    let settings = "[desk.roots.notes]\npath = \"vault/notes\"\nread = [\"inbox/\", \"wiki/\"]\nwrite = [\"inbox/\"]\n";
    let mut client = open(&desk, settings);
    client.ok(
        "edit",
        json!({ "id": "inbox/a.md", "old": "Text.", "new": "New." }),
    );
    client.assert_error(
        "edit",
        json!({ "id": "other/c.md", "old": "Text.", "new": "x" }),
        "not_found",
    );
    for (tool, call) in [
        (
            "edit",
            json!({ "id": "wiki/b.md", "old": "Text.", "new": "x" }),
        ),
        (
            "edit",
            json!({ "id": "wiki/b.md", "old": "Text.", "new": "x", "preview": true }),
        ),
        (
            "set_fields",
            json!({ "id": "wiki/b.md", "set": { "a": 1 } }),
        ),
        ("rename", json!({ "id": "wiki/b.md", "to": "inbox/b.md" })),
        ("rename", json!({ "id": "inbox/a.md", "to": "wiki/a.md" })),
        ("rename", json!({ "id": "wiki", "to": "inbox/wiki" })),
        ("create", json!({ "path": "wiki/new.md", "text": "" })),
    ] {
        let text = client.assert_error(tool, call, "not_writable");
        assert!(text.contains("wiki"), "{text}");
    }
    assert_eq!(desk.text("notes/wiki/b.md"), "# B\n\nText.\n");
    assert_eq!(desk.text("notes/inbox/a.md"), "# A\n\nNew.\n");
}

/// The message of a server that does not start.
fn refused(vault: &TestVault, settings: &str) -> String {
    let config = vault.config(settings);
    let arguments = ["serve", "desk", "--config"].map(Into::into);
    let arguments = arguments.into_iter().chain([config.into_os_string()]);
    let output = run_with_input(vault, arguments, &[] as &[Value]);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn roots_that_cannot_be_served_together_are_refused() {
    let desk = two_roots();
    let vault = desk.vault();
    let said = refused(
        vault,
        "[desk.roots]\nall = \"vault\"\nwork = \"vault/work\"\n",
    );
    assert!(
        said.contains("the root `work` is inside the root `all`"),
        "{said}"
    );
    let said = refused(
        vault,
        "[desk.roots]\nwork = \"vault/work\"\nhome = \"vault/missing\"\n",
    );
    assert!(
        said.contains("the root `home` cannot be served: it does not exist"),
        "{said}"
    );
    let said = refused(
        vault,
        "[desk.roots]\nwork = \"vault/work\"\nwork = \"vault/home\"\n",
    );
    assert!(said.contains("line 3"), "{said}");
    let said = refused(vault, "[desk.roots]\nwork = \"vault/work/plan.md\"\n");
    assert!(said.contains("the root `work` cannot be served"), "{said}");
    let said = refused(
        vault,
        "[desk]\nroot = \"vault\"\n[desk.roots]\nwork = \"vault/work\"\n",
    );
    assert!(
        said.contains("`desk.root` must be empty when desk.roots names folders"),
        "{said}"
    );
}

#[test]
fn one_folder_may_have_two_names_with_different_rules() {
    let desk = two_roots();
    let settings = "[desk.roots.all]\npath = \"vault/home\"\n[desk.roots.garden]\npath = \"vault/home\"\nread = [\"garden.md\"]\n";
    let mut client = open(&desk, settings);
    client.ok(
        "edit",
        json!({ "id": "all:plan.md", "old": "Home.", "new": "x" }),
    );
    client.ok(
        "edit",
        json!({ "id": "garden:garden.md", "old": "Roses.", "new": "y" }),
    );
    client.assert_error(
        "edit",
        json!({ "id": "garden:plan.md", "old": "x", "new": "z" }),
        "not_found",
    );
}

#[test]
fn a_read_only_desk_offers_no_tool_that_writes() {
    let desk = two_roots();
    let listed = |client: &mut Editor<'_>| {
        let answer = client.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().clone();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    const WRITERS: [&str; 6] = ["create", "edit", "set_fields", "rename", "delete", "undo"];
    let mut client = desk.open();
    let all = listed(&mut client);
    assert!(
        WRITERS
            .iter()
            .all(|name| all.iter().any(|listed| listed == name)),
        "{all:?}"
    );
    let mut by_setting = open(&desk, "[desk]\nread_only = true\n");
    let readers = listed(&mut by_setting);
    assert!(
        WRITERS
            .iter()
            .all(|name| !readers.iter().any(|listed| listed == name)),
        "{readers:?}"
    );
    let mut command = desk.command("");
    command.arg("--read-only");
    let mut by_flag = Editor::connect(&desk, Era::Handshake, command, &json!({}));
    assert_eq!(listed(&mut by_flag), readers);
    let answer = by_flag.call("create", json!({ "path": "a.md", "text": "" }));
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(!desk.location(".sectile").exists());
}
