//! Callers that are bound to roots: to them, other roots do not exist.

use std::process::Output;

use serde_json::{Value, json};

use crate::fixture::{Era, Http, STATIC, TestVault, sectile};

const ERA: Era = Era::Stateless;

pub(crate) fn key_of(vault: &TestVault, user: &str, roots: &[&str]) -> String {
    key_with_role(vault, "editor", user, roots)
}

pub(crate) fn key_with_role(vault: &TestVault, role: &str, user: &str, roots: &[&str]) -> String {
    let mut command = sectile();
    command.args(["auth", "add-key", "--role", role, "--user", user]);
    for root in roots {
        command.args(["--root", root]);
    }
    let file = vault.outside().with_file_name("keys.toml");
    let output: Output = command.arg("--file").arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let key = String::from_utf8(output.stdout).unwrap();
    key.trim().to_owned()
}

/// Two servers that differ only in the root that the caller is not bound to.
struct TwoDesks {
    both: TestVault,
    alone: TestVault,
}

pub(crate) fn call(server: &Http<'_>, key: &str, tool: &str, arguments: &Value) -> Value {
    let message = ERA.call(7, tool, arguments.clone());
    let answer = server.post_with(ERA, &message, &[("X-Api-Key", key)]);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

pub(crate) fn serve<'a>(vault: &'a TestVault, roots: &str) -> Http<'a> {
    let settings = format!(
        "[server.auth]\nkeys_file = 'keys.toml'\n[server.limits]\nrequests_per_minute = 0\n[desk.roots]\n{roots}"
    );
    let mut command = sectile();
    command.args(["serve", "desk", "--config"]).envs([STATIC]);
    command.arg(vault.config(&settings));
    Http::spawn(vault, command)
}

#[test]
fn a_caller_bound_to_a_root_cannot_tell_that_there_are_others() {
    let desks = TwoDesks {
        both: TestVault::empty(),
        alone: TestVault::empty(),
    };
    for vault in [&desks.both, &desks.alone] {
        vault.note("work/plan.md", "# Plan\n\nWork.\n");
    }
    desks.both.note("home/plan.md", "# Plan\n\nHome.\n");
    desks.both.note("home/garden.md", "# Garden\n\nRoses.\n");
    let (bound, alone) = (
        key_of(&desks.both, "ada", &["work"]),
        key_of(&desks.alone, "ada", &[]),
    );
    let eve = key_of(&desks.both, "eve", &[]);
    let both = serve(&desks.both, "work = 'vault/work'\nhome = 'vault/home'\n");
    let one = serve(&desks.alone, "work = 'vault/work'\n");
    let calls = [
        (
            "edit",
            json!({ "id": "plan.md", "old": "Work.", "new": "Done." }),
        ),
        (
            "edit",
            json!({ "id": "home:plan.md", "old": "Home.", "new": "x" }),
        ),
        (
            "edit",
            json!({ "id": "nowhere:plan.md", "old": "Home.", "new": "x" }),
        ),
        (
            "edit",
            json!({ "id": "garden.md", "old": "Roses.", "new": "x" }),
        ),
        (
            "edit",
            json!({ "id": "garden", "old": "Roses.", "new": "x" }),
        ),
        ("create", json!({ "path": "new.md", "text": "# New\n" })),
        (
            "create",
            json!({ "path": "home:new.md", "text": "# New\n" }),
        ),
        ("rename", json!({ "id": "new.md", "to": "home:new2.md" })),
        ("rename", json!({ "id": "work:plan.md", "to": "old.md" })),
        ("undo", json!({})),
        ("undo", json!({ "change": "home:1" })),
        ("undo", json!({ "change": "1" })),
    ];
    for (tool, arguments) in calls {
        let seen = call(&both, &bound, tool, &arguments);
        assert_eq!(
            seen,
            call(&one, &alone, tool, &arguments),
            "{tool} {arguments}"
        );
    }
    let home = desks.both.root().join("home");
    let untouched = std::fs::read_to_string(home.join("plan.md")).unwrap();
    assert_eq!(untouched, "# Plan\n\nHome.\n");
    // Somebody else sees both, and undoes only their own changes.
    let edit = json!({ "id": "home:plan.md", "old": "Home.", "new": "Here." });
    let answer = call(&both, &eve, "edit", &edit);
    assert_eq!(
        answer["structuredContent"]["id"], "home:plan.md",
        "{answer}"
    );
    let edit = json!({ "id": "plan.md", "place": "append", "new": "More." });
    let answer = call(&both, &bound, "edit", &edit);
    assert_eq!(answer["isError"], false, "{answer}");
    let answer = call(&both, &eve, "undo", &json!({}));
    assert_eq!(
        answer["structuredContent"]["id"], "home:plan.md",
        "{answer}"
    );
}

#[test]
fn a_key_for_a_root_that_does_not_exist_opens_nothing() {
    let vault = TestVault::empty();
    vault.note("work/plan.md", "# Plan\n\nWork.\n");
    let key = key_of(&vault, "ada", &["other"]);
    let server = serve(&vault, "work = 'vault/work'\n");
    let edit = json!({ "id": "plan.md", "old": "Work.", "new": "x" });
    let text = call(&server, &key, "edit", &edit)["content"][0]["text"].to_string();
    assert!(text.contains("not_found: "), "{text}");
    let create = json!({ "path": "a.md", "text": "x" });
    let text = call(&server, &key, "create", &create)["content"][0]["text"].to_string();
    assert!(text.contains("not_found: "), "{text}");
    assert!(!vault.root().join("work/a.md").exists());
}
