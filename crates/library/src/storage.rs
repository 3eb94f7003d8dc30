//! Storages of notebooks and artifacts, and external indexes: the contract of every backend, independent of how it
//! works.

use std::{any::Any, collections::HashSet};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Chunk, Embedder, Match, Record, Remarks, VectorKey, VectorRecord};

use crate::{manual_page::NoteCut, query::SearchQuery, tiers::Tier};

/// The folder of a collection that holds derived artifacts.
pub const ARTIFACTS: &str = "_artifacts";

/// The collection of the notebooks at the top of a storage, beside the folders. It exists while there is such a
/// notebook. No folder can have this name, and it keeps its name whatever the storage is called.
pub const TOP: &str = ".";

/// The reason why a backend refused or failed a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The collection does not exist.
    #[error("There is no such collection.")]
    CollectionNotFound,
    /// The caller no longer waits for the result.
    #[error("The call was cancelled.")]
    Cancelled,
    /// The index was made by other rules, or with another model. Complete sentences, as with a failure.
    #[error("{message}")]
    OtherRules {
        /// The sentences to show.
        message: String,
    },
    /// The backend failed, or cannot be reached. Complete sentences: what is wrong, and what to do unless that is to
    /// retry.
    #[error("{message}")]
    Failed {
        /// The sentences to show.
        message: String,
    },
}

impl StorageError {
    /// Creates a failure.
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Failed { message }
    }
}

/// A notebook, and the state of its file as reported without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotebookFile {
    /// Path relative to the collection.
    pub notebook: NotePath,
    /// Its state.
    pub stamp: NotebookStamp,
}

/// The state of a file, which changes when the file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotebookStamp {
    /// Its length.
    pub bytes: u64,
    /// Modification time in milliseconds since 1970.
    pub modified: i64,
    /// When it last changed, in nanoseconds since 1970; 0 if equal states guarantee equal bytes, and the largest number
    /// if they never do.
    pub changed: u64,
    /// A digest of everything that the storage reports about a file's state (length, times in nanoseconds, inode,
    /// version). Equal stamps mean that the bytes are most likely the same. To be sure, read and hash them.
    pub state: [u64; 4],
}

impl NotebookStamp {
    /// Creates the stamp of a file: its length, the times of its modification and its last change in nanoseconds since
    /// 1970, and its number.
    pub(crate) fn of_file(state: [u64; 4]) -> Self {
        let [bytes, modified, changed, _] = state;
        let (modified, changed) = (modified.cast_signed(), changed.cast_signed());
        Self {
            bytes,
            modified: modified.div_euclid(1_000_000),
            changed: u64::try_from(modified.max(changed)).unwrap_or_default(),
            state,
        }
    }
}

/// A limit of a storage, for listings of all limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageLimit {
    /// Its name.
    pub name: &'static str,
    /// The largest value allowed.
    pub value: u64,
    /// The thing it limits, in a few words.
    pub bounds: &'static str,
}

/// A storage of notebooks: collections of notebooks and other files.
pub trait NotebookStorage: Send + Sync {
    /// Returns the names of all collections, sorted.
    ///
    /// # Errors
    /// When the storage fails.
    fn collections(&self) -> Result<Vec<String>, StorageError>;

    /// Returns the notebooks of a collection, sorted by path; artifacts are not notebooks.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection.
    fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotebookFile>, StorageError>;

    /// Reads the current bytes of a file of the collection; `None` if it does not exist (any more), is behind a link,
    /// is not a regular file, or is larger than allowed.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection.
    fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, StorageError>;

