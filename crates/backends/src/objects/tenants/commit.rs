//! Commits: objects first, then the head, on condition that nobody else has replaced it.

use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

use bytes::Bytes;
use sectile_library::tenants::{TenantCommit, TenantCommitOutcome, TenantError, TenantRevision};
use sectile_markdown::Digest;
use serde::Serialize;

use super::{
    KnownHead, ObjectTenants, damaged, failed,
    format::{
        Base, BaseReference, CommitRecord, CommitReference, FileRecord, Head, LogPart, LogRecord,
        head_key, object_key,
    },
    packs::CommitPacks,
    state::{TenantState, at_once},
};
use crate::{BlobError, ReplaceOutcome};

/// The number of commits after which a new base is written. A server that starts reads as many objects; a base of 20,000
/// files takes some 3 MB.
const MAX_COMMITS: usize = 64;
/// The number of earlier commits whose ids are remembered.
const MAX_EARLIER: usize = 256;
/// The number of parts after which a log becomes one.
const MAX_PARTS: usize = 64;
/// The pauses before a head whose fate is unknown is looked at again.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

const NEVER: &dyn Fn() -> bool = &|| false;

impl ObjectTenants {
    /// Makes a commit. If the answer to the replacement of the head is lost, it is repeated on the same condition, until the
    /// head says what became of it.
    pub(super) fn commit_surely(
        &self,
        tenant: &str,
        base: &TenantRevision,
        commit: &TenantCommit,
    ) -> Result<TenantCommitOutcome, TenantError> {
        let key = head_key(tenant).ok_or(TenantError::NotFound)?;
        let known = self.head(tenant, NEVER)?;
        if let Some(outcome) = decided(&known.head, base, commit) {
            return Ok(outcome);
        }
        let (head, state) = self.write_objects(tenant, &known.head, commit)?;
        let bytes = Bytes::from(encoded(&head)?);
        let mut pauses = PAUSES.into_iter();
        let mut is_doubtful = false;
        loop {
            match self.blobs.replace(&key, bytes.clone(), &known.tag, NEVER) {
                Ok(ReplaceOutcome::Replaced(tag)) => {
                    let outcome = TenantCommitOutcome::Committed(head.tenant_revision());
                    self.remember_state(tenant, &head, Arc::new(state));
                    self.remember(tenant, &KnownHead { head, tag });
                    return Ok(outcome);
                }
                Err(BlobError::OutcomeUnknown) => is_doubtful = true,
                Ok(ReplaceOutcome::Changed) => {}
                Err(error) if !is_doubtful => return Err(failed(error)),
                Err(_) => {}
            }
            match self.head(tenant, NEVER) {
                Ok(present) => match decided(&present.head, base, commit) {
                    Some(outcome) => return Ok(outcome),
                    None => is_doubtful = true,
                },
                Err(TenantError::NotFound) => return Err(TenantError::NotFound),
                Err(error) if !is_doubtful => return Err(error),
                Err(_) => {}
            }
            match pauses.next() {
                Some(pause) => thread::sleep(pause),
                None => {
                    let message = "The object storage did not say whether the change was stored.";
                    return Err(TenantError::OutcomeUnknown {
                        message: message.to_owned(),
                    });
                }
            }
        }
    }

