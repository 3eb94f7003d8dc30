//! Folders that become tenants, and tenants that become folders, with their history and the ids of their sections.

use std::{io, path::Path};

use sectile_markdown::{Digest, NotePath};
use sectile_vault::{JournalKey, Root, Walk, WalkError, WorkingCopy};

use super::{
    CopiedFile, FileWrite, KnownTenant, LogChange, LogName, SharedFolderError, TenantCommit,
    TenantCommitOutcome, TenantError, TenantQuota, TenantStore,
    shared_folder::{batch_len, commit_id},
};
use crate::storage::StorageError;

/// The largest file that is taken along: as much as the editor accepts, and a picture more.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The most bytes of one commit of an import, unless one file has more.
const MAX_COMMIT_BYTES: usize = 4 << 20;

/// The files that were taken along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferReport {
    /// Their number.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The paths of files that were left out because they are too large or cannot be read, sorted.
    pub left_out: Vec<String>,
}

/// A folder that is to become a tenant, and the paths of its files.
pub struct FolderImport<'a> {
    folder: &'a Root,
    paths: Vec<NotePath>,
}

impl<'a> FolderImport<'a> {
    /// Lists the files of a folder that `walk` selects.
    ///
    /// # Errors
    /// [`SharedFolderError`] when the folder cannot be read, or its files exceed the quota of a tenant.
    pub fn new(
        folder: &'a Root,
        walk: &Walk,
        quota: TenantQuota,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, SharedFolderError> {
        let inventory = folder.inventory(None, walk, stop, &mut |_| {});
        let inventory = inventory.map_err(|error| match error {
            WalkError::Stopped => SharedFolderError::Cancelled,
            _ => SharedFolderError::Local(io::ErrorKind::NotFound),
        })?;
        let documents = inventory.documents.into_iter().map(|(path, _)| path);
        let mut paths: Vec<NotePath> = documents.chain(inventory.others).collect();
        paths.sort_unstable();
        // Larger ones are left out.
        let stamps = folder.stamps(&paths).into_iter().flatten();
        let taken = stamps.filter(|stamp| stamp.bytes <= MAX_FILE_BYTES);
        let (files, bytes) = taken.fold((0, 0_u64), |(files, bytes), stamp| {
            (files + 1, bytes.saturating_add(stamp.bytes))
        });
        quota.check((0, 0), (files, bytes))?;
        Ok(Self { folder, paths })
    }

    /// Fills an empty tenant with the files of the folder, and with its history.
    ///
    /// # Errors
    /// [`SharedFolderError`] when there is no such tenant, it has files, or the folder or the store fails. What was
    /// imported by then stays; remove the tenant to begin again.
    pub fn run(
        self,
        store: &dyn TenantStore,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<TransferReport, SharedFolderError> {
        let Self { folder, paths } = self;
        let update = store.update(tenant, &KnownTenant::default(), stop)?;
        if !update.files.is_empty() || !update.logs.is_empty() {
            return Err(SharedFolderError::Store {
                message: "The tenant has files already. Remove it first, or give another name."
                    .to_owned(),
            });
        }
        let mut report = TransferReport::default();
        let mut revision = update.revision;
        // The history comes first, so that no document is there without it.
        let mut commit = TenantCommit {
            id: commit_id()?,
            files: Vec::new(),
            logs: Vec::new(),
        };
        for log in LogName::ALL {
            let bytes = folder.read_log(log)?;
            if !bytes.is_empty() {
                commit.logs.push((log, LogChange::Replace(bytes)));
            }
        }
        let mut pending = 0;
        let mut paths = paths.into_iter().peekable();
        loop {
            if let Some(path) = paths.next() {
                match read(folder, &path) {
                    Some((state, bytes)) => {
                        report.files += 1;
                        report.bytes += state.bytes;
                        pending += bytes.len();
                        let content = Some((state, bytes));
                        commit.files.push(FileWrite { path, content });
                    }
                    None => report.left_out.push(path.as_str().to_owned()),
                }
            }
            let is_last = paths.peek().is_none();
            if pending < MAX_COMMIT_BYTES && !is_last {
                continue;
            }
            if stop() {
                return Err(SharedFolderError::Cancelled);
            }
            revision = match store.commit(tenant, &revision, &commit)? {
                TenantCommitOutcome::Committed(revision) => revision,
                TenantCommitOutcome::Behind => return Err(SharedFolderError::Busy),
            };
            if is_last {
                return Ok(report);
            }
            commit = TenantCommit {
                id: commit_id()?,
                files: Vec::new(),
                logs: Vec::new(),
            };
            pending = 0;
        }
    }
}

fn read(folder: &Root, path: &NotePath) -> Option<(CopiedFile, Vec<u8>)> {
    let bytes = folder.read(path, MAX_FILE_BYTES).ok()?;
    let state = CopiedFile {
        digest: Digest::of(&bytes),
        bytes: bytes.len() as u64,
        modified: folder.times(path).modified.unwrap_or_default(),
    };
    Some((state, bytes))
}

/// Writes the files of a tenant, and its history, into the empty folder `location`.
///
/// # Errors
/// [`SharedFolderError`] when there is no such tenant, or the folder or the store fails.
pub fn export(
    store: &dyn TenantStore,
    tenant: &str,
    location: &Path,
    key: JournalKey,
    stop: &dyn Fn() -> bool,
) -> Result<TransferReport, SharedFolderError> {
    let update = store.update(tenant, &KnownTenant::default(), stop)?;
    let copy = WorkingCopy::open(location, key)?;
    let files = update.files.iter();
    let files: Vec<(&NotePath, CopiedFile)> = files
        .filter_map(|file| Some((&file.path, file.state?)))
        .collect();
    let mut report = TransferReport::default();
    let mut rest = files.as_slice();
    while !rest.is_empty() {
        let (batch, others) = rest.split_at(batch_len(rest));
        rest = others;
        let asked = batch
            .iter()
            .map(|(path, state)| ((*path).clone(), state.digest));
        let found = store.read(tenant, &asked.collect::<Vec<_>>(), stop)?;
        for ((path, state), bytes) in batch.iter().zip(found) {
            // It was changed since it was listed: then the whole state is another one.
            let bytes = bytes.filter(|bytes| Digest::of(bytes) == state.digest);
            let bytes = bytes.ok_or(SharedFolderError::Busy)?;
            copy.put(path, &bytes, state.modified)?;
            report.files += 1;
            report.bytes += state.bytes;
        }
    }
    for log in update.logs {
        copy.write_log(log.log, 0, log.change.bytes())?;
    }
    Ok(report)
}

/// Creates a tenant if there is none, and returns whether it did.
///
/// # Errors
/// When the store fails.
pub fn create_if_missing(store: &dyn TenantStore, tenant: &str) -> Result<bool, TenantError> {
    match store.create(tenant) {
        Ok(()) => Ok(true),
        Err(TenantError::Exists) => Ok(false),
        Err(TenantError::NotFound) => Err(StorageError::failed(
            "The name of a tenant has 1 to 32 lower-case letters, digits, - and _.",
        )
        .into()),
        Err(error) => Err(error),
    }
}