    /// Reads a notebook that was listed a moment ago, so that it need not be checked again.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_listed(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        self.read(collection, file)
    }

    /// Returns the size limit for notebooks, in bytes. A larger one is listed, but never read.
    fn max_notebook_bytes(&self) -> u64;

    /// Returns whether a notebook that [`Self::read`] does not return exists and is only too large.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection.
    fn is_too_large(&self, collection: &str, notebook: &NotePath) -> Result<bool, StorageError> {
        let listed = self.notebooks(collection, &|| false)?;
        let at = listed.binary_search_by(|one| one.notebook.cmp(notebook));
        Ok(at.is_ok_and(|at| listed[at].stamp.bytes > self.max_notebook_bytes()))
    }

    /// Returns how its notebooks are cut into passages.
    fn cut(&self) -> NoteCut {
        NoteCut::Notes
    }

    /// Returns the kind of storage in one word for people, such as `folder` or `bucket`.
    fn kind(&self) -> &'static str;

    /// Returns its other limits.
    fn limits(&self) -> &'static [StorageLimit] {
        &[]
    }

    /// Returns the number of concurrent reads that pays off.
    fn reads_at_once(&self) -> usize {
        1
    }

    /// Checks that a collection exists.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when it does not.
    fn require(&self, collection: &str) -> Result<(), StorageError> {
        match self.collections()?.iter().any(|name| name == collection) {
            true => Ok(()),
            false => Err(StorageError::CollectionNotFound),
        }
    }

    /// Calls `changed` when something in a collection may have changed, until the returned guard is dropped. Returns
    /// `None` if the storage cannot tell.
    fn watch(&self, _: &str, _: Box<dyn Fn() + Send + Sync>) -> Option<Box<dyn Any + Send + Sync>> {
        None
    }

    /// Returns the name of the storage itself, if that may be shown: for the title of [`TOP`].
    fn name(&self) -> Option<String> {
        None
    }

    /// Checks that it can be used now.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn ready(&self) -> Result<(), StorageError> {
        self.collections().map(drop)
    }
}

/// A storage of artifacts derived from notebooks.
pub trait ArtifactStorage: Send + Sync {
    /// Returns all files below [`ARTIFACTS`] of a collection, sorted, relative to the collection.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection, where the storage can tell.
    fn artifact_files(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, StorageError>;

    /// Returns how its notebooks are cut into passages.
    fn cut(&self) -> NoteCut {
        NoteCut::Notes
    }

    /// Returns the kind of storage in one word for people, such as `folder` or `bucket`.
    fn artifact_storage_kind(&self) -> &'static str;

    /// Returns its limits.
    fn artifact_limits(&self) -> &'static [StorageLimit] {
        &[]
    }

    /// Reads the current bytes of such a file; `None` as with [`NotebookStorage::read`].
    ///
    /// # Errors
    /// When the storage fails.
    fn read_artifact(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError>;
}

/// A chunk in the index of a backend, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedChunk {
    /// The notebook that contains it.
    pub notebook: NotePath,
    /// The digest of the whole notebook when it was indexed.
    pub notebook_digest: Digest,
    /// The chunk.
    pub chunk: Chunk,
    /// The title of the notebook and the headings above the chunk, outermost first.
    pub path: Vec<String>,
}

/// A chunk found by a search. Scores are in millionths.
#[derive(Clone, Debug)]
pub struct LocatedHit {
    /// The chunk.
    pub located: LocatedChunk,
    /// Its lexical score, as a fraction of what the query could reach.
    pub lexical: u64,
    /// Its cosine similarity to the query.
    pub semantic: u64,
    /// Their weighted sum.
    pub fused: u64,
    /// The score of each query item in it.
    pub matches: Vec<Match>,
}

/// The results of a search by a backend.
#[derive(Clone, Debug)]
pub struct LocatedHits {
    /// The best chunks, best first.
    pub hits: Vec<LocatedHit>,
    /// Number of the examined chunks that match.
    pub total: usize,
    /// Whether meaning counted, that is, whether the model finds meaning in the query.
    pub has_meaning: bool,
    /// Remarks about the words of the query.
    pub remarks: Remarks,
    /// The state of the index that was searched.
    pub state: BackendState,
}

