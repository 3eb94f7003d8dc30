//! `sectile doctor`: finds problems, in the order in which a user would hit them.

use std::path::Path;

use sectile_library::{
    LibraryError, StorageError,
    indexing::folder_of as folder_of_index,
    tiers::{Models, Tier},
};
use sectile_retrieval::{DocumentLocation, Embedder, Store, StoreError};
use sectile_vault::{Checkup, JournalKey, PathTarget as VaultPlace, Root, Walk};

use super::{
    args::DoctorArgs,
    config::editable,
    connect,
    root::{described, root_of},
    settings,
    ui::{CliError, bad, counted, found, good, note, visible},
};
use crate::{
    config::{self, Settings},
    files,
    worlds::{
        desk::open_store,
        docs::{
            DocsSettings,
            sources::{DocsSources, SourceOptions},
        },
        notebook::{NotebookSettings, OpenLibrary},
    },
};

/// The most files and folders inspected in one folder: a round number, so that the command also ends on a whole disk.
const MOST_LOOKED_AT: usize = 200_000;
/// The most paths listed for one kind of problem; the rest are counted.
const MOST_NAMED: usize = 10;

pub(super) fn run(args: &DoctorArgs) -> Result<(), CliError> {
    let mut problems = 0;
    note(&format!("sectile {}", env!("CARGO_PKG_VERSION")))?;
    let file = args.config.clone().or_else(config::named_config_file);
    let settings = match settings::read(file.as_deref(), &[]) {
        Ok((loaded, settings)) => {
            if let Some(warning) = loaded.warning() {
                note(&format!("settings: {warning}"))?;
            }
            good(if file.is_some() {
                "settings: the file is valid"
            } else {
                "settings: defaults, no file is named"
            })?;
            Some(settings)
        }
        Err(mistakes) => {
            for mistake in mistakes.texts() {
                problems += 1;
                bad(&format!("settings: {mistake}"))?;
            }
            None
        }
    };
    let named = args.root.clone().or_else(|| {
        settings
            .as_ref()
            .and_then(|settings| settings.worlds.vault.root.clone())
    });
    let edited = settings
        .as_ref()
        .and_then(|settings| settings.worlds.editor.root.clone());
    // If nothing names a folder, the one that commands use here.
    let here = match (&named, &edited) {
        (None, None) => root_of(Path::new("."))
            .ok()
            .filter(|root| root.mark.is_some()),
        _ => None,
    };
    if let Some(root) = &here {
        note(&format!("root: {}", described(root)))?;
    }
    let looked_at_as_vault = named.or_else(|| here.as_ref().map(|root| root.folder.clone()));
    match &looked_at_as_vault {
        Some(root) => problems += folder(root, settings.as_ref())?,
        None => note("vault: no folder is given; check one with --root DIR")?,
    }
    if let Some(docs) = settings.as_ref().map(|settings| &settings.worlds.docs) {
        problems += documents(docs)?;
    }
    if let Some(notebook) = settings.as_ref().map(|settings| &settings.worlds.notebook) {
        problems += library(notebook)?;
    }
    let key = match settings
        .as_ref()
        .map(|settings| settings.worlds.editor.journal_key(true))
    {
        Some(Ok(key)) => Some(key),
        Some(Err(error)) => {
            problems += 1;
            bad(&format!("editor: {}", error.message))?;
            None
        }
        None => None,
    };
    let journal = |root: &Path| match &key {
        Some(key) => journal(root, key.clone()),
        None => Ok(0),
    };
    let looked_at = args
        .root
        .as_ref()
        .or(here.as_ref().map(|root| &root.folder));
    match (looked_at, edited) {
        // The problem with this one has been reported already.
        (Some(root), _) if editable(root).is_err() => {}
        (Some(root), _) => problems += journal(root)?,
        (None, Some(root)) => match editable(&root) {
            Ok(()) => {
                problems += journal(&root)?;
                if looked_at_as_vault.as_ref() != Some(&root) {
                    histories(&root)?;
                }
            }
            Err(what) => {
                problems += 1;
                bad(&format!("editor: {what}; correct editor.root"))?;
            }
        },
        (None, None) => {}
    }
    if let Some(settings) = settings.as_ref().filter(|_| args.root.is_none()) {
        problems += desk(settings, &journal)?;
    }
    problems += clients()?;
    found(problems)
}

