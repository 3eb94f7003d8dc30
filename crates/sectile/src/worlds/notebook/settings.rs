//! The settings of the notebook world.

mod services;
mod storages;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use schemars::JsonSchema;
use sectile_backends::{IndexBucketSettings, PostgresSettings, S3Settings, ServiceSettings};
use sectile_mcp::access::Secret;
use serde::{Deserialize, Serialize};

use self::storages::{ArtifactStorageSection, NotebookStorageSection, VectorStorageSection};
use crate::{
    settings::{
        ConfigError, ConfigErrors, LEAST_SECRET_BYTES, SettingsReader, SettingsSection,
        ValueOrigin, cache_folder, numbers,
    },
    worlds::buckets::s3,
};

/// The notebook world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotebookSection {
    /// Folder whose subfolders are the collections, relative to the settings file. If this and `notebook_storage.path` are
    /// empty, the world is not served from this file.
    pub(crate) root: String,
    /// Folder for the indexes, relative to the settings file. If empty, `.sectile/notebook` in the folder of the
    /// collections.
    pub(crate) index: String,
    /// File with a secret of at least 32 bytes that several replicas share, relative to the settings file. With it, each
    /// replica accepts the `context_handle`s of the others. If empty, a `context_handle` is valid in its own process only.
    pub(crate) shared_secret_file: String,
    /// Storage of the notebooks.
    pub(crate) notebook_storage: NotebookStorageSection,
    /// Storage of the vectors.
    pub(crate) vector_storage: VectorStorageSection,
    /// Storage of derived artifacts.
    pub(crate) artifact_storage: ArtifactStorageSection,
    /// Limits on what is returned.
    pub(crate) constraints: Constraints,
}

/// Limits on what the notebook world returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Constraints {
    /// Maximum number of characters of context before and after a passage.
    #[schemars(range(min = 0, max = 10_000))]
    pub(crate) max_passage_context: usize,
    /// Maximum number of results of a search, and of references in a result stream.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) max_search_results: usize,
    /// Lifetime of a result stream from its start, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) stream_timeout_s: u64,
    /// Number of entries in one chunk of a result stream.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) stream_chunk_size: usize,
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            max_passage_context: 500,
            max_search_results: 50,
            stream_timeout_s: 300,
            stream_chunk_size: 10,
        }
    }
}

/// The checked settings of the notebook world.
#[derive(Clone)]
pub(crate) struct NotebookSettings {
    /// Folder of the collections, if configured.
    pub(crate) root: Option<PathBuf>,
    /// Bucket of the collections, if they are in one.
    pub(crate) bucket: Option<S3Settings>,
    /// Location of the artifacts, if they are not with the notebooks.
    pub(crate) artifacts: Option<ArtifactLocation>,
    /// Database of the vectors, if they are in one.
    pub(crate) postgres: Option<PostgresSettings>,
    /// Service of the vectors, if they are in one.
    pub(crate) service: Option<ServiceSettings>,
    /// Bucket of the indexes, if they are in one.
    pub(crate) index_bucket: Option<Box<IndexBucketSettings>>,
    /// Folder of the indexes, if it is not next to the notebooks.
    pub(crate) index: Option<PathBuf>,
    pub(crate) constraints: Constraints,
    /// The secret that seals handles, if several replicas share one.
    pub(crate) shared_secret: Option<Secret>,
    /// Largest notebook that is read, in bytes.
    pub(crate) max_note_bytes: u64,
    /// Limits of the storages in use, by setting, as written.
    pub(crate) storage_limits: BTreeMap<String, u64>,
}

/// A storage for artifacts alone.
#[derive(Clone)]
pub(crate) enum ArtifactLocation {
    Folder(PathBuf),
    Bucket(Box<S3Settings>),
}

const ROOT: &str = "notebook.root";
const NOTEBOOKS: &str = "notebook.notebook_storage";
const VECTORS: &str = "notebook.vector_storage";
const ARTIFACTS: &str = "notebook.artifact_storage";

impl SettingsSection for NotebookSection {
    type Checked = NotebookSettings;

