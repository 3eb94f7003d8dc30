//! `sectile notebook`: the library of the notebook world, from a shell.

mod args;
mod artifact;
mod bucket;
mod eval;
mod index;
mod quote;
mod search;
mod verify;
#[cfg(all(test, not(feature = "backends")))]
mod without_backends;

use std::path::{Path, PathBuf};

use sectile_library::{LibraryError, folder::MAX_NOTE_BYTES, library::Library};
use sectile_retrieval::SharedVectors;

pub(super) use self::args::NotebookArgs;
use self::args::{ArtifactCommand, NotebookCommand};
use super::{
    settings::{named, read, settings},
    ui::{CliError, visible},
};
use crate::worlds::{editor, notebook::OpenLibrary};

/// An explanation for users without collections.
const WHAT_COLLECTIONS_ARE: &str = "a collection is a folder directly in ROOT, with a name that starts with neither `_` nor `.`; `.md` files directly in ROOT are \
     the collection `.`";

pub(super) fn run(args: &NotebookArgs) -> Result<(), CliError> {
    match &args.command {
        NotebookCommand::Index(args) => index::index(args),
        NotebookCommand::Search(args) => search::search(args),
        NotebookCommand::Quote(args) => quote::quote(args),
        NotebookCommand::Eval(args) => eval::eval(args),
        NotebookCommand::Verify(args) => verify::verify(args),
        NotebookCommand::Bucket(args) => bucket::run(&args.command),
        NotebookCommand::Artifact(args) => match &args.command {
            ArtifactCommand::Add(args) => artifact::add(args, editor::now),
        },
    }
}

/// Returns the settings file that was named instead of a folder, if it was one.
fn settings_file(given: &Path) -> Option<&Path> {
    let is_settings = given.extension().is_some_and(|ending| ending == "toml");
    is_settings.then_some(given)
}

/// Returns the vectors that indexes share through the user's cache folder. A folder needs no settings, so mistakes in
/// those of the environment only mean that nothing is shared.
fn shared_vectors(given: &Path) -> Option<SharedVectors> {
    let file = named(settings_file(given));
    let (_, settings) = read(file.as_deref(), &[]).ok()?;
    settings.worlds.desk.shared_vectors()
}

/// Opens the library that was named: the folder of the collections, or a settings file.
fn open(given: &Path) -> Result<OpenLibrary, CliError> {
    let Some(file) = settings_file(given) else {
        return OpenLibrary::folder(given, MAX_NOTE_BYTES)
            .map_err(|error| CliError::failed(format_args!("ROOT cannot be used: {error}.")));
    };
    let settings = settings(Some(file))?.worlds.notebook;
    if !settings.is_configured() {
        let error = "the settings file does not configure notebooks.";
        return Err(
            CliError::usage(error).next("set notebook.root or [notebook.notebook_storage] in it")
        );
    }
    Ok(OpenLibrary::of(&settings)?)
}

/// Returns the folder of the indexes, creating it if it is the default one next to the collections.
fn made_index_folder(opened: &OpenLibrary, given: Option<&Path>) -> Result<PathBuf, CliError> {
    let Some(folder) = opened.index_folder(given) else {
        return Err(CliError::usage("there is no folder for the index.")
            .next("give one with --index DIR, or as notebook.index in the settings file"));
    };
    if let Some(root) = &opened.folder
        && root.index_folder() == folder
    {
        root.make_private_folder().map_err(|error| {
            CliError::failed(format_args!(
                "ROOT cannot be written to ({}).",
                error.kind()
            ))
            .next("keep the index elsewhere with --index DIR, and set notebook.index to the same folder")
        })?;
    }
    Ok(folder)
}

/// Refuses a collection that does not exist, and lists those that do.
fn require(storage: &Library, collection: &str) -> Result<(), CliError> {
    /// The most names listed in a message.
    const SHOWN: usize = 10;
    let names = storage.collections().map_err(|error| failed(&error))?;
    if names.iter().any(|name| name == collection) {
        return Ok(());
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| visible(name)).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    Err(
        CliError::failed("there is no such collection.").next(match shown.is_empty() {
            true => WHAT_COLLECTIONS_ARE.to_owned(),
            false => format!("the collections are: {}{more}", shown.join(", ")),
        }),
    )
}

/// Returns the names of all collections. It is an error if there are none, since nothing can be done then.
fn collections(storage: &Library) -> Result<Vec<String>, CliError> {
    let names = storage.collections().map_err(|error| failed(&error))?;
    match names.is_empty() {
        true => Err(CliError::failed("there is no collection in ROOT.").next(WHAT_COLLECTIONS_ARE)),
        false => Ok(names),
    }
}

/// Converts an error of the library to one of the command line.
fn failed(error: &LibraryError) -> CliError {
    match error {
        LibraryError::CollectionNotFound => CliError::failed("there is no such collection."),
        LibraryError::ArtifactNotFound { .. } => CliError::failed("there is no such artifact."),
        LibraryError::Failed { message, .. } | LibraryError::AmbiguousArtifact { message } => {
            CliError::failed(visible(message))
        }
        _ => CliError::failed("the request cannot be fulfilled."),
    }
}
