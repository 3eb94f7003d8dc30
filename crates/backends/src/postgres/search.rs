//! Searching, in one transaction with one snapshot. The database offers candidates; they are scored here.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use pgvector::HalfVector;
use sectile_library::{BackendState, LocatedChunk, LocatedHit, LocatedHits};
use sectile_retrieval::{
    Candidate, Clue, Lookup, MOST_CORRECTED, MeaningWeight, Query, Statistics, Vector, Vocabulary,
    search_candidates,
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    PostgresTuning,
    cache::CandidateCache,
    failure::PostgresFailure,
    rows::{self, CollectionRow, LOCATED, WORDS},
    schema,
    selection::{self, ClueKey, SelectedChunks},
    session::Session,
    terms::{hash, key},
};

/// The most neighbours requested from a graph; pgvector's `hnsw.ef_search` allows no more.
const MOST_OF_A_GRAPH: usize = 1_000;
/// The number of collections whose vocabulary is cached, which bounds the memory.
const VOCABULARIES: usize = 4;

const NAME: &str = "SELECT set_config('sectile.collection', $1, true)";
const HEAD: &str =
    "SELECT m.version, c.* FROM (SELECT max(version) AS version FROM sectile.migration) m
    LEFT JOIN sectile.collection c ON c.name = $1";
/// Counts of words and stems, and the words of these stems.
const COUNTS: &str = "
    SELECT 0 AS what, term, stem, chunks FROM sectile.term
        WHERE collection = (SELECT id FROM sectile.collection WHERE name = $1) AND kind = 't' AND term = ANY($2)
    UNION ALL
    SELECT 1, term, stem, chunks FROM sectile.term
        WHERE collection = (SELECT id FROM sectile.collection WHERE name = $1) AND kind = 's' AND term = ANY($3)
    UNION ALL
    SELECT 2, term, stem, chunks FROM sectile.term
        WHERE collection = (SELECT id FROM sectile.collection WHERE name = $1) AND kind = 't' AND stem = ANY($3)
    ORDER BY 1, 2";
const CUSTOM_PLAN: &str = "SET LOCAL plan_cache_mode = force_custom_plan";
const VOCABULARY: &str = "SELECT term, chunks FROM sectile.term
    WHERE collection = $1 AND kind = 't' ORDER BY term";

/// The counts of the words of a question, from the tables.
struct LookupKeys {
    terms: Vec<Vec<u8>>,
    stems: Vec<Vec<u8>>,
}

impl LookupKeys {
    fn of(lookup: &Lookup) -> Self {
        let keys = |words: &[String]| words.iter().map(|word| key(word)).collect();
        Self {
            terms: keys(&lookup.terms),
            stems: keys(&lookup.stems),
        }
    }
}

/// A read-only transaction, and the collection that it reads.
pub(super) struct ReadTransaction {
    session: Session,
    pub(super) collection: CollectionRow,
}

impl ReadTransaction {
    /// Begins a transaction and counts the words of a question in one round trip. Returns `None` if there is no such
    /// collection.
    async fn begin(
        session: Session,
        name: &str,
        rules: &PostgresTuning,
        counts: Option<&LookupKeys>,
    ) -> Result<Option<(Self, Vec<Row>)>, PostgresFailure> {
        let begun = begin(&session, name, rules, counts).await;
        let (collection, counted) = match begun {
            Ok(begun) => begun,
            Err(failure) => return Err(schema::explained(&session, failure).await),
        };
        let Some(collection) = collection else {
            session.done().await?;
            return Ok(None);
        };
        if collection.rules != rules.records {
            session.done().await?;
            return Err(PostgresFailure::other_rules());
        }
        let reading = Self {
            session,
            collection,
        };
        Ok(Some((reading, counted)))
    }

    /// Begins a transaction.
    pub(super) async fn new(
        session: Session,
        name: &str,
        rules: &PostgresTuning,
    ) -> Result<Option<Self>, PostgresFailure> {
        let begun = Self::begin(session, name, rules, None).await?;
        Ok(begun.map(|(reading, _)| reading))
    }

