//! Folders of many tenants that are kept in a database or in object storage, so that any number of servers can edit them.
//!
//! A [`TenantStore`] keeps the files of each tenant, with the journal and the ids of its documents, under a revision that
//! every commit replaces: of two commits on one revision, one is refused. A server works on a copy of the folder
//! ([`SharedFolder`]), where the editor and the index are those of any folder. Nothing is answered before the store has
//! the change, and a change that the store refused is taken back and made again on the newer revision.

mod open_tenants;
mod shared_folder;
#[cfg(test)]
mod tests;
mod transfer;

use std::collections::BTreeMap;

use sectile_markdown::{Digest, NotePath};
// Re-exported because a store takes them, so that its author needs no second import.
pub use sectile_vault::{CopiedFile, LogChange, LogName};

pub use self::{
    open_tenants::{FolderOpening, OpenTenants, TenantFolderOptions},
    shared_folder::{FolderAccess, SharedFolder, SharedFolderError, TenantQuota, call},
    transfer::{FolderImport, TransferReport, create_if_missing, export},
};
use crate::storage::StorageError;

/// The longest name of a tenant, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// Returns whether `name` can be the name of a tenant: lower-case letters, digits, `-` and `_`, so that it is also a plain
/// part of a path or a key.
#[must_use]
pub fn is_tenant_name(name: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// A state of a tenant's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRevision {
    /// Grows by one with every commit.
    pub number: u64,
    /// The id of the commit that made it. A tenant that was removed and created again repeats numbers, but not ids.
    pub commit: String,
}

/// A file of a tenant, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantFile {
    /// Its path.
    pub path: NotePath,
    /// Its state; `None` if it was removed.
    pub state: Option<CopiedFile>,
}

/// The state of a tenant that a caller has already.
#[derive(Clone, Debug, Default)]
pub struct KnownTenant {
    /// The revision of its files.
    pub revision: Option<TenantRevision>,
    /// The logs that it has: the number of the revision at which each was last replaced or began, and its length in bytes.
    /// The number is 0 if that is not known.
    pub logs: BTreeMap<LogName, (u64, u64)>,
}

/// The difference between a known state of a tenant and the present one.
#[derive(Clone, Debug)]
pub struct TenantUpdate {
    /// The present revision.
    pub revision: TenantRevision,
    /// Whether `files` are all files, as opposed to those that changed.
    pub is_complete: bool,
    /// Files that are new, changed or removed.
    pub files: Vec<TenantFile>,
    /// Logs that have changed.
    pub logs: Vec<LogUpdate>,
}

/// A change of a log of a tenant.
#[derive(Clone, Debug)]
pub struct LogUpdate {
    /// The log.
    pub log: LogName,
    /// The number of the revision at which it was last replaced, or began.
    pub replaced_at: u64,
    /// The change since the known state.
    pub change: LogChange,
}

/// A change of a tenant's folder: all of it is made, or nothing.
#[derive(Clone, Debug)]
pub struct TenantCommit {
    /// An id that no other commit has. A commit that is sent twice is made once.
    pub id: String,
    /// The files that change.
    pub files: Vec<FileWrite>,
    /// The logs that change.
    pub logs: Vec<(LogName, LogChange)>,
}

/// A file that a commit changes.
#[derive(Clone, Debug)]
pub struct FileWrite {
    /// Its path.
    pub path: NotePath,
    /// Its new state and bytes; `None` to remove it.
    pub content: Option<(CopiedFile, Vec<u8>)>,
}

/// The outcome of a commit that reached the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantCommitOutcome {
    /// The change is made, and durable.
    Committed(TenantRevision),
    /// The tenant has another revision now; nothing was changed.
    Behind,
}

/// A tenant in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantSummary {
    /// Its name.
    pub name: String,
    /// The number of its revision.
    pub revision: u64,
    /// The number of its files.
    pub files: u64,
    /// The bytes of its files.
    pub bytes: u64,
}

/// The reason why a store refused or failed a request about a tenant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TenantError {
    /// There is no such tenant.
    #[error("There is no such tenant.")]
    NotFound,
    /// There is such a tenant already.
    #[error("There is such a tenant already.")]
    Exists,
    /// A commit may have been made or not: its answer was lost.
    #[error("{message}")]
    OutcomeUnknown {
        /// What happened, and what to do, in complete sentences.
        message: String,
    },
    /// The store failed, or cannot be reached. Nothing was changed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A store of tenants' folders. Every method may block; those with `stop` end with [`StorageError::Cancelled`] once it
/// returns `true`.
pub trait TenantStore: Send + Sync {
    /// Returns its kind in one word for people, such as `database`.
    fn kind(&self) -> &'static str;

    /// Creates or migrates what tenants need, such as tables.
    ///
    /// # Errors
    /// When the store fails, or somebody with more privileges has to do something first.
    fn prepare(&self) -> Result<(), StorageError>;

    /// Checks that it can be used now.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn ready(&self) -> Result<(), StorageError>;

    /// Returns all tenants, sorted by name.
    ///
    /// # Errors
    /// When the store fails.
    fn tenants(&self, stop: &dyn Fn() -> bool) -> Result<Vec<TenantSummary>, StorageError>;

    /// Creates a tenant without files.
    ///
    /// # Errors
    /// [`TenantError::Exists`] when there is one of this name.
    fn create(&self, tenant: &str) -> Result<(), TenantError>;

    /// Removes a tenant with everything that the store has of it.
    ///
    /// # Errors
    /// [`TenantError::NotFound`] when there is none of this name.
    fn remove(&self, tenant: &str, stop: &dyn Fn() -> bool) -> Result<(), TenantError>;

    /// Returns the present revision of a tenant.
    ///
    /// # Errors
    /// [`TenantError::NotFound`] when there is none of this name.
    fn revision(
        &self,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantRevision, TenantError>;

    /// Returns the difference between `known` and the present state.
    ///
    /// # Errors
    /// As [`Self::revision`].
    fn update(
        &self,
        tenant: &str,
        known: &KnownTenant,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantUpdate, TenantError>;

    /// Returns the bytes of files, in the same order; `None` for one that has other bytes now, or none. The caller
    /// compares the digests.
    ///
    /// # Errors
    /// As [`Self::revision`].
    fn read(
        &self,
        tenant: &str,
        files: &[(NotePath, Digest)],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<Vec<u8>>>, TenantError>;

    /// Makes a change if the tenant's revision is `base`. A commit that has been made already is not made again.
    ///
    /// # Errors
    /// [`TenantError::OutcomeUnknown`] when it may have been made; with any other error it was not.
    fn commit(
        &self,
        tenant: &str,
        base: &TenantRevision,
        commit: &TenantCommit,
    ) -> Result<TenantCommitOutcome, TenantError>;

    /// Removes what no revision needs any more and is at least `min_age_seconds` old. Returns the number of things removed.
    ///
    /// # Errors
    /// As [`Self::revision`].
    fn clean(
        &self,
        tenant: &str,
        min_age_seconds: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<u64, TenantError>;
}
