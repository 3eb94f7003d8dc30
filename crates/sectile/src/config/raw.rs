//! The settings as they are written. A doc comment here is the description in `config schema` and `config show`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod server;
mod storages;

pub(crate) use self::{server::*, storages::*};

/// A `sectile.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Raw {
    /// What every world shares.
    pub(crate) server: Server,
    /// What is logged, to standard error.
    pub(crate) log: Log,
    /// The vault world: structure of the notes in a folder.
    pub(crate) vault: Vault,
    /// The editor world: section edits of a document or of a folder of documents.
    pub(crate) editor: Editor,
    /// The docs world: documentation to search and to read.
    pub(crate) docs: Docs,
    /// The notebook world: a read-only library with verifiable quotes.
    pub(crate) notebook: Notebook,
    /// The hosted world: structure of notes that an upstream store keeps for many users.
    pub(crate) hosted: Hosted,
}

/// What is logged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    /// The least important level that is logged.
    pub(crate) level: LogLevel,
    /// Text for people, or one JSON object a line.
    pub(crate) format: LogFormat,
}

/// The least important level that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    #[default]
    Info,
    Debug,
}

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The vault world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Vault {
    /// Folder of the notes, relative to the settings file. Empty: the world is not served from this file.
    pub(crate) root: String,
    /// Largest note that is read, in bytes.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub(crate) max_note_bytes: u64,
}

/// The editor world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Editor {
    /// Document or folder of documents to edit, relative to the settings file. Empty: the world is not served from this
    /// file.
    pub(crate) root: String,
    /// `protocol` answers JSON-RPC errors; `result` answers the same object as a tool result with isError, for clients
    /// that hide protocol errors from the model; `auto` answers results to clients that are known to do so, and JSON-RPC
    /// errors to all others.
    pub(crate) errors: EditorErrors,
    /// Whether every change of a section must name the hash that it is based on.
    pub(crate) require_hash: bool,
    /// Only documents that match one of these patterns, written as in .gitignore, are listed and searched for links.
    pub(crate) include: Vec<String>,
    /// Documents that match one of these patterns are not listed and not searched for links.
    pub(crate) exclude: Vec<String>,
    /// Largest document, in bytes, before and after an edit.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub(crate) max_document_bytes: u64,
    /// Longest text of one edit, in bytes.
    #[schemars(range(min = 1, max = 67_108_864))]
    pub(crate) max_payload_bytes: usize,
    /// Most edits of one apply_edits.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) max_edits: usize,
    /// Length of the journal, in bytes, at which the oldest half of the history is dropped.
    #[schemars(range(min = 65_536, max = 4_294_967_296_u64))]
    pub(crate) max_journal_bytes: u64,
    /// About how long an answer's text may get, in bytes, before it is cut into pages.
    #[schemars(range(min = 1024, max = 16_777_216))]
    pub(crate) max_answer_bytes: usize,
    /// Deleting more bytes than this asks for a confirmation. 0: nothing asks for one.
    #[schemars(range(min = 0, max = 1_073_741_824))]
    pub(crate) confirm_delete_bytes: usize,
    /// How long to wait for a document that another process is changing, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) lock_timeout_ms: u64,
    /// File with the key that seals your history, relative to the settings file; it is made when it is first needed. Empty:
    /// sectile/journal.key in your state folder.
    pub(crate) key_file: String,
}

/// Where the errors of the editor world go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EditorErrors {
    #[default]
    Auto,
    Protocol,
    Result,
}

/// The docs world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Docs {
    /// Whether there is a docs world at all.
    pub(crate) enabled: bool,
    /// Whether documents can be searched.
    pub(crate) enable_search: bool,
    /// Whether documents can be listed and read as resources.
    pub(crate) enable_resources: bool,
    /// Whether the manual of Sectile is among the documents.
    pub(crate) include_default_docs: bool,
    /// Folder that paths of documents in the settings file are relative to, such as a checkout; itself relative to the
    /// settings file. Empty: the folder of the settings file.
    pub(crate) root: String,
    /// Documents and folders to add, relative to `root`. Of a folder, every `.md` file below it counts.
    #[schemars(length(max = 64))]
    pub(crate) extra_paths: Vec<String>,
    /// Largest document, in bytes; a larger one is skipped.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) max_doc_bytes: u64,
    /// Most bytes of all documents together; one that does not fit any more is skipped.
    #[schemars(range(min = 1, max = 8_388_608))]
    pub(crate) max_total_bytes: u64,
    /// Most documents; more are skipped.
    #[schemars(range(min = 1, max = 256))]
    pub(crate) max_docs: usize,
    /// Most sections of one answer of the search.
    #[schemars(range(min = 1, max = 10))]
    pub(crate) max_sections: usize,
    /// Whether a query of which no word is in the documents, in any form or spelling, is answered with the sections nearest
    /// in meaning, by the model inside the program.
    pub(crate) meaning_as_last_resort: bool,
    /// First part of the search tool's name and scheme of the documents' URIs: lower-case letters, digits and single
    /// hyphens, starting with a letter.
    pub(crate) namespace: String,
    /// Documents to add one by one, each as a table [[docs.documents]] with its `path` and, when the front matter does
    /// not say it, `slug`, `title`, `role` and `description`.
    pub(crate) documents: Vec<DocsDocument>,
}

