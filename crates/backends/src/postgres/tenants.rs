//! The folders of tenants in PostgreSQL: a commit is one transaction with its files and the lines of its journal.

mod commit;
mod read;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sectile_library::{
    StorageError,
    tenants::{
        KnownTenant, LogName, TenantCommit, TenantCommitOutcome, TenantError, TenantRevision,
        TenantStore, TenantSummary, TenantUpdate, is_tenant_name,
    },
};
use sectile_markdown::{Digest, NotePath};
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::{
    READY,
    failure::{PostgresFailure, PostgresFailureKind},
    schema::SchemaHistory,
    session::{Session, Sessions},
};
use crate::{BlockingRuntime, PostgresSettings};

/// The schema of the tenants.
const SCHEMA: SchemaHistory = SchemaHistory {
    name: "sectile_desk",
    migrations: &[include_str!("tenants/0001.sql")],
    lock: 0x5345_4354_494c_4502,
    missing: "The database has no tables for tenants. Run `sectile tenant create NAME` to create them with the first tenant.",
    older: "The tables for tenants are older than this program. Run `sectile tenant create NAME` or `sectile tenant prepare` to migrate them.",
    no_right: "This user may not create a schema in the database. An administrator must run `GRANT CREATE ON DATABASE` \
        for it, or create a schema `sectile_desk` that belongs to it.",
};
/// The time for reading the files of a tenant, or a large commit.
const LARGE: Duration = Duration::from_secs(120);

/// The folders of tenants in PostgreSQL. Connections are opened lazily.
pub struct PostgresTenants {
    sessions: Sessions,
    waiting: BlockingRuntime,
    /// The time for a request that is answered with a few rows.
    limit: Duration,
}

impl PostgresTenants {
    /// Creates the store. Of the settings, those of the connection count.
    ///
    /// # Errors
    /// When the connection string is invalid, or the certificates are.
    pub fn new(
        settings: &PostgresSettings,
        waiting: BlockingRuntime,
    ) -> Result<Self, StorageError> {
        Ok(Self {
            sessions: Sessions::new(settings)?,
            waiting,
            limit: settings.connect_timeout + settings.statement_timeout,
        })
    }

