//! An emulator of the part of Weaviate that indexes need: classes with tenants, objects, batches, and GraphQL searches.
//!
//! It checks requests as the published description does, and compares all vectors. It differs from Weaviate as follows: no
//! gRPC, no references, no vectors but one of an object, no replication, tenants are always active, no types but text and
//! numbers, and no access rights but one key. BM25 is computed with the class's `k1`, and always without regard to length.

mod filters;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};

use self::filters::ObjectFilter;
use crate::emulator::{ApiAnswer, ApiRequest, EmulatedApi, Emulator, ServiceFault};
use crate::graphql::{self, QueryField};
use crate::vectors::{LaggingRecords, RecordWrite, product};

/// The key that is accepted.
const KEY: &str = "key-of-the-tests";
const VERSION: &str = "1.33.0";
/// The most objects that a query returns or a batch deletes.
const MAX_RESULTS: usize = 10_000;

/// An emulated Weaviate server. It ends when dropped.
pub struct WeaviateEmulator(Emulator<WeaviateServer>);

impl WeaviateEmulator {
    /// Starts an empty server.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        Self(Emulator::start(WeaviateServer {
            version: VERSION.to_owned(),
            classes: BTreeMap::new(),
            tenants: BTreeSet::new(),
            records: LaggingRecords::default(),
        }))
    }

    /// Returns the address of the server.
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
        self.0.with(|server| server.records.set_lag(reads));
    }

    /// Sets the version that the server reports.
    pub fn set_version(&self, version: &str) {
        self.0
            .with(|server| version.clone_into(&mut server.version));
    }

    /// Replaces the body of the objects whose key contains a text, behind the back of every client.
    pub fn damage(&self, text: &str, body: &str) {
        self.0.with(|server| {
            for (place, objects) in server.records.peek().clone() {
                let found = objects.into_iter().filter(|(_, object)| {
                    let key = object.properties.get("key").and_then(Value::as_str);
                    key.is_some_and(|key| key.contains(text))
                });
                let damaged = found.map(|(id, mut object)| {
                    object.properties.insert("body".to_owned(), json!(body));
                    (id, object)
                });
                let damaged = damaged.collect();
                server.records.write(RecordWrite::Put(place, damaged));
            }
        });
    }

    /// Returns the keys of all objects, whatever their tenant.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.0.with(|server| {
            let objects = server.records.peek().values().flat_map(BTreeMap::values);
            let keys = objects.filter_map(|object| object.properties.get("key")?.as_str());
            keys.map(str::to_owned).collect()
        })
    }
}

struct WeaviateServer {
    version: String,
    classes: BTreeMap<String, Value>,
    /// Class and tenant.
    tenants: BTreeSet<(String, String)>,
    /// Objects by class and tenant, and by id.
    records: LaggingRecords<WeaviateObject>,
}

#[derive(Clone)]
struct WeaviateObject {
    properties: Map<String, Value>,
    /// For each property that can be searched by words, how often it has each token, by the hash of the token.
    tokens: BTreeMap<String, BTreeMap<u64, u32>>,
    vector: Vec<f32>,
}

/// An object with its id.
type FoundObject<'a> = (&'a String, &'a WeaviateObject);

/// The status and the sentence of an error.
struct WeaviateError(u16, String);

fn invalid(message: impl Into<String>) -> WeaviateError {
    WeaviateError(422, message.into())
}

fn place(class: &str, tenant: &str) -> String {
    format!("{class}\0{tenant}")
}

impl EmulatedApi for WeaviateServer {
    fn answer(&mut self, request: &ApiRequest) -> ApiAnswer {
        let path = request.path.trim_end_matches('/').to_owned();
        let is_open = path.starts_with("/v1/.well-known/");
        let bearer = format!("Bearer {KEY}");
        if !is_open && request.header("authorization") != Some(bearer.as_str()) {
            let body = json!({ "code": 401, "message": "unauthorized: invalid api key" });
            return ApiAnswer::of(401, body);
        }
        match self.answered(request, &path) {
            Ok((status, body)) => ApiAnswer { status, body },
            Err(WeaviateError(status, message)) => {
                let body = json!({ "error": [{ "message": message }] });
                ApiAnswer::of(status, body)
            }
        }
    }
}

