//! A server entry, and its insertion into a JSON or TOML file without touching the rest.

use std::path::Path;

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstRootNode},
};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use crate::{cli::ui::CliError, files};

/// The format in which a client lists its servers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// An object of servers under `key`; `typed` entries declare that they are stdio servers.
    Json { key: &'static str, typed: bool },
    /// A table of servers under `key`.
    Toml { key: &'static str },
}

/// The command that a client must run.
#[derive(Clone, Debug)]
pub(super) struct ServerEntry {
    name: String,
    command: String,
    arguments: Vec<String>,
    /// Environment variables.
    variables: Vec<(String, &'static str)>,
}

impl ServerEntry {
    /// Returns an entry that serves `world` from the folder `root` with this program.
    pub(super) fn new(name: &str, world: &str, root: &Path) -> Result<Self, CliError> {
        let not_text =
            || CliError::failed("a path is not Unicode, so no client's file can hold it.");
        let command = std::env::current_exe()?;
        sectile_vault::Root::open(root).map_err(|error| {
            CliError::failed(format_args!("the notes cannot be served: {error}."))
                .next("give the folder of your notes with --root DIR")
        })?;
        let root = files::absolute(root)?;
        Ok(Self {
            name: name.to_owned(),
            command: command.to_str().ok_or_else(not_text)?.to_owned(),
            arguments: ["serve", world, root.to_str().ok_or_else(not_text)?]
                .map(str::to_owned)
                .to_vec(),
            variables: Vec::new(),
        })
    }

    /// Adds an environment variable.
    pub(super) fn with_variable(mut self, name: String, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }
}

impl Shape {
    /// Returns `text` with the entry added, or replacing one with the same name.
    pub(super) fn insert(self, text: &str, entry: &ServerEntry) -> Result<String, String> {
        match self {
            Self::Json { key, typed } => insert_json(text, key, typed, entry),
            Self::Toml { key } => insert_toml(text, key, entry),
        }
    }

    /// Returns whether a server in `text` is called sectile or runs a program of that name.
    pub(super) fn mentions_sectile(self, text: &str) -> Result<bool, String> {
        match self {
            Self::Json { key, .. } => {
                let root = parse_json(text)?;
                let servers = root
                    .object_value()
                    .and_then(|object| object.object_value(key));
                Ok(servers.is_some_and(|servers| servers.to_string().contains("sectile")))
            }
            Self::Toml { key } => {
                let document = parse_toml(text)?;
                let servers = document.get(key).and_then(Item::as_table_like);
                let is_ours = |(name, server): (&str, &Item)| {
                    let command = server.get("command").and_then(Item::as_str);
                    name == "sectile" || command.is_some_and(|command| command.contains("sectile"))
                };
                Ok(servers.is_some_and(|servers| servers.iter().any(is_ours)))
            }
        }
    }
}

fn parse_json(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|_| "the file is not valid JSON".to_owned())
}

fn parse_toml(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|_| "the file is not valid TOML".to_owned())
}

fn insert_json(text: &str, key: &str, typed: bool, entry: &ServerEntry) -> Result<String, String> {
    let root = parse_json(if text.trim().is_empty() { "{}\n" } else { text })?;
    let not_an_object = || "the entry for servers in the file is not an object".to_owned();
    let object = root.object_value_or_create().ok_or_else(not_an_object)?;
    let servers = object
        .object_value_or_create(key)
        .ok_or_else(not_an_object)?;
    let mut fields = Vec::new();
    if typed {
        fields.push(("type".to_owned(), CstInputValue::from("stdio")));
    }
    let arguments = entry
        .arguments
        .iter()
        .map(|argument| CstInputValue::from(argument.as_str()))
        .collect();
    fields.push((
        "command".to_owned(),
        CstInputValue::from(entry.command.as_str()),
    ));
    fields.push(("args".to_owned(), CstInputValue::Array(arguments)));
    if !entry.variables.is_empty() {
        let variables = entry
            .variables
            .iter()
            .map(|(name, value)| (name.clone(), CstInputValue::from(*value)))
            .collect();
        fields.push(("env".to_owned(), CstInputValue::Object(variables)));
    }
    let new = CstInputValue::Object(fields);
    match servers.get(&entry.name) {
        Some(property) => property.set_value(new),
        None => {
            servers.append(&entry.name, new);
        }
    }
    Ok(root.to_string())
}

