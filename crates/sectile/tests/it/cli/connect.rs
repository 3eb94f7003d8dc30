//! `sectile connect`: entries that clients can read, and edits that keep what is theirs.

mod bad_files;
mod entries;
mod versions;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio as Pipe},
};

use sectile_markdown::{Value as Yaml, parse_ignoring_tags};
use serde_json::{Value, json};

use super::{Home, text};
use crate::fixture::{Era, Stdio, TestVault, initialize};

/// Every client: its name on the command line, the key its servers are under, and its usual file.
const CLIENTS: [(&str, &str, &str); 11] = [
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
    ("gemini", "mcpServers", "home/.gemini/settings.json"),
    (
        "windsurf",
        "mcpServers",
        "home/.codeium/windsurf/mcp_config.json",
    ),
    ("jetbrains", "mcpServers", "home/.junie/mcp/mcp.json"),
    ("goose", "extensions", "home/config/goose/config.yaml"),
    (
        "continue",
        "mcpServers",
        "work/.continue/mcpServers/sectile-work.yaml",
    ),
];

/// Returns a client's file as JSON, with the field names of most clients.
fn parse(client: &str, text: &str) -> Value {
    match client {
        "codex" => {
            let table: toml::Table = text.parse().unwrap();
            serde_json::to_value(table).unwrap()
        }
        "goose" => {
            let renamed = text
                .replace(" cmd:", " command:")
                .replace(" envs:", " env:");
            yaml(&parse_ignoring_tags(&renamed).unwrap())
        }
        "continue" => {
            let file = yaml(&parse_ignoring_tags(text).unwrap());
            assert_eq!(file["schema"], "v1");
            let server = file["mcpServers"][0].clone();
            json!({ "mcpServers": { server["name"].as_str().unwrap(): server } })
        }
        _ => serde_json::from_str(text).unwrap_or_else(|_| panic!("{client}: not JSON: {text}")),
    }
}

