//! Pinecone, by the published description of its data plane, version 2025-10.
//!
//! A collection is a namespace of one serverless index. The index is for dense vectors with the metric `dotproduct`, which is
//! the one that accepts sparse values too. Its dimension is one more than the model's: the last place of every record is 1,
//! because a vector must not be all zeros. A query by words has only that place, which adds the same to every score; a query by
//! meaning has 0 there.

use std::{collections::HashMap, ops::RangeInclusive};

use http::{HeaderName, Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sectile_library::StorageError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    failure::ServiceFailure,
    records::decimals,
    service::{
        Creation, QueryKeys, ServiceLimits, ServiceQuery, ServiceRecord, VectorService, WordKey,
    },
    wire::{ServiceClient, ServiceReply},
};
use crate::ServiceSettings;

/// The version of the API.
const VERSION: &str = "2025-10";
/// The factor of a required word, larger than the sum of all others.
const REQUIRED: f64 = 1e6;
/// Upsert: 1,000 records and 2 MB. Metadata: 40 KB of a record, of which the other fields take little. Sparse values: 1,000.
/// Fetch: 1,000 ids, but they are in the address, which has to stay short. Query: 10,000 hits.
const LIMITS: ServiceLimits = ServiceLimits {
    batch: 1_000,
    batch_bytes: 1_900_000,
    body_bytes: 38_000,
    words: 1_000,
    word_bytes: 22,
    ids: 100,
    hits: 10_000,
};
/// The metadata that queries and deletions filter by; the others are only kept.
const FILTERED: [&str; 3] = ["kind", "born", "digest"];
/// The kind of chunks.
const CHUNK: &str = "chunk";

/// An index of Pinecone.
pub(super) struct Pinecone {
    client: ServiceClient,
    /// The model's.
    dimensions: usize,
}

impl Pinecone {
    /// # Errors
    /// Returns an error if the settings cannot be used.
    pub(super) fn new(settings: &ServiceSettings, dimensions: usize) -> Result<Self, StorageError> {
        let key = settings.api_key.clone().unwrap_or_default();
        let headers = [
            (HeaderName::from_static("api-key"), key),
            (
                HeaderName::from_static("x-pinecone-api-version"),
                VERSION.to_owned(),
            ),
        ];
        Ok(Self {
            client: ServiceClient::new(settings, headers)?,
            dimensions,
        })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<ServiceReply, ServiceFailure> {
        self.client.ask(Method::POST, path, Some(body)).await
    }

    async fn stats(&self) -> Result<IndexStats, ServiceFailure> {
        let reply = self.post("/describe_index_stats", &json!({})).await?;
        reply.read()
    }

    async fn remove(&self, body: &Value) -> Result<(), ServiceFailure> {
        let reply = self.post("/vectors/delete", body).await?;
        match reply.status {
            // A namespace without records does not exist.
            StatusCode::NOT_FOUND => Ok(()),
            _ => reply.success(),
        }
    }

    /// Returns a record as it is sent.
    fn sent(&self, record: &ServiceRecord) -> Value {
        let mut metadata = Map::new();
        metadata.insert("body".to_owned(), json!(record.body));
        if let Some(born) = record.born {
            metadata.insert("born".to_owned(), json!(born));
        }
        let mut sent = Map::new();
        sent.insert("id".to_owned(), json!(record.id));
        let keys = record.keys.as_ref();
        let vector = keys.map_or(&[] as &[f32], |keys| &keys.vector);
        sent.insert("values".to_owned(), json!(self.values(vector, 1.0)));
        if let Some(keys) = keys {
            metadata.insert("kind".to_owned(), json!(CHUNK));
            metadata.insert("digest".to_owned(), json!(keys.digest));
            if !keys.words.is_empty() {
                let (indices, values): (Vec<u32>, Vec<u16>) = keys.words.iter().copied().unzip();
                // A weight of 0 would not be a value.
                let values: Vec<u16> = values.into_iter().map(|value| value.max(1)).collect();
                let sparse = json!({ "indices": indices, "values": values });
                sent.insert("sparseValues".to_owned(), sparse);
            }
        }
        sent.insert("metadata".to_owned(), Value::Object(metadata));
        Value::Object(sent)
    }

    /// Returns a vector with its last place.
    fn values(&self, vector: &[f32], last: f64) -> Vec<f64> {
        let mut values = decimals(vector);
        values.resize(self.dimensions, 0.0);
        values.push(last);
        values
    }
}

impl VectorService for Pinecone {
    fn name(&self) -> &'static str {
        "pinecone"
    }

