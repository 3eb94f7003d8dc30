//! Notebooks in S3: the rules that all storages share, and the requests they take.

mod changes;
mod faults;

use std::{collections::BTreeSet, sync::Mutex, time::Duration};

use sectile_backends::{BlockingRuntime, ObjectStorage, S3Credentials, S3Settings};
use sectile_library::{
    ArtifactStorage as _, NotebookStorage, StorageError,
    conformance::{Files, check_storage},
};
use sectile_markdown::NotePath;
use sectile_test_servers::{Proxy, Request, S3};

const BUCKET: &str = "bucket-of-the-tests";
const MAX_NOTE_BYTES: u64 = 1000;

/// A server with an empty bucket, and a proxy in front of it.
struct Server {
    s3: S3,
    proxy: Proxy,
}

impl Server {
    fn start() -> Self {
        let s3 = S3::start();
        s3.bucket(BUCKET);
        let proxy = Proxy::to(s3.address());
        Self { s3, proxy }
    }

    fn settings(&self) -> S3Settings {
        let mut settings = S3Settings::new(self.proxy.url(), BUCKET);
        settings.allow_http = true;
        settings.max_note_bytes = MAX_NOTE_BYTES;
        settings.credentials = Some(S3Credentials {
            access_key: self.s3.access_key().to_owned(),
            secret: self.s3.secret_key().to_owned(),
            session_token: None,
        });
        settings
    }

    fn objects(&self) -> ObjectStorage {
        open(&self.settings())
    }

    fn put(&self, key: &str, bytes: impl AsRef<[u8]>) {
        self.s3.put(BUCKET, key, bytes);
    }

    fn delete(&self, key: &str) {
        self.s3.delete(BUCKET, key);
    }

    /// Returns the message of a failure, after checking that it gives nothing away.
    #[track_caller]
    fn complaint<T: std::fmt::Debug>(&self, result: Result<T, StorageError>) -> String {
        let StorageError::Failed { message } = result.unwrap_err() else {
            panic!("it is no failure");
        };
        let port = self.proxy.address().port().to_string();
        for secret in [
            "127.0.0.1",
            port.as_str(),
            BUCKET,
            self.s3.access_key(),
            self.s3.secret_key(),
            "note",
            "http",
        ] {
            let told = message.replace("notebooks", "");
            assert!(!told.contains(secret), "{message}");
        }
        message
    }
}

fn open(settings: &S3Settings) -> ObjectStorage {
    ObjectStorage::s3(settings, BlockingRuntime::new().unwrap()).unwrap()
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

fn names(storage: &ObjectStorage, collection: &str) -> Vec<String> {
    let listed = storage.notebooks(collection, &|| false).unwrap();
    listed.iter().map(|one| one.notebook.to_string()).collect()
}

/// Objects below a prefix, as files of collections.
struct Below<'a> {
    server: &'a Server,
    prefix: &'static str,
    keys: Mutex<BTreeSet<String>>,
}

impl Files for Below<'_> {
    fn put(&self, path: &str, bytes: &[u8]) {
        let key = format!("{}{path}", self.prefix);
        self.server.put(&key, bytes);
        self.keys.lock().unwrap().insert(key);
    }

    fn remove(&self, path: &str) {
        let key = format!("{}{path}", self.prefix);
        self.server.delete(&key);
        assert!(self.keys.lock().unwrap().remove(&key));
    }

    fn remove_collection(&self, name: &str) {
        let folder = format!("{}{name}/", self.prefix);
        self.keys.lock().unwrap().retain(|key| {
            let is_inside = key.starts_with(&folder);
            if is_inside {
                self.server.delete(key);
            }
            !is_inside
        });
    }
}

#[test]
fn it_is_a_storage_like_any_other() {
    for (prefix, page_objects) in [("", 1000), ("in/that folder/", 2), ("_x/.y/", 1)] {
        let server = Server::start();
        let mut settings = server.settings();
        settings.prefix = prefix.to_owned();
        settings.page_objects = page_objects;
        if !prefix.is_empty() {
            // Outside the prefix.
            server.put("a/x.md", "x");
            server.put("in/that folder.md", "x");
        }
        let files = Below {
            server: &server,
            prefix,
            keys: Mutex::default(),
        };
        check_storage(&open(&settings), MAX_NOTE_BYTES.try_into().unwrap(), &files);
    }
}