    /// Does work that can be repeated: once more on another connection if the first turns out to be dead.
    fn run<T>(
        &self,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        work: impl AsyncFn(Session) -> Result<T, TenantFailure>,
    ) -> Result<T, TenantError> {
        let mut is_again = false;
        loop {
            let work = async {
                let done = match self.sessions.take().await {
                    Ok(session) => work(session).await,
                    Err(failure) => Err(failure.into()),
                };
                Ok(done)
            };
            match self.waiting.run(limit, stop, work)? {
                Ok(done) => return Ok(done),
                Err(TenantFailure::Postgres(failure))
                    if failure.kind == PostgresFailureKind::Broken && !is_again =>
                {
                    is_again = true;
                    self.sessions.forget();
                }
                Err(TenantFailure::Postgres(failure)) => {
                    return Err(self.explained(failure, stop).into());
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// Returns a better explanation of a failure that the version of the schema may have caused.
    fn explained(&self, failure: PostgresFailure, stop: &dyn Fn() -> bool) -> TenantFailure {
        if failure.kind != PostgresFailureKind::Schema {
            return failure.into();
        }
        let asking = async {
            Ok(match self.sessions.take().await {
                Ok(session) => {
                    let explained = SCHEMA.explained(&session, failure).await;
                    session.give_back();
                    explained
                }
                Err(failure) => failure,
            })
        };
        match self.waiting.run(self.limit, stop, asking) {
            Ok(explained) => explained.into(),
            Err(error) => TenantError::Storage(error).into(),
        }
    }
}

/// The reason why a request about a tenant failed.
enum TenantFailure {
    Postgres(PostgresFailure),
    Tenant(TenantError),
}

impl From<PostgresFailure> for TenantFailure {
    fn from(failure: PostgresFailure) -> Self {
        Self::Postgres(failure)
    }
}

impl From<tokio_postgres::Error> for TenantFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error.into())
    }
}

impl From<TenantError> for TenantFailure {
    fn from(error: TenantError) -> Self {
        Self::Tenant(error)
    }
}

impl From<TenantFailure> for TenantError {
    fn from(failure: TenantFailure) -> Self {
        match failure {
            TenantFailure::Tenant(error) => error,
            TenantFailure::Postgres(failure) if failure.kind == PostgresFailureKind::Schema => {
                Self::Storage(StorageError::failed(SCHEMA.missing))
            }
            TenantFailure::Postgres(failure) => Self::Storage(failure.error),
        }
    }
}

/// Returns a tenant's name, which can be written into a statement as it is.
fn checked(tenant: &str) -> Result<&str, TenantError> {
    match is_tenant_name(tenant) {
        true => Ok(tenant),
        false => Err(TenantError::NotFound),
    }
}

/// Returns the statement that names the tenant of a transaction.
fn naming(tenant: &str) -> String {
    format!("SELECT set_config('sectile.tenant', '{tenant}', true)")
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionMode {
    /// It reads one state.
    Read,
    /// It writes.
    Write,
}

/// Begins a transaction in which only this tenant is visible. Fails if the tables are not those of this program's version; a
/// transaction that writes keeps them at that version.
async fn begin(
    session: &Session,
    tenant: &str,
    mode: TransactionMode,
) -> Result<(), PostgresFailure> {
    let (mode, hold) = match mode {
        TransactionMode::Read => ("ISOLATION LEVEL REPEATABLE READ READ ONLY", String::new()),
        TransactionMode::Write => ("", SCHEMA.hold() + ";"),
    };
    let statements = format!(
        "BEGIN {mode}; {hold} {}; {}",
        naming(tenant),
        SCHEMA.version_query()
    );
    let messages = session.client()?.simple_query(&statements).await?;
    let version = last_row(&messages).and_then(|row| row.get(0));
    SCHEMA.check(version.and_then(|version| version.parse().ok()))
}

/// Returns the last row of an answer.
fn last_row(messages: &[SimpleQueryMessage]) -> Option<&SimpleQueryRow> {
    messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    })
}

fn damaged() -> TenantFailure {
    PostgresFailure::other(
        "The tables for tenants hold something that this program did not write. Restore them from a backup.",
    )
    .into()
}

fn log_name(name: &str) -> Result<LogName, TenantFailure> {
    let mut logs = LogName::ALL.into_iter();
    logs.find(|log| log.file() == name).ok_or_else(damaged)
}

fn unsigned(number: i64) -> Result<u64, TenantFailure> {
    u64::try_from(number).map_err(|_| damaged())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the number of the first revision of a tenant: greater than any that an earlier tenant of this name had, unless it
/// had a thousand commits each second.
fn first_revision() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or_default()
}