    fn title(&self) -> &'static str {
        "Pinecone"
    }

    fn limits(&self) -> ServiceLimits {
        LIMITS
    }

    async fn check(&self) -> Result<(), ServiceFailure> {
        let stats = self.stats().await?;
        let needed = self.dimensions + 1;
        let is_dense = stats.vector_type.as_deref().is_none_or(|it| it == "dense");
        let is_product = stats.metric.as_deref().is_none_or(|it| it == "dotproduct");
        match stats.dimension == Some(needed) && is_dense && is_product {
            true => Ok(()),
            false => Err(ServiceFailure::OtherIndex(format!(
                "dense vectors of dimension {needed} and the metric `dotproduct`, which accepts sparse values"
            ))),
        }
    }

    /// Indexes belong to another API, with other rights: they are created by hand.
    async fn prepare(&self) -> Result<(), ServiceFailure> {
        self.check().await
    }

    async fn open_tenant(&self, tenant: &str) -> Result<(), ServiceFailure> {
        // Otherwise all metadata would be indexed, long bodies too.
        let fields = FILTERED.map(|field| (field.to_owned(), json!({ "filterable": true })));
        let fields: Map<String, Value> = fields.into_iter().collect();
        let body = json!({ "name": tenant, "schema": { "fields": fields } });
        let reply = self.post("/namespaces", &body).await?;
        match reply.status {
            StatusCode::CONFLICT => Ok(()),
            _ => reply.success(),
        }
    }

    async fn drop_tenant(&self, tenant: &str) -> Result<(), ServiceFailure> {
        let path = format!("/namespaces/{tenant}");
        let reply = self.client.ask(Method::DELETE, &path, None).await?;
        match reply.status {
            StatusCode::NOT_FOUND => Ok(()),
            _ => reply.success(),
        }
    }

    async fn put(&self, tenant: &str, records: &[ServiceRecord]) -> Result<(), ServiceFailure> {
        let sent: Vec<Value> = records.iter().map(|record| self.sent(record)).collect();
        let body = json!({ "namespace": tenant, "vectors": sent });
        let reply = self.post("/vectors/upsert", &body).await?;
        let upserted: UpsertAnswer = reply.read()?;
        match upserted.upserted_count == records.len() as u64 {
            true => Ok(()),
            false => Err(ServiceFailure::Partial),
        }
    }

    async fn create(
        &self,
        tenant: &str,
        record: &ServiceRecord,
    ) -> Result<Creation, ServiceFailure> {
        let known = self.fetch(tenant, std::slice::from_ref(&record.id)).await?;
        if !known.is_empty() {
            return Ok(Creation::Exists);
        }
        self.put(tenant, std::slice::from_ref(record)).await?;
        Ok(Creation::Created)
    }

    async fn fetch(
        &self,
        tenant: &str,
        ids: &[String],
    ) -> Result<Vec<(String, String)>, ServiceFailure> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut path = format!("/vectors/fetch?namespace={tenant}");
        for id in ids {
            path.push_str("&ids=");
            path.extend(utf8_percent_encode(id, NON_ALPHANUMERIC));
        }
        let reply = self.client.ask(Method::GET, &path, None).await?;
        let fetched: FetchAnswer = reply.read()?;
        let bodies = fetched.vectors.into_iter().map(|(id, vector)| {
            let body = vector.metadata.and_then(|metadata| metadata.body);
            Ok((id, body.ok_or(ServiceFailure::Unclear)?))
        });
        bodies.collect()
    }

    async fn delete(&self, tenant: &str, ids: &[String]) -> Result<(), ServiceFailure> {
        let body = json!({ "namespace": tenant, "ids": ids });
        self.remove(&body).await
    }

    async fn delete_born(
        &self,
        tenant: &str,
        born: RangeInclusive<u32>,
    ) -> Result<(), ServiceFailure> {
        let born = json!({ "$gte": born.start(), "$lte": born.end() });
        let body = json!({ "namespace": tenant, "filter": { "born": born } });
        self.remove(&body).await
    }

    async fn nearest(
        &self,
        tenant: &str,
        query: &ServiceQuery<'_>,
    ) -> Result<Vec<String>, ServiceFailure> {
        let (first, last) = (query.born.start(), query.born.end());
        let mut filter = json!({
            "kind": { "$eq": CHUNK },
            "born": { "$gte": first, "$lte": last },
        });
        let (values, sparse) = match query.by {
            QueryKeys::Vector(vector) => (self.values(vector, 0.0), None),
            QueryKeys::Words(words) => (self.values(&[], 1.0), Some(sparse(words))),
            QueryKeys::Digest(first, last) => {
                filter["digest"] = json!({ "$gte": first, "$lte": last });
                (self.values(&[], 1.0), None)
            }
        };
        let mut body = json!({
            "namespace": tenant,
            "topK": query.most,
            "filter": filter,
            "vector": values,
            "includeValues": false,
            "includeMetadata": false,
        });
        if let Some(sparse) = sparse {
            body["sparseVector"] = sparse;
        }
        let reply = self.post("/query", &body).await?;
        let answer: QueryAnswer = reply.read()?;
        if answer.matches.len() > query.most {
            return Err(ServiceFailure::Unclear);
        }
        Ok(answer.matches.into_iter().map(|one| one.id).collect())
    }

    async fn count(&self, tenant: &str) -> Result<u64, ServiceFailure> {
        let stats = self.stats().await?;
        let known = stats.namespaces.get(tenant);
        Ok(known.map_or(0, |namespace| namespace.vector_count))
    }
}

/// Returns the words of a question as sparse values.
fn sparse(words: &[WordKey]) -> Value {
    let indices: Vec<u32> = words.iter().map(|word| word.hash).collect();
    let largest = words.iter().map(|word| word.weight).max();
    let largest = f64::from(largest.unwrap_or_default().max(1));
    let values = words.iter().map(|word| {
        let share = f64::from(word.weight.max(1)) / largest;
        share + if word.is_required { REQUIRED } else { 0.0 }
    });
    let values: Vec<f64> = values.collect();
    json!({ "indices": indices, "values": values })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpsertAnswer {
    upserted_count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexStats {
    #[serde(default)]
    namespaces: HashMap<String, NamespaceStats>,
    dimension: Option<usize>,
    metric: Option<String>,
    vector_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamespaceStats {
    #[serde(default)]
    vector_count: u64,
}

#[derive(Deserialize)]
struct FetchAnswer {
    #[serde(default)]
    vectors: HashMap<String, FetchedVector>,
}

#[derive(Deserialize)]
struct FetchedVector {
    metadata: Option<FetchedMetadata>,
}

#[derive(Deserialize)]
struct FetchedMetadata {
    body: Option<String>,
}

#[derive(Deserialize)]
struct QueryAnswer {
    #[serde(default)]
    matches: Vec<QueryMatch>,
}

#[derive(Deserialize)]
struct QueryMatch {
    id: String,
}
