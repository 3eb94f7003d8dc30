//! Writing: one transaction for all changes of a collection. Concurrent readers see the state before it.
//!
//! Rows are sent as arrays rather than by COPY, which PostgreSQL refuses for tables with row-level security.

use sectile_library::IndexedNotebook;

use super::{
    PostgresTuning,
    batch::{Batch, TOO_MANY},
    failure::{PostgresFailure, SOMEBODY_ELSE},
    rows::{self, CollectionRow},
    schema,
    session::Session,
    terms::{TermChanges, TermRow, fnv},
};

/// The number of term rows written at a time.
const TERMS: usize = 10_000;
/// Lists are compacted when there are more tombstones than this, and than one for every [`TOMBSTONE_SHARE`] chunks: rewriting
/// all lists takes seconds, while removed chunks cost a search a little.
const TOMBSTONES: i64 = 1_000;
const TOMBSTONE_SHARE: i64 = 4;

const NAME: &str = "SELECT set_config('sectile.collection', $1, true)";
const LOCK: &str = "SELECT pg_try_advisory_xact_lock($1)";
const PATIENT_LOCK: &str = "SELECT pg_advisory_xact_lock($1) IS NOT NULL";
const HEAD: &str =
    "SELECT m.version, c.* FROM (SELECT max(version) AS version FROM sectile.migration) m
    LEFT JOIN sectile.collection c ON c.name = $1";
const NEW: &str = "INSERT INTO sectile.collection (name, rules, as_of, revision, notebooks, chunks,
        heading_words, trail_words, body_words, next_chunk, next_block, has_graph)
    VALUES ($1, $2, 0, 0, 0, 0, 0, 0, 0, 0, 0, false)";
/// A rebuilt collection, which keeps its vectors of the second tier.
const REBUILT: &str = "INSERT INTO sectile.collection (name, rules, as_of, revision, notebooks, chunks,
        heading_words, trail_words, body_words, next_chunk, next_block, has_graph, meaning, tier, tier_graph)
    VALUES ($1, $2, 0, $3, 0, 0, 0, 0, 0, 0, 0, false, $4, $5, $6)";
const GONE: &str = "DELETE FROM sectile.chunk WHERE collection = $1 AND path = ANY($2)
    RETURNING id, block, heading_words, trail_words, body_words, words";
const CHUNKS: &str = "INSERT INTO sectile.chunk (collection, block, id, path, number, span_start, span_end, line,
        digest, notebook_digest, headings, heading_words, trail_words, body_words, square, vector, words, key)
    SELECT $1, $2, * FROM unnest($3::int4[], $4::text[], $5::int4[], $6::int8[], $7::int8[], $8::int8[], $9::bytea[],
        $10::bytea[], $11::bytea[], $12::int4[], $13::int4[], $14::int4[], $15::int4[], $16::halfvec[], $17::bytea[],
        $18::bytea[])";
const LISTS: &str = "INSERT INTO sectile.posting (collection, hash, block, chunks, weights)
    SELECT $1, list.hash, $2, ($6::int4[])[list.first:list.last], ($7::int2[])[list.first:list.last]
    FROM unnest($3::int8[], $4::int4[], $5::int4[]) AS list (hash, first, last)";
const UNLISTED: &str = "WITH gone AS (
        SELECT hash, block, array_agg(chunk) AS chunks
        FROM unnest($2::int8[], $3::int4[], $4::int4[]) AS gone (hash, block, chunk) GROUP BY hash, block
    )
    UPDATE sectile.posting p SET (chunks, weights) = (
        SELECT coalesce(array_agg(l.chunk ORDER BY l.chunk), '{}'), coalesce(array_agg(l.weight ORDER BY l.chunk), '{}')
        FROM unnest(p.chunks, p.weights) AS l (chunk, weight) WHERE l.chunk <> ALL (gone.chunks)
    )
    FROM gone WHERE p.collection = $1 AND p.hash = gone.hash AND p.block = gone.block";
const EMPTY: &str =
    "DELETE FROM sectile.posting WHERE collection = $1 AND hash = ANY($2) AND chunks = '{}'";
const REMOVED_CHUNKS: &str = "INSERT INTO sectile.tombstone (collection, revision, chunk, block)
    SELECT $1, $2, * FROM unnest($3::int4[], $4::int4[])";
