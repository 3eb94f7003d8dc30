//! An index in PostgreSQL with pgvector, which several processes can share.
//!
//! The database stores chunks with their words and vectors, and returns candidates for a question; they are scored by the
//! same rules as in the embedded engine. Where all chunks are candidates, the results are the same.

mod batch;
mod cache;
mod failure;
mod filling;
mod graph;
mod rows;
mod schema;
mod search;
mod selection;
mod session;
mod tenants;
pub(crate) mod terms;
mod update;

use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use sectile_library::{
    BackendState, Change, IndexedNotebook, LocatedChunk, LocatedHits, StorageError, TierFilling,
    VectorIndexing, VectorQuery, VectorSearch, tiers::Models,
};
use sectile_retrieval::{Embedder, record_rules};

pub use self::tenants::PostgresTenants;
use self::{
    batch::{Batch, BatchBuilder},
    cache::CandidateCache,
    failure::{PostgresFailure, PostgresFailureKind},
    filling::PostgresFilling,
    rows::{CollectionRow, LOCATED},
    search::{ReadTransaction, SearchCaches, SearchRequest, Vocabularies},
    session::Sessions,
    terms::TermChanges,
    update::Writer,
};
use crate::{BlockingRuntime, PostgresSettings};

/// The longest a write may take before it is abandoned.
const WRITING: Duration = Duration::from_secs(3_600);
/// The time allowed for checking whether the database is reachable.
const READY: Duration = Duration::from_secs(2);
/// The columns that the query planner needs statistics for. Vectors are left out: analyzing them takes long.
const ANALYZE: &str =
    "ANALYZE sectile.chunk (collection, id, block, path, number, digest, square, key), sectile.posting,
    sectile.term, sectile.notebook, sectile.meaning (collection, model, key, square)";
/// The most chunks returned for one prefix of a digest.
const SAME_DIGITS: i64 = 16;

/// Checks a connection string, as [`PostgresSettings::check`] does.
pub(crate) fn check_connection(connection: &str) -> Result<(), &'static str> {
    let config: tokio_postgres::Config =
        connection.parse().map_err(|_| "it cannot be understood")?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err("it has no host");
    }
    if config.get_password().is_some() {
        return Err("it has a password");
    }
    Ok(())
}

/// The settings that stay fixed while the index is open.
struct PostgresTuning {
    /// The version of the rules by which records are made.
    records: String,
    /// The model of the first tier.
    first: &'static dyn Embedder,
    /// The model of the second tier, if there is one.
    second: Option<SecondModel>,
    statement_timeout: Duration,
    candidates: usize,
    exact_below: u64,
    cache_bytes: usize,
    batch: usize,
}

/// The model of the second tier.
struct SecondModel {
    model: &'static dyn Embedder,
    /// The bytes of its fingerprint, as stored.
    fingerprint: Vec<u8>,
}

/// An index in PostgreSQL. Connections are opened lazily.
pub struct Postgres {
    sessions: Sessions,
    waiting: BlockingRuntime,
    rules: PostgresTuning,
    /// The time that a read may take in all.
    reading: Duration,
    vocabularies: Vocabularies,
    candidates: CandidateCache,
}

impl Postgres {
    /// # Errors
    /// Returns an error if the settings cannot be used.
    pub fn new(
        settings: &PostgresSettings,
        waiting: BlockingRuntime,
        models: Models,
    ) -> Result<Self, StorageError> {
        let second = models.second.map(|model| SecondModel {
            model,
            fingerprint: model.fingerprint().as_bytes().to_vec(),
        });
        Ok(Self {
            sessions: Sessions::new(settings)?,
            waiting,
            rules: PostgresTuning {
                records: record_rules(models.first),
                first: models.first,
                second,
                statement_timeout: settings.statement_timeout,
                candidates: settings.candidates.max(1),
                exact_below: settings.exact_below,
                cache_bytes: settings.cache_bytes,
                batch: settings.batch,
            },
            reading: settings.connect_timeout + settings.statement_timeout * 2,
            vocabularies: Vocabularies::default(),
            candidates: CandidateCache::new(settings.cache_bytes),
        })
    }

