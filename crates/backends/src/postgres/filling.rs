//! Filling the second tier: vectors are committed as they come, and searches use them once all chunks have one.

use std::collections::HashSet;

use pgvector::HalfVector;
use sectile_library::{NotebookKeys, StorageError, TierFilling, TierGaps};
use sectile_retrieval::{VectorKey, VectorRecord};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use super::{
    ANALYZE, Postgres, READY, WRITING,
    failure::PostgresFailure,
    graph,
    rows::{self, CollectionRow},
    schema, search,
    session::Session,
    terms::fnv,
    update,
};

const LOCK: &str = "SELECT pg_try_advisory_lock($1)";
/// Also ends a transaction that failed.
const UNLOCK: &str = "ROLLBACK; SELECT pg_advisory_unlock_all()";
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL jit = off";
const NAME: &str = "SELECT set_config('sectile.collection', $1, true)";
const HEAD: &str =
    "SELECT m.version, c.* FROM (SELECT max(version) AS version FROM sectile.migration) m
    LEFT JOIN sectile.collection c ON c.name = $1";
const GAPS: &str = "SELECT g.path, n.digest, g.chunks, g.missing FROM (
        SELECT c.path, count(*) AS chunks, count(*) - count(m.key) AS missing
        FROM sectile.chunk c
        LEFT JOIN sectile.meaning m ON m.collection = $2 AND m.model = $3 AND m.key = c.key
        WHERE c.collection = $1 GROUP BY c.path
    ) g
    JOIN sectile.notebook n ON n.collection = $1 AND n.path = g.path
    WHERE g.missing > 0 ORDER BY g.path";
/// Records the texts of chunks of notebooks with these digests, where they are not recorded.
const NAMED: &str = "UPDATE sectile.chunk c SET key = t.key
    FROM unnest($2::text[], $3::bytea[], $4::int4[], $5::bytea[]) AS t (path, digest, number, key)
    WHERE c.collection = (SELECT id FROM sectile.collection WHERE name = $1)
        AND c.path = t.path AND c.number = t.number AND c.notebook_digest = t.digest
        AND c.key IS DISTINCT FROM t.key";
const WITH_VECTOR: &str = "SELECT key FROM sectile.meaning
    WHERE collection = (SELECT meaning FROM sectile.collection WHERE name = $1) AND model = $2 AND key = ANY($3)";
const KEPT: &str = "INSERT INTO sectile.meaning (collection, model, key, square, vector)
    SELECT k.meaning, $2, t.* FROM sectile.collection k
    CROSS JOIN unnest($3::bytea[], $4::int4[], $5::halfvec[]) AS t (key, square, vector)
    WHERE k.name = $1 ON CONFLICT DO NOTHING";
const MISSING: &str =
    "SELECT EXISTS (SELECT FROM sectile.chunk c WHERE c.collection = $1 AND NOT EXISTS (
        SELECT FROM sectile.meaning m WHERE m.collection = $2 AND m.model = $3 AND m.key = c.key
    ))";
const COMPLETE: &str = "UPDATE sectile.collection SET tier = $2, tier_graph = $3
    WHERE id = $1 AND (tier, tier_graph) IS DISTINCT FROM ($2, $3)";
const SUPERFLUOUS: &str = "DELETE FROM sectile.meaning m WHERE m.collection = $2 AND (m.model <> $3
        OR NOT EXISTS (SELECT FROM sectile.chunk c WHERE c.collection = $1 AND c.key = m.key))";

/// The number of new vectors from which the query planner needs other statistics. The database itself notices later.
const MUCH: usize = 1_000;

/// The message for the second of two fillers.
const FILLED_ELSEWHERE: &str = "Another process is filling the transformer tier of this collection's index. Try again when \
    it has finished.";