    fn check(&self, reader: SettingsReader<'_>) -> Result<NotebookSettings, ConfigErrors> {
        let mut mistakes = ConfigErrors::default();
        let notebooks = mistakes.take(self.notebooks(reader));
        let root = notebooks.as_ref().and_then(|(root, _)| root.as_ref());
        let artifacts = mistakes.take(self.artifacts(reader, root));
        let postgres = mistakes.take(postgres(reader, &self.vector_storage));
        let service = mistakes.take(services::service(reader, &self.vector_storage));
        let index_bucket = mistakes.take(index_bucket(reader, &self.vector_storage));
        let shared_secret = mistakes.take(self.shared_secret(reader));
        let (
            Some((root, bucket)),
            Some(artifacts),
            Some(postgres),
            Some(service),
            Some(shared_secret),
        ) = (notebooks, artifacts, postgres, service, shared_secret)
        else {
            return Err(mistakes);
        };
        let Some(index_bucket) = index_bucket else {
            return Err(mistakes);
        };
        let mut storage_limits = BTreeMap::new();
        if bucket.is_some() {
            storage_limits.extend(numbers(NOTEBOOKS, &self.notebook_storage));
        }
        if matches!(artifacts, Some(ArtifactLocation::Bucket(_))) {
            storage_limits.extend(numbers(ARTIFACTS, &self.artifact_storage));
        }
        if postgres.is_some() || service.is_some() {
            storage_limits.extend(numbers(VECTORS, &self.vector_storage));
        }
        Ok(NotebookSettings {
            root,
            bucket,
            artifacts,
            postgres,
            service,
            index_bucket,
            index: reader.place("notebook.index", &self.index),
            constraints: self.constraints,
            shared_secret,
            max_note_bytes: reader.max_note_bytes,
            storage_limits,
        })
    }
}

impl NotebookSettings {
    /// Returns whether there are notebooks to serve.
    pub(crate) fn is_configured(&self) -> bool {
        self.root.is_some() || self.bucket.is_some()
    }
}

impl NotebookSection {
    /// Returns the folder or the bucket of the collections.
    fn notebooks(
        &self,
        reader: SettingsReader<'_>,
    ) -> Result<(Option<PathBuf>, Option<S3Settings>), ConfigError> {
        let storage = &self.notebook_storage;
        let path_key = format!("{NOTEBOOKS}.path");
        let mut root = reader.place(ROOT, &self.root);
        let is_flag = matches!(reader.origins.of(ROOT), ValueOrigin::Flag(_));
        let bucket = match storage.kind.as_str() {
            "filesystem" => {
                let path = reader.place(&path_key, &storage.path);
                if !is_flag && root.is_some() && path.is_some() && root != path {
                    return Err(reader.refuse(
                        &path_key,
                        "empty when notebook.root is set: both name the folder of the collections",
                    ));
                }
                root = root.or(path);
                None
            }
            // A folder on the command line takes precedence over the bucket.
            "s3" | "supabase" if is_flag => None,
            "s3" | "supabase" if root.is_some() => {
                let expected = format!("empty when {NOTEBOOKS}.type is {}", storage.kind);
                return Err(reader.refuse(ROOT, expected));
            }
            kind @ ("s3" | "supabase") => {
                Some(s3(reader, NOTEBOOKS, kind, (&storage.path, &storage.s3))?)
            }
            _ => {
                return Err(
                    reader.refuse(&format!("{NOTEBOOKS}.type"), "filesystem, s3 or supabase")
                );
            }
        };
        Ok((root, bucket))
    }

    /// Returns the location of the artifacts, if they are not with the notebooks in `root`.
    fn artifacts(
        &self,
        reader: SettingsReader<'_>,
        root: Option<&PathBuf>,
    ) -> Result<Option<ArtifactLocation>, ConfigError> {
        let place = &self.artifact_storage;
        let artifacts = match (place.kind.as_str(), place.path.as_str()) {
            ("filesystem" | "s3", "") => None,
            ("filesystem", path) => reader
                .place(&format!("{ARTIFACTS}.path"), path)
                .filter(|place| Some(place) != root)
                .map(ArtifactLocation::Folder),
            ("s3", path) => {
                let bucket = s3(reader, ARTIFACTS, "s3", (path, &place.s3))?;
                Some(ArtifactLocation::Bucket(Box::new(bucket)))
            }
            _ => return Err(reader.refuse(&format!("{ARTIFACTS}.type"), "filesystem or s3")),
        };
        Ok(artifacts)
    }

