//! Writing: the records of a new generation are added beside those of the old one, and its manifest commits it.
//!
//! Nothing that readers of the old generation use is changed or removed before the commit. A run that ends before it leaves
//! records of a generation that no manifest names. It removes them itself if it can; if it was killed, the next run does.

use std::collections::{BTreeMap, HashSet};

use sectile_library::{BackendState, Change, IndexedNotebook, StorageError};
use sectile_retrieval::Record;
use tokio::time::Instant;

use super::{
    ServiceIndex,
    dictionary::{Dictionary, TermShard, shard},
    failure::ServiceFailure,
    lease::{LEASE_TIME, LOOK, Leftovers, SOMEBODY_ELSE},
    reading::fold,
    records::{
        self, ChunkBody, FORMAT, HEAD, LEASE, Manifest, NotebookRow, UNCLEAN, Version, encode,
        json_bytes, manifest_id, search_keys,
    },
    service::{Creation, ServiceRecord, VectorService},
};
use crate::postgres::terms::TermChanges;

/// The manifests that are kept for readers whose hint is old.
pub(super) const MANIFESTS_KEPT: u32 = 6;
/// The bytes of notebooks in a shard of their list.
const SHARD_BYTES: usize = 16_000;
/// The most shards of the list. Their versions are in the manifest.
const MAX_SHARDS: usize = 4_096;
const LOST_LEASE: &str = "Another process took over the writing of this collection's index, because this one had been \
    silent for too long. Try again when it has finished.";
const TOO_MANY: &str =
    "The generations of this collection are used up. Remove it from the index, and index it again.";

/// A run that writes a collection.
pub(super) struct ServiceWriter<'a, S> {
    index: &'a ServiceIndex<S>,
    collection: String,
    tenant: String,
    /// The version of everything that this run writes. The run is the owner of the lease.
    version: Version,
    /// The oldest generation that will be current.
    base: u32,
    /// Whether the collection has a manifest.
    has_manifest: bool,
    /// The newest manifest, if it is built upon.
    old: Option<Manifest>,
    is_new: bool,
    renewed: Instant,
    notebooks: BTreeMap<String, NotebookRow>,
    /// Notebooks whose row in the list differs from the stored one.
    changed: HashSet<String>,
    dictionary: Dictionary,
    terms: TermChanges,
    words: [i64; 3],
    next_place: u32,
    /// Records that are not sent yet, and their size.
    buffer: Vec<ServiceRecord>,
    buffered: usize,
    /// The last record of each request, which shows whether it can be seen.
    samples: Vec<String>,
    /// Records that the commit makes obsolete.
    dead: Vec<String>,
    /// The chunks among them whose words are still counted. They are read together, because each request takes its time.
    uncounted: Vec<String>,
}

impl<S: VectorService> ServiceIndex<S> {
    /// Takes the lease of a collection and reads what is to be changed.
    pub(super) async fn writer(
        &self,
        collection: &str,
        is_new: bool,
    ) -> Result<ServiceWriter<'_, S>, ServiceFailure> {
        let tenant = self.tenant(collection);
        self.service.open_tenant(&tenant).await?;
        let run = random()?;
        let has_leftovers = self.take_lease(&tenant, run).await?;
        let begun = self
            .begin(collection, &tenant, run, is_new, has_leftovers)
            .await;
        if begun.is_err() {
            self.release(&tenant, run, Leftovers::Some).await;
        }
        begun
    }

    async fn begin(
        &self,
        collection: &str,
        tenant: &str,
        run: u64,
        is_new: bool,
        has_leftovers: bool,
    ) -> Result<ServiceWriter<'_, S>, ServiceFailure> {
        let newest = match self.manifest(collection).await {
            Err(ServiceFailure::Storage(StorageError::OtherRules { .. })) if is_new => None,
            newest => Some(newest?),
        };
        match &newest {
            // Nothing in it can be relied on, not even its number.
            None => self.start_over(tenant, run).await?,
            // A manifest that readers cannot find has the number that comes next.
            Some(None) if has_leftovers => self.start_over(tenant, run).await?,
            Some(Some(newest)) if has_leftovers => self.remove_leftovers(newest).await?,
            Some(_) => self.mark(tenant).await?,
        }
        let newest = newest.flatten();
        let generation = newest.as_ref().map_or(0, |m| m.version.generation);
        let generation = generation
            .checked_add(1)
            .ok_or_else(|| StorageError::failed(TOO_MANY))?;
        let version = Version { generation, run };
        let mut writer = ServiceWriter {
            index: self,
            collection: collection.to_owned(),
            tenant: tenant.to_owned(),
            version,
            base: generation,
            has_manifest: newest.is_some(),
            old: None,
            is_new: is_new || newest.is_none(),
            renewed: Instant::now(),
            notebooks: BTreeMap::new(),
            changed: HashSet::new(),
            dictionary: Dictionary::new(Vec::new()),
            terms: TermChanges::default(),
            words: [0; 3],
            next_place: 0,
            buffer: Vec::new(),
            buffered: 0,
            samples: Vec::new(),
            dead: Vec::new(),
            uncounted: Vec::new(),
        };
        match newest {
            Some(newest) if !is_new => {
                self.require_rules(&newest)?;
                writer.build_upon(newest).await?;
            }
            _ => {}
        }
        Ok(writer)
    }
}