/// Returns the method, the part after the bucket, and the range of each request.
fn seen(requests: &[Request]) -> Vec<(&str, &str, Option<&str>)> {
    let parts = requests.iter().map(|one| {
        let path = one.path.strip_prefix("/bucket-of-the-tests").unwrap();
        (one.method.as_str(), path, one.range.as_deref())
    });
    parts.collect()
}

#[test]
fn a_read_is_one_request_for_a_range() {
    let server = Server::start();
    server.put("a/x y.md", "text");
    server.put("a/_artifacts/s/set.toml", "set");
    server.put("a/big.md", "x".repeat(1001));
    server.put("a/empty.md", "");
    let storage = server.objects();
    let range = Some("bytes=0-1000");
    for _ in 0..2 {
        let read = storage.read("a", &path("x y.md"));
        assert_eq!(read.unwrap().unwrap(), b"text");
        let requests = server.proxy.take_requests();
        assert_eq!(seen(&requests), [("GET", "/a/x%20y.md", range)]);
    }
    let read = storage.read_artifact("a", &path("_artifacts/s/set.toml"));
    assert_eq!(read.unwrap().unwrap(), b"set");
    let requests = server.proxy.take_requests();
    assert_eq!(
        seen(&requests),
        [("GET", "/a/_artifacts/s/set.toml", range)]
    );
    let read = storage.read("a", &path("empty.md"));
    assert_eq!(read.unwrap().unwrap(), b"");
    assert_eq!(server.proxy.take_requests().len(), 1);

    let listing = ("GET", "?list-type=2&prefix=a%2F&max-keys=1", None);
    for missing in ["none.md", "big.md"] {
        assert_eq!(storage.read("a", &path(missing)), Ok(None));
        let requests = server.proxy.take_requests();
        let key = format!("/a/{missing}");
        assert_eq!(seen(&requests), [("GET", key.as_str(), range), listing]);
        assert_eq!(storage.read_listed("a", &path(missing)), Ok(None));
        assert_eq!(server.proxy.take_requests().len(), 1);
    }
    // A path that cannot be a key is not requested.
    assert_eq!(storage.read("a", &path(".git/config")), Ok(None));
    assert_eq!(seen(&server.proxy.take_requests()), [listing]);
    assert_eq!(storage.require("a"), Ok(()));
    assert_eq!(seen(&server.proxy.take_requests()), [listing]);
    assert_eq!(storage.require("_a"), Err(StorageError::CollectionNotFound));
    assert_eq!(server.proxy.take_requests(), []);
    assert_eq!(storage.ready(), Ok(()));
    let requests = server.proxy.take_requests();
    assert_eq!(seen(&requests), [("GET", "?list-type=2&max-keys=1", None)]);
    // Connections are reused: there were more than ten requests.
    assert!(server.proxy.connections() < 10);
}

#[test]
fn lists_come_by_pages() {
    let server = Server::start();
    let files: Vec<String> = (0..1100).map(|n| format!("{}/{n:04}.md", n % 7)).collect();
    for file in &files {
        server.put(&format!("a/{file}"), "x");
    }
    let mut sorted = files;
    sorted.sort();
    let storage = server.objects();
    assert_eq!(names(&storage, "a"), sorted);
    assert_eq!(server.proxy.take_requests().len(), 2);
    assert_eq!(storage.collections().unwrap(), ["a"]);
    assert_eq!(server.proxy.take_requests().len(), 1);

    let mut settings = server.settings();
    settings.page_objects = 100;
    let storage = open(&settings);
    assert_eq!(names(&storage, "a"), sorted);
    assert_eq!(server.proxy.take_requests().len(), 11);
    for n in 0..250 {
        server.put(&format!("c{n:03}/x.md"), "x");
    }
    let collections = storage.collections().unwrap();
    assert_eq!(collections.len(), 251);
    assert!(collections.is_sorted());
    assert_eq!(server.proxy.take_requests().len(), 3);
}

#[test]
fn a_stamp_tells_states_apart() {
    let server = Server::start();
    let storage = server.objects();
    let stamp = || storage.notebooks("a", &|| false).unwrap()[0].stamp;
    server.put("a/x.md", "one");
    let one = stamp();
    assert_eq!(stamp(), one);
    // The listings of this server have no ETags, so the time decides, in milliseconds.
    std::thread::sleep(Duration::from_millis(20));
    server.put("a/x.md", "two");
    let two = stamp();
    assert_ne!(two.state, one.state);
    assert_eq!(two.bytes, one.bytes);
    std::thread::sleep(Duration::from_millis(20));
    server.put("a/x.md", "two");
    assert_ne!(stamp().state, two.state);
}
