//! The objects, and the operations of S3 on them. Every operation takes effect under one lock.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use s3s::dto::{
    CommonPrefix, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput,
    DeletedObject, ETag, ETagCondition, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object, PutObjectInput,
    PutObjectOutput, Range, StreamingBlob, Timestamp,
};
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use sha2::{Digest, Sha256};

/// The most keys on a page, as in S3.
const MAX_PAGE: usize = 1000;

/// All buckets, and the clock by which objects are dated.
#[derive(Default)]
pub(super) struct Buckets(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    buckets: BTreeMap<String, BTreeMap<String, Stored>>,
    ahead: Duration,
    page_limit: Option<usize>,
    ignores_conditions: bool,
}

#[derive(Clone)]
struct Stored {
    bytes: Bytes,
    tag: String,
    modified: SystemTime,
}

impl Stored {
    fn size(&self) -> i64 {
        i64::try_from(self.bytes.len()).unwrap_or(i64::MAX)
    }

    fn etag(&self) -> ETag {
        ETag::Strong(self.tag.clone())
    }

    fn satisfies(&self, condition: &ETagCondition) -> bool {
        match condition {
            ETagCondition::Any => true,
            ETagCondition::ETag(tag) => tag.as_strong() == Some(self.tag.as_str()),
        }
    }
}

impl Contents {
    fn bucket(&mut self, name: &str) -> S3Result<&mut BTreeMap<String, Stored>> {
        let bucket = self.buckets.get_mut(name);
        bucket.ok_or_else(|| s3_error!(NoSuchBucket))
    }

    fn stored(&self, bytes: Bytes) -> Stored {
        let digest = Sha256::digest(&bytes);
        let tag = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
        Stored {
            tag: tag.collect(),
            bytes,
            modified: SystemTime::now() + self.ahead,
        }
    }
}

impl Buckets {
    pub(super) fn create(&self, name: &str) {
        self.0.lock().buckets.entry(name.to_owned()).or_default();
    }

    pub(super) fn put(&self, bucket: &str, key: &str, bytes: Bytes) -> bool {
        let mut contents = self.0.lock();
        let stored = contents.stored(bytes);
        let found = contents.buckets.get_mut(bucket);
        found
            .map(|objects| objects.insert(key.to_owned(), stored))
            .is_some()
    }

    pub(super) fn bytes(&self, bucket: &str, key: &str) -> Option<Bytes> {
        let contents = self.0.lock();
        Some(contents.buckets.get(bucket)?.get(key)?.bytes.clone())
    }

    pub(super) fn delete(&self, bucket: &str, key: &str) {
        if let Some(objects) = self.0.lock().buckets.get_mut(bucket) {
            objects.remove(key);
        }
    }

    pub(super) fn keys(&self, bucket: &str) -> Vec<String> {
        let contents = self.0.lock();
        let objects = contents.buckets.get(bucket).into_iter();
        objects
            .flat_map(|objects| objects.keys().cloned())
            .collect()
    }

    pub(super) fn advance_clock(&self, by: Duration) {
        self.0.lock().ahead += by;
    }

    pub(super) fn limit_pages(&self, objects: usize) {
        self.0.lock().page_limit = Some(objects.max(1));
    }

    pub(super) fn ignore_conditions(&self) {
        self.0.lock().ignores_conditions = true;
    }

    fn get(&self, bucket: &str, key: &str) -> S3Result<Stored> {
        let mut contents = self.0.lock();
        let found = contents.bucket(bucket)?.get(key).cloned();
        found.ok_or_else(|| s3_error!(NoSuchKey))
    }

    fn put_if(&self, input: &PutObjectInput, bytes: Bytes) -> S3Result<Stored> {
        let mut contents = self.0.lock();
        let stored = contents.stored(bytes);
        let is_strict = !contents.ignores_conditions;
        let objects = contents.bucket(&input.bucket)?;
        let present = objects.get(&input.key);
        if let Some(condition) = input.if_match.as_ref().filter(|_| is_strict) {
            match present {
                None => return Err(s3_error!(NoSuchKey)),
                Some(found) if !found.satisfies(condition) => {
                    return Err(s3_error!(PreconditionFailed));
                }
                Some(_) => {}
            }
        }
        match (&input.if_none_match, present) {
            (Some(ETagCondition::ETag(_)), _) => return Err(s3_error!(NotImplemented)),
            (Some(ETagCondition::Any), Some(_)) if is_strict => {
                return Err(s3_error!(PreconditionFailed));
            }
            _ => {}
        }
        objects.insert(input.key.clone(), stored.clone());
        Ok(stored)
    }

