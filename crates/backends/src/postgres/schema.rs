//! The versions of the schema, and the migrations between them.

use super::{
    failure::{PostgresFailure, PostgresFailureKind},
    session::Session,
};

/// A schema and its versions.
pub(super) struct SchemaHistory {
    /// Its name.
    pub(super) name: &'static str,
    /// The statements that lead from each version to the next, the first from an empty database.
    pub(super) migrations: &'static [&'static str],
    /// The advisory lock held while the schema changes.
    pub(super) lock: i64,
    /// The message for a database without the schema, or with an incomplete one.
    pub(super) missing: &'static str,
    /// The message for a schema that is older than the program.
    pub(super) older: &'static str,
    /// The message for a user that may not create the schema.
    pub(super) no_right: &'static str,
}

/// The schema of the index.
const INDEX: SchemaHistory = SchemaHistory {
    name: "sectile",
    migrations: MIGRATIONS,
    lock: 0x5345_4354_494c_4501,
    missing: MISSING,
    older: OLDER,
    no_right: NO_RIGHT,
};

/// The statements that lead from each version of the index to the next, the first from an empty database.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
];

/// The message for a database without the schema, or with an incomplete one.
pub(super) const MISSING: &str = "The database has no Sectile index, or an incomplete one. Run \
    `sectile notebook index --to postgres` to create it.";
const OLDER: &str = "The schema in the database is older than this program. Run `sectile notebook index --to postgres` to \
    migrate it.";
const NEWER: &str = "The schema in the database is newer than this program. Use the newer program.";
const NO_EXTENSION: &str = "The PostgreSQL extension `vector` is missing from this database, and \
    this user cannot add it. An administrator must install pgvector 0.7 or newer and run `CREATE \
    EXTENSION vector` in this database.";
const OLD_EXTENSION: &str = "The PostgreSQL extension `vector` is too old, or in a schema that \
    this user cannot see. An administrator must run `ALTER EXTENSION vector UPDATE` (0.7 or newer \
    is required), or add its schema to the `search_path` of the user.";
const NO_RIGHT: &str = "This user may not create a schema in the database. An administrator must \
    run `GRANT CREATE ON DATABASE` for it, or create a schema `sectile` that belongs to it.";

/// Checks that this program can use a version of the index.
pub(super) fn check(version: Option<i32>) -> Result<(), PostgresFailure> {
    INDEX.check(version)
}

/// Returns a better explanation of a failure that the schema of the index may have caused.
pub(super) async fn explained(session: &Session, failure: PostgresFailure) -> PostgresFailure {
    INDEX.explained(session, failure).await
}

/// Migrates the schema of the index to its newest version, or leaves everything unchanged.
pub(super) async fn prepare(session: Session) -> Result<(), PostgresFailure> {
    INDEX.begin(&session).await?;
    extension(&session).await?;
    INDEX.migrate(session).await
}

impl SchemaHistory {
    /// Returns the newest version.
    fn newest(&self) -> i32 {
        i32::try_from(self.migrations.len()).unwrap_or(i32::MAX)
    }

    /// Checks that this program can use a version of the schema.
    pub(super) fn check(&self, version: Option<i32>) -> Result<(), PostgresFailure> {
        match version {
            None => Err(PostgresFailure::other(self.missing)),
            Some(version) if version < self.newest() => Err(PostgresFailure::other(self.older)),
            Some(version) if version > self.newest() => Err(PostgresFailure::other(NEWER)),
            Some(_) => Ok(()),
        }
    }

    /// Returns a better explanation of a failure that the schema may have caused.
    pub(super) async fn explained(
        &self,
        session: &Session,
        failure: PostgresFailure,
    ) -> PostgresFailure {
        if failure.kind != PostgresFailureKind::Schema {
            return failure;
        }
        let version = async {
            session.client()?.batch_execute("ROLLBACK").await?;
            self.version(session).await
        };
        match version.await {
            Ok(version) => self.check(version).err().unwrap_or(failure),
            Err(_) => failure,
        }
    }

    /// Returns the version of the schema in the database.
    async fn version(&self, session: &Session) -> Result<Option<i32>, PostgresFailure> {
        let client = session.client()?;
        let exists = format!("SELECT to_regclass('{}.migration') IS NOT NULL", self.name);
        let exists = client.query_one(&exists, &[]).await?;
        if !exists.try_get::<_, bool>(0)? {
            return Ok(None);
        }
        let version = client.query_one(&self.version_query(), &[]).await?;
        Ok(version.try_get(0)?)
    }

    /// Returns the query for the version of the schema.
    pub(super) fn version_query(&self) -> String {
        format!("SELECT max(version) FROM {}.migration", self.name)
    }

    /// Returns the statement with which a transaction that writes waits for a migration, and keeps others from beginning one
    /// until it ends. The version that it reads after that is the one that it writes to.
    pub(super) fn hold(&self) -> String {
        format!("SELECT pg_advisory_xact_lock_shared({})", self.lock)
    }

    /// Begins the transaction that migrates the schema.
    pub(super) async fn begin(&self, session: &Session) -> Result<(), PostgresFailure> {
        let client = session.client()?;
        client
            .batch_execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'")
            .await?;
        client
            .execute("SELECT pg_advisory_xact_lock($1)", &[&self.lock])
            .await?;
        Ok(())
    }

    /// Migrates the schema to its newest version, and commits.
    pub(super) async fn migrate(&self, session: Session) -> Result<(), PostgresFailure> {
        let client = session.client()?;
        let name = self.name;
        let there = format!("SELECT to_regnamespace('{name}') IS NOT NULL");
        let there = client.query_one(&there, &[]).await?;
        if !there.try_get::<_, bool>(0)? {
            let made = client.batch_execute(&format!("CREATE SCHEMA {name}")).await;
            made.map_err(|error| privileged(error, self.no_right))?;
        }
        let from = match self.version(&session).await? {
            Some(version) if version > self.newest() => return Err(PostgresFailure::other(NEWER)),
            Some(version) => usize::try_from(version).unwrap_or_default(),
            None => {
                let table = format!(
                    "CREATE TABLE IF NOT EXISTS {name}.migration (
                        version integer PRIMARY KEY,
                        applied_at timestamptz NOT NULL DEFAULT now()
                    )"
                );
                client.batch_execute(&table).await?;
                0
            }
        };
        let applied = format!("INSERT INTO {name}.migration (version) VALUES ($1)");
        for (version, migration) in (1_i32..).zip(self.migrations).skip(from) {
            client.batch_execute(migration).await?;
            client.execute(&applied, &[&version]).await?;
        }
        session.done().await
    }
}

async fn extension(session: &Session) -> Result<(), PostgresFailure> {
    let client = session.client()?;
    let there = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')";
    if !client.query_one(there, &[]).await?.try_get::<_, bool>(0)? {
        let made = client
            .batch_execute("CREATE EXTENSION IF NOT EXISTS vector")
            .await;
        made.map_err(|error| match error.code() {
            Some(_) => PostgresFailure::other(NO_EXTENSION),
            None => PostgresFailure::from(error),
        })?;
    }
    let usable = "SELECT to_regtype('halfvec') IS NOT NULL";
    match client.query_one(usable, &[]).await?.try_get(0)? {
        true => Ok(()),
        false => Err(PostgresFailure::other(OLD_EXTENSION)),
    }
}

fn privileged(error: tokio_postgres::Error, message: &str) -> PostgresFailure {
    match error.code().map(|code| code.code()) {
        Some("42501") => PostgresFailure::other(message),
        _ => PostgresFailure::from(error),
    }
}