    /// Runs a query.
    pub(super) async fn query(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresFailure> {
        let client = self.session.client()?;
        let statement = client.prepare_cached(statement).await?;
        Ok(client.query(&statement, parameters).await?)
    }

    /// Lets the database plan the queries that follow for the values at hand: such a plan knows which partial index applies,
    /// and which words are rare.
    pub(super) async fn plan_for_values(&self) -> Result<(), PostgresFailure> {
        let client = self.session.client()?;
        Ok(client.batch_execute(CUSTOM_PLAN).await?)
    }

    /// Runs the last query of this transaction, and ends it.
    pub(super) async fn last(
        self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresFailure> {
        let client = self.session.client()?;
        let statement = client.prepare_cached(statement).await?;
        let (rows, ended) = tokio::join!(
            biased;
            client.query(&statement, parameters),
            client.batch_execute("COMMIT"),
        );
        let rows = rows?;
        ended?;
        self.session.give_back();
        Ok(rows)
    }

    /// Ends the transaction.
    pub(super) async fn done(self) -> Result<(), PostgresFailure> {
        self.session.done().await
    }
}

async fn begin(
    session: &Session,
    name: &str,
    rules: &PostgresTuning,
    counts: Option<&LookupKeys>,
) -> Result<(Option<CollectionRow>, Vec<Row>), PostgresFailure> {
    let client = session.client()?;
    let (set, head) = tokio::try_join!(client.prepare_cached(NAME), client.prepare_cached(HEAD))?;
    let count = client.prepare_cached(COUNTS).await?;
    let ef = rules.candidates.clamp(1, MOST_OF_A_GRAPH);
    // Planning takes longer than looking up a few rows.
    let begin = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {};
         SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL jit = off; SET LOCAL hnsw.ef_search = {ef}",
        rules.statement_timeout.as_millis(),
    );
    let set_parameters: [&(dyn ToSql + Sync); 1] = [&name];
    let counting = async {
        match counts {
            Some(counts) => {
                client
                    .query(&count, &[&name, &counts.terms, &counts.stems])
                    .await
            }
            None => Ok(Vec::new()),
        }
    };
    // Pipelined: sent one after the other, without waiting for answers.
    let (begun, set, head, counted) = tokio::join!(
        biased;
        client.batch_execute(&begin),
        client.execute(&set, &set_parameters),
        client.query_one(&head, &set_parameters),
        counting,
    );
    begun?;
    set?;
    let head = head?;
    schema::check(head.try_get("version")?)?;
    Ok((CollectionRow::of(&head)?, counted?))
}

/// A question to the database.
pub(super) struct SearchRequest<'a> {
    pub(super) collection: &'a str,
    pub(super) query: &'a Query,
    /// The query as it was written, which the model reads.
    pub(super) text: &'a str,
    pub(super) most: usize,
}

/// The database's part of a search.
pub(super) struct SearchResponse {
    /// The candidate chunks.
    pub(super) rows: Vec<Row>,
    /// What is known about them here, if they were selected here.
    selected: Option<SelectedChunks>,
    statistics: Statistics,
    state: BackendState,
    meaning: Option<QueryMeaning>,
}

/// The meaning of a query for the model of the tier that answers.
pub(super) struct QueryMeaning {
    pub(super) vector: Vector,
    pub(super) weight: MeaningWeight,
    /// The vectors to compare with, if they are those of the second tier.
    pub(super) second: Option<SecondTierRows>,
}

/// The rows of a collection's vectors in the second tier.
pub(super) struct SecondTierRows {
    pub(super) collection: i64,
    pub(super) model: Vec<u8>,
}

/// What earlier searches left in memory.
#[derive(Clone, Copy)]
pub(super) struct SearchCaches<'a> {
    pub(super) vocabularies: &'a Vocabularies,
    pub(super) candidates: &'a CandidateCache,
}

impl QueryMeaning {
    fn new(text: &str, collection: &CollectionRow, rules: &PostgresTuning) -> Option<Self> {
        let second = collection.answering(rules);
        let model = second.map_or(rules.first, |second| second.model);
        Some(Self {
            vector: model.reader().embed(&[text])?,
            weight: model.weight_of(text),
            second: second.map(|second| SecondTierRows {
                collection: collection.meaning,
                model: second.fingerprint.clone(),
            }),
        })
    }
}

