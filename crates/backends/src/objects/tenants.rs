//! The folders of tenants in object storage.
//!
//! A tenant is one object that is replaced (`heads/NAME`) and many that never are (`objects/NAME/SHA-256`): the bytes of
//! files, those of small ones together if a commit has many, the commits since a base, and the base, which is a complete
//! state. A commit writes its objects first, and then replaces the head on condition that nobody else has, so everything that
//! a head names is there. Every 64 commits, a new base is written with the head.

mod commit;
mod format;
mod packs;
mod state;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use parking_lot::Mutex;
use sectile_library::{
    StorageError,
    tenants::{
        KnownTenant, TenantCommit, TenantCommitOutcome, TenantError, TenantRevision, TenantStore,
        TenantSummary, TenantUpdate,
    },
};
use sectile_markdown::{Digest, NotePath};

use self::{
    format::{HEADS, Head, head_key, is_newer, object_key, objects_prefix},
    state::{ObjectCache, TenantState},
};
use super::{BlobError, BlobStore, ConditionalRead, CreateOutcome, ETag, ObjectError};
use crate::{BlockingRuntime, S3Settings};

/// The longest head that is read: 64 commits and the ids of 256 take some 20 kB.
const MAX_HEAD_BYTES: u64 = 1 << 20;
/// The most tenants whose heads are remembered.
const MAX_HEADS: usize = 10_000;
/// The most objects on one page of a listing.
const PAGE: usize = 1_000;
/// The number of objects that are read or written at the same time: a round trip costs more than a note.
const AT_ONCE: usize = 16;

/// The folders of tenants in object storage.
pub struct ObjectTenants {
    blobs: BlobStore,
    /// The heads as they were read last.
    heads: Mutex<HashMap<String, KnownHead>>,
    /// Bases and commits that were read or written.
    cache: ObjectCache,
    /// The newest state that this server had to read or has made, by tenant, with the id of its last commit.
    states: Mutex<HashMap<String, (String, Arc<TenantState>)>>,
}

/// A head, and the tag of its state.
#[derive(Clone)]
struct KnownHead {
    head: Head,
    tag: ETag,
}

impl ObjectTenants {
    /// Creates the store for a bucket, and the prefix in the settings. Connections are opened lazily.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with the settings.
    pub fn s3(settings: &S3Settings, waiting: BlockingRuntime) -> Result<Self, &'static str> {
        Ok(Self {
            blobs: BlobStore::s3(settings, waiting)?,
            heads: Mutex::default(),
            cache: ObjectCache::default(),
            states: Mutex::default(),
        })
    }

    /// Returns the present head of a tenant.
    fn head(&self, tenant: &str, stop: &dyn Fn() -> bool) -> Result<KnownHead, TenantError> {
        let key = head_key(tenant).ok_or(TenantError::NotFound)?;
        let known = self.heads.lock().get(tenant).cloned();
        let read = match &known {
            Some(known) => self
                .blobs
                .get_if_changed(&key, &known.tag, MAX_HEAD_BYTES, stop),
            None => match self.blobs.get(&key, MAX_HEAD_BYTES, stop) {
                Ok(Some(blob)) => Ok(ConditionalRead::Changed(blob)),
                Ok(None) => Ok(ConditionalRead::Missing),
                Err(error) => Err(error),
            },
        };
        match (read.map_err(failed)?, known) {
            (ConditionalRead::Unchanged, Some(known)) => Ok(known),
            (ConditionalRead::Changed(blob), _) => {
                let head = Head::parse(&blob.bytes).ok_or_else(|| match is_newer(&blob.bytes) {
                    true => newer(),
                    false => damaged(),
                })?;
                let known = KnownHead {
                    head,
                    tag: blob.tag,
                };
                self.remember(tenant, &known);
                Ok(known)
            }
            _ => {
                self.heads.lock().remove(tenant);
                Err(TenantError::NotFound)
            }
        }
    }

    fn remember(&self, tenant: &str, known: &KnownHead) {
        let mut heads = self.heads.lock();
        if heads.len() >= MAX_HEADS {
            heads.clear();
        }
        heads.insert(tenant.to_owned(), known.clone());
    }

    /// Returns the keys of all objects of a tenant but its head, with their times in milliseconds since 1970.
    fn objects(
        &self,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(String, i64)>, TenantError> {
        let prefix = objects_prefix(tenant);
        let mut keys: Vec<(String, i64)> = Vec::new();
        loop {
            let after = keys.last().map(|(key, _)| key.clone());
            let page = self.blobs.list(&prefix, after.as_deref(), PAGE, stop);
            let page = page.map_err(failed)?;
            let is_last = !page.has_more || page.blobs.is_empty();
            let blobs = page.blobs.into_iter();
            keys.extend(blobs.map(|blob| (blob.key, blob.modified)));
            if is_last {
                return Ok(keys);
            }
        }
    }
}

