//! Objects that are written under conditions.
//!
//! A condition makes an object the one place where concurrent writers meet: of those that saw the same state, exactly one
//! replaces it. That needs a storage that honours `If-None-Match` and `If-Match` on `PUT`, which [`BlobStore::probe`] finds
//! out.
//!
//! A write whose answer was lost is sent again under the same condition, which cannot carry it out twice. If the condition
//! no longer holds then, the first attempt may be the reason: that is [`BlobError::OutcomeUnknown`], never a conflict.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::HeaderValue;
use jiff::Timestamp;
use object_store::{
    GetOptions, ObjectStore as _, PutMode, PutOptions, UpdateVersion,
    aws::AmazonS3,
    list::{PaginatedListOptions, PaginatedListStore as _},
    path::Path,
};
use sectile_library::StorageError;

use super::{
    error::{BlobError, ObjectError},
    keys::KeyPrefix,
    store::{BucketClients, FIRST_PAUSE, LONGEST_PAUSE, RETRY_TIME},
    wire::{DELETION, ResponseOutcome, ResponseSlot},
};
use crate::{BlockingRuntime, S3Settings, settings::MAX_RETRIES};

/// The longest tag that is accepted: several times that of any storage known.
const MAX_TAG_BYTES: usize = 512;
/// The most objects that S3 deletes with one request.
const MAX_DELETED_AT_ONCE: usize = 1000;
/// The folder for objects of [`BlobStore::probe`], which a process that was killed leaves there.
pub(crate) const PROBES: &str = ".sectile-probe";
/// A tag that no object of [`BlobStore::probe`] has.
const WRONG_TAG: &str = "\"00000000000000000000000000000000\"";

/// Objects below a prefix of a bucket. Keys are relative to the prefix. Methods block, so they must not be called from a
/// future; several threads may share one store.
pub struct BlobStore {
    clients: BucketClients,
    keys: KeyPrefix,
    waiting: BlockingRuntime,
    page_objects: usize,
    retries: usize,
    /// The time for one operation, including its retries.
    limit: Duration,
}

/// The tag of one state of an object, as the storage wrote it. Storages mostly derive it from the bytes, so an object that
/// gets its old bytes back may get its old tag back, too: objects that are replaced should never repeat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ETag(String);

/// An object, read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Its bytes.
    pub bytes: Bytes,
    /// The tag of this state.
    pub tag: ETag,
}

/// The answer to a read that names the state already known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionalRead {
    /// It still has the tag.
    Unchanged,
    /// It has another state.
    Changed(Blob),
    /// It does not exist.
    Missing,
}

/// The outcome of a write that must not replace anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateOutcome {
    /// The object was created.
    Created(ETag),
    /// There is one already, and it was not created by this call.
    Exists,
}

/// The outcome of a write that replaces one known state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceOutcome {
    /// The object was replaced.
    Replaced(ETag),
    /// It has another state or was deleted, and not by this call.
    Changed,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// Its key, relative to the prefix of the store.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// When it was last written, by the clock of the storage, in milliseconds since 1970.
    pub modified: i64,
}

/// A part of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobPage {
    /// The objects, in order of their keys.
    pub blobs: Vec<BlobInfo>,
    /// Whether there may be more after the last one.
    pub has_more: bool,
}

impl ETag {
    pub(super) fn parse(value: &HeaderValue) -> Option<Self> {
        Self::from_text(value.to_str().ok()?.trim())
    }

    /// Returns the tag that [`Self::as_str`] returned.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let is_fine = !text.is_empty()
            && text.len() <= MAX_TAG_BYTES
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_fine.then(|| Self(text.to_owned()))
    }

    /// Returns the tag as the storage wrote it, with its quotation marks.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlobStore")
    }
}

