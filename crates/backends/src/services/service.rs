//! The operations that an index needs of a vector service, and the records that it keeps there.

use std::ops::RangeInclusive;

use super::failure::ServiceFailure;

/// A record of a service. All of them belong to one tenant: a namespace, or whatever the service calls it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServiceRecord {
    /// Its id, unique in the tenant: printable ASCII without spaces.
    pub(super) id: String,
    /// The generation that it belongs to, by which records are filtered and deleted; `None` for those that no filter
    /// must ever find.
    pub(super) born: Option<u32>,
    /// For chunks, what they are found by.
    pub(super) keys: Option<SearchKeys>,
    /// Its contents, which the service only keeps.
    pub(super) body: String,
}

/// The properties of a chunk that a service can search by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SearchKeys {
    /// Its vector, of length 1; empty if there is no meaning in it.
    pub(super) vector: Vec<f32>,
    /// Hashes of its words, names and stems, ascending, each with its approximate weight.
    pub(super) words: Vec<(u32, u16)>,
    /// The first 48 bits of its digest.
    pub(super) digest: u64,
}

/// A question to a service: the ids of the `most` best chunks with a generation in `born`.
#[derive(Clone, Debug)]
pub(super) struct ServiceQuery<'a> {
    pub(super) born: RangeInclusive<u32>,
    pub(super) by: QueryKeys<'a>,
    pub(super) most: usize,
}

/// The properties that chunks are searched by.
#[derive(Clone, Copy, Debug)]
pub(super) enum QueryKeys<'a> {
    /// Nearness to a vector.
    Vector(&'a [f32]),
    /// Hashes of words, each with its weight.
    Words(&'a [WordKey]),
    /// Digests whose first 48 bits are in this range, in any order.
    Digest(u64, u64),
}

/// A word of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WordKey {
    pub(super) hash: u32,
    pub(super) weight: u32,
    /// Whether chunks that have it come before all others.
    pub(super) is_required: bool,
}

/// The limits of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceLimits {
    /// The most records in one request.
    pub(super) batch: usize,
    /// The most bytes in one request.
    pub(super) batch_bytes: usize,
    /// The longest body, in bytes of JSON.
    pub(super) body_bytes: usize,
    /// The most words of one chunk.
    pub(super) words: usize,
    /// The most bytes that a word takes in a request.
    pub(super) word_bytes: usize,
    /// The most ids in one request to fetch or delete records.
    pub(super) ids: usize,
    /// The most hits of one question.
    pub(super) hits: usize,
}

/// The outcome of a conditional creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creation {
    Created,
    /// There is a record with this id.
    Exists,
}

/// A vector service. Every operation can be repeated without harm, and is repeated where its answer was lost.
pub(super) trait VectorService: Send + Sync {
    /// Returns its name in answers.
    fn name(&self) -> &'static str;

    /// Returns its name in sentences.
    fn title(&self) -> &'static str;

    fn limits(&self) -> ServiceLimits;

    /// Checks that it answers, and that its index is one for our vectors and words.
    async fn check(&self) -> Result<(), ServiceFailure>;

    /// Creates the index, where the service lets its clients do so, and checks it.
    async fn prepare(&self) -> Result<(), ServiceFailure>;

    /// Creates a tenant, unless it exists.
    async fn open_tenant(&self, tenant: &str) -> Result<(), ServiceFailure>;

    /// Removes a tenant and all its records, if it exists.
    async fn drop_tenant(&self, tenant: &str) -> Result<(), ServiceFailure>;

    /// Creates or replaces records, no more than one request takes.
    async fn put(&self, tenant: &str, records: &[ServiceRecord]) -> Result<(), ServiceFailure>;

    /// Creates a record without vector unless there is one with its id. A service without such an operation looks first,
    /// and can be fooled by another writer at the same moment.
    async fn create(
        &self,
        tenant: &str,
        record: &ServiceRecord,
    ) -> Result<Creation, ServiceFailure>;

    /// Returns the ids and bodies of those of these records that exist, in any order. A tenant that does not exist has
    /// none.
    async fn fetch(
        &self,
        tenant: &str,
        ids: &[String],
    ) -> Result<Vec<(String, String)>, ServiceFailure>;

    /// Deletes those of these records that exist.
    async fn delete(&self, tenant: &str, ids: &[String]) -> Result<(), ServiceFailure>;

    /// Deletes the records of these generations.
    async fn delete_born(
        &self,
        tenant: &str,
        born: RangeInclusive<u32>,
    ) -> Result<(), ServiceFailure>;

    /// Returns the ids of the best chunks, best first.
    async fn nearest(
        &self,
        tenant: &str,
        query: &ServiceQuery<'_>,
    ) -> Result<Vec<String>, ServiceFailure>;

    /// Returns the number of records in a tenant, which may lag behind.
    async fn count(&self, tenant: &str) -> Result<u64, ServiceFailure>;
}
