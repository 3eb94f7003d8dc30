//! The library that a command or a server works on: in a folder, or wherever a settings file says.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use sectile_backends::{Objects, Postgres, S3Settings, Waiting};
use sectile_retrieval::{ArtifactStorage, NotebookStorage, built_in};
use sectile_vault::Walk;

use super::{settings::settings, ui::CliError};
use crate::{
    config::{ArtifactPlace, NotebookSettings},
    worlds::notebook::{
        Library,
        shelves::Indexes,
        storage::{FolderStorage, MAX_NOTE_BYTES},
    },
};

/// An open library.
pub(super) struct Opened {
    pub(super) library: Arc<Library>,
    /// The folder of its notebooks, if they are in one.
    pub(super) folder: Option<Arc<FolderStorage>>,
    /// The database of its vectors, if they are in one.
    pub(super) postgres: Option<Arc<Postgres>>,
    /// The folder of its indexes, if the settings name one.
    index: Option<PathBuf>,
}

impl Deref for Opened {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

impl Opened {
    /// Opens the library that was named: the folder of the collections, or a settings file.
    pub(super) fn at(given: &Path) -> Result<Self, CliError> {
        let is_settings = given.extension().is_some_and(|ending| ending == "toml");
        if !is_settings {
            return Self::folder(given, MAX_NOTE_BYTES)
                .map_err(|error| CliError::failed(format_args!("ROOT cannot be used: {error}.")));
        }
        let settings = settings(Some(given))?;
        if !settings.notebook.is_configured() {
            let error = "the settings file does not configure notebooks.";
            return Err(CliError::usage(error)
                .next("set notebook.root or [notebook.notebook_storage] in it"));
        }
        Self::of(&settings.notebook, settings.max_note_bytes)
    }

    fn folder(root: &Path, max_note_bytes: u64) -> Result<Self, String> {
        let folder = FolderStorage::open(root, Walk::default(), max_note_bytes);
        let folder = Arc::new(folder.map_err(|error| error.to_string())?);
        Ok(Self {
            library: Arc::new(Library::of(Arc::clone(&folder))),
            folder: Some(folder),
            postgres: None,
            index: None,
        })
    }

    /// Opens the library that settings describe. They must say where the notebooks are.
    pub(super) fn of(settings: &NotebookSettings, max_note_bytes: u64) -> Result<Self, CliError> {
        let folder = |root: &Path| {
            let folder = FolderStorage::open(root, Walk::default(), max_note_bytes);
            folder.map(Arc::new).map_err(|error| {
                CliError::failed(format_args!("the notebooks cannot be used: {error}.")).next(
                    "correct notebook.root in the settings file, or give a folder that exists",
                )
            })
        };
        let root = settings.root.as_deref().map(folder).transpose()?;
        let waiting = Waiting::new()?;
        let bucket = |bucket: &S3Settings| {
            let objects = Objects::s3(bucket, waiting.clone());
            objects.map(Arc::new).map_err(|problem| {
                CliError::failed(format_args!("the bucket cannot be used: {problem}."))
                    .next("correct the storage in the settings file")
            })
        };
        let objects = settings.bucket.as_ref().map(bucket).transpose()?;
        let (notebooks, beside): (Arc<dyn NotebookStorage>, Arc<dyn ArtifactStorage>) =
            match (&root, objects) {
                (_, Some(objects)) => (Arc::<Objects>::clone(&objects), objects),
                (Some(root), None) => (
                    Arc::<FolderStorage>::clone(root),
                    Arc::<FolderStorage>::clone(root),
                ),
                (None, None) => {
                    return Err(CliError::usage("there is no folder of notebooks."));
                }
            };
        let artifacts: Arc<dyn ArtifactStorage> = match &settings.artifacts {
            None => beside,
            Some(ArtifactPlace::Folder(place)) => folder(place)?,
            Some(ArtifactPlace::Bucket(place)) => bucket(place)?,
        };
        let postgres = settings.postgres.clone().map(|postgres| {
            let embedder = built_in().map_err(|error| {
                CliError::failed(format_args!("the embedding model cannot be used: {error}."))
            })?;
            let opened = Postgres::new(&postgres, waiting.clone(), embedder);
            opened.map(Arc::new).map_err(CliError::failed)
        });
        Ok(Self {
            library: Arc::new(Library::new(notebooks, artifacts)),
            folder: root.filter(|_| settings.bucket.is_none()),
            postgres: postgres.transpose()?,
            index: settings.index.clone(),
        })
    }

    /// Returns the folder of the indexes: the given one, the one from the settings, or the one beside the collections.
    pub(super) fn index_folder(&self, given: Option<&Path>) -> Option<PathBuf> {
        let given = given.map(Path::to_path_buf).or_else(|| self.index.clone());
        let beside = || self.folder.as_ref().map(|folder| folder.index_folder());
        given.or_else(beside)
    }

    /// Returns the location of its indexes.
    pub(super) fn indexes(&self, given: Option<&Path>) -> Indexes {
        match &self.postgres {
            Some(postgres) if given.is_none() => Indexes::Shared(Arc::<Postgres>::clone(postgres)),
            _ => Indexes::Folder(self.index_folder(given)),
        }
    }
}
