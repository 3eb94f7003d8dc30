//! The program that an entry starts: found without `PATH`, and told apart from another one.

use std::fs;

use serde_json::{Value, json};

use crate::cli::{Home, text};

fn command_in(home: &Home, name: &str) -> String {
    let file: Value = serde_json::from_str(&home.read("client-file")).unwrap();
    let command = &file["mcpServers"][name]["command"];
    command.as_str().unwrap().to_owned()
}

/// Writes an entry that starts `program` for the working folder, under the name that it would get.
fn write_entry(home: &Home, file: &str, program: &str) {
    let root = home.path("work").canonicalize().unwrap();
    let entry = json!({ "command": program, "args": ["serve", "desk", root], "timeout": 5 });
    let servers = json!({ "mcpServers": { "sectile-work": entry } });
    let path = home.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, servers.to_string()).unwrap();
}

const EDIT: [&str; 5] = ["connect", "cursor", "--write", "--file", "client-file"];

#[cfg(unix)]
#[test]
fn the_command_is_absolute_and_survives_an_update_behind_a_link() {
    let home = Home::new();
    let binary = fs::canonicalize(env!("CARGO_BIN_EXE_sectile")).unwrap();
    for path in ["", "/nowhere:.", "relative"] {
        let ran = home.run_with(&EDIT, &[("PATH", path)]);
        assert_eq!(ran.code, Some(0), "{path}: {ran:?}");
        assert_eq!(command_in(&home, "sectile-work"), text(&binary), "{path}");
    }
    // As a package manager does it.
    let link = home.path("home/bin/sectile");
    fs::create_dir(home.path("home/bin")).unwrap();
    std::os::unix::fs::symlink(&binary, &link).unwrap();
    let path = format!("/nowhere:{}", text(link.parent().unwrap()));
    let ran = home.run_with(&EDIT, &[("PATH", &path)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(command_in(&home, "sectile-work"), text(&link));
    // Another program of the same name is not ours.
    fs::remove_file(&link).unwrap();
    fs::write(&link, "").unwrap();
    let ran = home.run_with(&EDIT, &[("PATH", &path)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(command_in(&home, "sectile-work"), text(&binary));
}

#[cfg(unix)]
#[test]
fn a_program_in_a_cache_is_connected_with_a_warning() {
    let home = Home::new();
    let folder = home.path("home/.npm/_npx/1/bin");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sectile"), folder.join("sectile")).unwrap();
    let ran = home.run_with(&EDIT, &[("PATH", text(&folder))]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("in a cache"), "{ran:?}");
    let ran = home.run_with(&EDIT, &[("PATH", "")]);
    assert!(!ran.stderr.contains("in a cache"), "{ran:?}");
}

#[test]
fn an_entry_of_another_version_is_shown_replaced_and_keeps_its_name() {
    let home = Home::new();
    let other = home.path("home/old/sectile");
    fs::create_dir(home.path("home/old")).unwrap();
    fs::write(&other, "").unwrap();
    write_entry(&home, "work/client-file", text(&other));
    let before = home.read("client-file");
    let shown = format!("{} serve desk", text(&other));
    let ran = home.run(&["connect", "cursor", "--file", "client-file"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("`sectile-work`"), "{ran:?}");
    assert!(ran.stderr.contains(&shown), "{ran:?}");
    assert_eq!(home.read("client-file"), before);

    let ran = home.run(&EDIT);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains(&shown), "{ran:?}");
    let after: Value = serde_json::from_str(&home.read("client-file")).unwrap();
    assert_eq!(after["mcpServers"].as_object().unwrap().len(), 1, "{after}");
    // What people have added to it stays.
    assert_eq!(after["mcpServers"]["sectile-work"]["timeout"], 5);
    let binary = fs::canonicalize(env!("CARGO_BIN_EXE_sectile")).unwrap();
    assert_eq!(command_in(&home, "sectile-work"), text(&binary));
    let ran = home.run(&EDIT);
    assert!(ran.stdout.contains("nothing was changed"), "{ran:?}");
    assert!(!ran.stderr.contains("replaces"), "{ran:?}");
}

#[test]
fn doctor_mentions_an_entry_of_another_version_and_one_of_none() {
    let home = Home::new();
    let other = home.path("home/old/sectile");
    fs::create_dir(home.path("home/old")).unwrap();
    fs::write(&other, "").unwrap();
    write_entry(&home, "home/.cursor/mcp.json", text(&other));
    let line = |ran: &crate::cli::Ran| {
        let lines = ran
            .stdout
            .lines()
            .filter(|line| line.contains(text(&other)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Cursor: connected"), "{ran:?}");
    assert!(
        line(&ran)[0].starts_with("note    Cursor: the entry `sectile-work`"),
        "{ran:?}"
    );

    fs::remove_file(&other).unwrap();
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(line(&ran)[0].starts_with("problem Cursor: "), "{ran:?}");
    assert!(line(&ran)[0].contains("does not exist"), "{ran:?}");

    let ran = home.run(&["connect", "cursor", "--write"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = home.run(&["doctor"]);
    assert_eq!((ran.code, line(&ran).len()), (Some(0), 0), "{ran:?}");
}

#[test]
fn a_name_given_by_hand_never_replaces_another_server() {
    let home = Home::new();
    let mut edit = EDIT.to_vec();
    edit.extend(["--name", "theirs"]);
    for theirs in [
        json!({ "command": "o", "args": ["serve", "desk", "/n"] }),
        json!({ "url": "https://example.com/mcp" }),
        json!({ "disabled": true }),
        json!(null),
    ] {
        let before = json!({ "mcpServers": { "theirs": theirs } }).to_string();
        home.write("client-file", &before);
        let ran = home.run(&edit);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr.contains("another server of the name `theirs`"),
            "{ran:?}"
        );
        assert_eq!(home.read("client-file"), before);
    }
    // One of ours is replaced, and shown.
    fs::create_dir(home.path("work/other")).unwrap();
    home.write("client-file", "");
    assert_eq!(home.run(&edit).code, Some(0));
    edit.extend(["--root", "other"]);
    let ran = home.run(&edit);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("replaces another one"), "{ran:?}");
}

#[test]
fn a_variable_that_is_not_a_setting_is_mentioned_and_ignored() {
    let home = Home::new();
    home.write("note.md", "# One\n\nboat\n");
    for arguments in [
        &["connect", "cursor"][..],
        &EDIT,
        &["disconnect", "cursor"],
        &["search", "boat"],
        &["serve", "."],
    ] {
        let ran = home.run_with(arguments, &[("SECTILE_COLOUR", "secret")]);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let warning = "variables that are not settings are ignored: SECTILE_COLOUR";
        assert!(ran.stderr.contains(warning), "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("secret"), "{arguments:?}: {ran:?}");
        let ran = home.run(arguments);
        assert!(
            !ran.stderr.contains("not settings"),
            "{arguments:?}: {ran:?}"
        );
    }
    // Settings are none of its business, so it refuses none.
    let ran = home.run_with(&["connect", "cursor"], &[("SECTILE_LOG__LEVL", "info")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("SECTILE_LOG__LEVL"), "{ran:?}");
}
