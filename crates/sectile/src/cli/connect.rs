//! `sectile connect`: the entry that a client needs, printed or inserted into the client's own file.
//!
//! Clients keep other things in these files, including comments, so edits use parsers that preserve every byte they are not
//! asked to change.

mod entry;

use std::path::{Path, PathBuf};

use sectile_markdown::{DiffOptions, line_changes, unified_diff};

use self::entry::{ServerEntry, Shape};

use super::{
    args::{ClientName, ConnectArgs},
    root::{described, root_to_serve, shown},
    ui::{BAD, CliError, GOOD, HEADING, StyledText, print, tell},
};
use crate::{config, files, worlds::PathArgument};

/// Facts about one client.
struct Profile {
    name: &'static str,
    shape: Shape,
    /// The usual path of its file; `None` if the home folder is unknown.
    file: Option<PathBuf>,
    /// The step that makes the client notice the change.
    after: &'static str,
    /// Whether its model sees nothing of a JSON-RPC error, or only the message.
    hides_errors: bool,
}

fn profile(client: ClientName) -> Profile {
    let home = |below: &str| config::home_folder().map(|home| home.join(below));
    match client {
        ClientName::ClaudeCode => Profile {
            name: "Claude Code",
            shape: Shape::Json {
                key: "mcpServers",
                typed: true,
            },
            file: Some(PathBuf::from(".mcp.json")),
            after: "Start Claude Code in this folder and approve the server.",
            hides_errors: true,
        },
        ClientName::ClaudeDesktop => Profile {
            name: "Claude Desktop",
            shape: Shape::Json {
                key: "mcpServers",
                typed: false,
            },
            file: claude_desktop_folder()
                .map(|folder| folder.join("Claude/claude_desktop_config.json")),
            after: "Quit Claude Desktop completely and start it again.",
            hides_errors: true,
        },
        ClientName::Cursor => Profile {
            name: "Cursor",
            shape: Shape::Json {
                key: "mcpServers",
                typed: false,
            },
            file: home(".cursor/mcp.json"),
            after: "Switch the server on in Cursor's settings under MCP.",
            hides_errors: true,
        },
        ClientName::Vscode => Profile {
            name: "VS Code",
            shape: Shape::Json {
                key: "servers",
                typed: true,
            },
            file: Some(PathBuf::from(".vscode/mcp.json")),
            after: "Open the file in VS Code and choose Start above the entry.",
            hides_errors: true,
        },
        ClientName::Zed => Profile {
            name: "Zed",
            shape: Shape::Json {
                key: "context_servers",
                typed: false,
            },
            file: settings_folder().map(|folder| folder.join("zed/settings.json")),
            after: "Zed picks up the change by itself.",
            hides_errors: true,
        },
        ClientName::Codex => Profile {
            name: "Codex",
            shape: Shape::Toml { key: "mcp_servers" },
            file: home(".codex/config.toml"),
            after: "Restart Codex.",
            hides_errors: false,
        },
    }
}

/// Returns the folder where desktop programs of this system keep their settings.
fn claude_desktop_folder() -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        config::home_folder().map(|home| home.join("Library/Application Support"))
    } else {
        settings_folder()
    }
}

fn settings_folder() -> Option<PathBuf> {
    if cfg!(windows) {
        return config::os_variable("APPDATA");
    }
    config::os_variable("XDG_CONFIG_HOME")
        .or_else(|| config::home_folder().map(|home| home.join(".config")))
}