const TOMBSTONE_ARRAYS: &str =
    "SELECT array_agg(chunk ORDER BY chunk) AS chunks, array_agg(DISTINCT block) AS blocks
    FROM sectile.tombstone WHERE collection = $1";
/// Rewrites all lists with removed chunks. These are one value, which the database compares by a hash table; a subquery would
/// be evaluated for each list and take six times as long.
const COMPACTED: &str = "UPDATE sectile.posting p SET (chunks, weights) = (
        SELECT coalesce(array_agg(l.chunk ORDER BY l.chunk), '{}'), coalesce(array_agg(l.weight ORDER BY l.chunk), '{}')
        FROM unnest(p.chunks, p.weights) AS l (chunk, weight) WHERE l.chunk <> ALL ($2::int4[])
    )
    WHERE p.collection = $1 AND p.block = ANY ($3::int4[]) AND EXISTS (
        SELECT FROM unnest(p.chunks) AS l (chunk) WHERE l.chunk = ANY ($2::int4[])
    )";
const ALL_EMPTY: &str = "DELETE FROM sectile.posting WHERE collection = $1 AND chunks = '{}'";
const NO_TOMBSTONES: &str = "DELETE FROM sectile.tombstone WHERE collection = $1";
const NOTEBOOKS: &str = "INSERT INTO sectile.notebook (collection, path, stamp, digest)
    SELECT $1, * FROM unnest($2::text[], $3::bytea[], $4::bytea[])
    ON CONFLICT (collection, path) DO UPDATE SET stamp = excluded.stamp, digest = excluded.digest";
const TOUCHED: &str = "UPDATE sectile.notebook n SET stamp = t.stamp
    FROM unnest($2::text[], $3::bytea[]) AS t (path, stamp) WHERE n.collection = $1 AND n.path = t.path";
