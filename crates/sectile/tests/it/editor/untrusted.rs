//! State that came with a folder causes no write, a link is judged by where it leads, and a read-only server writes nothing.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use sectile_markdown::Digest;
use serde_json::{Value, json};

use super::SAMPLE;
use crate::fixture::{Editor, Era, TestDocuments, sectile};

const HOOK: &str = "#!/bin/sh\ntouch PWNED\n";

fn hash(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// A line of a journal as anybody can write it.
fn line(record: &Value) -> String {
    let json = record.to_string();
    format!("{} {json}\n", &hash(&json)[..16])
}

/// A repository whose journal says that a script was being moved to where git would run it.
fn hostile() -> TestDocuments {
    let documents = TestDocuments::folder(&[("README.md", SAMPLE), ("lint.sh", HOOK)]);
    for folder in [".git/hooks", ".sectile/tmp", ".sectile/locks"] {
        fs::create_dir_all(documents.location(folder)).unwrap();
    }
    let script = documents.location("lint.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let none = json!({ "at": 0, "removed": [], "inserted": [] });
    let steps = json!([
        { "document": 1, "path": "README.md", "before": hash("x"), "after": hash(SAMPLE), "changes": [], "ids": none },
        { "document": 2, "path": "lint.sh", "moved_to": ".git/hooks/pre-commit", "before": hash(HOOK),
          "after": hash(HOOK), "changes": [], "ids": none },
    ]);
    let journal = [
        json!({ "record": "header", "version": 1, "generation": 1, "created": 0, "first_id": 1, "first_entry": 1 }),
        json!({ "record": "intent", "number": 1, "time": 0, "actor": "x", "operation": "rename_document",
                "kind": "edit", "steps": steps }),
    ];
    let journal: String = journal.iter().map(line).collect();
    fs::write(documents.location(".sectile/journal"), journal).unwrap();
    documents
}

/// Everything below a folder, with what is in it and when it was changed.
fn everything(folder: &Path) -> BTreeMap<String, (Option<Vec<u8>>, std::time::SystemTime)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        let changed = fs::metadata(&at).unwrap().modified().unwrap();
        all.insert(at.display().to_string(), (None, changed));
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = fs::symlink_metadata(&path).unwrap().modified().unwrap();
                all.insert(path.display().to_string(), (fs::read(&path).ok(), changed));
            }
        }
    }
    all
}

fn read_only(documents: &TestDocuments, state: &Path) -> std::process::Command {
    let mut command = documents.command("");
    command.arg("--read-only").env("XDG_STATE_HOME", state);
    command
}

#[test]
fn a_planted_journal_writes_nothing_and_says_so() {
    let documents = hostile();
    let hook = documents.location(".git/hooks/pre-commit");
    let mut editor = documents.open();
    let path = json!({ "path": "README.md" });
    editor.ok("list_sections", path.clone());
    editor.ok(
        "edit_text",
        json!({ "path": "README.md", "old_text": "Beta body.", "new_text": "Mine." }),
    );
    editor.ok("undo", path.clone());
    editor.leave();
    assert!(!hook.exists());
    assert_eq!(documents.text("lint.sh"), HOOK);
    let doctor = sectile()
        .arg("doctor")
        .arg("--root")
        .arg(documents.location(""))
        .output()
        .unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        said.contains("came with the folder") && said.contains("sectile trust"),
        "{said}"
    );
    // Trusting it finishes nothing that is not about documents.
    for (arguments, expected) in [
        (&["--dry-run"][..], "lint.sh"),
        (&[][..], "counts as yours"),
        (&[][..], "is already yours"),
    ] {
        let mut trust = sectile();
        trust
            .arg("trust")
            .arg(documents.location(""))
            .args(arguments);
        let done = trust.output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success() && said.contains(expected), "{said}");
    }
    let mut editor = documents.open();
    editor.ok("list_sections", path);
    editor.leave();
    assert!(!hook.exists());
    assert_eq!(documents.text("README.md"), SAMPLE);
}

