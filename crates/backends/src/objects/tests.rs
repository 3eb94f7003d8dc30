//! Answers that a real server would not give, from one that writes raw bytes, and invalid settings.

use std::{
    fmt::Write as _,
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use super::*;
use crate::{S3Credentials, S3Style};

/// A server that answers each request with what a function makes of its head, and keeps the heads.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::serve(move |heads, mut stream| converse(&mut stream, heads, &answer))
    }

    /// Starts a server that speaks TLS, and returns its certificate too.
    fn encrypted(answer: Vec<u8>) -> (Self, String) {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        let config = Arc::new(config);
        let server = Self::serve(move |heads, stream| {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream);
            converse(&mut stream, heads, &|_| answer.clone());
        });
        (server, made.cert.pem())
    }

    fn serve(handle: impl Fn(&Mutex<Vec<String>>, TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            heads: Arc::default(),
        };
        let (heads, handle) = (Arc::clone(&server.heads), Arc::new(handle));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (heads, handle) = (Arc::clone(&heads), Arc::clone(&handle));
                thread::spawn(move || handle(&heads, stream.unwrap()));
            }
        });
        server
    }

    fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_| answer.clone())
    }

    fn settings(&self) -> S3Settings {
        let mut settings = S3Settings::new(format!("http://127.0.0.1:{}", self.port), "bucket");
        settings.allow_http = true;
        settings.max_note_bytes = 10;
        settings.retries = 0;
        settings
    }

    fn objects(&self) -> ObjectStorage {
        open(&self.settings())
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn converse(
    stream: &mut (impl std::io::Read + std::io::Write),
    heads: &Mutex<Vec<String>>,
    answer: &dyn Fn(&str) -> Vec<u8>,
) {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let answer = answer(&head);
        heads.lock().unwrap().push(head);
        // The client may have disconnected already.
        if stream
            .write_all(&answer)
            .and_then(|()| stream.flush())
            .is_err()
        {
            return;
        }
        if !answer.starts_with(b"HTTP/1.1 2") {
            return;
        }
    }
}

