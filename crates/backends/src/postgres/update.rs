//! Writing: one transaction for all changes of a collection. Whoever reads meanwhile sees what was there before.
//!
//! Rows come in arrays rather than by COPY, which PostgreSQL refuses for tables that are locked up by rows.

use std::collections::HashSet;

use pgvector::HalfVector;
use sectile_retrieval::{Change, IndexedNotebook, PassageTerms, Record, SharedState};
use tokio_postgres::types::ToSql;

use super::{
    Rules,
    failure::{Failure, SOMEBODY_ELSE},
    rows::{self, Collection},
    schema, search,
    session::Session,
    terms::{Changes, TermRow, fnv},
};

/// So many chunks, or notebooks, are written at once. A word has one row in each batch, so large ones make fewer rows; a batch
/// takes some 7 kB a chunk.
const BATCH: usize = 6_000;
/// So many rows of words are written at once.
const TERMS: usize = 10_000;

const NAME: &str = "SELECT set_config('sectile.collection', $1, true)";
const LOCK: &str = "SELECT pg_try_advisory_xact_lock($1)";
const HEAD: &str =
    "SELECT m.version, c.* FROM (SELECT max(version) AS version FROM sectile.migration) m
    LEFT JOIN sectile.collection c ON c.name = $1";
const NEW: &str = "INSERT INTO sectile.collection (name, rules, as_of, revision, notebooks, chunks,
        heading_words, trail_words, body_words, next_chunk, next_block, has_graph)
    VALUES ($1, $2, 0, 0, 0, 0, 0, 0, 0, 0, 0, false) RETURNING id";
const GONE: &str = "DELETE FROM sectile.chunk WHERE collection = $1 AND path = ANY($2)
    RETURNING id, block, heading_words, trail_words, body_words, words";
const CHUNKS: &str = "INSERT INTO sectile.chunk (collection, block, id, path, number, span_start, span_end, line,
        digest, notebook_digest, headings, heading_words, trail_words, body_words, square, vector, words)
    SELECT $1, $2, * FROM unnest($3::int4[], $4::text[], $5::int4[], $6::int8[], $7::int8[], $8::int8[], $9::bytea[],
        $10::bytea[], $11::bytea[], $12::int4[], $13::int4[], $14::int4[], $15::int4[], $16::halfvec[], $17::bytea[])";
const LISTS: &str = "INSERT INTO sectile.posting (collection, hash, block, chunks, weights)
    SELECT $1, list.hash, $2, ($6::int4[])[list.first:list.last], ($7::int2[])[list.first:list.last]
    FROM unnest($3::int8[], $4::int4[], $5::int4[]) AS list (hash, first, last)";
const UNLISTED: &str = "WITH gone AS (
        SELECT hash, block, array_agg(chunk) AS chunks
        FROM unnest($2::int8[], $3::int4[], $4::int4[]) AS gone (hash, block, chunk) GROUP BY hash, block
    )
    UPDATE sectile.posting p SET (chunks, weights) = (
        SELECT coalesce(array_agg(l.chunk), '{}'), coalesce(array_agg(l.weight), '{}')
        FROM unnest(p.chunks, p.weights) AS l (chunk, weight) WHERE l.chunk <> ALL (gone.chunks)
    )
    FROM gone WHERE p.collection = $1 AND p.hash = gone.hash AND p.block = gone.block";
const EMPTY: &str =
    "DELETE FROM sectile.posting WHERE collection = $1 AND hash = ANY($2) AND chunks = '{}'";
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
const UNCOUNTED: &str = "DELETE FROM sectile.term WHERE collection = $1 AND kind = ANY($2) AND term = ANY($3) AND chunks <= 0";
const TOTALS: &str =
    "UPDATE sectile.collection SET as_of = $2, revision = revision + 1, chunks = $3,
        heading_words = $4, trail_words = $5, body_words = $6, next_chunk = $7, next_block = $8,
        notebooks = (SELECT count(*) FROM sectile.notebook WHERE collection = $1)
    WHERE id = $1 RETURNING *";
/// All tables with rows of a collection, the collection itself last.
const CLEARED: [&str; 5] = [
    "DELETE FROM sectile.posting WHERE collection = $1",
    "DELETE FROM sectile.term WHERE collection = $1",
    "DELETE FROM sectile.chunk WHERE collection = $1",
    "DELETE FROM sectile.notebook WHERE collection = $1",
    "DELETE FROM sectile.collection WHERE id = $1",
];

/// Changes that are written together; each notebook is in them once.
#[derive(Default)]
pub(super) struct Batch {
    /// Each with what its chunks are found by, which takes a while to find out and is done before the writer has it.
    changes: Vec<(Change, Vec<PassageTerms>)>,
    notebooks: HashSet<String>,
    chunks: usize,
}