impl WeaviateServer {
    fn answered(
        &mut self,
        request: &ApiRequest,
        path: &str,
    ) -> Result<(u16, Option<Value>), WeaviateError> {
        let body: Value = match request.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&request.body)
                .map_err(|_| WeaviateError(400, "parsing body failed".to_owned()))?,
        };
        let parts: Vec<&str> = path.split('/').skip(2).collect();
        let ok = |body: Value| Ok((200, Some(body)));
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", [".well-known", "ready" | "live"]) => Ok((200, None)),
            ("GET", [".well-known", "openid-configuration"]) => Ok((404, None)),
            ("GET", ["meta"]) => ok(json!({
                "hostname": "http://[::]:8080", "version": self.version, "modules": {},
            })),
            ("GET", ["schema"]) => {
                let classes: Vec<&Value> = self.classes.values().collect();
                ok(json!({ "classes": classes }))
            }
            ("POST", ["schema"]) => ok(self.create_class(body)?),
            ("GET", ["schema", class]) => match self.classes.get(*class) {
                Some(class) => ok(class.clone()),
                None => Ok((404, None)),
            },
            ("DELETE", ["schema", class]) => {
                self.classes.remove(*class);
                Ok((200, None))
            }
            ("GET", ["schema", class, "tenants"]) => {
                let tenants = self.tenants.iter().filter(|(of, _)| of == class);
                let tenants = tenants.map(|(_, name)| tenant(name));
                ok(Value::Array(tenants.collect()))
            }
            ("GET" | "HEAD", ["schema", class, "tenants", name]) => {
                match self.has_tenant(class, name) {
                    true => ok(tenant(name)),
                    false => Err(WeaviateError(404, format!("tenant not found: {name:?}"))),
                }
            }
            ("POST", ["schema", class, "tenants"]) => ok(self.create_tenants(class, &body)?),
            ("DELETE", ["schema", class, "tenants"]) => {
                for name in strings(&body) {
                    self.tenants.remove(&((*class).to_owned(), name.clone()));
                    self.records.write(RecordWrite::Drop(place(class, &name)));
                }
                Ok((200, None))
            }
            ("POST", ["objects"]) => self.create_object(&body).map(|body| (200, Some(body))),
            ("POST", ["batch", "objects"]) => ok(self.batch(request, &body)?),
            ("DELETE", ["batch", "objects"]) => ok(self.delete_batch(request, &body)?),
            ("GET" | "HEAD" | "DELETE", ["objects", class, id]) => {
                self.one_object(request, class, id)
            }
            ("POST", ["graphql"]) => ok(self.graphql(&body)),
            _ => Err(WeaviateError(404, format!("path {path} was not found"))),
        }
    }

    fn has_tenant(&self, class: &str, tenant: &str) -> bool {
        self.tenants
            .contains(&(class.to_owned(), tenant.to_owned()))
    }

    fn create_class(&mut self, mut class: Value) -> Result<Value, WeaviateError> {
        let name = class["class"].as_str().unwrap_or_default().to_owned();
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Err(invalid(format!("'{name}' is not a valid class name")));
        }
        if self.classes.contains_key(&name) {
            return Err(invalid(format!("class name {name} already exists")));
        }
        for property in class["properties"].as_array_mut().into_iter().flatten() {
            let kind = property["dataType"][0].as_str().unwrap_or_default();
            let kind = kind.to_owned();
            let of_property = json!({
                "description": "", "indexFilterable": true, "indexRangeFilters": false,
                "indexSearchable": kind == "text", "moduleConfig": {},
            });
            fill(property, &of_property);
            match kind.as_str() {
                "text" if property["tokenization"].is_null() => {
                    property["tokenization"] = json!("word");
                }
                "number" | "int" | "boolean" if property["tokenization"].is_string() => {
                    return Err(invalid(format!("Tokenization is not allowed for {kind}")));
                }
                "text" | "number" | "int" | "boolean" => {}
                _ => {
                    return Err(invalid(format!(
                        "property data type {kind:?} is not emulated"
                    )));
                }
            }
        }
        fill(&mut class, &defaults());
        self.classes.insert(name, class.clone());
        Ok(class)
    }

    fn create_tenants(&mut self, class: &str, body: &Value) -> Result<Value, WeaviateError> {
        let Some(known) = self.classes.get(class) else {
            return Err(invalid(format!("class {class:?} not found")));
        };
        if known["multiTenancyConfig"]["enabled"] != json!(true) {
            return Err(invalid(format!(
                "multi-tenancy is not enabled for class {class:?}"
            )));
        }
        let names = body.as_array().into_iter().flatten();
        let names: Vec<String> = names
            .filter_map(|one| one["name"].as_str().map(str::to_owned))
            .collect();
        let is_fine = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        for name in &names {
            if name.is_empty() || name.len() > 64 || !name.bytes().all(is_fine) {
                return Err(invalid(format!("tenant name {name:?} is not valid")));
            }
            self.tenants.insert((class.to_owned(), name.clone()));
            self.records
                .write(RecordWrite::Put(place(class, name), Vec::new()));
        }
        Ok(Value::Array(
            names.iter().map(|name| tenant(name)).collect(),
        ))
    }

    /// Checks an object, and returns its place, its id and itself.
    fn object(&self, body: &Value) -> Result<(String, String, WeaviateObject), WeaviateError> {
        let class = body["class"].as_str().unwrap_or_default();
        let Some(known) = self.classes.get(class) else {
            return Err(invalid(format!("class {class:?} not found in schema")));
        };
        let tenant = body["tenant"].as_str().unwrap_or_default();
        let has_tenants = known["multiTenancyConfig"]["enabled"] == json!(true);
        if has_tenants && !self.has_tenant(class, tenant) {
            return Err(invalid(format!("tenant not found: {tenant:?}")));
        }
        let id = body["id"].as_str().unwrap_or_default();
        let groups: Vec<usize> = id.split('-').map(str::len).collect();
        let is_hex = id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
        if groups != [8, 4, 4, 4, 12] || !is_hex {
            return Err(invalid(format!("id in body must be of type uuid: {id:?}")));
        }
        let properties = body["properties"].as_object().cloned().unwrap_or_default();
        let mut tokens = BTreeMap::new();
        for (name, value) in &properties {
            let mut of_class = known["properties"].as_array().into_iter().flatten();
            let property = of_class.find(|one| one["name"] == json!(name));
            let kind = property.and_then(|one| one["dataType"][0].as_str());
            let is_fine = match kind {
                Some("text") => value.is_string(),
                Some("number" | "int") => value.is_number(),
                _ => true,
            };
            if !is_fine {
                return Err(invalid(format!("invalid {kind:?} property {name:?}")));
            }
            if let Some((definition, text)) = property.zip(value.as_str())
                && definition["indexSearchable"] != json!(false)
            {
                let counts: &mut BTreeMap<u64, u32> = tokens.entry(name.clone()).or_default();
                each_token(definition, text, |token| {
                    *counts.entry(hash(token)).or_default() += 1;
                });
            }
        }
        let vector = body["vector"].as_array().into_iter().flatten();
        let vector = vector.map(|value| value.as_f64().unwrap_or_default() as f32);
        let object = WeaviateObject {
            properties,
            tokens,
            vector: vector.collect(),
        };
        let place = place(class, tenant);
        let others = self.records.peek().get(&place).into_iter().flatten();
        let other = others
            .map(|(_, other)| other.vector.len())
            .find(|length| *length > 0);
        if other.is_some_and(|length| ![0, length].contains(&object.vector.len())) {
            return Err(invalid("new node has a vector with another length"));
        }
        Ok((place, id.to_lowercase(), object))
    }

    fn create_object(&mut self, body: &Value) -> Result<Value, WeaviateError> {
        let mut body = body.clone();
        if body["id"].is_null() {
            body["id"] = json!("00000000-0000-4000-8000-000000000000");
        }
        let (place, id, object) = self.object(&body)?;
        let known = self.records.peek().get(&place);
        if known.is_some_and(|known| known.contains_key(&id)) {
            return Err(invalid(format!("id '{id}' already exists")));
        }
        self.records
            .write(RecordWrite::Put(place, vec![(id, object)]));
        Ok(body)
    }

    fn batch(&mut self, request: &ApiRequest, body: &Value) -> Result<Value, WeaviateError> {
        let objects = body["objects"]
            .as_array()
            .filter(|objects| !objects.is_empty());
        let objects = objects
            .ok_or_else(|| invalid("empty list of objects"))?
            .clone();
        let mut answers = Vec::new();
        for (at, sent) in objects.into_iter().enumerate() {
            let mut answer = sent.clone();
            let checked = match request.is_partial && at % 2 == 1 {
                true => Err(invalid("emulated fault")),
                false => self.object(&sent),
            };
            answer["result"] = match checked {
                Ok((place, id, object)) => {
                    self.records
                        .write(RecordWrite::Put(place, vec![(id, object)]));
                    json!({ "status": "SUCCESS" })
                }
                Err(WeaviateError(_, message)) => {
                    json!({ "status": "FAILED", "errors": { "error": [{ "message": message }] } })
                }
            };
            answers.push(answer);
        }
        Ok(Value::Array(answers))
    }

    fn delete_batch(&mut self, request: &ApiRequest, body: &Value) -> Result<Value, WeaviateError> {
        let class = body["match"]["class"].as_str().unwrap_or_default();
        let tenant = request.parameter("tenant").unwrap_or_default();
        let has_tenants = self
            .classes
            .get(class)
            .map(|class| class["multiTenancyConfig"]["enabled"] == json!(true));
        match has_tenants {
            None => return Err(invalid(format!("class {class:?} not found"))),
            Some(true) if !self.has_tenant(class, tenant) => {
                return Err(invalid(format!("tenant not found: {tenant:?}")));
            }
            Some(_) => {}
        }
        let place = place(class, tenant);
        let schema = self.classes.get(class).cloned().unwrap_or_default();
        let filter = ObjectFilter::new(&schema, &body["match"]["where"]).map_err(invalid)?;
        let objects = self.records.peek().get(&place).into_iter().flatten();
        let found = objects.filter(|(_, object)| filter.passes(&object.properties));
        let mut found: Vec<String> = found.map(|(id, _)| id.clone()).collect();
        let matches = found.len();
        found.truncate(MAX_RESULTS);
        let successful = found.len();
        self.records.write(RecordWrite::Delete(place, found));
        Ok(json!({
            "match": body["match"],
            "output": body["output"],
            "dryRun": false,
            "results": {
                "matches": matches, "limit": MAX_RESULTS, "successful": successful, "failed": 0,
            },
        }))
    }

    fn one_object(
        &mut self,
        request: &ApiRequest,
        class: &str,
        id: &str,
    ) -> Result<(u16, Option<Value>), WeaviateError> {
        let tenant = request.parameter("tenant").unwrap_or_default();
        let place = place(class, tenant);
        let found = self
            .records
            .read()
            .get(&place)
            .and_then(|known| known.get(id));
        let Some(found) = found.cloned() else {
            return Ok((404, None));
        };
        match request.method {
            Method::HEAD => Ok((204, None)),
            Method::DELETE => {
                let gone = vec![id.to_owned()];
                self.records.write(RecordWrite::Delete(place, gone));
                Ok((204, None))
            }
            _ => {
                let mut body = json!({
                    "class": class, "id": id, "properties": found.properties,
                    "creationTimeUnix": 0, "lastUpdateTimeUnix": 0,
                });
                if !tenant.is_empty() {
                    body["tenant"] = json!(tenant);
                }
                if request.parameter("include") == Some("vector") {
                    body["vector"] = json!(found.vector);
                }
                Ok((200, Some(body)))
            }
        }
    }

    fn graphql(&mut self, body: &Value) -> Value {
        let query = body["query"].as_str().unwrap_or_default();
        match graphql::parse(query).and_then(|fields| self.queried(&fields)) {
            Ok(data) => json!({ "data": data }),
            Err(message) => json!({ "data": null, "errors": [{ "message": message }] }),
        }
    }

    fn queried(&mut self, fields: &[QueryField]) -> Result<Value, String> {
        let mut data = Map::new();
        for field in fields {
            let mut of_classes = Map::new();
            for class in &field.fields {
                let found = match field.name.as_str() {
                    "Get" => self.get(class)?,
                    "Aggregate" => self.aggregate(class)?,
                    other => return Err(format!("Cannot query field {other:?}")),
                };
                of_classes.insert(class.name.clone(), found);
            }
            data.insert(field.name.clone(), Value::Object(of_classes));
        }
        Ok(Value::Object(data))
    }

    /// Returns the objects of a query's class and tenant, and the class.
    fn queried_objects(
        &mut self,
        query: &QueryField,
    ) -> Result<(Vec<FoundObject<'_>>, Value), String> {
        let class = self.classes.get(&query.name).cloned();
        let class = class.ok_or_else(|| format!("Cannot query field {:?}", query.name))?;
        let tenant = query.arguments.get("tenant").and_then(Value::as_str);
        let tenant = tenant.unwrap_or_default();
        let has_tenants = class["multiTenancyConfig"]["enabled"] == json!(true);
        if has_tenants && !self.has_tenant(&query.name, tenant) {
            return Err(format!("explorer: tenant not found: {tenant:?}"));
        }
        let filter = query.arguments.get("where").unwrap_or(&Value::Null);
        let filter = ObjectFilter::new(&class, filter)?;
        let objects = self.records.read().get(&place(&query.name, tenant));
        let objects = objects.into_iter().flatten();
        let found = objects.filter(|(_, object)| filter.passes(&object.properties));
        Ok((found.collect(), class))
    }

    fn aggregate(&mut self, query: &QueryField) -> Result<Value, String> {
        let (objects, _) = self.queried_objects(query)?;
        Ok(json!([{ "meta": { "count": objects.len() } }]))
    }

    fn get(&mut self, query: &QueryField) -> Result<Value, String> {
        const ARGUMENTS: [&str; 6] = [
            "tenant",
            "limit",
            "where",
            "nearVector",
            "bm25",
            "consistencyLevel",
        ];
        let unknown = query
            .arguments
            .keys()
            .find(|name| !ARGUMENTS.contains(&name.as_str()));
        if let Some(unknown) = unknown {
            return Err(format!("Unknown argument {unknown:?}"));
        }
        let (objects, class) = self.queried_objects(query)?;
        let limit = query
            .arguments
            .get("limit")
            .and_then(Value::as_u64)
            .unwrap_or(100);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if limit > MAX_RESULTS {
            return Err("query maximum results exceeded".to_owned());
        }
        let near = query.arguments.get("nearVector");
        let words = query.arguments.get("bm25");
        let mut scored: Vec<(f64, FoundObject<'_>)> = match (near, words) {
            (None, None) => objects.into_iter().map(|found| (0.0, found)).collect(),
            (Some(near), None) => by_vector(&near["vector"], objects)?,
            (None, Some(words)) => by_words(&class, words, objects)?,
            (Some(_), Some(_)) => return Err("only one search is allowed".to_owned()),
        };
        scored.sort_by(|(one, (id, _)), (other, (other_id, _))| {
            other.total_cmp(one).then_with(|| id.cmp(other_id))
        });
        scored.truncate(limit);
        let shown = scored.into_iter().map(|(_, (id, object))| {
            let mut shown = Map::new();
            for field in &query.fields {
                let value = match field.name.as_str() {
                    "_additional" => json!({ "id": id }),
                    name => object.properties.get(name).cloned().unwrap_or_default(),
                };
                shown.insert(field.name.clone(), value);
            }
            Value::Object(shown)
        });
        Ok(Value::Array(shown.collect()))
    }
}

