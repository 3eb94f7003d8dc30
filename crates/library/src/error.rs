//! Errors of the library. They know no protocol: a world decides what callers are told about each.

use crate::{ids::SourceId, storage::StorageError};

/// The reason why a passage that an id names cannot be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoneReason {
    /// The notebook exists, but its bytes there have changed, and the passage is nowhere else.
    Changed,
    /// The same passage is elsewhere now.
    Moved,
    /// The notebook no longer exists.
    Deleted,
    /// The notebook exists, but has grown too large to be read.
    TooLarge,
}

/// The part that failed, for the operator who has to look into it, with the kind of its storage, such as `folder`,
/// `bucket` or `database`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedPart {
    /// The storage of the notebooks.
    Notebooks(&'static str),
    /// The storage of the artifacts derived from them.
    Artifacts(&'static str),
    /// The storage of the index.
    Index(&'static str),
    /// This process, or the system it runs on.
    Process,
}

impl GoneReason {
    /// Returns the reason in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
            Self::TooLarge => "too_large",
        }
    }
}

/// The reason why a request cannot be fulfilled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// There is no such collection.
    #[error("There is no such collection.")]
    CollectionNotFound,
    /// A live folder is not where it was when it was opened.
    #[error("The folder was moved or removed.")]
    FolderNotFound,
    /// The passage is not where its id says.
    #[error("The passage is not where its id says.")]
    SourceNotFound {
        /// The id.
        source_id: String,
        /// The reason.
        reason: GoneReason,
        /// The id of the same passage where it is now, if it only moved.
        new_source_id: Option<SourceId>,
    },
    /// The collection has no such artifact.
    #[error("The collection has no such artifact.")]
    ArtifactNotFound {
        /// The id that was asked for.
        artifact_id: String,
    },
    /// The id of a set stands for an artifact only if the set has a single one.
    #[error("{message}")]
    AmbiguousArtifact {
        /// A sentence that names some of them.
        message: String,
    },
    /// A storage failed, or this process did. The message is one sentence without a local path.
    #[error("{message}")]
    Failed {
        /// The sentence to show.
        message: String,
        /// The part to look into.
        at: FailedPart,
    },
    /// The files of an index changed after it was opened. It is reopened, or rebuilt in memory.
    #[error("The index was changed while it was searched.")]
    IndexDamaged,
    /// The caller no longer waits for the answer.
    #[error("The call was cancelled.")]
    Cancelled,
}

impl LibraryError {
    /// Converts the error of the storage `at`.
    #[must_use]
    pub fn of_storage(error: StorageError, at: FailedPart) -> Self {
        match error {
            StorageError::CollectionNotFound => Self::CollectionNotFound,
            StorageError::Cancelled => Self::Cancelled,
            StorageError::OtherRules { message } | StorageError::Failed { message } => {
                Self::Failed { message, at }
            }
        }
    }

    /// Creates a failure of this process, or of the system it runs on.
    pub(crate) fn of_process(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            at: FailedPart::Process,
        }
    }
}