impl Batch {
    /// Whether it is time to write, before `next` is taken in.
    pub(super) fn is_full(&self, next: &Change) -> bool {
        self.chunks >= BATCH
            || self.changes.len() >= BATCH
            || self.notebooks.contains(path_of(next))
    }

    pub(super) fn push(&mut self, change: Change) {
        self.notebooks.insert(path_of(&change).to_owned());
        let found_by = match &change {
            Change::Put { records, .. } => {
                let each = records.iter().map(|record| record.words.found_by());
                each.collect()
            }
            Change::Touch(_) | Change::Remove(_) => Vec::new(),
        };
        self.chunks += found_by.len();
        self.changes.push((change, found_by));
    }
}

fn path_of(change: &Change) -> &str {
    match change {
        Change::Put { entry, .. } | Change::Touch(entry) => entry.notebook.as_str(),
        Change::Remove(notebook) => notebook.as_str(),
    }
}

/// Begins to write a collection that nobody else is writing, and says what there is of it.
pub(super) async fn begin(session: &Session, name: &str) -> Result<Option<Collection>, Failure> {
    let begun = async {
        let client = session.client()?;
        client
            .batch_execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL jit = off")
            .await?;
        client.execute(NAME, &[&name]).await?;
        let lock: bool = client
            .query_one(LOCK, &[&lock_of(name)])
            .await?
            .try_get(0)?;
        if !lock {
            return Err(Failure::other(SOMEBODY_ELSE));
        }
        let head = client.query_one(HEAD, &[&name]).await?;
        schema::check(head.try_get("version")?)?;
        Collection::of(&head)
    };
    match begun.await {
        Ok(found) => Ok(found),
        Err(failure) => Err(schema::explained(session, failure).await),
    }
}

fn lock_of(name: &str) -> i64 {
    fnv(b'c', name)
}

/// Removes everything of a collection.
pub(super) async fn clear(session: &Session, collection: i64) -> Result<(), Failure> {
    for statement in CLEARED {
        session.client()?.execute(statement, &[&collection]).await?;
    }
    Ok(())
}

/// A transaction that writes a collection.
pub(super) struct Writer {
    session: Session,
    collection: Collection,
    terms: Changes,
    /// How many chunks came or went.
    changed: i64,
}

impl Writer {
    /// Begins.
    pub(super) async fn new(
        session: Session,
        name: &str,
        is_new: bool,
        rules: &Rules,
    ) -> Result<Self, Failure> {
        let mut known = begin(&session, name).await?;
        if let Some(old) = known.as_ref().filter(|_| is_new) {
            clear(&session, old.id).await?;
            known = None;
        }
        let collection = match known {
            Some(known) if known.rules == rules.records => known,
            Some(_) => return Err(Failure::other_rules()),
            None => {
                let client = session.client()?;
                client.query_one(NEW, &[&name, &rules.records]).await?;
                let head = client.query_one(HEAD, &[&name]).await?;
                let made = Collection::of(&head)?;
                made.ok_or_else(|| Failure::other("The collection could not be made."))?
            }
        };
        Ok(Self {
            session,
            collection,
            terms: Changes::default(),
            changed: 0,
        })
    }

    /// Makes some changes.
    pub(super) async fn write(&mut self, batch: Batch) -> Result<(), Failure> {
        let mut parts = Parts::default();
        for (change, found_by) in batch.changes {
            match change {
                Change::Put { entry, records } => {
                    for (number, (record, found_by)) in (0..).zip(records.into_iter().zip(found_by))
                    {
                        let id = self.next_chunk()?;
                        self.collection.chunks += 1;
                        self.terms.count(&found_by, 1);
                        self.add_words(record.words.lengths, 1);
                        parts.lists.add(id, &found_by);
                        parts.chunks.push(id, number, &entry, record);
                    }
                    parts.emptied.push(entry.notebook.as_str().to_owned());
                    parts.put.push(entry);
                }
                Change::Touch(entry) => parts.touched.push(entry),
                Change::Remove(notebook) => {
                    parts.emptied.push(notebook.as_str().to_owned());
                    parts.removed.push(notebook.as_str().to_owned());
                }
            }
        }
        self.remove_chunks(&parts.emptied).await?;
        self.write_notebooks(&parts).await?;
        if !parts.chunks.id.is_empty() {
            let block = self.collection.next_block;
            self.collection.next_block += 1;
            let (client, id) = (self.session.client()?, self.collection.id);
            let added = parts.chunks.id.len();
            self.changed += i64::try_from(added).unwrap_or_default();
            let chunks = client.prepare_cached(CHUNKS).await?;
            client
                .execute(&chunks, &parts.chunks.parameters(&id, &block))
                .await?;
            let lists = parts.lists.flat();
            let statement = client.prepare_cached(LISTS).await?;
            client
                .execute(&statement, &lists.parameters(&id, &block))
                .await?;
        }
        Ok(())
    }