impl TenantStore for PostgresTenants {
    fn kind(&self) -> &'static str {
        "database"
    }

    fn prepare(&self) -> Result<(), StorageError> {
        let work = async {
            let session = self.sessions.take().await?;
            SCHEMA.begin(&session).await?;
            SCHEMA.migrate(session).await
        };
        let work = async { work.await.map_err(|failure: PostgresFailure| failure.error) };
        self.waiting.run(LARGE, &|| false, work)
    }

    fn ready(&self) -> Result<(), StorageError> {
        let asking = async {
            let session = self.sessions.take().await?;
            let version = session
                .client()?
                .query_one(&SCHEMA.version_query(), &[])
                .await;
            match version.map_err(PostgresFailure::from) {
                Ok(row) => SCHEMA.check(row.try_get(0)?)?,
                Err(failure) => return Err(SCHEMA.explained(&session, failure).await),
            }
            session.give_back();
            Ok::<(), PostgresFailure>(())
        };
        let asking = async { asking.await.map_err(|failure| failure.error) };
        self.waiting.run(READY, &|| false, asking)
    }

    fn tenants(&self, stop: &dyn Fn() -> bool) -> Result<Vec<TenantSummary>, StorageError> {
        let listed = self.run(LARGE, stop, async |session| {
            begin(&session, "*", TransactionMode::Read).await?;
            let all = "SELECT name, revision, files, bytes FROM sectile_desk.tenant ORDER BY name";
            let rows = session.client()?.query(all, &[]).await?;
            session.done().await?;
            let mut tenants = Vec::new();
            for row in rows {
                tenants.push(TenantSummary {
                    name: row.try_get(0)?,
                    revision: unsigned(row.try_get(1)?)?,
                    files: unsigned(row.try_get(2)?)?,
                    bytes: unsigned(row.try_get(3)?)?,
                });
            }
            Ok(tenants)
        });
        listed.map_err(|error| match error {
            TenantError::Storage(error) => error,
            other => StorageError::failed(other.to_string()),
        })
    }

    fn create(&self, tenant: &str) -> Result<(), TenantError> {
        let tenant = checked(tenant)?;
        let revision = first_revision();
        self.run(self.limit, &|| false, async |session| {
            begin(&session, tenant, TransactionMode::Write).await?;
            let insert =
                "INSERT INTO sectile_desk.tenant (name, revision, commit, known_from, files, bytes)
                VALUES ($1, $2, $3, $2, 0, 0) ON CONFLICT DO NOTHING";
            // A copy of the new tenant follows from here, too.
            let remember =
                "INSERT INTO sectile_desk.made (tenant, revision, commit) VALUES ($1, $2, $3)";
            let id = format!("created-{revision}");
            let client = session.client()?;
            let made = client.execute(insert, &[&tenant, &revision, &id]).await?;
            if made > 0 {
                client.execute(remember, &[&tenant, &revision, &id]).await?;
            }
            session.done().await?;
            match made {
                0 => Err(TenantError::Exists.into()),
                _ => Ok(()),
            }
        })
    }

    fn remove(&self, tenant: &str, stop: &dyn Fn() -> bool) -> Result<(), TenantError> {
        let tenant = checked(tenant)?;
        self.run(LARGE, stop, async |session| {
            begin(&session, tenant, TransactionMode::Write).await?;
            let delete = "DELETE FROM sectile_desk.tenant WHERE name = $1";
            let removed = session.client()?.execute(delete, &[&tenant]).await?;
            session.done().await?;
            match removed {
                0 => Err(TenantError::NotFound.into()),
                _ => Ok(()),
            }
        })
    }

    fn revision(
        &self,
        tenant: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantRevision, TenantError> {
        let tenant = checked(tenant)?;
        // Both statements are one transaction and one round trip.
        let statements = format!(
            "{}; SELECT m.version, t.revision, t.commit FROM ({}) m (version)
                LEFT JOIN sectile_desk.tenant t ON t.name = '{tenant}'",
            naming(tenant),
            SCHEMA.version_query()
        );
        self.run(self.limit, stop, async |session| {
            let messages = session.client()?.simple_query(&statements).await?;
            session.give_back();
            let row = last_row(&messages).ok_or_else(damaged)?;
            SCHEMA.check(row.get(0).and_then(|version| version.parse().ok()))?;
            let commit = row.get(2).ok_or(TenantError::NotFound)?;
            let number = row.get(1).and_then(|number| number.parse().ok());
            Ok(TenantRevision {
                number: number.ok_or_else(damaged)?,
                commit: commit.to_owned(),
            })
        })
    }

    fn update(
        &self,
        tenant: &str,
        known: &KnownTenant,
        stop: &dyn Fn() -> bool,
    ) -> Result<TenantUpdate, TenantError> {
        let tenant = checked(tenant)?;
        self.run(LARGE, stop, async |session| {
            read::update(session, tenant, known).await
        })
    }

    fn read(
        &self,
        tenant: &str,
        files: &[(NotePath, Digest)],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<Vec<u8>>>, TenantError> {
        let tenant = checked(tenant)?;
        self.run(LARGE, stop, async |session| {
            read::read(session, tenant, files).await
        })
    }

    fn commit(
        &self,
        tenant: &str,
        base: &TenantRevision,
        commit: &TenantCommit,
    ) -> Result<TenantCommitOutcome, TenantError> {
        let tenant = checked(tenant)?;
        self.commit_surely(tenant, base, commit)
    }

    /// What is not needed any more is removed with the commits themselves.
    fn clean(&self, _: &str, _: u64, _: &dyn Fn() -> bool) -> Result<u64, TenantError> {
        Ok(0)
    }
}
