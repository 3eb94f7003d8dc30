//! A server entry: what it points to, what it is called, and its fields in the words of each client.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use sectile_markdown::Digest;

use super::clients::{ClientFormat, ClientRow, VariableForm};
use crate::{cli::ui::CliError, config, files, worlds::DEFAULT_WORLD};

/// The longest part of a name that comes from a folder or host. Clients put the name of a server before the name of each
/// tool, and some allow 64 characters for both.
const MAX_NAME_CHARS: usize = 24;

/// The fewest digits that tell servers with the same name apart.
const LEAST_DIGITS: usize = 4;

/// The seconds that Goose waits for an answer; its own default.
const GOOSE_TIMEOUT: u32 = 300;

/// An entry of this program in a client's file.
#[derive(Clone, Debug)]
pub(super) struct ServerEntry {
    pub(super) name: String,
    pub(super) connection: ServerConnection,
}

/// The way in which a client reaches a server.
#[derive(Clone, Debug)]
pub(super) enum ServerConnection {
    /// The client starts this program.
    Command {
        command: String,
        arguments: Vec<String>,
        variables: Vec<(String, &'static str)>,
    },
    /// The server runs elsewhere.
    Remote { url: String, key: Option<RemoteKey> },
}

/// The key for a remote server.
#[derive(Clone, Debug)]
pub(super) enum RemoteKey {
    /// The client reads it from this environment variable.
    Variable(String),
    /// The client's file holds it.
    Text(String),
}

/// The part of an entry that says which server it is. Two entries with the same target are the same server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryTarget {
    Command {
        program: String,
        arguments: Vec<String>,
    },
    Url(String),
    /// Something else, such as a server that the client brings along.
    Other,
}

/// A value in an entry.
#[derive(Clone, Debug)]
pub(super) enum FieldValue {
    Text(String),
    Bool(bool),
    Number(u32),
    List(Vec<String>),
    Map(Vec<(String, Self)>),
}

pub(super) type EntryFields = Vec<(String, FieldValue)>;

impl ServerConnection {
    /// Returns the command that serves `world` from the folder `root` with this program.
    pub(super) fn to_folder(world: &str, root: &Path) -> Result<Self, CliError> {
        let not_text =
            || CliError::failed("a path is not Unicode, so no client's file can hold it.");
        let command = program()?;
        sectile_vault::Root::open(root).map_err(|error| {
            CliError::failed(format_args!("the notes cannot be served: {error}."))
                .next("give the folder of your notes with --root DIR")
        })?;
        let root = files::absolute(root)?;
        Ok(Self::Command {
            command: command.to_str().ok_or_else(not_text)?.to_owned(),
            arguments: ["serve", world, root.to_str().ok_or_else(not_text)?]
                .map(str::to_owned)
                .to_vec(),
            variables: Vec::new(),
        })
    }

    /// Adds an environment variable to a command.
    pub(super) fn with_variable(mut self, name: String, value: &'static str) -> Self {
        if let Self::Command { variables, .. } = &mut self {
            variables.push((name, value));
        }
        self
    }

    pub(super) fn target(&self) -> EntryTarget {
        match self {
            Self::Command {
                command, arguments, ..
            } => EntryTarget::Command {
                program: command.clone(),
                arguments: arguments.clone(),
            },
            Self::Remote { url, .. } => EntryTarget::Url(url.clone()),
        }
    }

    /// Returns whether the program is in a folder where `npx` or `uvx` keep what they have downloaded.
    pub(super) fn is_in_cache(&self) -> bool {
        const CACHES: [&str; 2] = ["_npx", "archive-v0"];
        match self {
            Self::Command { command, .. } => {
                let mut parts = Path::new(command).components();
                parts.any(|part| CACHES.iter().any(|cache| part.as_os_str() == *cache))
            }
            Self::Remote { .. } => false,
        }
    }

    /// Returns the secret that the client's file will hold, if it will hold one.
    pub(super) fn secret(&self) -> Option<&str> {
        match self {
            Self::Remote {
                key: Some(RemoteKey::Text(key)),
                ..
            } => Some(key),
            _ => None,
        }
    }

