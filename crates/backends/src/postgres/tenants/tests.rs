//! Tables of another version: what this program does beside a newer one, and what a migration leaves that does not end.

use std::{thread, time::Duration};

use sectile_library::tenants::{CopiedFile, FileWrite, LogChange, TenantCommit};
use sectile_test_servers::{Fault, Postgres as Server, Proxy};

use super::*;

const NEVER: &dyn Fn() -> bool = &|| false;
const DATABASE: &str = "desks";
const ROLE: &str = "writer";
const PASSWORD: &str = "secret";
const TENANT: &str = "acme";

/// A program of the next version, whose migration changes what is there, takes a while, and changes more.
const NEWER: SchemaHistory = SchemaHistory {
    migrations: &[
        include_str!("0001.sql"),
        "ALTER TABLE sectile_desk.file ADD COLUMN author text;
        SELECT set_config('sectile.tenant', 'acme', true);
        UPDATE sectile_desk.tenant SET revision = revision + 1000;
        SELECT pg_sleep(1.5);
        DROP TABLE sectile_desk.made;
        CREATE TABLE sectile_desk.addition (tenant text)",
    ],
    ..SCHEMA
};

/// Everything that the tables hold, and their columns.
const CONTENTS: &str = "SELECT string_agg(c.table_name || '.' || c.column_name, ' ' ORDER BY c.table_name, c.column_name)
        FROM information_schema.columns c WHERE c.table_schema = 'sectile_desk';
    SELECT * FROM sectile_desk.tenant ORDER BY 1; SELECT * FROM sectile_desk.file ORDER BY 1, 2;
    SELECT * FROM sectile_desk.log ORDER BY 1, 2; SELECT * FROM sectile_desk.log_part ORDER BY 1, 2, 3;
    SELECT * FROM sectile_desk.made ORDER BY 1, 2; SELECT version FROM sectile_desk.migration ORDER BY 1";

struct Home {
    server: Server,
    proxy: Proxy,
}

impl Home {
    /// A server, with a proxy in front of it, and a store on it with a tenant of one commit.
    fn new() -> (Self, PostgresTenants, TenantRevision) {
        let server = Server::start();
        server.create_role(ROLE, PASSWORD);
        server.create_database(DATABASE);
        server.sql("postgres", "GRANT CREATE ON DATABASE desks TO writer");
        let proxy = Proxy::to(server.address());
        let home = Self { server, proxy };
        let store = home.store();
        store.prepare().unwrap();
        store.create(TENANT).unwrap();
        let base = store.revision(TENANT, NEVER).unwrap();
        let revision = made(store.commit(TENANT, &base, &change("first")));
        (home, store, revision)
    }

    fn store(&self) -> PostgresTenants {
        let url = self
            .server
            .url_at(self.proxy.address(), ROLE, PASSWORD, DATABASE);
        PostgresTenants::new(&PostgresSettings::new(url), BlockingRuntime::new().unwrap()).unwrap()
    }

    fn sql(&self, statements: &str) -> String {
        self.server.sql(DATABASE, statements)
    }

