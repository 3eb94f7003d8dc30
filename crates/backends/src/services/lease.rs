//! The lease of a writer, and the removal of what a run that failed or was killed has left.
//!
//! A run marks its collection as unclean before it writes, and removes the mark when nothing is left of it but the new
//! generation. The lease says who writes, and the mark whether somebody has to clean first.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sectile_library::StorageError;
use tokio::time::Instant;

use super::{
    ServiceIndex,
    failure::ServiceFailure,
    records::{self, LEASE, Lease, Manifest, NotebookRow, UNCLEAN, encode, manifest_id},
    service::{Creation, ServiceRecord, VectorService},
    writing::MANIFESTS_KEPT,
};

/// The time that a lease lasts without being renewed. A writer whose notebooks arrive more slowly can lose it, and then
/// fails.
pub(super) const LEASE_TIME: Duration = Duration::from_secs(120);
/// The pause between two looks at whether records can be seen.
pub(super) const LOOK: Duration = Duration::from_millis(100);

pub(super) const SOMEBODY_ELSE: &str =
    "Another process is writing this collection's index. Try again when it has finished.";

/// What a run leaves behind besides its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftovers {
    None,
    /// Perhaps some records, which the next run removes.
    Some,
}

impl<S: VectorService> ServiceIndex<S> {
    /// Takes the lease of a collection. Returns whether an earlier run may have left records behind.
    pub(super) async fn take_lease(
        &self,
        tenant: &str,
        owner: u64,
    ) -> Result<bool, ServiceFailure> {
        let ids = [LEASE.to_owned(), UNCLEAN.to_owned()];
        let known = self.bodies(tenant, &ids).await?;
        if let Some(known) = known.get(LEASE) {
            if records::decode::<Lease>(known)?.until > now()? {
                return Err(StorageError::failed(SOMEBODY_ELSE).into());
            }
            self.service.delete(tenant, &[LEASE.to_owned()]).await?;
        }
        let has_leftovers = !known.is_empty();
        let record = lease_record(owner)?;
        let created = self.service.create(tenant, &record).await?;
        // An attempt whose answer was lost may have created it.
        let until = Instant::now() + self.settle;
        loop {
            match self.lease(tenant).await? {
                Some(lease) if lease.owner == owner => return Ok(has_leftovers),
                Some(_) => return Err(StorageError::failed(SOMEBODY_ELSE).into()),
                None if created == Creation::Exists => {
                    return Err(StorageError::failed(SOMEBODY_ELSE).into());
                }
                None if Instant::now() >= until => return Err(self.unsettled()),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    pub(super) async fn put_lease(&self, tenant: &str, owner: u64) -> Result<(), ServiceFailure> {
        self.service.put(tenant, &[lease_record(owner)?]).await
    }

    pub(super) async fn lease(&self, tenant: &str) -> Result<Option<Lease>, ServiceFailure> {
        let found = self.bodies(tenant, &[LEASE.to_owned()]).await?;
        let body = found.get(LEASE).map(|body| records::decode(body));
        Ok(body.transpose()?)
    }

    /// Marks a collection before anything is written that would have to be removed.
    pub(super) async fn mark(&self, tenant: &str) -> Result<(), ServiceFailure> {
        let mark = ServiceRecord {
            id: UNCLEAN.to_owned(),
            body: encode(&true)?,
            ..ServiceRecord::default()
        };
        self.service.put(tenant, &[mark]).await
    }

    /// Removes all records of a collection whose lease this process has.
    pub(super) async fn start_over(&self, tenant: &str, owner: u64) -> Result<(), ServiceFailure> {
        self.service.drop_tenant(tenant).await?;
        self.service.open_tenant(tenant).await?;
        self.put_lease(tenant, owner).await?;
        self.mark(tenant).await?;
        self.snapshots.forget(tenant);
        Ok(())
    }

    /// Gives a lease back. If that fails, it ends by itself.
    pub(super) async fn release(&self, tenant: &str, owner: u64, left: Leftovers) {
        let mut ids = vec![LEASE.to_owned()];
        if left == Leftovers::None {
            ids.push(UNCLEAN.to_owned());
        }
        let releasing = async {
            match self.lease(tenant).await? {
                Some(lease) if lease.owner == owner => self.service.delete(tenant, &ids).await,
                _ => Ok(()),
            }
        };
        if let Err(failure) = releasing.await {
            let error = failure.explained(self.service.title());
            tracing::warn!(%error, "the lease of a collection could not be given back; it ends by itself");
        }
    }

    /// Removes what earlier runs left: records of a generation that was not committed, and those that the newest one made
    /// obsolete. What cannot be read stays, and is never found.
    pub(super) async fn remove_leftovers(&self, newest: &Manifest) -> Result<(), ServiceFailure> {
        let tenant = self.tenant(&newest.collection);
        let generation = newest.version.generation;
        let born = generation.saturating_add(1)..=u32::MAX;
        self.service.delete_born(&tenant, born).await?;
        if newest.base == generation {
            let born = 0..=generation.saturating_sub(1);
            self.service.delete_born(&tenant, born).await?;
        }
        let mut gone = self.replaced_by(newest).await?;
        gone.extend(generation.checked_sub(MANIFESTS_KEPT).map(manifest_id));
        self.delete_all(&tenant, &gone).await
    }

    /// Returns the records of the generation before the newest one that do not belong to that. Shards of the list of
    /// notebooks, which name the others, come last, as in every cleaning: one that was killed can be continued.
    async fn replaced_by(&self, newest: &Manifest) -> Result<Vec<String>, ServiceFailure> {
        let tenant = self.tenant(&newest.collection);
        let before = manifest_id(newest.version.generation.saturating_sub(1));
        let found = self.bodies(&tenant, std::slice::from_ref(&before)).await?;
        let old = found.get(&before);
        let Some(old) = old.and_then(|body| records::decode::<Manifest>(body).ok()) else {
            return Ok(Vec::new());
        };
        let snapshot = self.snapshot_of(newest.clone()).await?;
        let snapshot = snapshot.ok_or_else(|| self.unsettled())?;
        let terms: HashSet<String> = newest.term_ids()?.into_iter().collect();
        let lists: HashSet<String> = newest.notebook_ids()?.into_iter().collect();
        let mut old_lists = old.notebook_ids()?;
        old_lists.retain(|id| !lists.contains(id));
        let bodies = self.bodies(&tenant, &old_lists).await?;
        let mut gone = Vec::new();
        for body in bodies.values() {
            let rows: Vec<NotebookRow> = records::decode(body).unwrap_or_default();
            let replaced = rows
                .iter()
                .filter(|row| !snapshot.has(row.version, row.place, 0));
            gone.extend(replaced.flat_map(NotebookRow::record_ids));
        }
        let old_terms = old.term_ids()?.into_iter();
        gone.extend(old_terms.filter(|id| !terms.contains(id)));
        gone.extend(old_lists);
        Ok(gone)
    }

    /// Removes what earlier runs left in a collection that does not change, unless another process is writing it.
    pub(super) async fn tidy_collection(&self, collection: &str) -> Result<(), ServiceFailure> {
        let tenant = self.tenant(collection);
        let ids = [LEASE.to_owned(), UNCLEAN.to_owned()];
        if self.bodies(&tenant, &ids).await?.is_empty() {
            return Ok(());
        }
        match self.writer(collection, false).await {
            Ok(writer) => {
                writer.abandon().await;
                Ok(())
            }
            Err(failure) if failure == StorageError::failed(SOMEBODY_ELSE).into() => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Deletes records in this order.
    pub(super) async fn delete_all(
        &self,
        tenant: &str,
        ids: &[String],
    ) -> Result<(), ServiceFailure> {
        for ids in ids.chunks(self.service.limits().ids.max(1)) {
            self.service.delete(tenant, ids).await?;
        }
        Ok(())
    }

    /// Removes a collection.
    pub(super) async fn drop_collection(&self, collection: &str) -> Result<(), ServiceFailure> {
        let tenant = self.tenant(collection);
        if let Some(lease) = self.lease(&tenant).await?
            && lease.until > now()?
        {
            return Err(StorageError::failed(SOMEBODY_ELSE).into());
        }
        self.snapshots.forget(&tenant);
        self.service.drop_tenant(&tenant).await
    }
}

fn lease_record(owner: u64) -> Result<ServiceRecord, ServiceFailure> {
    let time = u64::try_from(LEASE_TIME.as_millis()).unwrap_or(u64::MAX);
    let until = now()?.saturating_add(time);
    Ok(ServiceRecord {
        id: LEASE.to_owned(),
        body: encode(&Lease { owner, until })?,
        ..ServiceRecord::default()
    })
}

fn now() -> Result<u64, ServiceFailure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since
        .map_err(|_| StorageError::failed("The clock of this machine is wrong. Set it right."))?;
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
