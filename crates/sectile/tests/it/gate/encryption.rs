//! Encrypted connections, with a certificate that can be replaced while the server runs.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName},
};

use super::{beside, good_call, signal, token_of, tokens_settings};
use crate::fixture::{Era, Http, PATIENCE, TOKEN_SECRET, TestVault, sectile, wait_for};

const ERA: Era = Era::Stateless;

/// Writes a new certificate and its key beside the settings, and gives the certificate.
fn certify(vault: &TestVault) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    beside(vault, "certificate.pem", &made.cert.pem());
    beside(vault, "key.pem", &made.signing_key.serialize_pem());
    made.cert.der().clone()
}

/// What the server answers a client that trusts only `certificate`, if they agree.
fn ask(server: &Http<'_>, certificate: &CertificateDer<'static>, request: &str) -> Option<String> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(client, socket);
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // Not everybody says goodbye.
    drop(stream.read_to_end(&mut answer));
    Some(String::from_utf8_lossy(&answer).into_owned()).filter(|answer| !answer.is_empty())
}

fn request() -> String {
    let body = good_call(ERA).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: {}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: get_note_outline\r\n\
         Content-Length: {}\r\n\r\n{body}",
        token_of("ada", "viewer"),
        body.len()
    )
}

fn settings() -> String {
    tokens_settings() + "[server.http]\ntls_certificate = 'certificate.pem'\ntls_key = 'key.pem'\n"
}

#[test]
fn calls_work_encrypted_and_a_new_certificate_counts_from_then_on() {
    let vault = TestVault::sample();
    beside(&vault, "token-secret", TOKEN_SECRET);
    let first = certify(&vault);
    let config = vault.config(&settings());
    let mut server = Http::start_with(&vault, Some(&config), &[]);
    let answer = ask(&server, &first, &request()).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"isError\":false"), "{answer}");

    let mut plain = TcpStream::connect(server.address()).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    plain.write_all(request().as_bytes()).unwrap();
    let mut bytes = Vec::new();
    drop(plain.read_to_end(&mut bytes));
    assert!(!String::from_utf8_lossy(&bytes).contains("HTTP/1.1 200"));

    let second = certify(&vault);
    assert!(
        ask(&server, &second, &request()).is_none(),
        "it is not read yet"
    );
    signal(&mut server, "-HUP");
    let answer = wait_for("the new certificate", || ask(&server, &second, &request()));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(ask(&server, &first, &request()).is_none());
}

#[test]
fn a_key_that_does_not_fit_keeps_the_server_from_starting() {
    let vault = TestVault::sample();
    beside(&vault, "token-secret", TOKEN_SECRET);
    certify(&vault);
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    beside(&vault, "key.pem", &other.signing_key.serialize_pem());
    for (case, text) in [
        ("another key", None),
        ("no key", Some("")),
        ("no PEM", Some("x")),
    ] {
        if let Some(text) = text {
            beside(&vault, "key.pem", text);
        }
        let config = vault.config(&settings());
        let output = sectile()
            .args(["serve", "vault"])
            .arg(vault.root())
            .args(["--http", "127.0.0.1:0", "--config"])
            .arg(config)
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && log.contains("tls"),
            "{case}: {log}"
        );
        assert!(!log.contains("PRIVATE"), "{case}: {log}");
    }
}
