//! The bytes on the wire, and the outcome of every answer, with servers that write raw bytes.

/// Answers that are ambiguous or unrequested.
mod shifts;

use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use http::HeaderValue;

use super::*;

const CERTIFICATE: &str = include_str!("../test_data/tls/certificate.pem");
const KEY: &str = include_str!("../test_data/tls/key.pem");
const HI: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// Any stream of bytes in both directions.
trait Stream: std::io::Read + std::io::Write {}
impl<T: std::io::Read + std::io::Write> Stream for T {}

/// A server that keeps the heads of the requests it received.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request with what `answer` writes, given the number of earlier requests. The connection is closed when
    /// `answer` says so.
    fn new(
        answer: impl Fn(usize, &mut dyn Stream) -> Then + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |heads, mut stream| converse(heads, &mut stream, &answer))
    }

    fn start(
        handle: impl Fn(&Mutex<Vec<String>>, TcpStream) + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            heads: Arc::default(),
            connections: Arc::default(),
        };
        let (heads, connections) = (Arc::clone(&server.heads), Arc::clone(&server.connections));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (heads, handle) = (Arc::clone(&heads), handle.clone());
                connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || handle(&heads, stream.unwrap()));
            }
        });
        server
    }

    /// Answers every request with `bytes`, then closes.
    fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::new(move |_, stream| {
            // The client may have disconnected before the end, which some tests are about.
            drop(stream.write_all(&bytes));
            Then::Close
        })
    }

    fn target(&self, path: &str) -> BaseUrl {
        BaseUrl::parse(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

#[derive(PartialEq)]
enum Then {
    Keep,
    Close,
}

fn converse(
    heads: &Mutex<Vec<String>>,
    stream: &mut dyn Stream,
    answer: &dyn Fn(usize, &mut dyn Stream) -> Then,
) {
    while let Some(head) = read_head(stream) {
        let before = {
            let mut heads = heads.lock().unwrap();
            heads.push(head);
            heads.len() - 1
        };
        if answer(before, stream) == Then::Close {
            return;
        }
    }
}

fn read_head(stream: &mut dyn Stream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}

fn settings() -> ClientSettings {
    ClientSettings {
        connect_timeout: Duration::from_secs(60),
        timeout: Duration::from_secs(60),
        max_body_bytes: 1000,
        proxy: None,
        extra_roots: None,
    }
}

fn client() -> Client {
    Client::new(settings()).unwrap()
}

async fn get(server: &Server) -> Result<Reply, ClientError> {
    client()
        .get(&server.target(""), "/", HeaderMap::new())
        .await
}

/// Lets every runnable task run, and the thread of a server too.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[test]
fn targets_are_plain_urls() {
    for url in [
        "http://localhost",
        "http://localhost/",
        "https://store.example:8443/base/path",
        "http://127.0.0.1:1",
        "http://[::1]:80/x",
        "HTTPS://store.example",
    ] {
        assert!(BaseUrl::parse(url).is_ok(), "{url}");
    }
    for url in [
        "",
        "/",
        "store.example",
        "store.example:80",
        "//store.example/x",
        "ftp://store.example/",
        "file:///etc/passwd",
        "unix:/run/store",
        "http://",
        "http:///path",
        "http://user@store.example/",
        "http://user:word@store.example/",
        "http://@store.example/",
        "http://store.example/?",
        "http://store.example/?a=b",
        "http://store.example/#",
        "http://store.example/#part",
        "http://store.example:/",
        "http://store.example:0/",
        "http://store.example:70000/",
        "http://store.example:port/",
        "http://store example/",
        "http://store.example/a b",
        "http://store.example/\r\nx: y",
        " http://store.example/",
    ] {
        assert!(BaseUrl::parse(url).is_err(), "{url}");
    }
    let shown = format!("{:?}", BaseUrl::parse("http://secret.example/").unwrap());
    assert!(!shown.contains("secret"));
}

#[tokio::test]
async fn the_request_is_sent_byte_for_byte() {
    let server =
        Server::saying("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi");
    let mut headers = HeaderMap::new();
    headers.insert("x-vault-id", HeaderValue::from_static("v one"));
    headers.insert("authorization", HeaderValue::from_static("Bearer abc"));
    let cases = [
        ("", "", "/"),
        ("/", "", "/"),
        ("/context", "", "/context"),
        ("/context/", "", "/context/"),
        ("", "/", "/"),
        ("", "/notes/a.md", "/notes/a.md"),
        ("/", "/notes/a.md", "/notes/a.md"),
        ("/base", "/notes", "/base/notes"),
        ("/base/", "/notes", "/base/notes"),
        ("/base", "?x=1", "/base?x=1"),
        ("/base", "/./a/../b//c", "/base/./a/../b//c"),
        ("", "/.", "/."),
        ("", "/..", "/.."),
        (
            "",
            "/%2e%2E/%2F%00?a=%20&b=/../",
            "/%2e%2E/%2F%00?a=%20&b=/../",
        ),
        (
            "",
            "/a%3Fb%23c;d=e,f:g@h!$'()*+",
            "/a%3Fb%23c;d=e,f:g@h!$'()*+",
        ),
    ];
    let client = client();
    for (base, given, sent) in cases {
        let reply = client
            .get(&server.target(base), given, headers.clone())
            .await
            .unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(&reply.body[..], b"hi");
        let port = server.port;
        let head = format!(
            "GET {sent} HTTP/1.1\r\nx-vault-id: v one\r\nauthorization: Bearer abc\r\nhost: 127.0.0.1:{port}\r\n\r\n"
        );
        assert_eq!(server.heads().pop(), Some(head));
    }
    assert_eq!(server.heads().len(), cases.len());
    for given in ["notes", "/a#b", "/a b", "/a\r\nx: y", "/a\u{0}"] {
        let answer = client
            .get(&server.target(""), given, HeaderMap::new())
            .await;
        assert_eq!(answer.unwrap_err(), ClientError::Unreachable, "{given:?}");
    }
    assert_eq!(server.heads().len(), cases.len());
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let target = BaseUrl::parse(&url).unwrap();
    let answer = client().get(&target, "/", HeaderMap::new()).await;
    assert_eq!(answer.unwrap_err(), ClientError::Unreachable);
}

#[tokio::test]
async fn a_connection_that_does_not_get_ready_in_time_is_unreachable() {
    // It is accepted, but nobody speaks TLS.
    let server = Server::start(|_, stream| {
        thread::park();
        drop(stream);
    });
    let mut settings = settings();
    settings.connect_timeout = Duration::from_millis(50);
    let target = BaseUrl::parse(&format!("https://127.0.0.1:{}", server.port)).unwrap();
    let client = Client::new(settings).unwrap();
    let answer = client.get(&target, "/", HeaderMap::new()).await;
    assert_eq!(answer.unwrap_err(), ClientError::Unreachable);
}

#[tokio::test]
async fn the_time_limit_covers_head_and_body() {
    let beginnings = [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ];
    for beginning in beginnings {
        let server = Server::new(move |_, stream| {
            stream.write_all(beginning.as_bytes()).unwrap();
            thread::park();
            Then::Close
        });
        let mut settings = settings();
        settings.timeout = Duration::from_millis(200);
        let client = Client::new(settings).unwrap();
        let answer = client.get(&server.target(""), "/", HeaderMap::new()).await;
        assert_eq!(answer.unwrap_err(), ClientError::TimedOut, "{beginning:?}");
    }
}

#[tokio::test]
async fn a_body_that_drips_is_cut_off_by_the_time_limit() {
    let server = Server::new(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
            .unwrap();
        while stream.write_all(b".").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
        Then::Close
    });
    let mut settings = settings();
    settings.timeout = Duration::from_millis(300);
    let client = Client::new(settings).unwrap();
    let answer = client.get(&server.target(""), "/", HeaderMap::new()).await;
    assert_eq!(answer.unwrap_err(), ClientError::TimedOut);
}

#[tokio::test]
async fn what_is_no_whole_answer_is_broken() {
    let endless_head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1_000_000));
    let cases = [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "no HTTP at all\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 99999 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfo",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfour\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nfour\r\n",
        "\u{16}\u{3}\u{1}",
        &endless_head,
    ];
    for bytes in cases {
        let server = Server::saying(bytes);
        let answer = get(&server).await;
        let shown = &bytes[..bytes.len().min(80)];
        let error = answer.err();
        assert_eq!(error, Some(ClientError::Broken), "{shown:?}");
        assert_eq!(server.heads().len(), 1, "{shown:?} was asked for again");
    }
}