    fn next_chunk(&mut self) -> Result<i32, Failure> {
        let id = self.collection.next_chunk;
        self.collection.next_chunk = id.checked_add(1).ok_or_else(|| {
            Failure::other("The numbers of this collection are used up. Make its index anew.")
        })?;
        Ok(id)
    }

    fn add_words(&mut self, lengths: [u32; 3], by: i64) {
        for (all, length) in self.collection.words.iter_mut().zip(lengths) {
            *all += by * i64::from(length);
        }
    }

    async fn remove_chunks(&mut self, notebooks: &[String]) -> Result<(), Failure> {
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
        for row in &rows {
            let lengths = rows::lengths(row)?;
            let found_by = PassageTerms::of(&lengths, row.try_get("words")?);
            self.collection.chunks -= 1;
            self.changed += 1;
            self.terms.count(&found_by, -1);
            self.add_words(lengths, -1);
            let (chunk, block): (i32, i32) = (row.try_get("id")?, row.try_get("block")?);
            for (hash, _) in listed(&found_by) {
                hashes.push(hash);
                blocks.push(block);
                chunks.push(chunk);
            }
        }
        let client = self.session.client()?;
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

    async fn write_notebooks(&self, parts: &Parts) -> Result<(), Failure> {
        let (client, id) = (self.session.client()?, self.collection.id);
        let columns = |entries: &[IndexedNotebook]| {
            let paths: Vec<String> = entries.iter().map(|one| one.notebook.to_string()).collect();
            let stamps: Vec<Vec<u8>> = entries.iter().map(rows::stamp).collect();
            (paths, stamps)
        };
        if !parts.put.is_empty() {
            let (paths, stamps) = columns(&parts.put);
            let digests = parts.put.iter().map(|one| one.digest.as_bytes().to_vec());
            let digests: Vec<Vec<u8>> = digests.collect();
            let statement = client.prepare_cached(NOTEBOOKS).await?;
            client
                .execute(&statement, &[&id, &paths, &stamps, &digests])
                .await?;
        }
        if !parts.touched.is_empty() {
            let (paths, stamps) = columns(&parts.touched);
            let statement = client.prepare_cached(TOUCHED).await?;
            client.execute(&statement, &[&id, &paths, &stamps]).await?;
        }
        if !parts.removed.is_empty() {
            let statement = client.prepare_cached(REMOVED).await?;
            client.execute(&statement, &[&id, &parts.removed]).await?;
        }
        Ok(())
    }

    /// Makes everything count that was written. Whether much of the collection changed is told besides.
    pub(super) async fn finish(self, as_of: i64) -> Result<(SharedState, bool), Failure> {
        let client = self.session.client()?;
        let collection = &self.collection;
        for rows in self.terms.rows().chunks(TERMS) {
            count(&self.session, collection.id, rows).await?;
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
                ],
            )
            .await?;
        let written = Collection::of(&row)?.unwrap_or_else(|| collection.clone());
        let state = written.state()?;
        let is_much = self.changed > 0 && self.changed >= collection.chunks / 10;
        self.session.done().await?;
        Ok((state, is_much))
    }
}

