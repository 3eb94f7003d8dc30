//! An emulator of the part of Pinecone's data plane that indexes need, by its published description (2025-10).
//!
//! It checks what the description and the page of limits say about requests, and compares all vectors. It differs from
//! Pinecone as follows: there is one index and no API for indexes, bulk imports or integrated embedding; usage is always one
//! unit; nothing is throttled by itself; and a write shows up at once unless [`PineconeEmulator::set_lag`] says otherwise.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};

use crate::emulator::{ApiAnswer, ApiRequest, EmulatedApi, Emulator, ServiceFault};
use crate::vectors::{LaggingRecords, RecordWrite, passes, product};

/// The key that is accepted.
const KEY: &str = "key-of-the-tests";
const MAX_BATCH: usize = 1_000;
const MAX_BATCH_BYTES: usize = 2 << 20;
const MAX_METADATA_BYTES: usize = 40 << 10;
const MAX_SPARSE: usize = 1_000;
const MAX_HITS: u64 = 10_000;
const MAX_LISTED: usize = 100;
const MAX_IDS: usize = 1_000;
/// The longest request line of a GET.
const MAX_TARGET: usize = 16 << 10;

/// An emulated index of Pinecone. It ends when dropped.
pub struct PineconeEmulator(Emulator<PineconeIndex>);

impl PineconeEmulator {
    /// Starts an empty index for dense vectors of this dimension and metric.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[must_use]
    #[track_caller]
    pub fn start(dimension: usize, metric: &str) -> Self {
        Self(Emulator::start(PineconeIndex {
            dimension,
            metric: metric.to_owned(),
            records: LaggingRecords::default(),
            schemas: BTreeMap::new(),
        }))
    }

    /// Returns the address of the index.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.0.address())
    }

    /// Returns the key that is accepted.
    #[must_use]
    pub fn key(&self) -> &'static str {
        KEY
    }

    /// Makes the next `times` requests whose path contains `path` fail.
    pub fn fail(&self, path: &str, times: usize, fault: ServiceFault) {
        self.0.fail(path, times, fault);
    }

    /// Makes all requests fail after the next `requests`.
    pub fn fail_after(&self, requests: usize, fault: ServiceFault) {
        self.0.fail_after("", requests, usize::MAX, fault);
    }

    /// Ends all faults.
    pub fn recover(&self) {
        self.0.recover();
    }

    /// Returns method and path of every request since the last call.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.0.requests()
    }

    /// Returns the time spent on requests, without reading and sending them, since the last call.
    #[must_use]
    pub fn busy(&self) -> Duration {
        self.0.busy()
    }

    /// Makes each further write invisible for this number of reads; 0 shows all of them.
    pub fn set_lag(&self, reads: usize) {
        self.0.with(|index| index.records.set_lag(reads));
    }

    /// Returns the ids of all records, whatever their namespace.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.0.with(|index| {
            let records = index.records.peek().values();
            records
                .flat_map(|records| records.keys().cloned())
                .collect()
        })
    }

    /// Removes the records whose ids contain a text, behind the back of every client.
    pub fn lose(&self, text: &str) {
        self.0.with(|index| {
            let all = index.records.peek().clone();
            for (namespace, records) in all {
                let lost = records.into_keys().filter(|id| id.contains(text));
                let lost = lost.collect();
                index.records.write(RecordWrite::Delete(namespace, lost));
            }
        });
    }

    /// Replaces a field of the metadata of records whose ids contain a text, behind the back of every client.
    pub fn damage(&self, text: &str, field: &str, value: &str) {
        self.0.with(|index| {
            let all = index.records.peek().clone();
            for (namespace, records) in all {
                let found = records.into_iter().filter(|(id, _)| id.contains(text));
                let damaged = found.map(|(id, mut record)| {
                    record.metadata.insert(field.to_owned(), json!(value));
                    (id, record)
                });
                let damaged = damaged.collect();
                index.records.write(RecordWrite::Put(namespace, damaged));
            }
        });
    }
}

/// The index and its records.
struct PineconeIndex {
    dimension: usize,
    metric: String,
    records: LaggingRecords<PineconeRecord>,
    schemas: BTreeMap<String, Value>,
}

#[derive(Clone)]
struct PineconeRecord {
    values: Vec<f32>,
    sparse: BTreeMap<u32, f32>,
    metadata: Map<String, Value>,
}

