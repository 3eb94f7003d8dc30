//! The storage sections of the notebook world's settings, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::worlds::buckets::S3Section;

/// Storage of the notebooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotebookStorageSection {
    /// Type of storage: `filesystem`, `s3` (any S3-compatible storage) or `supabase` (the storage of a Supabase project).
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// For `filesystem`, the same as `notebook.root`; set only one of the two. Otherwise the bucket, optionally with the
    /// folder of the collections: `bucket/folder`.
    pub(crate) path: String,
    /// Access to the bucket.
    pub(crate) s3: S3Section,
}

/// Storage of the vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VectorStorageSection {
    /// Type of storage: `embedded` (with the indexes, or in memory), or one that several servers can share: `pgvector` (a
    /// PostgreSQL database with that extension), `s3` (whole indexes in a bucket, of which every server has a copy),
    /// `pinecone` or `weaviate`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// For `pgvector`, the database, without a password: `postgres://user@host:5432/database?sslmode=require`.
    pub(crate) connection: String,
    /// File with the password, relative to the settings file. If empty, `password_env` is used.
    pub(crate) password_file: String,
    /// Environment variable with the password. If empty, no password is sent.
    pub(crate) password_env: String,
    /// For `pinecone`, the host of the index, such as `https://NAME.svc.REGION.pinecone.io`; for `weaviate`, the address of
    /// the server.
    pub(crate) url: String,
    /// File with the API key of the service, relative to the settings file. If empty, `api_key_env` is used.
    pub(crate) api_key_file: String,
    /// Environment variable with the API key of the service. If empty, none is sent.
    pub(crate) api_key_env: String,
    /// Whether an unencrypted (`http`) address of the service is allowed.
    pub(crate) allow_http: bool,
    /// Name that tells the collections of this library from those of other libraries in the same service.
    pub(crate) library: String,
    /// Time limit for one attempt of a request to the service, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// File with certificates (PEM) to trust in addition to the well-known ones.
    pub(crate) ca_file: String,
    /// Maximum number of open connections to the database.
    pub(crate) max_connections: usize,
    /// Time limit for opening a connection, in milliseconds.
    pub(crate) connect_timeout_ms: u64,
    /// Time limit for a search in the database or the service, in milliseconds.
    pub(crate) statement_timeout_ms: u64,
    /// Number of chunks below which all vectors of a collection are compared; in larger collections, those that a graph
    /// (HNSW) leads to.
    pub(crate) exact_below: u64,
    /// Number of candidate chunks that are ranked, from words and from meaning each. In collections with no more chunks,
    /// all are ranked.
    pub(crate) candidates: usize,
    /// For `s3`, the bucket of the indexes, optionally with a folder in it: `bucket/folder`. The storage has to honour
    /// conditional writes.
    pub(crate) path: String,
    /// For `s3`, the folder of the copies on this machine, relative to the settings file. If empty, `sectile/s3-indexes` in
    /// the cache folder of the user.
    pub(crate) cache: String,
    /// For `s3`, the maximum size of the copies that are searched, in MiB. The least recently used ones make room.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) cache_mib: u64,
    /// Memory for vectors and word lists of large collections, in MiB; 0 for none. A collection whose vectors fit into
    /// half of it is searched faster, and all its vectors are compared.
    #[schemars(range(min = 0, max = 65_536))]
    pub(crate) memory_mib: usize,
    /// For `s3`, access to the bucket.
    pub(crate) s3: S3Section,
}

/// Storage of derived artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ArtifactStorageSection {
    /// Type of storage: `filesystem` or `s3`. Ignored while `path` is empty.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Folder or bucket for artifacts, with the same collections as the notebooks. If empty, artifacts are in `_artifacts`
    /// of their collection, with the notebooks.
    pub(crate) path: String,
    /// Access to the bucket.
    pub(crate) s3: S3Section,
}

impl Default for NotebookStorageSection {
    fn default() -> Self {
        Self {
            kind: "filesystem".to_owned(),
            path: String::new(),
            s3: S3Section::default(),
        }
    }
}

impl Default for VectorStorageSection {
    fn default() -> Self {
        Self {
            kind: "embedded".to_owned(),
            connection: String::new(),
            password_file: String::new(),
            password_env: String::new(),
            url: String::new(),
            api_key_file: String::new(),
            api_key_env: String::new(),
            allow_http: false,
            library: "sectile".to_owned(),
            timeout_ms: 20_000,
            ca_file: String::new(),
            max_connections: 8,
            connect_timeout_ms: 5_000,
            statement_timeout_ms: 10_000,
            exact_below: 20_000,
            candidates: 400,
            path: String::new(),
            cache: String::new(),
            cache_mib: 8_192,
            memory_mib: 128,
            s3: S3Section::default(),
        }
    }
}

impl Default for ArtifactStorageSection {
    fn default() -> Self {
        Self {
            kind: "filesystem".to_owned(),
            path: String::new(),
            s3: S3Section::default(),
        }
    }
}
