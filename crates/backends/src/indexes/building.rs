//! A build: the published state is checked out into a folder, changed there, and published.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use sectile_library::{
    StorageError,
    mirror::{IndexBuild, Publication},
};
use sectile_retrieval::{CopyLock, Store, StoreError};

use super::{
    BucketIndexes, KnownState, MOST_STATE_BYTES, NEVER, StateRead, TRIES,
    state::{PublishedFile, PublishedState, StateError},
    transfer::{PieceStore, TransferError, Upload, not_written},
};
use crate::{BlobError, CreateOutcome, ETag, ReplaceOutcome};

/// The state that a build began with.
enum BaseState {
    /// There was none.
    Missing,
    /// There was one that could not be built upon: only its tag counts.
    Unusable(ETag),
    Known(Arc<KnownState>),
}

impl BaseState {
    fn tag(&self) -> Option<&ETag> {
        match self {
            Self::Missing => None,
            Self::Unusable(tag) => Some(tag),
            Self::Known(known) => Some(&known.tag),
        }
    }

    fn state(&self) -> Option<&PublishedState> {
        match self {
            Self::Known(known) => Some(&known.state),
            _ => None,
        }
    }
}

/// A build in a folder of this machine.
pub(super) struct BucketBuild<'a> {
    indexes: &'a BucketIndexes,
    collection: String,
    folder: PathBuf,
    store: Store,
    base: BaseState,
    remade: Option<String>,
    _lock: CopyLock,
}

impl<'a> BucketBuild<'a> {
    pub(super) fn begin(
        indexes: &'a BucketIndexes,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, StorageError> {
        indexes.probe(stop)?;
        let folder = indexes.build_folder(collection);
        let store = Store::make_cache_at(&folder).map_err(|error| not_written(&error))?;
        let lock = store.copy_lock().map_err(|error| match error {
            StoreError::Busy => StorageError::failed(
                "Another process on this machine is building this index. Wait until it has finished.",
            ),
            error => StorageError::failed(format!("The index cannot be built: {error}.")),
        })?;
        let mut build = Self {
            indexes,
            collection: collection.to_owned(),
            folder,
            store,
            base: BaseState::Missing,
            remade: None,
            _lock: lock,
        };
        build.check_out(stop)?;
        let cache = indexes.build_cache();
        super::mark_used(&cache, &build.folder, collection, indexes.max_cache_bytes);
        Ok(build)
    }

    fn check_out(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), StorageError> {
        let mut lost = None;
        for _ in 0..TRIES {
            let known = match self.indexes.read_state(&self.collection, stop)? {
                // What the folder has from before may be newer than nothing.
                StateRead::Missing => return Ok(()),
                StateRead::Unusable(_, StateError::OtherVersion) => {
                    return Err(StateError::OtherVersion.into());
                }
                StateRead::Unusable(tag, error) => {
                    self.base = BaseState::Unusable(tag);
                    return self.start_over(error.reason(), stop);
                }
                StateRead::Known(known) => known,
            };
            if known.state.is_removal() {
                self.base = BaseState::Known(known);
                return self.indexes.discard(&self.folder, stop);
            }
            let (indexes, folder) = (self.indexes, &self.folder);
            match indexes.copy(&self.collection, folder, &known.state, true, stop) {
                Ok(()) => {
                    self.base = BaseState::Known(known);
                    return Ok(());
                }
                Err(TransferError::Failed(error)) => return Err(error),
                Err(TransferError::Lost) => {
                    indexes.states.lock().remove(&self.collection);
                    lost = Some(known.tag.clone());
                }
            }
        }
        if let Some(tag) = lost {
            self.base = BaseState::Unusable(tag);
        }
        self.start_over("a part of it is missing from the bucket, or damaged", stop)
    }

    fn start_over(
        &mut self,
        why: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), StorageError> {
        self.remade = Some(why.to_owned());
        self.indexes.discard(&self.folder, stop)
    }