impl PineconeRecord {
    fn json(&self, id: &str, with_values: bool, with_metadata: bool) -> Value {
        let mut json = json!({ "id": id, "values": [] });
        if with_values {
            json["values"] = json!(self.values);
            if !self.sparse.is_empty() {
                let (indices, values): (Vec<u32>, Vec<f32>) = self.sparse.iter().unzip();
                json["sparseValues"] = json!({ "indices": indices, "values": values });
            }
        }
        if with_metadata {
            json["metadata"] = Value::Object(self.metadata.clone());
        }
        json
    }
}

/// The code and the sentence of an error. The codes are those of gRPC.
struct PineconeError(u16, u8, String);

fn invalid(message: impl Into<String>) -> PineconeError {
    PineconeError(400, 3, message.into())
}

fn missing(message: &str) -> PineconeError {
    PineconeError(404, 5, message.to_owned())
}

impl EmulatedApi for PineconeIndex {
    fn answer(&mut self, request: &ApiRequest) -> ApiAnswer {
        if request.header("api-key") != Some(KEY) {
            return ApiAnswer::of(401, json!("Invalid API Key"));
        }
        match self.answered(request) {
            Ok(body) => ApiAnswer::ok(body),
            Err(PineconeError(status, code, message)) => {
                let body = json!({ "code": code, "message": message, "details": [] });
                ApiAnswer::of(status, body)
            }
        }
    }
}

impl PineconeIndex {
    fn answered(&mut self, request: &ApiRequest) -> Result<Value, PineconeError> {
        let body = match request.body.is_empty() {
            true => Map::new(),
            false => {
                let parsed = serde_json::from_slice(&request.body);
                parsed.map_err(|_| invalid("the body is not a JSON object"))?
            }
        };
        let path = request.path.as_str();
        match (&request.method, path) {
            (&Method::POST, "/vectors/upsert") => self.upsert(request, &body),
            (&Method::POST, "/query") => self.query(&body),
            (&Method::GET, "/vectors/fetch") => self.fetch(request),
            (&Method::POST, "/vectors/fetch_by_metadata") => self.fetch_by_metadata(&body),
            (&Method::GET, "/vectors/list") => self.list(request),
            (&Method::POST, "/vectors/delete") => self.delete(&body),
            (&Method::POST, "/vectors/update") => self.update(&body),
            (&Method::POST, "/describe_index_stats") => self.stats(&body),
            (&Method::POST, "/namespaces") => self.create_namespace(&body),
            (&Method::GET, "/namespaces") => Ok(self.namespaces()),
            (method, path) => match (method, path.strip_prefix("/namespaces/")) {
                (&Method::GET, Some(name)) => self.namespace(&decoded(name)),
                (&Method::DELETE, Some(name)) => self.delete_namespace(&decoded(name)),
                _ => Err(missing("not found")),
            },
        }
    }

    fn upsert(
        &mut self,
        request: &ApiRequest,
        body: &Map<String, Value>,
    ) -> Result<Value, PineconeError> {
        let vectors = body.get("vectors").and_then(Value::as_array);
        let vectors = vectors.filter(|vectors| !vectors.is_empty());
        let vectors = vectors.ok_or_else(|| invalid("vectors must not be empty"))?;
        if vectors.len() > MAX_BATCH {
            return Err(invalid("at most 1000 vectors can be upserted at a time"));
        }
        if request.body.len() > MAX_BATCH_BYTES {
            return Err(PineconeError(
                413,
                11,
                "message larger than 2 MB".to_owned(),
            ));
        }
        let mut records = Vec::new();
        for vector in vectors {
            records.push(self.record(vector)?);
        }
        if request.is_partial {
            records.truncate(records.len() / 2);
        }
        let count = records.len();
        self.records
            .write(RecordWrite::Put(namespace(body), records));
        Ok(json!({ "upsertedCount": count }))
    }