impl<S: VectorService> ServiceWriter<'_, S> {
    /// Reads the generation that this one changes.
    async fn build_upon(&mut self, manifest: Manifest) -> Result<(), ServiceFailure> {
        let snapshot = self.index.snapshot_of(manifest.clone()).await?;
        let snapshot = snapshot.ok_or_else(|| self.index.unsettled())?;
        let count = manifest.term_shards.len();
        let shards = self.index.term_shards(&snapshot, 0..count).await?;
        let mut ordered = vec![TermShard::default(); count];
        for (at, shard) in shards {
            ordered[at] = TermShard::clone(&shard);
        }
        self.dictionary = Dictionary::new(ordered);
        for row in snapshot.rows() {
            self.notebooks.insert(row.path.clone(), row.clone());
        }
        for (all, words) in self.words.iter_mut().zip(manifest.words) {
            *all = i64::try_from(words).map_err(|_| records::damaged())?;
        }
        self.base = manifest.base;
        self.old = Some(manifest);
        Ok(())
    }

    /// Adds a change.
    pub(super) async fn write(&mut self, change: Change) -> Result<(), ServiceFailure> {
        match change {
            Change::Put { entry, records } => {
                self.remove(entry.notebook.as_str()).await?;
                self.put(entry, &records).await?;
            }
            Change::Touch(entry) => {
                if let Some(row) = self.notebooks.get_mut(entry.notebook.as_str()) {
                    row.stamp = entry.stamp;
                    self.changed.insert(row.path.clone());
                }
            }
            Change::Remove(notebook) => self.remove(notebook.as_str()).await?,
        }
        if self.renewed.elapsed() > LEASE_TIME / 3 {
            self.renew().await?;
        }
        Ok(())
    }

    async fn put(
        &mut self,
        entry: IndexedNotebook,
        chunks: &[Record],
    ) -> Result<(), ServiceFailure> {
        let place = self.next_place;
        self.next_place += 1;
        let limits = self.index.service.limits();
        let mut most_parts = 0;
        for (number, record) in (0..).zip(chunks) {
            let mut words: Vec<(u32, u16)> = Vec::new();
            let PassageCounts { lengths, encoded } = counts_of(record);
            self.terms.count(lengths, encoded, 1, |hash, weight| {
                words.push((fold(hash), weight.unsigned_abs()));
            });
            for (all, length) in self.words.iter_mut().zip(lengths) {
                *all += i64::from(*length);
            }
            let words = most_weighty(words, limits.words);
            let body = encode(&ChunkBody::new(&entry, record))?;
            let whole = ServiceRecord {
                id: self.version.chunk(place, number),
                born: Some(self.version.generation),
                keys: Some(search_keys(record, words)),
                body,
            };
            let split = records::split(whole, limits.body_bytes)?;
            most_parts = most_parts.max(split.len() - 1);
            for record in split {
                self.push(record).await?;
            }
        }
        let path = entry.notebook.as_str().to_owned();
        self.changed.insert(path.clone());
        let row = NotebookRow {
            path: path.clone(),
            stamp: entry.stamp,
            digest: entry.digest.to_string(),
            version: self.version,
            place,
            chunks: u32::try_from(chunks.len()).map_err(|_| records::damaged())?,
            parts: u32::try_from(most_parts).map_err(|_| records::damaged())?,
        };
        self.notebooks.insert(path, row);
        Ok(())
    }

    /// Removes a notebook, and subtracts its words.
    async fn remove(&mut self, path: &str) -> Result<(), ServiceFailure> {
        let Some(row) = self.notebooks.remove(path) else {
            return Ok(());
        };
        self.changed.insert(path.to_owned());
        self.dead.extend(row.record_ids());
        self.uncounted.extend(row.chunk_ids());
        if row.version == self.version {
            self.flush().await?;
        }
        match self.uncounted.len() < self.index.service.limits().ids {
            true => Ok(()),
            false => self.count_out().await,
        }
    }

    /// Takes the words of removed chunks out of the counts.
    async fn count_out(&mut self) -> Result<(), ServiceFailure> {
        let ids = std::mem::take(&mut self.uncounted);
        let bodies = self.all_seen(&ids).await?;
        for id in &ids {
            let body = bodies.get(id).ok_or_else(records::damaged)?;
            let chunk = records::decode::<ChunkBody>(body)?.stored()?;
            let (lengths, encoded) = (&chunk.lengths, &chunk.encoded);
            self.terms.count(lengths, encoded, -1, |_, _| {});
            for (all, length) in self.words.iter_mut().zip(lengths) {
                *all -= i64::from(*length);
            }
        }
        Ok(())
    }

    async fn push(&mut self, record: ServiceRecord) -> Result<(), ServiceFailure> {
        let limits = self.index.service.limits();
        let bytes = sent_bytes(&record, limits.word_bytes);
        let is_full =
            self.buffer.len() >= limits.batch || self.buffered + bytes > limits.batch_bytes;
        if is_full {
            self.flush().await?;
        }
        self.buffered += bytes;
        self.buffer.push(record);
        Ok(())
    }

    /// Sends the records that wait.
    async fn flush(&mut self) -> Result<(), ServiceFailure> {
        let Some(last) = self.buffer.last() else {
            return Ok(());
        };
        self.samples.push(last.id.clone());
        let sent = std::mem::take(&mut self.buffer);
        self.buffered = 0;
        self.index.service.put(&self.tenant, &sent).await
    }

    /// Waits until all of these records can be seen, and returns their bodies.
    async fn all_seen(
        &self,
        ids: &[String],
    ) -> Result<std::collections::HashMap<String, String>, ServiceFailure> {
        let until = Instant::now() + self.index.settle;
        let mut found = self.index.bodies(&self.tenant, ids).await?;
        loop {
            let missing: Vec<String> = ids
                .iter()
                .filter(|id| !found.contains_key(*id))
                .cloned()
                .collect();
            if missing.is_empty() {
                return Ok(found);
            }
            if Instant::now() >= until {
                return Err(self.index.unsettled());
            }
            tokio::time::sleep(LOOK).await;
            found.extend(self.index.bodies(&self.tenant, &missing).await?);
        }
    }

    /// Makes sure that the lease is still this run's, and extends it.
    async fn renew(&mut self) -> Result<(), ServiceFailure> {
        match self.index.lease(&self.tenant).await? {
            Some(lease) if lease.owner == self.version.run => {}
            _ => return Err(StorageError::failed(LOST_LEASE).into()),
        }
        self.index.put_lease(&self.tenant, self.version.run).await?;
        self.renewed = Instant::now();
        Ok(())
    }

    /// Commits all changes.
    pub(super) async fn commit(mut self, as_of: i64) -> Result<BackendState, ServiceFailure> {
        match self.committed(as_of).await {
            Ok(manifest) => {
                self.index.snapshots.forget(&self.tenant);
                let state = self.index.state_of(&manifest, 0);
                let left = match self.clean(&manifest).await {
                    Ok(()) => Leftovers::None,
                    Err(failure) => {
                        // They are never found, and the next run removes them.
                        let error = failure.explained(self.index.service.title());
                        tracing::warn!(%error, "records of an earlier state could not be removed");
                        Leftovers::Some
                    }
                };
                let run = self.version.run;
                self.index.release(&self.tenant, run, left).await;
                Ok(state)
            }
            Err(failure) => {
                self.abandon().await;
                Err(failure)
            }
        }
    }

    async fn committed(&mut self, as_of: i64) -> Result<Manifest, ServiceFailure> {
        self.count_out().await?;
        let changes = std::mem::take(&mut self.terms);
        self.dictionary.apply(&changes)?;
        let mut manifest = Manifest {
            format: FORMAT,
            collection: self.collection.clone(),
            rules: self.index.rules.clone(),
            version: self.version,
            base: self.base,
            as_of,
            notebooks: self.notebooks.len() as u64,
            chunks: self
                .notebooks
                .values()
                .map(|row| u64::from(row.chunks))
                .sum(),
            words: [0; 3],
            records: self
                .notebooks
                .values()
                .map(|row| u64::from(row.chunks))
                .sum(),
            versions: vec![self.version],
            term_shards: Vec::new(),
            notebook_shards: Vec::new(),
        };
        for (all, words) in manifest.words.iter_mut().zip(self.words) {
            *all = u64::try_from(words).map_err(|_| records::damaged())?;
        }
        self.write_terms(&mut manifest).await?;
        self.write_notebooks(&mut manifest).await?;
        self.flush().await?;
        let samples = std::mem::take(&mut self.samples);
        self.all_seen(&samples).await?;
        self.renew().await?;
        self.commit_manifest(&manifest).await?;
        Ok(manifest)
    }

    async fn commit_manifest(&self, manifest: &Manifest) -> Result<(), ServiceFailure> {
        let service = &self.index.service;
        let id = manifest_id(self.version.generation);
        let record = ServiceRecord {
            id: id.clone(),
            body: encode(manifest)?,
            ..ServiceRecord::default()
        };
        let mut records = records::split(record, service.limits().body_bytes)?;
        let first = records.pop().ok_or_else(records::damaged)?;
        for part in &records {
            service
                .put(&self.tenant, std::slice::from_ref(part))
                .await?;
        }
        if service.create(&self.tenant, &first).await? == Creation::Exists {
            // An attempt whose answer was lost may have created it.
            let bodies = self.all_seen(std::slice::from_ref(&id)).await?;
            let known: Option<Manifest> = bodies
                .get(&id)
                .map(|body| records::decode(body))
                .transpose()?;
            if known.is_none_or(|known| known.version != self.version) {
                return Err(StorageError::failed(SOMEBODY_ELSE).into());
            }
        }
        let head = ServiceRecord {
            id: HEAD.to_owned(),
            body: self.version.generation.to_string(),
            ..ServiceRecord::default()
        };
        service.put(&self.tenant, &[head]).await?;
        self.all_seen(&[HEAD.to_owned(), id]).await?;
        Ok(())
    }

    async fn write_terms(&mut self, manifest: &mut Manifest) -> Result<(), ServiceFailure> {
        let old = self
            .old
            .as_ref()
            .map(|old| (&old.versions, &old.term_shards));
        let known = known_versions(old, self.dictionary.shards.len());
        for (at, known) in known.iter().enumerate() {
            let version = match known {
                Some(version) if !self.dictionary.is_changed[at] => *version,
                _ => {
                    let body = encode(&self.dictionary.shards[at])?;
                    let id = self.version.terms(at);
                    self.push_whole(id, body).await?;
                    self.version
                }
            };
            manifest
                .term_shards
                .push(place_of(&mut manifest.versions, version)?);
        }
        if let Some(old) = &self.old {
            let now: HashSet<String> = manifest.term_ids()?.into_iter().collect();
            let gone = old.term_ids()?.into_iter().filter(|id| !now.contains(id));
            self.dead.extend(gone);
        }
        Ok(())
    }

    async fn write_notebooks(&mut self, manifest: &mut Manifest) -> Result<(), ServiceFailure> {
        let bytes: usize = self.notebooks.keys().map(|path| path.len() + 220).sum();
        let old = self
            .old
            .as_ref()
            .map(|old| (&old.versions, &old.notebook_shards));
        let before = old.map_or(1, |(_, shards)| shards.len().max(1));
        let count = match bytes > before * SHARD_BYTES * 2 {
            true => (bytes / SHARD_BYTES + 1)
                .next_power_of_two()
                .min(MAX_SHARDS),
            false => before,
        };
        let known = known_versions(old, count);
        let mut is_changed = vec![count != before; count];
        for path in &self.changed {
            is_changed[shard(path, count)] = true;
        }
        let mut shards: Vec<Vec<&NotebookRow>> = vec![Vec::new(); count];
        for row in self.notebooks.values() {
            shards[shard(&row.path, count)].push(row);
        }
        let bodies = shards.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        for (at, body) in bodies.into_iter().enumerate() {
            let version = match known[at] {
                Some(version) if !is_changed[at] => version,
                _ => {
                    let id = self.version.notebooks(at);
                    self.push_whole(id, body).await?;
                    self.version
                }
            };
            manifest
                .notebook_shards
                .push(place_of(&mut manifest.versions, version)?);
        }
        if let Some(old) = &self.old {
            let now: HashSet<String> = manifest.notebook_ids()?.into_iter().collect();
            let gone = old
                .notebook_ids()?
                .into_iter()
                .filter(|id| !now.contains(id));
            self.dead.extend(gone);
        }
        Ok(())
    }

    /// Adds a record that is not a chunk, and that readers need.
    async fn push_whole(&mut self, id: String, body: String) -> Result<(), ServiceFailure> {
        self.samples.push(id.clone());
        let whole = ServiceRecord {
            id,
            born: Some(self.version.generation),
            keys: None,
            body,
        };
        let most = self.index.service.limits().body_bytes;
        for record in records::split(whole, most)? {
            self.push(record).await?;
        }
        Ok(())
    }

    /// Removes what no reader of the new generation needs.
    async fn clean(&self, manifest: &Manifest) -> Result<(), ServiceFailure> {
        let service = &self.index.service;
        let generation = manifest.version.generation;
        if self.is_new && self.has_manifest {
            service
                .delete_born(&self.tenant, 0..=generation - 1)
                .await?;
        }
        let mut gone = self.dead.clone();
        gone.extend(generation.checked_sub(MANIFESTS_KEPT).map(manifest_id));
        self.index.delete_all(&self.tenant, &gone).await
    }

    /// Removes what was written without being committed, and gives the lease back. If that fails, the lease stays for the
    /// next writer, which then removes it.
    pub(super) async fn abandon(self) {
        let (service, tenant) = (&self.index.service, &self.tenant);
        let removing = async {
            match self.index.lease(tenant).await? {
                Some(lease) if lease.owner == self.version.run => {}
                _ => return Ok(()),
            }
            if !self.has_manifest {
                return service.drop_tenant(tenant).await;
            }
            let id = manifest_id(self.version.generation);
            let found = self.index.bodies(tenant, &[id]).await?;
            if !found.is_empty() {
                // It was committed, and what it replaced is still there.
                return service.delete(tenant, &[LEASE.to_owned()]).await;
            }
            let born = self.version.generation..=u32::MAX;
            service.delete_born(tenant, born).await?;
            let both = [LEASE.to_owned(), UNCLEAN.to_owned()];
            service.delete(tenant, &both).await
        };
        if let Err(failure) = removing.await {
            let error = failure.explained(service.title());
            tracing::warn!(%error, "an update that failed left records behind; the next one removes them");
        }
    }
}

