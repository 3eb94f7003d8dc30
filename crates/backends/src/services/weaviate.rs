//! Weaviate, by the published description of its REST API and its GraphQL searches.
//!
//! All collections are tenants of one class, which this program creates. Vectors are compared by their angle. Words are hashes
//! in one property that is split at spaces, and found by BM25 without regard to the length of a chunk. A word is repeated
//! according to its weight, and `k1` is so large that the score grows with it. The scores only select candidates. An object's id is a UUID, so it is derived from the id of the record, which is in the property `key`.

use std::ops::RangeInclusive;

use http::{HeaderName, Method, StatusCode, header};
use sectile_library::StorageError;
use sectile_markdown::Digest;
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

/// The class of all records.
const CLASS: &str = "SectileRecord";
/// The oldest version with everything that is used here.
const OLDEST: (u32, u32) = (1, 27);
/// The weight for which a word is repeated once more: one occurrence in a passage of ordinary length weighs 1,024. The tests
/// `few_candidates_find_what_many_find` and `cargo xtask bench --only backends` show what the candidates miss.
const REPEATED: u16 = 384;
/// The most times that a word is repeated.
const MOST_REPEATS: u16 = 6;
/// With this `k1`, a word that is repeated six times counts almost six times as much.
const K1: u32 = 50;
/// Weaviate limits neither batches nor objects, but recommends a few hundred objects at a time. A query returns 10,000 objects
/// at most unless it is set up otherwise.
const LIMITS: ServiceLimits = ServiceLimits {
    batch: 500,
    batch_bytes: 4_000_000,
    body_bytes: 1_000_000,
    words: 10_000,
    word_bytes: 9 * MOST_REPEATS as usize,
    ids: 200,
    hits: 10_000,
};

/// A Weaviate server or cluster.
pub(super) struct Weaviate {
    client: ServiceClient,
}

impl Weaviate {
    /// # Errors
    /// Returns an error if the settings cannot be used.
    pub(super) fn new(settings: &ServiceSettings) -> Result<Self, StorageError> {
        let key = settings.api_key.as_ref();
        let headers: Vec<(HeaderName, String)> = key
            .map(|key| (header::AUTHORIZATION, format!("Bearer {key}")))
            .into_iter()
            .collect();
        Ok(Self {
            client: ServiceClient::new(settings, headers)?,
        })
    }