    /// Writes everything that the next head names, and returns that head with its state.
    fn write_objects(
        &self,
        tenant: &str,
        head: &Head,
        commit: &TenantCommit,
    ) -> Result<(Head, TenantState), TenantError> {
        let packs = CommitPacks::of(commit);
        let (record, parts) = CommitRecord::of(commit, &packs.places);
        let bytes = encoded(&record)?;
        let reference = CommitReference {
            id: commit.id.clone(),
            digest: Digest::of(&bytes).to_string(),
        };
        let files = commit.files.iter().filter_map(|file| {
            let (state, bytes) = file.content.as_ref()?;
            let is_single = !packs.places.contains_key(&state.digest);
            is_single.then(|| (state.digest.to_string(), bytes.clone()))
        });
        let mut objects: Vec<(String, Vec<u8>)> = files.chain(parts).collect();
        objects.extend(packs.objects);
        let state = self.state_of(tenant, head, NEVER)?.ok_or_else(damaged)?;
        let mut state = Arc::unwrap_or_clone(state);
        let (mut files, mut size) = (head.files, head.bytes);
        for file in &commit.files {
            if let Some(old) = state.files.get(&file.path) {
                files = files.saturating_sub(1);
                size = size.saturating_sub(old.bytes);
            }
            if let Some((state, _)) = &file.content {
                files = files.saturating_add(1);
                size = size.saturating_add(state.bytes);
            }
        }
        let mut next = Head {
            revision: head.revision + 1,
            commit: commit.id.clone(),
            files,
            bytes: size,
            ..head.clone()
        };
        if head.commits.len() >= MAX_COMMITS {
            let (reference, logs, written) = self.new_base(tenant, head, &state)?;
            state.logs = logs;
            let revisions = head.base.revision + 1..;
            let commits = next.commits.drain(..).map(|commit| commit.id);
            next.earlier.extend(revisions.zip(commits));
            let surplus = next.earlier.len().saturating_sub(MAX_EARLIER);
            next.earlier.drain(..surplus);
            next.base = reference;
            objects.extend(written);
        }
        objects.push((reference.digest.clone(), bytes));
        next.commits.push(reference);
        at_once(&objects, |(digest, bytes)| {
            let key = object_key(tenant, digest);
            let bytes = Bytes::copy_from_slice(bytes);
            self.blobs.put(&key, bytes, NEVER).map_err(failed)
        })?;
        state.apply(&record, next.revision).ok_or_else(damaged)?;
        Ok((next, state))
    }

    /// Returns a base with the state of `head`, its logs, and the objects that it needs.
    fn new_base(
        &self,
        tenant: &str,
        head: &Head,
        state: &TenantState,
    ) -> Result<WrittenBase, TenantError> {
        let mut objects = Vec::new();
        let mut logs = BTreeMap::new();
        for (name, log) in &state.logs {
            let log = self.joined(tenant, log, &mut objects)?;
            logs.insert(name.clone(), log);
        }
        let files = state.files.iter();
        let base = Base {
            files: files
                .map(|(path, file)| FileRecord::new(path, Some(file), &state.packed))
                .collect(),
            logs: logs.clone(),
        };
        let bytes = encoded(&base)?;
        let digest = Digest::of(&bytes).to_string();
        objects.push((digest.clone(), bytes));
        let reference = BaseReference {
            revision: head.revision,
            commit: head.commit.clone(),
            digest: Some(digest),
        };
        Ok((reference, logs, objects))
    }

    /// Returns a log whose short parts are joined, or all of them if there are many.
    fn joined(
        &self,
        tenant: &str,
        log: &LogRecord,
        objects: &mut Vec<(String, Vec<u8>)>,
    ) -> Result<LogRecord, TenantError> {
        let long = log
            .parts
            .iter()
            .rposition(|part| matches!(part, LogPart::Object(..)));
        let first_short = long.map_or(0, |at| at + 1);
        // Parts that are objects already are kept, until there are too many.
        let kept = match first_short <= MAX_PARTS {
            true => first_short,
            false => 0,
        };
        let start = log.parts[..kept].iter().map(LogPart::len).sum();
        let rest = self
            .log_bytes(tenant, log, start, NEVER)?
            .ok_or_else(damaged)?;
        let mut parts = log.parts[..kept].to_vec();
        if !rest.is_empty() {
            let digest = Digest::of(&rest).to_string();
            parts.push(LogPart::Object(digest.clone(), rest.len() as u64));
            objects.push((digest, rest));
        }
        Ok(LogRecord {
            replaced_at: log.replaced_at,
            parts,
        })
    }
}

/// A base, its logs, and the objects that have to be written for it, by digest.
type WrittenBase = (
    BaseReference,
    BTreeMap<String, LogRecord>,
    Vec<(String, Vec<u8>)>,
);

/// Returns what a head says about a commit on `base`: nothing if the head is that of `base`.
fn decided(
    head: &Head,
    base: &TenantRevision,
    commit: &TenantCommit,
) -> Option<TenantCommitOutcome> {
    if let Some(number) = head.revision_of(&commit.id) {
        let commit = commit.id.clone();
        return Some(TenantCommitOutcome::Committed(TenantRevision {
            number,
            commit,
        }));
    }
    (head.tenant_revision() != *base).then_some(TenantCommitOutcome::Behind)
}

fn encoded(value: &impl Serialize) -> Result<Vec<u8>, TenantError> {
    serde_json::to_vec(value).map_err(|_| damaged())
}