/// Returns what a server adds to the definition of a class, as far as clients rely on it.
fn defaults() -> Value {
    json!({
        "description": "",
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "properties": [],
        "moduleConfig": {},
        "invertedIndexConfig": {
            "bm25": { "b": 0.75, "k1": 1.2 },
            "cleanupIntervalSeconds": 60,
            "stopwords": { "preset": "en", "additions": null, "removals": null },
        },
        "multiTenancyConfig": {
            "enabled": false, "autoTenantActivation": false, "autoTenantCreation": false,
        },
        "replicationConfig": {
            "factor": 1, "asyncEnabled": false, "deletionStrategy": "TimeBasedResolution",
        },
        "shardingConfig": {},
        "vectorIndexConfig": {
            "skip": false, "cleanupIntervalSeconds": 300, "maxConnections": 32,
            "efConstruction": 128, "ef": -1, "dynamicEfMin": 100, "dynamicEfMax": 500,
            "dynamicEfFactor": 8, "vectorCacheMaxObjects": 1_000_000_000_000_u64,
            "flatSearchCutoff": 40_000, "distance": "cosine", "filterStrategy": "sweeping",
            "pq": { "enabled": false }, "bq": { "enabled": false }, "sq": { "enabled": false },
            "rq": { "enabled": false },
        },
    })
}

