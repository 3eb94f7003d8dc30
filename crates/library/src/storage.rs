//! Where notebooks and artifacts come from, and where they are searched: what every backend has to do, and nothing of how.

use std::any::Any;

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{Chunk, Match, Query, Record, Remarks};

/// The folder of a collection that holds what was derived from it.
pub const ARTIFACTS: &str = "_artifacts";

/// The collection of the notebooks that lie at the top of a storage, beside the folders. It is there while there is such a
/// notebook. No folder can be called so, and it keeps its name whatever the storage is called.
pub const TOP: &str = ".";

/// Why a backend did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// There is no such collection.
    #[error("There is no such collection.")]
    CollectionNotFound,
    /// Nobody waits for it any longer.
    #[error("The call was cancelled.")]
    Cancelled,
    /// The index was made by other rules, or with another model. Whole sentences, as with a failure.
    #[error("{message}")]
    OtherRules {
        /// What is wrong.
        message: String,
    },
    /// The backend failed, or cannot be reached. Whole sentences: what is wrong, and what to do unless that is to try again.
    #[error("{message}")]
    Failed {
        /// What is wrong.
        message: String,
    },
}

impl StorageError {
    /// A failure.
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Failed { message }
    }
}

/// A notebook, and what the storage says of its file without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Relative to the collection.
    pub notebook: NotePath,
    /// Its state.
    pub stamp: Stamp,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub bytes: u64,
    /// Milliseconds since 1970.
    pub modified: i64,
    /// When it changed last, in nanoseconds since 1970; 0 where equal states are certainly equal bytes, and the largest number
    /// where they may always be others.
    pub changed: u64,
    /// Everything that the storage can tell of a file's state (length, times in nanoseconds, number, version), condensed.
    /// Equal stamps mean: most likely the same bytes. Whoever must be sure reads and hashes.
    pub state: [u64; 4],
}

/// A limit that a storage has, for those who ask for all limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageLimit {
    /// Its name.
    pub name: &'static str,
    /// The most that is allowed.
    pub value: u64,
    /// What it bounds, in a few words.
    pub bounds: &'static str,
}

/// A storage of notebooks: collections, and in them notebooks and other files.
pub trait NotebookStorage: Send + Sync {
    /// The names of all collections, sorted.
    ///
    /// # Errors
    /// When the storage fails.
    fn collections(&self) -> Result<Vec<String>, StorageError>;

    /// The notebooks of a collection, sorted by path; artifacts are none.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection.
    fn notebooks(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Listed>, StorageError>;

    /// The bytes of a file of the collection as they are now; `None` when it is not there (any more), is behind a link, is no
    /// regular file, or is larger than allowed.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection.
    fn read(&self, collection: &str, file: &NotePath) -> Result<Option<Vec<u8>>, StorageError>;

    /// The same of a notebook that was listed a moment ago, so that it need not be asked again whether it counts.
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

    /// The most bytes that a notebook may have. A larger one is listed, and never read.
    fn max_notebook_bytes(&self) -> u64;

    /// Whether a notebook that [`Self::read`] does not give out is there, and only too large for that.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection.
    fn is_too_large(&self, collection: &str, notebook: &NotePath) -> Result<bool, StorageError> {
        let listed = self.notebooks(collection, &|| false)?;
        let at = listed.binary_search_by(|one| one.notebook.cmp(notebook));
        Ok(at.is_ok_and(|at| listed[at].stamp.bytes > self.max_notebook_bytes()))
    }

    /// What it is, in a word for people, such as `folder` or `bucket`.
    fn kind(&self) -> &'static str;

    /// What else it bounds.
    fn limits(&self) -> &'static [StorageLimit] {
        &[]
    }

    /// How many files are worth to be read at the same time.
    fn reads_at_once(&self) -> usize {
        1
    }

    /// Whether there is such a collection.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is none.
    fn require(&self, collection: &str) -> Result<(), StorageError> {
        match self.collections()?.iter().any(|name| name == collection) {
            true => Ok(()),
            false => Err(StorageError::CollectionNotFound),
        }
    }

    /// Calls `changed` when something in a collection may have changed, until what is returned is dropped. `None` where a
    /// storage cannot tell.
    fn watch(&self, _: &str, _: Box<dyn Fn() + Send + Sync>) -> Option<Box<dyn Any + Send + Sync>> {
        None
    }

    /// What the storage itself is called, where that may be shown: for the title of [`TOP`].
    fn name(&self) -> Option<String> {
        None
    }

    /// Whether it can be used now.
    ///
    /// # Errors
    /// Says why not.
    fn ready(&self) -> Result<(), StorageError> {
        self.collections().map(drop)
    }
}

/// A storage of what was derived from notebooks.
pub trait ArtifactStorage: Send + Sync {
    /// All files below [`ARTIFACTS`] of a collection, sorted, relative to the collection.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is no such collection, where the storage can tell.
    fn artifact_files(
        &self,
        collection: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, StorageError>;

    /// What it is, in a word for people, such as `folder` or `bucket`.
    fn artifact_storage_kind(&self) -> &'static str;

    /// What it bounds.
    fn artifact_limits(&self) -> &'static [StorageLimit] {
        &[]
    }

    /// The bytes of such a file as they are now; `None` as with [`NotebookStorage::read`].
    ///
    /// # Errors
    /// When the storage fails.
    fn read_artifact(
        &self,
        collection: &str,
        file: &NotePath,
    ) -> Result<Option<Vec<u8>>, StorageError>;
}

