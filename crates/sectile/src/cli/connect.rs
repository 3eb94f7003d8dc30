//! `sectile connect` and `sectile disconnect`: the entry that a client needs, printed, or put into the client's own file and
//! taken out again.
//!
//! Clients keep other things in these files, including comments, so edits use parsers that preserve every byte they are not
//! asked to change.

mod clients;
mod entry;
mod formats;
mod location;
mod remote;

use std::path::{Path, PathBuf};

use sectile_markdown::{DiffOptions, line_changes, unified_diff};

pub(super) use self::clients::{CLIENTS, ClientRow, ClientScope};
use self::{
    entry::{EntryTarget, RemoteKey, ServerConnection, ServerEntry},
    location::ClientLocation,
};
use super::{
    args::{ConnectArgs, DisconnectArgs},
    root::{described, root_to_serve, shown},
    settings,
    ui::{BAD, CliError, GOOD, HEADING, StyledText, print, tell},
};
use crate::{
    config, files,
    worlds::{DEFAULT_WORLD, PathArgument, WorldEntry},
};

/// The name that stands for a key wherever people may look.
const MASKED_KEY: &str = "<key>";

/// The longest line of a change that is shown whole. A file without line ends would fill the screen.
const MAX_SHOWN_CHARS: usize = 400;

pub(super) fn run(args: &ConnectArgs) -> Result<(), CliError> {
    settings::warn_about_variables();
    let client = args.client;
    let location = ClientLocation::of(client, args.scope, args.file.as_deref())?;
    let connection = connection(args)?;
    if connection.secret().is_some() && location.is_shared {
        return Err(CliError::usage(
            "the client's file in the current folder may be shared, so a key is not written into it.",
        )
        .next("name the environment variable that holds the key with --key-env VAR"));
    }
    let entries = match args.write {
        true => location.entries()?,
        // A file that cannot be read is a problem only for the one who changes it.
        false => location.entries().unwrap_or_default(),
    };
    let name = match &args.name {
        Some(name) => name.clone(),
        None => connection.name_among(&entries),
    };
    let entry = ServerEntry { name, connection };
    let target = entry.connection.target();
    let same_name = entries.into_iter().find(|(taken, _)| *taken == entry.name);
    let old = same_name.map(|(_, old)| old).filter(|old| *old != target);
    match args.write {
        true => write(client, &location, &entry, old.as_ref()),
        false => print_entry(client, &location, entry, old.as_ref()),
    }
}

/// Prints the entry, with a key masked. `old` is the entry that it would replace.
fn print_entry(
    client: &ClientRow,
    location: &ClientLocation,
    mut entry: ServerEntry,
    old: Option<&EntryTarget>,
) -> Result<(), CliError> {
    if let ServerConnection::Remote {
        key: Some(RemoteKey::Text(key)),
        ..
    } = &mut entry.connection
    {
        MASKED_KEY.clone_into(key);
    }
    let text = client
        .format
        .insert("", &entry.name, &entry.fields(client)?)
        .map_err(CliError::failed)?;
    if let Some(old) = old {
        tell(format_args!(
            "The entry `{}` in the client's file names something else: {old}\n",
            entry.name
        ));
    }
    let hint = format!(
        "{}: put this into {}, or run again with --write",
        client.name,
        location.shown(&entry.name)
    );
    tell(format_args!("{}\n", StyledText(HEADING, hint)));
    print(text)
}