/// Runs all queries that a search needs. Returns `None` if there is no such collection.
pub(super) async fn offered(
    session: Session,
    asked: &SearchRequest<'_>,
    rules: &PostgresTuning,
    caches: SearchCaches<'_>,
) -> Result<Option<SearchResponse>, PostgresFailure> {
    let counts = LookupKeys::of(&asked.query.lookup());
    let begun = ReadTransaction::begin(session, asked.collection, rules, Some(&counts)).await?;
    let Some((reading, counted)) = begun else {
        return Ok(None);
    };
    let collection = &reading.collection;
    let state = collection.state(rules)?;
    let meaning = QueryMeaning::new(asked.text, collection, rules);
    let mut statistics = Statistics {
        passages: state.chunks,
        words: collection.all_words()?,
        ..Statistics::default()
    };
    add_counts(&mut statistics, &counted)?;
    let mut unknown = statistics.unknown(asked.query);
    unknown.truncate(MOST_CORRECTED);
    if !unknown.is_empty() {
        let vocabulary = caches.vocabularies.of(&reading).await?;
        let nearest = unknown.into_iter().map(|word| {
            let nearest = vocabulary.nearest(&word);
            (word, nearest)
        });
        statistics.nearest = nearest.collect();
        count_nearest(&reading.session, asked.collection, &mut statistics).await?;
    }
    let clues = match collection.chunks <= most_candidates(rules) {
        true => Vec::new(),
        false => clue_keys(asked.query, &statistics),
    };
    let cache = caches.candidates;
    let selected = selection::select(&reading, &clues, meaning.as_ref(), (cache, rules)).await?;
    let rows = match &selected {
        Some(selected) => {
            reading
                .last(selection::FETCH, &[&selected.collection, &selected.ids])
                .await?
        }
        None => candidates(reading, &clues, meaning.as_ref(), rules).await?,
    };
    Ok(Some(SearchResponse {
        rows,
        selected,
        statistics,
        state,
        meaning,
    }))
}

/// Returns the best chunks, or `None` if there is no such collection.
pub(super) async fn search(
    session: Session,
    asked: &SearchRequest<'_>,
    rules: &PostgresTuning,
    caches: SearchCaches<'_>,
) -> Result<Option<LocatedHits>, PostgresFailure> {
    let offered = offered(session, asked, rules, caches).await?;
    let Some(SearchResponse {
        rows,
        selected,
        statistics,
        state,
        meaning,
    }) = offered
    else {
        return Ok(None);
    };
    let candidate = |row: &Row| match &selected {
        Some(selected) => selected.candidate(row, meaning.as_ref()),
        None => rows::candidate(row),
    };
    let candidates: Vec<Candidate> = rows.iter().map(candidate).collect::<Result<_, _>>()?;
    let meaning = meaning
        .as_ref()
        .map(|meaning| (meaning.vector.as_slice(), meaning.weight));
    let found = search_candidates(&candidates, &statistics, asked.query, meaning, asked.most);
    let located = |number: usize| -> Result<Option<LocatedChunk>, PostgresFailure> {
        rows.get(number).map(rows::located).transpose()
    };
    let mut hits = Vec::with_capacity(found.hits.len());
    for hit in found.hits {
        if let Some(located) = located(hit.chunk)? {
            hits.push(LocatedHit {
                located,
                lexical: hit.lexical,
                semantic: hit.semantic,
                fused: hit.fused,
                matches: hit.matches,
            });
        }
    }
    Ok(Some(LocatedHits {
        hits,
        total: selected
            .map_or(0, |selected| selected.total)
            .max(found.total),
        has_meaning: found.has_meaning,
        remarks: found.remarks,
        state,
    }))
}

fn add_counts(statistics: &mut Statistics, counted: &[Row]) -> Result<(), PostgresFailure> {
    // A shortened key is not text, and no word of a question is that long.
    let text = |row: &Row, column: &str| -> Result<Option<String>, PostgresFailure> {
        let bytes: Option<&[u8]> = row.try_get(column)?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
    };
    for row in counted {
        let Some(term) = text(row, "term")? else {
            continue;
        };
        let chunks = u64::try_from(row.try_get::<_, i64>("chunks")?).unwrap_or_default();
        match row.try_get::<_, i32>("what")? {
            0 => {
                statistics.terms.insert(term, chunks);
            }
            1 => {
                statistics.stems.insert(term, (chunks, Vec::new()));
            }
            _ => {
                if let Some(stem) = text(row, "stem")?
                    && let Some((_, forms)) = statistics.stems.get_mut(&stem)
                {
                    forms.push(term);
                }
            }
        }
    }
    Ok(())
}

async fn count_nearest(
    session: &Session,
    collection: &str,
    statistics: &mut Statistics,
) -> Result<(), PostgresFailure> {
    let lookup = Lookup {
        terms: statistics.nearest.values().flatten().cloned().collect(),
        stems: Vec::new(),
    };
    let counts = LookupKeys::of(&lookup);
    let client = session.client()?;
    let statement = client.prepare_cached(COUNTS).await?;
    let rows = client
        .query(&statement, &[&collection, &counts.terms, &counts.stems])
        .await?;
    add_counts(statistics, &rows)
}

