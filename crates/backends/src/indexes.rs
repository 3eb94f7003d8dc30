//! Indexes in object storage: any process may build one, and every process searches a copy of it.
//!
//! The index of a collection is its files in pieces, each an object that never changes, and one object, its *state*, that
//! names them. A build uploads the pieces that the state it began with does not name, and then replaces that very state,
//! by a conditional write. So of several builds exactly one wins, the others learn that they lost, and a state names only
//! pieces that are there. Readers take no lock: they ask whether the state changed, download the pieces that they lack,
//! compare them with their digests, and open the files as they open those of any index folder.
//!
//! The key of a piece contains the number of the build that uploaded it. A removed key therefore never comes back, and
//! what no state names can be removed once no build can be running that uploaded it: see `cleaning`.

mod building;
mod cleaning;
mod state;
mod transfer;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use sectile_library::{
    StorageError, indexing,
    mirror::{CleanReport, IndexBuild, IndexMirror, IndexPublishing, PublishedIndex},
};
use sectile_markdown::Digest;
use sectile_retrieval::{CacheFolder, IndexFile, Store, StoreError, Writer};

use self::{
    building::BucketBuild,
    state::{MOST_STATE_BYTES, PublishedFile, PublishedState, StateError},
    transfer::{PieceStore, TransferError, not_written},
};
use crate::{
    Blob, BlobError, BlobStore, BlockingRuntime, ConditionalRead, ETag, IndexBucketSettings,
};

/// The name of this storage in answers.
const NAME: &str = "s3";
/// The folder of the indexes below the prefix. Storages of notebooks do not look into hidden folders.
const INDEXES: &str = ".sectile-index";
/// The object with the state of an index.
const STATE: &str = "manifest";
/// Folder of the copies that are being built: a reader does not make room at their expense.
const BUILDS: &str = "builds";
/// Hexadecimal digits that stand for a collection, in keys and in names of folders. Its name may have any characters.
const COLLECTION_DIGITS: usize = 32;
const FOLDER_DIGITS: usize = 16;
/// Attempts to read an index whose pieces disappear: each time another state must have been published.
const TRIES: usize = 5;
/// The message for an index of which a piece is not what the state says, however often it is read.
const PART_MISSING: &str = "A part of the index is missing from the bucket, or damaged. Build it again with `sectile notebook index --to s3`.";
/// The time allowed for checking whether the bucket can be used.
const READY_LIMIT: Duration = Duration::from_secs(3);
/// The time that a process waits for another one to bring the same copy up to date.
const COPY_LIMIT: Duration = Duration::from_secs(120);
const COPY_POLL: Duration = Duration::from_millis(20);
/// The most states that are remembered. One that was forgotten is read again.
const MOST_STATES: usize = 256;
/// The most files that are remembered as verified: many times what the open collections of a process have.
const MOST_VERIFIED: usize = 100_000;
const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// Indexes in a bucket, and their copies on this machine.
pub struct BucketIndexes {
    blobs: BlobStore,
    cache: PathBuf,
    max_cache_bytes: u64,
    grace: Duration,
    /// Tells this place apart from others that have copies in the same folder.
    place: String,
    /// The states read last, by collection.
    states: Mutex<HashMap<String, Arc<KnownState>>>,
    /// Files of copies that were compared with their digests, by location: their stamps then, and what they contain.
    verified: Mutex<HashMap<PathBuf, (Digest, Digest)>>,
    /// Whether the bucket has shown that it honours conditional writes.
    is_probed: AtomicBool,
}

/// A state, and the tag of its object.
#[derive(Clone, Debug)]
struct KnownState {
    tag: ETag,
    state: PublishedState,
}

/// What there is in the place of a state.
enum StateRead {
    Missing,
    Known(Arc<KnownState>),
    Unusable(ETag, StateError),
}

impl fmt::Debug for BucketIndexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BucketIndexes")
    }
}

