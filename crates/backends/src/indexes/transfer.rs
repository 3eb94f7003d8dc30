//! Pieces on their way between a bucket and an index folder, several at a time.

use std::{
    collections::HashMap,
    io,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, Builder},
};

use bytes::Bytes;
use parking_lot::Mutex;
use sectile_library::StorageError;
use sectile_markdown::Digest;
use sectile_retrieval::{IndexFile, Store};

use super::state::{PIECE_BYTES, PublishedFile, PublishedPiece};
use crate::BlobStore;

/// Number of pieces that travel at the same time: a round trip costs more than the transfer of a small one. This also
/// bounds memory.
const AT_ONCE: usize = 8;

/// The reason why a file did not arrive.
#[derive(Debug)]
pub(super) enum TransferError {
    /// A piece does not exist, or is not what its key says.
    Lost,
    Failed(StorageError),
}

impl From<StorageError> for TransferError {
    fn from(error: StorageError) -> Self {
        Self::Failed(error)
    }
}

/// The pieces of one index in a bucket.
pub(super) struct PieceStore<'a> {
    pub(super) blobs: &'a BlobStore,
    /// The prefix of all its keys, with a slash at the end.
    pub(super) prefix: &'a str,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// The upload of an index folder.
pub(super) struct Upload<'a> {
    /// The pieces that the state before this one has, by their digests: only these need not be uploaded, because no
    /// cleaning can have removed them without another state.
    pub(super) known: HashMap<String, PublishedPiece>,
    /// The number of this build.
    pub(super) build: &'a str,
}

impl PieceStore<'_> {
    /// Downloads files, and passes each to `put`. Every piece is compared with its digest.
    pub(super) fn download(
        &self,
        files: &[&PublishedFile],
        mut put: impl FnMut(&PublishedFile, Vec<u8>) -> io::Result<()>,
    ) -> Result<(), TransferError> {
        let mut rest = files;
        while !rest.is_empty() {
            // A large file alone, or as many small ones as there are transfers at a time.
            let mut pieces = 0;
            let count = rest
                .iter()
                .take_while(|file| {
                    pieces += file.pieces.len();
                    pieces <= AT_ONCE
                })
                .count();
            let (now, later) = rest.split_at(count.max(1));
            rest = later;
            let wanted: Vec<&PublishedPiece> = now.iter().flat_map(|file| &file.pieces).collect();
            let mut arrived = in_parallel(&wanted, |piece| self.piece(piece))?.into_iter();
            for file in now {
                let mut bytes = Vec::with_capacity(usize::try_from(file.bytes()).unwrap_or(0));
                for piece in arrived.by_ref().take(file.pieces.len()) {
                    bytes.extend_from_slice(&piece);
                }
                put(file, bytes).map_err(|error| TransferError::Failed(not_written(&error)))?;
            }
        }
        Ok(())
    }

    fn piece(&self, piece: &PublishedPiece) -> Result<Bytes, TransferError> {
        let key = format!("{}{}", self.prefix, piece.key);
        let found = self.blobs.get(&key, piece.bytes, self.stop);
        match found {
            Ok(Some(blob)) if piece.is(&blob.bytes) => Ok(blob.bytes),
            Ok(_) | Err(crate::BlobError::TooLarge) => Err(TransferError::Lost),
            Err(error) => Err(TransferError::Failed(error.into())),
        }
    }

    /// Uploads the files of a folder, except for pieces that are known, and returns them as they are named in a state.
    pub(super) fn upload(
        &self,
        store: &Store,
        names: &[String],
        upload: &Upload<'_>,
    ) -> Result<Vec<PublishedFile>, StorageError> {
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let file = store.copied_file(name).map_err(|_| changed())?;
            let starts: Vec<u64> = (0..file.bytes())
                .step_by(usize::try_from(PIECE_BYTES).unwrap_or(usize::MAX))
                .collect();
            let sent = in_parallel(&starts, |start| {
                self.send(&file, *start, upload)
                    .map_err(TransferError::Failed)
            });
            let pieces = sent.map_err(|error| match error {
                TransferError::Lost => changed(),
                TransferError::Failed(error) => error,
            })?;
            files.push(PublishedFile {
                name: name.clone(),
                pieces,
            });
        }
        Ok(files)
    }

    fn send(
        &self,
        file: &IndexFile,
        start: u64,
        upload: &Upload<'_>,
    ) -> Result<PublishedPiece, StorageError> {
        let end = (start + PIECE_BYTES).min(file.bytes());
        let bytes = file.read(start..end).ok_or_else(changed)?;
        let digest = Digest::of(bytes.as_ref());
        if let Some(known) = upload.known.get(&digest.to_string()) {
            return Ok(known.clone());
        }
        let piece = PublishedPiece::new(&digest, upload.build, end - start);
        let key = format!("{}{}", self.prefix, piece.key);
        let bytes = Bytes::copy_from_slice(bytes.as_ref());
        self.blobs.put(&key, bytes, self.stop)?;
        Ok(piece)
    }
}

/// Calls `work` for all items, several at a time, and returns the results in their order, or the first error.
fn in_parallel<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&I) -> Result<T, TransferError> + Sync,
) -> Result<Vec<T>, TransferError> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else {
                return;
            };
            let result = work(item);
            if result.is_err() {
                // The rest is not needed.
                next.store(items.len(), Ordering::Relaxed);
            }
            done.lock().push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..AT_ONCE.min(items.len()) {
            // Without another thread, this one does all.
            drop(Builder::new().spawn_scoped(scope, run));
        }
        run();
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns the failure of the folder of a copy.
pub(super) fn not_written(error: &io::Error) -> StorageError {
    StorageError::failed(format!(
        "The copy of the index on this machine cannot be used ({}). Free some space, or set another folder as `notebook.vector_storage.cache`.",
        error.kind()
    ))
}

fn changed() -> StorageError {
    StorageError::failed("The files of the index changed while they were uploaded. Try again.")
}
