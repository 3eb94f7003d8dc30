//! The settings of the notebook world, checked.

use std::path::{Path, PathBuf};

use super::{ConfigError, Loaded, Origin, front::Files, raw::NotebookConstraints};
use crate::access::Secret;

/// What the notebook world works with.
#[derive(Clone, Debug)]
pub(crate) struct NotebookSettings {
    /// Folder of the collections, when it is configured.
    pub(crate) root: Option<PathBuf>,
    /// Folder of the indexes, when it is not beside the notebooks.
    pub(crate) index: Option<PathBuf>,
    pub(crate) constraints: NotebookConstraints,
    /// What handles are sealed with, where several replicas share it.
    pub(crate) shared_secret: Option<Secret>,
}

/// A kind of storage: its setting, the kinds that are served, and those that the contract names and are not.
const KINDS: [(&str, &str, &str); 3] = [
    (
        "notebook.notebook_storage.type",
        "filesystem",
        "s3, supabase",
    ),
    (
        "notebook.vector_storage.type",
        "embedded",
        "pgvector, pinecone, weaviate",
    ),
    ("notebook.artifact_storage.type", "filesystem", "s3"),
];

impl NotebookSettings {
    /// Checks what was loaded. Paths from a file count from its folder, `base`.
    pub(super) fn resolve(loaded: &Loaded, base: &Path) -> Result<Self, ConfigError> {
        let raw = &loaded.raw.notebook;
        let refused = |key: &str, expected: &str| ConfigError::WrongValue {
            origin: loaded.origin(key),
            key: key.to_owned(),
            expected: expected.to_owned(),
        };
        let kinds = [
            &raw.notebook_storage.kind,
            &raw.vector_storage.kind,
            &raw.artifact_storage.kind,
        ];
        for ((key, served, later), kind) in KINDS.into_iter().zip(kinds) {
            if kind != served {
                let expected =
                    format!("{served}; this version serves no other storage, such as {later}");
                return Err(refused(key, &expected));
            }
        }
        let place = |key: &str, value: &str| match (loaded.origin(key), value) {
            (_, "") => None,
            (Origin::File(_), place) => Some(base.join(place)),
            (_, place) => Some(PathBuf::from(place)),
        };
        const ROOT: &str = "notebook.root";
        const STORAGE: &str = "notebook.notebook_storage.path";
        let (root, storage) = (
            place(ROOT, &raw.root),
            place(STORAGE, &raw.notebook_storage.path),
        );
        let is_flag = matches!(loaded.origin(ROOT), Origin::Flag(_));
        if !is_flag && root.is_some() && storage.is_some() && root != storage {
            return Err(refused(
                STORAGE,
                "left out when notebook.root is set: both are the folder of the collections",
            ));
        }
        if !raw.vector_storage.connection.is_empty() {
            return Err(refused(
                "notebook.vector_storage.connection",
                "empty: embedded vectors lie beside the notebooks",
            ));
        }
        let artifacts = place("notebook.artifact_storage.path", &raw.artifact_storage.path);
        let root = root.or(storage);
        if artifacts.is_some() && artifacts != root {
            return Err(refused(
                "notebook.artifact_storage.path",
                "left out, or the folder of the collections: artifacts lie in `_artifacts` of their collection",
            ));
        }
        Ok(Self {
            index: place("notebook.index", &raw.index),
            root,
            constraints: raw.constraints,
            shared_secret: shared_secret(Files { loaded, base })?,
        })
    }
}

/// The secret that replicas share, if the settings name one.
fn shared_secret(files: Files<'_>) -> Result<Option<Secret>, ConfigError> {
    const LEAST_BYTES: usize = 32;
    const KEY: &str = "notebook.shared_secret_file";
    let file = files.loaded.raw.notebook.shared_secret_file.as_str();
    let secret = files.secret((KEY, file), ("", ""))?;
    match &secret {
        Some(secret) if secret.reveal().len() < LEAST_BYTES => {
            Err(files.refuse(KEY, "a file with a secret of at least 32 bytes"))
        }
        _ => Ok(secret),
    }
}