/// Translates a failure that left nothing changed.
fn failed(error: BlobError) -> TenantError {
    match error {
        BlobError::Cancelled => StorageError::Cancelled.into(),
        other => StorageError::failed(other.to_string()).into(),
    }
}

fn damaged() -> TenantError {
    StorageError::failed(
        "The bucket of the tenants holds something that this program did not write, or lacks something that it did. \
         Restore it from a backup.",
    )
    .into()
}

fn newer() -> TenantError {
    StorageError::failed(
        "The tenant in the bucket is of a version newer than this program. Use the newer program.",
    )
    .into()
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or_default()
}

impl TenantStore for ObjectTenants {
    fn kind(&self) -> &'static str {
        "bucket"
    }

    fn prepare(&self) -> Result<(), StorageError> {
        let probed = self.blobs.probe(&|| false);
        probed.map_err(|error| StorageError::failed(error.to_string()))
    }

    fn ready(&self) -> Result<(), StorageError> {
        let listed = self.blobs.list(HEADS, None, 1, &|| false);
        listed
            .map(drop)
            .map_err(|error| StorageError::failed(error.to_string()))
    }

    fn tenants(&self, stop: &dyn Fn() -> bool) -> Result<Vec<TenantSummary>, StorageError> {
        let mut tenants = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.blobs.list(HEADS, after.as_deref(), PAGE, stop);
            let page = page.map_err(|error| StorageError::failed(error.to_string()))?;
            for blob in &page.blobs {
                let Some(name) = blob.key.strip_prefix(HEADS) else {
                    continue;
                };
                match self.head(name, stop) {
                    Ok(KnownHead { head, .. }) => tenants.push(TenantSummary {
                        name: name.to_owned(),
                        revision: head.revision,
                        files: head.files,
                        bytes: head.bytes,
                    }),
                    // It was removed meanwhile, or is not a head.
                    Err(TenantError::NotFound) => {}
                    Err(TenantError::Storage(error)) => return Err(error),
                    Err(error) => return Err(StorageError::failed(error.to_string())),
                }
            }
            after = page.blobs.last().map(|blob| blob.key.clone());
            if !page.has_more || after.is_none() {
                return Ok(tenants);
            }
        }
    }

    fn create(&self, tenant: &str) -> Result<(), TenantError> {
        let key = head_key(tenant).ok_or(TenantError::NotFound)?;
        let head = Head::first(now());
        let bytes = serde_json::to_vec(&head).map_err(|_| damaged())?;
        match self.blobs.create(&key, Bytes::from(bytes), &|| false) {
            Ok(CreateOutcome::Created(_)) => Ok(()),
            Ok(CreateOutcome::Exists) => Err(TenantError::Exists),
            // If it was created after all, it does no harm: an empty tenant can be created or removed again.
            Err(BlobError::OutcomeUnknown) => match self.head(tenant, &|| false)?.head {
                found if found == head => Ok(()),
                _ => Err(TenantError::Exists),
            },
            Err(error) => Err(failed(error)),
        }
    }

    fn remove(&self, tenant: &str, stop: &dyn Fn() -> bool) -> Result<(), TenantError> {
        let key = head_key(tenant).ok_or(TenantError::NotFound)?;
        let had_head = match self.head(tenant, stop) {
            Ok(_) => true,
            Err(TenantError::NotFound) => false,
            Err(error) => return Err(error),
        };
        // Without its head, the tenant is gone, and nothing can be committed.
        self.blobs.delete(&[key], stop).map_err(failed)?;
        self.heads.lock().remove(tenant);
        self.states.lock().remove(tenant);
        let objects = self.objects(tenant, stop)?;
        let had_objects = !objects.is_empty();
        let keys: Vec<String> = objects.into_iter().map(|(key, _)| key).collect();
        self.blobs.delete(&keys, stop).map_err(failed)?;
        match had_head || had_objects {
            true => Ok(()),
            false => Err(TenantError::NotFound),
        }
    }

    fn revision(
        &self,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantRevision, TenantError> {
        Ok(self.head(tenant, stop)?.head.tenant_revision())
    }

    fn update(
        &self,
        tenant: &str,
        known: &KnownTenant,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantUpdate, TenantError> {
        self.update_since(tenant, known, stop)
    }

    fn read(
        &self,
        tenant: &str,
        files: &[(NotePath, Digest)],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<Vec<u8>>>, TenantError> {
        head_key(tenant).ok_or(TenantError::NotFound)?;
        let remembered = self.states.lock().get(tenant).cloned();
        let state = remembered.map(|(_, state)| state).unwrap_or_default();
        let mut found = self.read_files(tenant, &state, files, stop)?;
        let missing: Vec<usize> = (0..found.len()).filter(|at| found[*at].is_none()).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        // They may be in a pack of another server.
        let head = self.head(tenant, stop)?.head;
        let Some(state) = self.state_of(tenant, &head, stop)? else {
            return Ok(found);
        };
        self.remember_state(tenant, &head, Arc::clone(&state));
        let wanted: Vec<_> = missing.iter().map(|at| files[*at].clone()).collect();
        let read = self.read_files(tenant, &state, &wanted, stop)?;
        for (at, bytes) in missing.into_iter().zip(read) {
            found[at] = bytes;
        }
        Ok(found)
    }

    fn commit(
        &self,
        tenant: &str,
        base: &TenantRevision,
        commit: &TenantCommit,
    ) -> Result<TenantCommitOutcome, TenantError> {
        self.commit_surely(tenant, base, commit)
    }

    fn clean(
        &self,
        tenant: &str,
        min_age_seconds: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<u64, TenantError> {
        // The list comes first: what is written after it is not in it.
        let objects = self.objects(tenant, stop)?;
        let KnownHead { head, .. } = self.head(tenant, stop)?;
        let needed: BTreeSet<String> = self.needed_objects(tenant, &head, stop)?;
        // The clock is that of the storage, whose newest time is at most now.
        let newest = objects.iter().map(|(_, modified)| *modified).max();
        let age = i64::try_from(min_age_seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let limit = newest.unwrap_or_default().saturating_sub(age);
        let keys = objects
            .into_iter()
            .filter(|(key, modified)| *modified <= limit && !needed.contains(key));
        let keys: Vec<String> = keys.map(|(key, _)| key).collect();
        self.blobs.delete(&keys, stop).map_err(failed)?;
        Ok(keys.len() as u64)
    }
}

impl ObjectTenants {
    /// Returns the keys of all objects that a head needs.
    fn needed_objects(
        &self,
        tenant: &str,
        head: &Head,
        stop: &dyn Fn() -> bool,
    ) -> Result<BTreeSet<String>, TenantError> {
        let state = self.state_of(tenant, head, stop)?.ok_or_else(damaged)?;
        let commits = head.commits.iter().map(|commit| commit.digest.clone());
        let base = head.base.digest.clone();
        let all = state.objects().chain(commits).chain(base);
        Ok(all.map(|digest| object_key(tenant, &digest)).collect())
    }
}

impl From<ObjectError> for TenantError {
    fn from(error: ObjectError) -> Self {
        Self::Storage(StorageError::failed(error.to_string()))
    }
}
