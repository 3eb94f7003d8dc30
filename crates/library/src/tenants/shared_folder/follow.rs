//! From the store to the copy: files and logs that others changed, and what has to be put back.

use std::{collections::BTreeMap, sync::Arc};

use sectile_markdown::{Digest, NotePath};
use sectile_vault::{CopiedFile, LogChange, LogName, WorkingCopy};

use super::{CopyState, SharedFolder, SharedFolderError, SyncedLog, UnsyncedParts};
use crate::tenants::{KnownTenant, LogUpdate, TenantRevision, TenantStore, TenantUpdate};

/// The most bytes that are fetched with one request, unless one file has more: so large that a round trip does not count.
const BATCH_BYTES: u64 = 4 << 20;
/// The most files that are fetched with one request.
const BATCH_FILES: usize = 500;
/// Number of attempts while others change files that are being fetched.
const MOST_TRIES: usize = 8;

/// The state that a copy was brought to.
pub(super) struct FollowedState {
    pub(super) revision: TenantRevision,
    pub(super) tree: BTreeMap<NotePath, CopiedFile>,
    pub(super) logs: BTreeMap<LogName, SyncedLog>,
}

/// An update that failed, and the parts of the copy that it may have changed.
pub(super) struct FailedUpdate {
    pub(super) error: SharedFolderError,
    touched: UnsyncedParts,
}

/// A copy that is to be brought up to date.
pub(super) struct OutdatedCopy<'a> {
    pub(super) store: &'a dyn TenantStore,
    pub(super) tenant: &'a str,
    pub(super) copy: &'a WorkingCopy,
    /// The files that it has, apart from those that are not in step.
    pub(super) tree: &'a BTreeMap<NotePath, CopiedFile>,
    /// The logs that it has, apart from those that are not in step.
    pub(super) logs: &'a BTreeMap<LogName, SyncedLog>,
    /// The revision that these belong to; none if they may be of any.
    pub(super) revision: Option<&'a TenantRevision>,
    pub(super) unsynced: &'a UnsyncedParts,
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl SharedFolder {
    /// Brings the copy up to date with the store. After an error it is known to be out of step, and the next call goes on.
    pub(super) fn follow(
        &self,
        state: &mut CopyState,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), SharedFolderError> {
        let had_unsynced = state.unsynced.is_some();
        let unsynced = state.unsynced.clone().unwrap_or_default();
        // Then only what is on disk counts, as when the copy is opened.
        let found = match unsynced.is_everything {
            true => Some(self.copy.files()?),
            false => None,
        };
        let no_logs = BTreeMap::new();
        let outdated = OutdatedCopy {
            store: &*self.store,
            tenant: &self.tenant,
            copy: &self.copy,
            tree: found.as_ref().unwrap_or(&state.tree),
            logs: if found.is_some() {
                &no_logs
            } else {
                &state.logs
            },
            revision: Some(&state.revision).filter(|_| found.is_none()),
            unsynced: &unsynced,
            stop,
        };
        match outdated.follow() {
            Ok(followed) => {
                state.revision = followed.revision;
                state.tree = followed.tree;
                state.logs = followed.logs;
                state.unsynced = None;
            }
            Err(FailedUpdate { error, touched }) => {
                let parts = state.unsynced.get_or_insert_default();
                parts.files.extend(touched.files);
                parts.rewritten.extend(touched.rewritten);
                parts.is_everything |= touched.is_everything;
                return Err(error);
            }
        }
        if had_unsynced {
            // The editor may remember ids and entries that were taken back.
            state.folder = Arc::new(state.folder.reopened(self.editor.clone())?);
        }
        Ok(())
    }
}

