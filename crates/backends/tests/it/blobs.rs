//! Objects written under conditions: what is promised about every write, whatever happens to its answer.

use std::{
    cell::Cell,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use sectile_backends::{
    BlobError, BlobStore, BlockingRuntime, ConditionalRead, CreateOutcome, ETag, ObjectError,
    ReplaceOutcome, S3Credentials, S3Settings,
};
use sectile_test_servers::{Fault, MemoryS3, Proxy, RequestFault};

const BUCKET: &str = "bucket-of-the-tests";
const MOST: u64 = 1 << 20;
/// The request timeout of tests that mean to exceed it.
const SHORT: Duration = Duration::from_millis(300);
const NEVER: &dyn Fn() -> bool = &|| false;

fn settings(endpoint: &str) -> S3Settings {
    let mut settings = S3Settings::new(endpoint, BUCKET);
    settings.allow_http = true;
    settings.prefix = "in/here".to_owned();
    settings.credentials = Some(S3Credentials {
        access_key: "TESTACCESSKEY".to_owned(),
        secret: "secret-key-of-the-tests".to_owned(),
        session_token: None,
    });
    settings
}

fn open(settings: &S3Settings) -> BlobStore {
    BlobStore::s3(settings, BlockingRuntime::new().unwrap()).unwrap()
}

fn start() -> (MemoryS3, BlobStore) {
    let s3 = MemoryS3::start();
    s3.bucket(BUCKET);
    let store = open(&settings(&s3.endpoint()));
    (s3, store)
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

#[track_caller]
fn created(store: &BlobStore, key: &str, text: &str) -> ETag {
    match store.create(key, bytes(text), NEVER).unwrap() {
        CreateOutcome::Created(tag) => tag,
        CreateOutcome::Exists => panic!("it exists"),
    }
}

#[track_caller]
fn replaced(store: &BlobStore, key: &str, text: &str, tag: &ETag) -> ETag {
    match store.replace(key, bytes(text), tag, NEVER).unwrap() {
        ReplaceOutcome::Replaced(tag) => tag,
        ReplaceOutcome::Changed => panic!("it was changed"),
    }
}

#[test]
fn one_state_is_replaced_once() {
    let (s3, store) = start();
    assert_eq!(store.get("a", MOST, NEVER), Ok(None));
    let first = created(&store, "a", "one");
    assert_eq!(
        store.create("a", bytes("two"), NEVER),
        Ok(CreateOutcome::Exists)
    );
    let second = replaced(&store, "a", "two", &first);
    let late = store.replace("a", bytes("three"), &first, NEVER);
    assert_eq!(late, Ok(ReplaceOutcome::Changed));
    let missing = store.replace("b", bytes("three"), &first, NEVER);
    assert_eq!(missing, Ok(ReplaceOutcome::Changed));
    let read = store.get("a", MOST, NEVER).unwrap().unwrap();
    assert_eq!((read.bytes, &read.tag), (bytes("two"), &second));
    assert_eq!(s3.keys(BUCKET), ["in/here/a"]);

    let known = store.get_if_changed("a", &second, MOST, NEVER);
    assert_eq!(known, Ok(ConditionalRead::Unchanged));
    let Ok(ConditionalRead::Changed(read)) = store.get_if_changed("a", &first, MOST, NEVER) else {
        panic!("it was changed");
    };
    assert_eq!(read.tag, second);
    store
        .delete(&["a".to_owned(), "never".to_owned()], NEVER)
        .unwrap();
    let gone = store.get_if_changed("a", &second, MOST, NEVER);
    assert_eq!(gone, Ok(ConditionalRead::Missing));
    // The tag survives being stored as text.
    assert_eq!(ETag::from_text(second.as_str()), Some(second));
}

#[test]
fn sizes_and_keys_are_bounded() {
    let (_s3, store) = start();
    store.put("a", bytes("0123456789"), NEVER).unwrap();
    assert!(store.get("a", 10, NEVER).unwrap().is_some());
    assert_eq!(store.get("a", 9, NEVER), Err(BlobError::TooLarge));
    store.put("empty", Bytes::new(), NEVER).unwrap();
    let empty = store.get("empty", 0, NEVER).unwrap().unwrap();
    assert_eq!(empty.bytes, Bytes::new());
    let long = "x".repeat(1100);
    for key in [
        "",
        "/",
        "a//b",
        "../a",
        "a/../../b",
        "a\nb",
        "a\\b",
        "a\0",
        &long,
    ] {
        assert_eq!(
            store.get(key, 9, NEVER),
            Err(BlobError::InvalidKey),
            "{key:?}"
        );
        let put = store.put(key, Bytes::new(), NEVER);
        assert_eq!(put, Err(BlobError::InvalidKey), "{key:?}");
        let deleted = store.delete(&[key.to_owned()], NEVER);
        assert_eq!(deleted, Err(BlobError::InvalidKey), "{key:?}");
    }
    for key in [
        "'; DROP TABLE x --",
        "a%2F..%2Fb",
        "\u{e9} +&?#",
        ".hidden/x",
    ] {
        store.put(key, bytes(key), NEVER).unwrap();
        let read = store.get(key, MOST, NEVER).unwrap().unwrap();
        assert_eq!(read.bytes, bytes(key), "{key}");
    }
}

#[test]
fn lists_are_complete_however_they_are_paged() {
    let (s3, store) = start();
    let keys: Vec<String> = (0..25).map(|number| format!("s/{number:02}")).collect();
    for key in &keys {
        store.put(key, bytes(key), NEVER).unwrap();
    }
    s3.put(BUCKET, "in/heretic", "outside");
    s3.put(BUCKET, "in/here/t", "after");
    let names = |page: &sectile_backends::BlobPage| -> Vec<String> {
        page.blobs.iter().map(|one| one.key.clone()).collect()
    };
    for limit in [1000, 7, 1] {
        s3.limit_pages(limit);
        let page = store.list("s/", None, 1000, NEVER).unwrap();
        assert_eq!((names(&page), page.has_more), (keys.clone(), false));
        let mut found = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = store.list("s/", after.as_deref(), 4, NEVER).unwrap();
            assert!(page.blobs.len() <= 4);
            found.extend(names(&page));
            after = found.last().cloned();
            if !page.has_more {
                break;
            }
        }
        assert_eq!(found, keys);
    }
    let all = store.list("", None, 1000, NEVER).unwrap();
    assert_eq!(all.blobs.len(), 26);
    assert!(
        all.blobs
            .iter()
            .all(|one| one.bytes > 0 && one.modified > 0)
    );
    store.delete(&keys, NEVER).unwrap();
    assert_eq!(s3.keys(BUCKET), ["in/here/t", "in/heretic"]);
}

#[test]
fn of_concurrent_writers_one_wins_each_round() {
    let (_s3, store) = start();
    created(&store, "counter", "0");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut won = 0;
                while won < 10 {
                    let read = store.get("counter", MOST, NEVER).unwrap().unwrap();
                    let number: u32 = std::str::from_utf8(&read.bytes).unwrap().parse().unwrap();
                    let next = bytes(&(number + 1).to_string());
                    match store.replace("counter", next, &read.tag, NEVER).unwrap() {
                        ReplaceOutcome::Replaced(_) => won += 1,
                        ReplaceOutcome::Changed => {}
                    }
                }
            });
        }
    });
    let read = store.get("counter", MOST, NEVER).unwrap().unwrap();
    assert_eq!(read.bytes, bytes("40"));
}

