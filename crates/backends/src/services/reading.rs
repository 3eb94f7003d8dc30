//! Searching: one generation of a collection is read, whatever is written meanwhile.
//!
//! A reader takes the newest manifest and whatever belongs to it. Records of its generation can be deleted under it, by a
//! writer that has committed a later one: where something is missing, it looks for a newer manifest and starts over.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::future::try_join_all;
use sectile_library::{
    BackendState, IndexedNotebook, LocatedChunk, LocatedHit, LocatedHits, StorageError,
    VectorQuery, tiers::Tier,
};
use sectile_retrieval::{
    Candidate, Clue, Lookup, MOST_CORRECTED, MeaningWeight, Query, Statistics, Vector, Vocabulary,
    search_candidates,
};

use super::{
    ServiceIndex,
    cache::Snapshot,
    dictionary::{Stemmer, TermShard, shard},
    failure::ServiceFailure,
    records::{
        self, ChunkBody, FORMAT, HEAD, Manifest, NotebookRow, StoredChunk, manifest_id,
        parse_chunk_id, part_id, unit,
    },
    service::{QueryKeys, ServiceQuery, VectorService, WordKey},
    writing::MANIFESTS_KEPT,
};
use crate::postgres::terms;

/// The manifests that are looked for from the one that is known.
const MANIFESTS_AHEAD: u32 = 8;
/// The number of times that a read starts over.
const ATTEMPTS: usize = 5;
/// The pause before it does.
const PAUSE: Duration = Duration::from_millis(150);
/// The requests of one read that are under way at the same time.
const AT_ONCE: usize = 4;
/// The most chunks returned for one prefix of a digest.
const SAME_DIGITS: usize = 16;

/// Chunks with their ids.
type FoundChunks = Vec<(String, Arc<StoredChunk>)>;

impl<S: VectorService> ServiceIndex<S> {
    /// Returns the bodies of those of these records that can be seen whole.
    pub(super) async fn bodies(
        &self,
        tenant: &str,
        ids: &[String],
    ) -> Result<HashMap<String, String>, ServiceFailure> {
        let mut found = self.fetched(tenant, ids).await?;
        let mut further = Vec::new();
        for (id, body) in &found {
            let (parts, _) = records::parts_of(body)?;
            further.extend((1..=parts).map(|part| part_id(id, part)));
        }
        if further.is_empty() {
            return Ok(found);
        }
        let parts = self.fetched(tenant, &further).await?;
        let mut whole = HashMap::with_capacity(found.len());
        for (id, body) in found.drain() {
            let (count, beginning) = records::parts_of(&body)?;
            let rest = (1..=count).map(|part| parts.get(&part_id(&id, part)));
            let rest: Option<Vec<&String>> = rest.collect();
            if let Some(rest) = rest {
                let rest = rest.into_iter().map(String::as_str);
                let body = std::iter::once(beginning).chain(rest).collect();
                whole.insert(id, body);
            }
        }
        Ok(whole)
    }

    async fn fetched(
        &self,
        tenant: &str,
        ids: &[String],
    ) -> Result<HashMap<String, String>, ServiceFailure> {
        let mut found = HashMap::with_capacity(ids.len());
        let batches: Vec<&[String]> = ids.chunks(self.service.limits().ids.max(1)).collect();
        for some in batches.chunks(AT_ONCE) {
            let asked = some.iter().map(|ids| self.service.fetch(tenant, ids));
            for records in try_join_all(asked).await? {
                found.extend(records);
            }
        }
        // A record that was not asked for is not used.
        let asked: HashSet<&String> = ids.iter().collect();
        found.retain(|id, _| asked.contains(id));
        Ok(found)
    }