    fn record(&self, vector: &Value) -> Result<(String, PineconeRecord), PineconeError> {
        let id = vector["id"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > 512 || !id.is_ascii() {
            return Err(invalid("Vector ID must be ASCII of 1 to 512 characters"));
        }
        let values = self.dense(&vector["values"])?;
        if values.iter().all(|value| *value == 0.0) {
            return Err(invalid(
                "Dense vectors must contain at least one non-zero value",
            ));
        }
        let metadata = match &vector["metadata"] {
            Value::Null => Map::new(),
            Value::Object(metadata) => metadata.clone(),
            _ => return Err(invalid("metadata must be an object")),
        };
        check_metadata(&metadata)?;
        let record = PineconeRecord {
            values,
            sparse: self.sparse(&vector["sparseValues"])?,
            metadata,
        };
        Ok((id.to_owned(), record))
    }

    fn dense(&self, values: &Value) -> Result<Vec<f32>, PineconeError> {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        if values.len() != self.dimension {
            return Err(invalid(format!(
                "Vector dimension {} does not match the dimension of the index {}",
                values.len(),
                self.dimension
            )));
        }
        let number = |value: &Value| value.as_f64().map(|value| value as f32);
        let values: Option<Vec<f32>> = values.iter().map(number).collect();
        values.ok_or_else(|| invalid("values must be numbers"))
    }

    fn sparse(&self, sparse: &Value) -> Result<BTreeMap<u32, f32>, PineconeError> {
        if sparse.is_null() {
            return Ok(BTreeMap::new());
        }
        if self.metric != "dotproduct" {
            return Err(invalid(
                "Index configuration does not support sparse values - only dotproduct does",
            ));
        }
        let list = |name: &str| sparse[name].as_array().cloned().unwrap_or_default();
        let (indices, values) = (list("indices"), list("values"));
        if indices.len() != values.len() || indices.is_empty() || indices.len() > MAX_SPARSE {
            return Err(invalid(
                "Sparse vector must have the same number of indices and values, 1 to 1000",
            ));
        }
        let mut found = BTreeMap::new();
        for (index, value) in indices.iter().zip(&values) {
            let index = index.as_u64().and_then(|index| u32::try_from(index).ok());
            let index = index.ok_or_else(|| invalid("Sparse indices must be 32 bit integers"))?;
            let value = value.as_f64().unwrap_or_default() as f32;
            if value == 0.0 {
                return Err(invalid("Sparse vector must not contain zero values"));
            }
            if found.insert(index, value).is_some() {
                return Err(invalid("Sparse indices must be unique"));
            }
        }
        Ok(found)
    }

    fn query(&mut self, body: &Map<String, Value>) -> Result<Value, PineconeError> {
        let most = body.get("topK").and_then(Value::as_u64).unwrap_or_default();
        if !(1..=MAX_HITS).contains(&most) {
            return Err(invalid("topK must be between 1 and 10000"));
        }
        let flag = |name: &str| body.get(name) == Some(&Value::Bool(true));
        let (with_values, with_metadata) = (flag("includeValues"), flag("includeMetadata"));
        let namespace = namespace(body);
        let (values, sparse) = match (body.get("vector"), body.get("id")) {
            (Some(vector), None) => {
                let sparse = body.get("sparseVector").unwrap_or(&Value::Null);
                (self.dense(vector)?, self.sparse(sparse)?)
            }
            (None, Some(id)) => {
                let records = self.records.read().get(&namespace);
                let id = id.as_str().unwrap_or_default();
                match records.and_then(|records| records.get(id)) {
                    Some(record) => (record.values.clone(), record.sparse.clone()),
                    None => return Ok(json!({ "matches": [], "namespace": namespace })),
                }
            }
            _ => return Err(invalid("exactly one of vector and id must be given")),
        };
        let filter = filter_of(body)?;
        let is_cosine = self.metric == "cosine";
        let records = self.records.read().get(&namespace);
        let mut found = Vec::new();
        for (id, record) in records.into_iter().flatten() {
            if !passes(&filter, &record.metadata).map_err(invalid)? {
                continue;
            }
            let mut score = product(&values, &record.values);
            if is_cosine {
                let lengths = product(&values, &values) * product(&record.values, &record.values);
                score /= lengths.sqrt().max(f64::MIN_POSITIVE);
            }
            let shared = sparse.iter().filter_map(|(index, value)| {
                let other = record.sparse.get(index)?;
                Some(f64::from(*value) * f64::from(*other))
            });
            score += shared.sum::<f64>();
            found.push((score, id, record));
        }
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
        found.truncate(usize::try_from(most).unwrap_or_default());
        let matches = found.into_iter().map(|(score, id, record)| {
            let mut json = record.json(id, with_values, with_metadata);
            json["score"] = json!(score);
            json
        });
        let matches: Vec<Value> = matches.collect();
        let usage = json!({ "readUnits": 1 });
        Ok(json!({ "matches": matches, "namespace": namespace, "usage": usage }))
    }

    fn fetch(&mut self, request: &ApiRequest) -> Result<Value, PineconeError> {
        let ids = request.query.iter().filter(|(name, _)| name == "ids");
        let ids: Vec<&String> = ids.map(|(_, id)| id).collect();
        let length: usize = request.query.iter().map(|(_, value)| value.len() + 5).sum();
        if ids.is_empty() || ids.len() > MAX_IDS || length > MAX_TARGET {
            return Err(invalid("1 to 1000 ids must be given, in a URI of 16 kB"));
        }
        let namespace = request
            .parameter("namespace")
            .unwrap_or_default()
            .to_owned();
        let records = self.records.read().get(&namespace);
        let found = ids.into_iter().filter_map(|id| {
            let record = records?.get(id)?;
            Some((id.clone(), record.json(id, true, true)))
        });
        let vectors: Map<String, Value> = found.collect();
        let usage = json!({ "readUnits": 1 });
        Ok(json!({ "vectors": vectors, "namespace": namespace, "usage": usage }))
    }

    fn fetch_by_metadata(&mut self, body: &Map<String, Value>) -> Result<Value, PineconeError> {
        let most = body.get("limit").and_then(Value::as_u64).unwrap_or(100);
        let filter = filter_of(body)?;
        let namespace = namespace(body);
        let records = self.records.read().get(&namespace);
        let mut vectors = Map::new();
        for (id, record) in records.into_iter().flatten() {
            if vectors.len() as u64 == most {
                break;
            }
            if passes(&filter, &record.metadata).map_err(invalid)? {
                vectors.insert(id.clone(), record.json(id, true, true));
            }
        }
        let usage = json!({ "readUnits": 1 });
        Ok(json!({ "vectors": vectors, "namespace": namespace, "usage": usage }))
    }

    fn list(&mut self, request: &ApiRequest) -> Result<Value, PineconeError> {
        let limit = request
            .parameter("limit")
            .map_or(Ok(MAX_LISTED), str::parse);
        let limit = limit.ok().filter(|limit| (1..=MAX_LISTED).contains(limit));
        let limit = limit.ok_or_else(|| invalid("limit must be between 1 and 100"))?;
        let prefix = request.parameter("prefix").unwrap_or_default();
        let after = request.parameter("paginationToken").unwrap_or_default();
        let namespace = request
            .parameter("namespace")
            .unwrap_or_default()
            .to_owned();
        let records = self.records.read().get(&namespace);
        let ids = records.into_iter().flat_map(BTreeMap::keys);
        let mut ids = ids.filter(|id| id.starts_with(prefix) && id.as_str() > after);
        let page: Vec<&String> = ids.by_ref().take(limit).collect();
        let items: Vec<Value> = page.iter().map(|id| json!({ "id": id })).collect();
        let mut answer = json!({
            "vectors": items, "namespace": namespace, "usage": { "readUnits": 1 },
        });
        if ids.next().is_some() {
            answer["pagination"] = json!({ "next": page.last() });
        }
        Ok(answer)
    }

    fn delete(&mut self, body: &Map<String, Value>) -> Result<Value, PineconeError> {
        let namespace = namespace(body);
        let ids = body.get("ids").and_then(Value::as_array);
        let is_all = body.get("deleteAll") == Some(&Value::Bool(true));
        let has_filter = body.get("filter").is_some();
        if usize::from(ids.is_some()) + usize::from(is_all) + usize::from(has_filter) != 1 {
            return Err(invalid(
                "exactly one of ids, deleteAll and filter must be given",
            ));
        }
        let Some(records) = self.records.peek().get(&namespace) else {
            return Err(missing("Namespace not found"));
        };
        let gone: Vec<String> = match ids {
            Some(ids) if ids.len() > MAX_IDS => {
                return Err(invalid("at most 1000 ids can be deleted at a time"));
            }
            Some(ids) => ids
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            None => {
                let filter = filter_of(body)?;
                let mut gone = Vec::new();
                for (id, record) in records {
                    if is_all || passes(&filter, &record.metadata).map_err(invalid)? {
                        gone.push(id.clone());
                    }
                }
                gone
            }
        };
        self.records.write(RecordWrite::Delete(namespace, gone));
        Ok(json!({}))
    }

    fn update(&mut self, body: &Map<String, Value>) -> Result<Value, PineconeError> {
        let namespace = namespace(body);
        let filter = filter_of(body)?;
        let id = body.get("id").and_then(Value::as_str);
        if id.is_some() == body.contains_key("filter") {
            return Err(invalid("exactly one of id and filter must be given"));
        }
        let records = self.records.peek().get(&namespace).cloned();
        let mut changed = Vec::new();
        for (known, mut record) in records.unwrap_or_default() {
            let is_wanted = match id {
                Some(id) => known == id,
                None => passes(&filter, &record.metadata).map_err(invalid)?,
            };
            if !is_wanted {
                continue;
            }
            if let Some(values) = body.get("values") {
                record.values = self.dense(values)?;
            }
            if let Some(sparse) = body.get("sparseValues") {
                record.sparse = self.sparse(sparse)?;
            }
            if let Some(Value::Object(metadata)) = body.get("setMetadata") {
                record.metadata.extend(metadata.clone());
                check_metadata(&record.metadata)?;
            }
            changed.push((known, record));
        }
        let count = changed.len();
        if body.get("dryRun") != Some(&Value::Bool(true)) {
            self.records.write(RecordWrite::Put(namespace, changed));
        }
        Ok(match id {
            Some(_) => json!({}),
            None => json!({ "matchedRecords": count }),
        })
    }

    fn stats(&mut self, body: &Map<String, Value>) -> Result<Value, PineconeError> {
        if body.get("filter").is_some_and(|filter| !filter.is_null()) {
            return Err(invalid(
                "Serverless indexes do not support describing index stats with metadata filtering",
            ));
        }
        let records = self.records.read();
        let namespaces = records
            .iter()
            .map(|(name, records)| (name.clone(), json!({ "vectorCount": records.len() })));
        let namespaces: Map<String, Value> = namespaces.collect();
        let total: usize = records.values().map(BTreeMap::len).sum();
        Ok(json!({
            "namespaces": namespaces,
            "dimension": self.dimension,
            "indexFullness": 0,
            "totalVectorCount": total,
            "metric": self.metric,
            "vectorType": "dense",
        }))
    }

    fn create_namespace(&mut self, body: &Map<String, Value>) -> Result<Value, PineconeError> {
        let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(invalid("a namespace needs a name"));
        }
        if self.schemas.contains_key(name) || self.records.peek().contains_key(name) {
            return Err(PineconeError(409, 6, "Namespace already exists".to_owned()));
        }
        let schema = body.get("schema").cloned().unwrap_or_default();
        self.schemas.insert(name.to_owned(), schema);
        let empty = RecordWrite::Put(name.to_owned(), Vec::new());
        self.records.write(empty);
        Ok(self.described(name))
    }