/// Puts the entry into the client's file. `old` is the entry that it replaces.
fn write(
    client: &ClientRow,
    location: &ClientLocation,
    entry: &ServerEntry,
    old: Option<&EntryTarget>,
) -> Result<(), CliError> {
    let name = &entry.name;
    let is_ours =
        |old: &EntryTarget| old.runs_sectile() || old.is_same_as(&entry.connection.target());
    let file = location.file(name)?;
    if old.is_some_and(|old| !is_ours(old)) {
        return Err(CliError::failed(format_args!(
            "{} has another server of the name `{name}`; nothing was changed.",
            file.display()
        ))
        .next("give another name with --name NAME"));
    }
    let before = location::read(&file)?;
    let text = before.as_deref().unwrap_or_default();
    let after = client
        .format
        .insert(text, name, &entry.fields(client)?)
        .map_err(|what| location::refused(&file, &what))?;
    if before.as_deref() == Some(after.as_str()) {
        return print(format_args!(
            "{} is connected already, as `{name}`; nothing was changed.\n",
            client.name
        ));
    }
    print(diff(text, &after, &file))?;
    let backup = location::change(&file, before.as_deref(), Some(&after))?;
    print(format_args!(
        "{} {} to `{name}`. {}\n",
        StyledText(GOOD, "Connected"),
        client.name,
        client.after
    ))?;
    if let Some(old) = old {
        tell(format_args!(
            "The entry `{name}` replaces another one: {old}\n"
        ));
    }
    if entry.connection.is_in_cache() {
        tell(
            "The program is in a cache, as npx and uvx keep it. Install Sectile and connect again, because a cache may be emptied.\n",
        );
    }
    tell_backup(backup.as_deref());
    Ok(())
}

pub(super) fn disconnect(args: &DisconnectArgs) -> Result<(), CliError> {
    settings::warn_about_variables();
    let client = args.client;
    let location = ClientLocation::of(client, args.scope, args.file.as_deref())?;
    let entries = location.entries()?;
    let name = match wanted(args, &entries)? {
        Some(name) => name,
        None => {
            return print(format_args!(
                "{} has no such entry; nothing was changed.\n",
                client.name
            ));
        }
    };
    let file = location.file(&name)?;
    let before = location::read(&file)?.unwrap_or_default();
    let after = client
        .format
        .remove(&before, &name)
        .map_err(|what| location::refused(&file, &what))?;
    print(diff(&before, &after, &file))?;
    if !args.write {
        let hint = format!(
            "{}: nothing was changed yet; run again with --write",
            client.name
        );
        anstream::eprintln!("{}", StyledText(HEADING, hint));
        return Ok(());
    }
    // A file of our own is removed as a whole.
    let after = Some(after).filter(|_| client.format != clients::ClientFormat::Continue);
    let backup = location::change(&file, Some(&before), after.as_deref())?;
    print(format_args!(
        "{} `{name}` from {}. {}\n",
        StyledText(GOOD, "Disconnected"),
        client.name,
        client.after
    ))?;
    tell_backup(backup.as_deref());
    Ok(())
}

/// Returns the name of the one entry to remove; `None` if there is no such entry.
fn wanted(
    args: &DisconnectArgs,
    entries: &[(String, EntryTarget)],
) -> Result<Option<String>, CliError> {
    if let Some(wanted) = &args.name {
        return match entries.iter().find(|(name, _)| name == wanted) {
            Some((name, EntryTarget::Url(_))) => Ok(Some(name.clone())),
            Some((name, target)) if target.runs_sectile() => Ok(Some(name.clone())),
            Some(_) => Err(CliError::usage(
                "the entry with this name is not a server of Sectile; nothing was changed.",
            )),
            None => Ok(None),
        };
    }
    let matches: Vec<&str> = match &args.url {
        Some(url) => {
            let target = EntryTarget::Url(url.clone());
            let same = entries.iter().filter(|(_, other)| *other == target);
            same.map(|(name, _)| name.as_str()).collect()
        }
        None => {
            let root = match &args.root {
                Some(root) => root.clone(),
                None => root(None, args.world.unwrap_or(DEFAULT_WORLD))?,
            };
            // A folder that was removed can still be disconnected.
            let root = files::absolute(&root).or_else(|_| std::path::absolute(&root))?;
            let root = root.to_string_lossy();
            let world = args.world.map(|world| world.name);
            let same = entries
                .iter()
                .filter(|(_, target)| target.serves(&root, world));
            same.map(|(name, _)| name.as_str()).collect()
        }
    };
    match matches[..] {
        [] => Ok(None),
        [name] => Ok(Some(name.to_owned())),
        _ => Err(CliError::usage(format_args!(
            "several entries match: `{}`; nothing was changed.",
            matches.join("`, `")
        ))
        .next("name one of them with --name NAME")),
    }
}