    /// Returns the newest manifest of a collection, whatever its rules; `None` if there is no such collection.
    pub(super) async fn manifest(
        &self,
        collection: &str,
    ) -> Result<Option<Manifest>, ServiceFailure> {
        let tenant = self.tenant(collection);
        let known = self.snapshots.get(&tenant);
        let mut from = known.map(|known| known.manifest.version.generation);
        loop {
            let mut ids = vec![HEAD.to_owned()];
            if let Some(from) = from {
                let ahead = from..from.saturating_add(MANIFESTS_AHEAD);
                ids.extend(ahead.map(manifest_id));
            }
            let mut found = self.bodies(&tenant, &ids).await?;
            let Some(head) = found.remove(HEAD) else {
                return Ok(None);
            };
            let newest = ids.iter().rev().find_map(|id| found.remove(id));
            if let Some(body) = newest {
                return self.checked(collection, &body).map(Some);
            }
            let head: u32 = records::decode(&head)?;
            if from == Some(head) {
                return Err(self.unsettled());
            }
            from = Some(head);
        }
    }

    fn checked(&self, collection: &str, body: &str) -> Result<Manifest, ServiceFailure> {
        let manifest: Manifest = records::decode(body)?;
        match manifest.format == FORMAT && manifest.collection == collection {
            true => Ok(manifest),
            false => Err(records::damaged().into()),
        }
    }

    /// The failure for records that have been written and cannot be seen.
    pub(super) fn unsettled(&self) -> ServiceFailure {
        let title = self.service.title();
        let message = format!(
            "{title} does not show all records of this collection's index yet. Try again in a moment; if that does not help, remove the collection from the index and index it again."
        );
        StorageError::failed(message).into()
    }

    /// Refuses an index that was made by other rules.
    pub(super) fn require_rules(&self, manifest: &Manifest) -> Result<(), ServiceFailure> {
        if manifest.rules == self.rules {
            return Ok(());
        }
        let title = self.service.title();
        let message = format!(
            "The index in {title} was built with another model or other rules. Run `sectile notebook index` to rebuild it."
        );
        Err(StorageError::OtherRules { message }.into())
    }

    /// Returns the newest generation of a collection, with its list of notebooks.
    pub(super) async fn snapshot(&self, collection: &str) -> Result<Arc<Snapshot>, ServiceFailure> {
        let manifest = self.manifest(collection).await?;
        let manifest = manifest.ok_or(StorageError::CollectionNotFound)?;
        self.require_rules(&manifest)?;
        self.snapshot_of(manifest)
            .await?
            .ok_or_else(|| self.unsettled())
    }

    /// Returns the generation of a manifest; `None` if not all of it can be seen.
    pub(super) async fn snapshot_of(
        &self,
        manifest: Manifest,
    ) -> Result<Option<Arc<Snapshot>>, ServiceFailure> {
        let tenant = self.tenant(&manifest.collection);
        let known = self.snapshots.get(&tenant);
        if let Some(known) = &known
            && known.manifest == manifest
        {
            return Ok(Some(Arc::clone(known)));
        }
        let ids = manifest.notebook_ids()?;
        let mut kept: HashMap<&str, &Arc<Vec<NotebookRow>>> = HashMap::new();
        if let Some(known) = &known {
            kept.extend(known.notebooks.iter().map(|(id, rows)| (id.as_str(), rows)));
        }
        let missing = ids.iter().filter(|id| !kept.contains_key(id.as_str()));
        let missing: Vec<String> = missing.cloned().collect();
        let bodies = self.bodies(&tenant, &missing).await?;
        let mut notebooks = Vec::with_capacity(ids.len());
        for id in ids {
            let rows = match (kept.get(id.as_str()), bodies.get(&id)) {
                (Some(rows), _) => Arc::clone(rows),
                (None, Some(body)) => Arc::new(records::decode(body)?),
                (None, None) => return Ok(None),
            };
            notebooks.push((id, rows));
        }
        let term_ids = manifest.term_ids()?;
        let mut terms = HashMap::new();
        if let Some(known) = &known {
            let known = known.terms.lock();
            let same = term_ids.iter().filter_map(|id| known.get_key_value(id));
            terms.extend(same.map(|(id, shard)| (id.clone(), Arc::clone(shard))));
        }
        let snapshot = Arc::new(Snapshot::new(manifest, notebooks, terms));
        self.snapshots.keep(&tenant, &snapshot);
        Ok(Some(snapshot))
    }

