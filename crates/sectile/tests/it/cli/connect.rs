//! `sectile connect`: entries that clients can read, and edits that keep what is theirs.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio as Pipe},
};

use serde_json::Value;

use super::{Home, text};
use crate::fixture::{Era, Stdio, TestVault, initialize};

/// Every client: its name on the command line, the key its servers stand under, and its usual file.
const CLIENTS: [(&str, &str, &str); 6] = [
    ("claude-code", "mcpServers", "work/.mcp.json"),
    (
        "claude-desktop",
        "mcpServers",
        "home/config/Claude/claude_desktop_config.json",
    ),
    ("cursor", "mcpServers", "home/.cursor/mcp.json"),
    ("vscode", "servers", "work/.vscode/mcp.json"),
    ("zed", "context_servers", "home/config/zed/settings.json"),
    ("codex", "mcp_servers", "home/.codex/config.toml"),
];

fn parse(client: &str, text: &str) -> Value {
    if client == "codex" {
        let table: toml::Table = text.parse().unwrap();
        return serde_json::to_value(table).unwrap();
    }
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{client}: not JSON: {text}"))
}

#[test]
fn the_entry_of_every_client_parses_and_starts_a_server_for_the_folder() {
    let home = Home::new();
    let vault = TestVault::sample();
    let root = fs::canonicalize(vault.root()).unwrap();
    let binary = fs::canonicalize(env!("CARGO_BIN_EXE_sectile")).unwrap();
    for (client, key, usual_file) in CLIENTS {
        let ran = home.run(&["connect", client, "--root", text(&root), "--name", "notes"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let file_name = usual_file.rsplit('/').next().unwrap();
        assert!(ran.stderr.contains(file_name), "{client}: {ran:?}");
        let entry = parse(client, &ran.stdout)[key]["notes"].clone();
        assert_eq!(entry["command"], text(&binary), "{client}");
        let arguments: Vec<String> = serde_json::from_value(entry["args"].clone()).unwrap();
        assert_eq!(arguments, ["serve", "desk", text(&root)], "{client}");
        let is_typed = ["claude-code", "vscode"].contains(&client);
        assert_eq!(entry["type"] == "stdio", is_typed, "{client}");

        let mut server = Command::new(entry["command"].as_str().unwrap())
            .args(arguments)
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::null())
            .spawn()
            .unwrap();
        let mut input = server.stdin.take().unwrap();
        writeln!(input, "{}", initialize(1)).unwrap();
        drop(input);
        let mut answer = String::new();
        let output = server.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut answer).unwrap();
        assert!(answer.contains("\"sectile\""), "{client}: {answer}");
        assert!(server.wait().unwrap().success(), "{client}");
    }
    assert_eq!(
        fs::read_dir(home.path("home")).unwrap().count(),
        0,
        "nothing is written"
    );
    assert_eq!(
        fs::read_dir(home.path("work")).unwrap().count(),
        0,
        "nothing is written"
    );
}

