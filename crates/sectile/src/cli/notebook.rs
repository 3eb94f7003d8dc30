//! `sectile notebook`: the library of the notebook world, from a shell.

mod args;
mod artifact;
mod eval;
mod index;
mod quote;
mod search;
mod verify;

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use sectile_vault::Walk;

pub(super) use self::args::NotebookArgs;
use self::args::{ArtifactCommand, NotebookCommand};
use super::ui::{CliError, visible};
use crate::worlds::{
    editor,
    notebook::{
        Library,
        errors::NotebookError,
        storage::{FolderStorage, MAX_NOTE_BYTES},
    },
};

pub(super) fn run(args: &NotebookArgs) -> Result<(), CliError> {
    match &args.command {
        NotebookCommand::Index(args) => index::index(args),
        NotebookCommand::Search(args) => search::search(args),
        NotebookCommand::Quote(args) => quote::quote(args),
        NotebookCommand::Eval(args) => eval::eval(args),
        NotebookCommand::Verify(args) => verify::verify(args),
        NotebookCommand::Artifact(args) => match &args.command {
            ArtifactCommand::Add(args) => artifact::add(args, editor::now),
        },
    }
}

/// A library that was opened.
struct Opened {
    library: Arc<Library>,
    /// The folder that it is in.
    folder: Arc<FolderStorage>,
}

impl Deref for Opened {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

/// The library in a folder.
fn open(root: &Path) -> Result<Opened, CliError> {
    let folder = FolderStorage::open(root, Walk::default(), MAX_NOTE_BYTES)
        .map_err(|error| CliError::failed(format_args!("ROOT cannot be used: {error}.")))?;
    let folder = Arc::new(folder);
    let library = Arc::new(Library::of(Arc::clone(&folder)));
    Ok(Opened { library, folder })
}

/// The folder of the indexes: the one that was given, or the one beside the collections, made when it is to be written to.
fn index_folder(
    opened: &Opened,
    given: Option<&Path>,
    is_written: bool,
) -> Result<PathBuf, CliError> {
    if let Some(given) = given {
        return Ok(given.to_path_buf());
    }
    if is_written {
        opened.folder.make_private_folder().map_err(|error| {
            CliError::failed(format_args!(
                "ROOT cannot be written to ({}).",
                error.kind()
            ))
            .next("keep the index elsewhere with --index DIR, and say so in notebook.index")
        })?;
    }
    Ok(opened.folder.index_folder())
}

/// Refuses a collection that is not there, and names those that are.
fn require(storage: &Library, collection: &str) -> Result<(), CliError> {
    /// Names that a message lists.
    const SHOWN: usize = 10;
    let names = storage.collections().map_err(|error| failed(&error))?;
    if names.iter().any(|name| name == collection) {
        return Ok(());
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| visible(name)).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    Err(
        CliError::failed("there is no such collection.").next(match shown.is_empty() {
            true => "a collection is a folder directly in ROOT, with a name that begins with neither `_` nor `.`".to_owned(),
            false => format!("the collections are: {}{more}", shown.join(", ")),
        }),
    )
}

/// What a person is told instead of a result.
fn failed(error: &NotebookError) -> CliError {
    match error {
        NotebookError::CollectionNotFound => CliError::failed("there is no such collection."),
        NotebookError::ArtifactNotFound { .. } => CliError::failed("there is no such artifact."),
        NotebookError::UpstreamFailure { message }
        | NotebookError::AmbiguousRequest { message, .. } => CliError::failed(visible(message)),
        _ => CliError::failed("the request cannot be met."),
    }
}