    /// Reads, and retries once on another connection if the first turns out to be dead.
    fn read<T>(
        &self,
        stop: &dyn Fn() -> bool,
        work: impl AsyncFn() -> Result<T, PostgresFailure>,
    ) -> Result<T, StorageError> {
        let mut is_again = false;
        loop {
            let work = async { Ok(work().await) };
            match self.waiting.run(self.reading, stop, work)? {
                Ok(found) => return Ok(found),
                Err(failure) if failure.kind == PostgresFailureKind::Broken && !is_again => {
                    is_again = true;
                    self.sessions.forget();
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    fn read_collection<T>(
        &self,
        collection: &str,
        work: impl AsyncFn(ReadTransaction) -> Result<T, PostgresFailure>,
    ) -> Result<T, StorageError> {
        self.read(&|| false, async || {
            let session = self.sessions.take().await?;
            let reading = ReadTransaction::new(session, collection, &self.rules).await?;
            let reading = reading.ok_or(StorageError::CollectionNotFound)?;
            work(reading).await
        })
    }

    /// Writes, within [`WRITING`].
    fn write<T>(
        &self,
        work: impl Future<Output = Result<T, PostgresFailure>>,
    ) -> Result<T, StorageError> {
        let work = async { work.await.map_err(|failure| failure.error) };
        self.waiting.run(WRITING, &|| false, work)
    }

    /// Writes all batches that arrive, and commits after the last one. Without the last one nothing is committed.
    fn write_all(
        &self,
        collection: &str,
        as_of: i64,
        is_new: bool,
        parts: &Receiver<IndexWrite>,
    ) -> Result<BackendState, StorageError> {
        let mut writer = self.write(async {
            let session = self.sessions.take().await?;
            Writer::new(session, collection, is_new, &self.rules).await
        })?;
        let terms = loop {
            match parts.recv().map_err(|_| StorageError::Cancelled)? {
                IndexWrite::Batch(batch) => self.write(writer.write(*batch))?,
                IndexWrite::Last(terms) => break *terms,
            }
        };
        let (mut written, is_much) = self.write(writer.finish(as_of, terms))?;
        let is_large = graph::is_wanted(&written, self.rules.exact_below);
        if is_large != written.has_graph || is_new || (written.tier_graph && !is_large) {
            match self.write(self.adjust_graphs(collection)) {
                Ok(adjusted) => written = adjusted.unwrap_or(written),
                // The changes are committed, and searches do without a graph.
                Err(error) => {
                    tracing::warn!(%error, "the graph of a collection could not be built")
                }
            }
        }
        if is_much && let Err(error) = self.write(self.analyze()) {
            tracing::warn!(%error, "the database could not analyze the changed tables");
        }
        written.state(&self.rules).map_err(|failure| failure.error)
    }

    async fn adjust_graphs(
        &self,
        collection: &str,
    ) -> Result<Option<CollectionRow>, PostgresFailure> {
        let session = self.sessions.take().await?;
        let adjusted = graph::adjust(&session, collection, &self.rules).await?;
        session.done().await?;
        Ok(adjusted)
    }

    async fn analyze(&self) -> Result<(), PostgresFailure> {
        let session = self.sessions.take().await?;
        let client = session.client()?;
        client.batch_execute(ANALYZE).await?;
        session.give_back();
        Ok(())
    }
}

impl Postgres {
    fn caches(&self) -> SearchCaches<'_> {
        SearchCaches {
            vocabularies: &self.vocabularies,
            candidates: &self.candidates,
        }
    }

    fn asked<'q>(&self, question: &VectorQuery<'q>) -> SearchRequest<'q> {
        SearchRequest {
            collection: question.collection,
            query: question.query.parsed(),
            text: question.query.text(),
            most: question.most,
        }
    }

    /// Returns the number of chunks that the database offers for a question: the database's part of a search, without the
    /// scoring. For measuring.
    ///
    /// # Errors
    /// As [`VectorSearch::search`].
    pub fn offered(&self, question: &VectorQuery<'_>) -> Result<usize, StorageError> {
        let asked = self.asked(question);
        self.read(question.stop, async || {
            let session = self.sessions.take().await?;
            let offered = search::offered(session, &asked, &self.rules, self.caches()).await?;
            Ok(offered.ok_or(StorageError::CollectionNotFound)?.rows.len())
        })
    }
}

impl VectorSearch for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn state(&self, collection: &str) -> Result<BackendState, StorageError> {
        self.read_collection(collection, async |reading| {
            let state = reading.collection.state(&self.rules)?;
            reading.done().await?;
            Ok(state)
        })
    }

    fn search(&self, question: &VectorQuery<'_>) -> Result<LocatedHits, StorageError> {
        let asked = self.asked(question);
        self.read(question.stop, async || {
            let session = self.sessions.take().await?;
            let found = search::search(session, &asked, &self.rules, self.caches()).await?;
            Ok(found.ok_or(StorageError::CollectionNotFound)?)
        })
    }

    fn chunks_with(
        &self,
        collection: &str,
        digits: &str,
    ) -> Result<Vec<LocatedChunk>, StorageError> {
        let statement = format!(
            "SELECT {LOCATED} FROM sectile.chunk c WHERE c.collection = $1 AND c.digest BETWEEN $2 AND $3
            ORDER BY c.path, c.number LIMIT $4"
        );
        let range = digest_range(digits);
        self.read_collection(collection, async |reading| {
            let Some((first, last)) = &range else {
                reading.done().await?;
                return Ok(Vec::new());
            };
            let id = reading.collection.id;
            let rows = reading
                .last(&statement, &[&id, first, last, &SAME_DIGITS])
                .await?;
            rows.iter().map(rows::located).collect()
        })
    }