#[tokio::test]
async fn bodies_are_taken_up_to_their_limit() {
    let sized = |bytes: usize| {
        let body = "x".repeat(bytes);
        format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n{body}")
    };
    let chunked = |chunks: &[usize]| {
        let chunks: String = chunks
            .iter()
            .map(|&bytes| format!("{bytes:x}\r\n{}\r\n", "x".repeat(bytes)))
            .collect();
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
    };
    let until_the_end = |bytes: usize| format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(bytes));
    let taken = [
        (sized(0), 0),
        (sized(1000), 1000),
        (chunked(&[]), 0),
        (chunked(&[1; 300]), 300),
        (chunked(&[400, 600]), 1000),
        (until_the_end(1000), 1000),
    ];
    for (bytes, length) in taken {
        let reply = get(&Server::saying(bytes)).await.unwrap();
        assert_eq!(reply.body, vec![b'x'; length]);
    }
    let announced = "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551000\r\n\r\n";
    let refused = [
        sized(1001),
        announced.to_owned(),
        chunked(&[1001]),
        chunked(&[999, 2]),
        chunked(&[600, 400, 1]),
        until_the_end(100_000),
    ];
    for bytes in refused {
        let answer = get(&Server::saying(bytes.clone())).await;
        let shown = &bytes[..50];
        let error = answer.err();
        assert_eq!(error, Some(ClientError::TooLarge), "{shown:?}");
    }
}

