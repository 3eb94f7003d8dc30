//! Files of clients that are broken, out of reach, or not what they seem: refused by name, and never damaged.

use std::fs;

use serde_json::json;

use super::{CLIENTS, URL};
use crate::cli::{Home, text};

/// A file that breaks in its third line.
fn broken(client: &str) -> &'static str {
    match client {
        "codex" => "a = 1\n\n[mcp_servers\nb = 2\n",
        "goose" | "continue" => "a: 1\n\na: 2\n",
        _ => "{\n  \"a\": 1,\n  oops\n}\n",
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_broken_file_is_refused_with_its_name_and_line() {
    let home = Home::new();
    for (client, _, usual_file) in CLIENTS {
        let file = home.path(usual_file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = broken(client);
        fs::write(&file, before).unwrap();
        for command in ["connect", "disconnect"] {
            let ran = home.run(&[command, client, "--write"]);
            assert_eq!(ran.code, Some(1), "{command} {client}: {ran:?}");
            let name = usual_file
                .trim_start_matches("home/")
                .trim_start_matches("work/");
            assert!(ran.stderr.contains(name), "{command} {client}: {ran:?}");
            assert!(
                ran.stderr.contains(", line 3; nothing was changed."),
                "{client}: {ran:?}"
            );
            assert_eq!(ran.stdout, "", "{command} {client}");
            assert_eq!(fs::read_to_string(&file).unwrap(), before, "{client}");
            assert_eq!(
                fs::read_dir(file.parent().unwrap()).unwrap().count(),
                1,
                "{client}"
            );
        }
        // The entry for an edit by hand is there all the same.
        let ran = home.run(&["connect", client]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(ran.stdout.contains("sectile-work"), "{client}: {ran:?}");
        fs::remove_file(&file).unwrap();
    }
}

/// A home that nobody can write into, not even the superuser.
#[cfg(target_os = "linux")]
#[test]
fn a_home_that_cannot_be_written_is_reported_and_printing_still_works() {
    let home = Home::new();
    let file = home.write("a-file", "x");
    let homes = [text(&file), "/sys/kernel"];
    for (client, _, usual_file) in CLIENTS {
        if usual_file.starts_with("work/") {
            continue;
        }
        for place in homes {
            let environment = [("HOME", place), ("XDG_CONFIG_HOME", place)];
            let ran = home.run_with(&["connect", client, "--write"], &environment);
            assert_eq!(ran.code, Some(1), "{client}: {ran:?}");
            let name = usual_file.rsplit('/').next().unwrap();
            assert!(ran.stderr.contains(name), "{client}: {ran:?}");
            assert!(ran.stderr.contains("cannot be"), "{client}: {ran:?}");
            assert!(!ran.stdout.contains("Connected"), "{client}: {ran:?}");
            let ran = home.run_with(&["connect", client], &environment);
            assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn what_is_not_a_text_file_is_refused_with_the_reason() {
    let home = Home::new();
    fs::create_dir(home.path("work/folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", home.path("work/link")).unwrap();
    fs::write(home.path("work/utf-16"), b"\xff\xfe{\0}\0").unwrap();
    let huge = fs::File::create(home.path("work/huge")).unwrap();
    huge.set_len((64 << 20) + 1).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(home.path("work/pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    for (name, reason) in [
        ("folder", "it is a folder"),
        ("link", "it is a link to a file that does not exist"),
        ("utf-16", "it is not UTF-8 text"),
        ("huge", "it is larger than 64 MiB"),
        ("pipe", "it is not a regular file"),
    ] {
        let ran = home.run(&["connect", "cursor", "--write", "--file", name]);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        let message = format!("the client's file {name} cannot be read ({reason}).");
        assert!(ran.stderr.contains(&message), "{name}: {ran:?}");
    }
    assert!(home.path("work/link").is_symlink());
}

#[cfg(unix)]
#[test]
fn a_linked_file_stays_a_link_and_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let target = home.write("dotfiles/mcp.json", "{}\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.path("work/mcp.json");
    std::os::unix::fs::symlink("dotfiles/mcp.json", &link).unwrap();
    let ran = home.run(&["connect", "cursor", "--write", "--file", "mcp.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(link.is_symlink());
    assert!(home.read("dotfiles/mcp.json").contains("sectile-work"));
    let mode = fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "{mode:o}");
    assert_eq!(home.read("mcp.json.sectile-backup"), "{}\n");
}

/// A project that others wrote can hold any link.
#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_copy_is_not_followed() {
    let home = Home::new();
    let victim = home.path("home/.profile");
    fs::write(&victim, "mine").unwrap();
    home.write(".mcp.json", "{}\n");
    let copy = home.path("work/.mcp.json.sectile-backup");
    std::os::unix::fs::symlink(&victim, &copy).unwrap();
    let ran = home.run(&["connect", "claude-code", "--write"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert!(!copy.is_symlink());
    assert_eq!(fs::read_to_string(&copy).unwrap(), "{}\n");
}

#[test]
fn the_change_that_is_shown_has_no_secrets_of_other_servers_and_no_endless_lines() {
    let home = Home::new();
    let other = "{\"command\": \"o\", \"env\": {\"KEY\": \"s3cret\"}}";
    let before = json!({ "mcpServers": { "other": { "env": { "KEY": "s3cret" } } } });
    home.write("client-file", &format!("{before:#}"));
    let edit = ["connect", "cursor", "--write", "--file", "client-file"];
    let ran = home.run(&[&edit[..], &["--url", URL]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(URL), "{ran:?}");
    assert!(!ran.stdout.contains("s3cret"), "{ran:?}");

    let padding = "x".repeat(10_000);
    let line = format!("{{\"padding\": \"{padding}\", \"mcpServers\": {{\"other\": {other}}}}}");
    home.write("client-file", &line);
    let ran = home.run(&edit);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.len() < 2000, "{ran:?}");
    let after: serde_json::Value = serde_json::from_str(&home.read("client-file")).unwrap();
    assert_eq!(after["padding"], padding);
    assert!(after["mcpServers"]["sectile-work"].is_object(), "{after}");
}
