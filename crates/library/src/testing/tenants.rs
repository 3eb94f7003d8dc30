//! A store of tenants in memory, which fails when a test wants it to.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

use sectile_markdown::{Digest, NotePath};

use crate::{
    storage::StorageError,
    tenants::{
        CopiedFile, KnownTenant, LogChange, LogName, LogUpdate, TenantCommit, TenantCommitOutcome,
        TenantError, TenantFile, TenantRevision, TenantStore, TenantSummary, TenantUpdate,
        is_tenant_name,
    },
};

/// A fault of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// It is not made, and the store says so.
    Refused,
    /// It is made, but its answer is lost.
    MadeWithoutAnswer,
    /// It is not made, and its answer is lost.
    LostWithoutAnswer,
}

/// A store of tenants in memory.
#[derive(Debug, Default)]
pub struct MemoryTenants {
    tenants: Mutex<BTreeMap<String, MemoryTenant>>,
    faults: Mutex<VecDeque<CommitFault>>,
    is_away: Mutex<bool>,
}

#[derive(Debug)]
struct MemoryTenant {
    revisions: Vec<TenantRevision>,
    files: BTreeMap<NotePath, MemoryFile>,
    logs: BTreeMap<LogName, (u64, Vec<u8>)>,
}

#[derive(Debug)]
struct MemoryFile {
    changed_at: u64,
    content: Option<(CopiedFile, Vec<u8>)>,
}

impl MemoryTenants {
    /// Makes the next commits fail like this, in order.
    pub fn fail(&self, faults: impl IntoIterator<Item = CommitFault>) {
        self.faults.lock().unwrap().extend(faults);
    }

    /// Makes the store answer nothing, or answer again.
    pub fn set_away(&self, is_away: bool) {
        *self.is_away.lock().unwrap() = is_away;
    }

    /// Returns the text of every file of a tenant.
    pub fn texts(&self, tenant: &str) -> BTreeMap<String, String> {
        let tenants = self.tenants.lock().unwrap();
        let files = tenants[tenant].files.iter();
        files
            .filter_map(|(path, file)| Some((path, file.content.as_ref()?)))
            .map(|(path, (_, bytes))| {
                (
                    path.to_string(),
                    String::from_utf8_lossy(bytes).into_owned(),
                )
            })
            .collect()
    }

    fn with<T>(
        &self,
        tenant: &str,
        work: impl FnOnce(&mut MemoryTenant) -> T,
    ) -> Result<T, TenantError> {
        if *self.is_away.lock().unwrap() {
            return Err(StorageError::failed("The store is away.").into());
        }
        let mut tenants = self.tenants.lock().unwrap();
        tenants
            .get_mut(tenant)
            .map(work)
            .ok_or(TenantError::NotFound)
    }
}

impl MemoryTenant {
    fn newest(&self) -> TenantRevision {
        self.revisions.last().unwrap().clone()
    }

    fn make(&mut self, base: &TenantRevision, commit: &TenantCommit) -> TenantCommitOutcome {
        let made = self.revisions.iter().find(|one| one.commit == commit.id);
        if let Some(made) = made {
            return TenantCommitOutcome::Committed(made.clone());
        }
        if self.newest() != *base {
            return TenantCommitOutcome::Behind;
        }
        let number = base.number + 1;
        for file in &commit.files {
            let content = file.content.clone();
            let changed = MemoryFile {
                changed_at: number,
                content,
            };
            self.files.insert(file.path.clone(), changed);
        }
        for (log, change) in &commit.logs {
            let (replaced_at, bytes) = self.logs.entry(*log).or_insert((number, Vec::new()));
            if matches!(change, LogChange::Replace(_)) {
                *replaced_at = number;
                bytes.clear();
            }
            bytes.extend_from_slice(change.bytes());
        }
        self.revisions.push(TenantRevision {
            number,
            commit: commit.id.clone(),
        });
        TenantCommitOutcome::Committed(self.newest())
    }

