//! The entry of every client to the letter, as its published schema or documentation describes it. The sources are in the
//! table of clients, `src/cli/connect/clients.rs`.

use serde_json::{Value, json};

use super::{CLIENTS, URL};
use crate::cli::{Home, text};

/// Returns the entry that is printed, without the list of servers around it in JSON.
fn printed(home: &Home, client: &str, key: &str, arguments: &[&str]) -> Result<String, String> {
    let ran = home.run(&[&["connect", client][..], arguments].concat());
    match ran.code {
        Some(0) if ["codex", "goose", "continue"].contains(&client) => Ok(ran.stdout),
        Some(0) => {
            let file: Value = serde_json::from_str(&ran.stdout).unwrap();
            let servers = file[key].as_object().unwrap();
            assert_eq!((file.as_object().unwrap().len(), servers.len()), (1, 1));
            Ok(servers["notes"].to_string())
        }
        _ => Err(ran.stderr),
    }
}

#[test]
fn the_entry_of_a_command_is_as_the_client_documents_it() {
    let home = Home::new();
    let root = home.path("work").canonicalize().unwrap();
    let program = std::fs::canonicalize(env!("CARGO_BIN_EXE_sectile")).unwrap();
    let (root, program) = (text(&root), text(&program));
    for (client, key, _) in CLIENTS {
        let plain = json!({ "command": program, "args": ["serve", "desk", root] });
        let expected = match client {
            "claude-code" | "vscode" => {
                json!({ "type": "stdio", "command": program, "args": ["serve", "desk", root] })
                    .to_string()
            }
            "codex" => format!(
                "[mcp_servers.notes]\ncommand = \"{program}\"\nargs = [\"serve\", \"desk\", \"{root}\"]\n"
            ),
            "goose" => format!(
                "extensions:\n  \"notes\":\n    name: \"notes\"\n    description: \"Sectile\"\n    enabled: true\n    \
                 timeout: 300\n    type: \"stdio\"\n    cmd: \"{program}\"\n    args:\n      - \"serve\"\n      - \"desk\"\n      \
                 - \"{root}\"\n"
            ),
            "continue" => format!(
                "name: \"notes\"\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: \"notes\"\n    type: \"stdio\"\n    \
                 command: \"{program}\"\n    args:\n      - \"serve\"\n      - \"desk\"\n      - \"{root}\"\n"
            ),
            _ => plain.to_string(),
        };
        let found = printed(&home, client, key, &["--name", "notes"]).unwrap();
        assert_eq!(found, expected, "{client}");
    }
}