/// A chunk in the index of a backend, and where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The notebook.
    pub notebook: NotePath,
    /// The digest of the whole notebook when it was indexed.
    pub notebook_digest: Digest,
    /// The chunk.
    pub chunk: Chunk,
    /// The title of the notebook and the headings above the chunk, outermost first.
    pub path: Vec<String>,
}

/// A chunk that was found. Scores are in millionths.
#[derive(Clone, Debug)]
pub struct LocatedHit {
    /// The chunk.
    pub located: Located,
    /// What its words come to, as a part of the best.
    pub lexical: u64,
    /// How near its meaning is.
    pub semantic: u64,
    /// Both together.
    pub fused: u64,
    /// What each word counts in it.
    pub matches: Vec<Match>,
}

/// What a backend found.
#[derive(Clone, Debug)]
pub struct LocatedHits {
    /// The best chunks, best first.
    pub hits: Vec<LocatedHit>,
    /// How many of the chunks that were looked at match.
    pub total: usize,
    /// Whether meaning counted: the question says something to the model.
    pub has_meaning: bool,
    /// What there is to say of the words.
    pub remarks: Remarks,
    /// What was searched.
    pub state: SharedState,
}

/// The state of an index that a backend keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedState {
    /// When it was made, in milliseconds since 1970.
    pub as_of: i64,
    /// How many notebooks it has.
    pub notebooks: u64,
    /// How many chunks it has.
    pub chunks: u64,
    /// Whether all vectors are compared, or those that a graph leads to.
    pub is_exact: bool,
}

/// A question to a backend.
pub struct Question<'a> {
    /// Where to look, and nowhere else.
    pub collection: &'a str,
    /// The question, taken apart.
    pub query: &'a Query,
    /// The question.
    pub text: &'a str,
    /// How many hits are wanted.
    pub most: usize,
    /// Says whether nobody waits any longer.
    pub stop: &'a dyn Fn() -> bool,
}

/// An index of chunks outside this process. A collection that it does not have is [`StorageError::CollectionNotFound`].
pub trait VectorSearch: Send + Sync {
    /// What it is called in answers, such as `postgres`.
    fn name(&self) -> &'static str;

    /// What it is, in a word for people.
    fn kind(&self) -> &'static str {
        "database"
    }

    /// The state of a collection's index.
    ///
    /// # Errors
    /// When there is none, or the backend fails, or the index was made by other rules or with another model.
    fn state(&self, collection: &str) -> Result<SharedState, StorageError>;

    /// The best chunks for a question.
    ///
    /// # Errors
    /// As [`Self::state`].
    fn search(&self, question: &Question<'_>) -> Result<LocatedHits, StorageError>;

    /// The chunks whose digests begin with these hexadecimal digits, in order of notebooks and spans; a few are enough.
    ///
    /// # Errors
    /// As [`Self::state`].
    fn chunks_with(&self, collection: &str, digits: &str) -> Result<Vec<Located>, StorageError>;

    /// Every notebook that is indexed, sorted by path.
    ///
    /// # Errors
    /// As [`Self::state`].
    fn entries(&self, collection: &str) -> Result<Vec<IndexedNotebook>, StorageError>;

    /// Whether it can be used now.
    ///
    /// # Errors
    /// Says why not.
    fn ready(&self) -> Result<(), StorageError>;
}

/// A notebook that a backend has indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedNotebook {
    /// Its path in the collection.
    pub notebook: NotePath,
    /// [`Stamp::state`] when it was indexed.
    pub stamp: [u64; 4],
    /// The digest of its bytes.
    pub digest: Digest,
}

/// What becomes of a notebook in an index.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is new, or says something else.
    Put {
        /// Which one.
        entry: IndexedNotebook,
        /// Its chunks, in order.
        records: Vec<Record>,
    },
    /// Only its stamp is another one.
    Touch(IndexedNotebook),
    /// It is gone.
    Remove(NotePath),
}

/// An index outside this process that can be written.
pub trait VectorIndexing: VectorSearch {
    /// Makes everything ready that collections need: the schema, in its newest version.
    ///
    /// # Errors
    /// When the backend fails, or somebody with more rights has to do something first.
    fn prepare(&self) -> Result<(), StorageError>;

    /// Makes `changes` to a collection, all of them or none: whoever reads meanwhile sees what was there before. Where
    /// `is_new`, whatever was there before goes first. `changes` may come slowly, and an error of theirs ends it all.
    ///
    /// # Errors
    /// As [`VectorSearch::state`], or when somebody else is writing the collection.
    fn update(
        &self,
        collection: &str,
        as_of: i64,
        is_new: bool,
        changes: &mut dyn Iterator<Item = Result<Change, StorageError>>,
    ) -> Result<SharedState, StorageError>;

    /// Removes a collection from the index, if it is there.
    ///
    /// # Errors
    /// When the backend fails.
    fn remove(&self, collection: &str) -> Result<(), StorageError>;
}

/// Whether a file of a collection, by its path, is a notebook.
#[must_use]
pub fn is_notebook(file: &NotePath) -> bool {
    let name = file.file_name();
    let ending = name.len().checked_sub(3).and_then(|at| name.get(at..));
    name.len() > 3
        && ending.is_some_and(|ending| ending.eq_ignore_ascii_case(".md"))
        && file.segments().next() != Some(ARTIFACTS)
}

/// Whether a file, by its path, can be one of [`TOP`]: it lies at the top, or below its [`ARTIFACTS`].
#[must_use]
pub fn is_at_top(file: &NotePath) -> bool {
    let mut segments = file.segments();
    segments.next() == Some(ARTIFACTS) || segments.next().is_none()
}

/// Whether a folder of this name is a collection.
#[must_use]
pub fn is_collection_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['_', '.']) && !name.contains(['/', '\\', '\0'])
}
