//! Removal of what no state needs, and of whole indexes.
//!
//! A piece that the current state does not name is either from an earlier state, or from a build that was given up, or
//! from one that is still running. Pieces of earlier states never come back: a build that began with such a state cannot
//! replace another one, and new pieces have new keys. Pieces of a running build are recent, because a build is published
//! within half the period of grace, or not at all. So what is older than that, by the clock of the storage alone, is
//! removed.
//!
//! A reader that is downloading an earlier state may lose a piece. It then reads the current state.

use std::collections::{BTreeSet, HashSet};

use bytes::Bytes;
use sectile_library::{
    StorageError,
    mirror::{CleanReport, PublishedIndex},
};

use super::{
    BucketIndexes, INDEXES, MOST_STATE_BYTES, STATE, StateRead, TRIES,
    building::build_number,
    state::{PublishedPiece, PublishedState},
};
use crate::{BlobError, BlobInfo, CreateOutcome, ReplaceOutcome, objects::PROBES};

/// An object that is written to learn the time of the storage.
const CLOCK: &str = "clock";
/// Number of objects listed at a time.
const PAGE: usize = 1000;
/// The most objects of one index that are listed: several times what a state can name.
const MOST_OBJECTS: usize = 1_000_000;
/// The most indexes that are listed.
const MOST_INDEXES: usize = 100_000;