fn insert_toml(text: &str, key: &str, entry: &ServerEntry) -> Result<String, String> {
    let mut document = parse_toml(text)?;
    let servers = document.entry(key).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or("the entry for servers in the file is not a table")?;
    let mut server = Table::new();
    server.insert("command", value(&entry.command));
    server.insert(
        "args",
        value(
            entry
                .arguments
                .iter()
                .map(String::as_str)
                .collect::<Array>(),
        ),
    );
    if !entry.variables.is_empty() {
        let variables: InlineTable = entry
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        server.insert("env", value(variables));
    }
    servers.insert(&entry.name, Item::Table(server));
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Shape = Shape::Json {
        key: "mcpServers",
        typed: true,
    };
    const TOML: Shape = Shape::Toml { key: "mcp_servers" };

    fn entry() -> ServerEntry {
        ServerEntry {
            name: "sectile".to_owned(),
            command: "/opt/sectile".to_owned(),
            arguments: vec![
                "serve".to_owned(),
                "vault".to_owned(),
                "/n \"q\"".to_owned(),
            ],
            variables: Vec::new(),
        }
    }

    #[test]
    fn variables_of_the_environment_stand_in_the_entry() {
        let entry = entry().with_variable("SECTILE_A__B".to_owned(), "x");
        insta::assert_snapshot!(JSON.insert("", &entry).unwrap(), @r#"
        {
          "mcpServers": {
            "sectile": {
              "type": "stdio",
              "command": "/opt/sectile",
              "args": ["serve", "vault", "/n \"q\""],
              "env": {
                "SECTILE_A__B": "x"
              }
            }
          }
        }
        "#);
        insta::assert_snapshot!(TOML.insert("", &entry).unwrap(), @r#"
        [mcp_servers.sectile]
        command = "/opt/sectile"
        args = ["serve", "vault", '/n "q"']
        env = { SECTILE_A__B = "x" }
        "#);
        for (shape, text) in [(JSON, "{}"), (TOML, "")] {
            let once = shape.insert(text, &entry).unwrap();
            assert_eq!(
                shape.insert(&once, &entry).unwrap(),
                once,
                "a second time changes nothing"
            );
        }
    }

    #[test]
    fn an_empty_file_becomes_a_whole_one() {
        insta::assert_snapshot!(JSON.insert("", &entry()).unwrap(), @r#"
        {
          "mcpServers": {
            "sectile": {
              "type": "stdio",
              "command": "/opt/sectile",
              "args": ["serve", "vault", "/n \"q\""]
            }
          }
        }
        "#);
        insta::assert_snapshot!(TOML.insert("", &entry()).unwrap(), @r#"
        [mcp_servers.sectile]
        command = "/opt/sectile"
        args = ["serve", "vault", '/n "q"']
        "#);
    }

    #[test]
    fn comments_and_other_servers_keep_their_bytes() {
        let before = "// mine\n{\n    \"theme\": \"x\", // dark\n    \"mcpServers\": {\n        \"other\": {\"command\": \"o\"},\n    },\n}\n";
        let after = JSON.insert(before, &entry()).unwrap();
        for kept in [
            "// mine\n",
            "\"theme\": \"x\", // dark\n",
            "\"other\": {\"command\": \"o\"}",
        ] {
            assert!(after.contains(kept), "{kept:?} is lost in {after}");
        }
        assert_eq!(
            JSON.insert(&after, &entry()).unwrap(),
            after,
            "a second time changes nothing"
        );
        let before = "# mine\nmodel = \"x\" # fast\n\n[mcp_servers.other]\ncommand = \"o\"\n";
        let after = TOML.insert(before, &entry()).unwrap();
        assert!(after.starts_with(before), "{after}");
        assert_eq!(
            TOML.insert(&after, &entry()).unwrap(),
            after,
            "a second time changes nothing"
        );
    }

    #[test]
    fn a_broken_file_is_left_alone() {
        assert_eq!(
            JSON.insert("{oops", &entry()).unwrap_err(),
            "the file is not valid JSON"
        );
        assert_eq!(
            JSON.insert("[1]", &entry()).unwrap_err(),
            "the entry for servers in the file is not an object"
        );
        assert_eq!(
            TOML.insert("a = ", &entry()).unwrap_err(),
            "the file is not valid TOML"
        );
        assert_eq!(
            TOML.insert("mcp_servers = 1\n", &entry()).unwrap_err(),
            "the entry for servers in the file is not a table"
        );
    }

    #[test]
    fn connected_servers_are_found() {
        assert_eq!(
            JSON.mentions_sectile(&JSON.insert("", &entry()).unwrap()),
            Ok(true)
        );
        assert_eq!(JSON.mentions_sectile("{\"sectile\": 1}"), Ok(false));
        assert_eq!(
            TOML.mentions_sectile(&TOML.insert("", &entry()).unwrap()),
            Ok(true)
        );
        assert_eq!(TOML.mentions_sectile("# sectile\n"), Ok(false));
    }
}