    async fn get(&self, path: &str) -> Result<ServiceReply, ServiceFailure> {
        self.client.ask(Method::GET, path, None).await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<ServiceReply, ServiceFailure> {
        self.client.ask(Method::POST, path, Some(body)).await
    }

    async fn check_version(&self) -> Result<(), ServiceFailure> {
        let meta: Meta = self.get("/v1/meta").await?.read()?;
        let mut numbers = meta.version.split('.').map(str::parse::<u32>);
        let version = (numbers.next(), numbers.next());
        let (oldest, minor) = OLDEST;
        match version {
            (Some(Ok(major)), Some(Ok(number))) if major == oldest && number >= minor => Ok(()),
            _ => Err(ServiceFailure::OtherVersion(format!(
                "version {oldest}.{minor} or a later {oldest}"
            ))),
        }
    }

    /// Returns whether the class exists, and checks it.
    async fn has_class(&self) -> Result<bool, ServiceFailure> {
        let reply = self.get(&format!("/v1/schema/{CLASS}")).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        let class: Class = reply.read()?;
        let words = class.properties.iter().find(|one| one.name == "words");
        let is_split = words.is_some_and(|one| one.tokenization.as_deref() == Some("whitespace"));
        let key = class.properties.iter().find(|one| one.name == "key");
        let is_whole = key.is_some_and(|one| one.tokenization.as_deref() == Some("field"));
        let has_tenants = class.multi_tenancy_config.is_some_and(|it| it.enabled);
        match is_split && is_whole && has_tenants && class.vectorizer == "none" {
            true => Ok(true),
            false => Err(ServiceFailure::OtherIndex(format!(
                "the class `{CLASS}` as `sectile notebook index` makes it, after removing this one"
            ))),
        }
    }

    async fn has_tenant(&self, tenant: &str) -> Result<bool, ServiceFailure> {
        let path = format!("/v1/schema/{CLASS}/tenants/{tenant}");
        let reply = self.get(&path).await?;
        match reply.status {
            // 422 if the class does not exist either.
            StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => Ok(false),
            _ => reply.success().map(|()| true),
        }
    }

    /// Runs a query for objects. Returns `None` if the tenant does not exist.
    async fn objects(
        &self,
        tenant: &str,
        arguments: &str,
        fields: &str,
    ) -> Result<Option<Vec<FoundObject>>, ServiceFailure> {
        let query = format!(
            "{{ Get {{ {CLASS}(tenant: {}, consistencyLevel: QUORUM, {arguments}) {{ {fields} }} }} }}",
            json!(tenant)
        );
        let answer: GraphqlAnswer = self.graphql(&query).await?;
        let found = answer.data.and_then(|data| data.get);
        match found.and_then(|found| found.records) {
            Some(records) if answer.errors.is_empty() => Ok(Some(records)),
            _ if self.has_tenant(tenant).await? => Err(ServiceFailure::Unclear),
            _ => Ok(None),
        }
    }

    async fn graphql(&self, query: &str) -> Result<GraphqlAnswer, ServiceFailure> {
        let reply = self.post("/v1/graphql", &json!({ "query": query })).await?;
        reply.read()
    }

    async fn keys(
        &self,
        tenant: &str,
        most: usize,
        search: &str,
        filter: &str,
    ) -> Result<Vec<String>, ServiceFailure> {
        let arguments = format!("limit: {most}, {search} where: {filter}");
        let found = self.objects(tenant, &arguments, "key").await?;
        let found = found.unwrap_or_default();
        if found.len() > most {
            return Err(ServiceFailure::Unclear);
        }
        let keys = found.into_iter().map(|one| one.key);
        keys.map(|key| key.ok_or(ServiceFailure::Unclear)).collect()
    }

    async fn by_words(
        &self,
        tenant: &str,
        query: &ServiceQuery<'_>,
        words: &[WordKey],
    ) -> Result<Vec<String>, ServiceFailure> {
        let all: Vec<String> = words.iter().map(|word| token(word.hash)).collect();
        let search = format!(
            "bm25: {{ query: {}, properties: [\"words\"] }},",
            json!(all.join(" "))
        );
        let required = words.iter().filter(|word| word.is_required);
        let required: Vec<String> = required.map(|word| token(word.hash)).collect();
        let mut keys = Vec::new();
        if !required.is_empty() {
            // The scores cannot put these first.
            let has_all = format!(
                "{{ path: [\"words\"], operator: ContainsAll, valueText: {} }}",
                json!(required)
            );
            let filter = chunks_born(&query.born, &[has_all]);
            keys = self.keys(tenant, query.most, &search, &filter).await?;
        }
        let filter = chunks_born(&query.born, &[]);
        for key in self.keys(tenant, query.most, &search, &filter).await? {
            if keys.len() == query.most {
                break;
            }
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    async fn delete_where(&self, tenant: &str, filter: &Value) -> Result<(), ServiceFailure> {
        let path = format!("/v1/batch/objects?tenant={tenant}&consistency_level=QUORUM");
        let body = json!({
            "match": { "class": CLASS, "where": filter },
            "output": "minimal",
            "dryRun": false,
        });
        loop {
            let reply = self.client.ask(Method::DELETE, &path, Some(&body)).await?;
            if !reply.status.is_success() && !self.has_tenant(tenant).await? {
                return Ok(());
            }
            let answer: DeleteAnswer = reply.read()?;
            let DeleteResults {
                matches,
                successful,
                failed,
            } = answer.results;
            if failed > 0 || (matches > 0 && successful == 0) {
                return Err(ServiceFailure::Partial);
            }
            // One request deletes a limited number.
            if matches <= successful {
                return Ok(());
            }
        }
    }
}

impl VectorService for Weaviate {
    fn name(&self) -> &'static str {
        "weaviate"
    }

    fn title(&self) -> &'static str {
        "Weaviate"
    }

    fn limits(&self) -> ServiceLimits {
        LIMITS
    }

    async fn check(&self) -> Result<(), ServiceFailure> {
        self.check_version().await?;
        match self.has_class().await? {
            true => Ok(()),
            false => Err(StorageError::failed(format!(
                "Weaviate does not have the class `{CLASS}` yet. Run `sectile notebook index --to weaviate` to create it."
            ))
            .into()),
        }
    }

    async fn prepare(&self) -> Result<(), ServiceFailure> {
        self.check_version().await?;
        if self.has_class().await? {
            return Ok(());
        }
        let reply = self.post("/v1/schema", &class()).await?;
        // Somebody else may have created it, or an attempt whose answer was lost.
        match reply.status.is_success() || self.has_class().await? {
            true => Ok(()),
            false => reply.success(),
        }
    }

    async fn open_tenant(&self, tenant: &str) -> Result<(), ServiceFailure> {
        if self.has_tenant(tenant).await? {
            return Ok(());
        }
        let path = format!("/v1/schema/{CLASS}/tenants");
        let reply = self.post(&path, &json!([{ "name": tenant }])).await?;
        match reply.status.is_success() || self.has_tenant(tenant).await? {
            true => Ok(()),
            false => reply.success(),
        }
    }

    async fn drop_tenant(&self, tenant: &str) -> Result<(), ServiceFailure> {
        if !self.has_tenant(tenant).await? {
            return Ok(());
        }
        let path = format!("/v1/schema/{CLASS}/tenants");
        let names = json!([tenant]);
        let reply = self.client.ask(Method::DELETE, &path, Some(&names)).await?;
        reply.success()
    }

    async fn put(&self, tenant: &str, records: &[ServiceRecord]) -> Result<(), ServiceFailure> {
        let objects: Vec<Value> = records.iter().map(|one| object(tenant, one)).collect();
        let body = json!({ "objects": objects });
        let path = "/v1/batch/objects?consistency_level=QUORUM";
        let results: Vec<BatchResult> = self.post(path, &body).await?.read()?;
        let is_done = |one: &BatchResult| {
            let status = one.result.status.as_deref();
            status == Some("SUCCESS") && one.result.errors.is_none()
        };
        match results.len() == records.len() && results.iter().all(is_done) {
            true => Ok(()),
            false => Err(ServiceFailure::Partial),
        }
    }

    async fn create(
        &self,
        tenant: &str,
        record: &ServiceRecord,
    ) -> Result<Creation, ServiceFailure> {
        let path = "/v1/objects?consistency_level=QUORUM";
        let reply = self.post(path, &object(tenant, record)).await?;
        if reply.status != StatusCode::UNPROCESSABLE_ENTITY {
            return reply.success().map(|()| Creation::Created);
        }
        // The status also means that the object is not valid.
        let known = self.fetch(tenant, std::slice::from_ref(&record.id)).await?;
        match known.is_empty() {
            true => reply.success().map(|()| Creation::Created),
            false => Ok(Creation::Exists),
        }
    }

    async fn fetch(
        &self,
        tenant: &str,
        ids: &[String],
    ) -> Result<Vec<(String, String)>, ServiceFailure> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let arguments = format!(
            "limit: {}, where: {{ path: [\"key\"], operator: ContainsAny, valueText: {} }}",
            ids.len(),
            json!(ids)
        );
        let found = self.objects(tenant, &arguments, "key body").await?;
        let bodies = found.unwrap_or_default().into_iter().map(|one| {
            let (key, body) = (one.key, one.body);
            key.zip(body).ok_or(ServiceFailure::Unclear)
        });
        bodies.collect()
    }

