//! PostgreSQL, through a real client.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use sectile_test_servers::Postgres;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::{Client, Config, Error, NoTls, config::SslMode, error::SqlState};

const ENCRYPT: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

pub(crate) async fn connect(url: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub(crate) async fn value(client: &Client, statement: &str) -> Result<String, Error> {
    let row = client.query_one(statement, &[]).await?;
    Ok(row.get(0))
}

#[tokio::test]
async fn a_plain_role_uses_vectors() {
    let postgres = Postgres::start();
    postgres.create_database("an \"odd\" name");
    postgres.create_role("reader", "it's/secret");
    postgres.sql("an \"odd\" name", "CREATE EXTENSION vector");
    let url = postgres.url("reader", "it's/secret", "an \"odd\" name");
    let client = connect(&url).await.unwrap();
    let version = value(&client, "SHOW server_version").await.unwrap();
    assert!(version.starts_with("18."), "{version}");
    let vector = value(&client, "SELECT '[1,2]'::vector::text").await;
    assert_eq!(vector.unwrap(), "[1,2]");
    let distance = value(&client, "SELECT ('[1,2]'::vector <=> '[1,2]')::text").await;
    assert_eq!(distance.unwrap(), "0");
    let powers = "SELECT concat(rolsuper, rolbypassrls, rolcreatedb, rolcreaterole)
                  FROM pg_roles WHERE rolname = current_user";
    assert_eq!(value(&client, powers).await.unwrap(), "ffff");
}

#[tokio::test]
async fn a_wrong_password_is_refused() {
    let postgres = Postgres::start();
    let wrong = postgres.url("postgres", "wrong", "postgres");
    let error = connect(&wrong).await.err().unwrap();
    assert_eq!(error.code(), Some(&SqlState::INVALID_PASSWORD));
    connect(&postgres.admin_url()).await.unwrap();
}

#[tokio::test]
async fn a_restart_keeps_data_and_port() {
    let mut postgres = Postgres::start();
    let url = postgres.admin_url();
    let before = connect(&url).await.unwrap();
    let table = "CREATE TABLE kept (text text); INSERT INTO kept VALUES ('yes')";
    before.batch_execute(table).await.unwrap();
    postgres.stop();
    assert!(value(&before, "SELECT 'still there'").await.is_err());
    assert!(connect(&url).await.is_err());
    postgres.start_again();
    assert_eq!(postgres.admin_url(), url);
    let after = connect(&url).await.unwrap();
    assert_eq!(value(&after, "SELECT text FROM kept").await.unwrap(), "yes");
}

#[tokio::test]
async fn what_was_committed_survives_a_kill() {
    let mut postgres = Postgres::start();
    let url = postgres.admin_url();
    for round in 0..3 {
        let client = connect(&url).await.unwrap();
        let table = format!("CREATE TABLE kept{round} AS SELECT 'yes' AS text");
        client.batch_execute(&table).await.unwrap();
        client
            .batch_execute("BEGIN; CREATE TABLE lost (text text)")
            .await
            .unwrap();
        postgres.kill();
        assert!(has_ended(&client).await);
        postgres.start_again();
        let after = connect(&url).await.unwrap();
        let kept = value(&after, &format!("SELECT text FROM kept{round}")).await;
        assert_eq!(kept.unwrap(), "yes");
        let lost = value(&after, "SELECT to_regclass('lost') IS NULL || ''").await;
        assert_eq!(lost.unwrap(), "true");
    }
}

/// Waits for a session of a killed server to end: its process notices by itself that its parent is gone, and may answer
/// once more before it does.
async fn has_ended(client: &Client) -> bool {
    for _ in 0..1_000 {
        if value(client, "SELECT 'still there'").await.is_err() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn encrypted_connections_and_no_others() {
    let mut postgres = Postgres::start_with_tls();
    let url = postgres.admin_url();
    assert!(url.ends_with("?sslmode=require"), "{url}");
    for _ in 0..2 {
        assert_eq!(value_by_tls(&postgres, "SELECT 'safe'").await, "safe");
        let mut plain: Config = url.parse().unwrap();
        plain.ssl_mode(SslMode::Disable);
        let error = plain.connect(NoTls).await.err().unwrap();
        let code = Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        assert_eq!(error.code(), code, "{error}");
        postgres.stop();
        assert!(TcpStream::connect(postgres.address()).await.is_err());
        postgres.start_again();
    }
}

async fn value_by_tls(postgres: &Postgres, statement: &str) -> String {
    let pem = postgres.certificate_pem().unwrap();
    let mut trusted = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    trusted.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let mut stream = TcpStream::connect(postgres.address()).await.unwrap();
    stream.write_all(&ENCRYPT).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), b'S');
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = connector.connect(name, stream).await.unwrap();
    let mut config: Config = postgres.admin_url().parse().unwrap();
    // It is encrypted already.
    config.ssl_mode(SslMode::Disable);
    let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap();
    tokio::spawn(connection);
    value(&client, statement).await.unwrap()
}

#[tokio::test]
async fn two_do_not_know_each_other() {
    let (one, two) = (Postgres::start(), Postgres::start());
    assert_ne!(one.port(), two.port());
    one.create_database("mine");
    connect(&one.admin_url_of("mine")).await.unwrap();
    let error = connect(&two.admin_url_of("mine")).await.err().unwrap();
    assert_eq!(error.code(), Some(&SqlState::INVALID_CATALOG_NAME));
}