/// The state of an index that a backend keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendState {
    /// When it was built, in milliseconds since 1970.
    pub as_of: i64,
    /// Number of notebooks in it.
    pub notebooks: u64,
    /// Number of chunks in it.
    pub chunks: u64,
    /// Whether all vectors are compared, as opposed to those that a graph search visits.
    pub is_exact: bool,
    /// Number of chunks that are in the index but were not seen, because the service that keeps it does not show
    /// everything yet. At least this many; 0 where a search sees all that was written.
    pub unseen: u64,
    /// The tier that answers.
    pub tier: Tier,
    /// The name of its model.
    pub model: &'static str,
}

/// A search request to a backend.
pub struct VectorQuery<'a> {
    /// The only collection to search.
    pub collection: &'a str,
    /// The query.
    pub query: &'a SearchQuery,
    /// Number of hits wanted.
    pub most: usize,
    /// Returns `true` once the caller no longer waits.
    pub stop: &'a dyn Fn() -> bool,
}

/// An index of chunks outside this process. A collection that it does not have is [`StorageError::CollectionNotFound`].
pub trait VectorSearch: Send + Sync {
    /// Returns its name in answers, such as `postgres`.
    fn name(&self) -> &'static str;

    /// Returns its kind in one word for people.
    fn kind(&self) -> &'static str {
        "database"
    }

    /// Returns the state of a collection's index.
    ///
    /// # Errors
    /// When there is none, the backend fails, or the index was made by other rules or with another model.
    fn state(&self, collection: &str) -> Result<BackendState, StorageError>;

    /// Returns the best chunks for a query.
    ///
    /// # Errors
    /// As [`Self::state`].
    fn search(&self, question: &VectorQuery<'_>) -> Result<LocatedHits, StorageError>;

    /// Returns chunks whose digests begin with these hexadecimal digits, in order of notebooks and spans; a few are
    /// enough.
    ///
    /// # Errors
    /// As [`Self::state`].
    fn chunks_with(
        &self,
        collection: &str,
        digits: &str,
    ) -> Result<Vec<LocatedChunk>, StorageError>;

    /// Returns every indexed notebook, sorted by path.
    ///
    /// # Errors
    /// As [`Self::state`].
    fn entries(&self, collection: &str) -> Result<Vec<IndexedNotebook>, StorageError>;

    /// Checks that it can be used now.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn ready(&self) -> Result<(), StorageError>;
}

/// A notebook that a backend has indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedNotebook {
    /// Its path in the collection.
    pub notebook: NotePath,
    /// [`NotebookStamp::state`] when it was indexed.
    pub stamp: [u64; 4],
    /// The digest of its bytes.
    pub digest: Digest,
}

/// A change of a notebook in an index.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is new, or its text has changed.
    Put {
        /// The notebook.
        entry: IndexedNotebook,
        /// Its chunks, in order.
        records: Vec<Record>,
    },
    /// Only its stamp has changed.
    Touch(IndexedNotebook),
    /// It was removed.
    Remove(NotePath),
}

/// An index outside this process that can be written.
pub trait VectorIndexing: VectorSearch {
    /// Creates or migrates everything that collections need: the schema, in its newest version.
    ///
    /// # Errors
    /// When the backend fails, or somebody with more privileges has to do something first.
    fn prepare(&self) -> Result<(), StorageError>;

    /// Applies `changes` to a collection atomically: concurrent readers see the old state. If `is_new`, the old
    /// contents are removed first. `changes` may arrive slowly, and an error among them aborts the update.
    ///
    /// # Errors
    /// As [`VectorSearch::state`], or when another process is writing the collection.
    fn update(
        &self,
        collection: &str,
        as_of: i64,
        is_new: bool,
        changes: &mut dyn Iterator<Item = Result<Change, StorageError>>,
    ) -> Result<BackendState, StorageError>;