/// Takes the lock of a collection's filler, which lasts as long as the connection.
pub(super) async fn lock(session: &Session, name: &str) -> Result<(), PostgresFailure> {
    let locked = session
        .client()?
        .query_one(LOCK, &[&fnv(b'f', name)])
        .await?;
    match locked.try_get(0)? {
        true => Ok(()),
        false => Err(PostgresFailure::other(FILLED_ELSEWHERE)),
    }
}

/// The right to fill the second tier of a collection. The connection is closed at the end, which would release the lock too,
/// but a moment later.
pub(super) struct PostgresFilling<'a> {
    pub(super) postgres: &'a Postgres,
    pub(super) session: Session,
    pub(super) collection: &'a str,
    /// The fingerprint of the model.
    pub(super) model: Vec<u8>,
    /// Number of vectors stored.
    pub(super) kept: usize,
}

impl Drop for PostgresFilling<'_> {
    fn drop(&mut self) {
        let unlocking = async {
            let client = self.session.client()?;
            Ok::<(), PostgresFailure>(client.batch_execute(UNLOCK).await?)
        };
        let unlocking = async { unlocking.await.map_err(|failure| failure.error) };
        if self
            .postgres
            .waiting
            .run(READY, &|| false, unlocking)
            .is_err()
        {
            tracing::debug!("the lock of a filler ends with its connection");
        }
    }
}

