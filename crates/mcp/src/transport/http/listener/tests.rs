//! Connections as clients experience them, on a real port. Times that must pass are short; times that may pass are
//! long.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use axum::{Extension, body::Body, extract::State, routing::get};
use bytes::Bytes;
use futures::stream;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::{Notify, Semaphore as Gate},
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;

/// Longest wait for anything that must happen.
const PATIENCE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(100);

/// The state that the handlers share with the tests.
#[derive(Clone)]
struct Stage {
    /// Signals that a slow request has come.
    begun: Arc<Notify>,
    /// Lets slow requests end.
    end: Arc<Gate>,
}

struct TestServer {
    address: SocketAddr,
    stage: Stage,
    shutdown: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
}

fn settings() -> ListenerSettings {
    ListenerSettings {
        tls: None,
        max_connections: 64,
        max_connections_per_address: 64,
        trusted_proxies: Vec::new(),
        head_timeout: PATIENCE,
        max_head_bytes: 8192,
    }
}

fn app(stage: Stage) -> Router {
    let slow = async |State(stage): State<Stage>| {
        stage.begun.notify_one();
        let ended = stage.end.acquire().await;
        ended.map_or("closed", |_| "slow")
    };
    // An event stream: one event at once, one when it is told to end.
    let events = async |State(stage): State<Stage>| {
        let events = stream::unfold(0, move |event| {
            let stage = stage.clone();
            async move {
                if event == 1 {
                    stage.begun.notify_one();
                    stage.end.acquire().await.ok()?.forget();
                }
                let text = Bytes::from(format!("event {event}\n"));
                (event < 2).then_some((Ok::<_, Infallible>(text), event + 1))
            }
        });
        Body::from_stream(events)
    };
    let endless = async || {
        let zeros = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[0; 65536])));
        Body::from_stream(zeros)
    };
    Router::new()
        .route(
            "/peer",
            get(async |Extension(peer): Extension<SocketAddr>| peer.to_string()),
        )
        .route("/slow", get(slow))
        .route("/events", get(events))
        .route("/endless", get(endless))
        .with_state(stage)
}