    /// Replaces the state that this build began with.
    fn replace_state(
        &mut self,
        next: &PublishedState,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Publication, StorageError> {
        let (blobs, key) = (
            &self.indexes.blobs,
            BucketIndexes::state_key(&self.collection),
        );
        let bytes = next.encode()?;
        let mut error = BlobError::OutcomeUnknown;
        for _ in 0..TRIES {
            let written = match self.base.tag() {
                None => blobs
                    .create(&key, bytes.clone(), stop)
                    .map(|outcome| match outcome {
                        CreateOutcome::Created(tag) => Some(tag),
                        CreateOutcome::Exists => None,
                    }),
                Some(tag) => {
                    let replaced = blobs.replace(&key, bytes.clone(), tag, stop);
                    replaced.map(|outcome| match outcome {
                        ReplaceOutcome::Replaced(tag) => Some(tag),
                        ReplaceOutcome::Changed => None,
                    })
                }
            };
            let settled = match written {
                Ok(written) => written,
                Err(BlobError::OutcomeUnknown) => {
                    match blobs.settle(&key, &bytes, MOST_STATE_BYTES, stop) {
                        Ok(Ok(tag)) => Some(tag),
                        // It may still be carried out, unless this one is first.
                        Ok(Err(found))
                            if found.as_ref().map(|blob| &blob.tag) == self.base.tag() =>
                        {
                            continue;
                        }
                        Ok(Err(_)) => None,
                        Err(other) => {
                            error = other;
                            continue;
                        }
                    }
                }
                Err(error) => return Err(error.into()),
            };
            let Some(tag) = settled else {
                return Ok(Publication::Superseded);
            };
            let known = Arc::new(KnownState {
                tag,
                state: next.clone(),
            });
            let mut states = self.indexes.states.lock();
            states.insert(self.collection.clone(), Arc::clone(&known));
            self.base = BaseState::Known(known);
            return Ok(Publication::Published);
        }
        Err(error.into())
    }
}

impl IndexBuild for BucketBuild<'_> {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn remade(&self) -> Option<&str> {
        self.remade.as_deref()
    }

    fn publish(&mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<Publication, StorageError> {
        let folder = self.store.copied_state().map_err(|error| {
            StorageError::failed(format!("The index that was built cannot be read: {error}."))
        })?;
        let Some(folder) = folder.filter(|folder| folder.collection == self.collection) else {
            return Err(StorageError::failed(
                "The index that was built is not there any more. Build it again.",
            ));
        };
        let start = Instant::now();
        let build = build_number()?;
        let known = self.base.state().map(PublishedState::pieces);
        let known = known.unwrap_or_default().into_iter();
        let upload = Upload {
            known: known
                .map(|(digest, piece)| (digest.to_owned(), piece.clone()))
                .collect(),
            build: &build,
        };
        let prefix = BucketIndexes::prefix(&self.collection);
        let pieces = PieceStore {
            blobs: &self.indexes.blobs,
            prefix: &prefix,
            stop,
        };
        let files: Vec<PublishedFile> = pieces.upload(&self.store, &folder.names, &upload)?;
        if self
            .base
            .state()
            .is_some_and(|base| base.has_same_files(&files))
        {
            return Ok(Publication::Unchanged);
        }
        let about = (self.collection.as_str(), folder.made_at);
        let next = PublishedState::after(self.base.state(), &build, about, files);
        if start.elapsed() >= self.indexes.grace / 2 {
            // What was uploaded first may be cleaned up before the state that names it is there.
            return Err(StorageError::failed(
                "Uploading the index took too long to publish it. Try again over a faster connection.",
            ));
        }
        let publication = self.replace_state(&next, stop)?;
        if publication == Publication::Published
            && let Err(error) = self.indexes.clean_index(&self.collection, NEVER)
        {
            tracing::warn!(%error, "what the index no longer needs stays in its bucket for now");
        }
        Ok(publication)
    }
}

/// Returns the number of a build, which no other has.
pub(super) fn build_number() -> Result<String, StorageError> {
    let number = getrandom::u64()
        .map_err(|_| StorageError::failed("The system gives no random numbers. Try again."))?;
    Ok(format!("{number:016x}"))
}
