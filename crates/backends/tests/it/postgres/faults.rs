//! Faults: each yields a sentence that says what to do, and never discloses a secret.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use sectile_backends::{BlockingRuntime, Postgres, PostgresSettings};
use sectile_library::{
    SearchQuery, StorageError, VectorIndexing as _, VectorQuery, VectorSearch as _, tiers::Models,
};
use sectile_markdown::Digest;
use sectile_retrieval::{Embedder, EmbeddingReader, MeaningWeight};
use sectile_test_servers::{Fault, Postgres as Server, Proxy};

use super::fixture::{
    DATABASE, Home, PASSWORD, ROLE, ask, found, load, model, models, notebooks, open, put, puts,
    update,
};

/// Checks a message, and that it discloses nothing.
#[track_caller]
fn assert_says<T: std::fmt::Debug>(result: Result<T, StorageError>, words: &str) {
    let said = result.unwrap_err().to_string();
    assert!(said.contains(words), "{said}");
    for secret in [ROLE, PASSWORD, DATABASE, "127.0.0.1", "SELECT", "nobody"] {
        assert!(!said.contains(secret), "{secret} in: {said}");
    }
}

fn with_url(url: &str) -> Postgres {
    let mut settings = PostgresSettings::new(url);
    settings.connect_timeout = Duration::from_secs(2);
    open(&settings)
}

#[test]
fn what_cannot_be_connected_says_why() {
    let home = Home::new();
    home.prepared();
    let server = &home.server;
    let wrong = with_url(&server.url(ROLE, "wrong", DATABASE));
    assert_says(wrong.ready(), "refused the user");
    assert_says(ask(&wrong, "docs", "cats", 5), "refused the user");
    assert_says(wrong.prepare(), "refused the user");
    let missing = with_url(&server.url(ROLE, PASSWORD, "nowhere"));
    assert_says(missing.state("docs"), "database does not exist");
    let nobody = with_url("postgres://nobody@127.0.0.1:1/x");
    assert_says(nobody.state("docs"), "cannot be reached");
    let silent = Proxy::to(server.address());
    silent.set(Fault::Hang);
    let hanging = with_url(&server.url_at(silent.address(), ROLE, PASSWORD, DATABASE));
    let start = Instant::now();
    assert_says(hanging.state("docs"), "cannot be reached");
    assert!(start.elapsed() < Duration::from_secs(6));
    let without = server.url(ROLE, PASSWORD, DATABASE);
    let without = without.replace(&format!(":{}@", PASSWORD.replace('\'', "%27")), "@");
    assert_says(with_url(&without).ready(), "requires credentials");
    let mut settings = PostgresSettings::new(without);
    settings.password = Some(PASSWORD.to_owned());
    open(&settings).ready().unwrap();
    for wrong in ["postgres://[", "user=x dbname=y", "nonsense"] {
        let made = Postgres::new(
            &PostgresSettings::new(wrong),
            BlockingRuntime::new().unwrap(),
            models(),
        );
        assert_says(made.map(drop), "The PostgreSQL connection string");
    }
}

#[test]
fn a_schema_that_is_missing_older_or_newer() {
    let home = Home::new();
    let postgres = home.open();
    for result in [
        postgres.state("docs").map(drop),
        ask(&postgres, "docs", "cats", 5).map(drop),
        postgres.entries("docs").map(drop),
        update(&postgres, "docs", true, vec![]).map(drop),
        postgres.remove("docs"),
    ] {
        assert_says(result, "Run `sectile notebook index --to postgres`");
    }
    postgres.prepare().unwrap();
    postgres.prepare().unwrap();
    load(&postgres, "docs", &notebooks(0..3));
    home.sql("INSERT INTO sectile.migration VALUES (999)");
    for result in [
        postgres.prepare(),
        ask(&postgres, "docs", "cats", 5).map(drop),
        update(&postgres, "docs", true, vec![]).map(drop),
    ] {
        assert_says(result, "newer than this program");
    }
    home.sql(
        "DELETE FROM sectile.migration WHERE version > 0; INSERT INTO sectile.migration VALUES (0)",
    );
    for result in [
        ask(&postgres, "docs", "cats", 5).map(drop),
        update(&postgres, "docs", true, vec![]).map(drop),
    ] {
        assert_says(result, "older than this program");
    }
}