fn open(settings: &S3Settings) -> ObjectStorage {
    ObjectStorage::s3(settings, BlockingRuntime::new().unwrap()).unwrap()
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// Returns one page of a listing: keys with their ETags, folders, and the token for the next page.
fn page(keys: &[(&str, &str)], folders: &[String], next: Option<&str>) -> Vec<u8> {
    let mut body = String::from("<ListBucketResult>");
    for (key, tag) in keys {
        write!(
            body,
            "<Contents><Key>{key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>\
             <ETag>{tag}</ETag><Size>4</Size></Contents>"
        )
        .unwrap();
    }
    for folder in folders {
        write!(
            body,
            "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"
        )
        .unwrap();
    }
    if let Some(next) = next {
        write!(
            body,
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>"
        )
        .unwrap();
    }
    body.push_str("</ListBucketResult>");
    answer("200 OK", "", &body)
}

fn failure(trouble: ObjectError) -> StorageError {
    trouble.into()
}

#[test]
fn an_object_is_whole_or_a_failure() {
    let partial = "206 Partial Content";
    let range = |range: &str| format!("content-range: bytes {range}\r\n");
    let whole: [(Vec<u8>, Option<&[u8]>); 9] = [
        (answer(partial, &range("0-3/4"), "text"), Some(b"text")),
        (
            answer(partial, &range("0-9/10"), "0123456789"),
            Some(b"0123456789"),
        ),
        // One byte more than allowed, as the total length shows.
        (answer(partial, &range("0-10/11"), "0123456789a"), None),
        (answer(partial, &range("0-10/5000"), "0123456789a"), None),
        // A server that does not support ranges.
        (answer("200 OK", "", "text"), Some(b"text")),
        (answer("200 OK", "", ""), Some(b"")),
        (answer("200 OK", "", "0123456789a"), None),
        // A server that has no bytes to give a range of.
        (
            answer("416 Range Not Satisfiable", "", "<Error/>"),
            Some(b""),
        ),
        (
            b"HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 0-3/4\r\n\
              transfer-encoding: chunked\r\n\r\n2\r\nte\r\n2\r\nxt\r\n0\r\n\r\n"
                .to_vec(),
            Some(b"text"),
        ),
    ];
    for (answer, expected) in whole {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let storage = Server::saying(answer).objects();
        let read = storage.read_listed("a", &path("x.md")).unwrap();
        assert_eq!(read.as_deref(), expected, "{shown}");
    }
    let broken = [
        // Shorter or longer than announced.
        (
            answer(partial, &range("0-3/4"), "tex"),
            ObjectError::BrokenOff,
        ),
        (
            answer(partial, &range("0-3/4"), "text and"),
            ObjectError::BrokenOff,
        ),
        (
            answer(partial, &range("0-1/4"), "te"),
            ObjectError::BrokenOff,
        ),
        (
            answer(partial, &range("0-3/4"), &"x".repeat(12)),
            ObjectError::Unclear,
        ),
        // A different range, or an unknown one.
        (
            answer(partial, &range("4-7/8"), "text"),
            ObjectError::Unclear,
        ),
        (
            answer(partial, &range("0-3/*"), "text"),
            ObjectError::Unclear,
        ),
        (answer(partial, "", "text"), ObjectError::Unclear),
        (
            b"HTTP/1.1 206 Partial Content\r\n".to_vec(),
            ObjectError::TimedOut,
        ),
        (b"no HTTP at all\r\n\r\n".to_vec(), ObjectError::BrokenOff),
        (
            answer("301 Moved", "location: http://x/\r\n", ""),
            ObjectError::Elsewhere,
        ),
        (answer("307 Temporary", "", ""), ObjectError::Elsewhere),
        (
            answer(
                "404 Not Found",
                "",
                "<Error><Code>NoSuchBucket</Code></Error>",
            ),
            ObjectError::NoBucket,
        ),
    ];
    for (answer, trouble) in broken {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let server = Server::saying(answer);
        let mut settings = server.settings();
        settings.timeout = Duration::from_millis(500);
        let read = open(&settings).read("a", &path("x.md"));
        assert_eq!(read, Err(failure(trouble)), "{shown}");
    }
}

/// The storage sends one answer too many: it is not taken for the next object.
#[test]
fn an_answer_too_many_is_not_the_next_object() {
    let server = Server::start(|head| {
        let key = head.split(' ').nth(1).unwrap();
        let name = &key[key.len() - 4..];
        answer("200 OK", "", name).repeat(2)
    });
    let storage = server.objects();
    for name in ["a.md", "b.md", "c.md"].repeat(20) {
        let read = storage.read_listed("a", &path(name)).unwrap();
        assert_eq!(read.as_deref(), Some(name.as_bytes()));
    }
    assert_eq!(server.heads().len(), 60);
}

#[test]
fn keys_that_are_no_paths_are_hidden() {
    let keys = [
        ("a//b.md", ""),
        ("/a/x.md", ""),
        ("../x.md", ""),
        ("a/../x.md", ""),
        ("a/./x.md", ""),
        ("a/", ""),
        ("a/x.md/", ""),
        ("a/in/", ""),
        ("a/b\\c.md", ""),
        ("a/&#9;.md", ""),
        ("b/x.md", ""),
        ("a/good.md", ""),
        ("a", ""),
    ];
    let folders = ["a/", "/", "a//", "_b/", ".c/", "../", "d\\e/", "f"].map(str::to_owned);
    let storage = Server::saying(page(&keys, &folders, None)).objects();
    let listed = storage.notebooks("a", &|| false).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].notebook.as_str(), "good.md");
    assert_eq!(storage.collections().unwrap(), ["a"]);
    // A folder that was created explicitly is an empty collection.
    let storage = Server::saying(page(&[("a/", "")], &[], None)).objects();
    assert_eq!(storage.notebooks("a", &|| false), Ok(Vec::new()));
    assert_eq!(storage.require("a"), Ok(()));
    let missing = Err(StorageError::CollectionNotFound);
    assert_eq!(storage.notebooks("b", &|| false), missing);
}

#[test]
fn long_keys_are_asked_for_as_they_are() {
    let server = Server::saying(answer("200 OK", "", "text"));
    let part = "é ".repeat(40);
    let file = format!("{part}/{part}/{part}/{part}/{part}/{part}/{part}/{part}/x.md");
    assert!(file.len() > 950);
    let read = server.objects().read("a", &path(&file));
    assert_eq!(read.unwrap().unwrap(), b"text");
    let line = format!(
        "GET /bucket/a/{}x.md HTTP/1.1\r\n",
        format!("{}/", "%C3%A9%20".repeat(40)).repeat(8)
    );
    assert!(server.heads()[0].starts_with(&line));
}

