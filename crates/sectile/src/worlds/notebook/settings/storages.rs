//! The storage sections of the notebook world's settings, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the notebooks are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotebookStorageSection {
    /// Kind of storage: `filesystem`, `s3` (any storage that speaks S3) or `supabase` (that of a Supabase project).
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// For `filesystem` the same as `notebook.root`; one of the two is enough. Else the bucket, and below it the folder of the
    /// collections if there is one: `bucket/folder`.
    pub(crate) path: String,
    /// How the bucket is reached.
    pub(crate) s3: S3Section,
}

/// Where the vectors are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VectorStorageSection {
    /// Kind of storage: `embedded` (beside the notebooks, or in memory) or `pgvector` (a PostgreSQL database with that
    /// extension, which several servers can share).
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The database, without a password: `postgres://user@host:5432/database?sslmode=require`. Empty for `embedded`.
    pub(crate) connection: String,
    /// File with the password. Empty: password_env.
    pub(crate) password_file: String,
    /// Variable of the environment with the password. Empty: no password.
    pub(crate) password_env: String,
    /// File of certificates (PEM) to trust besides the well-known ones.
    pub(crate) ca_file: String,
    /// Connections to the database at the same time.
    pub(crate) max_connections: usize,
    /// How long a connection may take to open, in milliseconds.
    pub(crate) connect_timeout_ms: u64,
    /// How long a search may take in the database, in milliseconds.
    pub(crate) statement_timeout_ms: u64,
    /// In collections with fewer chunks all vectors are compared; in others those that a graph (HNSW) leads to.
    pub(crate) exact_below: u64,
    /// Chunks that are looked at closely, from words and from meaning each. Collections with no more are looked at as a whole.
    pub(crate) candidates: usize,
}

/// Where derived artifacts are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ArtifactStorageSection {
    /// Kind of storage: `filesystem` or `s3`. It does not matter while path is empty.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Empty: artifacts lie in `_artifacts` of their collection, where the notebooks are. Else a folder, or a bucket, with the
    /// same collections that has them instead.
    pub(crate) path: String,
    /// How the bucket is reached.
    pub(crate) s3: S3Section,
}

/// How a bucket is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct S3Section {
    /// The storage, such as `https://storage.example`; for `supabase` the URL of the project. Empty: AWS, by its region.
    pub(crate) endpoint: String,
    /// The region. May be empty where there is an endpoint.
    pub(crate) region: String,
    /// Whether the name of the bucket goes before that of the endpoint instead of into the path.
    pub(crate) virtual_hosted: bool,
    /// Whether the endpoint may be one without encryption.
    pub(crate) allow_http: bool,
    /// File with the access key. Empty: access_key_env.
    pub(crate) access_key_file: String,
    /// Variable of the environment with the access key. Empty: requests are not signed.
    pub(crate) access_key_env: String,
    /// File with the secret key. Empty: secret_key_env.
    pub(crate) secret_key_file: String,
    /// Variable of the environment with the secret key.
    pub(crate) secret_key_env: String,
    /// Variable of the environment with the token of temporary credentials. Empty: none.
    pub(crate) session_token_env: String,
    /// Proxy to go through, such as `http://proxy.example:3128`. Empty: none.
    pub(crate) proxy: String,
    /// File of certificates (PEM) to trust besides the well-known ones.
    pub(crate) ca_file: String,
    /// How long one request may take, in milliseconds.
    pub(crate) timeout_ms: u64,
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
            ca_file: String::new(),
            max_connections: 8,
            connect_timeout_ms: 5_000,
            statement_timeout_ms: 10_000,
            exact_below: 20_000,
            candidates: 400,
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

impl Default for S3Section {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            region: String::new(),
            virtual_hosted: false,
            allow_http: false,
            access_key_file: String::new(),
            access_key_env: String::new(),
            secret_key_file: String::new(),
            secret_key_env: String::new(),
            session_token_env: String::new(),
            proxy: String::new(),
            ca_file: String::new(),
            timeout_ms: 10_000,
        }
    }
}