/// Returns the clues of a query by the hash of their list.
fn clue_keys(query: &Query, statistics: &Statistics) -> Vec<ClueKey> {
    let required = query.required();
    let is_required = |clue: &Clue| match clue {
        Clue::Term(term) => required.contains(term),
        Clue::Stem(_) => false,
    };
    let mut keys: HashMap<i64, ClueKey> = HashMap::new();
    for (clue, weight) in query.clues(statistics) {
        let hash = hash(&clue);
        let known = keys.entry(hash).or_insert(ClueKey {
            hash,
            ..ClueKey::default()
        });
        let weight = i32::try_from(weight).unwrap_or(i32::MAX);
        known.weight = known.weight.saturating_add(weight);
        known.is_required |= is_required(&clue);
    }
    let mut keys: Vec<ClueKey> = keys.into_values().collect();
    keys.sort_unstable_by_key(|key| key.hash);
    keys
}

fn most_candidates(rules: &PostgresTuning) -> i64 {
    i64::try_from(rules.candidates).unwrap_or(i64::MAX)
}

/// Returns the candidate chunks that the database selects, in the order of equally good hits.
async fn candidates(
    reading: ReadTransaction,
    clues: &[ClueKey],
    meaning: Option<&QueryMeaning>,
    rules: &PostgresTuning,
) -> Result<Vec<Row>, PostgresFailure> {
    let most = most_candidates(rules);
    let collection = reading.collection.id;
    let is_complete = reading.collection.chunks <= most;
    let hashes: Vec<i64> = clues.iter().map(|clue| clue.hash).collect();
    let weights: Vec<i32> = clues.iter().map(|clue| clue.weight).collect();
    let musts: Vec<i32> = clues
        .iter()
        .map(|clue| i32::from(clue.is_required))
        .collect();
    let vector = meaning.map(|meaning| half(&meaning.vector));
    let second = meaning.and_then(|meaning| meaning.second.as_ref());
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&collection];
    if !is_complete {
        parameters.push(&most);
    }
    let has_words = !hashes.is_empty();
    if has_words {
        parameters.extend([&hashes as &(dyn ToSql + Sync), &weights, &musts]);
    }
    if let Some(vector) = &vector {
        parameters.push(vector);
    }
    if let Some(second) = second {
        parameters.extend([&second.collection as &(dyn ToSql + Sync), &second.model]);
    }
    if !is_complete && !has_words && vector.is_none() {
        reading.done().await?;
        return Ok(Vec::new());
    }
    let vectors = match (&vector, second) {
        (None, _) => CandidateVectors::None,
        (Some(_), None) => CandidateVectors::First,
        (Some(_), Some(_)) => CandidateVectors::Second,
    };
    let has_tombstones = reading.collection.tombstones > 0;
    let statement = statement(is_complete, (has_words, has_tombstones), vectors);
    reading.plan_for_values().await?;
    reading.last(&statement, &parameters).await
}

/// The vectors that a query is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateVectors {
    /// None: only words count.
    None,
    /// Those of the first tier, which are in the rows of the chunks.
    First,
    /// Those of the second tier, by the text of a chunk.
    Second,
}

