//! Collections of notes: an index of each that keeps up with edits, quotes that prove themselves, and the artifacts
//! derived from them.
//!
//! It builds on `sectile-vault` (files), `sectile-retrieval` (search) and `sectile-markdown` (sections), and knows no
//! protocol.

pub mod artifacts;
pub mod clock;
pub mod collection;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod editable_folder;
mod error;
pub mod facts;
pub mod filling;
pub mod folder;
pub mod ids;
pub mod indexing;
pub mod left_out;
pub mod library;
pub mod live_folder;
pub mod live_manual;
pub mod manual_page;
pub mod manual_site;
pub mod mirror;
pub mod open_collection;
pub mod open_collections;
pub mod provenance;
pub mod publishing;
mod query;
pub mod quote;
pub mod quote_check;
mod storage;
pub mod tenants;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod threads;
pub mod tiers;

pub use self::error::{FailedPart, GoneReason, LibraryError};
pub use self::query::SearchQuery;
pub use self::storage::{
    ARTIFACTS, ArtifactStorage, BackendState, Change, IndexedNotebook, LocatedChunk, LocatedHit,
    LocatedHits, NotebookFile, NotebookGap, NotebookKeys, NotebookStamp, NotebookStorage,
    StorageError, StorageLimit, TOP, TierFilling, TierGaps, VectorIndexing, VectorQuery,
    VectorSearch, is_at_top, is_collection_name, is_notebook,
};