    fn entries(&self, collection: &str) -> Result<Vec<IndexedNotebook>, StorageError> {
        let statement =
            "SELECT path, stamp, digest FROM sectile.notebook WHERE collection = $1 ORDER BY path";
        self.read_collection(collection, async |reading| {
            let id = reading.collection.id;
            let rows = reading.last(statement, &[&id]).await?;
            rows.iter().map(rows::notebook).collect()
        })
    }

    fn ready(&self) -> Result<(), StorageError> {
        let asking = async {
            let session = self.sessions.take().await?;
            session.client()?.simple_query("SELECT 1").await?;
            session.give_back();
            Ok::<(), PostgresFailure>(())
        };
        let asking = async { asking.await.map_err(|failure| failure.error) };
        self.waiting.run(READY, &|| false, asking)
    }
}

/// A message to the writing side.
enum IndexWrite {
    Batch(Box<Batch>),
    /// There are no more batches; the word counts change by this much.
    Last(Box<TermChanges>),
}

/// Sends all changes for as long as the receiver accepts them. A receiver that stops has an error to report.
fn send_all(
    changes: &mut dyn Iterator<Item = Result<Change, StorageError>>,
    sender: &SyncSender<IndexWrite>,
    batch: usize,
) -> Result<(), StorageError> {
    let send = |part: IndexWrite| sender.send(part).is_ok();
    let mut preparing = BatchBuilder::new(batch);
    for change in changes {
        let before = preparing.push(change?).map_err(|failure| failure.error)?;
        if let Some(batch) = before
            && !send(IndexWrite::Batch(Box::new(batch)))
        {
            return Ok(());
        }
    }
    let (batch, terms) = preparing.finish();
    let _is_heard =
        send(IndexWrite::Batch(Box::new(batch))) && send(IndexWrite::Last(Box::new(terms)));
    Ok(())
}

/// Returns the least and the greatest digest that start with these hexadecimal digits.
fn digest_range(digits: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let filled = |with: char| {
        let missing = 64_usize.checked_sub(digits.len())?;
        let digest = format!("{digits}{}", with.to_string().repeat(missing));
        let digest = sectile_markdown::Digest::parse(&digest)?;
        Some(digest.as_bytes().to_vec())
    };
    let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    match digits.bytes().all(is_lower) {
        true => Some((filled('0')?, filled('f')?)),
        false => None,
    }
}

impl VectorIndexing for Postgres {
    fn prepare(&self) -> Result<(), StorageError> {
        self.write(async {
            let session = self.sessions.take().await?;
            schema::prepare(session).await
        })
    }

    fn update(
        &self,
        collection: &str,
        as_of: i64,
        is_new: bool,
        changes: &mut dyn Iterator<Item = Result<Change, StorageError>>,
    ) -> Result<BackendState, StorageError> {
        // Changes are prepared here while earlier ones are being written there.
        let (sender, receiver) = sync_channel::<IndexWrite>(1);
        thread::scope(|scope| {
            let write = move || self.write_all(collection, as_of, is_new, &receiver);
            let Ok(writing) = thread::Builder::new().spawn_scoped(scope, write) else {
                return Err(StorageError::failed(
                    "The system could not start a thread to write. Raise the limits on processes and memory, then try again.",
                ));
            };
            let sent = send_all(changes, &sender, self.rules.batch);
            drop(sender);
            let written = writing
                .join()
                .unwrap_or_else(|_| Err(StorageError::failed("Writing to PostgreSQL failed.")));
            match (sent, written) {
                // Changes that were not sent cannot have been written.
                (Err(problem), Err(StorageError::Cancelled)) => Err(problem),
                (_, written) => written,
            }
        })
    }

    fn remove(&self, collection: &str) -> Result<(), StorageError> {
        self.write(async {
            let session = self.sessions.take().await?;
            let found = update::begin(&session, collection).await?;
            if let Some(found) = &found {
                update::forget(&session, found.meaning).await?;
                update::clear(&session, found.id).await?;
            }
            session.done().await?;
            if found.is_some() {
                self.adjust_graphs(collection).await?;
            }
            Ok(())
        })
    }

    fn fill_tier<'a>(
        &'a self,
        collection: &'a str,
        model: &'a dyn Embedder,
    ) -> Result<Box<dyn TierFilling + 'a>, StorageError> {
        let session = self.write(async {
            let session = self.sessions.take().await?;
            filling::lock(&session, collection).await?;
            Ok(session)
        })?;
        Ok(Box::new(PostgresFilling {
            postgres: self,
            session,
            collection,
            model: model.fingerprint().as_bytes().to_vec(),
            kept: 0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_by_their_first_digits() {
        let (first, last) = digest_range("0a").unwrap();
        assert_eq!((first[0], first[1], last[0], last[1]), (10, 0, 10, 255));
        let (first, last) = digest_range("f").unwrap();
        assert_eq!((first[0], last[0]), (0xf0, 0xff));
        for digits in ["0A", "g", "\u{e9}", "'; DROP TABLE", &"0".repeat(65)] {
            assert_eq!(digest_range(digits), None);
        }
    }
}