#[test]
fn the_entry_of_a_url_with_a_key_is_as_the_client_documents_it() {
    let home = Home::new();
    home.write("key", "k-1\n");
    let headers = |value: &str| json!({ "Authorization": format!("Bearer {value}") });
    let yaml_headers = |key: &str, indent: &str| {
        format!("{indent}headers:\n{indent}  Authorization: \"Bearer {key}\"\n")
    };
    for (client, key, _) in CLIENTS {
        // Each takes the key, or the reference to it.
        let entry = |value: &str| match client {
            "claude-code" | "vscode" => {
                json!({ "type": "http", "url": URL, "headers": headers(value) }).to_string()
            }
            "cursor" | "zed" => json!({ "url": URL, "headers": headers(value) }).to_string(),
            "gemini" => json!({ "httpUrl": URL, "headers": headers(value) }).to_string(),
            "windsurf" => json!({ "serverUrl": URL, "headers": headers(value) }).to_string(),
            "codex" if value == "variable" => format!(
                "[mcp_servers.notes]\nurl = \"{URL}\"\nbearer_token_env_var = \"NOTES_KEY\"\n"
            ),
            "codex" => format!(
                "[mcp_servers.notes]\nurl = \"{URL}\"\nhttp_headers = {{ Authorization = \"Bearer {value}\" }}\n"
            ),
            "goose" => {
                let listed = match value.starts_with('$') {
                    true => "    env_keys:\n      - \"NOTES_KEY\"\n",
                    false => "",
                };
                format!(
                    "extensions:\n  \"notes\":\n    name: \"notes\"\n    description: \"Sectile\"\n    enabled: true\n    \
                     timeout: 300\n    type: \"streamable_http\"\n    uri: \"{URL}\"\n{listed}{}",
                    yaml_headers(value, "    ")
                )
            }
            _ => format!(
                "name: \"notes\"\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: \"notes\"\n    \
                 type: \"streamable-http\"\n    url: \"{URL}\"\n    requestOptions:\n{}",
                yaml_headers(value, "      ")
            ),
        };
        let reference = match client {
            "claude-code" | "gemini" | "goose" => Some("${NOTES_KEY}"),
            "cursor" | "vscode" | "windsurf" => Some("${env:NOTES_KEY}"),
            "codex" => Some("variable"),
            "continue" => Some("${{ secrets.NOTES_KEY }}"),
            _ => None,
        };
        let by_variable = ["--url", URL, "--name", "notes", "--key-env", "NOTES_KEY"];
        let found = printed(&home, client, key, &by_variable);
        assert_eq!(found.ok(), reference.map(entry), "{client}");

        let takes_urls = !["claude-desktop", "jetbrains"].contains(&client);
        let is_shared = ["claude-code", "vscode", "continue"].contains(&client);
        let scope: &[&str] = if is_shared { &["--scope", "user"] } else { &[] };
        let by_file = ["--url", URL, "--name", "notes", "--key-file", "key"];
        let found = printed(&home, client, key, &[&by_file, scope].concat());
        let expected = takes_urls.then(|| entry("<key>"));
        assert_eq!(found.ok(), expected, "{client}");
    }
}

#[test]
fn a_client_that_takes_only_commands_says_so() {
    let home = Home::new();
    for client in ["claude-desktop", "jetbrains"] {
        let ran = home.run(&["connect", client, "--url", URL]);
        assert_eq!(ran.code, Some(2), "{client}: {ran:?}");
        assert!(ran.stderr.contains("only hold commands"), "{ran:?}");
        assert!(ran.stderr.contains("https://"), "{client}: {ran:?}");
    }
}

#[test]
fn a_client_whose_folder_was_moved_is_connected_there() {
    let home = Home::new();
    let folder = home.path("home/moved");
    for (client, variable, name) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
    ] {
        let connect = ["connect", client, "--scope", "user", "--write"];
        let ran = home.run_with(&connect, &[(variable, text(&folder))]);
        assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
        assert!(folder.join(name).exists(), "{client}: {ran:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_scope_that_a_client_has_is_a_file_of_its_own() {
    let home = Home::new();
    for (client, user, project) in [
        ("claude-code", "home/.claude.json", "work/.mcp.json"),
        ("cursor", "home/.cursor/mcp.json", "work/.cursor/mcp.json"),
        (
            "vscode",
            "home/config/Code/User/mcp.json",
            "work/.vscode/mcp.json",
        ),
        (
            "codex",
            "home/.codex/config.toml",
            "work/.codex/config.toml",
        ),
        (
            "gemini",
            "home/.gemini/settings.json",
            "work/.gemini/settings.json",
        ),
        (
            "jetbrains",
            "home/.junie/mcp/mcp.json",
            "work/.junie/mcp/mcp.json",
        ),
        (
            "continue",
            "home/.continue/mcpServers/sectile-work.yaml",
            "work/.continue/mcpServers/sectile-work.yaml",
        ),
    ] {
        for (scope, file) in [("user", user), ("project", project)] {
            assert!(!home.path(file).exists(), "{client}");
            let ran = home.run(&["connect", client, "--scope", scope, "--write"]);
            assert_eq!(ran.code, Some(0), "{client}: {ran:?}");
            assert!(home.path(file).exists(), "{client}: {ran:?}");
        }
        let ran = home.run(&["disconnect", client, "--scope", "project", "--write"]);
        assert!(ran.stdout.contains("Disconnected"), "{client}: {ran:?}");
        let left = std::fs::read_to_string(home.path(user)).unwrap();
        assert!(left.contains("sectile-work"), "{client}: {left}");
    }
}