impl BucketIndexes {
    /// See [`IndexPublishing::clean`](sectile_library::mirror::IndexPublishing::clean).
    pub(super) fn clean_index(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<CleanReport, StorageError> {
        let prefix = Self::prefix(collection);
        // The state first: what it names is needed, and what is uploaded after this moment is recent.
        let needed: HashSet<String> = match self.read_state(collection, stop)? {
            StateRead::Missing => HashSet::new(),
            StateRead::Known(known) => {
                let pieces = known.state.files.iter().flat_map(|file| &file.pieces);
                pieces
                    .map(|piece: &PublishedPiece| piece.key.clone())
                    .collect()
            }
            // Nobody knows what it needs.
            StateRead::Unusable(_, error) => return Err(error.into()),
        };
        let clock = format!("{prefix}{CLOCK}-{}", build_number()?);
        self.blobs.put(&clock, Bytes::from_static(b"tick"), stop)?;
        let listed = self.objects(&prefix, stop)?;
        let now = listed.iter().find(|blob| blob.key == clock);
        let now = now.map(|blob| blob.modified).ok_or_else(|| {
            StorageError::failed(
                "A listing of the bucket lacks an object that was just written. Use a storage with consistent listings.",
            )
        })?;
        let grace = i64::try_from(self.grace.as_millis()).unwrap_or(i64::MAX);
        let mut report = CleanReport::default();
        let is_old = |blob: &BlobInfo| now.saturating_sub(blob.modified) > grace;
        let mut doomed = vec![clock];
        let mut probes = self.objects(&format!("{PROBES}/"), stop)?;
        probes.retain(is_old);
        report.removed += probes.len();
        doomed.extend(probes.into_iter().map(|blob| blob.key));
        for blob in listed {
            let name = blob.key.strip_prefix(&prefix).unwrap_or_default();
            if name == STATE {
                continue;
            }
            if needed.contains(name) {
                report.needed += 1;
            } else if is_old(&blob) {
                report.removed += 1;
                doomed.push(blob.key);
            } else if !name.starts_with(CLOCK) {
                report.recent += 1;
            }
        }
        self.blobs.delete(&doomed, stop)?;
        Ok(report)
    }

    /// See [`IndexPublishing::remove`](sectile_library::mirror::IndexPublishing::remove). A state without files stays, so
    /// that a build that is running cannot bring the index back in part.
    pub(super) fn remove_index(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool, StorageError> {
        let prefix = Self::prefix(collection);
        let key = Self::state_key(collection);
        for _ in 0..TRIES {
            let (tag, before) = match self.read_state(collection, stop)? {
                StateRead::Missing => (None, None),
                StateRead::Known(known) => (Some(known.tag.clone()), Some(known)),
                StateRead::Unusable(tag, _) => (Some(tag), None),
            };
            // Everything listed here is older than the state that is about to be written, so no later one names it.
            let listed = self.objects(&prefix, stop)?;
            let doomed = listed.into_iter().map(|blob| blob.key);
            let doomed: Vec<String> = doomed.filter(|one| *one != key).collect();
            let before = before.as_ref().map(|known| &known.state);
            let is_removed = before.is_some_and(PublishedState::is_removal);
            if tag.is_none() && doomed.is_empty() {
                return Ok(false);
            }
            let removal = PublishedState::removal(before, &build_number()?).encode()?;
            let written = match &tag {
                None => {
                    let created = self.blobs.create(&key, removal.clone(), stop);
                    created.map(|outcome| outcome != CreateOutcome::Exists)
                }
                Some(tag) => {
                    let replaced = self.blobs.replace(&key, removal.clone(), tag, stop);
                    replaced.map(|outcome| outcome != ReplaceOutcome::Changed)
                }
            };
            let is_written = match written {
                Ok(is_written) => is_written,
                Err(BlobError::OutcomeUnknown) => {
                    let settled = self.blobs.settle(&key, &removal, MOST_STATE_BYTES, stop)?;
                    settled.is_ok()
                }
                Err(error) => return Err(error.into()),
            };
            if is_written {
                self.blobs.delete(&doomed, stop)?;
                return Ok(!is_removed && tag.is_some());
            }
        }
        Err(StorageError::failed(
            "The index is being built again and again, so it was not removed. Stop the builds, and try again.",
        ))
    }

    /// See [`IndexPublishing::published`](sectile_library::mirror::IndexPublishing::published).
    pub(super) fn list_published(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<PublishedIndex>, StorageError> {
        let folder = format!("{INDEXES}/");
        let mut prefixes = BTreeSet::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.blobs.list(&folder, after.as_deref(), 1, stop)?;
            let Some(blob) = page.blobs.first() else {
                break;
            };
            let rest = blob.key.strip_prefix(&folder).unwrap_or_default();
            let Some((name, _)) = rest.split_once('/') else {
                after = Some(blob.key.clone());
                continue;
            };
            // The last key that the objects of this index could have.
            after = Some(format!("{folder}{name}/~"));
            prefixes.insert(name.to_owned());
            if prefixes.len() > MOST_INDEXES {
                return Err(StorageError::failed(format!(
                    "The bucket has more than {MOST_INDEXES} indexes. Divide them among several prefixes."
                )));
            }
        }
        let mut found = Vec::new();
        for name in prefixes {
            let key = format!("{folder}{name}/{STATE}");
            let Some(blob) = self.blobs.get(&key, MOST_STATE_BYTES, stop)? else {
                continue;
            };
            let state = match PublishedState::decode_any(&blob.bytes) {
                Ok(state) => state,
                Err(error) => {
                    tracing::warn!(
                        reason = error.reason(),
                        "an index in the bucket is left out"
                    );
                    continue;
                }
            };
            if !state.is_removal() && Self::state_key(&state.collection) == key {
                found.push(PublishedIndex {
                    index_as_of: state.index_as_of,
                    bytes: state.bytes(),
                    generation: state.generation,
                    collection_id: state.collection,
                });
            }
        }
        found.sort_by(|one, other| one.collection_id.cmp(&other.collection_id));
        Ok(found)
    }

    fn objects(
        &self,
        prefix: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<BlobInfo>, StorageError> {
        let mut all: Vec<BlobInfo> = Vec::new();
        loop {
            let after = all.last().map(|blob| blob.key.as_str());
            let page = self.blobs.list(prefix, after, PAGE, stop)?;
            let has_more = page.has_more && !page.blobs.is_empty();
            all.extend(page.blobs);
            if all.len() > MOST_OBJECTS {
                return Err(StorageError::failed(format!(
                    "An index in the bucket has more than {MOST_OBJECTS} objects. Remove what does not belong to it."
                )));
            }
            if !has_more {
                return Ok(all);
            }
        }
    }
}