/// Adds what is missing.
fn fill(value: &mut Value, defaults: &Value) {
    match (value, defaults) {
        (Value::Object(value), Value::Object(defaults)) => {
            for (name, default) in defaults {
                fill(value.entry(name).or_insert(Value::Null), default);
            }
        }
        (value @ Value::Null, default) => *value = default.clone(),
        _ => {}
    }
}

fn tenant(name: &str) -> Value {
    json!({ "name": name, "activityStatus": "ACTIVE" })
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the objects with a vector, scored by its angle to another.
fn by_vector<'a>(
    vector: &Value,
    objects: Vec<FoundObject<'a>>,
) -> Result<Vec<(f64, FoundObject<'a>)>, String> {
    let vector = vector.as_array().ok_or("nearVector needs a vector")?;
    let vector = vector
        .iter()
        .map(|value| value.as_f64().unwrap_or_default() as f32);
    let vector: Vec<f32> = vector.collect();
    let mut scored = Vec::new();
    for (id, object) in objects {
        if object.vector.is_empty() {
            continue;
        }
        if object.vector.len() != vector.len() {
            return Err("vector lengths don't match".to_owned());
        }
        let lengths = product(&vector, &vector) * product(&object.vector, &object.vector);
        let score = product(&vector, &object.vector) / lengths.sqrt().max(f64::MIN_POSITIVE);
        scored.push((score, (id, object)));
    }
    Ok(scored)
}