impl TestServer {
    async fn start(settings: ListenerSettings, drain: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stage = Stage {
            begun: Arc::new(Notify::new()),
            end: Arc::new(Gate::new(0)),
        };
        let (app, shutdown) = (app(stage.clone()), CancellationToken::new());
        let stop = shutdown.clone();
        let serving =
            tokio::spawn(async move { serve(listener, app, &settings, &stop, drain).await });
        Self {
            address,
            stage,
            shutdown,
            serving,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ended(self) {
        let ended = timeout(PATIENCE, self.serving).await;
        ended.expect("the server ends").unwrap().unwrap();
    }
}

fn request(path: &str, more: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n").into_bytes()
}

/// Reads everything that comes until the server closes.
async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    // A connection that was reset has ended too.
    drop(read.expect("the server closes"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until `end` has come.
async fn until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let mut bytes = [0; 1024];
        let read = timeout(PATIENCE, stream.read(&mut bytes)).await.unwrap();
        let read = read.unwrap();
        assert_ne!(read, 0, "closed after {text:?}");
        text += std::str::from_utf8(&bytes[..read]).unwrap();
    }
    text
}

#[tokio::test]
async fn a_connection_serves_many_requests_and_knows_its_peer() {
    let server = TestServer::start(settings(), PATIENCE).await;
    let mut stream = server.connect().await;
    let own = stream.local_addr().unwrap().to_string();
    for _ in 0..3 {
        stream.write_all(&request("/peer", "")).await.unwrap();
        let answer = until(&mut stream, &own).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
    let last = request("/peer", "Connection: close\r\n");
    stream.write_all(&last).await.unwrap();
    assert!(rest(&mut stream).await.ends_with(&own));
}

#[tokio::test]
async fn whoever_is_slow_with_a_head_loses_the_connection() {
    let slow = ListenerSettings {
        head_timeout: SOON,
        ..settings()
    };
    let server = TestServer::start(slow, PATIENCE).await;
    for begun in ["", "GET /pe", "GET /peer HTTP/1.1\r\nHost: local"] {
        let mut stream = server.connect().await;
        let since = Instant::now();
        stream.write_all(begun.as_bytes()).await.unwrap();
        assert_eq!(rest(&mut stream).await, "", "{begun:?}");
        assert!(since.elapsed() >= SOON, "{begun:?}");
    }
    // One byte at a time makes no difference.
    let mut stream = server.connect().await;
    let (mut reading, mut writing) = stream.split();
    let drip = async {
        loop {
            if writing.write_all(b"G").await.is_err() {
                std::future::pending::<()>().await;
            }
            sleep(SOON / 10).await;
        }
    };
    tokio::select! {
        text = rest(&mut reading) => assert!(!text.contains("200"), "{text}"),
        () = drip => {}
    }
}

#[tokio::test]
async fn an_unused_connection_is_closed_but_not_one_whose_answer_still_comes() {
    let slow = ListenerSettings {
        head_timeout: SOON,
        ..settings()
    };
    let server = TestServer::start(slow, PATIENCE).await;
    let mut stream = server.connect().await;
    stream.write_all(&request("/events", "")).await.unwrap();
    until(&mut stream, "event 0").await;
    server.stage.begun.notified().await;
    sleep(5 * SOON).await;
    server.stage.end.add_permits(1);
    let text = until(&mut stream, "0\r\n\r\n").await;
    assert!(text.contains("event 1"), "{text}");
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = TestServer::start(settings(), PATIENCE).await;
    let padding =
        |bytes: usize| format!("X-Padding: {}\r\nConnection: close\r\n", "x".repeat(bytes));
    let many: String = (0..200)
        .map(|number| format!("X-{number}: 1\r\n"))
        .collect();
    let table = [
        (request("/peer", &padding(8000)), "HTTP/1.1 200 OK"),
        (request("/peer", &padding(8192)), "HTTP/1.1 431 "),
        (request("/peer", &padding(100_000)), "HTTP/1.1 431 "),
        (request("/peer", &many), "HTTP/1.1 431 "),
        // Never finished, and never longer than allowed.
        (vec![b'A'; 8192], "HTTP/1.1 431 "),
    ];
    for (head, expected) in table {
        let mut stream = server.connect().await;
        // The server need not read it all.
        let written = stream.write_all(&head).await;
        let answer = rest(&mut stream).await;
        let was_reset = answer.is_empty() && (written.is_err() || head.len() > 8192);
        let is_refusal = expected.contains("431");
        assert!(
            answer.starts_with(expected) || (is_refusal && was_reset),
            "{} bytes: {answer}",
            head.len()
        );
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_until_one_can_give_way() {
    let few = ListenerSettings {
        max_connections: 2,
        ..settings()
    };
    let server = TestServer::start(few, PATIENCE).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream.write_all(&request("/slow", "")).await.unwrap();
        server.stage.begun.notified().await;
        held.push(stream);
    }
    let mut third = server.connect().await;
    assert_eq!(rest(&mut third).await, "", "both have a request under way");
    // The open ones are not affected.
    server.stage.end.add_permits(2);
    for stream in &mut held {
        until(stream, "slow").await;
    }
    let mut third = server.connect().await;
    let last = request("/peer", "Connection: close\r\n");
    third.write_all(&last).await.unwrap();
    let answer = rest(&mut third).await;
    assert!(answer.contains("200 OK"), "{answer}");
    // It replaced the one that had been idle for longer.
    let mut ended = 0;
    for mut stream in held {
        let written = stream.write_all(&last).await;
        let answer = rest(&mut stream).await;
        ended += usize::from(written.is_err() || !answer.contains("200 OK"));
    }
    assert_eq!(ended, 1);
}

#[tokio::test]
async fn silent_connections_give_way_to_new_ones() {
    let few = ListenerSettings {
        max_connections: 4,
        ..settings()
    };
    let server = TestServer::start(few, PATIENCE).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(server.connect().await);
        let mut asks = server.connect().await;
        let last = request("/peer", "Connection: close\r\n");
        asks.write_all(&last).await.unwrap();
        let answer = rest(&mut asks).await;
        assert!(answer.contains("200 OK"), "{answer}");
    }
    // The first one was closed long ago.
    assert_eq!(rest(&mut silent[0]).await, "");
}

#[tokio::test]
async fn whoever_does_not_read_loses_the_connection() {
    let slow = ListenerSettings {
        max_connections: 1,
        head_timeout: SOON,
        ..settings()
    };
    let server = TestServer::start(slow, PATIENCE).await;
    let mut idle = server.connect().await;
    idle.write_all(&request("/endless", "")).await.unwrap();
    until(&mut idle, "200 OK").await;
    let next = async {
        loop {
            let mut stream = server.connect().await;
            // Refused while the other connection is open, and tried again.
            let last = request("/peer", "Connection: close\r\n");
            drop(stream.write_all(&last).await);
            if rest(&mut stream).await.contains("200 OK") {
                break;
            }
            sleep(SOON).await;
        }
    };
    timeout(PATIENCE, next)
        .await
        .expect("its place is free again");
    drop(idle);
}

#[tokio::test]
async fn at_the_end_open_requests_are_answered_and_idle_connections_closed() {
    let server = TestServer::start(settings(), PATIENCE).await;
    let mut idle = server.connect().await;
    idle.write_all(&request("/peer", "")).await.unwrap();
    until(&mut idle, "127.0.0.1").await;
    let mut busy = server.connect().await;
    busy.write_all(&request("/slow", "")).await.unwrap();
    server.stage.begun.notified().await;
    server.shutdown.cancel();
    assert_eq!(rest(&mut idle).await, "");
    let refused = async { while TcpStream::connect(server.address).await.is_ok() {} };
    timeout(PATIENCE, refused)
        .await
        .expect("nobody new comes in");
    assert!(!server.serving.is_finished());
    server.stage.end.add_permits(1);
    let answer = rest(&mut busy).await;
    assert!(answer.ends_with("slow"), "{answer}");
    server.ended().await;
}

#[tokio::test]
async fn a_request_that_does_not_end_is_given_up() {
    let server = TestServer::start(settings(), SOON).await;
    let mut stuck = server.connect().await;
    stuck.write_all(&request("/slow", "")).await.unwrap();
    server.stage.begun.notified().await;
    server.shutdown.cancel();
    assert_eq!(rest(&mut stuck).await, "");
    server.ended().await;
}

#[tokio::test]
async fn a_system_that_gives_no_connections_is_not_asked_all_the_time() {
    const OUT_OF_FILES: i32 = 24;
    let asked = AtomicUsize::new(0);
    let since = Instant::now();
    let accept = || async {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Err(io::ErrorKind::ConnectionAborted.into()),
            1..4 => Err(io::Error::from_raw_os_error(OUT_OF_FILES)),
            number => Ok(number),
        }
    };
    assert_eq!(persistently(accept).await, 4);
    assert!(since.elapsed() >= 7 * PAUSES[0]);
}

/// A certificate for `localhost`, signed with its own key.
struct Certificate {
    pem: String,
    key: String,
}

impl Certificate {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Self {
            pem: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        }
    }

    fn tls(&self) -> ServerTls {
        ServerTls::from_pem(&self.pem, &self.key).unwrap()
    }

    /// Connects, trusting this certificate alone.
    async fn connect(&self, server: &TestServer) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        let own = CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap();
        roots.add(own).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, server.connect().await).await
    }
}