/// Returns the statement that selects the candidates.
fn statement(
    is_complete: bool,
    (has_words, has_tombstones): (bool, bool),
    vectors: CandidateVectors,
) -> String {
    let before = if is_complete { 1 } else { 2 };
    let vector = before + if has_words { 3 } else { 0 } + 1;
    let (meaning, model) = (vector + 1, vector + 2);
    let has_meaning = vectors != CandidateVectors::None;
    let (product, square) = match vectors {
        CandidateVectors::None => ("0::float8".to_owned(), "0"),
        CandidateVectors::First => (format!("-(c.vector <#> ${vector})"), "c.square"),
        CandidateVectors::Second => (format!("-(m.vector <#> ${vector})"), "m.square"),
    };
    let join = match vectors {
        CandidateVectors::None | CandidateVectors::First => String::new(),
        CandidateVectors::Second => format!(
            "JOIN sectile.meaning m ON m.collection = ${meaning} AND m.model = ${model} AND m.key = c.key"
        ),
    };
    let living = match has_tombstones {
        true => {
            "WHERE NOT EXISTS (SELECT FROM sectile.tombstone t WHERE t.collection = $1 AND t.chunk = listed.chunk)"
        }
        false => "",
    };
    // Sums of `int4` are fast; those of `bigint` would be `numeric`, added digit by digit.
    let words = format!(
        "words AS (
            SELECT listed.chunk, sum(listed.must) AS musts, sum(listed.score) AS score
            FROM (
                SELECT unnest(p.chunks) AS chunk, k.must, unnest(p.weights) * k.weight AS score
                FROM unnest($3::int8[], $4::int4[], $5::int4[]) AS k (hash, weight, must)
                JOIN sectile.posting p ON p.collection = $1 AND p.hash = k.hash
            ) listed
            {living}
            GROUP BY listed.chunk
            ORDER BY musts DESC, score DESC
            FETCH FIRST $2 ROWS WITH TIES
        ), best AS (
            SELECT c.id FROM words JOIN sectile.chunk c ON c.collection = $1 AND c.id = words.chunk
            ORDER BY words.musts DESC, words.score DESC, c.path, c.number
            LIMIT $2
        )"
    );
    let near = match vectors {
        CandidateVectors::None | CandidateVectors::First => format!(
            "near AS MATERIALIZED (
                SELECT id FROM sectile.chunk WHERE collection = $1 AND square > 0
                ORDER BY vector <=> ${vector} LIMIT $2
            )"
        ),
        CandidateVectors::Second => format!(
            "nearest AS MATERIALIZED (
                SELECT key FROM sectile.meaning WHERE collection = ${meaning} AND model = ${model} AND square > 0
                ORDER BY vector <=> ${vector} LIMIT $2
            ), near AS (
                SELECT c.id FROM nearest JOIN sectile.chunk c ON c.collection = $1 AND c.key = nearest.key
            )"
        ),
    };
    let (with, of) = match (is_complete, has_words, has_meaning) {
        (true, ..) | (_, false, false) => (String::new(), String::new()),
        (_, true, true) => (
            format!("WITH {words}, {near}"),
            "AND c.id IN (SELECT id FROM best UNION SELECT id FROM near)".to_owned(),
        ),
        (_, true, false) => (
            format!("WITH {words}"),
            "AND c.id IN (SELECT id FROM best)".to_owned(),
        ),
        (_, false, true) => (
            format!("WITH {near}"),
            "AND c.id IN (SELECT id FROM near)".to_owned(),
        ),
    };
    format!(
        "{with} SELECT {LOCATED}, {WORDS}, {square} AS square, {product} AS product
        FROM sectile.chunk c {join}
        WHERE c.collection = $1 {of} ORDER BY c.path, c.number"
    )
}

/// Converts a vector to the database's type.
pub(super) fn half(vector: &[i8]) -> HalfVector {
    let numbers = vector.iter().map(|value| f32::from(*value));
    HalfVector::from_f32_slice(&numbers.collect::<Vec<f32>>())
}

/// The cached vocabularies, most recently used last.
#[derive(Default)]
pub(super) struct Vocabularies(Mutex<Vec<CachedVocabulary>>);

/// The vocabulary of a collection at one revision.
struct CachedVocabulary {
    collection: i64,
    revision: i64,
    vocabulary: Arc<Vocabulary>,
}

impl Vocabularies {
    async fn of(&self, reading: &ReadTransaction) -> Result<Arc<Vocabulary>, PostgresFailure> {
        let CollectionRow { id, revision, .. } = reading.collection;
        if let Some(known) = self.known(id, revision) {
            return Ok(known);
        }
        let client = reading.session.client()?;
        let statement = client.prepare_cached(VOCABULARY).await?;
        let rows = client.query(&statement, &[&id]).await?;
        let words = rows.iter().filter_map(|row| {
            let word = String::from_utf8(row.try_get::<_, &[u8]>(0).ok()?.to_vec()).ok()?;
            let chunks = u64::try_from(row.try_get::<_, i64>(1).ok()?).ok()?;
            Some((word, chunks))
        });
        let vocabulary = Arc::new(Vocabulary::new(words));
        let mut kept = self.0.lock();
        kept.retain(|kept| kept.collection != id);
        if kept.len() == VOCABULARIES {
            kept.remove(0);
        }
        kept.push(CachedVocabulary {
            collection: id,
            revision,
            vocabulary: Arc::clone(&vocabulary),
        });
        Ok(vocabulary)
    }

    fn known(&self, collection: i64, revision: i64) -> Option<Arc<Vocabulary>> {
        let mut kept = self.0.lock();
        let at = kept
            .iter()
            .position(|kept| kept.collection == collection && kept.revision == revision)?;
        let found = kept.remove(at);
        let vocabulary = Arc::clone(&found.vocabulary);
        kept.push(found);
        Some(vocabulary)
    }
}