    fn list(&self, input: &ListObjectsV2Input) -> S3Result<ListObjectsV2Output> {
        let mut contents = self.0.lock();
        let limit = contents.page_limit.unwrap_or(MAX_PAGE);
        let wanted = input.max_keys.and_then(|max| usize::try_from(max).ok());
        let most = wanted.unwrap_or(MAX_PAGE).min(limit);
        let prefix = input.prefix.as_deref().unwrap_or_default();
        // The token is the last key or group of the page before.
        let after = input
            .continuation_token
            .as_ref()
            .or(input.start_after.as_ref());
        let after = after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
        let objects = contents.bucket(&input.bucket)?;
        let (mut found, mut groups): (Vec<Object>, Vec<CommonPrefix>) = Default::default();
        let mut last: Option<String> = None;
        let mut is_truncated = false;
        for (key, stored) in objects.range((after.clone(), Bound::Unbounded)) {
            let Some(rest) = key.strip_prefix(prefix) else {
                continue;
            };
            let group = input.delimiter.as_deref().and_then(|delimiter| {
                let end = rest.find(delimiter)? + delimiter.len();
                Some(format!("{prefix}{}", &rest[..end]))
            });
            let is_seen = match (&group, &after) {
                (Some(group), _) if last.as_ref() == Some(group) => true,
                (Some(group), Bound::Excluded(after)) => after == group,
                _ => false,
            };
            if is_seen {
                continue;
            }
            if found.len() + groups.len() >= most {
                is_truncated = true;
                break;
            }
            last = Some(group.clone().unwrap_or_else(|| key.clone()));
            match group {
                Some(prefix) => groups.push(CommonPrefix {
                    prefix: Some(prefix),
                }),
                None => found.push(Object {
                    e_tag: Some(stored.etag()),
                    key: Some(key.clone()),
                    last_modified: Some(Timestamp::from(stored.modified)),
                    size: Some(stored.size()),
                    ..Object::default()
                }),
            }
        }
        Ok(ListObjectsV2Output {
            key_count: i32::try_from(found.len() + groups.len()).ok(),
            contents: Some(found),
            common_prefixes: Some(groups),
            is_truncated: Some(is_truncated),
            next_continuation_token: last.filter(|_| is_truncated),
            name: Some(input.bucket.clone()),
            prefix: input.prefix.clone(),
            max_keys: input.max_keys,
            ..ListObjectsV2Output::default()
        })
    }
}

/// The operations, for requests whose signature was right.
pub(super) struct MemoryObjects(pub(super) Arc<Buckets>);

#[async_trait]
impl S3 for MemoryObjects {
    async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        let mut input = request.input;
        let bytes = match input.body.take() {
            None => Bytes::new(),
            Some(body) => {
                let body = s3s::Body::from(body).collect().await;
                let body = body.map_err(|error| s3_error!(IncompleteBody, "{error}"))?;
                body.to_bytes()
            }
        };
        let stored = self.0.put_if(&input, bytes)?;
        Ok(S3Response::new(PutObjectOutput {
            e_tag: Some(stored.etag()),
            ..PutObjectOutput::default()
        }))
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let stored = self.0.get(&input.bucket, &input.key)?;
        let is_match = |condition| stored.satisfies(condition);
        if !input.if_match.as_ref().is_none_or(is_match) {
            return Err(s3_error!(PreconditionFailed));
        }
        if input.if_none_match.as_ref().is_some_and(is_match) {
            return Err(s3_error!(NotModified));
        }
        let whole = stored.bytes.len() as u64;
        let range = input.range.as_ref().map(|range: &Range| range.check(whole));
        let range = range.transpose()?;
        let (bytes, content_range) = match range {
            None => (stored.bytes.clone(), None),
            Some(range) => {
                let said = format!("bytes {}-{}/{whole}", range.start, range.end - 1);
                let start = usize::try_from(range.start).unwrap_or(usize::MAX);
                let end = usize::try_from(range.end).unwrap_or(usize::MAX);
                (stored.bytes.slice(start..end), Some(said))
            }
        };
        Ok(S3Response::new(GetObjectOutput {
            content_length: i64::try_from(bytes.len()).ok(),
            content_range,
            body: Some(StreamingBlob::from(s3s::Body::from(bytes))),
            e_tag: Some(stored.etag()),
            last_modified: Some(Timestamp::from(stored.modified)),
            ..GetObjectOutput::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let stored = self.0.get(&request.input.bucket, &request.input.key)?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: Some(stored.size()),
            e_tag: Some(stored.etag()),
            last_modified: Some(Timestamp::from(stored.modified)),
            ..HeadObjectOutput::default()
        }))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let input = request.input;
        self.0.0.lock().bucket(&input.bucket)?.remove(&input.key);
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let input = request.input;
        let mut contents = self.0.0.lock();
        let objects = contents.bucket(&input.bucket)?;
        let deleted = input.delete.objects.into_iter().map(|one| {
            objects.remove(&one.key);
            DeletedObject {
                key: Some(one.key),
                ..DeletedObject::default()
            }
        });
        Ok(S3Response::new(DeleteObjectsOutput {
            deleted: Some(deleted.collect()),
            ..DeleteObjectsOutput::default()
        }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        self.0.list(&request.input).map(S3Response::new)
    }
}