/// Checks the roots of the desk in the settings, and the history of each. Returns the number of problems.
fn desk(
    settings: &Settings,
    journal: &dyn Fn(&Path) -> Result<usize, CliError>,
) -> Result<usize, CliError> {
    let desk = &settings.worlds.desk;
    let alone = desk.root.iter().map(|root| ("desk.root".to_owned(), root));
    let named = desk.roots.iter().map(|root| {
        let setting = format!("desk.roots.{}", root.name);
        (setting, &root.location)
    });
    let mut problems = 0;
    if let Some(store) = &desk.store {
        let ready = open_store(store).map_err(|error| error.message);
        match ready.and_then(|store| store.ready().map_err(|error| error.to_string())) {
            Ok(()) => good("desk: the store of tenants can be used")?,
            Err(what) => {
                problems += 1;
                bad(&format!("desk: {what}"))?;
            }
        }
    }
    for (setting, location) in alone.chain(named) {
        match editable(location) {
            Ok(()) => {
                good(&format!("desk: {setting} can be read"))?;
                problems += journal(location)?;
                histories(location)?;
            }
            Err(what) => {
                problems += 1;
                bad(&format!("desk: {what}; correct {setting}"))?;
            }
        }
    }
    Ok(problems)
}

/// Checks the files of the clients. Returns the number of problems.
fn clients() -> Result<usize, CliError> {
    let mut problems = 0;
    for client in connect::CLIENTS {
        match connect::state(client) {
            connect::RegistrationState::Connected(others) => {
                good(&format!("{}: connected", client.name))?;
                for other in others {
                    let connect = format!("`sectile connect {} --write`", client.id);
                    let what = format!(
                        "{}: the entry `{}` starts",
                        client.name,
                        visible(&other.name)
                    );
                    let path = visible(&other.path.display().to_string());
                    match other.is_missing {
                        true => {
                            problems += 1;
                            bad(&format!(
                                "{what} a program that does not exist, {path}; {connect} for the same folder corrects it"
                            ))?;
                        }
                        false => note(&format!(
                            "{what} another program, {path}; {connect} for the same folder makes it start this one"
                        ))?,
                    }
                }
            }
            connect::RegistrationState::NotConnected => {
                note(&format!("{}: not connected", client.name))?
            }
            connect::RegistrationState::Broken(what) => {
                problems += 1;
                bad(&format!("{}: {what}", client.name))?;
            }
        }
    }
    Ok(problems)
}

/// Checks a folder of notes: whether all of it can be read, and whether it has only one history. Returns the number of
/// problems.
fn folder(root: &Path, settings: Option<&Settings>) -> Result<usize, CliError> {
    let opened = Root::open(root);
    let walk = settings.map(|settings| settings.worlds.editor.walk.clone());
    let checked = opened
        .map_err(|error| error.to_string())
        .and_then(|opened| {
            let walk = walk.unwrap_or_default();
            let checked = opened.check_up(&walk, MOST_LOOKED_AT);
            checked.map_err(|error| error.to_string())
        });
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            bad(&format!(
                "vault: {error}; give the folder of your notes with --root DIR"
            ))?;
            return Ok(1);
        }
    };
    let unreadable = &checked.unreadable;
    for (path, kind) in unreadable.iter().take(MOST_NAMED) {
        bad(&format!(
            "vault: `{}` cannot be read ({}); check its permissions",
            visible(path),
            files::reason(*kind)
        ))?;
    }
    match unreadable.len() {
        0 => good("vault: the folder can be read")?,
        all if all > MOST_NAMED => bad(&format!(
            "vault: {} more files and folders cannot be read",
            all - MOST_NAMED
        ))?,
        _ => {}
    }
    told(&checked)?;
    Ok(unreadable.len())
}