impl OutdatedCopy<'_> {
    /// Brings the copy up to date.
    pub(super) fn follow(&self) -> Result<FollowedState, FailedUpdate> {
        let mut touched = UnsyncedParts::default();
        match self.attempts(&mut touched) {
            Ok(followed) => Ok(followed),
            Err(error) => Err(FailedUpdate { error, touched }),
        }
    }

    fn attempts(&self, touched: &mut UnsyncedParts) -> Result<FollowedState, SharedFolderError> {
        let in_step = self.logs.iter();
        let in_step = in_step.filter(|(log, _)| !self.unsynced.rewritten.contains(log));
        let known = KnownTenant {
            revision: self.revision.cloned(),
            logs: in_step
                .map(|(log, synced)| (*log, (synced.replaced_at, synced.mark.len)))
                .collect(),
        };
        for _ in 0..MOST_TRIES {
            let update = self.store.update(self.tenant, &known, self.stop)?;
            let target = target_of(&update, self.tree);
            // Otherwise something changed again while it was being fetched.
            if self.put_files(&target, touched)? {
                return Ok(FollowedState {
                    logs: self.put_logs(update.logs, &known, touched)?,
                    revision: update.revision,
                    tree: target,
                });
            }
        }
        Err(SharedFolderError::Busy)
    }

    /// Puts files in place so that they are those of `target`. Returns `false` if the store has other bytes by now.
    fn put_files(
        &self,
        target: &BTreeMap<NotePath, CopiedFile>,
        touched: &mut UnsyncedParts,
    ) -> Result<bool, SharedFolderError> {
        let had = self.tree.keys().chain(&self.unsynced.files);
        let gone: Vec<NotePath> = had
            .chain(&touched.files)
            .filter(|path| !target.contains_key(*path))
            .cloned()
            .collect();
        for path in gone {
            self.copy.remove(&path)?;
            touched.files.insert(path);
        }
        let mut wanted = Vec::new();
        for (path, state) in target {
            let is_doubtful = self.unsynced.files.contains(path) || touched.files.contains(path);
            if self.tree.get(path) == Some(state) && !is_doubtful {
                continue;
            }
            match self.copy.read(path)? {
                Some((_, found)) if found == *state => {}
                Some((bytes, found)) if found.digest == state.digest => {
                    self.copy.put(path, &bytes, state.modified)?;
                }
                _ => wanted.push((path, *state)),
            }
        }
        let mut rest = wanted.as_slice();
        while !rest.is_empty() {
            let (batch, others) = rest.split_at(batch_len(rest));
            rest = others;
            if !self.fetch(batch, touched)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fetch(
        &self,
        batch: &[(&NotePath, CopiedFile)],
        touched: &mut UnsyncedParts,
    ) -> Result<bool, SharedFolderError> {
        let asked = batch
            .iter()
            .map(|(path, state)| ((*path).clone(), state.digest));
        let asked: Vec<(NotePath, Digest)> = asked.collect();
        let found = self.store.read(self.tenant, &asked, self.stop)?;
        if found.len() != batch.len() {
            return Err(damaged());
        }
        for ((path, state), bytes) in batch.iter().zip(found) {
            let Some(bytes) = bytes else {
                return Ok(false);
            };
            if Digest::of(&bytes) != state.digest {
                return Err(damaged());
            }
            touched.files.insert((*path).clone());
            self.copy.put(path, &bytes, state.modified)?;
        }
        Ok(true)
    }

    fn put_logs(
        &self,
        updates: Vec<LogUpdate>,
        known: &KnownTenant,
        touched: &mut UnsyncedParts,
    ) -> Result<BTreeMap<LogName, SyncedLog>, SharedFolderError> {
        let updates = updates.into_iter();
        let mut updates: BTreeMap<LogName, LogUpdate> =
            updates.map(|update| (update.log, update)).collect();
        let mut followed = BTreeMap::new();
        for log in LogName::ALL {
            let is_known = known.logs.contains_key(&log);
            let synced = self.logs.get(&log).filter(|_| is_known);
            let synced = synced.cloned().unwrap_or_default();
            let (replaced_at, keep, bytes) = match updates.remove(&log) {
                Some(LogUpdate {
                    replaced_at,
                    change: LogChange::Append(bytes),
                    ..
                }) => (replaced_at, synced.mark.len, bytes),
                Some(LogUpdate {
                    replaced_at,
                    change: LogChange::Replace(bytes),
                    ..
                }) => (replaced_at, 0, bytes),
                // What was appended here and refused there is cut off.
                None => (synced.replaced_at, synced.mark.len, Vec::new()),
            };
            let is_same = bytes.is_empty() && keep == synced.mark.len && is_known;
            if !is_same || !self.copy.has_length(log, &synced.mark)? {
                touched.rewritten.insert(log);
                self.copy.write_log(log, keep, &bytes)?;
            }
            let mark = self.copy.log_mark(log)?;
            followed.insert(log, SyncedLog { replaced_at, mark });
        }
        Ok(followed)
    }
}

fn target_of(
    update: &TenantUpdate,
    tree: &BTreeMap<NotePath, CopiedFile>,
) -> BTreeMap<NotePath, CopiedFile> {
    let mut target = match update.is_complete {
        true => BTreeMap::new(),
        false => tree.clone(),
    };
    for file in &update.files {
        match file.state {
            Some(state) => target.insert(file.path.clone(), state),
            None => target.remove(&file.path),
        };
    }
    target
}

/// Returns how many of these files are fetched with one request.
pub(in super::super) fn batch_len(wanted: &[(&NotePath, CopiedFile)]) -> usize {
    let mut bytes = 0;
    let fitting = wanted.iter().take(BATCH_FILES).take_while(|(_, state)| {
        bytes += state.bytes;
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1)
}

fn damaged() -> SharedFolderError {
    SharedFolderError::Store {
        message: "The store returned other bytes than it listed. Check whether something else writes to it."
            .to_owned(),
    }
}
