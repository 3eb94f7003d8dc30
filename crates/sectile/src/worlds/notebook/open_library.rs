//! The library that a command or a server works on: in a folder, or in the storage that the settings name.

#[cfg(not(feature = "backends"))]
#[path = "open_library/no_servers.rs"]
mod servers;
#[cfg(feature = "backends")]
mod servers;

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use sectile_library::{
    ArtifactStorage, NotebookStorage, VectorIndexing,
    folder::FolderStorage,
    library::Library,
    mirror::{IndexMirror, IndexPublishing},
    open_collections::IndexStorage,
};
use sectile_vault::Walk;

use self::servers::Servers;
use super::{ArtifactLocation, NotebookSettings};
use crate::worlds::OpenError;

/// A bucket, as storage for notebooks and for artifacts.
type Bucket = (Arc<dyn NotebookStorage>, Arc<dyn ArtifactStorage>);

/// An open library.
pub(crate) struct OpenLibrary {
    pub(crate) library: Arc<Library>,
    /// The folder of its notebooks, if they are in one.
    pub(crate) folder: Option<Arc<FolderStorage>>,
    /// The database or the service of its vectors, if they are in one.
    pub(crate) shared: Option<Arc<dyn VectorIndexing>>,
    /// The bucket of its indexes, if they are in one.
    pub(crate) index_bucket: Option<Arc<dyn IndexPublishing>>,
    /// The folder of its indexes, if the settings name one.
    index: Option<PathBuf>,
}

impl Deref for OpenLibrary {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

impl OpenLibrary {
    /// Opens the library in a folder of collections, with artifacts and indexes in the same folder.
    pub(crate) fn folder(root: &Path, max_note_bytes: u64) -> Result<Self, String> {
        let folder = FolderStorage::open(root, Walk::default(), max_note_bytes);
        let folder = Arc::new(folder.map_err(|error| error.to_string())?);
        Ok(Self {
            library: Arc::new(Library::of(Arc::clone(&folder))),
            folder: Some(folder),
            shared: None,
            index_bucket: None,
            index: None,
        })
    }

    /// Opens the library that the settings describe. They must name the notebook storage.
    pub(crate) fn of(settings: &NotebookSettings) -> Result<Self, OpenError> {
        let folder = |root: &Path| {
            let folder = FolderStorage::open(root, Walk::default(), settings.max_note_bytes);
            folder.map(Arc::new).map_err(|error| {
                OpenError::failed(format_args!("the notebooks cannot be used: {error}.")).next(
                    "correct notebook.root in the settings file, or give a folder that exists",
                )
            })
        };
        let root = settings.root.as_deref().map(folder).transpose()?;
        let servers = Servers::new()?;
        let bucket = settings.bucket.as_ref();
        let bucket = bucket.map(|bucket| servers.bucket(bucket)).transpose()?;
        let (notebooks, beside): Bucket = match (&root, bucket) {
            (_, Some(bucket)) => bucket,
            (Some(root), None) => (
                Arc::<FolderStorage>::clone(root),
                Arc::<FolderStorage>::clone(root),
            ),
            (None, None) => {
                return Err(OpenError::usage("no folder of notebooks is configured."));
            }
        };
        let artifacts: Arc<dyn ArtifactStorage> = match &settings.artifacts {
            None => beside,
            Some(ArtifactLocation::Folder(place)) => folder(place)?,
            Some(ArtifactLocation::Bucket(place)) => servers.bucket(place)?.1,
        };
        let shared = match (&settings.postgres, &settings.service) {
            (Some(postgres), _) => Some(servers.database(postgres)?),
            (None, Some(service)) => Some(servers.service(service)?),
            (None, None) => None,
        };
        let index_bucket = settings.index_bucket.as_ref();
        let index_bucket = index_bucket.map(|settings| servers.indexes(settings));
        Ok(Self {
            library: Arc::new(Library::new(notebooks, artifacts)),
            folder: root.filter(|_| settings.bucket.is_none()),
            shared,
            index_bucket: index_bucket.transpose()?,
            index: settings.index.clone(),
        })
    }

    /// Returns the folder of the indexes: the given one, the one from the settings, or the default next to the collections.
    pub(crate) fn index_folder(&self, given: Option<&Path>) -> Option<PathBuf> {
        let given = given.map(Path::to_path_buf).or_else(|| self.index.clone());
        let beside = || self.folder.as_ref().map(|folder| folder.index_folder());
        given.or_else(beside)
    }

    /// Returns the location of its indexes.
    pub(crate) fn indexes(&self, given: Option<&Path>) -> IndexStorage {
        if given.is_some() {
            return IndexStorage::Folder(self.index_folder(given));
        }
        match (&self.shared, &self.index_bucket) {
            (Some(shared), _) => {
                let shared: Arc<dyn VectorIndexing> = Arc::clone(shared);
                IndexStorage::Shared(shared)
            }
            (None, Some(bucket)) => {
                let mirror: Arc<dyn IndexMirror> = Arc::<dyn IndexPublishing>::clone(bucket);
                IndexStorage::Mirrored(mirror)
            }
            _ => IndexStorage::Folder(self.index_folder(given)),
        }
    }
}