#[test]
fn connect_sets_errors_to_result_for_hosts_that_hide_protocol_errors() {
    let home = Home::new();
    let vault = TestVault::sample();
    let root = fs::canonicalize(vault.root()).unwrap();
    for (client, key, _) in CLIENTS {
        for world in ["vault", "editor"] {
            let ran = home.run(&["connect", client, "--root", text(&root), "--world", world]);
            assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
            let entry = parse(client, &ran.stdout)[key]["sectile"].clone();
            // Codex shows its model the whole error.
            let expected = match (world, client) {
                ("editor", "codex") | ("vault", _) => Value::Null,
                _ => serde_json::json!({ "SECTILE_EDITOR__ERRORS": "result" }),
            };
            assert_eq!(entry["env"], expected, "{client}, {world}");
            let Some(variables) = entry["env"].as_object() else {
                continue;
            };
            let mut server = Command::new(entry["command"].as_str().unwrap());
            let arguments: Vec<String> = serde_json::from_value(entry["args"].clone()).unwrap();
            server.args(arguments);
            for (name, value) in variables {
                server.env(name, value.as_str().unwrap());
            }
            let mut server = Stdio::spawn(&vault, server);
            server.exchange(&initialize(1));
            let params =
                serde_json::json!({ "name": "get_document", "arguments": { "path": "none.md" } });
            let answer = server.exchange(&Era::Handshake.request(2, "tools/call", params));
            assert_eq!(answer["result"]["isError"], true, "{client}: {answer}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn writing_makes_the_usual_file_of_every_client_once() {
    let home = Home::new();
    for (client, key, usual_file) in CLIENTS {
        let printed = home.run(&["connect", client]).stdout;
        let ran = home.run(&["connect", client, "--write"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(ran.stdout.contains("Connected"), "{client}: {ran:?}");
        let written = fs::read_to_string(home.path(usual_file)).unwrap();
        assert_eq!(written, printed, "{client}");
        assert!(
            parse(client, &written)[key]["sectile"].is_object(),
            "{client}"
        );
        for line in written.lines() {
            let added = ran.stdout.lines().any(|shown| shown == format!("+{line}"));
            assert!(added, "{client}: the diff lacks {line:?}: {ran:?}");
        }
        let ran = home.run(&["connect", client, "--write"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(
            ran.stdout.contains("nothing was changed"),
            "{client}: {ran:?}"
        );
        assert_eq!(
            fs::read_to_string(home.path(usual_file)).unwrap(),
            written,
            "{client}"
        );
    }
}

/// Files as people keep them.
const KEPT_JSON: &str = "// mine\n{\n    \"theme\": \"dark\", // at night\n    \"KEY\": {\n        /* theirs */\n        \"other\": { \"command\": \"o\", \"args\": [] },\n    },\n    \"last\": [1, 2]\n}\n";
const KEPT_TOML: &str = "# mine\nmodel = \"x\" # fast\n\n[mcp_servers.other] # theirs\ncommand = 'o'\n\n[last]\nvalues = [1,\n  2]\n";

#[test]
fn an_edit_keeps_every_line_that_is_not_its_own() {
    let home = Home::new();
    for (client, key, _) in CLIENTS {
        let before = match client {
            "codex" => KEPT_TOML.to_owned(),
            _ => KEPT_JSON.replace("KEY", key),
        };
        let file = home.write("client-file", &before);
        let edit = ["connect", client, "--write", "--file", text(&file)];
        let ran = home.run(&edit);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let after = home.read("client-file");
        let mut rest = after.lines();
        for line in before.lines() {
            assert!(
                rest.any(|kept| kept == line),
                "{client}: {line:?} is lost in {after}"
            );
        }
        let removed = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with('-'))
            .count();
        assert_eq!(removed, 1, "{client}: only the file name: {ran:?}");
        let added = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with('+'))
            .count();
        let grown = after.lines().count() - before.lines().count();
        assert_eq!(added, grown + 1, "{client}: {ran:?}");

        let ran = home.run(&edit);
        assert!(
            ran.stdout.contains("nothing was changed"),
            "{client}: {ran:?}"
        );
        assert_eq!(home.read("client-file"), after, "{client}");
    }
}

#[test]
fn another_folder_replaces_the_entry_and_nothing_else() {
    let home = Home::new();
    for name in ["first", "second"] {
        fs::create_dir(home.path("work").join(name)).unwrap();
    }
    for (client, key, _) in CLIENTS {
        let file = home.path("work/client-file");
        let write = |root: &str| {
            home.run(&[
                "connect",
                client,
                "--root",
                root,
                "--write",
                "--file",
                text(&file),
            ])
        };
        assert_eq!(write("first").code, Some(0), "{client}");
        let ran = write("second");
        assert!(
            ran.stdout.contains("\n-") && ran.stdout.contains("\n+"),
            "{client}: {ran:?}"
        );
        let servers = &parse(client, &home.read("client-file"))[key];
        assert_eq!(
            servers.as_object().map(serde_json::Map::len),
            Some(1),
            "{client}"
        );
        let root = servers["sectile"]["args"][2].as_str().unwrap();
        assert!(root.ends_with("/second"), "{client}: {root}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    let home = Home::new();
    for (client, key, _) in CLIENTS {
        let broken = match client {
            "codex" => ["a = ".to_owned(), format!("{key} = 1\n")],
            _ => ["{oops".to_owned(), format!("{{\"{key}\": 1}}")],
        };
        for before in broken {
            let file = home.write("client-file", &before);
            let ran = home.run(&["connect", client, "--write", "--file", text(&file)]);
            assert_eq!(ran.code, Some(1), "{client}, {before:?}: {ran:?}");
            assert!(
                ran.stderr.contains("nothing was changed"),
                "{client}: {ran:?}"
            );
            assert_eq!(ran.stdout, "", "{client}, {before:?}");
            assert_eq!(home.read("client-file"), before, "{client}");
        }
    }
    assert_eq!(
        fs::read_dir(home.path("work")).unwrap().count(),
        1,
        "nothing is left behind"
    );
}