impl BucketIndexes {
    /// Creates the storage for the bucket and the prefix in the settings. Connections are opened lazily.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with the settings.
    pub fn new(
        settings: &IndexBucketSettings,
        waiting: BlockingRuntime,
    ) -> Result<Self, &'static str> {
        let bucket = &settings.bucket;
        Ok(Self {
            blobs: BlobStore::s3(bucket, waiting)?,
            cache: settings.cache.clone(),
            max_cache_bytes: settings.max_cache_bytes,
            grace: settings.grace,
            place: [
                &bucket.endpoint,
                &bucket.region,
                &bucket.bucket,
                &bucket.prefix,
            ]
            .map(|part| format!("{}:{part}", part.len()))
            .concat(),
            states: Mutex::default(),
            verified: Mutex::default(),
            is_probed: AtomicBool::new(false),
        })
    }

    /// Returns the prefix of all keys of a collection's index.
    fn prefix(collection: &str) -> String {
        let digest = Digest::of(collection.as_bytes()).to_string();
        format!("{INDEXES}/{}/", &digest[..COLLECTION_DIGITS])
    }

    fn state_key(collection: &str) -> String {
        format!("{}{STATE}", Self::prefix(collection))
    }

    /// Returns the name of the folder of a collection's copy.
    fn folder_name(&self, collection: &str) -> String {
        let text = format!("{}{}:{collection}", self.place, collection.len());
        let mut name = Digest::of(text.as_bytes()).to_string();
        name.truncate(FOLDER_DIGITS);
        name
    }

    fn build_cache(&self) -> PathBuf {
        self.cache.join(BUILDS)
    }

    /// Refuses a bucket that does not honour conditional writes.
    fn probe(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), StorageError> {
        if !self.is_probed.load(Ordering::Relaxed) {
            self.blobs.probe(stop)?;
            self.is_probed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads the current state of a collection's index.
    fn read_state(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<StateRead, StorageError> {
        let key = Self::state_key(collection);
        let known = self.states.lock().get(collection).cloned();
        let read = match &known {
            Some(known) => {
                let read = self
                    .blobs
                    .get_if_changed(&key, &known.tag, MOST_STATE_BYTES, stop);
                match read {
                    Ok(ConditionalRead::Unchanged) => {
                        return Ok(StateRead::Known(Arc::clone(known)));
                    }
                    Ok(ConditionalRead::Changed(blob)) => Ok(Some(blob)),
                    Ok(ConditionalRead::Missing) => Ok(None),
                    Err(error) => Err(error),
                }
            }
            None => self.blobs.get(&key, MOST_STATE_BYTES, stop),
        };
        let blob = match read {
            Ok(Some(blob)) => blob,
            Ok(None) => return Ok(StateRead::Missing),
            Err(BlobError::TooLarge) => return Err(StateError::Damaged.into()),
            Err(error) => return Err(error.into()),
        };
        Ok(self.remember(collection, blob))
    }

    fn remember(&self, collection: &str, blob: Blob) -> StateRead {
        match PublishedState::decode(&blob.bytes, collection) {
            Ok(state) => {
                let known = Arc::new(KnownState {
                    tag: blob.tag,
                    state,
                });
                let mut states = self.states.lock();
                if states.len() >= MOST_STATES {
                    states.clear();
                }
                states.insert(collection.to_owned(), Arc::clone(&known));
                StateRead::Known(known)
            }
            Err(error) => StateRead::Unusable(blob.tag, error),
        }
    }

    /// Makes a folder the copy of a state. With `keep_tier`, files of the second tier stay that the state does not name,
    /// but that belong to its segments.
    fn copy(
        &self,
        collection: &str,
        folder: &Path,
        state: &PublishedState,
        keep_tier: bool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), TransferError> {
        let store = Store::make_cache_at(folder).map_err(|error| not_written(&error))?;
        let has_others = !keep_tier && store.has_others(&state.names()).unwrap_or(true);
        if self.missing(&store, folder, state).is_empty() && !has_others {
            return Ok(());
        }
        let writer = writer_of(&store, stop)?;
        // Another process may have done the work meanwhile.
        let missing = self.missing(&store, folder, state);
        self.download(collection, folder, (&store, &writer), state, &missing, stop)?;
        if keep_tier {
            return Ok(());
        }
        // A copy without a manifest at this point was just taken away.
        let manifest = store
            .copied_file(STATE)
            .map_err(|error| not_written(&error))?;
        let manifest = manifest
            .read(0..manifest.bytes())
            .ok_or(TransferError::Lost)?;
        let adopted = writer.adopt(manifest.as_ref(), &state.names(), keep_tier);
        adopted.map_err(|error| not_written(&error))?;
        // It was written again, with the same bytes.
        if let Some(file) = state.files.first() {
            self.note(&store, folder, file);
        }
        Ok(())
    }

    /// Downloads files into a folder: the manifest last, when everything that it names is there.
    fn download(
        &self,
        collection: &str,
        folder: &Path,
        (store, writer): (&Store, &Writer<'_>),
        state: &PublishedState,
        missing: &[&PublishedFile],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), TransferError> {
        let prefix = Self::prefix(collection);
        let pieces = PieceStore {
            blobs: &self.blobs,
            prefix: &prefix,
            stop,
        };
        let (last, first): (Vec<&PublishedFile>, Vec<&PublishedFile>) =
            missing.iter().partition(|file| file.name == STATE);
        pieces.download(&first, |file, bytes| {
            writer.add_copied(&file.name, &bytes)?;
            self.note(store, folder, file);
            Ok(())
        })?;
        pieces.download(&last, |file, bytes| {
            writer.adopt(&bytes, &state.names(), true)?;
            self.note(store, folder, file);
            Ok(())
        })
    }

    /// Remembers that a file was just written with what it should contain.
    fn note(&self, store: &Store, folder: &Path, file: &PublishedFile) {
        if let Some(stamp) = store.stamp_of(&file.name) {
            let mut verified = self.verified.lock();
            if verified.len() >= MOST_VERIFIED {
                verified.clear();
            }
            verified.insert(folder.join(&file.name), (stamp, file.identity()));
        }
    }

    /// Returns the files that a folder lacks, or has with other contents.
    fn missing<'s>(
        &self,
        store: &Store,
        folder: &Path,
        state: &'s PublishedState,
    ) -> Vec<&'s PublishedFile> {
        let files = state.files.iter();
        let missing = files.filter(|file| !self.is_verified(store, folder, file));
        missing.collect()
    }

    /// Returns whether a folder has a file, as it should be. Its bytes are read unless they were before, and nothing has
    /// touched the file since.
    fn is_verified(&self, store: &Store, folder: &Path, file: &PublishedFile) -> bool {
        let location = folder.join(&file.name);
        let Some(stamp) = store.stamp_of(&file.name) else {
            return false;
        };
        let known = self.verified.lock().get(&location).copied();
        if known == Some((stamp, file.identity())) {
            return true;
        }
        let Ok(opened) = store.copied_file(&file.name) else {
            return false;
        };
        let is_whole = has_pieces(&opened, file);
        if is_whole {
            let verified = (opened.stamp(), file.identity());
            self.verified.lock().insert(location, verified);
        }
        is_whole
    }

    /// Fetches a state into the folder that readers use.
    fn fetch_state(
        &self,
        collection: &str,
        known: &KnownState,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), TransferError> {
        let bytes = known.state.bytes();
        if bytes > self.max_cache_bytes {
            let (index, most) = (bytes.div_ceil(1 << 20), self.max_cache_bytes >> 20);
            return Err(TransferError::Failed(StorageError::failed(format!(
                "The index of this collection has {index} MiB, and copies of indexes may have {most} MiB. Raise `notebook.vector_storage.cache_mib`."
            ))));
        }
        let folder = self.folder(collection);
        self.copy(collection, &folder, &known.state, false, stop)?;
        mark_used(&self.cache, &folder, collection, self.max_cache_bytes);
        Ok(())
    }

    /// Removes the copies of a collection's index on this machine.
    fn discard(&self, folder: &Path, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), StorageError> {
        let store = Store::at(folder).map_err(|error| not_written(&error))?;
        let Some(store) = store else {
            return Ok(());
        };
        if matches!(store.copied_state(), Ok(None)) {
            return Ok(());
        }
        let writer = writer_of(&store, stop)?;
        writer.discard().map_err(|error| not_written(&error))
    }
}

impl IndexMirror for BucketIndexes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn folder(&self, collection: &str) -> PathBuf {
        self.cache.join(self.folder_name(collection))
    }

    fn fetch(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), StorageError> {
        for _ in 0..TRIES {
            let known = match self.read_state(collection, stop)? {
                StateRead::Known(known) => known,
                StateRead::Unusable(_, error) => return Err(error.into()),
                StateRead::Missing => {
                    if self.states.lock().contains_key(collection) {
                        tracing::warn!(
                            "the bucket no longer has the index; searches continue with the local copy"
                        );
                    }
                    return Ok(());
                }
            };
            if known.state.is_removal() {
                return self.discard(&self.folder(collection), stop);
            }
            match self.fetch_state(collection, &known, stop) {
                Ok(()) => return Ok(()),
                // Cleaned up, since another state is the current one; or else damaged.
                Err(TransferError::Lost) => {
                    self.states.lock().remove(collection);
                }
                Err(TransferError::Failed(error)) => return Err(error),
            }
        }
        Err(StorageError::failed(PART_MISSING))
    }

    fn ready(&self) -> Result<(), StorageError> {
        let start = Instant::now();
        let stop = || start.elapsed() > READY_LIMIT;
        match self.blobs.list(INDEXES, None, 1, &stop) {
            Err(BlobError::Cancelled) => Err(StorageError::failed(
                crate::ObjectError::TimedOut.to_string(),
            )),
            listed => Ok(listed.map(drop)?),
        }
    }
}

