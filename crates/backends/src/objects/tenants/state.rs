//! The state of a tenant, from its base and the commits since.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use parking_lot::Mutex;
use sectile_library::tenants::{
    CopiedFile, KnownTenant, LogChange, LogName, LogUpdate, TenantError, TenantFile, TenantUpdate,
};
use sectile_markdown::{Digest, NotePath};
use serde::de::DeserializeOwned;

use super::{
    AT_ONCE, ObjectTenants, damaged, failed,
    format::{Base, CommitRecord, FileRecord, Head, LogPart, LogRecord, log_name, object_key},
    packs::PackedFile,
};

/// The longest object that is read: more than any file or log that the editor accepts.
const MAX_OBJECT_BYTES: u64 = 1 << 30;
/// The bytes of bases, commits and packs that are remembered, of all tenants together.
const MAX_CACHED: usize = 32 << 20;
/// The most tenants whose state is remembered for the next commit; 20,000 files take some 4 MB.
const MAX_STATES: usize = 64;
/// Number of attempts to read a state whose objects are being removed because there is a newer one.
const MOST_TRIES: usize = 5;

/// Bases, commits and packs, by tenant and digest. They never change.
#[derive(Default)]
pub(super) struct ObjectCache(Mutex<CachedObjects>);

#[derive(Default)]
struct CachedObjects {
    objects: HashMap<String, Arc<[u8]>>,
    bytes: usize,
}

impl ObjectCache {
    pub(super) fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        self.0.lock().objects.get(key).cloned()
    }

    pub(super) fn keep(&self, key: String, bytes: Arc<[u8]>) {
        let mut cached = self.0.lock();
        if cached.bytes + bytes.len() > MAX_CACHED {
            *cached = CachedObjects::default();
        }
        if bytes.len() <= MAX_CACHED && !cached.objects.contains_key(&key) {
            cached.bytes += bytes.len();
            cached.objects.insert(key, bytes);
        }
    }
}

/// A state of a tenant, without the bytes of its files.
#[derive(Clone, Debug, Default)]
pub(super) struct TenantState {
    pub(super) files: BTreeMap<NotePath, CopiedFile>,
    pub(super) logs: BTreeMap<String, LogRecord>,
    /// The files that are in packs, by their digest. Files that were removed since may be among them.
    pub(super) packed: HashMap<Digest, PackedFile>,
}

/// A state, and the files that each commit since its base changed.
type ReplayedState = (TenantState, Vec<Vec<TenantFile>>);

impl TenantState {
    /// Returns the digests of all objects that it names.
    pub(super) fn objects(&self) -> impl Iterator<Item = String> + '_ {
        let object = |file: &CopiedFile| match self.packed.get(&file.digest) {
            Some(place) => place.object.to_string(),
            None => file.digest.to_string(),
        };
        let files = self.files.values().map(object);
        let parts = self.logs.values().flat_map(|log| &log.parts);
        let parts = parts.filter_map(|part| match part {
            LogPart::Object(digest, _) => Some(digest.clone()),
            LogPart::Text(_) => None,
        });
        files.chain(parts)
    }

    fn of_base(base: &Base) -> Option<Self> {
        let mut state = Self::default();
        for file in &base.files {
            let (path, found) = file.parsed()?;
            state.put(path, found?, file)?;
        }
        state.logs.clone_from(&base.logs);
        Some(state)
    }

    /// Puts a file in its place; `None` if its record is not valid.
    fn put(&mut self, path: NotePath, state: CopiedFile, record: &FileRecord) -> Option<()> {
        match record.place()? {
            Some(place) => self.packed.insert(state.digest, place),
            None => self.packed.remove(&state.digest),
        };
        self.files.insert(path, state);
        Some(())
    }

    /// Applies the commit that made `revision`, and returns the files that it changed.
    pub(super) fn apply(
        &mut self,
        commit: &CommitRecord,
        revision: u64,
    ) -> Option<Vec<TenantFile>> {
        let mut changed = Vec::new();
        for file in &commit.files {
            let (path, state) = file.parsed()?;
            match state {
                Some(state) => self.put(path.clone(), state, file)?,
                None => drop(self.files.remove(&path)),
            }
            changed.push(TenantFile { path, state });
        }
        for addition in &commit.logs {
            log_name(&addition.name)?;
            let log = self.logs.entry(addition.name.clone()).or_default();
            log.add(addition, revision);
        }
        Some(changed)
    }
}