    /// Returns the secret that replicas share, if the settings name one.
    fn shared_secret(&self, reader: SettingsReader<'_>) -> Result<Option<Secret>, ConfigError> {
        const KEY: &str = "notebook.shared_secret_file";
        let file = self.shared_secret_file.as_str();
        let secret = reader.secret((KEY, file), ("", ""))?;
        match &secret {
            Some(secret) if secret.reveal().len() < LEAST_SECRET_BYTES => {
                Err(reader.refuse(KEY, "a file with a secret of at least 32 bytes"))
            }
            _ => Ok(secret),
        }
    }
}

/// Returns the database of the vectors, if they are in one.
fn postgres(
    reader: SettingsReader<'_>,
    raw: &VectorStorageSection,
) -> Result<Option<PostgresSettings>, ConfigError> {
    let key = |name: &str| format!("{VECTORS}.{name}");
    match raw.kind.as_str() {
        "embedded" if raw.connection.is_empty() => return Ok(None),
        "embedded" => {
            return Err(reader.refuse(
                &key("connection"),
                "empty for embedded vectors, which are stored with the indexes",
            ));
        }
        "pgvector" => {}
        "s3" => return Ok(None),
        kind if services::kind(kind).is_some() => return Ok(None),
        _ => {
            return Err(reader.refuse(&key("type"), "embedded, pgvector, s3, pinecone or weaviate"));
        }
    }
    let password = reader.secret(
        (&key("password_file"), &raw.password_file),
        (&key("password_env"), &raw.password_env),
    )?;
    let settings = PostgresSettings {
        password: password.map(|secret| secret.reveal().to_owned()),
        extra_roots: reader.text(&key("ca_file"), &raw.ca_file)?,
        max_connections: raw.max_connections,
        connect_timeout: Duration::from_millis(raw.connect_timeout_ms),
        statement_timeout: Duration::from_millis(raw.statement_timeout_ms),
        exact_below: raw.exact_below,
        candidates: raw.candidates,
        cache_bytes: raw.memory_mib << 20,
        ..PostgresSettings::new(&raw.connection)
    };
    match settings.check() {
        Ok(()) => Ok(Some(settings)),
        Err(problem) => Err(reader.refuse(
            &key("connection"),
            format!("like postgres://user@host:5432/database, without a password ({problem})"),
        )),
    }
}

/// Returns the bucket of the indexes, if they are in one.
fn index_bucket(
    reader: SettingsReader<'_>,
    raw: &VectorStorageSection,
) -> Result<Option<Box<IndexBucketSettings>>, ConfigError> {
    let key = |name: &str| format!("{VECTORS}.{name}");
    if raw.kind != "s3" {
        if raw.path.is_empty() {
            return Ok(None);
        }
        return Err(reader.refuse(&key("path"), format!("empty unless {VECTORS}.type is s3")));
    }
    if !raw.connection.is_empty() {
        return Err(reader.refuse(&key("connection"), "empty for s3, which needs no database"));
    }
    let bucket = s3(reader, VECTORS, "s3", (&raw.path, &raw.s3))?;
    let cache = reader.place(&key("cache"), &raw.cache);
    let cache = cache.or_else(|| Some(cache_folder()?.join("sectile").join("s3-indexes")));
    let cache = cache.ok_or_else(|| {
        reader.refuse(
            &key("cache"),
            "a folder, because this user has no cache folder",
        )
    })?;
    Ok(Some(Box::new(IndexBucketSettings {
        max_cache_bytes: raw.cache_mib << 20,
        ..IndexBucketSettings::new(bucket, cache)
    })))
}