/// Returns the server to enter: a command for a folder, or the URL of one that runs elsewhere.
fn connection(args: &ConnectArgs) -> Result<ServerConnection, CliError> {
    if let Some(url) = &args.url {
        return remote::connection(url, args.key_file.as_deref(), args.key_env.as_deref());
    }
    let world = args.world;
    if world.is_http_only {
        let error = format!(
            "a client cannot start the {} world, which is served over HTTP.",
            world.name
        );
        return Err(CliError::usage(error)
            .next("give the URL of the server with --url URL, and a key with --key-env VAR"));
    }
    let root = root(args.root.as_deref(), world)?;
    let connection = ServerConnection::to_folder(world.name, &root)?;
    Ok(
        match world.error_setting.filter(|_| args.client.hides_errors) {
            Some(setting) => connection.with_variable(config::variable_name(setting), "result"),
            None => connection,
        },
    )
}

/// Returns the folder to serve: exactly the one that was named, or else the root of the current one. A library or a folder
/// of documentation is not a root of notes.
fn root(named: Option<&Path>, world: &WorldEntry) -> Result<PathBuf, CliError> {
    match (named, world.path) {
        (Some(root), _) => Ok(root.to_path_buf()),
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

fn tell_backup(backup: Option<&Path>) {
    if let Some(backup) = backup {
        tell(format_args!(
            "The file as it was before is {}.\n",
            backup.display()
        ));
    }
}

fn diff(before: &str, after: &str, file: &Path) -> String {
    let name = file.display().to_string();
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let options = DiffOptions {
        old_name: &name,
        new_name: &name,
        // The lines around may hold the keys of other servers.
        context: 0,
        max_bytes: usize::MAX,
    };
    let diff = unified_diff(before, &line_changes(before, after), options);
    diff.text
        .lines()
        .map(remote::masked)
        .map(shortened)
        .map(|line| match line.chars().next() {
            Some('+') => format!("{}\n", StyledText(GOOD, line)),
            Some('-') => format!("{}\n", StyledText(BAD, line)),
            _ => format!("{line}\n"),
        })
        .collect()
}

fn shortened(mut line: String) -> String {
    if let Some((end, _)) = line.char_indices().nth(MAX_SHOWN_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// The state of a client's entries for this program.
pub(super) enum RegistrationState {
    /// The client has entries, some of which start another program, perhaps of another version.
    Connected(Vec<OtherProgram>),
    NotConnected,
    Broken(String),
}

/// An entry that starts a program that is not the running one.
pub(super) struct OtherProgram {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) is_missing: bool,
}

/// Looks for entries of this program in the client's files.
pub(super) fn state(client: &'static ClientRow) -> RegistrationState {
    let mut is_connected = false;
    let mut others = Vec::new();
    for scope in [ClientScope::Project, ClientScope::User] {
        if !client.has(scope) {
            continue;
        }
        let Ok(location) = ClientLocation::of(client, Some(scope), None) else {
            continue;
        };
        match location.entries() {
            Ok(entries) => {
                for (name, target) in entries {
                    let runs_sectile = target.runs_sectile();
                    is_connected |= name.starts_with("sectile") || runs_sectile;
                    others.extend(
                        target
                            .program_path()
                            .filter(|_| runs_sectile)
                            .and_then(|program| other_program(name, program)),
                    );
                }
            }
            Err(error) => {
                let what = location
                    .problem()
                    .unwrap_or_else(|| error.message().to_owned());
                return RegistrationState::Broken(what);
            }
        }
    }
    match is_connected {
        true => RegistrationState::Connected(others),
        false => RegistrationState::NotConnected,
    }
}

fn other_program(name: String, program: &Path) -> Option<OtherProgram> {
    let path = files::absolute(program);
    let here = std::env::current_exe().and_then(|here| files::absolute(&here));
    let is_this = matches!((&path, &here), (Ok(path), Ok(here)) if path == here);
    (!is_this).then(|| OtherProgram {
        name,
        path: program.to_path_buf(),
        is_missing: path.is_err(),
    })
}