    /// Waits until a query returns `expected`.
    fn wait_for(&self, query: &str, expected: &str) {
        for _ in 0..3_000 {
            if self.sql(query) == expected {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{query} did not become {expected}");
    }
}

fn change(id: &str) -> TenantCommit {
    let text = format!("# {id}\n").into_bytes();
    let state = CopiedFile {
        digest: Digest::of(&text),
        bytes: text.len() as u64,
        modified: 1_000,
    };
    TenantCommit {
        id: id.to_owned(),
        files: vec![FileWrite {
            path: NotePath::parse_vault("a.md").unwrap(),
            content: Some((state, text)),
        }],
        logs: vec![(LogName::Journal, LogChange::Append(id.as_bytes().to_vec()))],
    }
}

#[track_caller]
fn made(outcome: Result<TenantCommitOutcome, TenantError>) -> TenantRevision {
    match outcome {
        Ok(TenantCommitOutcome::Committed(revision)) => revision,
        other => panic!("{other:?}"),
    }
}

/// Migrates as a program of the next version does.
fn migrate(store: &PostgresTenants) -> Result<(), String> {
    let work = async {
        let session = store.sessions.take().await?;
        NEWER.begin(&session).await?;
        NEWER.migrate(session).await
    };
    let work = async { work.await.map_err(|failure: PostgresFailure| failure.error) };
    let done = store.waiting.run(LARGE, NEVER, work);
    done.map_err(|error| error.to_string())
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, impl Into<TenantError>>) {
    let error = outcome.map_err(Into::into).unwrap_err();
    assert!(
        matches!(&error, TenantError::Storage(_))
            && error.to_string().contains("newer than this program"),
        "{error:?}"
    );
}

/// Nothing that a program does reads or writes tables of a newer version.
fn check_refused(home: &Home, store: &PostgresTenants, revision: &TenantRevision) {
    let contents = CONTENTS.replace("SELECT * FROM sectile_desk.made ORDER BY 1, 2;", "");
    let before = home.sql(&contents);
    let path = NotePath::parse_vault("a.md").unwrap();
    for store in [store, &home.store()] {
        assert_refused(store.commit(TENANT, revision, &change("refused")));
        assert_refused(store.revision(TENANT, NEVER));
        assert_refused(store.update(TENANT, &KnownTenant::default(), NEVER));
        assert_refused(store.read(TENANT, &[(path.clone(), Digest::of(b""))], NEVER));
        assert_refused(store.create("another"));
        assert_refused(store.create(TENANT));
        assert_refused(store.remove(TENANT, NEVER));
        assert_refused(store.tenants(NEVER));
        assert_refused(store.ready());
        assert_refused(store.prepare());
    }
    assert_eq!(home.sql(&contents), before);
}

#[test]
fn a_newer_version_of_the_tables_is_refused_by_running_programs_too() {
    let (home, store, revision) = Home::new();
    // The same tables by another number, in which everything would work.
    home.sql("INSERT INTO sectile_desk.migration (version) VALUES (2)");
    check_refused(&home, &store, &revision);
    home.sql("DELETE FROM sectile_desk.migration WHERE version = 2");
    made(store.commit(TENANT, &revision, &change("second")));
    // Tables that lack what this program asks for.
    migrate(&store).unwrap();
    check_refused(&home, &store, &revision);
}

#[test]
fn a_commit_waits_for_a_migration_and_a_migration_for_a_commit() {
    let (home, store, revision) = Home::new();
    let lock = SCHEMA.lock;
    // Ends as soon as somebody waits for it.
    let migration = format!(
        "SET statement_timeout = '60s'; BEGIN; SELECT pg_advisory_xact_lock({lock});
        INSERT INTO sectile_desk.migration (version) VALUES (2);
        DO $$ BEGIN
            WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) LOOP
                PERFORM pg_sleep(0.01);
            END LOOP;
        END $$; COMMIT"
    );
    thread::scope(|scope| {
        let migrating = scope.spawn(|| home.sql(&migration));
        let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
        home.wait_for(held, "1");
        assert_refused(store.commit(TENANT, &revision, &change("refused")));
        migrating.join().unwrap();
    });
    home.sql("DELETE FROM sectile_desk.migration WHERE version = 2");
    let is_free = format!("SELECT pg_try_advisory_xact_lock({lock})");
    let held = async {
        let session = store.sessions.take().await.map_err(|one| one.error)?;
        let begun = begin(&session, TENANT, TransactionMode::Write).await;
        begun.map_err(|failure| failure.error)?;
        assert_eq!(home.sql(&is_free), "f");
        session.done().await.map_err(|failure| failure.error)
    };
    store.waiting.run(LARGE, NEVER, held).unwrap();
    assert_eq!(home.sql(&is_free), "t");
    made(store.commit(TENANT, &revision, &change("second")));
}

#[test]
fn a_migration_that_is_cut_off_leaves_the_old_tables_in_use() {
    const SLEEPS: &str =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'writer' AND wait_event = 'PgSleep'";
    const BUSY: &str = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE a.usename = 'writer' AND l.locktype = 'advisory'";
    let (mut home, store, mut revision) = Home::new();
    let before = home.sql(CONTENTS);
    for way in ["killed", "terminated", "cut"] {
        let migrating = home.store();
        let error = thread::scope(|scope| {
            let migrating = scope.spawn(|| migrate(&migrating));
            home.wait_for(SLEEPS, "1");
            match way {
                "killed" => home.server.kill(),
                "terminated" => drop(home.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'writer'",
                )),
                _ => home.proxy.set(Fault::Refuse),
            }
            migrating.join().unwrap().unwrap_err()
        });
        assert!(error.contains("PostgreSQL"), "{way}: {error}");
        if way == "killed" {
            home.server.start_again();
        }
        home.proxy.set(Fault::Pass);
        // A server that lost its client notices when it has something to say.
        home.wait_for(BUSY, "0");
        if way == "killed" {
            assert_eq!(home.sql(CONTENTS), before, "{way}");
        }
        store.ready().unwrap();
        assert_eq!(store.revision(TENANT, NEVER).unwrap(), revision, "{way}");
        revision = made(store.commit(TENANT, &revision, &change(way)));
        let update = store
            .update(TENANT, &KnownTenant::default(), NEVER)
            .unwrap();
        assert_eq!(update.files.len(), 1);
        assert_eq!(update.revision, revision);
    }
    let columns = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(columns(&home.sql(CONTENTS)), columns(&before));
    migrate(&home.store()).unwrap();
    check_refused(&home, &store, &revision);
    let kept = home.sql("SELECT revision FROM sectile_desk.tenant");
    assert_eq!(kept, (revision.number + 1_000).to_string());
}