async fn count(session: &Session, collection: i64, rows: &[TermRow]) -> Result<(), Failure> {
    let client = session.client()?;
    let kinds: Vec<i8> = rows.iter().map(|row| row.kind).collect();
    let terms: Vec<&[u8]> = rows.iter().map(|row| row.term.as_slice()).collect();
    let stems: Vec<Option<&[u8]>> = rows.iter().map(|row| row.stem.as_deref()).collect();
    let chunks: Vec<i64> = rows.iter().map(|row| row.chunks).collect();
    let words: Vec<i64> = rows.iter().map(|row| row.words).collect();
    let counted = client.prepare_cached(COUNTED).await?;
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

/// What a chunk is listed under, and with which weight.
fn listed(found_by: &PassageTerms) -> impl Iterator<Item = (i64, i16)> {
    let terms = found_by
        .terms
        .iter()
        .map(|one| (b't', &one.term, one.weight));
    let stems = found_by
        .stems
        .iter()
        .map(|(stem, weight)| (b's', stem, *weight));
    terms.chain(stems).map(|(kind, text, weight)| {
        let weight = i16::try_from(weight).unwrap_or(i16::MAX);
        (fnv(kind, text), weight)
    })
}

/// A batch, by what has to be done.
#[derive(Default)]
struct Parts {
    put: Vec<IndexedNotebook>,
    touched: Vec<IndexedNotebook>,
    removed: Vec<String>,
    /// Notebooks whose chunks go.
    emptied: Vec<String>,
    chunks: ChunkColumns,
    lists: Lists,
}

/// Rows of chunks, column by column.
#[derive(Default)]
struct ChunkColumns {
    id: Vec<i32>,
    path: Vec<String>,
    number: Vec<i32>,
    span_start: Vec<i64>,
    span_end: Vec<i64>,
    line: Vec<i64>,
    digest: Vec<Vec<u8>>,
    notebook_digest: Vec<Vec<u8>>,
    headings: Vec<Vec<u8>>,
    lengths: [Vec<i32>; 3],
    square: Vec<i32>,
    vector: Vec<HalfVector>,
    words: Vec<Vec<u8>>,
}

impl ChunkColumns {
    fn push(&mut self, id: i32, number: i32, entry: &IndexedNotebook, record: Record) {
        let long = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.id.push(id);
        self.path.push(entry.notebook.as_str().to_owned());
        self.number.push(number);
        self.span_start.push(long(record.chunk.span.start));
        self.span_end.push(long(record.chunk.span.end));
        self.line.push(long(record.chunk.line));
        self.digest.push(record.chunk.digest.as_bytes().to_vec());
        self.notebook_digest.push(entry.digest.as_bytes().to_vec());
        self.headings.push(rows::headings(&record.path));
        for (column, length) in self.lengths.iter_mut().zip(record.words.lengths) {
            column.push(i32::try_from(length).unwrap_or(i32::MAX));
        }
        self.square
            .push(i32::try_from(record.square()).unwrap_or(i32::MAX));
        self.vector.push(search::half(&record.vector));
        self.words.push(record.words.encoded);
    }

    fn parameters<'a>(
        &'a self,
        collection: &'a i64,
        block: &'a i32,
    ) -> [&'a (dyn ToSql + Sync); 17] {
        let [heading, trail, body] = &self.lengths;
        [
            collection,
            block,
            &self.id,
            &self.path,
            &self.number,
            &self.span_start,
            &self.span_end,
            &self.line,
            &self.digest,
            &self.notebook_digest,
            &self.headings,
            heading,
            trail,
            body,
            &self.square,
            &self.vector,
            &self.words,
        ]
    }
}

/// What chunks are listed under: hash, chunk, and about what it counts there.
#[derive(Default)]
struct Lists(Vec<(i64, i32, i16)>);

impl Lists {
    fn add(&mut self, chunk: i32, found_by: &PassageTerms) {
        let listed = listed(found_by);
        self.0
            .extend(listed.map(|(hash, weight)| (hash, chunk, weight)));
    }

    fn flat(mut self) -> FlatLists {
        // The order in which they came stays where two words of a chunk have one hash; the first of these counts.
        self.0.sort_by_key(|(hash, chunk, _)| (*hash, *chunk));
        self.0.dedup_by_key(|(hash, chunk, _)| (*hash, *chunk));
        let mut flat = FlatLists::default();
        let place = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
        for list in self.0.chunk_by(|one, next| one.0 == next.0) {
            flat.hashes.push(list[0].0);
            flat.first.push(place(flat.chunks.len() + 1));
            flat.last.push(place(flat.chunks.len() + list.len()));
            flat.chunks.extend(list.iter().map(|(_, chunk, _)| *chunk));
            flat.weights.extend(list.iter().map(|(.., weight)| *weight));
        }
        flat
    }
}

/// Lists, one behind the other. The first place is number 1.
#[derive(Default)]
struct FlatLists {
    hashes: Vec<i64>,
    first: Vec<i32>,
    last: Vec<i32>,
    chunks: Vec<i32>,
    weights: Vec<i16>,
}

impl FlatLists {
    fn parameters<'a>(
        &'a self,
        collection: &'a i64,
        block: &'a i32,
    ) -> [&'a (dyn ToSql + Sync); 7] {
        [
            collection,
            block,
            &self.hashes,
            &self.first,
            &self.last,
            &self.chunks,
            &self.weights,
        ]
    }
}

#[cfg(test)]
mod tests {
    use sectile_retrieval::Clue;

    use super::{super::terms::hash, *};

    #[test]
    fn lists_are_found_by_what_questions_ask_for() {
        let found_by = PassageTerms {
            terms: vec![],
            stems: vec![("run".to_owned(), 7)],
        };
        let listed: Vec<(i64, i16)> = listed(&found_by).collect();
        assert_eq!(listed, [(hash(&Clue::Stem("run".to_owned())), 7)]);
    }
}