#[test]
fn a_list_that_changes_has_every_object_once() {
    let server = Server::start(|head| match head {
        head if head.contains("continuation-token=two") => page(
            &[("a/y.md", "2"), ("a/x.md", "2"), ("a/w.md", "")],
            &[],
            None,
        ),
        _ => page(&[("a/x.md", "1"), ("a/y.md", "2")], &[], Some("two")),
    });
    let listed = server.objects().notebooks("a", &|| false).unwrap();
    let names: Vec<&str> = listed.iter().map(|one| one.notebook.as_str()).collect();
    assert_eq!(names, ["w.md", "x.md", "y.md"]);
    // The ETag decides, or the time if there is none.
    assert_eq!(listed[1].stamp, listed[2].stamp);
    assert_ne!(listed[0].stamp.state, listed[1].stamp.state);
    let storage = Server::saying(page(&[("a/x.md", "1")], &[], None)).objects();
    let one = storage.notebooks("a", &|| false).unwrap()[0].stamp;
    assert_ne!(one.state, listed[1].stamp.state);
    assert_eq!((one.bytes, one.modified), (4, 1_767_323_045_000));
}

#[test]
fn a_list_has_an_end() {
    // The same page for ever.
    let storage = Server::saying(page(&[("a/x.md", "")], &[], Some("t"))).objects();
    let listed = storage.notebooks("a", &|| false);
    assert_eq!(listed, Err(failure(ObjectError::Unclear)));
    // A new page for ever, 100 objects at a time.
    let numbered = |head: &str| {
        let from = head.split("continuation-token=").nth(1);
        let from = from.and_then(|rest| rest.split('&').next()?.parse::<usize>().ok());
        from.unwrap_or_default()
    };
    let server = Server::start(move |head| {
        let from = numbered(head);
        let folders: Vec<String> = (from..from + 1000).map(|n| format!("c{n}/")).collect();
        let names: Vec<String> = (from..from + 1000)
            .map(|n| format!("a/_artifacts/{n}"))
            .collect();
        let keys: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        page(&keys, &folders, Some(&(from + 1000).to_string()))
    });
    let storage = server.objects();
    let StorageError::Failed { message } = storage.collections().unwrap_err() else {
        panic!("it is no failure");
    };
    assert!(message.contains("more than 10000 collections"), "{message}");
    let StorageError::Failed { message } = storage.artifact_files("a", &|| false).unwrap_err()
    else {
        panic!("it is no failure");
    };
    assert!(message.contains("more than 10000 files"), "{message}");
    assert_eq!(server.heads().len(), 22);
    for page in [
        answer("200 OK", "", "<html>Welcome</html>"),
        answer("204 No Content", "", ""),
        answer("200 OK", "", ""),
    ] {
        let storage = Server::saying(page).objects();
        for result in [storage.collections().map(drop), storage.require("a")] {
            assert!(matches!(result, Err(StorageError::Failed { .. })));
        }
    }
}

#[test]
fn who_asks_and_where() {
    let server = Server::saying(page(&[], &[], None));
    let objects = |change: &dyn Fn(&mut S3Settings)| {
        let mut settings = server.settings();
        settings.proxy = Some(settings.endpoint.parse().unwrap());
        settings.endpoint = "http://storage.example:9000/s3/".to_owned();
        change(&mut settings);
        open(&settings)
    };
    let head = |change: &dyn Fn(&mut S3Settings)| {
        assert_eq!(objects(change).ready(), Ok(()));
        server.heads().pop().unwrap().to_lowercase()
    };
    let credentials = |token: Option<&str>| {
        Some(S3Credentials {
            access_key: "KEY".to_owned(),
            secret: "secret".to_owned(),
            session_token: token.map(str::to_owned),
        })
    };
    let plain = head(&|_| {});
    let first = "get http://storage.example:9000/s3/bucket?list-type=2&max-keys=1 http/1.1\r\n";
    assert!(plain.starts_with(first), "{plain}");
    assert!(plain.contains("\r\nhost: storage.example:9000\r\n"));
    assert!(!plain.contains("authorization"));
    let hosted = head(&|settings| settings.style = Some(S3Style::VirtualHosted));
    let first = "get http://bucket.storage.example:9000/s3?list-type=2&max-keys=1 http/1.1\r\n";
    assert!(hosted.starts_with(first), "{hosted}");
    let hosted = head(&|settings| {
        settings.endpoint = "http://storage.example".to_owned();
        settings.style = Some(S3Style::VirtualHosted);
        settings.credentials = credentials(None);
        settings.region = "eu-central-7".to_owned();
    });
    let first = "get http://bucket.storage.example/?list-type=2&max-keys=1 http/1.1\r\n";
    assert!(hosted.starts_with(first), "{hosted}");
    assert!(
        hosted.contains("\r\nhost: bucket.storage.example\r\n"),
        "{hosted}"
    );
    assert!(hosted.contains("credential=key/"), "{hosted}");
    assert!(hosted.contains("/eu-central-7/s3/aws4_request"), "{hosted}");
    assert!(!hosted.contains("secret") && !hosted.contains("x-amz-security-token"));
    let temporary = head(&|settings| settings.credentials = credentials(Some("token")));
    assert!(
        temporary.contains("\r\nx-amz-security-token: token\r\n"),
        "{temporary}"
    );
    assert!(temporary.contains("/us-east-1/s3/"), "{temporary}");

    let supabase = S3Settings::supabase(
        "https://abc.supabase.co/",
        "eu-west-1",
        "notes",
        credentials(None).unwrap(),
    );
    assert_eq!(supabase.endpoint, "https://abc.supabase.co/storage/v1/s3");
    open(&supabase);
    let mut aws = S3Settings::new("", "notes");
    aws.region = "eu-west-1".to_owned();
    open(&aws);
}