pub(super) fn run(args: &ConnectArgs) -> Result<(), CliError> {
    let world = args.world;
    if world.is_http_only {
        let error = format!(
            "a client cannot start the {} world, which is served over HTTP.",
            world.name
        );
        return Err(
            CliError::usage(error).next("give the client the URL of the server and a token")
        );
    }
    let profile = profile(args.client);
    let root = root(args)?;
    let mut entry = ServerEntry::new(&args.name, world.name, &root)?;
    if let Some(setting) = world.error_setting.filter(|_| profile.hides_errors) {
        entry = entry.with_variable(config::variable_name(setting), "result");
    }
    let file = args.file.clone().or_else(|| profile.file.clone());
    if !args.write {
        let place = file.map_or_else(
            || "its settings file".to_owned(),
            |file| file.display().to_string(),
        );
        let text = profile.shape.insert("", &entry).map_err(CliError::failed)?;
        let hint = StyledText(
            HEADING,
            format!(
                "{}: put this into {place}, or run again with --write",
                profile.name
            ),
        );
        anstream::eprintln!("{hint}");
        return print(text);
    }
    let file = file.ok_or_else(|| {
        CliError::failed("the home folder is unknown, so the client's file is too.")
            .next("name it with --file FILE")
    })?;
    write(&profile, &file, &entry)
}

/// Returns the folder to serve: exactly the one that was named, or else the root of the current one. A library or a folder
/// of documentation is not a root of notes.
fn root(args: &ConnectArgs) -> Result<PathBuf, CliError> {
    match (&args.root, args.world.path) {
        (Some(root), _) => Ok(root.clone()),
        (None, PathArgument::NearestRoot(..)) => {
            let found = root_to_serve("give the folder of your notes with --root DIR")?;
            if shown(&found.folder) != "." {
                tell(format_args!(
                    "The folder to serve is {}.\n",
                    described(&found)
                ));
            }
            Ok(found.folder)
        }
        (None, _) => Ok(PathBuf::from(".")),
    }
}

fn write(profile: &Profile, file: &Path, entry: &ServerEntry) -> Result<(), CliError> {
    let before = files::read_text(file)
        .map_err(|error| {
            CliError::failed(format_args!(
                "the client's file cannot be read ({}).",
                error.kind()
            ))
        })?
        .unwrap_or_default();
    let after = profile.shape.insert(&before, entry).map_err(|what| {
        CliError::failed(format_args!(
            "{}: {what}; nothing was changed.",
            file.display()
        ))
        .next("fix the file, or add the entry by hand: run again without --write")
    })?;
    if before == after {
        return print(format_args!(
            "{} is connected already; nothing was changed.\n",
            profile.name
        ));
    }
    print(diff(&before, &after, &file.display().to_string()))?;
    files::replace(file, &after).map_err(|error| {
        CliError::failed(format_args!(
            "the client's file cannot be written ({}).",
            error.kind()
        ))
    })?;
    print(format_args!(
        "{} {}. {}\n",
        StyledText(GOOD, "Connected"),
        profile.name,
        profile.after
    ))
}

fn diff(before: &str, after: &str, name: &str) -> String {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let options = DiffOptions {
        old_name: name,
        new_name: name,
        context: 3,
        max_bytes: usize::MAX,
    };
    let diff = unified_diff(before, &line_changes(before, after), options);
    diff.text
        .lines()
        .map(|line| match line.chars().next() {
            Some('+') => format!("{}\n", StyledText(GOOD, line)),
            Some('-') => format!("{}\n", StyledText(BAD, line)),
            _ => format!("{line}\n"),
        })
        .collect()
}

/// The state of a client's entry for this program.
pub(super) enum RegistrationState {
    Connected,
    NotConnected,
    Broken(String),
}

pub(super) fn name(client: ClientName) -> &'static str {
    profile(client).name
}

pub(super) fn state(client: ClientName) -> RegistrationState {
    let profile = profile(client);
    let Some(file) = profile.file else {
        return RegistrationState::NotConnected;
    };
    match files::read_text(&file) {
        Ok(Some(text)) => match profile.shape.mentions_sectile(&text) {
            Ok(true) => RegistrationState::Connected,
            Ok(false) => RegistrationState::NotConnected,
            Err(what) => RegistrationState::Broken(what),
        },
        Ok(None) => RegistrationState::NotConnected,
        Err(error) => {
            RegistrationState::Broken(format!("its file cannot be read ({})", error.kind()))
        }
    }
}