#[tokio::test]
async fn bodies_come_as_they_are_or_not_at_all() {
    let cases = [
        ("content-encoding: identity", Ok(())),
        ("content-encoding: Identity, identity", Ok(())),
        ("content-encoding:", Ok(())),
        ("content-encoding: gzip", Err(ClientError::Encoded)),
        ("content-encoding: identity, br", Err(ClientError::Encoded)),
        (
            "content-encoding: identity\r\ncontent-encoding: zstd",
            Err(ClientError::Encoded),
        ),
        ("content-encoding: \u{fc}", Err(ClientError::Encoded)),
    ];
    for (header, expected) in cases {
        let bytes = format!("HTTP/1.1 200 OK\r\n{header}\r\ncontent-length: 2\r\n\r\nhi");
        let answer = get(&Server::saying(bytes)).await;
        assert_eq!(answer.map(|_| ()), expected, "{header}");
    }
    let bytes = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    let answer = get(&Server::saying(bytes)).await;
    assert_eq!(answer.unwrap_err(), ClientError::Encoded);
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any_other() {
    let other = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    for status in [301, 302, 303, 307, 308] {
        let port = other.port;
        let location = format!("http://127.0.0.1:{port}/");
        let server = Server::saying(format!(
            "HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 4\r\n\r\nthen"
        ));
        let reply = get(&server).await.unwrap();
        assert_eq!(reply.status.as_u16(), status);
        assert!(reply.body.is_empty());
        assert_eq!(server.heads().len(), 1);
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn cookies_are_not_kept_and_connections_are() {
    let server = Server::new(|before, stream| {
        let status = if before % 2 == 0 { 200 } else { 404 };
        let answer =
            format!("HTTP/1.1 {status} X\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\nhi");
        stream.write_all(answer.as_bytes()).unwrap();
        Then::Keep
    });
    let client = client();
    for status in [200, 404, 200, 404, 200] {
        let reply = client
            .get(&server.target(""), "/", HeaderMap::new())
            .await
            .unwrap();
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(reply.body.len(), if status == 200 { 2 } else { 0 });
        settle().await;
    }
    assert_eq!(server.heads().len(), 5);
    assert!(server.heads().iter().all(|head| !head.contains("cookie")));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_short_failure_does_not_cost_the_connection() {
    const TIMES: usize = 20;
    let server = Server::new(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\n\r\n")
            .unwrap();
        // The body arrives after the head was inspected.
        thread::sleep(Duration::from_millis(5));
        match stream.write_all(b"nothing") {
            Ok(()) => Then::Keep,
            Err(_) => Then::Close,
        }
    });
    let client = client();
    for _ in 0..TIMES {
        let reply = client
            .get(&server.target(""), "/", HeaderMap::new())
            .await
            .unwrap();
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Not exactly one, because a very busy machine may be too slow now and then.
    assert!(server.connections() <= TIMES / 2);
}

#[tokio::test]
async fn the_body_of_a_failure_is_not_waited_for() {
    let bodies = [
        "content-length: 5\r\n\r\n",
        "content-length: 18446744073709551000\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n5\r\n",
        "content-encoding: gzip\r\ncontent-length: 9\r\n\r\n",
    ];
    for body in bodies {
        let server = Server::new(move |_, stream| {
            let head = format!("HTTP/1.1 503 Busy\r\n{body}");
            stream.write_all(head.as_bytes()).unwrap();
            thread::park();
            Then::Close
        });
        let reply = get(&server).await.unwrap();
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[tokio::test]
async fn a_request_that_was_read_is_never_sent_again() {
    // Also on a reused connection, where libraries tend to retry.
    let server = Server::new(|before, stream| {
        if before == 0 {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            return Then::Keep;
        }
        Then::Close
    });
    let client = client();
    let target = server.target("");
    let first = client.get(&target, "/", HeaderMap::new()).await;
    assert_eq!(first.unwrap().status, StatusCode::OK);
    settle().await;
    let second = client.get(&target, "/", HeaderMap::new()).await;
    assert_eq!(second.unwrap_err(), ClientError::Broken);
    settle().await;
    assert_eq!(server.connections(), 1);
    assert_eq!(server.heads().len(), 2);
}

#[tokio::test]
async fn a_connection_that_died_idle_is_replaced() {
    let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    let client = client();
    for asked in 1..=3 {
        let reply = client
            .get(&server.target(""), "/", HeaderMap::new())
            .await
            .unwrap();
        assert_eq!(&reply.body[..], b"hi");
        settle().await;
        assert_eq!(server.heads().len(), asked);
        assert_eq!(server.connections(), asked);
    }
}

#[tokio::test]
async fn a_proxy_is_told_the_whole_address() {
    let proxy = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    let mut settings = settings();
    settings.proxy = Some(format!("http://127.0.0.1:{}", proxy.port).parse().unwrap());
    let client = Client::new(settings).unwrap();
    let target = BaseUrl::parse("http://store.example:81/base").unwrap();
    let reply = client
        .get(&target, "/./%2e?q", HeaderMap::new())
        .await
        .unwrap();
    assert_eq!(&reply.body[..], b"hi");
    let head =
        "GET http://store.example:81/base/./%2e?q HTTP/1.1\r\nhost: store.example:81\r\n\r\n";
    assert_eq!(proxy.heads(), [head]);
}

/// A server that first answers a plain request with `hello`, if given, and then speaks TLS: `answer` makes each answer from
/// the number of earlier requests.
fn encrypted(hello: Option<&'static str>, answer: fn(usize) -> String) -> Server {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    let certificates = CertificateDer::pem_slice_iter(CERTIFICATE.as_bytes());
    let certificates = certificates.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let config = Arc::new(config);
    Server::start(move |heads, mut stream| {
        if let Some(hello) = hello {
            let head = read_head(&mut stream).unwrap();
            heads.lock().unwrap().push(head);
            stream.write_all(hello.as_bytes()).unwrap();
        }
        let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        converse(heads, &mut stream, &|before, stream| {
            stream.write_all(answer(before).as_bytes()).unwrap();
            stream.flush().unwrap();
            Then::Keep
        });
    })
}

#[tokio::test]
async fn only_certificates_that_are_trusted_are_talked_to() {
    let server = encrypted(None, |_| HI.to_owned());
    let at = |host: &str| BaseUrl::parse(&format!("https://{host}:{}", server.port)).unwrap();
    let mut trusting = settings();
    trusting.extra_roots = Some(CERTIFICATE.to_owned());
    let trusting = Client::new(trusting).unwrap();
    let reply = trusting.get(&at("127.0.0.1"), "/a", HeaderMap::new()).await;
    assert_eq!(&reply.unwrap().body[..], b"hi");
    assert_eq!(server.heads().len(), 1);

    let answer = client().get(&at("127.0.0.1"), "/b", HeaderMap::new()).await;
    assert_eq!(answer.unwrap_err(), ClientError::Unreachable);
    // The certificate is for another name.
    let answer = trusting.get(&at("127.0.0.2"), "/c", HeaderMap::new()).await;
    assert_eq!(answer.unwrap_err(), ClientError::Unreachable);
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn a_proxy_is_a_tunnel_for_what_is_encrypted() {
    let proxy = encrypted(Some("HTTP/1.1 200 Connected\r\n\r\n"), |_| HI.to_owned());
    let mut through = settings();
    through.proxy = Some(format!("http://127.0.0.1:{}", proxy.port).parse().unwrap());
    through.extra_roots = Some(CERTIFICATE.to_owned());
    let client = Client::new(through).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer abc"));
    let target = BaseUrl::parse("https://localhost:4430").unwrap();
    let reply = client.get(&target, "/a", headers.clone()).await.unwrap();
    assert_eq!(&reply.body[..], b"hi");
    let heads = [
        "CONNECT localhost:4430 HTTP/1.1\r\nHost: localhost:4430\r\n\r\n",
        "GET /a HTTP/1.1\r\nauthorization: Bearer abc\r\nhost: localhost:4430\r\n\r\n",
    ];
    assert_eq!(proxy.heads(), heads);

    let refusing = Server::saying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let mut through = settings();
    through.proxy = Some(
        format!("http://127.0.0.1:{}", refusing.port)
            .parse()
            .unwrap(),
    );
    let client = Client::new(through).unwrap();
    let answer = client.get(&target, "/a", headers).await;
    assert_eq!(answer.unwrap_err(), ClientError::Unreachable);
    assert!(!refusing.heads().concat().contains("abc"));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    for proxy in [
        "https://proxy.example",
        "proxy.example:3128",
        "socks5://proxy.example",
        "/proxy",
        "http://user:word@proxy.example",
    ] {
        let mut settings = settings();
        settings.proxy = Some(proxy.parse().unwrap());
        assert!(Client::new(settings).is_err(), "{proxy}");
    }
    let damaged = CERTIFICATE.replacen("MII", "MIJ", 1);
    let unfinished = CERTIFICATE.replace("-----END", "-----");
    for roots in ["", "no certificate", KEY, &damaged, &unfinished] {
        let mut settings = settings();
        settings.extra_roots = Some(roots.to_owned());
        assert!(Client::new(settings).is_err(), "{roots:.40}");
    }
    let mut settings = settings();
    settings.extra_roots = Some(CERTIFICATE.to_owned());
    settings.proxy = Some("http://proxy.example:3128/".parse().unwrap());
    assert!(Client::new(settings).is_ok());
}