    fn described(&self, name: &str) -> Value {
        let records = self.records.peek().get(name).map_or(0, BTreeMap::len);
        let mut described = json!({ "name": name, "record_count": records.to_string() });
        if let Some(schema) = self.schemas.get(name).filter(|schema| !schema.is_null()) {
            described["schema"] = schema.clone();
        }
        described
    }

    fn namespaces(&self) -> Value {
        let names = self.records.peek().keys().map(|name| self.described(name));
        let names: Vec<Value> = names.collect();
        json!({ "total_count": names.len(), "namespaces": names })
    }

    fn namespace(&self, name: &str) -> Result<Value, PineconeError> {
        match self.records.peek().contains_key(name) {
            true => Ok(self.described(name)),
            false => Err(missing("Namespace not found")),
        }
    }

    fn delete_namespace(&mut self, name: &str) -> Result<Value, PineconeError> {
        if !self.records.peek().contains_key(name) {
            return Err(missing("Namespace not found"));
        }
        self.schemas.remove(name);
        self.records.write(RecordWrite::Drop(name.to_owned()));
        Ok(json!({}))
    }
}

/// Returns the namespace of a request; without one, the default.
fn namespace(body: &Map<String, Value>) -> String {
    let name = body.get("namespace").and_then(Value::as_str);
    match name.unwrap_or_default() {
        "__default__" => String::new(),
        name => name.to_owned(),
    }
}

fn decoded(name: &str) -> String {
    percent_encoding::percent_decode_str(name)
        .decode_utf8_lossy()
        .into_owned()
}

fn filter_of(body: &Map<String, Value>) -> Result<Map<String, Value>, PineconeError> {
    match body.get("filter") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(filter)) => Ok(filter.clone()),
        Some(_) => Err(invalid("filter must be an object")),
    }
}

fn check_metadata(metadata: &Map<String, Value>) -> Result<(), PineconeError> {
    if serde_json::to_string(metadata).is_ok_and(|text| text.len() > MAX_METADATA_BYTES) {
        return Err(invalid(
            "Metadata size exceeds the limit of 40960 bytes per vector",
        ));
    }
    let is_fine = |value: &Value| match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
        Value::Array(list) => list.iter().all(Value::is_string),
        Value::Null | Value::Object(_) => false,
    };
    match metadata
        .iter()
        .find(|(name, value)| name.starts_with('$') || !is_fine(value))
    {
        None => Ok(()),
        Some((name, _)) => Err(invalid(format!(
            "Metadata value must be a string, number, boolean or list of strings: {name}"
        ))),
    }
}