    /// Returns the name for this server in a file with these entries. The same server keeps the name that it has; one whose
    /// name is taken by another server gets digits of its own.
    pub(super) fn name_among(&self, entries: &[(String, EntryTarget)]) -> String {
        let target = self.target();
        if let Some((name, _)) = entries.iter().find(|(_, other)| other.is_same_as(&target)) {
            return name.clone();
        }
        let name = self.plain_name();
        let is_free = |name: &String| entries.iter().all(|(taken, _)| taken != name);
        let digits = self.digits();
        let others =
            (LEAST_DIGITS..digits.len()).map(|count| format!("{name}-{}", &digits[..count]));
        let mut names = std::iter::once(name.clone()).chain(others);
        names
            .find(is_free)
            .unwrap_or_else(|| format!("{name}-{digits}"))
    }

    fn plain_name(&self) -> String {
        let (given, world) = match self {
            Self::Command { arguments, .. } => {
                let root = arguments.last().map(PathBuf::from).unwrap_or_default();
                let folder = root.file_name().map(|name| name.to_string_lossy());
                let world = arguments.get(1).filter(|world| *world != "desk");
                (folder.unwrap_or_default().into_owned(), world)
            }
            Self::Remote { url, .. } => {
                let uri: Option<http::Uri> = url.parse().ok();
                let host = uri.as_ref().and_then(http::Uri::host);
                (host.unwrap_or_default().to_owned(), None)
            }
        };
        let mut name = simple_name(&given);
        if name.is_empty() {
            name = self.digits();
            name.truncate(LEAST_DIGITS);
        }
        match world {
            Some(world) => format!("sectile-{name}-{world}"),
            None => format!("sectile-{name}"),
        }
    }

    /// Returns hexadecimal digits that depend on nothing but the target.
    fn digits(&self) -> String {
        let target = match self {
            Self::Command { arguments, .. } => arguments.join("\n"),
            Self::Remote { url, .. } => url.clone(),
        };
        Digest::of(target.as_bytes()).to_string()
    }
}

/// Returns lower-case ASCII letters, digits and single hyphens, which every client accepts in a name.
fn simple_name(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(MAX_NAME_CHARS);
    name.trim_end_matches('-').to_owned()
}

impl EntryTarget {
    /// Returns whether both are the same server. The program itself may have moved.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let has_same_arguments = || self.served().is_some_and(|all| other.served() == Some(all));
        (self == other && *self != Self::Other) || has_same_arguments()
    }

    /// Returns whether this is a server for a folder, in any world or in the one that is given.
    pub(super) fn serves(&self, root: &str, world: Option<&str>) -> bool {
        let (served_world, folder) = match self.served() {
            Some([folder]) => (DEFAULT_WORLD.name, folder),
            Some([world, folder, ..]) => (world.as_str(), folder),
            Some([]) | None => return false,
        };
        folder == root && world.is_none_or(|world| world == served_world)
    }

    /// Returns whether the entry starts a server of this program.
    pub(super) fn runs_sectile(&self) -> bool {
        self.served().is_some()
    }

    /// Returns the arguments after `serve`, if the entry starts this program, itself or through a launcher such as `npx`.
    fn served(&self) -> Option<&[String]> {
        let Self::Command { program, arguments } = self else {
            return None;
        };
        let position = arguments.iter().position(|argument| argument == "serve")?;
        let name = match position {
            0 => program,
            after => &arguments[after - 1],
        };
        is_sectile(name).then(|| &arguments[position + 1..])
    }

    /// Returns the path of the program, if the entry gives one, and not a name that the client looks up.
    pub(super) fn program_path(&self) -> Option<&Path> {
        match self {
            Self::Command { program, .. } => {
                Some(Path::new(program)).filter(|path| path.is_absolute())
            }
            Self::Url(_) | Self::Other => None,
        }
    }
}

impl fmt::Display for EntryTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, arguments } => {
                f.write_str(program)?;
                arguments
                    .iter()
                    .try_for_each(|argument| write!(f, " {argument}"))
            }
            Self::Url(url) => f.write_str(url),
            Self::Other => f.write_str("something else"),
        }
    }
}