fn yaml(value: &Yaml) -> Value {
    match value {
        Yaml::Bool(value) => json!(value),
        Yaml::Number(number) => json!(number),
        Yaml::String(text) => json!(text),
        Yaml::List(values) => values.iter().map(yaml).collect(),
        Yaml::Map(fields) => fields
            .iter()
            .map(|(name, value)| (name.to_owned(), yaml(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Yaml::Null | Yaml::Timestamp(_) => Value::Null,
    }
}

/// Returns the only server.
fn only(servers: &Value) -> Value {
    let servers = servers.as_object().unwrap();
    assert_eq!(servers.len(), 1, "{servers:?}");
    servers.values().next().unwrap().clone()
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
        let file_name = file_name.replace("sectile-work", "notes");
        assert!(ran.stderr.contains(&file_name), "{client}: {ran:?}");
        let entry = parse(client, &ran.stdout)[key]["notes"].clone();
        assert_eq!(entry["command"], text(&binary), "{client}");
        let arguments: Vec<String> = serde_json::from_value(entry["args"].clone()).unwrap();
        assert_eq!(arguments, ["serve", "desk", text(&root)], "{client}");
        let is_typed = ["claude-code", "vscode", "goose", "continue"].contains(&client);
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
            let entry = only(&parse(client, &ran.stdout)[key]);
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
            parse(client, &written)[key]["sectile-work"].is_object(),
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

const KEPT_YAML: &str = "# mine\nGOOSE_MODEL: x # fast\nextensions: # all\n  other: # theirs\n    cmd: o\n    args: []\n\n# the rest\nlast: [1,\n  2]\n";

#[test]
fn an_edit_keeps_every_line_that_is_not_its_own() {
    let home = Home::new();
    for (client, key, _) in CLIENTS {
        // A file of our own.
        if client == "continue" {
            continue;
        }
        let before = kept(client, key);
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
fn every_root_has_an_entry_of_its_own_and_disconnect_removes_exactly_one() {
    let home = Home::new();
    for name in ["a/notes", "b/notes"] {
        fs::create_dir_all(home.path("work").join(name)).unwrap();
    }
    for (client, key, usual_file) in CLIENTS {
        if client == "continue" {
            continue;
        }
        let connect = |root: &str| home.run(&["connect", client, "--root", root, "--write"]);
        let disconnect =
            |arguments: &[&str]| home.run(&[&["disconnect", client][..], arguments].concat());
        let read = || fs::read_to_string(home.path(usual_file)).unwrap();
        assert_eq!(connect("a/notes").code, Some(0), "{client}");
        let first = read();
        let ran = connect("b/notes");
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let both = read();
        let servers = parse(client, &both)[key].as_object().unwrap().clone();
        assert_eq!(servers.len(), 2, "{client}: {both}");
        assert!(
            servers["sectile-notes"]["args"][2]
                .as_str()
                .unwrap()
                .ends_with("a/notes")
        );
        // The file as it was is kept.
        let backup = home.path(&format!("{usual_file}.sectile-backup"));
        assert_eq!(fs::read_to_string(&backup).unwrap(), first, "{client}");

        let ran = disconnect(&["--root", "b/notes"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(ran.stdout.contains("\n-"), "{client}: {ran:?}");
        assert_eq!(read(), both, "{client}: only shown");
        let ran = disconnect(&["--root", "b/notes", "--write"]);
        assert!(ran.stdout.contains("Disconnected"), "{client}: {ran:?}");
        assert_eq!(parse(client, &read()), parse(client, &first), "{client}");
        assert_eq!(fs::read_to_string(&backup).unwrap(), both, "{client}");
        let ran = disconnect(&["--root", "b/notes", "--write"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(
            ran.stdout.contains("nothing was changed"),
            "{client}: {ran:?}"
        );
        // A folder that was removed is disconnected by name.
        let ran = disconnect(&["--name", "sectile-notes", "--write"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(!read().contains("sectile-notes"), "{client}");
    }
}

#[test]
fn continue_has_a_file_for_every_root() {
    let home = Home::new();
    for name in ["a/notes", "b/notes"] {
        fs::create_dir_all(home.path("work").join(name)).unwrap();
        let ran = home.run(&["connect", "continue", "--root", name, "--write"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let folder = home.path("work/.continue/mcpServers");
    home.write(".continue/mcpServers/theirs.yaml", "a: [1\n");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    let ran = home.run(&["disconnect", "continue", "--root", "a/notes", "--write"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!folder.join("sectile-notes.yaml").exists());
    assert!(folder.join("sectile-notes.yaml.sectile-backup").exists());
}

#[test]
fn an_entry_of_another_server_is_not_removed() {
    let home = Home::new();
    let before = "{\"mcpServers\": {\"other\": {\"command\": \"o\", \"args\": []}}}\n";
    let file = home.write("client-file", before);
    let ran = home.run(&[
        "disconnect",
        "cursor",
        "--name",
        "other",
        "--write",
        "--file",
        text(&file),
    ]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(home.read("client-file"), before);
}

const URL: &str = "https://notes.example.com/mcp";

#[test]
fn a_remote_server_is_entered_with_its_url_and_a_reference_to_the_key() {
    let home = Home::new();
    for (client, key, _) in CLIENTS {
        let remote = ["connect", client, "--url", URL, "--key-env", "NOTES_KEY"];
        let ran = home.run(&remote);
        if ["claude-desktop", "jetbrains", "zed"].contains(&client) {
            assert_eq!(ran.code, Some(2), "{client}: {ran:?}");
            continue;
        }
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        let entry = parse(client, &ran.stdout)[key]["sectile-notes-example-com"].clone();
        let url_key = match client {
            "gemini" => "httpUrl",
            "windsurf" => "serverUrl",
            "goose" => "uri",
            _ => "url",
        };
        assert_eq!(entry[url_key], URL, "{client}: {entry}");
        let (found, expected) = match client {
            "codex" => (&entry["bearer_token_env_var"], "NOTES_KEY"),
            "continue" => (
                &entry["requestOptions"]["headers"]["Authorization"],
                "Bearer ${{ secrets.NOTES_KEY }}",
            ),
            "claude-code" | "gemini" | "goose" => {
                (&entry["headers"]["Authorization"], "Bearer ${NOTES_KEY}")
            }
            _ => (
                &entry["headers"]["Authorization"],
                "Bearer ${env:NOTES_KEY}",
            ),
        };
        assert_eq!(found, expected, "{client}: {entry}");
    }
}

#[test]
fn a_key_is_written_into_the_users_own_file_and_shown_nowhere() {
    let home = Home::new();
    home.write("key", "k-1234567\n");
    for (client, _, usual_file) in CLIENTS {
        if ["claude-desktop", "jetbrains"].contains(&client) {
            continue;
        }
        let remote = ["connect", client, "--url", URL, "--key-file", "key"];
        let written = [&remote[..], &["--write"]].concat();
        let runs = [home.run(&remote), home.run(&written), home.run(&written)];
        for ran in &runs {
            let shown = format!("{ran:?}");
            assert!(!shown.contains("k-1234567"), "{client}: {shown}");
        }
        // A file in the current folder may be shared.
        if usual_file.starts_with("work/") {
            assert!(
                runs.iter().all(|ran| ran.code == Some(2)),
                "{client}: {runs:?}"
            );
            assert!(!home.path(usual_file).exists());
            continue;
        }
        assert!(
            runs.iter().all(|ran| ran.code == Some(0)),
            "{client}: {runs:?}"
        );
        let file = home.path(usual_file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("Bearer k-1234567"), "{client}: {text}");
        assert!(runs[2].stdout.contains("nothing was changed"), "{client}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{client}: {mode:o}");
        }
        let ran = home.run(&["disconnect", client, "--url", URL, "--write"]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(!format!("{ran:?}").contains("k-1234567"), "{client}");
        assert!(!fs::read_to_string(&file).unwrap().contains("k-1234567"));
    }
}

#[test]
fn bad_urls_and_keys_are_refused() {
    let home = Home::new();
    home.write("two", "a\nb\n");
    for arguments in [
        &["--url", "notes"][..],
        &["--url", "https://ann:secret@notes.example.com/mcp"],
        &["--url", "http://notes.example.com/mcp", "--key-env", "KEY"],
        &["--url", URL, "--key-env", "sk.secret"],
        &["--url", URL, "--root", "."],
        &["--key-env", "KEY"],
        &["--write", "--print"],
    ] {
        let ran = home.run(&[&["connect", "cursor"][..], arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("secret"), "{arguments:?}: {ran:?}");
    }
    for file in ["two", "missing"] {
        let ran = home.run(&["connect", "cursor", "--url", URL, "--key-file", file]);
        assert_eq!(ran.code, Some(1), "{file}: {ran:?}");
    }
}

#[test]
fn the_scope_names_the_file_and_a_missing_home_or_a_bad_folder_is_reported() {
    let home = Home::new();
    let ran = home.run(&["connect", "claude-code", "--scope", "user", "--write"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(home.path("home/.claude.json").exists());
    assert!(!home.path("work/.mcp.json").exists());
    let ran = home.run(&["connect", "zed", "--scope", "project"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let mut command = home.command();
    command.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
    command.args(["connect", "cursor", "--write"]);
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    if output.status.code() == Some(1) {
        assert!(error.contains("the home folder is unknown"), "{error}");
    }
    // A file where the folder should be: nothing can be written, whoever asks.
    fs::write(home.path("home/.cursor"), "x").unwrap();
    let ran = home.run(&["connect", "cursor", "--write"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("mcp.json cannot be"), "{ran:?}");
}

/// Returns a file as people keep it, with a server of another program.
fn kept(client: &str, key: &str) -> String {
    match client {
        "goose" => KEPT_YAML.to_owned(),
        "codex" => KEPT_TOML.to_owned(),
        _ => KEPT_JSON.replace("KEY", key),
    }
}

#[test]
fn line_ends_of_windows_are_kept() {
    let home = Home::new();
    // A file for Continue is our own.
    for (client, key, _) in CLIENTS.iter().filter(|(client, ..)| *client != "continue") {
        for mark in ["", "\u{feff}"] {
            let before = format!("{mark}{}", kept(client, key).replace('\n', "\r\n"));
            let file = home.write("client-file", &before);
            let ran = home.run(&["connect", client, "--write", "--file", text(&file)]);
            assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
            let after = home.read("client-file");
            assert!(after.contains("sectile-work"), "{client}: {after}");
            assert_eq!(after.starts_with(mark), before.starts_with(mark));
            let ends = after.matches('\n').count();
            assert_eq!(ends, after.matches("\r\n").count(), "{client}: {after:?}");
            let ran = home.run(&["disconnect", client, "--write", "--file", text(&file)]);
            assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
            assert_eq!(home.read("client-file"), before, "{client}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    let home = Home::new();
    for (client, key, _) in CLIENTS {
        let broken = match client {
            "goose" => ["a: [1".to_owned(), "extensions: 1\n".to_owned()],
            "continue" => ["a: [1".to_owned(), "mcpServers: 1\n".to_owned()],
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
            assert!(ran.stderr.contains("client-file"), "{client}: {ran:?}");
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