const REMOVED: &str = "DELETE FROM sectile.notebook WHERE collection = $1 AND path = ANY($2)";
const COUNTED: &str = "INSERT INTO sectile.term AS t (collection, kind, term, stem, chunks, words)
    SELECT $1, * FROM unnest($2::\"char\"[], $3::bytea[], $4::bytea[], $5::int8[], $6::int8[])
    ON CONFLICT (collection, kind, term) DO UPDATE SET chunks = t.chunks + excluded.chunks,
        words = t.words + excluded.words,
        stem = CASE WHEN t.words + excluded.words > 0 THEN coalesce(excluded.stem, t.stem) END";
/// A cheaper variant for a collection that has no counts yet.
const FIRST_COUNTED: &str = "INSERT INTO sectile.term (collection, kind, term, stem, chunks, words)
    SELECT $1, * FROM unnest($2::\"char\"[], $3::bytea[], $4::bytea[], $5::int8[], $6::int8[])";
const UNCOUNTED: &str = "DELETE FROM sectile.term WHERE collection = $1 AND kind = ANY($2) AND term = ANY($3) AND chunks <= 0";
/// The second tier goes on answering only if all chunks that were added, from number $9 on, have a vector.
const TOTALS: &str =
    "UPDATE sectile.collection k SET as_of = $2, revision = revision + 1, chunks = $3,
        heading_words = $4, trail_words = $5, body_words = $6, next_chunk = $7, next_block = $8,
        tombstones = $10, compacted = CASE WHEN $11 THEN revision + 1 ELSE compacted END,
        notebooks = (SELECT count(*) FROM sectile.notebook WHERE collection = $1),
        tier = CASE WHEN NOT EXISTS (
            SELECT FROM sectile.chunk c WHERE c.collection = $1 AND c.id >= $9 AND NOT EXISTS (
                SELECT FROM sectile.meaning m WHERE m.collection = k.meaning AND m.model = k.tier AND m.key = c.key
            )
        ) THEN k.tier END
    WHERE id = $1 RETURNING *";
/// The vectors of the second tier, which a rebuilt collection keeps.
const FORGOTTEN: &str = "DELETE FROM sectile.meaning WHERE collection = $1";
/// The other tables with rows of a collection, the collection itself last.
const CLEARED: [&str; 6] = [
    NO_TOMBSTONES,
    "DELETE FROM sectile.posting WHERE collection = $1",
    "DELETE FROM sectile.term WHERE collection = $1",
    "DELETE FROM sectile.chunk WHERE collection = $1",
    "DELETE FROM sectile.notebook WHERE collection = $1",
    "DELETE FROM sectile.collection WHERE id = $1",
];

/// Begins a transaction that locks a collection for writing, and returns its current row.
pub(super) async fn begin(
    session: &Session,
    name: &str,
) -> Result<Option<CollectionRow>, PostgresFailure> {
    begin_with(session, name, LOCK).await
}

/// Like [`begin`], but waits for another writer.
pub(super) async fn begin_patiently(
    session: &Session,
    name: &str,
) -> Result<Option<CollectionRow>, PostgresFailure> {
    begin_with(session, name, PATIENT_LOCK).await
}

async fn begin_with(
    session: &Session,
    name: &str,
    lock: &str,
) -> Result<Option<CollectionRow>, PostgresFailure> {
    let begun = async {
        let client = session.client()?;
        client
            .batch_execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL jit = off")
            .await?;
        client.execute(NAME, &[&name]).await?;
        let lock: bool = client
            .query_one(lock, &[&lock_of(name)])
            .await?
            .try_get(0)?;
        if !lock {
            return Err(PostgresFailure::other(SOMEBODY_ELSE));
        }
        let head = client.query_one(HEAD, &[&name]).await?;
        schema::check(head.try_get("version")?)?;
        CollectionRow::of(&head)
    };
    match begun.await {
        Ok(found) => Ok(found),
        Err(failure) => Err(schema::explained(session, failure).await),
    }
}

fn lock_of(name: &str) -> i64 {
    fnv(b'c', name)
}

/// Removes the vectors of a collection's second tier.
pub(super) async fn forget(session: &Session, meaning: i64) -> Result<(), PostgresFailure> {
    session.client()?.execute(FORGOTTEN, &[&meaning]).await?;
    Ok(())
}

/// Removes all rows of a collection, except the vectors of its second tier.
pub(super) async fn clear(session: &Session, collection: i64) -> Result<(), PostgresFailure> {
    for statement in CLEARED {
        session.client()?.execute(statement, &[&collection]).await?;
    }
    Ok(())
}

/// A transaction that writes a collection.
pub(super) struct Writer {
    session: Session,
    collection: CollectionRow,
    /// Whether the collection was empty before.
    is_new: bool,
    /// The first free number for a chunk.
    first: i32,
    /// Whether removed chunks get tombstones, because lists may be too long to be rewritten for each.
    has_tombstones: bool,
    /// Whether lists were rewritten.
    is_compacted: bool,
    /// The change of the word counts by removed chunks.
    gone: TermChanges,
    /// The number of chunks added or removed.
    changed: i64,
}

impl Writer {
    /// Begins the transaction.
    pub(super) async fn new(
        session: Session,
        name: &str,
        is_new: bool,
        rules: &PostgresTuning,
    ) -> Result<Self, PostgresFailure> {
        let found = begin(&session, name).await?;
        let (known, old) = match is_new {
            true => (None, found),
            false => (found, None),
        };
        if let Some(old) = &old {
            clear(&session, old.id).await?;
        }
        let is_new = known.is_none();
        let collection = match known {
            Some(known) if known.rules == rules.records => known,
            Some(_) => return Err(PostgresFailure::other_rules()),
            None => {
                let client = session.client()?;
                let records = &rules.records;
                match &old {
                    Some(CollectionRow {
                        revision,
                        meaning,
                        tier,
                        tier_graph,
                        ..
                    }) => {
                        client
                            .execute(
                                REBUILT,
                                &[&name, records, revision, meaning, tier, tier_graph],
                            )
                            .await?
                    }
                    None => client.execute(NEW, &[&name, records]).await?,
                };
                let head = client.query_one(HEAD, &[&name]).await?;
                let made = CollectionRow::of(&head)?;
                made.ok_or_else(|| PostgresFailure::other("The collection could not be created."))?
            }
        };
        let candidates = i64::try_from(rules.candidates).unwrap_or(i64::MAX);
        Ok(Self {
            session,
            is_new,
            // No search reads the lists of a smaller one.
            has_tombstones: collection.chunks > candidates,
            is_compacted: false,
            first: collection.next_chunk,
            collection,
            gone: TermChanges::default(),
            changed: 0,
        })
    }

    /// Writes one batch.
    pub(super) async fn write(&mut self, mut batch: Batch) -> Result<(), PostgresFailure> {
        batch.number_from(self.first)?;
        self.remove_chunks(&batch.emptied).await?;
        self.write_notebooks(&batch).await?;
        if let Some(last) = batch.chunks.id.last() {
            let added = i64::try_from(batch.chunks.id.len()).unwrap_or_default();
            self.changed += added;
            self.collection.chunks += added;
            self.collection.next_chunk = last
                .checked_add(1)
                .ok_or_else(|| PostgresFailure::other(TOO_MANY))?;
            for (all, words) in self.collection.words.iter_mut().zip(batch.words) {
                *all += words;
            }
        }
        let (client, id, block) = (
            self.session.client()?,
            self.collection.id,
            self.collection.next_block,
        );
        let (chunks, lists) =
            tokio::try_join!(client.prepare_cached(CHUNKS), client.prepare_cached(LISTS))?;
        let writing_chunks = async {
            match batch.chunks.id.is_empty() {
                true => Ok(0),
                false => {
                    let parameters = batch.chunks.parameters(&id, &block);
                    client.execute(&chunks, &parameters).await
                }
            }
        };
        let writing_lists = async {
            match &batch.lists {
                Some(flat) => client.execute(&lists, &flat.parameters(&id, &block)).await,
                None => Ok(0),
            }
        };
        // Lists are prepared while the database takes in chunks.
        let (chunks, lists) = tokio::join!(biased; writing_chunks, writing_lists);
        chunks?;
        lists?;
        self.collection.next_block += i32::from(batch.lists.is_some());
        Ok(())
    }

    async fn remove_chunks(&mut self, notebooks: &[String]) -> Result<(), PostgresFailure> {
        if notebooks.is_empty() {
            return Ok(());
        }
        let id = self.collection.id;
        let statement = self.session.client()?.prepare_cached(GONE).await?;
        let rows = self
            .session
            .client()?
            .query(&statement, &[&id, &notebooks])
            .await?;
        if rows.is_empty() {
            return Ok(());
        }
        let (mut hashes, mut blocks, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
        let mut removed: Vec<(i32, i32)> = Vec::new();
        for row in &rows {
            let lengths = rows::lengths(row)?;
            let (chunk, block): (i32, i32) = (row.try_get("id")?, row.try_get("block")?);
            removed.push((chunk, block));
            self.gone
                .count(&lengths, row.try_get("words")?, -1, |hash, _| {
                    hashes.push(hash);
                    blocks.push(block);
                    chunks.push(chunk);
                });
            self.collection.chunks -= 1;
            self.changed += 1;
            for (all, length) in self.collection.words.iter_mut().zip(lengths) {
                *all -= i64::from(length);
            }
        }
        let client = self.session.client()?;
        if self.has_tombstones {
            let revision = self.collection.revision + 1;
            let (ids, blocks): (Vec<i32>, Vec<i32>) = removed.into_iter().unzip();
            let statement = client.prepare_cached(REMOVED_CHUNKS).await?;
            let added = client
                .execute(&statement, &[&id, &revision, &ids, &blocks])
                .await?;
            self.collection.tombstones += i64::try_from(added).unwrap_or_default();
            return Ok(());
        }
        self.is_compacted = true;
        let unlisted = client.prepare_cached(UNLISTED).await?;
        client
            .execute(&unlisted, &[&id, &hashes, &blocks, &chunks])
            .await?;
        hashes.sort_unstable();
        hashes.dedup();
        let empty = client.prepare_cached(EMPTY).await?;
        client.execute(&empty, &[&id, &hashes]).await?;
        Ok(())
    }

    /// Removes the chunks with tombstones from their lists, if they are many.
    async fn compact(&mut self) -> Result<(), PostgresFailure> {
        let collection = &mut self.collection;
        if collection.tombstones <= TOMBSTONES.max(collection.chunks / TOMBSTONE_SHARE) {
            return Ok(());
        }
        let (client, id) = (self.session.client()?, &collection.id);
        let removed = client.query_one(TOMBSTONE_ARRAYS, &[id]).await?;
        let (chunks, blocks): (Vec<i32>, Vec<i32>) =
            (removed.try_get("chunks")?, removed.try_get("blocks")?);
        client.execute(COMPACTED, &[id, &chunks, &blocks]).await?;
        client.execute(ALL_EMPTY, &[id]).await?;
        client.execute(NO_TOMBSTONES, &[id]).await?;
        collection.tombstones = 0;
        self.is_compacted = true;
        Ok(())
    }

    async fn write_notebooks(&self, batch: &Batch) -> Result<(), PostgresFailure> {
        let (client, id) = (self.session.client()?, self.collection.id);
        let columns = |entries: &[IndexedNotebook]| {
            let paths: Vec<String> = entries.iter().map(|one| one.notebook.to_string()).collect();
            let stamps: Vec<Vec<u8>> = entries.iter().map(rows::stamp).collect();
            (paths, stamps)
        };
        if !batch.put.is_empty() {
            let (paths, stamps) = columns(&batch.put);
            let digests = batch.put.iter().map(|one| one.digest.as_bytes().to_vec());
            let digests: Vec<Vec<u8>> = digests.collect();
            let statement = client.prepare_cached(NOTEBOOKS).await?;
            client
                .execute(&statement, &[&id, &paths, &stamps, &digests])
                .await?;
        }
        if !batch.touched.is_empty() {
            let (paths, stamps) = columns(&batch.touched);
            let statement = client.prepare_cached(TOUCHED).await?;
            client.execute(&statement, &[&id, &paths, &stamps]).await?;
        }
        if !batch.removed.is_empty() {
            let statement = client.prepare_cached(REMOVED).await?;
            client.execute(&statement, &[&id, &batch.removed]).await?;
        }
        Ok(())
    }

    /// Commits everything that was written. `terms` is the change of the word counts by added chunks. Also returns whether
    /// much of the collection changed.
    pub(super) async fn finish(
        mut self,
        as_of: i64,
        mut terms: TermChanges,
    ) -> Result<(CollectionRow, bool), PostgresFailure> {
        self.compact().await?;
        let client = self.session.client()?;
        let collection = &self.collection;
        terms.add(&self.gone);
        for rows in terms.rows().chunks(TERMS) {
            count(&self.session, collection.id, self.is_new, rows).await?;
        }
        let [heading, trail, body] = collection.words;
        let row = client
            .query_one(
                TOTALS,
                &[
                    &collection.id,
                    &as_of,
                    &collection.chunks,
                    &heading,
                    &trail,
                    &body,
                    &collection.next_chunk,
                    &collection.next_block,
                    &self.first,
                    &collection.tombstones,
                    &self.is_compacted,
                ],
            )
            .await?;
        let written = CollectionRow::of(&row)?.unwrap_or_else(|| collection.clone());
        let is_much = self.changed > 0 && self.changed >= collection.chunks / 10;
        self.session.done().await?;
        Ok((written, is_much))
    }
}

async fn count(
    session: &Session,
    collection: i64,
    is_new: bool,
    rows: &[TermRow],
) -> Result<(), PostgresFailure> {
    let client = session.client()?;
    let kinds: Vec<i8> = rows.iter().map(|row| row.kind).collect();
    let terms: Vec<&[u8]> = rows.iter().map(|row| row.term.as_slice()).collect();
    let stems: Vec<Option<&[u8]>> = rows.iter().map(|row| row.stem.as_deref()).collect();
    let chunks: Vec<i64> = rows.iter().map(|row| row.chunks).collect();
    let words: Vec<i64> = rows.iter().map(|row| row.words).collect();
    let statement = if is_new { FIRST_COUNTED } else { COUNTED };
    let counted = client.prepare_cached(statement).await?;
    client
        .execute(
            &counted,
            &[&collection, &kinds, &terms, &stems, &chunks, &words],
        )
        .await?;
    let fewer = rows.iter().filter(|row| row.chunks < 0);
    let (mut kinds, terms): (Vec<i8>, Vec<&[u8]>) =
        fewer.map(|row| (row.kind, row.term.as_slice())).unzip();
    kinds.dedup();
    if !terms.is_empty() {
        let uncounted = client.prepare_cached(UNCOUNTED).await?;
        client
            .execute(&uncounted, &[&collection, &kinds, &terms])
            .await?;
    }
    Ok(())
}