#[tokio::test]
async fn encrypted_connections_work_and_a_new_certificate_counts_at_once() {
    let (old, new) = (Certificate::new(), Certificate::new());
    let live = Arc::new(LiveValue::new(old.tls()));
    let encrypted = ListenerSettings {
        tls: Some(Arc::clone(&live)),
        ..settings()
    };
    let server = TestServer::start(encrypted, PATIENCE).await;
    let mut open = old.connect(&server).await.unwrap();
    assert_eq!(open.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    open.write_all(&request("/peer", "")).await.unwrap();
    until(&mut open, "127.0.0.1").await;
    assert!(new.connect(&server).await.is_err());
    live.set(new.tls());
    assert!(old.connect(&server).await.is_err());
    let mut stream = new.connect(&server).await.unwrap();
    let last = request("/peer", "Connection: close\r\n");
    stream.write_all(&last).await.unwrap();
    assert!(rest(&mut stream).await.contains("200 OK"));
    // Open connections stay open.
    open.write_all(&request("/peer", "")).await.unwrap();
    until(&mut open, "127.0.0.1").await;
}

#[tokio::test]
async fn a_handshake_holds_up_nobody_but_its_client() {
    let certificate = Certificate::new();
    let encrypted = ListenerSettings {
        tls: Some(Arc::new(LiveValue::new(certificate.tls()))),
        ..settings()
    };
    let short = ListenerSettings {
        head_timeout: SOON,
        ..encrypted.clone()
    };
    let server = TestServer::start(encrypted, PATIENCE).await;
    let mut silent = server.connect().await;
    let mut plain = server.connect().await;
    plain.write_all(&request("/peer", "")).await.unwrap();
    assert!(!rest(&mut plain).await.contains("200"));
    let mut stream = certificate.connect(&server).await.unwrap();
    stream.write_all(&request("/peer", "")).await.unwrap();
    until(&mut stream, "127.0.0.1").await;
    drop(stream);
    // Shutdown does not wait for a handshake.
    server.shutdown.cancel();
    assert_eq!(rest(&mut silent).await, "");
    server.ended().await;

    let server = TestServer::start(short, PATIENCE).await;
    let mut silent = server.connect().await;
    assert_eq!(rest(&mut silent).await, "");
}

#[test]
fn certificate_and_key_must_be_whole_and_fit() {
    let (one, other) = (Certificate::new(), Certificate::new());
    let damaged = |pem: &str| pem.replacen("\nMI", "\n!!", 1);
    let table = [
        (one.pem.as_str(), other.key.as_str(), "does not match"),
        ("", &one.key, "no certificate"),
        ("some text", &one.key, "no certificate"),
        (&one.key, &one.key, "no certificate"),
        (&one.pem, "", "no private key"),
        (&one.pem, &one.pem, "no private key"),
        (&damaged(&one.pem), &one.key, "certificate is damaged"),
        (&one.pem, &damaged(&one.key), "key is damaged"),
    ];
    for (pem, key, expected) in table {
        let refused = ServerTls::from_pem(pem, key).err().expect(expected);
        assert!(refused.contains(expected), "{refused}");
    }
    let chain = format!("{}{}", one.pem, other.pem);
    assert!(ServerTls::from_pem(&chain, &one.key).is_ok());
    // Key and certificate in one file.
    let both = format!("{}{}", one.key, one.pem);
    assert!(ServerTls::from_pem(&both, &both).is_ok());
}

#[test]
fn a_key_may_be_written_in_the_older_form() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let whole = made.signing_key.serialize_der();
    // PKCS#8 wraps the older form (SEC1) in an octet string of 109 bytes.
    let start = whole
        .windows(3)
        .position(|three| three == [0x04, 0x6d, 0x30]);
    let inner = STANDARD.encode(&whole[start.unwrap() + 2..]);
    let pem = format!("-----BEGIN EC PRIVATE KEY-----\n{inner}\n-----END EC PRIVATE KEY-----\n");
    assert!(ServerTls::from_pem(&made.cert.pem(), &pem).is_ok());
}