#[test]
fn rights_and_extensions_that_are_missing() {
    let home = Home::new();
    let role = |database: &str| {
        open(&PostgresSettings::new(
            home.server.url(ROLE, PASSWORD, database),
        ))
    };
    home.server.create_database("bare");
    assert_says(role("bare").prepare(), "run `CREATE EXTENSION vector`");
    home.server.sql("bare", "CREATE EXTENSION vector");
    assert_says(role("bare").prepare(), "may not create a schema");
    home.server
        .sql("bare", "CREATE SCHEMA sectile AUTHORIZATION writer");
    role("bare").prepare().unwrap();
    // A role that may only read can search, and nothing else.
    load(&role("bare"), "docs", &notebooks(0..30));
    home.server.create_role("reader", "pass");
    let reader = open(&PostgresSettings::new(
        home.server.url("reader", "pass", "bare"),
    ));
    assert_says(reader.state("docs"), "grant");
    let grants = "GRANT USAGE ON SCHEMA sectile TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA sectile TO reader";
    home.server.sql("bare", grants);
    assert!(!found(&reader, "docs", "water").is_empty());
    assert_says(
        update(&reader, "docs", false, vec![put("x.md", &[])]),
        "grant",
    );
}

#[test]
fn a_migration_that_fails_or_is_killed_leaves_nothing() {
    let mut home = Home::new();
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'sectile'";
    home.sql("CREATE SCHEMA sectile AUTHORIZATION writer; CREATE TABLE sectile.posting ()");
    assert!(home.open().prepare().is_err());
    assert_eq!(home.sql(tables), "1");
    // Every step takes a while, and the server is killed in the middle.
    home.sql(
        "DROP TABLE sectile.posting;
        CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); END';
        CREATE EVENT TRIGGER slow ON ddl_command_end EXECUTE FUNCTION slow()",
    );
    let postgres = home.open();
    thread::scope(|scope| {
        let preparing = scope.spawn(|| postgres.prepare());
        thread::sleep(Duration::from_millis(1_500));
        home.server.kill();
        assert_says(preparing.join().unwrap(), "PostgreSQL");
    });
    home.server.start_again();
    assert_eq!(home.sql(tables), "0");
    home.sql("DROP EVENT TRIGGER slow");
    postgres.prepare().unwrap();
    load(&postgres, "docs", &notebooks(0..30));
}

#[test]
fn several_prepare_at_once() {
    let home = Home::new();
    thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| home.open().prepare()))
            .collect();
        for one in all {
            one.join().unwrap().unwrap();
        }
    });
    assert_eq!(home.sql("SELECT count(*) FROM sectile.migration"), "3");
}

#[test]
fn a_restart_between_two_searches_goes_unnoticed() {
    let mut home = Home::new();
    let postgres = home.prepared();
    load(&postgres, "docs", &notebooks(0..30));
    let before = found(&postgres, "docs", "water gauge");
    home.server.stop();
    assert_says(ask(&postgres, "docs", "water", 5), "PostgreSQL");
    home.server.start_again();
    assert_eq!(found(&postgres, "docs", "water gauge"), before);
    home.server.kill();
    home.server.start_again();
    assert_eq!(found(&postgres, "docs", "water gauge"), before);
    // Connections that were cut without notice.
    home.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'writer'");
    assert_eq!(found(&postgres, "docs", "water gauge"), before);
}

#[test]
fn an_update_that_is_killed_leaves_the_old_state() {
    let mut home = Home::new();
    let postgres = home.prepared();
    load(&postgres, "docs", &notebooks(0..30));
    let before = found(&postgres, "docs", "water gauge");
    for is_new in [false, true] {
        let many = puts(&notebooks(30..1_500));
        // Some thousand rows have been written by then.
        let mut changes = many.into_iter().enumerate().map(|(number, change)| {
            if number == 480 {
                home.server.kill();
            }
            Ok(change)
        });
        let result = postgres.update("docs", 43, is_new, &mut changes);
        assert_says(result, "PostgreSQL");
        drop(changes);
        home.server.start_again();
        assert_eq!(found(&postgres, "docs", "water gauge"), before);
        let state = postgres.state("docs").unwrap();
        assert_eq!((state.chunks, state.as_of), (30, 42));
    }
    // The collection can be written again at once.
    update(&postgres, "docs", false, puts(&notebooks(30..60))).unwrap();
    assert_eq!(postgres.state("docs").unwrap().chunks, 60);
}

/// Makes reading chunks very slow.
fn slow_down(home: &Home) {
    home.sql(
        "CREATE FUNCTION public.slow() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN true; END';
        CREATE POLICY slow ON sectile.chunk AS RESTRICTIVE FOR SELECT USING (public.slow())",
    );
}

/// Returns the number of running statements of the role.
fn running(home: &Home) -> String {
    home.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'writer' AND state = 'active'")
}

#[track_caller]
fn assert_nothing_runs(home: &Home) {
    let is_idle = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        running(home) == "0"
    });
    assert!(is_idle, "still running");
}

#[test]
fn a_statement_that_takes_too_long_is_ended() {
    let home = Home::new();
    load(&home.prepared(), "docs", &notebooks(0..30));
    slow_down(&home);
    let mut settings = home.settings();
    settings.statement_timeout = Duration::from_millis(300);
    let postgres = open(&settings);
    let start = Instant::now();
    assert_says(ask(&postgres, "docs", "water", 5), "took longer");
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_nothing_runs(&home);
    // The connection can be used by others.
    postgres.entries("docs").unwrap();
}