#[test]
fn a_history_of_somebody_else_is_shown_and_not_undone() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE)]);
    let stranger = tempfile::tempdir().unwrap();
    let mut command = documents.command("");
    command.env("XDG_STATE_HOME", stranger.path());
    let mut theirs = Editor::connect(&documents, Era::Handshake, command, &json!({}));
    theirs.ok(
        "edit_text",
        json!({ "path": "a.md", "old_text": "Beta body.", "new_text": "Theirs." }),
    );
    let ids = theirs.ids_of("a.md");
    theirs.leave();
    let key = stranger.path().join("sectile/journal.key");
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let mut editor = documents.open();
    assert_eq!(editor.ids_of("a.md"), ids);
    let path = json!({ "path": "a.md" });
    let history = editor.ok("history", path.clone());
    assert_eq!(
        history["history"][0]["details"]["unverified"], true,
        "{history}"
    );
    let before = documents.text("a.md");
    editor.assert_refused("undo", path.clone(), (-32000, "foreign_history"));
    editor.assert_refused(
        "undo",
        json!({ "path": "a.md", "entry": 1 }),
        (-32000, "foreign_history"),
    );
    editor.leave();
    assert_eq!(documents.text("a.md"), before);
    let mut trust = sectile();
    let trusted = trust
        .arg("trust")
        .arg(documents.location(""))
        .arg("--json")
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&trusted.stdout).unwrap();
    assert_eq!(
        (&said["history"], &said["entries"]),
        (&json!("trusted"), &json!(1))
    );
    let mut editor = documents.open();
    editor.ok("undo", path);
    editor.leave();
    assert_eq!(documents.text("a.md"), SAMPLE);
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let documents = TestDocuments::folder(&[
        ("real.md", SAMPLE),
        (".env", "API_KEY=sk-live-0123456789\n"),
    ]);
    fs::create_dir(documents.location(".git")).unwrap();
    fs::write(documents.location(".git/config"), "[core]\n").unwrap();
    symlink(".env", documents.location("todo.md")).unwrap();
    symlink(".git/config", documents.location("plan.md")).unwrap();
    let mut editor = documents.open();
    for path in ["todo.md", "plan.md"] {
        editor.assert_refused(
            "get_document",
            json!({ "path": path }),
            (-32602, "not_markdown"),
        );
        let edit =
            json!({ "path": path, "old_text": "[core]", "new_text": "[core]\n\tfsmonitor = x" });
        editor.assert_refused("edit_text", edit, (-32602, "not_markdown"));
    }
    let hidden = json!({ "path": ".git/new.md", "content": "# N\n" });
    editor.assert_refused("create_document", hidden, (-32602, "not_a_document"));
    editor.leave();
    assert_eq!(documents.text(".git/config"), "[core]\n");
    let vault = sectile()
        .args(["outline", "todo.md", "--root"])
        .arg(documents.location(""))
        .output()
        .unwrap();
    assert!(!vault.status.success(), "{vault:?}");
}

#[test]
fn a_read_only_server_writes_nothing_anywhere() {
    let state = tempfile::tempdir().unwrap();
    for documents in [TestDocuments::folder(&[("a.md", SAMPLE)]), hostile()] {
        let root = documents.location("");
        let path = if root.join("a.md").exists() {
            "a.md"
        } else {
            "README.md"
        };
        let before = everything(&root);
        let command = read_only(&documents, state.path());
        let mut editor = Editor::connect(&documents, Era::Handshake, command, &json!({}));
        let ids = editor.ids_of(path);
        assert_eq!(editor.ids_of(path), ids);
        for tool in ["get_document", "history", "check_links"] {
            editor.ok(tool, json!({ "path": path }));
        }
        editor.leave();
        let command = read_only(&documents, state.path());
        let mut again = Editor::connect(&documents, Era::Handshake, command, &json!({}));
        assert_eq!(again.ids_of(path), ids, "they follow from the sections");
        again.leave();
        assert_eq!(everything(&root), before);
    }
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

/// Settings and keys that lie in the folder are nobody's.
#[test]
fn settings_and_keys_in_the_folder_are_not_used() {
    let documents = TestDocuments::folder(&[("a.md", SAMPLE)]);
    let planted = "[editor]\nrequire_hash = true\n[server.tools]\ndenylist = [\"undo\"]\n";
    fs::create_dir(documents.location(".sectile")).unwrap();
    for name in [
        "sectile.toml",
        ".sectile.toml",
        ".sectile/sectile.toml",
        ".sectile/config.toml",
    ] {
        fs::write(documents.location(name), planted).unwrap();
    }
    fs::write(documents.location(".sectile/journal.key"), "00".repeat(32)).unwrap();
    let mut command = documents.command("");
    command.current_dir(documents.location(""));
    let mut editor = Editor::connect(&documents, Era::Handshake, command, &json!({}));
    editor.ok(
        "edit_text",
        json!({ "path": "a.md", "old_text": "Beta body.", "new_text": "x" }),
    );
    editor.ok("undo", json!({ "path": "a.md" }));
    editor.leave();
}

#[test]
fn a_purge_takes_the_index_of_a_library_along() {
    const SECRET: &str = "sk-live-0123456789abcdef";
    let documents = TestDocuments::folder(&[("lab/a.md", &format!("# A\n\nkey {SECRET} here\n"))]);
    let root = documents.location("");
    let index = sectile()
        .args(["notebook", "index", "--tier", "static"])
        .arg(&root)
        .output()
        .unwrap();
    assert!(index.status.success(), "{index:?}");
    let holds = |needle: &str| {
        let files = everything(&root.join(".sectile"));
        let mut bytes = files.into_values().filter_map(|(bytes, _)| bytes);
        bytes.any(|bytes| String::from_utf8_lossy(&bytes).contains(needle))
    };
    let mut editor = documents.open();
    editor.ok(
        "edit_text",
        json!({ "path": "lab/a.md", "old_text": "0123456789abcdef", "new_text": "REDACTED" }),
    );
    editor.leave();
    assert!(holds("0123456789abcdef"));
    let secret = root.join("../secret.txt");
    fs::write(&secret, SECRET).unwrap();
    let purged = sectile()
        .args(["edit", "purge", "--containing", "--yes", "--root"])
        .arg(&root)
        .stdin(fs::File::open(&secret).unwrap())
        .output()
        .unwrap();
    assert!(purged.status.success(), "{purged:?}");
    assert!(!holds("0123456789abcdef"));
    assert!(!root.join(".sectile/notebook").exists());
}