#[test]
fn only_certificates_that_are_trusted_are_talked_to() {
    let (server, certificate) = Server::encrypted(answer("200 OK", "", "text"));
    let mut settings = server.settings();
    settings.allow_http = false;
    settings.endpoint = settings.endpoint.replace("http:", "https:");
    let read = open(&settings).read("a", &path("x.md"));
    assert_eq!(read, Err(failure(ObjectError::Unreachable)));
    assert_eq!(server.heads().len(), 0);
    settings.extra_roots = Some(certificate);
    let read = open(&settings).read("a", &path("x.md"));
    assert_eq!(read.unwrap().unwrap(), b"text");
}

#[test]
fn settings_that_cannot_be_are_refused_without_being_shown() {
    let fine = || {
        let mut settings = S3Settings::new("https://storage.example", "bucket");
        settings.credentials = Some(S3Credentials {
            access_key: "TELLTALE".to_owned(),
            secret: "TELLTALE".to_owned(),
            session_token: Some("TELLTALE".to_owned()),
        });
        settings
    };
    let shown = format!("{:?} {:?}", fine(), fine().credentials);
    assert!(!shown.contains("TELLTALE") && !shown.contains("storage.example"));
    assert_eq!(format!("{:?}", open(&fine())), "ObjectStorage");
    type Change = fn(&mut S3Settings);
    let wrong: [(Change, &str); 17] = [
        (|s| s.bucket.clear(), "bucket"),
        (|s| s.bucket.push('/'), "bucket"),
        (|s| s.bucket = "..".to_owned(), "bucket"),
        (|s| s.bucket = "a b".to_owned(), "bucket"),
        (|s| s.endpoint.clear(), "region"),
        (|s| s.region = "eu west".to_owned(), "region"),
        (|s| s.endpoint = "storage.example".to_owned(), "endpoint"),
        (|s| s.endpoint.push_str("?a=b"), "endpoint"),
        (|s| s.endpoint = "https://user@host".to_owned(), "endpoint"),
        (
            |s| s.endpoint = "http://storage.example".to_owned(),
            "encrypt",
        ),
        (
            |s| {
                s.endpoint = "https://127.0.0.1:9000".to_owned();
                s.style = Some(S3Style::VirtualHosted);
            },
            "endpoint",
        ),
        (|s| s.prefix = "a/../b".to_owned(), "prefix"),
        (
            |s| s.proxy = Some("https://proxy".parse().unwrap()),
            "proxy",
        ),
        (|s| s.extra_roots = Some("none".to_owned()), "certificate"),
        (
            |s| s.credentials.as_mut().unwrap().access_key.push('\n'),
            "access key",
        ),
        (|s| s.credentials.as_mut().unwrap().secret.clear(), "secret"),
        (
            |s| s.credentials.as_mut().unwrap().session_token = Some("é".to_owned()),
            "token",
        ),
    ];
    for (change, about) in wrong {
        let mut settings = fine();
        change(&mut settings);
        let refused = ObjectStorage::s3(&settings, BlockingRuntime::new().unwrap()).unwrap_err();
        assert!(refused.contains(about), "{refused}");
    }
}
