//! `sectile auth`: keys are made, listed and revoked; and `sectile tools --role` shows what they are good for.

use std::{fs, process::Stdio as Pipe};

use serde_json::{Value, json};

use super::{Home, text};

const KEYS: [&str; 2] = ["--file", "keys.toml"];

fn add(home: &Home, more: &[&str]) -> String {
    let ran = home.run(&[&["auth", "add-key"][..], more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("SIGHUP"), "{ran:?}");
    let key = ran.stdout.trim_end();
    assert_eq!(ran.stdout, format!("{key}\n"));
    assert!(!ran.stderr.contains(key), "{ran:?}");
    key.to_owned()
}

fn list(home: &Home) -> Vec<Value> {
    let ran = home.run(&[&["auth", "list", "--json"][..], &KEYS].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_key_is_shown_once_and_never_kept() {
    let home = Home::new();
    let first = add(&home, &[&["--user", "ann"][..], &KEYS].concat());
    let vaults = ["--vault", "work", "--vault", "home"];
    let more = ["--user", "bob", "--role", "editor"];
    let second = add(&home, &[&more[..], &vaults, &KEYS].concat());
    assert_ne!(first, second);
    let kept = home.read("keys.toml");
    for key in [&first, &second] {
        let secret = key.splitn(3, '_').last().unwrap();
        assert!(secret.len() > 20 && !kept.contains(secret), "{kept}");
    }
    let listed = list(&home);
    let facts = |key: &Value| json!([key["user"], key["role"], key["vaults"], key["revoked"]]);
    let facts: Vec<Value> = listed.iter().map(facts).collect();
    assert_eq!(
        facts,
        [
            json!(["ann", "viewer", ["default"], null]),
            json!(["bob", "editor", ["work", "home"], null]),
        ]
    );
    for key in &listed {
        let fields: Vec<&String> = key.as_object().unwrap().keys().collect();
        assert_eq!(
            fields,
            ["id", "user", "role", "vaults", "created", "revoked"]
        );
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = home.path("work/keys.toml");
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_key_can_be_bound_to_roots() {
    let home = Home::new();
    add(&home, &[&["--user", "ann"][..], &KEYS].concat());
    let roots = ["--root", "work", "--root", "home"];
    add(&home, &[&["--user", "bob"][..], &roots, &KEYS].concat());
    let kept = home.read("keys.toml");
    assert_eq!(kept.matches("roots = [\"work\", \"home\"]\n").count(), 1);
    let listed = list(&home);
    assert_eq!(listed[0]["roots"], json!(null));
    assert_eq!(listed[1]["roots"], json!(["work", "home"]));
    let ran = home.run(&[&["auth", "list"][..], &KEYS].concat());
    assert_eq!(ran.stdout.matches("only work, home").count(), 1, "{ran:?}");
}

#[test]
fn a_revoked_key_stays_in_the_list_as_such() {
    let home = Home::new();
    add(&home, &[&["--user", "ann"][..], &KEYS].concat());
    add(&home, &[&["--user", "bob"][..], &KEYS].concat());
    let before = list(&home);
    let id = before[0]["id"].as_str().unwrap();
    let ran = home.run(&[&["auth", "revoke", id][..], &KEYS].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains(id) && ran.stderr.contains("SIGHUP"),
        "{ran:?}"
    );
    let after = list(&home);
    assert!(after[0]["revoked"].is_string(), "{after:?}");
    assert_eq!(after[1], before[1]);
    let kept = home.read("keys.toml");
    let ran = home.run(&[&["auth", "revoke", "0000000000000000"][..], &KEYS].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("no key has this id"), "{ran:?}");
    assert_eq!(home.read("keys.toml"), kept);
}

#[test]
fn the_settings_can_name_the_file_and_need_not_have_it_yet() {
    let home = Home::new();
    let settings = home.write(
        "etc/sectile.toml",
        "[server.auth]\nkeys_file = 'private/keys.toml'\n",
    );
    let settings = text(&settings);
    let ran = home.run(&["auth", "list", "--config", settings]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("sectile auth add-key"), "{ran:?}");
    assert!(!home.path("work/etc/private").exists());
    add(&home, &["--user", "ann", "--config", settings]);
    assert!(home.read("etc/private/keys.toml").contains("ann"));
    let environment = [("SECTILE_CONFIG", settings)];
    let ran = home.run_with(&["auth", "list"], &environment);
    assert!(ran.stdout.contains("ann"), "{ran:?}");
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let home = Home::new();
    home.write("damaged.toml", "version = 99\n");
    home.write("empty.toml", "");
    home.write("plain.toml", "[log]\n");
    for (arguments, code, said) in [
        (&["add-key", "--file", "keys.toml"][..], 2, "--user"),
        (&["add-key", "--user", "a"], 2, "no key file is given"),
        (
            &["add-key", "--user", "a", "--config", "plain.toml"],
            2,
            "server.auth.keys_file",
        ),
        (
            &["add-key", "--user", "a b", "--file", "keys.toml"],
            1,
            "a user must be",
        ),
        (
            &[
                "add-key",
                "--user",
                "a",
                "--root",
                "",
                "--file",
                "keys.toml",
            ],
            1,
            "a root must be",
        ),
        (
            &[
                "add-key",
                "--user",
                "a",
                "--role",
                "owner",
                "--file",
                "keys.toml",
            ],
            2,
            "viewer, editor, evaluator, admin",
        ),
        (
            &["add-key", "--user", "a", "--file", "damaged.toml"],
            1,
            "is damaged",
        ),
        (&["list", "--file", "damaged.toml"], 1, "is damaged"),
        (&["revoke", "1", "--file", "damaged.toml"], 1, "is damaged"),
        (&["revoke", "1", "--file", "none.toml"], 1, "no key file"),
        (
            &["list", "--file", "a", "--config", "b"],
            2,
            "cannot be used",
        ),
    ] {
        let ran = home.run(&[&["auth"][..], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
    assert!(!home.path("work/keys.toml").exists());
    assert_eq!(home.read("damaged.toml"), "version = 99\n");
    add(&home, &["--user", "a", "--file", "empty.toml"]);
}

#[test]
fn keys_that_are_made_at_the_same_time_are_all_kept() {
    let home = Home::new();
    let adding: Vec<_> = (0..8)
        .map(|number| {
            let mut command = home.command();
            command
                .args(["auth", "add-key", "--user", &format!("user-{number}")])
                .args(KEYS)
                .stdout(Pipe::null())
                .stderr(Pipe::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut adding in adding {
        assert!(adding.wait().unwrap().success());
    }
    let mut users: Vec<String> = list(&home)
        .iter()
        .map(|key| key["user"].as_str().unwrap().to_owned())
        .collect();
    users.sort();
    let expected: Vec<String> = (0..8).map(|number| format!("user-{number}")).collect();
    assert_eq!(users, expected);
}

/// The names of the tools of a world that a command lists.
fn tools(home: &Home, arguments: &[&str]) -> Vec<String> {
    let ran = home.run(&[&["tools", "--json"][..], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let worlds: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tools = worlds[0]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn tools_can_be_listed_as_a_role_sees_them() {
    let home = Home::new();
    let all = tools(&home, &["editor"]);
    let viewer = tools(&home, &["editor", "--role", "viewer"]);
    for role in ["editor", "evaluator", "admin"] {
        assert_eq!(tools(&home, &["editor", "--role", role]), all, "{role}");
    }
    for (tool, may_view) in [
        ("get_section", true),
        ("undo", false),
        ("apply_edits", false),
    ] {
        assert!(all.iter().any(|name| name == tool), "{tool}");
        assert_eq!(viewer.iter().any(|name| name == tool), may_view, "{tool}");
    }
    home.write(
        "sectile.toml",
        "[server.auth]\nkeys_file = 'not-there'\n\
         [server.auth.roles]\nviewer = ['editor/undo', 'get_note_outline']\n",
    );
    let settings = ["--config", "sectile.toml"];
    let by_settings =
        |world, role| tools(&home, &[&[world, "--role", role][..], &settings].concat());
    assert_eq!(by_settings("editor", "viewer"), ["undo"]);
    assert_eq!(by_settings("vault", "viewer"), ["get_note_outline"]);
    assert_eq!(by_settings("docs", "viewer"), Vec::<String>::new());
    assert_eq!(by_settings("editor", "editor"), all);
    for arguments in [
        &["tools", "--role", "owner"][..],
        &["tools", "--config", "sectile.toml"],
    ] {
        assert_eq!(home.run(arguments).code, Some(2), "{arguments:?}");
    }
}
