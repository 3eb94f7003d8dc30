//! From the copy to the store: what a call changed, as one commit.

use std::collections::{BTreeMap, BTreeSet};

use sectile_markdown::NotePath;
use sectile_vault::{CopiedFile, LogChange, LogName, TouchedPaths};

use super::{CopyState, SharedFolder, SharedFolderError, TenantQuota, commit_id, usage};
use crate::tenants::{FileWrite, TenantCommit, TenantCommitOutcome};

/// A commit, and the files of the tenant after it.
struct PreparedCommit {
    commit: TenantCommit,
    tree: BTreeMap<NotePath, CopiedFile>,
}

impl SharedFolder {
    /// Commits what the copy has and the store does not. Returns whether the store has it now; if not, it is taken back
    /// before the next call.
    pub(super) fn publish(&self, state: &mut CopyState) -> Result<bool, SharedFolderError> {
        let mut touched = BTreeSet::new();
        let PreparedCommit { commit, tree } = match self.prepare(state, &mut touched) {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return Ok(true),
            Err(error) => {
                retract_everything(state);
                return Err(error);
            }
        };
        let rewritten = |(log, change): &(LogName, LogChange)| {
            matches!(change, LogChange::Replace(_)).then_some(*log)
        };
        let rewritten: Vec<LogName> = commit.logs.iter().filter_map(rewritten).collect();
        let outcome = match self.quota.check(usage(&state.tree), usage(&tree)) {
            Ok(()) => self
                .store
                .commit(&self.tenant, &state.revision, &commit)
                .map_err(SharedFolderError::from),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(TenantCommitOutcome::Committed(revision)) => {
                for (log, _) in &commit.logs {
                    let synced = state.logs.entry(*log).or_default();
                    // One that did not exist counts as replaced, too.
                    if rewritten.contains(log) || synced.replaced_at == 0 {
                        synced.replaced_at = revision.number;
                    }
                    match self.copy.log_mark(*log) {
                        Ok(mark) => synced.mark = mark,
                        // The change is made. The copy is compared with the store before it is used again.
                        Err(_) => retract(state, BTreeSet::new(), LogName::ALL),
                    }
                }
                state.revision = revision;
                state.tree = tree;
                Ok(true)
            }
            Ok(TenantCommitOutcome::Behind) => {
                retract(state, touched, rewritten);
                Ok(false)
            }
            Err(error) => {
                retract(state, touched, rewritten);
                Err(error)
            }
        }
    }

    /// Takes back what the copy has and the store does not, before the next call.
    pub(super) fn withdraw(&self, state: &mut CopyState) {
        let mut touched = BTreeSet::new();
        match self.prepare(state, &mut touched) {
            Ok(None) => {}
            Ok(Some(_)) => retract(state, touched, LogName::ALL),
            Err(_) => retract_everything(state),
        }
    }

    /// Returns the commit that brings the store up to date; `None` if nothing has changed. The paths that it looked at
    /// are added to `touched`.
    fn prepare(
        &self,
        state: &CopyState,
        touched: &mut BTreeSet<NotePath>,
    ) -> Result<Option<PreparedCommit>, SharedFolderError> {
        let mut logs = Vec::new();
        for log in LogName::ALL {
            let synced = state.logs.get(&log).cloned().unwrap_or_default();
            if let Some(change) = self.copy.log_change(log, &synced.mark)? {
                logs.push((log, change));
            }
        }
        if logs.is_empty() {
            return Ok(None);
        }
        let journal = logs.iter().find(|(log, _)| *log == LogName::Journal);
        match journal.map(|(_, change)| change) {
            Some(LogChange::Append(lines)) => {
                touched.extend(expanded(&self.copy.touched_paths(lines), &state.tree));
            }
            // A journal that was shortened no longer says what has changed.
            Some(LogChange::Replace(_)) => {
                touched.extend(state.tree.keys().cloned());
                touched.extend(self.copy.files()?.into_keys());
            }
            None => {}
        }
        let mut tree = state.tree.clone();
        let mut files = Vec::new();
        for path in touched.iter() {
            let found = self.copy.read(path)?;
            let before = state.tree.get(path).map(|file| file.digest);
            if before == found.as_ref().map(|(_, file)| file.digest) {
                continue;
            }
            match &found {
                Some((_, file)) => tree.insert(path.clone(), *file),
                None => {
                    self.copy.remove_empty_folders_above(path)?;
                    tree.remove(path)
                }
            };
            files.push(FileWrite {
                path: path.clone(),
                content: found.map(|(bytes, file)| (file, bytes)),
            });
        }
        let id = commit_id()?;
        let commit = TenantCommit { id, files, logs };
        Ok(Some(PreparedCommit { commit, tree }))
    }
}

impl TenantQuota {
    /// Refuses a change that makes a tenant larger than it may be, from these files and bytes to those. One that makes it
    /// smaller is always fine.
    pub(in super::super) fn check(
        self,
        (files, bytes): (u64, u64),
        (more_files, more_bytes): (u64, u64),
    ) -> Result<(), SharedFolderError> {
        let over = |limit, what| Err(SharedFolderError::OverQuota { limit, what });
        if more_files > self.files && more_files > files {
            return over(self.files, "files");
        }
        if more_bytes > self.bytes && more_bytes > bytes {
            return over(self.bytes, "bytes");
        }
        Ok(())
    }
}

/// Notes that the copy has something that the store refused, or may have refused.
fn retract(
    state: &mut CopyState,
    files: BTreeSet<NotePath>,
    rewritten: impl IntoIterator<Item = LogName>,
) {
    state.retractions += 1;
    let parts = state.unsynced.get_or_insert_default();
    parts.files.extend(files);
    parts.rewritten.extend(rewritten);
}

/// Notes that nothing is known of what the copy has and the store does not.
fn retract_everything(state: &mut CopyState) {
    retract(state, BTreeSet::new(), LogName::ALL);
    state.unsynced.get_or_insert_default().is_everything = true;
}

/// Returns the paths of all files that may have changed: those that the journal names, and those that are or were below
/// a folder that was moved.
fn expanded(paths: &TouchedPaths, tree: &BTreeMap<NotePath, CopiedFile>) -> BTreeSet<NotePath> {
    let parsed = |path: &str| NotePath::parse_vault(path).ok();
    let named = paths.files.iter();
    let mut all: BTreeSet<NotePath> = named.filter_map(|path| parsed(path)).collect();
    for folder in &paths.folders {
        let inside = format!("{folder}/");
        for path in tree.keys() {
            let Some(rest) = path.as_str().strip_prefix(&inside) else {
                continue;
            };
            all.insert(path.clone());
            let others = paths.folders.iter().filter(|other| *other != folder);
            all.extend(others.filter_map(|other| parsed(&format!("{other}/{rest}"))));
        }
    }
    all
}