    /// Removes what a process that failed or was killed has left in a collection that does not have to be updated.
    ///
    /// # Errors
    /// When the backend fails.
    fn tidy(&self, _collection: &str) -> Result<(), StorageError> {
        Ok(())
    }

    /// Removes a collection from the index, if it exists.
    ///
    /// # Errors
    /// When the backend fails.
    fn remove(&self, collection: &str) -> Result<(), StorageError>;

    /// Returns whether it can have the second tier.
    fn has_second_tier(&self) -> bool {
        true
    }

    /// Takes the exclusive right to fill the second tier of a collection with vectors of `model`. The collection can be
    /// updated meanwhile.
    ///
    /// # Errors
    /// As [`VectorSearch::state`], or when another process is filling it.
    fn fill_tier<'a>(
        &'a self,
        collection: &'a str,
        model: &'a dyn Embedder,
    ) -> Result<Box<dyn TierFilling + 'a>, StorageError>;
}

/// The exclusive right to fill the second tier of a collection in a backend, with one model. Vectors are kept by the
/// passage they belong to, and survive when its notebook is indexed again.
pub trait TierFilling {
    /// Returns what is missing now.
    ///
    /// # Errors
    /// As [`VectorSearch::state`].
    fn gaps(&mut self) -> Result<TierGaps, StorageError>;

    /// Records the passages of notebooks, and returns those of them that have a vector. Notebooks that are indexed in
    /// another state are left as they are.
    ///
    /// # Errors
    /// When the backend fails.
    fn known(&mut self, notebooks: &[NotebookKeys]) -> Result<HashSet<VectorKey>, StorageError>;

    /// Stores vectors durably, and returns when they are. Searches do not use them yet.
    ///
    /// # Errors
    /// When the backend fails.
    fn keep(&mut self, vectors: &[VectorRecord]) -> Result<(), StorageError>;

    /// Lets the second tier answer if every chunk has a vector, and removes vectors that are no longer needed. Returns
    /// whether it answers. Waits for a process that is updating the collection, unless `stop` returns `true`.
    ///
    /// # Errors
    /// As [`VectorSearch::state`].
    fn finish(&mut self, stop: &dyn Fn() -> bool) -> Result<bool, StorageError>;
}

/// The part of a collection's second tier that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierGaps {
    /// A number that changes with every update of the collection.
    pub revision: i64,
    /// Number of chunks in the collection.
    pub chunks: usize,
    /// Notebooks with chunks that have no vector, sorted by path.
    pub notebooks: Vec<NotebookGap>,
}

/// A notebook whose chunks do not all have a vector of the second tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotebookGap {
    /// Its path in the collection.
    pub notebook: NotePath,
    /// The digest of its bytes when it was indexed.
    pub digest: Digest,
    /// Number of its chunks.
    pub chunks: usize,
    /// Number of its chunks that have no vector.
    pub missing: usize,
}

/// The passages of a notebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotebookKeys {
    /// Its path in the collection.
    pub notebook: NotePath,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The keys of its chunks, in order.
    pub keys: Vec<VectorKey>,
}

/// Returns whether a file of a collection is a notebook, judging by its path.
#[must_use]
pub fn is_notebook(file: &NotePath) -> bool {
    let name = file.file_name();
    let ending = name.len().checked_sub(3).and_then(|at| name.get(at..));
    name.len() > 3
        && ending.is_some_and(|ending| ending.eq_ignore_ascii_case(".md"))
        && file.segments().next() != Some(ARTIFACTS)
}

/// Returns whether a file can belong to [`TOP`], judging by its path: it is at the top, or below its [`ARTIFACTS`].
#[must_use]
pub fn is_at_top(file: &NotePath) -> bool {
    let mut segments = file.segments();
    segments.next() == Some(ARTIFACTS) || segments.next().is_none()
}

/// Returns whether a folder of this name is a collection.
#[must_use]
pub fn is_collection_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['_', '.']) && !name.contains(['/', '\\', '\0'])
}