impl ObjectTenants {
    /// Returns the state that a head names; `None` if something that it names is not there.
    pub(super) fn state_of(
        &self,
        tenant: &str,
        head: &Head,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<TenantState>>, TenantError> {
        let remembered = self.states.lock().remove(tenant);
        if let Some((commit, state)) = remembered
            && commit == head.commit
        {
            return Ok(Some(state));
        }
        let changes = self.replayed(tenant, head, stop)?;
        Ok(changes.map(|(state, _)| Arc::new(state)))
    }

    /// Remembers the state of a head: for the next commit of this server, and for the places of files.
    pub(super) fn remember_state(&self, tenant: &str, head: &Head, state: Arc<TenantState>) {
        let mut states = self.states.lock();
        if states.len() >= MAX_STATES {
            states.clear();
        }
        states.insert(tenant.to_owned(), (head.commit.clone(), state));
    }

    /// Returns the state that a head names, and the files that each commit since the base changed.
    fn replayed(
        &self,
        tenant: &str,
        head: &Head,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<ReplayedState>, TenantError> {
        let commits = head.commits.iter().map(|commit| &commit.digest);
        let digests: Vec<String> = head.base.digest.iter().chain(commits).cloned().collect();
        let Some(records) = self.records(tenant, &digests, stop)? else {
            return Ok(None);
        };
        let mut records = records.into_iter();
        let mut state = match &head.base.digest {
            None => TenantState::default(),
            Some(_) => {
                let bytes = records.next().ok_or_else(damaged)?;
                let base: Base = parsed(&bytes)?;
                TenantState::of_base(&base).ok_or_else(damaged)?
            }
        };
        let mut changes = Vec::new();
        for ((bytes, reference), revision) in
            records.zip(&head.commits).zip(head.base.revision + 1..)
        {
            let commit: CommitRecord = parsed(&bytes)?;
            if commit.id != reference.id {
                return Err(damaged());
            }
            let changed = state.apply(&commit, revision).ok_or_else(damaged)?;
            changes.push(changed);
        }
        Ok(Some((state, changes)))
    }

    /// Returns the difference between `known` and the present state.
    pub(super) fn update_since(
        &self,
        tenant: &str,
        known: &KnownTenant,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantUpdate, TenantError> {
        for _ in 0..MOST_TRIES {
            let head = self.head(tenant, stop)?.head;
            if let Some(update) = self.news_since(tenant, &head, known, stop)? {
                return Ok(update);
            }
            // What is not there was removed after a newer head was written.
            let Some((state, changes)) = self.replayed(tenant, &head, stop)? else {
                continue;
            };
            let Some(logs) = self.log_updates(tenant, known, &state, stop)? else {
                continue;
            };
            let since = known.revision.as_ref();
            let since = since.and_then(|since| head.commits_until(since));
            let state = Arc::new(state);
            if !state.packed.is_empty() {
                self.remember_state(tenant, &head, Arc::clone(&state));
            }
            let files = match since {
                Some(since) => {
                    // The last of several changes of a file counts.
                    let changes = changes.into_iter().skip(since).flatten();
                    let last: BTreeMap<NotePath, Option<CopiedFile>> =
                        changes.map(|file| (file.path, file.state)).collect();
                    let last = last.into_iter();
                    last.map(|(path, state)| TenantFile { path, state })
                        .collect()
                }
                None => {
                    let all = state.files.iter();
                    all.map(|(path, state)| TenantFile {
                        path: path.clone(),
                        state: Some(*state),
                    })
                    .collect()
                }
            };
            return Ok(TenantUpdate {
                revision: head.tenant_revision(),
                is_complete: since.is_none(),
                files,
                logs,
            });
        }
        Err(damaged())
    }

    /// Returns the difference to a known state from the commits since alone; `None` if they do not say it all, or one is not
    /// there. A tenant's size does not matter then.
    fn news_since(
        &self,
        tenant: &str,
        head: &Head,
        known: &KnownTenant,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<TenantUpdate>, TenantError> {
        let since = known.revision.as_ref();
        let since = since.and_then(|since| head.commits_until(since));
        // Of a log that has bytes and no known beginning, it cannot be said what was appended.
        let is_clear = |log| matches!(known.logs.get(log), Some((1.., _) | (0, 0)));
        let has_logs = LogName::ALL.iter().all(is_clear);
        let Some(since) = since.filter(|_| has_logs) else {
            return Ok(None);
        };
        let digests = head.commits[since..]
            .iter()
            .map(|commit| commit.digest.clone());
        let Some(records) = self.records(tenant, &digests.collect::<Vec<_>>(), stop)? else {
            return Ok(None);
        };
        let mut news = TenantState::default();
        let mut files: BTreeMap<NotePath, Option<CopiedFile>> = BTreeMap::new();
        for (log, (replaced_at, _)) in &known.logs {
            let log = log.file().to_owned();
            news.logs.insert(log, LogRecord::since(*replaced_at));
        }
        for (bytes, revision) in records.iter().zip(head.base.revision + 1 + since as u64..) {
            let commit: CommitRecord = parsed(bytes)?;
            let changed = news.apply(&commit, revision).ok_or_else(damaged)?;
            files.extend(changed.into_iter().map(|file| (file.path, file.state)));
        }
        let mut logs = Vec::new();
        for (name, record) in &news.logs {
            let log = log_name(name).ok_or_else(damaged)?;
            if record.parts.is_empty() {
                continue;
            }
            let Some(bytes) = self.log_bytes(tenant, record, 0, stop)? else {
                return Ok(None);
            };
            let is_same = known
                .logs
                .get(&log)
                .is_some_and(|(at, _)| *at == record.replaced_at);
            logs.push(LogUpdate {
                log,
                replaced_at: record.replaced_at,
                change: match is_same {
                    true => LogChange::Append(bytes),
                    false => LogChange::Replace(bytes),
                },
            });
        }
        let files = files.into_iter();
        Ok(Some(TenantUpdate {
            revision: head.tenant_revision(),
            is_complete: false,
            files: files
                .map(|(path, state)| TenantFile { path, state })
                .collect(),
            logs,
        }))
    }

    fn log_updates(
        &self,
        tenant: &str,
        known: &KnownTenant,
        state: &TenantState,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<LogUpdate>>, TenantError> {
        let mut updates = Vec::new();
        for (name, record) in &state.logs {
            let log = log_name(name).ok_or_else(damaged)?;
            let length = record.len();
            let had = known.logs.get(&log).copied();
            let had = had.filter(|(at, len)| *at == record.replaced_at && *len <= length);
            if had.is_some_and(|(_, len)| len == length) {
                continue;
            }
            let start = had.map_or(0, |(_, len)| len);
            let Some(bytes) = self.log_bytes(tenant, record, start, stop)? else {
                return Ok(None);
            };
            updates.push(LogUpdate {
                log,
                replaced_at: record.replaced_at,
                change: match had {
                    Some(_) => LogChange::Append(bytes),
                    None => LogChange::Replace(bytes),
                },
            });
        }
        Ok(Some(updates))
    }

    /// Returns the bytes of a log from `start`, which is the end of a part; `None` if a part is not there.
    pub(super) fn log_bytes(
        &self,
        tenant: &str,
        record: &LogRecord,
        start: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, TenantError> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut at = 0;
        for part in &record.parts {
            let end = at + part.len();
            if end > start {
                let whole = match part {
                    LogPart::Text(text) => text.as_bytes().to_vec(),
                    LogPart::Object(digest, _) => {
                        let digests = [digest.clone()];
                        let mut read = self.read_objects(tenant, &digests, stop)?;
                        match read.pop().flatten() {
                            Some(bytes) if bytes.len() as u64 == part.len() => bytes,
                            Some(_) => return Err(damaged()),
                            None => return Ok(None),
                        }
                    }
                };
                // Parts may have been joined since.
                let skipped = usize::try_from(start.saturating_sub(at)).unwrap_or(usize::MAX);
                bytes.extend_from_slice(whole.get(skipped..).unwrap_or_default());
            }
            at = end;
        }
        Ok(Some(bytes))
    }

    /// Returns bases, commits and packs, from the cache where it has them; `None` if one is not there.
    pub(super) fn records(
        &self,
        tenant: &str,
        digests: &[String],
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Arc<[u8]>>>, TenantError> {
        let key = |digest: &String| object_key(tenant, digest);
        let mut found: Vec<Option<Arc<[u8]>>> = digests
            .iter()
            .map(|digest| self.cache.get(&key(digest)))
            .collect();
        let missing: Vec<usize> = (0..found.len()).filter(|at| found[*at].is_none()).collect();
        let wanted: Vec<String> = missing.iter().map(|at| digests[*at].clone()).collect();
        for (at, bytes) in missing
            .into_iter()
            .zip(self.read_objects(tenant, &wanted, stop)?)
        {
            let Some(bytes) = bytes else {
                return Ok(None);
            };
            let bytes: Arc<[u8]> = bytes.into();
            self.cache.keep(key(&digests[at]), Arc::clone(&bytes));
            found[at] = Some(bytes);
        }
        Ok(found.into_iter().collect())
    }

    /// Reads objects that their digests name, several at a time; `None` for each that is not there.
    pub(super) fn read_objects(
        &self,
        tenant: &str,
        digests: &[String],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<Vec<u8>>>, TenantError> {
        // The caller's question whether to stop cannot be asked on other threads.
        if stop() {
            return Err(sectile_library::StorageError::Cancelled.into());
        }
        let read = |digest: &String| -> Result<Option<Vec<u8>>, TenantError> {
            let key = object_key(tenant, digest);
            let blob = self.blobs.get(&key, MAX_OBJECT_BYTES, &|| false);
            match blob.map_err(failed)? {
                None => Ok(None),
                Some(blob) if Digest::of(&blob.bytes).to_string() == *digest => {
                    Ok(Some(blob.bytes.into()))
                }
                Some(_) => Err(damaged()),
            }
        };
        at_once(digests, read)
    }
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, TenantError> {
    serde_json::from_slice(bytes).map_err(|_| damaged())
}

/// Does `work` for each item on several threads, and returns the results in order, or the first error.
pub(super) fn at_once<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&I) -> Result<T, TenantError> + Sync,
) -> Result<Vec<T>, TenantError> {
    if let [item] = items {
        return Ok(vec![work(item)?]);
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T, TenantError>)>> = Mutex::default();
    let run = || {
        while let Some((at, item)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, item))
        } {
            let result = work(item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.lock().push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..items.len().min(AT_ONCE) {
            // Without another thread, this one does all of it.
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(at, _)| *at);
    let results: Result<Vec<T>, TenantError> = done.into_iter().map(|(_, result)| result).collect();
    match results {
        Ok(results) if results.len() == items.len() => Ok(results),
        Ok(_) => Err(damaged()),
        Err(error) => Err(error),
    }
}
