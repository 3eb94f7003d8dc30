//! Why the library cannot do what it was asked. Knows no protocol: a world says what callers hear of each.

use crate::{ids::SourceId, storage::StorageError};

/// Why a passage that an id names cannot be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The notebook is there, but its bytes at that place are others now, and the passage is nowhere else.
    Changed,
    /// The same passage is somewhere else now.
    Moved,
    /// The notebook is gone.
    Deleted,
    /// The notebook is there, but has grown beyond what is read.
    TooLarge,
}

/// The part that failed, for the operator who has to look at it, with the kind of its storage, such as `folder`, `bucket`
/// or `database`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedPart {
    /// The storage of the notebooks.
    Notebooks(&'static str),
    /// The storage of what was derived from them.
    Artifacts(&'static str),
    /// Wherever the index is kept.
    Index(&'static str),
    /// This process, or the system that it runs on.
    Process,
}

impl Gone {
    /// In a word.
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

/// Why a request cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// There is no such collection.
    #[error("There is no such collection.")]
    CollectionNotFound,
    /// The passage is not where its id says.
    #[error("The passage is not where its id says.")]
    SourceNotFound {
        /// The id.
        source_id: String,
        /// What became of the passage.
        reason: Gone,
        /// The id of the same passage where it is now, if it only moved.
        new_source_id: Option<SourceId>,
    },
    /// The collection has no such artifact.
    #[error("The collection has no such artifact.")]
    ArtifactNotFound {
        /// The id that was asked for.
        artifact_id: String,
    },
    /// The id of a set stands for its artifact only when it holds one.
    #[error("{message}")]
    AmbiguousArtifact {
        /// A sentence that names some of them.
        message: String,
    },
    /// A storage failed, or this process did. One sentence, without a path of this machine.
    #[error("{message}")]
    Failed {
        /// What is wrong.
        message: String,
        /// What has to be looked at.
        at: FailedPart,
    },
    /// The files of an index are not what they were when it was opened. It is opened again, or made again in memory.
    #[error("The index was changed while it was searched.")]
    IndexDamaged,
    /// Nobody waits for the answer.
    #[error("The call was cancelled.")]
    Cancelled,
}

impl LibraryError {
    /// What a storage said, and which one it was.
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

    /// A failure of this process, or of the system that it runs on.
    pub(crate) fn of_process(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            at: FailedPart::Process,
        }
    }
}