    /// Returns some shards of the word counts, by their numbers.
    pub(super) async fn term_shards(
        &self,
        snapshot: &Snapshot,
        shards: impl Iterator<Item = usize>,
    ) -> Result<HashMap<usize, Arc<TermShard>>, ServiceFailure> {
        let ids = snapshot.manifest.term_ids()?;
        let mut wanted: Vec<usize> = shards.filter(|shard| *shard < ids.len()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let missing: Vec<String> = {
            let known = snapshot.terms.lock();
            let missing = wanted.iter().filter(|at| !known.contains_key(&ids[**at]));
            missing.map(|at| ids[*at].clone()).collect()
        };
        let tenant = self.tenant(&snapshot.manifest.collection);
        let bodies = self.bodies(&tenant, &missing).await?;
        let mut known = snapshot.terms.lock();
        for (id, body) in bodies {
            known.insert(id, Arc::new(records::decode(&body)?));
        }
        let found = wanted.into_iter().map(|at| {
            let shard = known.get(&ids[at]).ok_or_else(|| self.unsettled())?;
            Ok((at, Arc::clone(shard)))
        });
        found.collect()
    }

    /// Returns the state of a collection.
    pub(super) fn state_of(&self, manifest: &Manifest, unseen: u64) -> BackendState {
        BackendState {
            as_of: manifest.as_of,
            notebooks: manifest.notebooks,
            chunks: manifest.chunks,
            is_exact: manifest.chunks <= self.candidates as u64,
            unseen,
            tier: Tier::Static,
            model: self.model.name(),
        }
    }

    pub(super) async fn read_state(
        &self,
        collection: &str,
    ) -> Result<BackendState, ServiceFailure> {
        let manifest = self.manifest(collection).await?;
        let manifest = manifest.ok_or(StorageError::CollectionNotFound)?;
        self.require_rules(&manifest)?;
        Ok(self.state_of(&manifest, 0))
    }

    pub(super) async fn read_entries(
        &self,
        collection: &str,
    ) -> Result<Vec<IndexedNotebook>, ServiceFailure> {
        let snapshot = self
            .patiently(async || self.snapshot(collection).await)
            .await?;
        let rows = snapshot.rows().into_iter().map(NotebookRow::indexed);
        let mut entries = rows.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|one, other| one.notebook.cmp(&other.notebook));
        Ok(entries)
    }

