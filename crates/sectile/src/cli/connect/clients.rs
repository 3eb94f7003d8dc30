//! The clients that can be connected, one row each. The arguments, the messages and `sectile doctor` follow from this table.

use std::path::PathBuf;

use crate::config;

/// One client: where its file is, what an entry in it looks like, and who says so.
#[derive(Debug)]
pub(in crate::cli) struct ClientRow {
    /// The name on the command line.
    pub(in crate::cli) id: &'static str,
    pub(in crate::cli) name: &'static str,
    /// The files, for the help text.
    pub(in crate::cli) about: &'static str,
    /// The page of the client's maker that describes the format.
    pub(super) source: &'static str,
    pub(super) format: ClientFormat,
    /// The file in the current folder.
    project_file: Option<&'static str>,
    user_file: Option<UserFile>,
    /// Which of the two files is meant if none is named.
    usual_scope: ClientScope,
    /// The type that the entry of a command declares, where entries have one.
    pub(super) command_type: Option<&'static str>,
    /// The form of a remote server; `None` if the file can only hold commands.
    pub(super) remote: Option<RemoteForm>,
    /// The step that makes the client notice the change.
    pub(super) after: &'static str,
    /// Whether its model sees nothing of a JSON-RPC error, or only the message. Assumed where nobody has looked, because
    /// errors as results are understood by all.
    pub(super) hides_errors: bool,
}

/// The format in which a client lists its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientFormat {
    /// A JSON object of servers under this key; comments are allowed.
    Json(&'static str),
    /// A TOML table of servers under this key.
    Toml(&'static str),
    /// A YAML mapping `extensions`, with Goose's names of the fields.
    Goose,
    /// A folder with a YAML file for each server.
    Continue,
}

/// The files of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum ClientScope {
    /// The file in the current folder, which may be shared with others.
    Project,
    /// The user's own file.
    User,
}