    async fn delete(&self, tenant: &str, ids: &[String]) -> Result<(), ServiceFailure> {
        let filter = json!({ "path": ["key"], "operator": "ContainsAny", "valueTextArray": ids });
        self.delete_where(tenant, &filter).await
    }

    async fn delete_born(
        &self,
        tenant: &str,
        born: RangeInclusive<u32>,
    ) -> Result<(), ServiceFailure> {
        let limit = |operator: &str, value: &u32| json!({ "path": ["born"], "operator": operator, "valueNumber": value });
        let filter = json!({
            "operator": "And",
            "operands": [
                limit("GreaterThanEqual", born.start()),
                limit("LessThanEqual", born.end()),
            ],
        });
        self.delete_where(tenant, &filter).await
    }

    async fn nearest(
        &self,
        tenant: &str,
        query: &ServiceQuery<'_>,
    ) -> Result<Vec<String>, ServiceFailure> {
        match query.by {
            QueryKeys::Vector(vector) => {
                let search = format!("nearVector: {{ vector: {} }},", json!(decimals(vector)));
                let filter = chunks_born(&query.born, &[]);
                self.keys(tenant, query.most, &search, &filter).await
            }
            QueryKeys::Words(words) => self.by_words(tenant, query, words).await,
            QueryKeys::Digest(first, last) => {
                let limits = [
                    number("digest", "GreaterThanEqual", first),
                    number("digest", "LessThanEqual", last),
                ];
                let filter = chunks_born(&query.born, &limits);
                self.keys(tenant, query.most, "", &filter).await
            }
        }
    }

    async fn count(&self, tenant: &str) -> Result<u64, ServiceFailure> {
        let query = format!(
            "{{ Aggregate {{ {CLASS}(tenant: {}) {{ meta {{ count }} }} }} }}",
            json!(tenant)
        );
        let answer = self.graphql(&query).await?;
        let found = answer.data.and_then(|data| data.aggregate);
        let found = found.and_then(|found| found.records);
        match found.as_deref() {
            Some([one]) => Ok(one.meta.count),
            _ if self.has_tenant(tenant).await? => Err(ServiceFailure::Unclear),
            _ => Ok(0),
        }
    }
}