/// Returns whether a program or a package is this one: `/opt/sectile-0.1/sectile`, `sectile.exe`, `sectile@0.1.0`.
fn is_sectile(program: &str) -> bool {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = file.split('@').next().unwrap_or(file);
    let rest = name.strip_prefix("sectile");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
}

/// Returns the path to start this program with. A package manager keeps each version in a folder of its own and a link to it
/// on `PATH`: the link still works after an update.
fn program() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let (Some(name), Ok(here)) = (program.file_name(), files::absolute(&program)) else {
        return Ok(program);
    };
    let folders = config::os_variable("PATH").unwrap_or_default();
    let links = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
    let mut links = links.map(|folder| folder.join(name));
    let link = links.find(|link| files::absolute(link).is_ok_and(|path| path == here));
    Ok(link.unwrap_or(program))
}

impl ServerEntry {
    /// Returns the fields of the entry in the words of a client.
    pub(super) fn fields(&self, client: &ClientRow) -> Result<EntryFields, CliError> {
        let mut fields = EntryFields::new();
        let text = |text: &str| FieldValue::Text(text.to_owned());
        let is_goose = client.format == ClientFormat::Goose;
        if is_goose || client.format == ClientFormat::Continue {
            fields.push(("name".to_owned(), text(&self.name)));
        }
        if is_goose {
            // Goose skips an entry of a remote server that has no description.
            fields.push(("description".to_owned(), text("Sectile")));
            fields.push(("enabled".to_owned(), FieldValue::Bool(true)));
            fields.push(("timeout".to_owned(), FieldValue::Number(GOOSE_TIMEOUT)));
        }
        match &self.connection {
            ServerConnection::Command {
                command,
                arguments,
                variables,
            } => {
                if let Some(kind) = client.command_type {
                    fields.push(("type".to_owned(), text(kind)));
                }
                let (command_key, variables_key) = match is_goose {
                    true => ("cmd", "envs"),
                    false => ("command", "env"),
                };
                fields.push((command_key.to_owned(), text(command)));
                fields.push(("args".to_owned(), FieldValue::List(arguments.clone())));
                if !variables.is_empty() {
                    let variables = variables
                        .iter()
                        .map(|(name, value)| (name.clone(), text(value)))
                        .collect();
                    fields.push((variables_key.to_owned(), FieldValue::Map(variables)));
                }
            }
            ServerConnection::Remote { url, key } => {
                let Some(form) = client.remote else {
                    return Err(CliError::usage(format_args!(
                        "the file of {} can only hold commands, not the URL of a server.",
                        client.name
                    ))
                    .next(format_args!("see {}", client.source)));
                };
                if let Some(kind) = form.remote_type {
                    fields.push(("type".to_owned(), text(kind)));
                }
                fields.push((form.url_key.to_owned(), text(url)));
                if let Some(key) = key {
                    fields.extend(key_fields(client, form.variable, key)?);
                }
            }
        }
        Ok(fields)
    }
}