    fn update(&self, known: &KnownTenant) -> TenantUpdate {
        let since = known.revision.as_ref();
        let since = since.filter(|since| self.revisions.contains(since));
        let is_news = |file: &MemoryFile| since.is_none_or(|since| file.changed_at > since.number);
        let files = self.files.iter().filter(|(_, file)| is_news(file));
        let files = files.map(|(path, file)| TenantFile {
            path: path.clone(),
            state: file.content.as_ref().map(|(state, _)| *state),
        });
        let logs = self.logs.iter().filter_map(|(log, (replaced_at, bytes))| {
            let len = bytes.len() as u64;
            let had = known.logs.get(log).filter(|(at, _)| at == replaced_at);
            let change = match had {
                Some((_, had)) if *had == len => return None,
                Some((_, had)) => {
                    LogChange::Append(bytes[usize::try_from(*had).unwrap()..].to_vec())
                }
                None => LogChange::Replace(bytes.clone()),
            };
            Some(LogUpdate {
                log: *log,
                replaced_at: *replaced_at,
                change,
            })
        });
        TenantUpdate {
            revision: self.newest(),
            is_complete: since.is_none(),
            files: files
                .filter(|file| since.is_some() || file.state.is_some())
                .collect(),
            logs: logs.collect(),
        }
    }
}

impl TenantStore for MemoryTenants {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn prepare(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn ready(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn tenants(&self, _: &dyn Fn() -> bool) -> Result<Vec<TenantSummary>, StorageError> {
        let tenants = self.tenants.lock().unwrap();
        let summaries = tenants.iter().map(|(name, tenant)| {
            let files = tenant.files.values();
            let states = files.filter_map(|file| Some(file.content.as_ref()?.0));
            let sizes: Vec<u64> = states.map(|state| state.bytes).collect();
            TenantSummary {
                name: name.clone(),
                revision: tenant.newest().number,
                files: sizes.len() as u64,
                bytes: sizes.iter().sum(),
            }
        });
        Ok(summaries.collect())
    }

    fn create(&self, tenant: &str) -> Result<(), TenantError> {
        let mut tenants = self.tenants.lock().unwrap();
        if !is_tenant_name(tenant) {
            return Err(TenantError::NotFound);
        }
        if tenants.contains_key(tenant) {
            return Err(TenantError::Exists);
        }
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        let first = TenantRevision {
            number: u64::try_from(now.as_millis()).unwrap(),
            commit: format!("created {}", now.as_nanos()),
        };
        let created = MemoryTenant {
            revisions: vec![first],
            files: BTreeMap::new(),
            logs: BTreeMap::new(),
        };
        tenants.insert(tenant.to_owned(), created);
        Ok(())
    }

    fn remove(&self, tenant: &str, _: &dyn Fn() -> bool) -> Result<(), TenantError> {
        let removed = self.tenants.lock().unwrap().remove(tenant);
        removed.map(drop).ok_or(TenantError::NotFound)
    }

    fn revision(&self, tenant: &str, _: &dyn Fn() -> bool) -> Result<TenantRevision, TenantError> {
        self.with(tenant, |tenant| tenant.newest())
    }

    fn update(
        &self,
        tenant: &str,
        known: &KnownTenant,
        _: &dyn Fn() -> bool,
    ) -> Result<TenantUpdate, TenantError> {
        self.with(tenant, |tenant| tenant.update(known))
    }

    fn read(
        &self,
        tenant: &str,
        files: &[(NotePath, Digest)],
        _: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<Vec<u8>>>, TenantError> {
        self.with(tenant, |tenant| {
            let bytes = files.iter().map(|(path, digest)| {
                let (state, bytes) = tenant.files.get(path)?.content.as_ref()?;
                (state.digest == *digest).then(|| bytes.clone())
            });
            bytes.collect()
        })
    }

    fn commit(
        &self,
        tenant: &str,
        base: &TenantRevision,
        commit: &TenantCommit,
    ) -> Result<TenantCommitOutcome, TenantError> {
        let lost = || TenantError::OutcomeUnknown {
            message: "The answer was lost.".to_owned(),
        };
        let fault = self.faults.lock().unwrap().pop_front();
        match fault {
            Some(CommitFault::Refused) => Err(StorageError::failed("The disk is full.").into()),
            Some(CommitFault::LostWithoutAnswer) => Err(lost()),
            Some(CommitFault::MadeWithoutAnswer) => {
                self.with(tenant, |tenant| tenant.make(base, commit))?;
                Err(lost())
            }
            None => self.with(tenant, |tenant| tenant.make(base, commit)),
        }
    }

    fn clean(&self, _: &str, _: u64, _: &dyn Fn() -> bool) -> Result<u64, TenantError> {
        Ok(0)
    }
}
