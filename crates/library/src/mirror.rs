//! Indexes that another place keeps for several processes, of which each process has a copy in a folder.
//!
//! The copy is an index folder like any other. So an answer from it has the same bytes as one on the machine where the
//! index was built, and what differs from the notebooks is indexed in memory.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::storage::StorageError;

/// A place that keeps indexes, and the folder of their copies.
pub trait IndexMirror: Send + Sync {
    /// Returns its name in answers, such as `s3`.
    fn name(&self) -> &'static str;

    /// Returns its kind in one word for people.
    fn kind(&self) -> &'static str {
        "bucket"
    }

    /// Returns the folder of the copy of a collection's index. It need not exist.
    fn folder(&self, collection: &str) -> PathBuf;

    /// Brings the copy of a collection's index up to date. Where the place has none, there is no copy afterwards either,
    /// unless the place seems to have been emptied: then the copy stays.
    ///
    /// # Errors
    /// When the place fails, or keeps something that is not an index for this program. The copy then stays as it is.
    fn fetch(&self, collection: &str, stop: &(dyn Fn() -> bool + Sync))
    -> Result<(), StorageError>;

    /// Checks that the place can be used now.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn ready(&self) -> Result<(), StorageError>;
}

/// A place that keeps indexes and takes new states of them, from any process.
pub trait IndexPublishing: IndexMirror {
    /// Checks out the published state of a collection's index, to make the next one of it.
    ///
    /// # Errors
    /// When the place fails, or another process on this machine is building the same index.
    fn begin<'a>(
        &'a self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Box<dyn IndexBuild + 'a>, StorageError>;

    /// Returns the collections that have an index in the place, sorted.
    ///
    /// # Errors
    /// When the place fails.
    fn published(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<PublishedIndex>, StorageError>;

    /// Removes what no state needs any more and no build may need yet.
    ///
    /// # Errors
    /// When the place fails. What is left is removed next time.
    fn clean(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<CleanReport, StorageError>;

    /// Removes the index of a collection, and the copies on this machine. Returns whether there was one.
    ///
    /// # Errors
    /// When the place fails. Removing it again is safe.
    fn remove(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool, StorageError>;

    /// Copies the published state of a collection's index into a folder, which can be used as an index of its own.
    ///
    /// # Errors
    /// [`StorageError::CollectionNotFound`] when there is none, or the place or the system fails.
    fn export(
        &self,
        collection: &str,
        to: &Path,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), StorageError>;
}

/// An index that is being built in a folder of this process, from a state that was published.
pub trait IndexBuild {
    /// Returns the folder, which holds that state and is changed as any index folder.
    fn folder(&self) -> &Path;

    /// Returns why the published state could not be built upon, if it could not.
    fn remade(&self) -> Option<&str>;

    /// Publishes the state of the folder, unless another one was published meanwhile.
    ///
    /// # Errors
    /// When the place fails. Either state may be the published one then, and both are whole.
    fn publish(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Publication, StorageError>;
}

/// The outcome of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// The state of the folder is the published one now.
    Published,
    /// It was already.
    Unchanged,
    /// Another process published a state first. The next build starts from that one.
    Superseded,
}

/// An index in the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PublishedIndex {
    /// The collection.
    pub collection_id: String,
    /// When the index was built, in milliseconds since 1970.
    pub index_as_of: i64,
    /// The size of its files.
    pub bytes: u64,
    /// The number of states published so far.
    pub generation: u64,
}

/// The result of a cleaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CleanReport {
    /// Number of objects that are needed.
    pub needed: usize,
    /// Number of objects that were removed.
    pub removed: usize,
    /// Number of objects that are not needed, but recent enough to belong to a build that is still running.
    pub recent: usize,
}