/// Reports other histories around the folder that is edited.
fn histories(place: &Path) -> Result<(), CliError> {
    let root = match VaultPlace::at(place) {
        Ok(VaultPlace::Folder(root) | VaultPlace::File(root, _)) => root,
        _ => return Ok(()),
    };
    match root.check_up(&Walk::default(), MOST_LOOKED_AT) {
        Ok(checked) => told(&checked),
        // The problem with the folder has been reported already.
        Err(_) => Ok(()),
    }
}

fn told(checked: &Checkup) -> Result<(), CliError> {
    const ADVICE: &str = "a note in both has two, and a rename in the inner one misses links from outside; keep one of them, \
                          and remove the .sectile of the other";
    for levels in &checked.histories_above {
        note(&format!(
            "editor: the folder `{}` above this one has a history too: {ADVICE}",
            files::levels_up(*levels)
        ))?;
    }
    for path in checked.histories.iter().take(MOST_NAMED) {
        note(&format!(
            "editor: the folder `{}` below this one has a history of its own: {ADVICE}",
            visible(path)
        ))?;
    }
    if let Some(more @ 1..) = checked.histories.len().checked_sub(MOST_NAMED) {
        note(&format!("editor: {more} more folders below have histories"))?;
    }
    if checked.is_cut {
        note(&format!(
            "vault: only the first {MOST_LOOKED_AT} files and folders were checked"
        ))?;
    }
    Ok(())
}

/// Checks the documents of the docs world, if there are settings for them. Returns the number of problems.
fn documents(settings: &DocsSettings) -> Result<usize, CliError> {
    if !settings.is_configured {
        return Ok(0);
    }
    let sources = DocsSources::open(settings, sectile_manual::PAGES, SourceOptions::default());
    let corpus = match sources.current(&|| false) {
        Ok(corpus) => corpus,
        Err(_) => {
            bad("docs: the documents cannot be read")?;
            return Ok(1);
        }
    };
    for skipped in &corpus.skipped {
        bad(&format!("docs: {}", visible(&skipped.to_string())))?;
    }
    if corpus.skipped.is_empty() {
        let count = corpus.documents.len();
        good(&format!(
            "docs: all documents can be served, {count} in all"
        ))?;
    }
    Ok(corpus.skipped.len())
}

/// Checks the collections of the notebook world and their indexes. Returns the number of problems.
fn library(settings: &NotebookSettings) -> Result<usize, CliError> {
    if !settings.is_configured() {
        return Ok(0);
    }
    let opened = match OpenLibrary::of(settings) {
        Ok(opened) => opened,
        Err(error) => {
            bad(&format!("notebook: {}", error.message))?;
            return Ok(1);
        }
    };
    let collections = match opened.collections() {
        Ok(collections) => collections,
        Err(LibraryError::Failed { message, .. }) => {
            bad(&format!("notebook: {}", visible(&message)))?;
            return Ok(1);
        }
        Err(_) => {
            bad("notebook: the collections cannot be listed")?;
            return Ok(1);
        }
    };
    let indexes = opened.index_folder(None);
    let mut problems = 0;
    for collection in &collections {
        let name = visible(collection);
        let rebuilt = |what| format!("{what}; rebuild it with `sectile notebook index`");
        let state = match (&opened.shared, &opened.index_bucket, &indexes) {
            (Some(shared), _, _) => match shared.state(collection) {
                Ok(_) => Ok(Some(Tier::Static)),
                Err(StorageError::CollectionNotFound) => Ok(None),
                Err(error) => Err(error.to_string()),
            },
            (None, Some(bucket), _) => match bucket.fetch(collection, &|| false) {
                Ok(()) => index_state(&bucket.folder(collection)).map_err(rebuilt),
                Err(error) => Err(error.to_string()),
            },
            (None, None, Some(folder)) => {
                index_state(&folder_of_index(folder, collection)).map_err(rebuilt)
            }
            (None, None, None) => Ok(None),
        };
        match state {
            Ok(Some(Tier::Transformer)) => good(&format!(
                "notebook: {name} has an index; the transformer tier answers"
            ))?,
            Ok(Some(Tier::Static)) => good(&format!(
                "notebook: {name} has an index; the static tier answers"
            ))?,
            Ok(None) => note(&format!(
                "notebook: {name} has no index; create one with `sectile notebook index`"
            ))?,
            Err(what) => {
                problems += 1;
                bad(&format!("notebook: {name}: {what}"))?;
            }
        }
    }
    if collections.is_empty() {
        note("notebook: there are no collections; each folder in notebook.root is one")?;
    }
    Ok(problems)
}