/// A document of the docs world. What its front matter says comes before what stands here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["path"]))]
pub(crate) struct DocsDocument {
    /// Where the document is, relative to `docs.root`.
    pub(crate) path: String,
    /// Last part of its URI: lower-case letters, digits and hyphens, at most 64. Empty: made of the file name.
    pub(crate) slug: String,
    /// Its title. Empty: its first heading of level 1, else the file name.
    pub(crate) title: String,
    /// What it is good for: concepts (`reasoning`), choosing (`decision`), names and schemas (`ontology`) or recipes
    /// (`pattern`).
    pub(crate) role: DocsRole,
    /// What it is about, in a sentence. Empty: its first sentence.
    pub(crate) description: String,
}

/// What a document is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DocsRole {
    Reasoning,
    Decision,
    Ontology,
    #[default]
    Pattern,
}

/// The notebook world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Notebook {
    /// Folder whose folders are the collections, relative to the settings file. Empty: the world is not served from this
    /// file.
    pub(crate) root: String,
    /// Folder for the indexes, relative to the settings file. Empty: `.sectile/notebook` in the folder of the collections.
    pub(crate) index: String,
    /// File with a secret of at least 32 bytes that several replicas share, relative to the settings file. With it each of
    /// them takes the context_handles of the others. Empty: a context_handle is good in its process only.
    pub(crate) shared_secret_file: String,
    /// Where the notebooks are.
    pub(crate) notebook_storage: NotebookStorage,
    /// Where their vectors are.
    pub(crate) vector_storage: VectorStorage,
    /// Where derived artifacts are.
    pub(crate) artifact_storage: ArtifactStorage,
    /// Bounds on what is handed out.
    pub(crate) constraints: NotebookConstraints,
}

/// Bounds on what the notebook world hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotebookConstraints {
    /// Most characters of the notebook before and after a passage.
    #[schemars(range(min = 0, max = 10_000))]
    pub(crate) max_passage_context: usize,
    /// Most results of a search, and most references of a result stream.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) max_search_results: usize,
    /// How long a result stream lasts from its beginning, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) stream_timeout_s: u64,
    /// Entries of one chunk of a result stream.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) stream_chunk_size: usize,
}

/// The hosted world. It is served over HTTP only, to callers with bearer tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Hosted {
    /// Where the note store is, such as `https://store.example`. Empty: the world is not served from this file.
    pub(crate) store_url: String,
    /// File with the secret that this gateway shows the store as X-Gateway-Auth, relative to the settings file. Empty: none.
    pub(crate) gateway_secret_file: String,
    /// Environment variable with the same secret, where there is no file.
    pub(crate) gateway_secret_env: String,
    /// File with certificates (PEM) to trust besides the well-known ones, relative to the settings file. Empty: none.
    pub(crate) ca_file: String,
    /// Proxy to reach the store through, such as `http://proxy.example:3128`. Empty: none; the environment is not asked.
    pub(crate) proxy: String,
    /// How long a connection to the store may take to open, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    pub(crate) connect_timeout_ms: u64,
    /// How long an answer of the store may take to its last byte, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout_ms: u64,
    /// Longest answer of the store, in bytes.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub(crate) max_response_bytes: usize,
    /// Requests of one user in a vault without an answer, in a row, after which the store is not asked for that user for a
    /// while. Connections in a row that cannot be made, or users without an answer, after which nobody asks it.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) breaker_failures: u32,
    /// How long the store is then left alone, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) breaker_pause_ms: u64,
}

impl Default for Hosted {
    fn default() -> Self {
        Self {
            store_url: String::new(),
            gateway_secret_file: String::new(),
            gateway_secret_env: String::new(),
            ca_file: String::new(),
            proxy: String::new(),
            connect_timeout_ms: 2000,
            timeout_ms: 10_000,
            max_response_bytes: 16 << 20,
            breaker_failures: 8,
            breaker_pause_ms: 5000,
        }
    }
}

impl Default for NotebookConstraints {
    fn default() -> Self {
        Self {
            max_passage_context: 500,
            max_search_results: 50,
            stream_timeout_s: 300,
            stream_chunk_size: 10,
        }
    }
}

impl Default for Docs {
    fn default() -> Self {
        Self {
            enabled: true,
            enable_search: true,
            enable_resources: true,
            include_default_docs: true,
            root: String::new(),
            extra_paths: Vec::new(),
            max_doc_bytes: 256 << 10,
            max_total_bytes: 1 << 20,
            max_docs: 32,
            max_sections: 10,
            meaning_as_last_resort: false,
            namespace: "sectile".to_owned(),
            documents: Vec::new(),
        }
    }
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            root: String::new(),
            errors: EditorErrors::default(),
            require_hash: false,
            include: Vec::new(),
            exclude: Vec::new(),
            max_document_bytes: 16 << 20,
            max_payload_bytes: 1 << 20,
            max_edits: 100,
            max_journal_bytes: 64 << 20,
            max_answer_bytes: 32 << 10,
            confirm_delete_bytes: 0,
            lock_timeout_ms: 10_000,
            key_file: String::new(),
        }
    }
}

impl Default for Vault {
    fn default() -> Self {
        Self {
            root: String::new(),
            max_note_bytes: 8 << 20,
        }
    }
}