    /// Tries again while not everything can be seen.
    async fn patiently<T>(
        &self,
        read: impl AsyncFn() -> Result<T, ServiceFailure>,
    ) -> Result<T, ServiceFailure> {
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            match read().await {
                Err(failure) if left > 0 && failure == self.unsettled() => {
                    tokio::time::sleep(PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    pub(super) async fn read_chunks_with(
        &self,
        collection: &str,
        digits: &str,
    ) -> Result<Vec<LocatedChunk>, ServiceFailure> {
        let snapshot = self
            .patiently(async || self.snapshot(collection).await)
            .await?;
        let Some((first, last)) = records::digest_range(digits) else {
            return Ok(Vec::new());
        };
        let (found, _) = self
            .found(&snapshot, QueryKeys::Digest(first, last), SAME_DIGITS)
            .await?;
        let (mut chunks, _) = self.stored(&snapshot, &found).await?;
        chunks.retain(|(_, chunk)| chunk.digest.to_string().starts_with(digits));
        sort(&mut chunks);
        let located = chunks.into_iter().map(|(_, chunk)| chunk.located.clone());
        Ok(located.collect())
    }

    /// Returns the ids of chunks of this generation that a service finds, at most `most`, and whether there may be more.
    async fn found(
        &self,
        snapshot: &Snapshot,
        by: QueryKeys<'_>,
        most: usize,
    ) -> Result<(Vec<String>, bool), ServiceFailure> {
        let tenant = self.tenant(&snapshot.manifest.collection);
        let limit = self.service.limits().hits;
        let mut asked = most.clamp(1, limit);
        loop {
            let query = ServiceQuery {
                born: snapshot.manifest.base..=snapshot.manifest.version.generation,
                by,
                most: asked,
            };
            let ids = self.service.nearest(&tenant, &query).await?;
            let is_full = ids.len() >= asked;
            let mut current = ids;
            current.retain(|id| {
                let parsed = parse_chunk_id(id);
                parsed.is_some_and(|(version, place, number)| snapshot.has(version, place, number))
            });
            // Outdated chunks took the places of others.
            if current.len() >= most || !is_full || asked >= limit {
                current.truncate(most);
                return Ok((current, is_full));
            }
            asked = (asked * 2).min(limit);
        }
    }

    /// Returns chunks by their ids, and the number of those that cannot be seen.
    pub(super) async fn stored(
        &self,
        snapshot: &Snapshot,
        ids: &[String],
    ) -> Result<(FoundChunks, u64), ServiceFailure> {
        let tenant = self.tenant(&snapshot.manifest.collection);
        let mut found = Vec::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids {
            match self.chunks.get(&tenant, id) {
                Some(chunk) => found.push((id.clone(), chunk)),
                None => missing.push(id.clone()),
            }
        }
        let bodies = self.bodies(&tenant, &missing).await?;
        for id in missing {
            let Some(body) = bodies.get(&id) else {
                continue;
            };
            let chunk = Arc::new(records::decode::<ChunkBody>(body)?.stored()?);
            self.chunks.keep(&tenant, &id, &chunk);
            found.push((id, chunk));
        }
        let unseen = ids.len() - found.len();
        Ok((found, unseen as u64))
    }

    /// Returns the best chunks for a query.
    pub(super) async fn read_hits(
        &self,
        question: &VectorQuery<'_>,
    ) -> Result<LocatedHits, ServiceFailure> {
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            let once = self.hits_once(question).await;
            let is_torn = match &once {
                Ok((hits, is_current)) => !is_current || hits.state.unseen > 0,
                Err(failure) => *failure == self.unsettled(),
            };
            match once {
                _ if is_torn && left > 0 => tokio::time::sleep(PAUSE).await,
                once => return once.map(|(hits, _)| hits),
            }
        }
    }

    /// Searches once. Also returns whether the generation that was read is still the newest one.
    async fn hits_once(
        &self,
        question: &VectorQuery<'_>,
    ) -> Result<(LocatedHits, bool), ServiceFailure> {
        let (query, collection) = (question.query.parsed(), question.collection);
        let snapshot = self.snapshot(collection).await?;
        let statistics = self.statistics(&snapshot, query).await?;
        let meaning = self.meaning(question.query.text());
        let is_complete = snapshot.manifest.chunks <= self.candidates as u64;
        let (mut chunks, mut unseen) = match is_complete {
            true => {
                let rows = snapshot.rows();
                let ids = rows.iter().flat_map(|row| row.chunk_ids());
                let ids: Vec<String> = ids.collect();
                self.stored(&snapshot, &ids).await?
            }
            false => {
                let vector = meaning.as_ref().map(|(vector, _)| vector.as_slice());
                self.candidates(&snapshot, query, vector, &statistics)
                    .await?
            }
        };
        sort(&mut chunks);
        let is_current = async {
            if unseen == 0 && is_complete {
                return Ok(true);
            }
            let newest = self.manifest(collection).await?;
            Ok(newest.is_some_and(|newest| newest.version == snapshot.manifest.version))
        };
        let uncounted = async {
            match is_complete {
                true => Ok(0),
                false => self.unseen_by_count(&snapshot.manifest).await,
            }
        };
        let (is_current, uncounted) = tokio::try_join!(is_current, uncounted)?;
        unseen = unseen.max(uncounted);
        let vector = meaning.as_ref().map(|(vector, _)| vector.as_slice());
        let candidates: Vec<Candidate> = chunks
            .iter()
            .map(|(_, chunk)| chunk.candidate(vector))
            .collect();
        let meaning = meaning
            .as_ref()
            .map(|(vector, weight)| (vector.as_slice(), *weight));
        let found = search_candidates(&candidates, &statistics, query, meaning, question.most);
        let hits = found.hits.into_iter().filter_map(|hit| {
            let (_, chunk) = chunks.get(hit.chunk)?;
            Some(LocatedHit {
                located: chunk.located.clone(),
                lexical: hit.lexical,
                semantic: hit.semantic,
                fused: hit.fused,
                matches: hit.matches,
            })
        });
        let hits = LocatedHits {
            hits: hits.collect(),
            total: found.total,
            has_meaning: found.has_meaning,
            remarks: found.remarks,
            state: self.state_of(&snapshot.manifest, unseen),
        };
        Ok((hits, is_current))
    }

    fn meaning(&self, text: &str) -> Option<(Vector, MeaningWeight)> {
        let vector = self.model.reader().embed(&[text])?;
        Some((vector, self.model.weight_of(text)))
    }

    /// Returns the number of records that are missing by the service's own count.
    async fn unseen_by_count(&self, manifest: &Manifest) -> Result<u64, ServiceFailure> {
        let tenant = self.tenant(&manifest.collection);
        let counted = self.service.count(&tenant).await?;
        let manifests = manifest.version.generation.min(MANIFESTS_KEPT) as usize;
        let shards = manifest.term_shards.len() + manifest.notebook_shards.len();
        // And the hint.
        let others = shards + manifests + 1;
        let chunks = counted.saturating_sub(others as u64);
        Ok(manifest.records.saturating_sub(chunks))
    }

    /// Returns candidates by meaning and by words, and the number of those that cannot be seen.
    async fn candidates(
        &self,
        snapshot: &Snapshot,
        query: &Query,
        meaning: Option<&[i8]>,
        statistics: &Statistics,
    ) -> Result<(FoundChunks, u64), ServiceFailure> {
        let words = word_keys(query, statistics);
        let vector = meaning.map(unit).unwrap_or_default();
        let near = async {
            match vector.is_empty() {
                true => Ok((Vec::new(), false)),
                false => {
                    let by = QueryKeys::Vector(&vector);
                    self.found(snapshot, by, self.candidates).await
                }
            }
        };
        let listed = async {
            match words.is_empty() {
                true => Ok((Vec::new(), false)),
                false => {
                    let by = QueryKeys::Words(&words);
                    self.found(snapshot, by, self.candidates).await
                }
            }
        };
        let (near, listed) = tokio::join!(near, listed);
        let mut ids = near?.0;
        ids.extend(listed?.0);
        ids.sort_unstable();
        ids.dedup();
        self.stored(snapshot, &ids).await
    }

    /// Returns what a query needs to know about all chunks.
    async fn statistics(
        &self,
        snapshot: &Snapshot,
        query: &Query,
    ) -> Result<Statistics, ServiceFailure> {
        let mut statistics = Statistics {
            passages: snapshot.manifest.chunks,
            words: snapshot.manifest.words,
            ..Statistics::default()
        };
        self.count(snapshot, &query.lookup(), &mut statistics)
            .await?;
        let mut unknown = statistics.unknown(query);
        unknown.truncate(MOST_CORRECTED);
        if unknown.is_empty() {
            return Ok(statistics);
        }
        let vocabulary = self.vocabulary(snapshot).await?;
        let nearest = unknown.into_iter().map(|word| {
            let nearest = vocabulary.nearest(&word);
            (word, nearest)
        });
        statistics.nearest = nearest.collect();
        let lookup = Lookup {
            terms: statistics.nearest.values().flatten().cloned().collect(),
            stems: Vec::new(),
        };
        self.count(snapshot, &lookup, &mut statistics).await?;
        Ok(statistics)
    }

    async fn count(
        &self,
        snapshot: &Snapshot,
        lookup: &Lookup,
        statistics: &mut Statistics,
    ) -> Result<(), ServiceFailure> {
        let all = snapshot.manifest.term_shards.len();
        let mut stemmer = Stemmer::default();
        let terms = lookup.terms.iter();
        let terms = terms.map(|term| (stemmer.shard_of_term(term, all), term));
        let terms: Vec<(usize, &String)> = terms.collect();
        let stems = lookup.stems.iter().map(|stem| (shard(stem, all), stem));
        let stems: Vec<(usize, &String)> = stems.collect();
        let wanted = terms.iter().chain(&stems).map(|(at, _)| *at);
        let shards = self.term_shards(snapshot, wanted).await?;
        for (at, term) in terms {
            let counts = shards.get(&at).and_then(|shard| shard.terms.get(term));
            if let Some((chunks, _)) = counts {
                statistics.terms.insert(term.clone(), *chunks);
            }
        }
        for (at, stem) in stems {
            let Some(shard) = shards.get(&at) else {
                continue;
            };
            if let Some(chunks) = shard.stems.get(stem) {
                let forms = shard.forms(stem, &mut stemmer);
                statistics.stems.insert(stem.clone(), (*chunks, forms));
            }
        }
        Ok(())
    }

    async fn vocabulary(&self, snapshot: &Snapshot) -> Result<Arc<Vocabulary>, ServiceFailure> {
        if let Some(known) = &*snapshot.vocabulary.lock() {
            return Ok(Arc::clone(known));
        }
        let all = snapshot.manifest.term_shards.len();
        let shards = self.term_shards(snapshot, 0..all).await?;
        let words = shards.values().flat_map(|shard| {
            let words = shard.terms.iter();
            words.map(|(word, (chunks, _))| (word.clone(), *chunks))
        });
        let mut words: Vec<(String, u64)> = words.collect();
        words.sort_unstable();
        let made = Arc::new(Vocabulary::new(words.into_iter()));
        *snapshot.vocabulary.lock() = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// Sorts chunks as equally good hits are.
fn sort(chunks: &mut FoundChunks) {
    chunks.sort_by(|(one, a), (other, b)| {
        let number = |id: &str| parse_chunk_id(id).map(|(.., number)| number);
        let by_path = a.located.notebook.cmp(&b.located.notebook);
        by_path.then_with(|| number(one).cmp(&number(other)))
    });
}

/// Returns the words that a service finds chunks by.
fn word_keys(query: &Query, statistics: &Statistics) -> Vec<WordKey> {
    let required = query.required();
    let mut keys: HashMap<u32, WordKey> = HashMap::new();
    for (clue, weight) in query.clues(statistics) {
        let hash = fold(terms::hash(&clue));
        let key = keys.entry(hash).or_insert(WordKey {
            hash,
            weight: 0,
            is_required: false,
        });
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        key.weight = key.weight.saturating_add(weight);
        key.is_required |= match &clue {
            Clue::Term(term) => required.contains(term),
            Clue::Stem(_) => false,
        };
    }
    let mut keys: Vec<WordKey> = keys.into_values().collect();
    keys.sort_unstable_by_key(|key| key.hash);
    keys
}

/// Shortens the hash of a word. A collision yields one candidate too many, and nothing worse.
pub(super) fn fold(hash: i64) -> u32 {
    let hash = hash.cast_unsigned();
    ((hash >> 32) ^ (hash & 0xffff_ffff)) as u32
}