impl IndexPublishing for BucketIndexes {
    fn begin<'a>(
        &'a self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Box<dyn IndexBuild + 'a>, StorageError> {
        Ok(Box::new(BucketBuild::begin(self, collection, stop)?))
    }

    fn published(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<PublishedIndex>, StorageError> {
        self.list_published(stop)
    }

    fn clean(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<CleanReport, StorageError> {
        self.clean_index(collection, stop)
    }

    fn remove(
        &self,
        collection: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool, StorageError> {
        self.probe(stop)?;
        let was_there = self.remove_index(collection, stop)?;
        for folder in [self.folder(collection), self.build_folder(collection)] {
            self.discard(&folder, stop)?;
        }
        Ok(was_there)
    }

    fn export(
        &self,
        collection: &str,
        to: &Path,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), StorageError> {
        let folder = indexing::folder_of(to, collection);
        for _ in 0..TRIES {
            let known = match self.read_state(collection, stop)? {
                StateRead::Known(known) if !known.state.is_removal() => known,
                StateRead::Known(_) | StateRead::Missing => {
                    return Err(StorageError::CollectionNotFound);
                }
                StateRead::Unusable(_, error) => return Err(error.into()),
            };
            match self.copy(collection, &folder, &known.state, false, stop) {
                Ok(()) => return Ok(()),
                Err(TransferError::Lost) => {
                    self.states.lock().remove(collection);
                }
                Err(TransferError::Failed(error)) => return Err(error),
            }
        }
        Err(StorageError::failed(PART_MISSING))
    }
}

impl BucketIndexes {
    fn build_folder(&self, collection: &str) -> PathBuf {
        self.build_cache().join(self.folder_name(collection))
    }
}

/// Returns whether a file consists of exactly these pieces.
fn has_pieces(opened: &IndexFile, file: &PublishedFile) -> bool {
    if opened.bytes() != file.bytes() {
        return false;
    }
    let mut start = 0;
    file.pieces.iter().all(|piece| {
        let range = start..start + piece.bytes;
        start = range.end;
        opened
            .read(range)
            .is_some_and(|bytes| piece.is(bytes.as_ref()))
    })
}

/// Waits for the exclusive right to write a folder.
fn writer_of<'s>(
    store: &'s Store,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Writer<'s>, StorageError> {
    let start = Instant::now();
    loop {
        match store.writer() {
            Ok(writer) => return Ok(writer),
            Err(StoreError::Busy) if stop() => return Err(StorageError::Cancelled),
            Err(StoreError::Busy) if start.elapsed() < COPY_LIMIT => thread::sleep(COPY_POLL),
            Err(StoreError::Busy) => {
                return Err(StorageError::failed(
                    "Another process on this machine has been writing the copy of this index for a long time. Wait until it has finished.",
                ));
            }
            Err(error) => {
                return Err(StorageError::failed(format!(
                    "The copy of the index on this machine cannot be used: {error}. Set another folder as `notebook.vector_storage.cache`."
                )));
            }
        }
    }
}

/// Notes that a copy was used, and lets the least recently used ones make room.
fn mark_used(cache: &Path, folder: &Path, collection: &str, limit: u64) {
    let labelled = Store::make_cache_at(folder).and_then(|store| store.label(collection));
    let name = folder.file_name().and_then(|name| name.to_str());
    let shrunk = CacheFolder::new(cache).shrink(limit, name);
    if let Err(error) = labelled.and(shrunk.map(drop)) {
        tracing::warn!(kind = %error.kind(), "the folder of index copies cannot be tidied up");
    }
}