#[derive(Clone, Copy, Debug)]
enum UserFile {
    /// Below the home folder.
    Home(&'static str),
    /// In the folder that a variable of the client names, or else at its usual place below the home folder.
    Moved {
        variable: &'static str,
        name: &'static str,
        usual: &'static str,
    },
    /// Below the folder where desktop programs of this system keep their settings.
    Desktop(&'static str),
    /// Below the folder for settings of the XDG specification, or `%APPDATA%`.
    Settings(&'static str),
}

/// The form of a remote server.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemoteForm {
    pub(super) remote_type: Option<&'static str>,
    pub(super) url_key: &'static str,
    pub(super) variable: VariableForm,
}

/// The way in which a header refers to an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableForm {
    /// `${NAME}`.
    Braces,
    /// `${NAME}`, and the name in a list under this key.
    ListedBraces(&'static str),
    /// `${env:NAME}`.
    EnvBraces,
    /// `${{ secrets.NAME }}`.
    Secret,
    /// A field with the name of the variable.
    Field(&'static str),
    /// Not at all.
    Unsupported,
}

const fn remote(
    remote_type: Option<&'static str>,
    url_key: &'static str,
    variable: VariableForm,
) -> Option<RemoteForm> {
    Some(RemoteForm {
        remote_type,
        url_key,
        variable,
    })
}

/// Every client that can be connected.
pub(in crate::cli) static CLIENTS: &[&ClientRow] = &[
    &ClientRow {
        id: "claude-code",
        name: "Claude Code",
        about: ".mcp.json in the current folder, or ~/.claude.json",
        source: "https://code.claude.com/docs/en/mcp",
        format: ClientFormat::Json("mcpServers"),
        project_file: Some(".mcp.json"),
        user_file: Some(UserFile::Moved {
            variable: "CLAUDE_CONFIG_DIR",
            name: ".claude.json",
            usual: ".claude.json",
        }),
        usual_scope: ClientScope::Project,
        command_type: Some("stdio"),
        remote: remote(Some("http"), "url", VariableForm::Braces),
        after: "Start Claude Code again, and approve the server if it asks.",
        hides_errors: true,
    },
    &ClientRow {
        id: "claude-desktop",
        name: "Claude Desktop",
        about: "claude_desktop_config.json",
        source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        format: ClientFormat::Json("mcpServers"),
        project_file: None,
        user_file: Some(UserFile::Desktop("Claude/claude_desktop_config.json")),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: None,
        after: "Quit Claude Desktop completely and start it again.",
        hides_errors: true,
    },
    &ClientRow {
        id: "cursor",
        name: "Cursor",
        about: "~/.cursor/mcp.json, or .cursor/mcp.json in the current folder",
        source: "https://cursor.com/docs/mcp",
        format: ClientFormat::Json("mcpServers"),
        project_file: Some(".cursor/mcp.json"),
        user_file: Some(UserFile::Home(".cursor/mcp.json")),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: remote(None, "url", VariableForm::EnvBraces),
        after: "Switch the server on in Cursor's settings under MCP.",
        hides_errors: true,
    },
    &ClientRow {
        id: "vscode",
        name: "VS Code",
        about: ".vscode/mcp.json in the current folder, or the user's mcp.json",
        source: "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
        format: ClientFormat::Json("servers"),
        project_file: Some(".vscode/mcp.json"),
        user_file: Some(UserFile::Desktop("Code/User/mcp.json")),
        usual_scope: ClientScope::Project,
        command_type: Some("stdio"),
        remote: remote(Some("http"), "url", VariableForm::EnvBraces),
        after: "Open the file in VS Code and choose Start above the entry.",
        hides_errors: true,
    },
    &ClientRow {
        id: "zed",
        name: "Zed",
        about: "Zed's settings.json",
        source: "https://zed.dev/docs/ai/mcp",
        format: ClientFormat::Json("context_servers"),
        project_file: None,
        // Zed ignores `XDG_CONFIG_HOME` on macOS: crates/paths/src/paths.rs of zed-industries/zed.
        user_file: Some(if cfg!(target_os = "macos") {
            UserFile::Home(".config/zed/settings.json")
        } else {
            UserFile::Settings("zed/settings.json")
        }),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: remote(None, "url", VariableForm::Unsupported),
        after: "Zed picks up the change by itself.",
        hides_errors: true,
    },
    &ClientRow {
        id: "codex",
        name: "Codex",
        about: "~/.codex/config.toml, or .codex/config.toml in the current folder",
        source: "https://developers.openai.com/codex/mcp",
        format: ClientFormat::Toml("mcp_servers"),
        project_file: Some(".codex/config.toml"),
        user_file: Some(UserFile::Moved {
            variable: "CODEX_HOME",
            name: "config.toml",
            usual: ".codex/config.toml",
        }),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: remote(None, "url", VariableForm::Field("bearer_token_env_var")),
        after: "Restart Codex.",
        hides_errors: false,
    },
    &ClientRow {
        id: "gemini",
        name: "Gemini CLI",
        about: "~/.gemini/settings.json, or .gemini/settings.json in the current folder",
        source: "https://geminicli.com/docs/tools/mcp-server",
        format: ClientFormat::Json("mcpServers"),
        project_file: Some(".gemini/settings.json"),
        user_file: Some(UserFile::Home(".gemini/settings.json")),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: remote(None, "httpUrl", VariableForm::Braces),
        after: "Start Gemini CLI again; /mcp lists its servers.",
        hides_errors: true,
    },
    &ClientRow {
        id: "windsurf",
        name: "Windsurf",
        about: "~/.codeium/windsurf/mcp_config.json",
        source: "https://docs.windsurf.com/windsurf/cascade/mcp",
        format: ClientFormat::Json("mcpServers"),
        project_file: None,
        user_file: Some(UserFile::Home(".codeium/windsurf/mcp_config.json")),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: remote(None, "serverUrl", VariableForm::EnvBraces),
        after: "Refresh the list of MCP servers in Cascade.",
        hides_errors: true,
    },
    &ClientRow {
        id: "jetbrains",
        name: "JetBrains Junie",
        about: "~/.junie/mcp/mcp.json, or .junie/mcp/mcp.json in the current folder",
        // Says that only commands are supported.
        source: "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
        format: ClientFormat::Json("mcpServers"),
        project_file: Some(".junie/mcp/mcp.json"),
        user_file: Some(UserFile::Home(".junie/mcp/mcp.json")),
        usual_scope: ClientScope::User,
        command_type: None,
        remote: None,
        after: "Switch the server on in the settings of the IDE under Junie, MCP Settings.",
        hides_errors: true,
    },
    &ClientRow {
        id: "goose",
        name: "Goose",
        about: "Goose's config.yaml",
        source: "https://block.github.io/goose/docs/guides/config-files",
        format: ClientFormat::Goose,
        project_file: None,
        user_file: Some(UserFile::Settings(if cfg!(windows) {
            "Block/goose/config/config.yaml"
        } else {
            "goose/config.yaml"
        })),
        usual_scope: ClientScope::User,
        command_type: Some("stdio"),
        // For headers and variables: `substitute_env_vars` in crates/goose/src/agents/extension_manager.rs of block/goose.
        remote: remote(
            Some("streamable_http"),
            "uri",
            VariableForm::ListedBraces("env_keys"),
        ),
        after: "Start a new session of Goose.",
        hides_errors: true,
    },
    &ClientRow {
        id: "continue",
        name: "Continue",
        about: "a file for each server in .continue/mcpServers of the current folder, or of the home folder",
        // For the home folder: `includeGlobal` in core/config/yaml/loadYaml.ts of continuedev/continue.
        source: "https://docs.continue.dev/customize/deep-dives/mcp",
        format: ClientFormat::Continue,
        project_file: Some(".continue/mcpServers"),
        user_file: Some(UserFile::Home(".continue/mcpServers")),
        usual_scope: ClientScope::Project,
        command_type: Some("stdio"),
        remote: remote(Some("streamable-http"), "url", VariableForm::Secret),
        after: "Continue picks up the file by itself; its tools work in agent mode.",
        hides_errors: true,
    },
];

impl ClientRow {
    /// Returns the scope that is meant without a word about it.
    pub(super) fn usual_scope(&self) -> ClientScope {
        self.usual_scope
    }

    /// Returns whether the client has a file of this scope.
    pub(super) fn has(&self, scope: ClientScope) -> bool {
        match scope {
            ClientScope::Project => self.project_file.is_some(),
            ClientScope::User => self.user_file.is_some(),
        }
    }

    /// Returns the path of the client's file, or folder; `None` if it has none of this scope, or the home folder is unknown.
    pub(super) fn location(&self, scope: ClientScope) -> Option<PathBuf> {
        match scope {
            ClientScope::Project => self.project_file.map(PathBuf::from),
            ClientScope::User => match self.user_file? {
                UserFile::Home(below) => config::home_folder().map(|home| home.join(below)),
                UserFile::Moved {
                    variable,
                    name,
                    usual,
                } => match config::os_variable(variable) {
                    Some(folder) => Some(folder.join(name)),
                    None => config::home_folder().map(|home| home.join(usual)),
                },
                UserFile::Desktop(below) => desktop_folder().map(|folder| folder.join(below)),
                UserFile::Settings(below) => settings_folder().map(|folder| folder.join(below)),
            },
        }
    }
}

/// Returns the folder where desktop programs of this system keep their settings.
fn desktop_folder() -> Option<PathBuf> {
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

impl clap::ValueEnum for &'static ClientRow {
    fn value_variants<'a>() -> &'a [Self] {
        CLIENTS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(
            clap::builder::PossibleValue::new(self.id)
                .help(format!("{}: {}", self.name, self.about)),
        )
    }
}