/// The words of a chunk, as they are counted.
struct PassageCounts<'a> {
    lengths: &'a [u32; 3],
    encoded: &'a [u8],
}

fn counts_of(record: &Record) -> PassageCounts<'_> {
    PassageCounts {
        lengths: &record.words.lengths,
        encoded: &record.words.encoded,
    }
}

/// Returns the versions of the shards of an earlier manifest, if there are as many now.
fn known_versions(old: Option<(&Vec<Version>, &Vec<u32>)>, count: usize) -> Vec<Option<Version>> {
    match old {
        Some((versions, shards)) if shards.len() == count => {
            let known = shards.iter().map(|at| versions.get(*at as usize).copied());
            known.collect()
        }
        _ => vec![None; count],
    }
}

/// Returns the place of a version in a list, adding it if it is new.
fn place_of(versions: &mut Vec<Version>, version: Version) -> Result<u32, StorageError> {
    let known = versions.iter().position(|known| *known == version);
    let at = known.unwrap_or_else(|| {
        versions.push(version);
        versions.len() - 1
    });
    u32::try_from(at).map_err(|_| records::damaged())
}

/// Returns the weightiest words, each once, in the order of their hashes.
fn most_weighty(mut words: Vec<(u32, u16)>, most: usize) -> Vec<(u32, u16)> {
    words.sort_unstable_by_key(|(hash, weight)| (*hash, u16::MAX - *weight));
    words.dedup_by_key(|(hash, _)| *hash);
    if words.len() > most {
        words.sort_by_key(|(_, weight)| u16::MAX - *weight);
        words.truncate(most);
        words.sort_unstable_by_key(|(hash, _)| *hash);
    }
    words
}

/// Returns roughly the bytes of a record in a request, rather too many than too few.
fn sent_bytes(record: &ServiceRecord, word: usize) -> usize {
    let keys = record.keys.as_ref();
    let keys = keys.map_or(0, |keys| keys.vector.len() * 15 + keys.words.len() * word);
    json_bytes(&record.body) + keys + record.id.len() + 600
}

fn random() -> Result<u64, ServiceFailure> {
    let random = getrandom::u64();
    random.map_err(|_| StorageError::failed("The system has no random numbers. Try again.").into())
}