/// Returns the definition of the class.
fn class() -> Value {
    let text = |name: &str, tokenization: &str, is_searchable: bool| {
        json!({
            "name": name,
            "dataType": ["text"],
            "tokenization": tokenization,
            "indexFilterable": true,
            "indexSearchable": is_searchable,
        })
    };
    let number =
        |name: &str| json!({ "name": name, "dataType": ["number"], "indexFilterable": true });
    json!({
        "class": CLASS,
        "description": "Indexes of collections of notes, kept by Sectile. Each collection is a tenant.",
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": { "distance": "cosine" },
        "multiTenancyConfig": { "enabled": true },
        "invertedIndexConfig": {
            "bm25": { "b": 0, "k1": K1 },
            "stopwords": { "preset": "none" },
        },
        "properties": [
            text("key", "field", false),
            text("words", "whitespace", true),
            number("born"),
            number("digest"),
            {
                "name": "body",
                "dataType": ["text"],
                "tokenization": "field",
                "indexFilterable": false,
                "indexSearchable": false,
            },
        ],
    })
}

/// Returns a record as an object.
fn object(tenant: &str, record: &ServiceRecord) -> Value {
    let mut properties = Map::new();
    properties.insert("key".to_owned(), json!(record.id));
    properties.insert("body".to_owned(), json!(record.body));
    if let Some(born) = record.born {
        properties.insert("born".to_owned(), json!(born));
    }
    let mut object = json!({ "class": CLASS, "tenant": tenant, "id": uuid(&record.id) });
    if let Some(keys) = &record.keys {
        let words = keys.words.iter().flat_map(|(hash, weight)| {
            let times = weight.saturating_add(REPEATED / 2) / REPEATED;
            std::iter::repeat_n(token(*hash), times.clamp(1, MOST_REPEATS).into())
        });
        let words: Vec<String> = words.collect();
        properties.insert("words".to_owned(), json!(words.join(" ")));
        properties.insert("digest".to_owned(), json!(keys.digest));
        if !keys.vector.is_empty() {
            object["vector"] = json!(decimals(&keys.vector));
        }
    }
    object["properties"] = Value::Object(properties);
    object
}

/// Returns the UUID of a record: the start of a digest, marked as a version of our own.
fn uuid(id: &str) -> String {
    let digest = Digest::of(id.as_bytes()).to_string();
    format!(
        "{}-{}-8{}-8{}-{}",
        &digest[..8],
        &digest[8..12],
        &digest[12..15],
        &digest[15..18],
        &digest[18..30]
    )
}

/// Returns the hash of a word as it is in the property of words.
fn token(hash: u32) -> String {
    format!("{hash:08x}")
}

/// Returns a filter of chunks with a generation in `born` that pass further ones. Only chunks have a digest.
fn chunks_born(born: &RangeInclusive<u32>, further: &[String]) -> String {
    let mut operands = vec![
        number("born", "GreaterThanEqual", u64::from(*born.start())),
        number("born", "LessThanEqual", u64::from(*born.end())),
        number("digest", "GreaterThanEqual", 0),
    ];
    operands.extend_from_slice(further);
    format!("{{ operator: And, operands: [{}] }}", operands.join(", "))
}

fn number(property: &str, operator: &str, value: u64) -> String {
    format!("{{ path: [\"{property}\"], operator: {operator}, valueNumber: {value} }}")
}

#[derive(Deserialize)]
struct Meta {
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Class {
    #[serde(default)]
    vectorizer: String,
    multi_tenancy_config: Option<MultiTenancy>,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct MultiTenancy {
    #[serde(default)]
    enabled: bool,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    tokenization: Option<String>,
}

#[derive(Deserialize)]
struct BatchResult {
    result: BatchOutcome,
}

#[derive(Deserialize)]
struct BatchOutcome {
    status: Option<String>,
    errors: Option<Value>,
}

#[derive(Deserialize)]
struct DeleteAnswer {
    results: DeleteResults,
}

#[derive(Deserialize)]
struct DeleteResults {
    #[serde(default)]
    matches: u64,
    #[serde(default)]
    successful: u64,
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize)]
struct GraphqlAnswer {
    data: Option<GraphqlData>,
    #[serde(default)]
    errors: Vec<Value>,
}

#[derive(Deserialize)]
struct GraphqlData {
    #[serde(rename = "Get")]
    get: Option<FoundObjects>,
    #[serde(rename = "Aggregate")]
    aggregate: Option<CountedObjects>,
}

#[derive(Deserialize)]
struct FoundObjects {
    #[serde(rename = "SectileRecord")]
    records: Option<Vec<FoundObject>>,
}

#[derive(Deserialize)]
struct FoundObject {
    key: Option<String>,
    body: Option<String>,
}

#[derive(Deserialize)]
struct CountedObjects {
    #[serde(rename = "SectileRecord")]
    records: Option<Vec<CountedObject>>,
}

#[derive(Deserialize)]
struct CountedObject {
    meta: CountedMeta,
}

#[derive(Deserialize)]
struct CountedMeta {
    #[serde(default)]
    count: u64,
}