#[test]
fn what_nobody_waits_for_is_cancelled_in_the_database() {
    let home = Home::new();
    let postgres = home.prepared();
    load(&postgres, "docs", &notebooks(0..30));
    slow_down(&home);
    let is_gone = AtomicBool::new(false);
    thread::scope(|scope| {
        let searching = scope.spawn(|| {
            postgres.search(&VectorQuery {
                collection: "docs",
                query: &SearchQuery::parse("water").unwrap(),
                most: 5,
                stop: &|| is_gone.load(Ordering::Relaxed),
            })
        });
        while running(&home) == "0" {
            thread::sleep(Duration::from_millis(10));
        }
        is_gone.store(true, Ordering::Relaxed);
        let result = searching.join().unwrap();
        assert_eq!(result.unwrap_err(), StorageError::Cancelled);
    });
    assert_nothing_runs(&home);
    postgres.entries("docs").unwrap();
}

#[test]
fn a_connection_that_is_cut_in_the_middle_is_tried_again() {
    let home = Home::new();
    load(&home.prepared(), "docs", &notebooks(0..300));
    let proxy = Proxy::to(home.server.address());
    let url = home
        .server
        .url_at(proxy.address(), ROLE, PASSWORD, DATABASE);
    let postgres = with_url(&url);
    let expected = found(&postgres, "docs", "water gauge");
    let (after, times) = (20_000, 1);
    proxy.set(Fault::Cut { after, times });
    assert_eq!(found(&postgres, "docs", "water gauge"), expected);
    let times = 9;
    proxy.set(Fault::Cut { after, times });
    assert_says(
        ask(&postgres, "docs", "water gauge", 5),
        "connection to PostgreSQL broke",
    );
    proxy.set(Fault::Pass);
    assert_eq!(found(&postgres, "docs", "water gauge"), expected);
}

/// A model under another name.
struct OtherModel;

impl Embedder for OtherModel {
    fn name(&self) -> &str {
        "other"
    }

    fn fingerprint(&self) -> Digest {
        Digest::of(b"other")
    }

    fn dimensions(&self) -> usize {
        model().dimensions()
    }

    fn weight(&self) -> MeaningWeight {
        model().weight()
    }

    fn reader(&self) -> Box<dyn EmbeddingReader + '_> {
        model().reader()
    }
}

#[test]
fn an_index_of_another_model_is_refused() {
    let home = Home::new();
    let postgres = home.prepared();
    load(&postgres, "docs", &notebooks(0..30));
    let other = Postgres::new(
        &home.settings(),
        BlockingRuntime::new().unwrap(),
        Models {
            first: &OtherModel,
            ..models()
        },
    )
    .unwrap();
    for result in [
        other.state("docs").map(drop),
        ask(&other, "docs", "water", 5).map(drop),
        other.entries("docs").map(drop),
        update(&other, "docs", false, vec![put("x.md", &[])]).map(drop),
    ] {
        assert!(
            matches!(result, Err(StorageError::OtherRules { .. })),
            "{result:?}"
        );
        assert_says(result, "another model");
    }
    assert_eq!(postgres.state("docs").unwrap().chunks, 30);
    // A rebuilt index belongs to them.
    load(&other, "docs", &notebooks(0..3));
    assert_eq!(other.state("docs").unwrap().chunks, 3);
    assert_says(postgres.state("docs"), "another model");
}

#[test]
fn encryption_is_verified() {
    let server = Server::start_with_tls();
    let pem = server.certificate_pem().unwrap().to_owned();
    let home = Home::of(server);
    let url = home.server.url(ROLE, PASSWORD, DATABASE);
    assert!(url.contains("sslmode=require"));
    assert_says(with_url(&url).ready(), "encrypted");
    let mut settings = PostgresSettings::new(&url);
    settings.extra_roots = Some(pem.clone());
    let postgres = open(&settings);
    postgres.prepare().unwrap();
    load(&postgres, "docs", &notebooks(0..30));
    assert!(!found(&postgres, "docs", "water").is_empty());
    // The server accepts no unencrypted connection.
    assert_says(
        with_url(&url.replace("require", "disable")).ready(),
        "encryption",
    );
    // The right authority, but a host that the certificate does not cover.
    settings.connection = url.replace("127.0.0.1", "127.0.0.2");
    assert!(open(&settings).ready().is_err());
    settings.extra_roots = Some("no certificate".to_owned());
    let made = Postgres::new(&settings, BlockingRuntime::new().unwrap(), models());
    assert_says(made.map(drop), "certificates");
    // A server without encryption is refused if encryption is required.
    let plain = Home::new();
    let url = format!(
        "{}?sslmode=require",
        plain.server.url(ROLE, PASSWORD, DATABASE)
    );
    assert_says(with_url(&url).ready(), "encrypted");
}