impl BlobStore {
    /// Creates the store for a bucket and the prefix in the settings. Connections are opened lazily. The size limit in the
    /// settings does not apply: each read has its own.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with the settings.
    pub fn s3(settings: &S3Settings, waiting: BlockingRuntime) -> Result<Self, &'static str> {
        let keys = KeyPrefix::below(&settings.prefix);
        Ok(Self {
            keys: keys.ok_or("the prefix is not a valid folder path")?,
            clients: settings.build()?,
            waiting,
            page_objects: settings.page_objects(),
            retries: settings.retries.min(MAX_RETRIES),
            limit: settings.timeout.saturating_add(RETRY_TIME),
        })
    }

    /// Reads an object of at most `max_bytes`.
    ///
    /// # Errors
    /// When there is no complete answer, or the object is larger.
    pub fn get(
        &self,
        key: &str,
        max_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Blob>, BlobError> {
        match self.read(key, None, max_bytes, stop)? {
            ConditionalRead::Changed(blob) => Ok(Some(blob)),
            ConditionalRead::Missing => Ok(None),
            ConditionalRead::Unchanged => Err(BlobError::Failed(ObjectError::Unclear)),
        }
    }

    /// Reads an object unless it still has `tag`.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_if_changed(
        &self,
        key: &str,
        tag: &ETag,
        max_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<ConditionalRead, BlobError> {
        match self.read(key, Some(tag), max_bytes, stop)? {
            // A storage that ignores the condition costs a transfer, but nothing else.
            ConditionalRead::Changed(blob) if blob.tag == *tag => Ok(ConditionalRead::Unchanged),
            read => Ok(read),
        }
    }

    /// Writes an object that must not exist yet.
    ///
    /// # Errors
    /// When it was not written, or [`BlobError::OutcomeUnknown`].
    pub fn create(
        &self,
        key: &str,
        bytes: Bytes,
        stop: &dyn Fn() -> bool,
    ) -> Result<CreateOutcome, BlobError> {
        Ok(match self.write(key, bytes, &PutMode::Create, stop)? {
            Some(tag) => CreateOutcome::Created(tag),
            None => CreateOutcome::Exists,
        })
    }

    /// Replaces an object that must still have `tag`. Its new bytes must be none that it ever had.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn replace(
        &self,
        key: &str,
        bytes: Bytes,
        tag: &ETag,
        stop: &dyn Fn() -> bool,
    ) -> Result<ReplaceOutcome, BlobError> {
        let version = UpdateVersion {
            e_tag: Some(tag.0.clone()),
            version: None,
        };
        let mode = PutMode::Update(version);
        Ok(match self.write(key, bytes, &mode, stop)? {
            Some(tag) => ReplaceOutcome::Replaced(tag),
            None => ReplaceOutcome::Changed,
        })
    }

    /// Writes an object whatever is there: for keys that are digests of the bytes, where all writers write the same.
    ///
    /// # Errors
    /// When it may not have been written.
    pub fn put(&self, key: &str, bytes: Bytes, stop: &dyn Fn() -> bool) -> Result<(), BlobError> {
        match self.write(key, bytes, &PutMode::Overwrite, stop)? {
            Some(_) => Ok(()),
            None => Err(BlobError::Failed(ObjectError::Unclear)),
        }
    }

    /// Decides what became of a write of `bytes` that ended with [`BlobError::OutcomeUnknown`]: returns the tag if the
    /// object has exactly these bytes now, and the other state otherwise.
    ///
    /// A state that is still the one the write was to replace is not an answer yet, because the write may be carried out
    /// later. Then write again under the same condition. If the bytes are found, or a third state, it is over.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn settle(
        &self,
        key: &str,
        bytes: &[u8],
        max_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Result<ETag, Option<Blob>>, BlobError> {
        Ok(match self.get(key, max_bytes, stop)? {
            Some(found) if found.bytes == bytes => Ok(found.tag),
            found => Err(found),
        })
    }

    /// Deletes objects, some at a time. Those that do not exist count as deleted.
    ///
    /// # Errors
    /// When some may be left. Deleting them again is safe.
    pub fn delete(&self, keys: &[String], stop: &dyn Fn() -> bool) -> Result<(), BlobError> {
        let paths = keys.iter().map(|key| self.path(key));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        for some in paths.chunks(MAX_DELETED_AT_ONCE) {
            let slot = ResponseSlot::for_deletion();
            let deletion = async {
                let locations: Vec<_> = some.iter().cloned().map(Ok).collect();
                let deleted = self
                    .clients
                    .reading
                    .delete_stream(stream::iter(locations).boxed());
                // The outcome is recorded in `slot`; the library's results say less.
                drop(
                    DELETION
                        .scope(slot.clone(), deleted.collect::<Vec<_>>())
                        .await,
                );
                match slot.take() {
                    ResponseOutcome::Deleted(report) => Ok(report.trouble()),
                    ResponseOutcome::Trouble(trouble) => Ok(Some(trouble)),
                    _ => Ok(Some(ObjectError::Unclear)),
                }
            };
            match self
                .waiting
                .run(self.limit, stop, deletion)
                .map_err(waited)?
            {
                None => {}
                Some(trouble) => return Err(BlobError::Failed(trouble)),
            }
        }
        Ok(())
    }

    /// Lists up to `most` objects whose keys start with `prefix`, in order, from the first one after `after`.
    ///
    /// # Errors
    /// When the listing is not complete.
    pub fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<BlobPage, BlobError> {
        let whole = format!("{}{prefix}", self.keys.prefix());
        let offset = after.map(|after| format!("{}{after}", self.keys.prefix()));
        let mut page = BlobPage::default();
        let mut token: Option<String> = None;
        loop {
            let slot = ResponseSlot::for_page();
            let mut options = PaginatedListOptions {
                offset: offset.clone(),
                max_keys: Some(self.page_objects.min(most - page.blobs.len()).max(1)),
                page_token: token.clone(),
                ..PaginatedListOptions::default()
            };
            options.extensions.insert(slot.clone());
            let listing = async {
                let prefix = Some(whole.as_str()).filter(|prefix| !prefix.is_empty());
                // The outcome is recorded in `slot`; the library's result says less.
                drop(self.clients.reading.list_paginated(prefix, options).await);
                Ok(slot.take())
            };
            let listed = match self
                .waiting
                .run(self.limit, stop, listing)
                .map_err(waited)?
            {
                ResponseOutcome::Page(listed) => listed,
                ResponseOutcome::Trouble(trouble) => return Err(BlobError::Failed(trouble)),
                _ => return Err(BlobError::Failed(ObjectError::Unclear)),
            };
            for entry in listed.entries {
                let is_inside = entry.key.starts_with(&whole);
                let is_after = offset.as_ref().is_none_or(|offset| entry.key > *offset);
                let Some(key) = entry.key.strip_prefix(self.keys.prefix()) else {
                    continue;
                };
                if is_inside && is_after && page.blobs.len() < most {
                    page.blobs.push(BlobInfo {
                        key: key.to_owned(),
                        bytes: entry.bytes,
                        modified: entry.modified.as_millisecond(),
                    });
                }
            }
            page.has_more = listed.next.is_some();
            match listed.next {
                None => return Ok(page),
                Some(_) if page.blobs.len() >= most => return Ok(page),
                // The same token again would loop for ever.
                next if next == token => return Err(BlobError::Failed(ObjectError::Unclear)),
                next => token = next,
            }
        }
    }

    /// Checks that the storage honours the conditions of writes, with a small object that is deleted again.
    ///
    /// # Errors
    /// [`ObjectError::Unconditional`] if it does not, or the reason why that cannot be said.
    pub fn probe(&self, stop: &dyn Fn() -> bool) -> Result<(), BlobError> {
        static PROBED: AtomicU64 = AtomicU64::new(0);
        let number = PROBED.fetch_add(1, Ordering::Relaxed);
        let time = Timestamp::now().as_nanosecond();
        let key = format!("{PROBES}/{}-{time}-{number}", std::process::id());
        let result = self.probe_with(&key, stop);
        // A leftover of a few bytes is not worth failing for, and the reason for the failure would be hidden.
        let deleted = self.delete(&[key], stop);
        result.and(deleted)
    }

    fn probe_with(&self, key: &str, stop: &dyn Fn() -> bool) -> Result<(), BlobError> {
        const UNCONDITIONAL: BlobError = BlobError::Failed(ObjectError::Unconditional);
        let CreateOutcome::Created(tag) = self.create(key, Bytes::from_static(b"1"), stop)? else {
            return Err(UNCONDITIONAL);
        };
        if self.create(key, Bytes::from_static(b"2"), stop)? != CreateOutcome::Exists {
            return Err(UNCONDITIONAL);
        }
        let wrong = ETag(WRONG_TAG.to_owned());
        let replaced = self.replace(key, Bytes::from_static(b"3"), &wrong, stop)?;
        if replaced != ReplaceOutcome::Changed {
            return Err(UNCONDITIONAL);
        }
        match self.replace(key, Bytes::from_static(b"4"), &tag, stop)? {
            ReplaceOutcome::Replaced(_) => Ok(()),
            ReplaceOutcome::Changed => Err(UNCONDITIONAL),
        }
    }

    fn path(&self, key: &str) -> Result<Path, BlobError> {
        self.keys.of_blob(key).ok_or(BlobError::InvalidKey)
    }

    fn read(
        &self,
        key: &str,
        tag: Option<&ETag>,
        max_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<ConditionalRead, BlobError> {
        let path = self.path(key)?;
        let slot = ResponseSlot::for_object(max_bytes);
        let mut options = GetOptions {
            if_none_match: tag.map(|tag| tag.0.clone()),
            ..GetOptions::default()
        };
        options.extensions.insert(slot.clone());
        let read = async {
            // The outcome is recorded in `slot`; the library's result says less.
            drop(self.clients.reading.get_opts(&path, options).await);
            Ok(slot.take())
        };
        match self.waiting.run(self.limit, stop, read).map_err(waited)? {
            ResponseOutcome::Object(bytes, Some(tag)) => {
                Ok(ConditionalRead::Changed(Blob { bytes, tag }))
            }
            ResponseOutcome::Unchanged if tag.is_some() => Ok(ConditionalRead::Unchanged),
            ResponseOutcome::Missing => Ok(ConditionalRead::Missing),
            ResponseOutcome::TooLarge => Err(BlobError::TooLarge),
            ResponseOutcome::Trouble(trouble) => Err(BlobError::Failed(trouble)),
            _ => Err(BlobError::Failed(ObjectError::Unclear)),
        }
    }

    /// Writes an object, and returns its new tag, or `None` if the condition does not hold.
    fn write(
        &self,
        key: &str,
        bytes: Bytes,
        mode: &PutMode,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<ETag>, BlobError> {
        let path = self.path(key)?;
        let slot = ResponseSlot::for_write();
        let sent = || self.attempts(&path, &bytes, mode, &slot);
        let outcome = match self.waiting.run(self.limit, stop, sent()) {
            Ok(outcome) => outcome,
            Err(_) if slot.is_unsettled() => return Err(BlobError::OutcomeUnknown),
            Err(error) => return Err(waited(error)),
        };
        let is_unsettled = slot.is_unsettled();
        match outcome {
            ResponseOutcome::Written(Some(tag)) => Ok(Some(tag)),
            // It was written, but its state has no name yet.
            ResponseOutcome::Written(None) => Err(BlobError::OutcomeUnknown),
            _ if is_unsettled => Err(BlobError::OutcomeUnknown),
            ResponseOutcome::ConditionFailed => Ok(None),
            // Only an object that has to match can be missing.
            ResponseOutcome::Missing if matches!(mode, PutMode::Update(_)) => Ok(None),
            ResponseOutcome::Missing => Err(BlobError::Failed(ObjectError::NoBucket)),
            ResponseOutcome::Trouble(trouble) => Err(BlobError::Failed(trouble)),
            _ => Err(BlobError::Failed(ObjectError::Unclear)),
        }
    }

    /// Sends a write until there is an answer to it that sending it again would not change.
    async fn attempts(
        &self,
        path: &Path,
        bytes: &Bytes,
        mode: &PutMode,
        slot: &ResponseSlot,
    ) -> Result<ResponseOutcome, StorageError> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut retries = self.retries;
        loop {
            let mut options = PutOptions::from(mode.clone());
            options.extensions.insert(slot.clone());
            let client: &AmazonS3 = &self.clients.writing;
            // The outcome is recorded in `slot`; the library's result says less.
            drop(client.put_opts(path, bytes.clone().into(), options).await);
            match slot.take() {
                ResponseOutcome::Trouble(trouble)
                    if trouble.is_passing() && retries > 0 && start.elapsed() < RETRY_TIME =>
                {
                    retries -= 1;
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => return Ok(outcome),
            }
        }
    }
}

/// Translates the end of a wait.
fn waited(error: StorageError) -> BlobError {
    match error {
        StorageError::Cancelled => BlobError::Cancelled,
        _ => BlobError::Failed(ObjectError::TimedOut),
    }
}