/// Verifies the checksums of an index, and returns its best tier, or `None` if there is no index.
fn index_state(folder: &Path) -> Result<Option<Tier>, String> {
    let models = Models::built_in().map_err(|error| error.to_string())?;
    let unusable = |error: StoreError| error.to_string();
    let Some(store) = Store::at(folder).map_err(|error| unusable(error.into()))? else {
        return Ok(None);
    };
    let Some(stored) = store.read(Some(models.first)).map_err(unusable)? else {
        return Ok(None);
    };
    let names = &stored.manifest.segments;
    let is_complete = |second: &&'static dyn Embedder| {
        let entries = stored.manifest.entries.iter();
        let places: Vec<DocumentLocation> = entries.map(|entry| entry.place).collect();
        let meant = store.meaning(names, &stored.segments, &places, *second);
        meant.is_some()
    };
    Ok(Some(match models.second.filter(is_complete) {
        Some(_) => Tier::Transformer,
        None => Tier::Static,
    }))
}

/// Checks the journal of an edited folder or document. Returns the number of problems.
fn journal(root: &Path, key: JournalKey) -> Result<usize, CliError> {
    let examined = sectile_vault::editor::examine(root, key);
    if let Ok(Some(journal)) = &examined
        && journal.rescued > 0
    {
        note(&format!(
            "editor: {} files `.sectile/rescued-*` contain what another program wrote into documents that had just been replaced; \
             compare them with the documents, then remove them",
            journal.rescued
        ))?;
    }
    match examined {
        Ok(None) => {
            note("editor: nothing has been edited here yet")?;
            Ok(0)
        }
        Ok(Some(journal)) if journal.foreign_lines > 0 => {
            let unfinished = match journal.foreign_intents {
                0 => String::new(),
                1 => ", 1 of them unfinished".to_owned(),
                more => format!(", {more} of them unfinished"),
            };
            let entries = match journal.entries + journal.foreign_intents {
                1 => "1 entry".to_owned(),
                more => format!("{more} entries"),
            };
            note(&format!(
                "editor: the history came with the folder ({entries}{unfinished}); it is shown but not acted on. If you know where it comes from: sectile trust DIR"
            ))?;
            Ok(0)
        }
        Ok(Some(journal)) if journal.damaged_places == 0 => {
            let newest = match &journal.newest {
                Some(path) => format!("; the newest is about `{}`", visible(path)),
                None => String::new(),
            };
            good(&format!(
                "editor: the journal is intact, with {} in {}{newest}",
                counted(journal.entries, "entry", "entries"),
                counted(journal.documents, "document", "documents")
            ))?;
            Ok(0)
        }
        Ok(Some(journal)) => {
            bad(&format!(
                "editor: {} parts of the journal cannot be read; they are left unchanged, and edits still work",
                journal.damaged_places
            ))?;
            Ok(1)
        }
        Err(error) => {
            bad(&format!("editor: {error}"))?;
            Ok(1)
        }
    }
}