/// A lost answer is never taken for a conflict with somebody else, and never for a success either.
#[test]
fn a_lost_answer_is_settled_by_reading() {
    let (s3, store) = start();
    let first = created(&store, "a", "one");
    // The first attempt is carried out, and the second finds its own work.
    s3.fail(0, 1, RequestFault::Lose);
    let written = store.replace("a", bytes("two"), &first, NEVER);
    assert_eq!(written, Err(BlobError::OutcomeUnknown));
    let settled = store.settle("a", b"two", MOST, NEVER).unwrap();
    let second = settled.unwrap();
    s3.fail(0, 1, RequestFault::Lose);
    let written = store.create("b", bytes("new"), NEVER);
    assert_eq!(written, Err(BlobError::OutcomeUnknown));
    assert!(store.settle("b", b"new", MOST, NEVER).unwrap().is_ok());
    // The first attempt is not carried out, and the second is.
    for fault in [
        RequestFault::Drop,
        RequestFault::Refuse(500, "InternalError"),
        RequestFault::Refuse(503, "SlowDown"),
        RequestFault::Refuse(409, "ConditionalRequestConflict"),
    ] {
        store.put("c", bytes("old"), NEVER).unwrap();
        let old = store.get("c", MOST, NEVER).unwrap().unwrap().tag;
        s3.fail(0, 1, fault);
        replaced(&store, "c", "new", &old);
        assert_eq!(s3.requests(), 2, "{fault:?}");
        // Somebody else won: certain only if the first attempt certainly failed.
        s3.fail(0, 1, fault);
        let late = store.replace("c", bytes("newer"), &old, NEVER);
        let is_certain = matches!(fault, RequestFault::Refuse(503 | 409, _));
        match is_certain {
            true => assert_eq!(late, Ok(ReplaceOutcome::Changed), "{fault:?}"),
            false => {
                assert_eq!(late, Err(BlobError::OutcomeUnknown), "{fault:?}");
                let other = store
                    .settle("c", b"newer", MOST, NEVER)
                    .unwrap()
                    .unwrap_err();
                assert_eq!(other.unwrap().bytes, bytes("new"));
            }
        }
    }
    // A proxy in between breaks the connection, after any number of bytes of the answer.
    let proxy = Proxy::to(s3.address());
    let distant = open(&settings(&proxy.url()));
    let mut tag = created(&distant, "e", "0");
    for (number, after) in [0, 20, 100].into_iter().enumerate() {
        let text = (number + 1).to_string();
        proxy.set(Fault::Cut { after, times: 1 });
        let written = distant.replace("e", bytes(&text), &tag, NEVER);
        assert_eq!(written, Err(BlobError::OutcomeUnknown), "{after}");
        let settled = distant.settle("e", text.as_bytes(), MOST, NEVER);
        tag = settled.unwrap().unwrap();
    }
    // All attempts are lost, so it is known that nothing is known.
    s3.fail(0, usize::MAX, RequestFault::Drop);
    let written = store.replace("a", bytes("three"), &second, NEVER);
    assert_eq!(written, Err(BlobError::OutcomeUnknown));
    s3.heal();
    replaced(&store, "a", "three", &second);
    // Content-addressed objects are the same whoever writes them.
    s3.fail(0, 1, RequestFault::Lose);
    store.put("d", bytes("digest"), NEVER).unwrap();
    s3.fail(0, 1, RequestFault::Lose);
    store.delete(&["d".to_owned()], NEVER).unwrap_err();
    assert_eq!(store.get("d", MOST, NEVER), Ok(None));
}