/// Returns the objects that have one of some words, scored by BM25.
fn by_words<'a>(
    class: &Value,
    search: &Value,
    objects: Vec<FoundObject<'a>>,
) -> Result<Vec<(f64, FoundObject<'a>)>, String> {
    let query = search["query"].as_str().ok_or("bm25 needs a query")?;
    let properties = strings(&search["properties"]);
    let [property] = properties.as_slice() else {
        return Err("bm25 is emulated for one property".to_owned());
    };
    let definition = definition(class, property);
    if definition["indexSearchable"] == json!(false) {
        return Err(format!("property {property:?} is not indexed for bm25"));
    }
    let k1 = class["invertedIndexConfig"]["bm25"]["k1"]
        .as_f64()
        .unwrap_or(1.2);
    let mut wanted = BTreeSet::new();
    each_token(definition, query, |word| {
        wanted.insert(hash(word));
    });
    let wanted: Vec<u64> = wanted.into_iter().collect();
    let numbers = objects.iter().map(|(_, object)| {
        let tokens = object.tokens.get(property);
        let number = |word| tokens.and_then(|tokens| tokens.get(word).copied());
        let numbers = wanted.iter().map(|word| number(word).unwrap_or_default());
        numbers.collect()
    });
    let numbers: Vec<Vec<u32>> = numbers.collect();
    let count = objects.len() as f64;
    let mut scores = vec![0.0; objects.len()];
    for at in 0..wanted.len() {
        let having = numbers.iter().filter(|numbers| numbers[at] > 0).count() as f64;
        let rarity = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
        for (score, numbers) in scores.iter_mut().zip(&numbers) {
            let number = f64::from(numbers[at]);
            *score += rarity * number * (k1 + 1.0) / (number + k1);
        }
    }
    let scored = scores.into_iter().zip(objects);
    Ok(scored.filter(|(score, _)| *score > 0.0).collect())
}

/// Returns the definition of a property.
fn definition<'c>(class: &'c Value, name: &str) -> &'c Value {
    let mut properties = class["properties"].as_array().into_iter().flatten();
    let found = properties.find(|property| property["name"].as_str() == Some(name));
    found.unwrap_or(&Value::Null)
}

fn hash(token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    token.hash(&mut hasher);
    hasher.finish()
}

/// Calls `each` for every token of a text.
fn each_token(definition: &Value, text: &str, mut each: impl FnMut(&str)) {
    match definition["tokenization"].as_str() {
        Some("field") => each(text.trim()),
        Some("whitespace") => text.split_whitespace().for_each(each),
        _ => {
            let words = text.split(|c: char| !c.is_alphanumeric());
            let words = words.filter(|word| !word.is_empty());
            words.for_each(|word| each(&word.to_lowercase()));
        }
    }
}