impl PostgresFilling<'_> {
    /// Runs one statement in a transaction of its own, in one round trip.
    async fn alone(
        &self,
        statement: (&str, &[Type]),
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresFailure> {
        let client = self.session.client()?;
        let name = client.prepare_cached(NAME).await?;
        let statement = client
            .prepare_typed_cached(statement.0, statement.1)
            .await?;
        let named: [&(dyn ToSql + Sync); 1] = [&self.collection];
        // Pipelined: sent one after the other, without waiting for answers.
        let (begun, named, rows, ended) = tokio::join!(
            biased;
            client.batch_execute(BEGIN),
            client.execute(&name, &named),
            client.query(&statement, parameters),
            client.batch_execute("COMMIT"),
        );
        begun?;
        named?;
        let rows = rows?;
        ended?;
        Ok(rows)
    }

    /// Begins a transaction, and returns the collection.
    async fn begin(&self) -> Result<CollectionRow, PostgresFailure> {
        let client = self.session.client()?;
        client.batch_execute(BEGIN).await?;
        client.execute(NAME, &[&self.collection]).await?;
        let head = client.query_one(HEAD, &[&self.collection]).await?;
        schema::check(head.try_get("version")?)?;
        self.usable(CollectionRow::of(&head)?)
    }

    /// Checks that a collection exists and was made by the rules of this program.
    fn usable(&self, found: Option<CollectionRow>) -> Result<CollectionRow, PostgresFailure> {
        let found = found.ok_or(StorageError::CollectionNotFound)?;
        match found.rules == self.postgres.rules.records {
            true => Ok(found),
            false => Err(PostgresFailure::other_rules()),
        }
    }

    async fn end(&self) -> Result<(), PostgresFailure> {
        Ok(self.session.client()?.batch_execute("COMMIT").await?)
    }

    async fn find_gaps(&self) -> Result<TierGaps, PostgresFailure> {
        let collection = self.begin().await?;
        let CollectionRow { id, meaning, .. } = collection;
        let client = self.session.client()?;
        let rows = client.query(GAPS, &[&id, &meaning, &self.model]).await?;
        self.end().await?;
        Ok(TierGaps {
            revision: collection.revision,
            chunks: usize::try_from(collection.chunks).unwrap_or_default(),
            notebooks: rows.iter().map(rows::gap).collect::<Result<_, _>>()?,
        })
    }

    async fn find_known(
        &self,
        notebooks: &[NotebookKeys],
    ) -> Result<HashSet<VectorKey>, PostgresFailure> {
        let (mut paths, mut digests, mut numbers, mut keys) = (vec![], vec![], vec![], vec![]);
        for one in notebooks {
            for (number, key) in (0_i32..).zip(&one.keys) {
                paths.push(one.notebook.as_str());
                digests.push(one.digest.as_bytes().as_slice());
                numbers.push(number);
                keys.push(key.as_bytes().as_slice());
            }
        }
        self.alone(
            (NAMED, &[]),
            &[&self.collection, &paths, &digests, &numbers, &keys],
        )
        .await?;
        let rows = self
            .alone((WITH_VECTOR, &[]), &[&self.collection, &self.model, &keys])
            .await?;
        rows.iter().map(rows::key).collect()
    }

    async fn write(&self, vectors: &[VectorRecord]) -> Result<(), PostgresFailure> {
        let keys: Vec<&[u8]> = vectors.iter().map(|one| &one.key.as_bytes()[..]).collect();
        let squares = vectors.iter().map(|one| i32::try_from(one.square));
        let squares: Vec<i32> = squares.map(|square| square.unwrap_or(i32::MAX)).collect();
        let halves: Vec<HalfVector> = vectors
            .iter()
            .map(|one| search::half(&one.vector))
            .collect();
        // The type of the model is not clear from the statement.
        let types = [Type::TEXT, Type::BYTEA];
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&self.collection, &self.model, &keys, &squares, &halves];
        self.alone((KEPT, &types), &parameters).await?;
        Ok(())
    }

    /// Lets the tier answer, unless a chunk has no vector. In a large collection the graph is built first, in a transaction
    /// of its own, because that takes long.
    async fn switch_over(&self) -> Result<bool, PostgresFailure> {
        let size = self.postgres.rules.exact_below;
        let mut is_built = false;
        loop {
            let found = update::begin_patiently(&self.session, self.collection).await?;
            let found = self.usable(found)?;
            let client = self.session.client()?;
            let (id, meaning, model) = (found.id, found.meaning, &self.model);
            let missing = client.query_one(MISSING, &[&id, &meaning, model]).await?;
            if missing.try_get(0)? {
                self.end().await?;
                return Ok(false);
            }
            let has_graph =
                graph::add_second(&self.session, self.collection, &found, model, size).await?;
            let is_last = is_built || !has_graph;
            if is_last {
                client.execute(COMPLETE, &[&id, model, &has_graph]).await?;
                client.execute(SUPERFLUOUS, &[&id, &meaning, model]).await?;
            }
            self.end().await?;
            if is_last {
                return Ok(true);
            }
            is_built = true;
        }
    }

    /// Updates statistics if much is new, and drops graphs that are not needed any longer.
    async fn tidy_up(&self) -> Result<(), PostgresFailure> {
        let rules = &self.postgres.rules;
        if self.kept >= MUCH {
            self.session.client()?.batch_execute(ANALYZE).await?;
        }
        graph::adjust(&self.session, self.collection, rules).await?;
        self.end().await
    }
}

impl TierFilling for PostgresFilling<'_> {
    fn gaps(&mut self) -> Result<TierGaps, StorageError> {
        self.postgres.write(self.find_gaps())
    }

    fn known(&mut self, notebooks: &[NotebookKeys]) -> Result<HashSet<VectorKey>, StorageError> {
        self.postgres.write(self.find_known(notebooks))
    }

    fn keep(&mut self, vectors: &[VectorRecord]) -> Result<(), StorageError> {
        self.postgres.write(self.write(vectors))?;
        self.kept += vectors.len();
        Ok(())
    }

    fn finish(&mut self, stop: &dyn Fn() -> bool) -> Result<bool, StorageError> {
        let switching = async { self.switch_over().await.map_err(|failure| failure.error) };
        let is_complete = self.postgres.waiting.run(WRITING, stop, switching)?;
        if is_complete {
            // The tier answers, whatever becomes of this.
            if let Err(error) = self.postgres.write(self.tidy_up()) {
                tracing::warn!(%error, "the database could not be tidied up");
            }
        }
        Ok(is_complete)
    }
}