#[test]
fn faults_are_told_apart() {
    let (s3, store) = start();
    let tag = created(&store, "a", "one");
    let keys = ["a".to_owned()];
    for (status, code, trouble) in [
        (400, "ExpiredToken", ObjectError::Refused),
        (403, "RequestTimeTooSkewed", ObjectError::Clock),
        (403, "AccessDenied", ObjectError::Refused),
        (404, "NoSuchBucket", ObjectError::NoBucket),
        (503, "SlowDown", ObjectError::Throttled),
        (409, "ConditionalRequestConflict", ObjectError::Contended),
    ] {
        s3.fail(0, usize::MAX, RequestFault::Refuse(status, code));
        let failed = Some(BlobError::Failed(trouble));
        assert_eq!(store.create("b", bytes("x"), NEVER).err(), failed, "{code}");
        assert_eq!(
            store.replace("a", bytes("x"), &tag, NEVER).err(),
            failed,
            "{code}"
        );
        assert_eq!(store.put("b", bytes("x"), NEVER).err(), failed, "{code}");
        assert_eq!(store.get("a", MOST, NEVER).err(), failed, "{code}");
        assert_eq!(store.list("", None, 10, NEVER).err(), failed, "{code}");
        assert_eq!(store.delete(&keys, NEVER).err(), failed, "{code}");
    }
    s3.fail(0, usize::MAX, RequestFault::Refuse(500, "InternalError"));
    let written = store.replace("a", bytes("x"), &tag, NEVER);
    assert_eq!(written, Err(BlobError::OutcomeUnknown));
    s3.heal();
    assert_eq!(s3.object(BUCKET, "in/here/a").unwrap(), "one".as_bytes());
    assert_eq!(s3.keys(BUCKET), ["in/here/a"]);
}

#[test]
fn a_storage_that_hangs_holds_nobody_for_long() {
    let (s3, _) = start();
    let proxy = Proxy::to(s3.address());
    let mut settings = settings(&proxy.url());
    settings.timeout = SHORT;
    settings.retries = 1;
    let store = open(&settings);
    let tag = created(&store, "a", "one");
    proxy.set(Fault::Hang);
    let written = store.replace("a", bytes("two"), &tag, NEVER);
    assert_eq!(written, Err(BlobError::OutcomeUnknown));
    let read = store.get("a", MOST, NEVER);
    assert_eq!(read, Err(BlobError::Failed(ObjectError::TimedOut)));
    // A caller that leaves before anything was sent changed nothing, and later nobody knows.
    let start = Instant::now();
    let read = store.get("a", MOST, &|| true);
    assert_eq!(read, Err(BlobError::Cancelled));
    let asked = Cell::new(0);
    let written = store.replace("a", bytes("three"), &tag, &|| {
        asked.set(asked.get() + 1);
        true
    });
    assert_eq!(written, Err(BlobError::OutcomeUnknown));
    assert_eq!(asked.get(), 1);
    assert!(start.elapsed() < Duration::from_secs(15));
    proxy.set(Fault::Refuse);
    let written = store.replace("a", bytes("four"), &tag, NEVER);
    assert_eq!(written, Err(BlobError::Failed(ObjectError::Unreachable)));
}

#[test]
fn a_storage_without_conditions_is_refused() {
    let (s3, store) = start();
    assert_eq!(store.probe(NEVER), Ok(()));
    assert_eq!(s3.keys(BUCKET), Vec::<String>::new());
    s3.ignore_conditions();
    let refused = store.probe(NEVER).unwrap_err();
    assert_eq!(refused, BlobError::Failed(ObjectError::Unconditional));
    assert_eq!(
        refused.to_string(),
        "The object storage does not honour conditional writes (`If-None-Match`, `If-Match`). Use a storage, or a version of it, that does."
    );
    // And some refuse them.
    s3.fail(0, usize::MAX, RequestFault::Refuse(501, "NotImplemented"));
    let refused = store.probe(NEVER).unwrap_err();
    assert_eq!(refused, BlobError::Failed(ObjectError::Unconditional));
}