/// Returns the fields that hold the key, or refer to it.
fn key_fields(
    client: &ClientRow,
    form: VariableForm,
    key: &RemoteKey,
) -> Result<EntryFields, CliError> {
    let mut fields = EntryFields::new();
    let value = match (key, form) {
        (RemoteKey::Text(key), _) => key.clone(),
        (RemoteKey::Variable(name), VariableForm::Braces) => format!("${{{name}}}"),
        (RemoteKey::Variable(name), VariableForm::ListedBraces(list)) => {
            fields.push((list.to_owned(), FieldValue::List(vec![name.clone()])));
            format!("${{{name}}}")
        }
        (RemoteKey::Variable(name), VariableForm::EnvBraces) => format!("${{env:{name}}}"),
        (RemoteKey::Variable(name), VariableForm::Secret) => format!("${{{{ secrets.{name} }}}}"),
        (RemoteKey::Variable(name), VariableForm::Field(field)) => {
            fields.push((field.to_owned(), FieldValue::Text(name.clone())));
            return Ok(fields);
        }
        (RemoteKey::Variable(_), VariableForm::Unsupported) => {
            return Err(CliError::usage(format_args!(
                "{} is not known to read environment variables in headers.",
                client.name
            ))
            .next("give the file that holds the key with --key-file FILE"));
        }
    };
    let header = (
        "Authorization".to_owned(),
        FieldValue::Text(format!("Bearer {value}")),
    );
    let headers = FieldValue::Map(vec![header]);
    fields.push(match client.format {
        ClientFormat::Toml(_) => ("http_headers".to_owned(), headers),
        ClientFormat::Continue => (
            "requestOptions".to_owned(),
            FieldValue::Map(vec![("headers".to_owned(), headers)]),
        ),
        ClientFormat::Json(_) | ClientFormat::Goose => ("headers".to_owned(), headers),
    });
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(world: &str, root: &str) -> ServerConnection {
        ServerConnection::Command {
            command: "/opt/sectile".to_owned(),
            arguments: ["serve", world, root].map(str::to_owned).to_vec(),
            variables: Vec::new(),
        }
    }

    fn remote(url: &str) -> ServerConnection {
        ServerConnection::Remote {
            url: url.to_owned(),
            key: None,
        }
    }

    #[test]
    fn names_come_from_the_folder_or_the_host() {
        for (connection, name) in [
            (serving("desk", "/srv/ann/notes"), "sectile-notes"),
            (serving("editor", "/srv/ann/notes"), "sectile-notes-editor"),
            (
                serving("desk", "/My  Notes (2026)"),
                "sectile-my-notes-2026",
            ),
            (
                remote("https://notes.example.com:8443/mcp"),
                "sectile-notes-example-com",
            ),
        ] {
            assert_eq!(connection.name_among(&[]), name);
        }
        let unnamed = serving("desk", "/日記");
        let name = unnamed.name_among(&[]);
        assert_eq!(name, unnamed.name_among(&[]));
        assert_eq!(name.len(), "sectile-".len() + 4, "{name}");
    }

    #[test]
    fn another_root_with_the_same_name_gets_digits_and_the_same_root_keeps_its_name() {
        let (first, second) = (serving("desk", "/a/notes"), serving("desk", "/b/notes"));
        let mut entries = vec![(first.name_among(&[]), first.target())];
        let name = second.name_among(&entries);
        assert!(name.starts_with("sectile-notes-"), "{name}");
        entries.push((name.clone(), second.target()));
        assert_eq!(second.name_among(&entries), name);
        assert_eq!(first.name_among(&entries), "sectile-notes");
        let older = [("sectile".to_owned(), first.target())];
        assert_eq!(first.name_among(&older), "sectile");
    }

    #[test]
    fn a_name_that_is_taken_is_never_given_to_another_server() {
        let server = serving("desk", "/a/notes");
        let mut entries = vec![("sectile-notes".to_owned(), EntryTarget::Other)];
        for _ in 0..3 {
            let name = server.name_among(&entries);
            assert!(entries.iter().all(|(taken, _)| *taken != name), "{name}");
            entries.push((name, EntryTarget::Other));
        }
    }

    #[test]
    fn this_program_is_known_by_its_name_and_others_are_not() {
        let command = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            EntryTarget::Command {
                program: words.next().unwrap(),
                arguments: words.collect(),
            }
        };
        let ours = serving("desk", "/n").target();
        for line in [
            "/usr/bin/sectile serve desk /n",
            "C:\\Programs\\sectile.exe serve desk /n",
            "/opt/sectile-0.1/sectile-musl serve desk /n",
            "npx -y sectile@0.1.0 serve desk /n",
            "uvx sectile serve desk /n",
        ] {
            let target = command(line);
            assert!(
                target.is_same_as(&ours) && ours.is_same_as(&target),
                "{line}"
            );
            assert!(target.serves("/n", Some("desk")), "{line}");
            assert!(!target.serves("/n", Some("editor")), "{line}");
        }
        assert!(command("sectile serve /n").serves("/n", Some("desk")));
        for line in [
            "/opt/sectile/other serve desk /n",
            "sectiles serve desk /n",
            "/usr/bin/sectile search x",
            "serve desk /n",
        ] {
            let target = command(line);
            assert!(
                !target.runs_sectile() && !target.is_same_as(&ours),
                "{line}"
            );
        }
    }
}
